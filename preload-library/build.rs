//! Gives the library the driver's name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A library that asks for `libcuda.so.1` later gets this one, as it is loaded already.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
