//! The list of what is, or becomes, other code on a GPU than in its twin, with what runs it on a GPU; and
//! that the list is true: of the modules that exist for both, of the functions of PTX, and of all else that
//! asks which of the two it is.
//!
//! The functions of PTX of profiler-device are one source: the emulator runs their text. What it knows for
//! that, its instructions and special registers, stands in these functions and nowhere else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What runs an intrinsic on a GPU, and looks at the result.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// A test, in `tests/tests/FILE.rs`, that the bundle for GPUs holds.
    Test(&'static str, &'static str),
    /// A test of a file of its own, which fails or hangs a kernel, or watches it.
    Apart(&'static str, &'static str),
    /// An example, which compares its result with that of the CPU, and a word of its kernels.
    Example(&'static str, &'static str),
}

use By::{Apart, Example, Test};

const REGISTERS: By = Test("intrinsics", "registers_say_where_a_thread_is");
const CLOCKS: By = Test("intrinsics", "clocks_go_on");
const WARPS: By = Test("intrinsics", "warps_vote_and_shuffle");
const BLOCKS: By = Test("intrinsics", "blocks_meet_and_share");
const COUNTERS: By = Test("intrinsics", "threads_count_and_hand_over");
const ARITHMETIC: By = Test("intrinsics", "arithmetic_is_exact_enough");
const COPIES: By = Test("intrinsics", "copies_arrive");
const RECORDS: By = Test("intrinsics", "records_of_every_form_hold_what_was_done");
const COSTS: By = Test("end_to_end", "stamps_by_the_global_timer");
const PINS: By = Test("intrinsics", "what_is_pinned_keeps_its_value");
const VALUES: By = Test("intrinsics", "short_values_of_every_form_are_what_they_were");
const CLUSTER: By = Test("intrinsics", "the_rank_in_the_cluster_is_recorded");
const IN_VAIN: By = Test("trap", "a_wait_in_vain_ends_the_kernel");
const ROOMS: By = Test("rooms", "guard_words_stay");
const WATCHED: By = Apart("failed", "the_gpu_keeps_what_a_kernel_recorded_before_it_failed");
const KEPT: By = Test("watched", "what_is_kept_and_what_is_lost_are_all");
const CLAIMS: By = Test("rooms", "recorded_and_lost_are_all");

const fn hopper(word: &'static str) -> By {
    Example("hopper_gemm", word)
}

/// The functions of a file.
pub(super) type Functions = &'static [(&'static str, By)];

/// What the device runtime has on the GPU in another way than in its twin.
const GPU_SIDE: &str = "profiler-device/src/hardware/gpu.rs";

