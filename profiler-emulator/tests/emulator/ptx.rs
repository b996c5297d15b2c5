//! The effect of each instruction, by the PTX ISA.

use std::panic::{Location, catch_unwind};
use std::sync::Mutex;

use profiler_emulator::ptx::Program;
use profiler_emulator::{LaunchConfig, lane_id, launch, thread_index};

/// The final `{d}` of a text without memory accesses, with the operands `{a}`, `{b}` and `{c}`.
fn result(text: &str, [a, b, c]: [u64; 3]) -> u64 {
    let program = Program::new(&["d", "a", "b", "c"], text);
    // SAFETY: it touches no memory.
    let [d, ..] = unsafe { program.run([0, a, b, c], None) };
    d
}

fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

#[test]
fn registers_are_moved_split_and_joined() {
    let wide = 0x1234_5678_9abc_def0;
    assert_eq!(result("mov.b32 {d}, {a};", [wide, 0, 0]), 0x9abc_def0);
    assert_eq!(result("mov.u32 {d}, 7;", [0; 3]), 7);
    assert_eq!(result("mov.u64 {d}, {a};", [wide, 0, 0]), wide);
    assert_eq!(result("mov.b64 {{{d}, %high}}, {a};", [wide, 0, 0]), 0x9abc_def0);
    assert_eq!(result("mov.b64 {{%low, {d}}}, {a};", [wide, 0, 0]), 0x1234_5678);
    assert_eq!(result("mov.b64 {d}, {{{a}, {b}}};", [wide, 1, 0]), 0x1_9abc_def0);
}

#[test]
fn sums_and_shifts_are_those_of_32_bits() {
    assert_eq!(result("add.u32 {d}, {a}, {b};", [u32::MAX.into(), 3, 0]), 2);
    assert_eq!(result("sub.u32 {d}, {a}, {b};", [1, 3, 0]), (u32::MAX - 1).into());
    assert_eq!(result("mad.lo.u32 {d}, {a}, {b}, {c};", [0x8000_0001, 6, 7]), 13);
    assert_eq!(result("mad.lo.u32 {d}, {a}, {b}, {c};", [3, 5, u32::MAX.into()]), 14);
    assert_eq!(result("shl.b32 {d}, {a}, 24;", [0x1ff, 0, 0]), 0xff00_0000);
    assert_eq!(result("shl.b32 {d}, {a}, {b};", [1, 31, 0]), 1 << 31);
    // "Shift amounts greater than the register width N are clamped to N."
    assert_eq!(result("shl.b32 {d}, {a}, {b};", [1, 32, 0]), 0);
    assert_eq!(result("shl.b32 {d}, {a}, {b};", [1, 33, 0]), 0);
}

#[test]
fn a_branch_goes_back_to_its_label() {
    let factorial = "{{ .reg .pred %p_more;\nmov.u32 {d}, 1;\nfactors:\n.pragma \"nounroll\";\n\
                     mad.lo.u32 {d}, {d}, {a}, 0;\nsub.u32 {a}, {a}, 1;\n\
                     setp.ne.u32 %p_more, {a}, 0;\n@%p_more bra factors; }}";
    assert_eq!(result(factorial, [1, 0, 0]), 1);
    assert_eq!(result(factorial, [10, 0, 0]), 3_628_800);
}

#[test]
fn lop3_is_any_function_of_three_bits() {
    // The tables as the PTX ISA makes them: the function of 0xf0, 0xcc and 0xaa.
    let inputs = [0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc];
    let [a, b, c] = inputs;
    let functions = [
        ("0xf8", a | b & c),
        ("0xf0", a),
        ("0xcc", b),
        ("0xaa", c),
        ("0x80", a & b & c),
        ("0x96", a ^ b ^ c),
        ("0x01", u64::from(!(a | b | c) as u32)),
    ];
    for (table, expected) in functions {
        let text = format!("lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};");
        assert_eq!(result(&text, inputs), expected, "{table}");
    }
}

#[test]
fn comparisons_make_predicates() {
    let compare = |comparison: &str, a, b| {
        let text =
            format!("{comparison} %p, {{a}}, {{b}}; mov.u32 {{d}}, 2; @%p mov.u32 {{d}}, 1;");
        result(&text, [a, b, 0])
    };
    assert_eq!(compare("setp.ne.u32", 5, 5), 2);
    assert_eq!(compare("setp.ne.u32", 5, 6), 1);
    for (a, b, holds) in [
        (1.0, 2.0, true),
        (2.0, 2.0, true),
        (3.0, 2.0, false),
        (f32::NAN, 2.0, true),
        (2.0, f32::NAN, true),
        (f32::INFINITY, f32::INFINITY, true),
    ] {
        assert_eq!(compare("setp.leu.f32", bits(a), bits(b)) == 1, holds, "{a} {b}");
    }
    let magnitudes = "abs.f32 %a, {a}; abs.f32 %b, {b}; neg.f32 %b, %b; \
                      setp.leu.f32 %p, %b, %a; mov.u32 {d}, 2; @%p mov.u32 {d}, 1;";
    let values = [0.0, -0.0, -1.0, f32::MAX, f32::NEG_INFINITY, f32::NAN].map(bits);
    for a in values {
        for b in values {
            assert_eq!(result(magnitudes, [a, b, 0]), 1, "{a:#x} {b:#x}");
        }
    }
    assert_eq!(result("abs.f32 {d}, {a};", [bits(-1.5), 0, 0]), bits(1.5));
    assert_eq!(result("neg.f32 {d}, {a};", [bits(-1.5), 0, 0]), bits(1.5));
    assert_eq!(result("neg.f32 {d}, {a};", [bits(1.5), 0, 0]), bits(-1.5));
}

