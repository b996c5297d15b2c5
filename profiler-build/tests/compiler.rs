//! Device crates through the real compiler.
//!
//! Without a compiler the tests are ignored; with PROFILER_REQUIRE_TOOLS=1 that is a failure.

#[path = "compiler/needs.rs"]
mod needs;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_build::{Error, Kernels, LaunchBounds, Ptx};
use profiler_test_tools::are_required;

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn() -> Outcome);

const PRELUDE: &str = r#"
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }

macro_rules! site {
    ($kind:ident, $name:expr, $threads:expr, $names:expr) => {{
        const ENTRY: wire::SiteEntry<'static> = {
            let mut entry = wire::SiteEntry::new(
                wire::SiteKind::$kind, $name, file!(), module_path!(), line!(), column!());
            let names: &'static [&'static str] = &$names;
            entry.max_threads = $threads;
            entry.symbol = if $threads == 0 { "" } else { $name };
            entry.names = wire::site::Names::Given(names);
            entry.ids = if names.is_empty() { 1 } else { names.len() as u32 + 1 };
            entry
        };
        const LENGTH: usize = ENTRY.encoded_len();
        const BYTES: [u8; LENGTH] = ENTRY.encode();
        #[used]
        static __PROFILER_SITE: [u8; LENGTH] = BYTES;
        let id: u32;
        unsafe {
            core::arch::asm!("mov.u32 {r}, {id}; // profiler-site {key}", r = out(reg32) id,
                id = const wire::site::hashed_id(wire::site::key_of(&BYTES), ENTRY.ids),
                key = const wire::site::key_of(&BYTES))
        };
        id
    }};
}
"#;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = profiler_build::compiler_version().err();
    // A variable that names what cannot be used is a mistake, not a machine without a compiler.
    let fails = |error: &&Error| are_required() || !error.is_no_compiler();
    if let Some(error) = missing.as_ref().filter(fails) {
        let error = error.to_string();
        let trial = Trial::test("a_compiler_for_nvptx64_is_installed", || Err(error.into()));
        return libtest_mimic::run(&arguments, vec![trial]).exit_code();
    }
    let tests: [Test; 13] = [
        ("sites_of_a_real_module_are_numbered", sites_of_a_real_module_are_numbered),
        ("errors_of_the_device_crate_are_forwarded", errors_of_the_device_crate_are_forwarded),
        ("enabled_follows_the_builder_also_when_renamed", enabled_follows_the_builder),
        ("build_scripts_are_told_what_to_watch", build_scripts_are_told_what_to_watch),
        ("variables_that_kernels_read_are_watched", variables_that_kernels_read_are_watched),
        ("target_version_and_bounds_are_the_build_scripts", target_version_and_bounds),
        ("what_one_build_script_compiled_serves_another", what_one_build_script_compiled),
        ("a_target_that_is_none_is_refused_at_once", needs::a_target_that_is_none),
        ("alloc_is_there_where_it_is_asked_for", needs::alloc_where_it_is_asked_for),
        ("what_a_device_crate_lacks_is_named_with_help", needs::what_a_device_crate_lacks),
        ("unstable_flags_of_the_device_crates_own_serve", needs::unstable_flags_of_its_own),
        ("calls_of_what_nothing_defines_are_refused", calls_of_what_nothing_defines),
        ("a_function_that_records_and_is_not_inlined_is_told_of", a_function_that_records),
    ];
    let trials = tests
        .into_iter()
        .map(|(name, test)| Trial::test(name, test).with_ignored_flag(missing.is_some()))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A device crate in a folder of its own.
fn device_crate(folder: &Path, package: &str, dependencies: &str, source: &str) -> PathBuf {
    let folder = folder.join(package);
    std::fs::create_dir_all(folder.join("src")).expect("created");
    let manifest = format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\n{dependencies}\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    std::fs::write(folder.join("src/lib.rs"), source).expect("written");
    folder
}