pub(super) const LIST: [(&str, Functions); 7] = [
    (
        GPU_SIDE,
        &[
            ("body", RECORDS),
            ("convergence_guard", WARPS),
            ("convergent_active_mask", WARPS),
            ("global_asm", RECORDS),
            ("guard", WARPS),
            ("is_unwinding", RECORDS),
            ("kernel", COSTS),
            ("leave_with_warp", RECORDS),
            ("number_of", RECORDS),
        ],
    ),
    (
        "profiler-device/src/hardware/ptx.rs",
        &[
            ("active_mask", WARPS),
            ("clock64", CLOCKS),
            ("cluster_ctarank", CLUSTER),
            ("ctaid_x", REGISTERS),
            ("ctaid_y", REGISTERS),
            ("ctaid_z", REGISTERS),
            ("globaltimer", CLOCKS),
            ("grid_id", CLOCKS),
            ("hold", RECORDS),
            ("hold_16", PINS),
            ("hold_64", PINS),
            ("lane_id", REGISTERS),
            ("lane_mask_lt", WARPS),
            ("nctaid_x", REGISTERS),
            ("nctaid_y", REGISTERS),
            ("nctaid_z", REGISTERS),
            ("ntid_x", REGISTERS),
            ("ntid_y", REGISTERS),
            ("ntid_z", REGISTERS),
            ("offset_behind", PINS),
            ("sm_id", CLOCKS),
            ("tid_x", REGISTERS),
            ("tid_y", REGISTERS),
            ("tid_z", REGISTERS),
            ("warp_id", CLAIMS),
        ],
    ),
    ("profiler-device/src/hardware/ptx/pause.rs", &[("pause", COSTS), ("work", COSTS)]),
    (
        "profiler-device/src/hardware/ptx/record.rs",
        &[
            ("atomic_add_u64", CLAIMS),
            ("broadcast", CLAIMS),
            ("clock64_after", RECORDS),
            ("constant_u32", RECORDS),
            ("constant_u64", RECORDS),
            ("converge", ROOMS),
            ("globaltimer_after", RECORDS),
            ("order_before_host", KEPT),
            ("publish_unit", WATCHED),
            ("publish_unit_if", WATCHED),
            ("publish_word", KEPT),
            ("store_unit", ROOMS),
            ("store_unit_if", ROOMS),
            ("store_with_value_if", VALUES),
            ("store_word", ROOMS),
            ("unit_address", ROOMS),
            ("unit_low", ROOMS),
        ],
    ),
    (
        "profiler-kernel/src/platform/ptx.rs",
        &[
            ("active_mask", WARPS),
            ("atomic_add_u32", COUNTERS),
            ("ballot", WARPS),
            ("barrier_arrive", BLOCKS),
            ("barrier_sync", BLOCKS),
            ("block_dim", REGISTERS),
            ("block_fence", BLOCKS),
            ("block_idx", REGISTERS),
            ("check_index", BLOCKS),
            ("convergent", WARPS),
            ("cp_async_16", COPIES),
            ("cp_async_arrive", COPIES),
            ("cp_async_commit", COPIES),
            ("cp_async_wait", COPIES),
            ("device_fence", COUNTERS),
            ("dynamic_shared", BLOCKS),
            ("dynamic_shared_bytes", BLOCKS),
            ("element_address", BLOCKS),
            ("exp2", ARITHMETIC),
            ("f32", BLOCKS),
            ("f64", BLOCKS),
            ("fma", ARITHMETIC),
            ("generic_pointer", BLOCKS),
            ("global_timer", IN_VAIN),
            ("grid_dim", REGISTERS),
            ("i32", BLOCKS),
            ("i64", BLOCKS),
            ("lane_id", REGISTERS),
            ("ldmatrix_x4", Example("gemm", "ldmatrix_x4(")),
            ("ldmatrix_x4_trans", Example("gemm", "ldmatrix_x4_trans(")),
            ("llvm_active_mask", WARPS),
            ("load", BLOCKS),
            ("load_acquire_u32", COUNTERS),
            ("mbarrier_arrive", COPIES),
            ("mbarrier_init", COPIES),
            ("mbarrier_invalidate", COPIES),
            ("mbarrier_test_parity", COPIES),
            ("mma_m16n8k16_bf16", Example("gemm", "mma_m16n8k16_bf16(")),
            ("pack_bf16", ARITHMETIC),
            ("rsqrt", ARITHMETIC),
            ("shuffle", WARPS),
            ("shuffle_down", WARPS),
            ("shuffle_xor", WARPS),
            ("spin_hint", COUNTERS),
            ("spin_until_or_trap", COPIES),
            ("stmatrix_x4", hopper("stmatrix_x4(")),
            ("store", BLOCKS),
            ("store_release_u32", COUNTERS),
            ("sync_threads", BLOCKS),
            ("sync_warp", WARPS),
            ("thread_idx", REGISTERS),
            ("trap", IN_VAIN),
            ("u16", BLOCKS),
            ("u32", BLOCKS),
            ("u64", BLOCKS),
            ("u8", BLOCKS),
        ],
    ),
    (
        "profiler-kernel/src/platform/hopper_ptx.rs",
        &[
            ("acquire_tensor_map", hopper("tma::acquire(")),
            ("commit_stores", hopper("tma::commit_stores(")),
            ("fence_async", hopper("tma::fence(")),
            ("mbarrier_arrive_expecting_bytes", hopper("arrive_expecting_bytes(")),
            ("release_registers", hopper("release_registers::")),
            ("shared_address", hopper("Factor::along_k(")),
            ("take_registers", hopper("take_registers::")),
            ("tensor_load_2d", hopper("tma::load_2d(")),
            ("tensor_store_2d", hopper("tma::store_2d(")),
            ("wait_stores_read", hopper("tma::wait_stores_read::")),
            ("wgmma_commit", hopper("wgmma::commit(")),
            ("wgmma_fence", hopper("wgmma::fence(")),
            ("wgmma_m64n256k16_bf16", hopper("m64n256k16_bf16(")),
            ("wgmma_wait", hopper("wgmma::wait::")),
        ],
    ),
];