#[test]
fn declarations_scopes_and_comments_do_nothing() {
    let text = "{{ .reg .pred %p, %q; .reg .b32 %r<5>;\n// add.u32 {d}, {d}, 1;\n// {d}\nmov.u32 %r4, 3; \
                mov.u32 {d}, %r4; }}";
    assert_eq!(result(text, [0; 3]), 3);
    assert_eq!(result("// {d}", [0; 3]), 0);
}

#[test]
fn stores_write_words_and_a_counter_counts() {
    let mut memory = [0_u64; 4];
    let address = memory.as_mut_ptr() as u64;
    let run = |text: &str| {
        let program = Program::new(&["address", "a", "b"], text);
        // SAFETY: the texts store up to 16 bytes there, and add to the first word.
        unsafe { program.run([address, 0x1_0000_0002, 0x3_0000_0004], None) }
    };
    let stores = [
        ("st.global.u64 [{address}], {a};", [0x1_0000_0002, 0]),
        ("st.relaxed.sys.global.b64 [{address}], {b};", [0x3_0000_0004, 0]),
        ("st.global.v2.u64 [{address}], {{{a}, {b}}};", [0x1_0000_0002, 0x3_0000_0004]),
        ("st.relaxed.sys.global.v2.b64 [{address}], {{{b}, {a}}};", [0x3_0000_0004, 0x1_0000_0002]),
        ("st.global.v4.b32 [{address}], {{{a}, 5, 6, {b}}};", [0x5_0000_0002, 0x4_0000_0006]),
        ("setp.ne.u32 %p, 0, 0; @%p st.global.u64 [{address}], {a};", [0, 0]),
    ];
    // SAFETY: memory of this function, of which nothing else is borrowed.
    let words = || unsafe { std::slice::from_raw_parts_mut(address as *mut u64, 4) };
    for (text, expected) in stores {
        words().fill(0);
        run(text);
        assert_eq!(words(), [expected[0], expected[1], 0, 0], "{text}");
    }
    words()[0] = 40;
    let [_, before, _] =
        run("atom.relaxed.gpu.global.add.u64 {a}, [{address}], 2; fence.acq_rel.sys;");
    assert_eq!((before, words()[0]), (40, 42));
}

#[test]
fn the_kernel_is_asked_for_what_is_special() {
    let mut config = LaunchConfig::new([2, 1, 1], [4, 8, 1]);
    config.constant = (0..32).collect();
    let seen = Mutex::new(Vec::new());
    launch(&config, || {
        let read = |text: &str| {
            let program = Program::new(&["d"], text);
            // SAFETY: it touches no memory.
            let [d] = unsafe { program.run([0], None) };
            d
        };
        let [x, y, _] = thread_index();
        assert_eq!(read("mov.u32 {d}, %tid.x;"), u64::from(x));
        assert_eq!(read("mov.u32 {d}, %tid.y;"), u64::from(y));
        assert_eq!(read("mov.u32 {d}, %laneid;"), u64::from(4 * y + x));
        assert_eq!(read("mov.u32 {d}, %lanemask_lt;"), (1 << (4 * y + x)) - 1);
        assert_eq!(read("mov.u32 {d}, %ntid.y;"), 8);
        assert_eq!(read("mov.u32 {d}, %nctaid.x;"), 2);
        assert_eq!(read("ld.const.u32 {d}, [__symbol_v1+4];"), 0x0706_0504);
        assert_eq!(read("ld.const.u64 {d}, [symbol+8];"), 0x0f0e_0d0c_0b0a_0908);
        assert!(read("mov.u64 {d}, %clock64;") < read("mov.u64 {d}, %clock64;"));
        read("bar.warp.sync 0xffffffff;");
        seen.lock().expect("no panic").push(read("mov.u32 {d}, %ctaid.x;"));
    })
    .expect("launched");
    let mut seen = seen.into_inner().expect("no panic");
    seen.sort_unstable();
    assert_eq!(seen, [vec![0; 32], vec![1; 32]].concat());
}

#[test]
fn lanes_vote_and_exchange() {
    let here = Location::caller();
    launch(&LaunchConfig::new([1, 1, 1], [32, 1, 1]), || {
        let lane = u64::from(lane_id());
        let run = |text: &str, asked| {
            // SAFETY: it touches no memory.
            unsafe { Program::new(&["d", "a", "e"], text).run([77, lane, 0], asked) }
        };
        let mask = |text: &str| run(text, Some(here))[0];
        assert_eq!(mask("activemask.b32 {d};"), 0xffff_ffff);
        let shuffled = run("shfl.sync.idx.b32 {d}, {a}, 5, 31, 0xffffffff;", None)[0];
        assert_eq!(shuffled, 5);
    })
    .expect("launched");
}

#[test]
fn mistakes_in_a_text_are_named() {
    let mistakes = [
        ("div.u32 {d}, {d}, 1;", "the emulator has no `div.u32 $, $, $`"),
        ("bra ahead; ahead: mov.u32 {d}, 1;", "no label `ahead` stands before its branch"),
        ("mov.u32 {x}, 1;", "no operand is named `x`"),
        ("mov.u32 {d, 1;", "`d` is not closed by a brace"),
        ("mov.u32 {d}, 1f;", "`1f` is no number"),
        ("ld.const.u32 {d}, [symbol];", "an address in constant memory has no offset"),
        ("activemask.b32 {d};", "an `activemask` needs a place where it is asked"),
    ];
    for (text, expected) in mistakes {
        let panic = catch_unwind(|| result(text, [0; 3])).expect_err(text);
        let made = panic.downcast_ref::<String>().map(String::as_str);
        let message = made.or_else(|| panic.downcast_ref::<&str>().copied());
        assert_eq!(message, Some(expected), "{text}");
    }
}
