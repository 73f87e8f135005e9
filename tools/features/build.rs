//! Without a build script cargo takes no build dependencies.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