const KERNELS: By = Test("end_to_end", "all_that_there_is");

/// What differs outside of these modules: functions with a part for each side or for one, and macros.
const ELSEWHERE: [(&str, Functions); 4] = [
    // The kernels, of which the host looks each up by its name in a module of its own on the GPU, and a list
    // of them.
    ("profiler-device/src/calibration.rs", &[("CALIBRATIONS", COSTS), ("calibrate", COSTS)]),
    ("profiler-kernel/src/lib.rs", &[("panic", WATCHED)]),
    ("profiler-kernel/src/shared.rs", &[("address", BLOCKS), ("shared_array", BLOCKS)]),
    // What a macro writes into the user's crate: each kernel once for each side, with one body.
    ("profiler-macros/src/profiled/kernel.rs", &[("expand", KERNELS)]),
];

/// The packages whose code, or code that they write, is in a kernel or its twin.
const PACKAGES: [&str; 4] =
    ["profiler-device/src", "profiler-kernel/src", "profiler-macros/src", "profiler-wire/src"];
/// What the macros are held against by their own tests: text, which is compiled nowhere.
const EXPECTED: &str = "profiler-macros/src/tests/";

pub(super) fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the functions that a source file has: those that it spells out, and those that stand
/// before a colon in a call of a macro of its own, which makes functions of them.
fn functions<'s>(source: &'s str) -> BTreeSet<&'s str> {
    let is_name = |text: &&str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut names = BTreeSet::new();
    let mut in_macro = false;
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if let Some((_, behind)) = line.split_once("fn ") {
            let end = behind.find(['(', '<']).unwrap_or(behind.len());
            names.extend(Some(&behind[..end]).filter(is_name));
        }
        // Of what `ptx!` is given, each function is spelled out.
        let call = line.strip_suffix("! {").filter(|call| is_name(call) && *call != "ptx");
        in_macro = call.is_some() || in_macro && line != "}";
        if in_macro && let Some((before, _)) = line.split_once(": ") {
            // The word before the name, if there is one, says what the compiler may do with it.
            let last = |names: &'s str| names.split_whitespace().last();
            names.extend(before.split(',').filter_map(last).filter(is_name));
        }
    }
    names
}

/// The macros that a source file defines, and `global_asm` where it has some.
fn macros(source: &str) -> BTreeSet<&str> {
    let names = source.lines().filter_map(|line| match line.strip_prefix("macro_rules! ") {
        Some(defined) => defined.strip_suffix(" {"),
        None => line.ends_with("global_asm!(").then_some("global_asm"),
    });
    names.collect()
}

/// The function, macro, constant or static that a line begins.
fn item(line: &str) -> Option<&str> {
    let (_, behind) = ["fn ", "macro_rules! ", "const ", "static "]
        .into_iter()
        .find_map(|word| line.split_once(word))?;
    let length = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    Some(&behind[..length.unwrap_or(behind.len())]).filter(|name| !name.is_empty())
}

