//! The version of the library.

use std::ffi::c_char;

/// The value of `SIMIDX_VERSION` in the header, which is set in cbindgen.toml.
const VERSION: u32 = 0x00_01_00;

const _: () = {
    const fn number(digits: &str) -> u32 {
        match u32::from_str_radix(digits, 10) {
            Ok(number) => number,
            Err(_) => panic!("a part of the version is not a number"),
        }
    }
    let major = number(env!("CARGO_PKG_VERSION_MAJOR"));
    let minor = number(env!("CARGO_PKG_VERSION_MINOR"));
    let patch = number(env!("CARGO_PKG_VERSION_PATCH"));
    assert!(VERSION == major << 16 | minor << 8 | patch);
};

/// Returns the version of the running library, in the form of `SIMIDX_VERSION` in the header. While the major number is
/// 0, headers and libraries of the same minor version are compatible: compare both numbers without their last byte.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_version() -> u32 {
    VERSION
}

/// Returns the version of the running library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn simidx_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
