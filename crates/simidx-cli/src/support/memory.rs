//! How much memory the machine has, and how much this process has used.

/// The limit where the memory of the machine is unknown, in bytes.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// Half of the memory of the machine, or of the limit of the control group if that is smaller.
pub(crate) fn default_limit() -> u64 {
    total().unwrap_or(2 * UNKNOWN_MACHINE) / 2
}

#[cfg(target_os = "linux")]
fn total() -> Option<u64> {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).checked_mul(system.mem_unit.into())?;
    Some(machine.min(control_group().unwrap_or(u64::MAX)))
}

/// The least limit of the control group of this process and those above it (version 2), if there is one.
#[cfg(target_os = "linux")]
fn control_group() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limits = std::path::Path::new(own).ancestors().filter_map(|group| {
        let file = std::path::Path::new("/sys/fs/cgroup")
            .join(group)
            .join("memory.max");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    limits.min()
}

#[cfg(not(target_os = "linux"))]
fn total() -> Option<u64> {
    None
}

/// Bytes from which on an allocation is a mapping of its own.
const MAPPED_LEN: i32 = 1 << 20;

/// Makes large buffers go back to the system when they are dropped. Left alone, the allocator of the GNU library takes the
/// first ones that are freed for a sign that more will come, and keeps what is between them: twice what is in use.
pub(crate) fn return_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(
            unsafe_code,
            reason = "the standard library has no setting of its allocator"
        )]
        // SAFETY: the call changes a number inside the allocator and takes no pointer. `main` makes it before it starts any
        // thread, which might allocate meanwhile.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_LEN);
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = MAPPED_LEN;
}

/// The largest resident set of this process so far, in bytes; `None` where the system does not report it.
pub(crate) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_part_of_some_machine() {
        assert!(default_limit() >= 64 << 20);
        if cfg!(target_os = "linux") {
            let bytes = vec![1u8; 50 << 20];
            assert!(peak().unwrap() >= std::hint::black_box(bytes).len() as u64);
        }
    }
}
