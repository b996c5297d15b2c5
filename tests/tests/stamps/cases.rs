//! Which kernel shows what.

/// When the end stamp is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After the work; nothing is promised about its completion.
    Any,
    /// While the work's result is on its way.
    Issued,
    /// Once the work's result is there.
    Complete,
    /// After the completion that `profiler-build` puts after a barrier.
    Barrier,
    /// After a branch on what the work found.
    Branch,
}

/// A region of a kernel.
pub(crate) struct Case {
    /// The kernel, in `tests/kernels/src/stamps.rs`.
    pub(crate) kernel: &'static str,
    /// Which of the kernel's regions.
    pub(crate) region: usize,
    /// How many the kernel has.
    pub(crate) regions: usize,
    /// Instructions that belong into the region.
    pub(crate) work: &'static [&'static str],
    /// How many of each stand outside of it.
    pub(crate) work_outside: usize,
    /// Instructions that belong before the region.
    pub(crate) before: &'static [&'static str],
    pub(crate) end: End,
    /// Whether the work is a loop of unknown length.
    pub(crate) is_loop: bool,
    /// Whether there are four loads on either side.
    pub(crate) batched: bool,
    /// Whether the stamps are nanoseconds.
    pub(crate) nanoseconds: bool,
}

impl Case {
    const fn new(kernel: &'static str, work: &'static [&'static str], end: End) -> Self {
        Self {
            kernel,
            region: 0,
            regions: 1,
            work,
            work_outside: 0,
            before: &[],
            end,
            is_loop: false,
            batched: false,
            nanoseconds: false,
        }
    }

    const fn of_two(kernel: &'static str, region: usize, work: &'static [&'static str]) -> Self {
        Self { region, regions: 2, ..Self::new(kernel, work, End::Any) }
    }

    /// The test's name.
    pub(crate) fn name(&self) -> String {
        let region = if self.regions == 1 { String::new() } else { format!("_{}", self.region) };
        format!("{}{region}", self.kernel)
    }
}

/// PTX with and without profiling, and the targets that it is assembled for.
pub(crate) struct Module {
    pub(crate) on: &'static str,
    pub(crate) off: &'static str,
    /// Whether each body is there twice with profiling, for a session and for none.
    pub(crate) is_twice: bool,
    /// Whether it has the kernel whose loop holds nothing but regions.
    pub(crate) has_loop: bool,
    pub(crate) targets: &'static [&'static str],
    pub(crate) cases: &'static [Case],
}

macro_rules! module {
    ($on:expr, $off:expr, $is_twice:expr, $targets:expr, $cases:expr) => {
        Module {
            on: include_str!(concat!(env!("OUT_DIR"), "/", $on, ".ptx")),
            off: include_str!(concat!(env!("OUT_DIR"), "/", $off, ".ptx")),
            is_twice: $is_twice,
            has_loop: matches!($on.as_bytes(), b"stamps" | b"stamps_twice"),
            targets: $targets,
            cases: $cases,
        }
    };
}

macro_rules! modules {
    ($($name:literal, $targets:expr, $cases:expr;)*) => {
        [$(
            module!($name, concat!($name, "_off"), false, $targets, $cases),
            module!(concat!($name, "_twice"), concat!($name, "_off"), true, $targets, $cases),
        )*]
    };
}

pub(crate) static MODULES: [Module; 6] = modules! {
    "stamps", &["sm_80", "sm_90a", "sm_100", "sm_120"], &SINCE_SM_80;
    "stamps_sm_90", &["sm_90a", "sm_100", "sm_120"], &SINCE_SM_90;
    "stamps_sm_90a", &["sm_90a"], &ONLY_SM_90A;
};

const LOAD: &[&str] = &["LDG"];
const ATOMIC: &[&str] = &["ATOM"];

static SINCE_SM_80: [Case; 36] = [
    Case::new("fma_pinned", &["FFMA"], End::Any),
    Case { before: &["LDG", "FMUL"], ..Case::new("entry_pinned", &["FFMA"], End::Any) },
    Case::new("fma_value", &["FFMA"], End::Any),
    Case::new("fma_waited", &["FFMA"], End::Complete),
    Case { work_outside: 1, ..Case::new("store", &["STG"], End::Any) },
    Case { work_outside: 2, ..Case::new("stores_around", &["STG"], End::Any) },
    Case::new("atomic_issued", ATOMIC, End::Issued),
    Case::new("atomic_waited", ATOMIC, End::Complete),
    Case::new("load_issued", LOAD, End::Issued),
    Case::new("load_pinned", &["LDG", "FFMA"], End::Any),
    Case::new("pointer_pinned", LOAD, End::Any),
    Case::new("load_reference", LOAD, End::Issued),
    Case::new("load_waited", LOAD, End::Complete),
    Case { nanoseconds: true, ..Case::new("load_waited_globaltimer", LOAD, End::Complete) },
    Case::new("load_waited_bool", LOAD, End::Complete),
    Case::new("load_waited_u8", LOAD, End::Complete),
    Case::new("load_waited_u16", LOAD, End::Complete),
    Case::new("load_waited_i8", LOAD, End::Complete),
    Case::new("load_waited_masked", LOAD, End::Complete),
    Case::new("load_waited_comparison", LOAD, End::Complete),
    Case::new("load_waited_bf16", LOAD, End::Complete),
    Case::new("load_waited_u64", LOAD, End::Complete),
    Case::new("load_waited_f64", LOAD, End::Complete),
    Case::new("load_waited_array", LOAD, End::Complete),
    Case::new("load_waited_tuple", LOAD, End::Complete),
    Case::new("load_waited_pointer", LOAD, End::Complete),
    // Not `Issued`: the compiler may move arithmetic on the loads before the region into it, which
    // waits for them.
    Case { work_outside: 8, batched: true, ..Case::new("loads_around", LOAD, End::Any) },
    Case { is_loop: true, ..Case::new("tile_loop", &["LDS", "FFMA"], End::Any) },
    Case::new("async_copy", &["LDGSTS", "LDGDEPBAR", "DEPBAR"], End::Any),
    Case::new("barrier", &["BAR"], End::Barrier),
    Case::new("matrix_load", &["LDSM"], End::Issued),
    Case::new("matrix_load_waited", &["LDSM"], End::Complete),
    Case::new("product_pinned", &["HMMA"], End::Any),
    Case { work_outside: 2, ..Case::new("products_around", &["HMMA"], End::Any) },
    Case { is_loop: true, ..Case::new("product_loop", &["HMMA"], End::Any) },
    Case::new("product_waited", &["HMMA"], End::Complete),
];

static SINCE_SM_90: [Case; 4] = [
    Case::of_two("bulk_copy", 0, &["SYNCS.ARRIVE", "UBLKCP"]),
    Case { is_loop: true, end: End::Branch, ..Case::of_two("bulk_copy", 1, &["SYNCS.PHASECHK"]) },
    Case::of_two("tensor_copy", 0, &["SYNCS.ARRIVE", "UTMALDG"]),
    Case { is_loop: true, end: End::Branch, ..Case::of_two("tensor_copy", 1, &["SYNCS.PHASECHK"]) },
];

static ONLY_SM_90A: [Case; 3] = [
    Case::of_two("group_product", 0, &["WARPGROUP.ARRIVE", "HGMMA"]),
    Case::of_two("group_product", 1, &["WARPGROUP.DEPBAR"]),
    Case::new("group_product_waited", &["HGMMA"], End::Complete),
];
