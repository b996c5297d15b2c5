//! Odd but legal regions, kernels, device functions, marks and tokens, beside those in `tests/kernels/src/linted.rs`.
#![deny(warnings, unsafe_op_in_unsafe_fn)]
#![allow(dead_code, reason = "compiled, not run")]

/// Regions.
mod regions {
    use profiler_device::{profile_mark, profile_region, profiled};

    #[profiled]
    extern "ptx-kernel" fn values(x: u32, flag: bool) {
        let a = profile_region!("one expression", { x });
        let (b, mut c) = profile_region!("two", { (a + 1, a) });
        profile_region!("assigns", { c += b });
        profile_region!("assigns more", {
            c += 1;
            let d = c;
            c = d * 2;
        });
        let declared;
        profile_region!("initializes", { declared = c });
        let reference = profile_region!("borrows", { &declared });
        let moved = String::new();
        let moved = profile_region!("moves", { moved });
        drop(moved);
        let text: &str = profile_region!("temporary", { &String::from("a") });
        if profile_region!("condition", { a > b }) && *reference > 0 {
            profile_mark!("in a branch", text.len());
        }
        while profile_region!("loop condition", { c > 10 }) {
            c -= 1;
        }
        match profile_region!("scrutinee", { x }) {
            0 => profile_region!("arm", {}),
            1 => profile_region!("arm with unit", { () }),
            _ if flag => profile_region! { "braces", { c = 0; } },
            _ => {}
        }
        let closure = |y: u32| profile_region!("in a closure", { y + c });
        let _: u32 = closure(profile_region!("argument", { 1 })) + profile_region!("operand", { 2 });
        profile_region!("empty", {});
        profile_region!("trailing comma",);
        profile_region!("trailing comma", by = block, {},);
        let _ = profile_region!("nested", {
            profile_region!("twice", { profile_region!("thrice", { 3 }) })
        });
        c = profile_region!("array", { [1, 2, 3] })[c as usize % 3].min(4);
        let _ = c;
        profile_region!("last");
    }

    #[profiled]
    extern "ptx-kernel" fn exits(count: u32) {
        'outer: for i in 0..count {
            profile_region!("statement in a loop");
            for j in 0..count {
                profile_region!("leaves", {
                    if j == 1 {
                        continue;
                    }
                    if j == 2 {
                        continue 'outer;
                    }
                    if i == 3 {
                        break 'outer;
                    }
                });
            }
            profile_region!("breaks", { break });
        }
        let _found = 'search: {
            profile_region!("labelled", {
                if count == 2 {
                    break 'search 1;
                }
            });
            2
        };
        let _known = loop {
            profile_region!("value of break", { break 5 });
        };
        let Some(_bound) = profile_region!("let else", { count.checked_sub(1) }) else {
            profile_region!("else", { return });
        };
        if count == 4 {
            profile_region!("returns", {
                return;
            });
        }
        if count == 5 {
            profile_region!("never ends", {
                loop {
                    core::hint::spin_loop();
                }
            });
        }
        profile_region!("returns at the end", { return });
    }

    fn question_mark(
        prof: profiler_device::Recorder,
        text: &str,
    ) -> Result<u32, std::num::ParseIntError> {
        let first: u32 = profile_region!("parse", recorder = prof, { text.parse()? });
        profile_region!("tail", recorder = prof, { text.parse().map(|second: u32| first + second) })
    }

    #[profiled]
    extern "ptx-kernel" fn options(size: u32, data: &[f32]) {
        let mut a = data[0];
        let mut b = [2.0_f32; 4];
        let (_x, _y) = profile_region!("wait for two", wait, { (data[1], data[2]) });
        profile_region!("pins", pin = (a, b[0], b[1]), {
            for element in &mut b {
                *element += a;
            }
        });
        let through = &mut a;
        let sum = profile_region!("both", wait, pin = (*through), { *through + 1.0 });
        for _ in 0..2 {
            profile_region!("pinned and never whole", pin = b[0], { break });
        }
        profile_region!("signed", value = -1, { size });
        profile_region!("float", value = sum, unit = "percent");
        profile_region!("double", value = 0.5_f64, {});
        profile_region!("wide", value = u64::from(size), by = block, track = size, {});
        profile_region!("when", by = when(size > 3 && data.is_empty()), track = size + 1);
        if size == 7 {
            profile_region!("pinned return", pin = b[0], { return });
        }
    }
}

