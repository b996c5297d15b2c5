//! Puts an empty `libcuda.a` on the linker's search path.
//!
//! cust and cust_raw ask the linker for a library `cuda`. In this workspace a patch keeps them from
//! it; in a program that depends on this crate from elsewhere, the archive answers where no CUDA
//! toolkit is installed. The functions themselves are this crate's, bound at run time.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out_dir = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    // What `ar` writes for an archive without members.
    fs::write(out_dir.join("libcuda.a"), "!<arch>\n")?;
    println!("cargo::rustc-link-search=native={}", out_dir.display());
    Ok(())
}
