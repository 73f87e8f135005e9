//! Linker options of the shared library.

/// While the version is 0.x, each minor version may break its users, so it is part of the name.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR")
);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|v| v == value);
    if is("CARGO_CFG_TARGET_VENDOR", "apple") {
        let name = format!("@rpath/libsimidx.{VERSION}.dylib");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,{name}");
    } else if is("CARGO_CFG_TARGET_FAMILY", "unix") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsimidx.so.{VERSION}");
        // Threads of the library may be running when a program unloads it, so it stays loaded until the process ends.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