fn wire_dependency() -> String {
    format!("wire = {{ package = \"profiler-wire\", path = {:?} }}", sibling("profiler-wire"))
}

fn sibling(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The workspace's target folder, where `core` is kept for all that compiles for a GPU.
fn target() -> &'static Path {
    let of_tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
    of_tests.parent().unwrap_or(of_tests)
}

/// Compiles.
fn build(folder: &Path, enabled: bool) -> Result<(Ptx, String), Error> {
    let ptx = Kernels::new(folder)
        .profile_enabled(enabled)
        .out_dir(folder.join("out"))
        .target_dir(target())
        .build()?;
    let text = std::fs::read_to_string(&ptx.path).expect("readable");
    Ok((ptx, text))
}

/// The immediates of the marked instructions, and the ids in the statics.
fn ids(text: &str) -> (Vec<u32>, Vec<u32>) {
    let code = text
        .lines()
        .filter(|line| line.contains("// profiler-site "))
        .map(|line| {
            let code = line.split(';').next().unwrap_or_default();
            code.rsplit(", ").next().unwrap_or_default().parse().expect("an immediate")
        })
        .collect();
    let statics = text
        .lines()
        .filter(|line| line.contains(".b8") && line.contains("__PROFILER_SITE"))
        .map(|line| {
            let values = line.split(['{', '}']).nth(1).expect("values");
            let bytes: Vec<u32> =
                values.split(", ").map(|value| value.parse().expect("a byte")).collect();
            bytes[16] + bytes[17] * 256 + bytes[18] * 65536
        })
        .collect();
    (code, statics)
}

/// Assembles the text where ptxas is at hand: PROFILER_PTXAS names it.
fn assemble(ptx: &Ptx) -> Outcome {
    assemble_for(ptx, "sm_80")
}

fn assemble_for(ptx: &Ptx, target: &str) -> Outcome {
    let Some(ptxas) = std::env::var_os("PROFILER_PTXAS") else { return Ok(()) };
    let output = Command::new(ptxas)
        .args(["-arch", target, "-v", "-o"])
        .arg(ptx.path.with_extension("cubin"))
        .arg(&ptx.path)
        .output()
        .map_err(|error| format!("PROFILER_PTXAS cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ptxas: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn sites_of_a_real_module_are_numbered() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = format!(
        r#"{PRELUDE}
fn helper<const N: u32>(x: u32) -> u32 {{ x * N + site!(Region, "in a generic", 0, []) }}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn twice(p: *mut u32, n: u32) {{
    let mut s = site!(Kernel, "twice", 256, []);
    for i in 0..n {{
        s = s * 3 + site!(Region, "inner", 0, []) + i + site!(Names, "tasks", 0, ["a", "b"]);
    }}
    unsafe {{ *p = helper::<2>(s) + helper::<3>(s) }}
}}
"#
    );
    let folder = device_crate(root.path(), "real-kernels", &wire_dependency(), &source);
    let (ptx, text) = build(&folder, true)?;
    assert_eq!((ptx.name.as_str(), ptx.sites), ("real_kernels", 4));
    assert!(text.starts_with("// profiler-build: wire=1 sites=4 enabled=true\n"), "{text}");
    let (mut code, mut statics) = ids(&text);
    code.sort_unstable();
    code.dedup();
    statics.sort_unstable();
    statics.dedup();
    // The generic comes first; the list at 4 has two names and one id more.
    assert_eq!((code, statics), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
    assert!(text.contains(")\n.maxntid 256\n{"), "{text}");
    assemble(&ptx)
}

fn target_version_and_bounds() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = format!(
        "{PRELUDE}\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn fence() {{\n    \
         unsafe {{ core::arch::asm!(\"wgmma.fence.sync.aligned;\") }}\n}}\n"
    );
    let folder = device_crate(root.path(), "hopper", &wire_dependency(), &source);
    let bounds = LaunchBounds { max_threads: 384, min_blocks: 1, max_registers: 0 };
    let ptx = Kernels::new(&folder)
        .target("sm_90a")
        .launch_bounds("fence", bounds)
        .out_dir(folder.join("out"))
        .target_dir(target())
        .build()?;
    let text = std::fs::read_to_string(&ptx.path)?;
    assert!(text.contains(".version 8.0\n.target sm_90a"), "{text}");
    assert!(text.contains("\n.maxntid 384\n.minnctapersm 1\n{"), "{text}");
    assemble_for(&ptx, "sm_90a")
}

fn errors_of_the_device_crate_are_forwarded() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = format!("{PRELUDE}\npub fn wrong() -> u32 {{ \"text\" }}\n");
    let folder = device_crate(root.path(), "wrong", &wire_dependency(), &source);
    let output = build(&folder, true).expect_err("the crate must not compile").to_string();
    assert!(output.contains("wrong does not compile for nvptx64:"), "{output}");
    assert!(output.contains("mismatched types") && output.contains("src/lib.rs"), "{output}");
    assert!(!folder.join("out/wrong.ptx").exists());
    Ok(())
}

