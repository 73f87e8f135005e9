//! The version of the library.

use std::ffi::c_char;

/// The same as `SIMIDX_VERSION` of the header, which cbindgen.toml has.
const VERSION: u32 = 0x00_01_00;

/// The version of the library that runs, as `SIMIDX_VERSION` has that of the header. Compare `simidx_version() >> 8` with
/// `SIMIDX_VERSION >> 8`: while the major number is 0, headers and libraries of one minor version fit together.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_version() -> u32 {
    VERSION
}

/// The version of the library that runs, as in "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn simidx_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::VERSION;

    #[test]
    fn the_number_is_that_of_the_package() {
        let [major, minor, patch] = [VERSION >> 16, VERSION >> 8 & 0xff, VERSION & 0xff];
        let version = format!("{major}.{minor}.{patch}");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}