/// The names of what a source file has for the GPU alone or for its twin alone: functions behind a
/// `cfg`, those that have one within, those of a module behind one, and macros, constants and statics
/// likewise. Modules that are files, and what is only named, are elsewhere. An attribute behind a `cfg_attr`
/// is no other code: it says whether there is a standard library, what is inlined, and what is not read.
fn sided(source: &str) -> BTreeSet<&str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut names = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.trim_start().starts_with("#[cfg(") || !line.contains("target_arch") {
            continue;
        }
        let mut below = lines[at + 1..].iter();
        let Some(subject) = below.find(|line| !line.trim_start().starts_with("#[")) else {
            continue;
        };
        if subject.contains("mod ") {
            let within = lines[at..].iter().skip_while(|line| *line != subject).skip(1);
            let within =
                within.take_while(|line| indent(line) > indent(subject) || line.is_empty());
            names.extend(within.filter_map(|line| item(line)));
        } else if let Some(name) = item(subject) {
            names.insert(name);
        } else if !subject.contains("use ") {
            let around = lines[..at].iter().rev().filter(|above| indent(above) < indent(line));
            names.extend(around.filter_map(|line| item(line)).next());
        }
    }
    names
}

/// All source files of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn what_has_two_sides_elsewhere_is_listed() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for package in PACKAGES {
        for file in sources(&root.join(package)) {
            let source = std::fs::read_to_string(&file).expect("a source file");
            let file = file.strip_prefix(&root).expect("in the workspace").display().to_string();
            if file.starts_with(EXPECTED) {
                continue;
            }
            found.extend(sided(&source).into_iter().map(|name| (file.clone(), name.to_owned())));
        }
    }
    let listed: BTreeSet<(String, String)> = (ELSEWHERE.iter())
        .flat_map(|(file, list)| list.iter().map(|(name, _)| (file.to_string(), name.to_string())))
        .collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "name what runs {missing:?} on a GPU");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these have one side: {gone:?}");
}

#[test]
fn every_intrinsic_is_run_on_a_gpu() {
    for (file, list) in LIST {
        let source = read(file);
        let listed: BTreeSet<&str> = list.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed.len(), list.len(), "{file} has names twice");
        let mut found = functions(&source);
        // What this file's macros make is what the other side has in another way.
        if file == GPU_SIDE {
            found.extend(macros(&source));
        }
        let missing: Vec<_> = found.difference(&listed).collect();
        assert!(missing.is_empty(), "{file}: name what runs {missing:?} on a GPU");
        let gone: Vec<_> = listed.difference(&found).collect();
        assert!(gone.is_empty(), "{file} has no {gone:?}");
    }
}

/// The first string of each entry of a table in the emulator's source.
fn table<'s>(source: &'s str, name: &str) -> Vec<&'s str> {
    let (_, table) = source.split_once(&format!("const {name}: ")).expect("the table");
    let (table, _) = table.split_once("\n];").expect("its end");
    let entries = table.lines().filter_map(|line| line.trim_start().strip_prefix("(\""));
    entries.filter_map(|entry| Some(entry.split_once('"')?.0)).collect()
}

#[test]
fn the_emulator_knows_no_instruction_that_no_gpu_runs() {
    let emulator = read("profiler-emulator/src/ptx.rs");
    let device: Vec<&str> = (LIST.iter().map(|(file, _)| *file))
        .filter(|file| file.starts_with("profiler-device/src/hardware/ptx"))
        .collect();
    assert_eq!(device.len(), 4);
    let device: String = device.into_iter().map(read).collect();
    // Registers are named for a macro, and some instructions made for the type of one.
    let moves = ["u32", "u64"].map(|class| format!("\"mov.{class} {{value}}, %\"\n"));
    let device = device.replace("\"mov.\", stringify!($type), \" {value}, %\"", &moves.concat());
    let patterns = table(&emulator, "INSTRUCTIONS");
    assert!(patterns.len() > 20, "{patterns:?}");
    for pattern in patterns {
        let text = pattern.strip_prefix("@$ ").unwrap_or(pattern);
        let instruction = text.split(' ').next().expect("an instruction");
        let is_there = device.match_indices(instruction).any(|(at, _)| {
            let behind = &device[at + instruction.len()..];
            device[..at].ends_with(['"', ' ']) && behind.starts_with([' ', ';'])
        });
        assert!(is_there, "{pattern} is in no function");
    }
    let registers = table(&emulator, "SPECIAL");
    assert!(registers.len() > 15, "{registers:?}");
    for register in registers {
        assert!(device.contains(&format!("\"{register}\"")), "%{register} is in no function");
    }
}