fn enabled_follows_the_builder() -> Outcome {
    let root = tempfile::tempdir()?;
    // Stands in for the device runtime: only its name and feature matter here.
    let runtime = device_crate(
        root.path(),
        "profiler-device",
        "[features]\nenabled = []",
        "#![no_std]\npub const ENABLED: u32 = if cfg!(feature = \"enabled\") { 4711 } else { 815 };",
    );
    let source = "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n#[unsafe(no_mangle)]\n\
        pub unsafe extern \"ptx-kernel\" fn k(p: *mut u32) { unsafe { *p = prof::ENABLED } }\n";
    for (package, dependency) in [
        ("renamed", format!("prof = {{ package = \"profiler-device\", path = {runtime:?} }}")),
        ("plain", format!("profiler-device = {{ path = {runtime:?} }}")),
    ] {
        let source = if package == "plain" {
            source.replace("prof::", "profiler_device::")
        } else {
            source.to_owned()
        };
        let folder = device_crate(root.path(), package, &dependency, &source);
        for (enabled, constant) in [(true, "4711"), (false, "815"), (true, "4711")] {
            let (_, text) = build(&folder, enabled)?;
            assert!(text.contains(constant), "{package} {enabled}: {text}");
        }
    }
    Ok(())
}

/// A host crate with a build script of its own, built by cargo as a user's would be.
struct Host {
    folder: PathBuf,
}

impl Host {
    fn new(root: &Path, package: &str, source: &str) -> std::io::Result<Self> {
        let dependency = format!(
            "[build-dependencies]\nprofiler-build = {{ path = {:?} }}",
            sibling("profiler-build")
        );
        let folder = device_crate(root, package, &dependency, source);
        std::fs::write(
            folder.join("build.rs"),
            "fn main() -> Result<(), Box<dyn std::error::Error>> {\n    \
             profiler_build::Kernels::new(\"kernels\").build_or_warn()?;\n    Ok(())\n}\n",
        )?;
        Ok(Self { folder })
    }

    /// The output of `cargo test`, with these variables in its environment.
    fn test(&self, variables: &[(&str, &str)]) -> String {
        // Cargo marks only a folder that it makes itself as a target folder: here `core` is to lie in the
        // one above.
        let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host");
        std::fs::create_dir_all(&target_dir).expect("made");
        let output = Command::new(env!("CARGO"))
            .args(["test", "--verbose", "--target-dir"])
            .arg(target_dir)
            .current_dir(&self.folder)
            .env_remove("CARGO_MANIFEST_DIR")
            .envs(variables.iter().copied())
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let failures = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{failures}");
        said
    }
}

