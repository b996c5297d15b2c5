//! The needs of a device crate beside its kernels, and the messages if they are missing.

use profiler_build::Kernels;

use super::{Outcome, assemble, build, device_crate, sibling, target};

pub(super) fn a_target_that_is_none() -> Outcome {
    let root = tempfile::tempdir()?;
    let folder = device_crate(root.path(), "kernels", "", "#![no_std]");
    for (target, reason) in [
        ("sm_75", "give an architecture from \"sm_80\""),
        ("sm_999", "does not know it; give one of"),
    ] {
        let refused = Kernels::new(&folder).target(target).out_dir(folder.join("out")).build();
        let said = refused.expect_err("no target").to_string();
        assert!(said.contains(target) && said.contains(reason), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
    Ok(())
}

/// Kernels that hold numbers in a vector, in the GPU's own heap.
const OF_ALLOC: &str = r#"
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
extern crate alloc;
use core::alloc::{GlobalAlloc, Layout};
use profiler_kernel as _;

struct Heap;
unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut u8;
    fn free(memory: *mut u8);
}
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { unsafe { malloc(layout.size()) } }
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) { unsafe { free(memory) } }
}
#[global_allocator]
static HEAP: Heap = Heap;

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn k(out: *mut u32, n: u32) {
    let numbers: alloc::vec::Vec<u32> = (0..n).map(|i| i ^ n).collect();
    unsafe { *out = numbers.iter().sum() };
}
"#;

fn kernel_dependency() -> String {
    format!("profiler-kernel = {{ path = {:?} }}", sibling("profiler-kernel"))
}

pub(super) fn alloc_where_it_is_asked_for() -> Outcome {
    let root = tempfile::tempdir()?;
    let folder = device_crate(root.path(), "of-alloc", &kernel_dependency(), OF_ALLOC);
    let kernels = Kernels::new(&folder).out_dir(folder.join("out")).target_dir(target());
    // Also after a build with it, which leaves a compiled `alloc` in the target folder.
    for _ in 0..2 {
        let said = kernels.build().expect_err("there is no `alloc`").to_string();
        let first = said.lines().next().unwrap_or_default();
        assert!(first.contains("call `Kernels::alloc(true)`"), "{said}");
        let ptx = kernels.clone().alloc(true).build()?;
        let text = std::fs::read_to_string(&ptx.path)?;
        assert!(text.contains(".entry k(") && text.contains("malloc"), "{text}");
        assemble(&ptx)?;
    }
    Ok(())
}

pub(super) fn what_a_device_crate_lacks() -> Outcome {
    let root = tempfile::tempdir()?;
    let handler = "#![no_std]\n#[panic_handler]\n\
                   fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n";
    let two = format!("{handler}use profiler_kernel as _;\n");
    let kernel = kernel_dependency();
    let without = format!("{}, default-features = false }}", kernel.trim_end_matches(" }"));
    for (package, dependency, source, help) in [
        ("no-handler", "", "#![no_std]", Some("`use profiler_kernel as _;`")),
        ("two-handlers", kernel.as_str(), two.as_str(), Some("`default-features = false`")),
        ("own-handler", without.as_str(), two.as_str(), None),
        ("with-std", "", "pub fn f() {}", Some("#![cfg_attr(target_arch = \"nvptx64\", no_std)]")),
    ] {
        let folder = device_crate(root.path(), package, dependency, source);
        let Some(help) = help else {
            build(&folder, true)?;
            continue;
        };
        let said = build(&folder, true).expect_err("it lacks something").to_string();
        let first = said.lines().next().unwrap_or_default();
        assert!(first.contains(help), "{package}: {said}");
    }
    Ok(())
}

/// A device crate with its own configuration of cargo, which only a nightly understands.
pub(super) fn unstable_flags_of_its_own() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n#[unsafe(no_mangle)]\n\
        pub unsafe extern \"ptx-kernel\" fn k(p: *mut u32) { unsafe { *p = 1 } }\n";
    let folder = device_crate(root.path(), "configured", "", source);
    std::fs::create_dir(folder.join(".cargo"))?;
    std::fs::write(
        folder.join(".cargo/config.toml"),
        "[unstable]\nbuild-std = [\"core\"]\n[build]\nrustflags = [\"-Zmir-opt-level=2\"]\n\
         [target.nvptx64-nvidia-cuda]\nrustflags = [\"-Zno-link\"]\n",
    )?;
    let (_, text) = build(&folder, true)?;
    assert!(text.contains(".entry k("), "{text}");
    Ok(())
}