#[test]
fn what_runs_them_is_there() {
    let bundled = read("xtask/src/bundle.rs");
    for (name, by) in LIST.iter().chain(&ELSEWHERE).flat_map(|(_, list)| *list) {
        match by {
            Test(file, test) => {
                assert!(bundled.contains(&format!("{file:?}")), "{file} is not bundled");
                let source = read(&format!("tests/tests/{file}.rs"));
                let call = source.split_once("on_both_back_ends! {\n    ");
                let (_, call) = call.unwrap_or_else(|| panic!("{file} has no tests for GPUs"));
                let (tests, _) = call.split_once('}').unwrap_or((call, ""));
                let is_there = tests.split_whitespace().any(|listed| listed == *test);
                assert!(is_there, "{file} has no test {test} for {name}");
            }
            Apart(file, test) => {
                assert!(bundled.contains(&format!("{file:?}")), "{file} is not bundled");
                let source = read(&format!("tests/tests/{file}.rs"));
                let marked = format!("#[ignore = \"needs an NVIDIA GPU\"]\nfn {test}()");
                assert!(source.contains(&marked), "{file} has no test {test} for {name}");
            }
            Example(example, word) => {
                let kernels = read(&format!("examples/{example}/kernels/src/lib.rs"));
                assert!(kernels.contains(word), "{example} has no {word} for {name}");
            }
        }
    }
}

#[test]
fn functions_of_macros_are_found() {
    let source = "/// fn none()\npub(crate) fn one<const N: u32>() {}\n    fn $name() {}\nmacro_rules! \
                  special {\n    (a: b) => {}\n}\nspecial! {\n    two, three: \"x\";\n    four: \
                  \"y\";\n}\nconst FIVE: u32 = 5;\n";
    assert_eq!(functions(source), BTreeSet::from(["one", "two", "three", "four"]));
    let source = "macro_rules! five {\n    () => {};\n}\n#[cfg(six)]\ncore::arch::global_asm!(\n    \"\"\n);\n";
    assert_eq!(macros(source), BTreeSet::from(["five", "global_asm"]));
}

#[test]
fn what_has_two_sides_is_found() {
    let source = "#[cfg(target_arch = \"nvptx64\")]\n#[inline]\nfn one() {}\nfn none() {}\n\
                  fn two(\n) {\n    #[cfg(not(target_arch = \"nvptx64\"))]\n    {}\n}\n\
                  #[cfg(target_arch = \"nvptx64\")]\nmod inner {\n    use none;\n\n    \
                  fn three() {}\n}\nfn nor_this() {}\n#[cfg(target_arch = \"nvptx64\")]\n\
                  #[path = \"x.rs\"]\nmod file;\nmacro_rules! four {\n    () => {\n        \
                  #[cfg(target_arch = \"nvptx64\")]\n        asm!();\n    }\n}\n\
                  #[cfg(target_arch = \"nvptx64\")]\npub use inner::three;\n\
                  #[cfg(not(target_arch = \"nvptx64\"))]\npub const FIVE: &[u32] = &[];\n\
                  #[cfg(target_arch = \"nvptx64\")]\npub(crate) static SIX: u32 = 6;\n";
    assert_eq!(sided(source), BTreeSet::from(["one", "two", "three", "four", "FIVE", "SIX"]));
}