fn build_scripts_are_told_what_to_watch() -> Outcome {
    let root = tempfile::tempdir()?;
    let host = Host::new(
        root.path(),
        "host",
        "pub const PTX: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/kernels.ptx\"));\n\
         #[test]\nfn ptx() {\n    let is_left_out = std::env::var_os(\"PROFILER_SKIP_PTX\").is_some();\n    \
         assert!(PTX.contains(\".entry k\") != is_left_out && PTX.is_empty() == is_left_out);\n    \
         assert!(env!(\"PROFILER_PTX_KERNELS\").ends_with(\"kernels.ptx\"));\n}\n",
    )?;
    let source = "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n#[unsafe(no_mangle)]\n\
        pub unsafe extern \"ptx-kernel\" fn k(p: *mut u32) { let unused = 1; unsafe { *p = 1 } }\n";
    let kernels = device_crate(&host.folder, "kernels", "", source);
    let said = host.test(&[]);
    assert!(said.contains("unused variable"), "the nested compiler's warnings are shown: {said}");
    // The first run has written the device crate's Cargo.lock, which is watched too.
    host.test(&[]);
    let said = host.test(&[]);
    assert!(said.contains("Fresh host"), "nothing has changed: {said}");
    std::fs::write(kernels.join("src/lib.rs"), source.replace("let unused = 1; ", ""))?;
    let said = host.test(&[]);
    assert!(said.contains("Dirty host"), "a kernel has changed: {said}");
    assert!(!said.contains("unused variable"), "{said}");
    // Whoever needs no PTX leaves it out, and gets it again.
    host.test(&[("PROFILER_SKIP_PTX", "1")]);
    host.test(&[]);
    Ok(())
}

/// Variables that the device crate, a crate that it takes by path and its cargo's configuration name.
fn variables_that_kernels_read_are_watched() -> Outcome {
    let root = tempfile::tempdir()?;
    let host = Host::new(
        root.path(),
        "host-of-variables",
        "#[test]\nfn ptx() {\n    \
         let ptx = include_str!(concat!(env!(\"OUT_DIR\"), \"/variable_kernels.ptx\"));\n    \
         for name in [\"TILE\", \"DEPTH\", \"EXPECTED\"] {\n        \
         let number = std::env::var(name).unwrap();\n        \
         assert!(ptx.contains(&number), \"{name} is {number}: {ptx}\");\n    }\n}\n",
    )?;
    let by_path = device_crate(
        root.path(),
        "read-by-path",
        "",
        "#![no_std]\npub const fn parse(text: &str) -> u32 {\n    \
         let (mut number, mut at) = (0, 0);\n    while at < text.len() {\n        \
         number = number * 10 + (text.as_bytes()[at] - b'0') as u32;\n        at += 1;\n    }\n    \
         number\n}\npub const DEPTH: u32 = parse(env!(\"DEPTH\"));\n",
    );
    let kernels = device_crate(
        &host.folder,
        "kernels",
        &format!("read-by-path = {{ path = {by_path:?} }}\n[lib]\nname = \"variable_kernels\""),
        "#![no_std]\n#![feature(abi_ptx)]\nuse read_by_path::{DEPTH, parse};\n#[panic_handler]\n\
         fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"ptx-kernel\" fn k(p: *mut u32) {\n    \
         const TILE: u32 = parse(env!(\"TILE\"));\n    \
         const CONFIGURED: u32 = parse(env!(\"CONFIGURED\"));\n    \
         for number in [TILE, DEPTH, CONFIGURED] { unsafe { p.write_volatile(number) } }\n}\n",
    );
    let configure = |number: &str| -> std::io::Result<()> {
        std::fs::create_dir_all(kernels.join(".cargo"))?;
        let text = format!("[env]\nCONFIGURED = \"{number}\"\n");
        std::fs::write(kernels.join(".cargo/config.toml"), text)
    };
    let test = |tile, depth, expected| {
        host.test(&[("TILE", tile), ("DEPTH", depth), ("EXPECTED", expected)])
    };
    configure("30011")?;
    test("10011", "20011", "30011");
    // The first run has written the device crate's Cargo.lock.
    test("10011", "20011", "30011");
    let said = test("10011", "20011", "30011");
    assert!(said.contains("Fresh host-of-variables"), "nothing has changed: {said}");
    test("10022", "20011", "30011");
    test("10022", "20022", "30011");
    configure("30022")?;
    test("10022", "20022", "30022");
    Ok(())
}

