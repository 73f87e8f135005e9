//! Instances of the library's generic functions for indexes in a `Vec<u8>`, which nearly all tests open: made here once, and
//! not in each test program.

use simidx::instances::instances;

/// As `simidx::instances::of_storage`.
#[inline(never)]
pub fn of_vec() -> [*const (); 3] {
    [
        instances::<u32, Vec<u8>> as *const (),
        instances::<u64, Vec<u8>> as *const (),
        instances::<u128, Vec<u8>> as *const (),
    ]
}