/// Kernels.
mod kernels {
    use profiler_device::{profile_region, profiled, recorder};

    #[profiled()]
    extern "ptx-kernel" fn with_parentheses() {}

    const THREADS: u32 = 256;
    const TUNING: bool = cfg!(debug_assertions);

    /// Documented.
    #[profiled(
        name = "all of them",
        by = warp(3),
        track = tile + 1,
        clock = globaltimer,
        buffer = global,
        enabled = TUNING && THREADS > 1,
        max_threads = THREADS,
        min_blocks = 2,
        max_registers = 128,
        crate = ::profiler_device,
    )]
    pub(crate) unsafe extern "ptx-kernel" fn everything(tile: u32) {
        #![doc = "Inner documentation."]
        #![allow(unused_variables, reason = "an inner attribute")]
        let unused = tile;
    }

    // No anchor of this kernel's own, which is refused: a name, and one of a recorder.
    #[profiled(clock = globaltimer)]
    extern "ptx-kernel" fn anchors_elsewhere(rounds: u32) {
        use profiler_device::profile_anchor;
        #[allow(unused_parens, reason = "an attribute after the name")]
        let last = (rounds - 1);
        let prof = recorder!();
        for round in 0..rounds {
            if round == last {
                profile_anchor!(recorder = prof);
            }
        }
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Tile {
        x: u32,
        y: u32,
    }

    impl Tile {
        #[profiled(single_body)]
        extern "ptx-kernel" fn associated(tile: Self) {
            profile_region!("rest", value = tile.x);
        }
    }

    struct Moved(u32);

    #[profiled(by = when(x == 0), track = y)]
    extern "ptx-kernel" fn in_parts(
        Tile { mut x, y }: Tile,
        whole @ Tile { .. }: Tile,
        ref kept: u32,
        Moved(inside): Moved,
        _: u32,
    ) {
        x += whole.x + *kept + inside + y;
        let _ = x;
    }

    #[profiled]
    extern "ptx-kernel" fn has_items(output: impl Fn() -> u32) {
        struct Local(u32);
        impl Local {
            fn new(number: u32) -> Self {
                Self(number)
            }
        }
        profile_region!("rest", value = Local::new(output()).0);
    }

    #[profiled]
    #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
    extern "ptx-kernel" fn exported_on_the_device() {}

    #[profiled]
    extern "ptx-kernel" fn r#loop(mut left: u32) -> () {
        loop {
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }

    #[profiled]
    extern "ptx-kernel" fn forever() {
        loop {
            core::hint::spin_loop();
        }
    }

    mod nested {
        use profiler_device::profiled;

        #[profiled]
        pub(super) extern "ptx-kernel" fn in_a_module() {}

        pub struct Kernels;
        impl Kernels {
            #[profiled]
            pub unsafe extern "ptx-kernel" fn associated(_output: *mut u32) {}
        }
    }

    /// Items in a function's body know nothing of its parameters.
    fn outer<T, const N: usize>() -> [Option<T>; N] {
        #[profiled]
        extern "ptx-kernel" fn inside_a_generic_function(rounds: u32) {
            profile_region!("rounds", value = rounds);
        }
        [const { None }; N]
    }
}

/// Device functions: the body is a region whatever leaves it.
mod device_functions {
    use profiler_device::{Recorder, profile_region, profiled, recorder};

    #[profiled]
    fn by_value(prof: Recorder, x: u32) -> u32 {
        x + 1
    }

