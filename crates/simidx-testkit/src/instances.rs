//! Instances of the library's generic functions for indexes in a `Vec<u8>`, which nearly all tests open: made here once, and
//! not in each test program.

/// As `simidx::instances::of_storage`.
#[inline(never)]
pub fn of_vec() -> [*const (); 3] {
    simidx::instances::of_widths::<Vec<u8>>()
}
