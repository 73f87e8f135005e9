//! How much memory the machine has, and how much this process has taken.

/// The limit where the machine does not tell how much it has, in bytes.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// Half of the memory of the machine, or of what its control group leaves to this process.
pub(super) fn default_limit() -> u64 {
    total().unwrap_or(2 * UNKNOWN_MACHINE) / 2
}

#[cfg(target_os = "linux")]
fn total() -> Option<u64> {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).checked_mul(system.mem_unit.into())?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    Some(machine.min(group.unwrap_or(u64::MAX)))
}

#[cfg(not(target_os = "linux"))]
fn total() -> Option<u64> {
    None
}

/// The most memory that this process has had resident so far, in bytes, where the system tells.
pub(super) fn peak() -> Option<u64> {
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
