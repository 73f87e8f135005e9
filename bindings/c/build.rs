//! Linker options of the shared library.

/// While the version is 0.x, each minor version may break its users, so it is part of the name.
const SONAME: &str = concat!(
    "libsimidx.so.",
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR")
);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
        // Threads of the library may be running when a program unloads it, so it stays loaded until the process ends.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