    #[profiled]
    fn by_mutable_reference<'a>(
        x: &'a u32,
        prof: &mut profiler_device::Recorder<'_>,
    ) -> &'a u32 {
        by_value(*prof, *x);
        let again: &mut Recorder = prof;
        by_value(*again, *x);
        x
    }

    #[profiled]
    fn opaque<'a>(prof: Recorder<'a>, values: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        values.iter().map(|value| value + 1)
    }

    #[profiled]
    fn boxed(prof: Recorder) -> Box<dyn Fn(u32) -> u32> {
        Box::new(|x| x + 1)
    }

    #[profiled]
    #[allow(improper_ctypes_definitions, reason = "only its shape matters")]
    extern "C" fn foreign(prof: Recorder, x: u32) -> u32 {
        x
    }

    #[profiled]
    fn never(prof: Recorder) -> ! {
        loop {
            core::hint::spin_loop();
        }
    }

    #[profiled]
    fn recursive(prof: Recorder, depth: u32) -> u32 {
        if depth == 0 { 0 } else { 1 + recursive(prof, depth - 1) }
    }

    type Handle<'a> = Recorder<'a>;

    #[profiled(recorder = handle)]
    fn under_an_alias(handle: Handle) {
        profile_region!("inside");
    }

    #[profiled(recorder = first)]
    fn two(first: Recorder, second: Recorder) {
        profile_region!("second", recorder = second);
    }

    struct Pipeline<'a, T> {
        prof: Recorder<'a>,
        value: T,
    }

    impl<'a, T: Copy> Pipeline<'a, T> {
        #[profiled(recorder = self.prof)]
        fn get(&self) -> T {
            profile_region!("inner", { self.value })
        }

        #[profiled]
        fn take(self, prof: &Recorder<'a>) -> Self {
            self
        }
    }

    trait Stage {
        fn run(&mut self, prof: Recorder) -> u32;
    }

    impl<T> Stage for Pipeline<'_, T> {
        #[profiled(name = "stage")]
        fn run(&mut self, prof: Recorder) -> u32 {
            3
        }
    }

    #[profiled]
    extern "ptx-kernel" fn kernel(x: u32) {
        let mut prof = recorder!();
        let value = by_value(prof, x) + *by_mutable_reference(&x, &mut prof);
        let closure = |value| by_value(recorder!(), value);
        closure(Pipeline { prof, value }.take(&prof).run(prof));
    }
}

/// Marks, tokens and lists of names.
mod marks_and_tokens {
    use profiler_device::{
        Recorder, profile_mark, profile_names, profile_region, profile_signal, profiled,
        region_end, region_start,
    };

    profile_names!(TASK = ["load", "mma", "store",]);
    mod lists {
        profiler_device::profile_names!(pub(crate) STEP = ["a", "b"], crate = ::profiler_device);
    }
    const _: () = assert!(TASK::LEN == 3 && lists::STEP::LEN == 2);

    #[profiled]
    extern "ptx-kernel" fn kernel(depth: u32) {
        profile_mark!("comparison", u32::from(depth == 3));
        profile_mark!("options", depth * 4, unit = "bytes", by = elected,);
        let unit = profile_mark!("expression");
        let () = unit;
        let crossing = region_start!("crossing", by = warp_group, track = depth);
        region_end!(crossing, value = 2.5_f32,);
        let held = Some(region_start!("held"));
        if let Some(token) = held {
            region_end!(token, crate = ::profiler_device)
        }
        let mut pinned = 1;
        let _pinned = profile_region!(lists::STEP[depth % 2], wait, pin = pinned, {
            pinned += 1;
            pinned
        });
    }

    fn helper(prof: &mut Recorder) {
        profile_mark!("helper", 3, recorder = prof);
        profile_signal!("full", 1, recorder = prof);
        let token = region_start!("token", recorder = prof);
        region_end!(token);
        profile_region!(TASK[1], recorder = *prof);
    }
}

fn main() {
    #[profiler_device::profiled]
    extern "ptx-kernel" fn inside_a_function() {}
}
