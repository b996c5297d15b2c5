//! The crate of docs/device-crate.md: its tests, and what the page says of its PTX.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use crate::support::{entry, ptx_test};
use crate::walkthrough::{beside_a_clone, cargo, page, printed, shown, workspace};

/// The project of the page, for a test.
fn project(test: &str) -> PathBuf {
    let page = page("docs/device-crate.md");
    let project = beside_a_clone(test);
    let mut files = shown(&page, "file");
    let [("Cargo.toml", dependencies)] = shown(&page, "append")[..] else {
        panic!("the page shows what the host program depends on");
    };
    let manifest = format!(
        "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [workspace]\nmembers = [\"kernels\"]\n\n{dependencies}\n\
         [build-dependencies]\nprofiler-build = {{ path = \"../profiler/profiler-build\" }}\n"
    );
    files.extend([("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")]);
    for (path, text) in files {
        let path = project.join(path);
        fs::create_dir_all(path.parent().expect("inside the project")).expect("a folder");
        fs::write(path, text).expect("the file");
    }
    project
}

#[test]
fn the_page_is_a_project_whose_tests_pass() {
    let project = project("device_crate");
    // PTX is what the other test compiles.
    let stdout =
        printed(cargo(&project).args(["test", "--workspace"]).env("PROFILER_SKIP_PTX", "1"));
    for test in ["generic::whole_numbers_too", "shared::a_tile_is_reversed"] {
        assert!(stdout.contains(&format!("test {test} ... ok")), "{stdout}");
    }
}

ptx_test! {
fn its_ptx_is_as_the_page_says() {
    let project = project("device_crate_ptx");
    let lib = project.join("kernels/src/lib.rs");
    // Besides the page's kernels, those that it describes.
    let described = "
        #[profiler_device::profiled]
        pub unsafe extern \"ptx-kernel\" fn generic_kernel<T: Copy>(x: *mut T) {
            unsafe { *x = *x.add(1) };
        }
        #[profiler_device::profiled]
        pub unsafe extern \"ptx-kernel\" fn small(x: *mut u8) {
            unsafe { core::sync::atomic::AtomicU8::from_ptr(x) }.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        }
        #[profiler_device::profiled]
        pub unsafe extern \"ptx-kernel\" fn orderings(x: *mut u32) {
            use core::sync::atomic::{AtomicU32, Ordering, fence};
            unsafe { AtomicU32::from_ptr(x).fetch_add(7, Ordering::SeqCst) };
            fence(Ordering::Release);
            unsafe { AtomicU32::from_ptr(x).fetch_max(11, Ordering::AcqRel) };
            let seen = unsafe { AtomicU32::from_ptr(x).load(Ordering::Acquire) };
            unsafe { AtomicU32::from_ptr(x).store(seen, Ordering::Release) };
            let _ = unsafe { AtomicU32::from_ptr(x) }
                .compare_exchange(0, 5, Ordering::Acquire, Ordering::Relaxed);
        }
        #[profiler_device::profiled]
        pub unsafe extern \"ptx-kernel\" fn root(x: *mut f32) {
            unsafe { *x = libm::sqrtf(*x) };
        }
        #[profiler_device::profiled]
        pub unsafe extern \"ptx-kernel\" fn sine(x: *mut f32) {
            unsafe { *x = libm::sinf(*x) };
        }";
    let text = fs::read_to_string(&lib).expect("the crate");
    fs::write(&lib, format!("{text}{described}")).expect("the crate");
    let ptx = profiler_build::Kernels::new(project.join("kernels"))
        .feature("double")
        .alloc(true)
        .profile_enabled(false)
        .out_dir(project.join("out"))
        .target_dir(workspace().join("target"))
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let text = fs::read_to_string(ptx.path).expect("the PTX");
    let kernel = |name| entry(&text, name).join("\n");

    for name in ["axpy_f32", "axpy_f64", "sum_of_numbers", "functions", "count", "reverse"] {
        assert!(!kernel(name).is_empty(), "{name}");
    }
    assert!(!text.contains("generic_kernel"), "{text}");
    assert!(text.contains("__assertfail") && text.contains("trap;"), "{text}");
    assert!(kernel("sum_of_numbers").contains("malloc"), "{text}");
    assert!(kernel("functions").contains("ex2.approx.ftz.f32"), "{text}");
    assert!(kernel("sine").contains("__local_depot") && kernel("sine").contains("[560]"), "{}", kernel("sine"));
    assert!((60..100).contains(&kernel("root").lines().count()), "{}", kernel("root"));

    assert!(kernel("small").contains("cas.b32"), "{text}");
    let orderings = kernel("orderings");
    for part in [
        "atom.global.add.u32",
        "fence.",
        "atom.global.max.u32",
        "ld.acquire.sys.global",
        "st.release.sys.global",
        "atom.acquire.sys.global.cas.b32",
    ] {
        assert!(orderings.contains(part), "no {part}: {orderings}");
    }
    assert_eq!(orderings.matches("fence").count(), 1, "the page says which operations order: {orderings}");
}
}