fn calls_of_what_nothing_defines() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = |body: &str| {
        format!(
            "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
             fn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}\n\
             unsafe extern \"C\" {{ fn malloc(size: usize) -> *mut u8; }}\n#[unsafe(no_mangle)]\n\
             pub unsafe extern \"ptx-kernel\" fn k(p: *const u8, n: usize, out: *mut bool) {{\n    \
             let [a, b] = [0, 100].map(|at| unsafe {{ core::slice::from_raw_parts(p.add(at), n) }});\n    \
             unsafe {{ out.write_volatile({body} || malloc(n).is_null()) }}\n}}\n"
        )
    };
    let folder = device_crate(root.path(), "linked", "", &source("a == b"));
    let error = build(&folder, true).map(|(ptx, _)| ptx.sites).expect_err("memcmp is nowhere");
    let error = error.to_string();
    assert!(error.contains("the PTX of linked") && error.contains("`k` calls `memcmp`"), "{error}");
    assert!(!error.contains("malloc"), "{error}");
    // As the error says.
    std::fs::write(folder.join("src/lib.rs"), source("a.iter().eq(b)"))?;
    assemble(&build(&folder, true)?.0)
}

fn a_function_that_records() -> Outcome {
    let root = tempfile::tempdir()?;
    let host = Host::new(root.path(), "host-of-functions", "")?;
    let source = format!(
        "{PRELUDE}\n#[inline(never)]\nfn step(x: u32) -> u32 {{ x + site!(Region, \"step\", 0, []) }}\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn k(p: *mut u32) {{\n    \
         unsafe {{ *p = step(*p) + step(*p.add(1)) }}\n}}\n"
    );
    device_crate(&host.folder, "kernels", &wire_dependency(), &source);
    let said = host.test(&[]);
    assert!(said.contains("the function `kernels::step` records and is not inlined"), "{said}");
    Ok(())
}

fn what_one_build_script_compiled() -> Outcome {
    let root = tempfile::tempdir()?;
    let source = |name: &str| {
        format!(
            "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
             fn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}\n\
             fn unused() {{}}\n\
             #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn {name}(p: *mut u32) {{\n    \
             unsafe {{ p.write_volatile(3) }}\n}}\n"
        )
    };
    let folder = device_crate(root.path(), "kept", "", &source("first"));
    let build = |out: &str| -> Result<String, Failed> {
        let out = root.path().join(out);
        let kernels = Kernels::new(&folder).out_dir(&out).target_dir(target());
        let text = std::fs::read_to_string(kernels.build()?.path)?;
        assert!(out.join("kept.unprocessed.ptx").is_file(), "what was processed is there too");
        Ok(text)
    };
    let written = build("debug")?;
    assert!(written.contains(".entry first("), "{written}");
    let mut kept = Vec::new();
    for of_flags in std::fs::read_dir(target().join("nvptx"))? {
        for file in std::fs::read_dir(of_flags?.path().join("kept")).into_iter().flatten() {
            let file = file?.path();
            // Of other tests, one may be written just now.
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            kept.extend(text.contains(folder.to_str().unwrap_or("?")).then_some((file, text)));
        }
    }
    let [(file, text)] = &kept[..] else { return Err(format!("{} files", kept.len()).into()) };
    assert!(text.contains("function `unused` is never used"), "warnings are kept: {text}");
    // As nothing else would tell whether it was compiled again.
    std::fs::write(file, text.replace(".entry first(", ".entry kept("))?;
    assert_eq!(build("release")?, written.replace(".entry first(", ".entry kept("));
    std::fs::write(folder.join("src/lib.rs"), source("second"))?;
    assert!(build("debug")?.contains(".entry second("), "a change is compiled");
    Ok(())
}
