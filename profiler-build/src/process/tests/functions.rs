//! Calls of kernels and functions, and declarations in a kernel's two copies.

use super::*;

/// A module with a kernel `k` whose site's marker is where this text has `@mark`.
fn kernel(body: &str) -> String {
    let entry = encode(&site(SiteKind::Kernel, "k", 3));
    let body = body.replace("@mark", marker(&entry, 1).trim());
    format!(
        "{HEAD}{}.visible .entry k()\n{{\n{body}\nret;\n}}\n",
        declare("a__PROFILER_SITE", &entry)
    )
}

/// The two copies of a body, in the order in which LLVM writes them.
fn copies(recording: &str, plain: &str) -> String {
    kernel(&format!("@%p1 bra P;\n@mark\n{recording}\nbra E;\nP:\n{plain}\nE:"))
}

/// The kernel's body after processing, with single spaces.
fn body_of(text: &str) -> String {
    let out = process(text).expect("processed").text;
    let body = out.split(".entry k()").nth(1).expect("the kernel");
    body.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refusal(text: &str) -> String {
    process(text).err().expect("refused").to_string()
}

/// As `asm!` has it where the name is made of an operand's.
fn tile(register: u32) -> String {
    format!(
        ".shared .align 4 .b8 %rd{register}_tile[64]; cvta.shared.u64 %rd{register}, %rd{register}_tile;"
    )
}

fn joined(register: u32, number: u32) -> String {
    format!("cvta.shared.u64 %rd{register}, %profiler_shared_{number};")
}

#[test]
fn an_array_of_both_copies_is_one() {
    let declared = ".shared .align 4 .b8 %profiler_shared_0 [ 64 ] ;";
    for (recording, plain) in [
        (tile(1), tile(2)),
        (tile(1), tile(2).replace("; ", ";\n/* the plain copy's */\t")),
        (format!("{{ {} }}", tile(1)), format!("{{ {} }}", tile(2))),
    ] {
        let body = body_of(&copies(&recording, &plain));
        assert!(body.starts_with(&format!("{{ {declared} @%p1 bra P;")), "{body}");
        assert!(body.contains(&joined(1, 0)) && body.contains(&joined(2, 0)), "{body}");
        assert_eq!(body.matches(".shared .").count(), 1, "{body}");
    }
}

#[test]
fn a_fixed_name_is_declared_once() {
    let one = ".shared .b8 tile[64]; .reg .pred q; cvta.shared.u64 %rd1, tile;";
    let body = body_of(&copies(one, &one.replace(" tile[", "\ntile /* here */ [")));
    assert_eq!(body.matches(".shared .b8 tile[64];").count(), 1, "{body}");
    assert_eq!(body.matches(".reg .pred q;").count(), 1, "{body}");
    assert_eq!(body.matches("cvta.shared.u64 %rd1, tile;").count(), 2, "{body}");
    // In blocks of their own they are two arrays.
    let scoped = format!("{{ {one} }}");
    let body = body_of(&copies(&scoped, &scoped));
    assert_eq!(body.matches(&joined(1, 0)).count(), 2, "{body}");
    assert!(!body.contains("tile"), "{body}");
}

#[test]
fn a_body_with_two_arrays_keeps_two() {
    let body = body_of(&copies(&(tile(1) + &tile(2)), &(tile(3) + &tile(4))));
    assert_eq!(body.matches(".shared .").count(), 2, "{body}");
    for (register, number) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
        assert!(body.contains(&joined(register, number)), "{body}");
    }
    // The plain copy's loop is unrolled.
    let body = body_of(&copies(&tile(1), &(tile(3) + &tile(4))));
    assert_eq!(body.matches(".shared .").count(), 2, "{body}");
    assert!(body.contains(&joined(3, 0)) && body.contains(&tile(4)), "{body}");
}

#[test]
fn arrays_that_differ_are_not_joined() {
    for other in ["[32]", "[64][1]"] {
        let text = copies(&tile(1), &tile(2).replace("[64]", other));
        assert!(!body_of(&text).contains("%profiler_shared"), "{other}");
    }
    for (from, to) in [(".b8", ".b16"), (".align 4", ".align 8"), (".align 4 ", "")] {
        let text = copies(&tile(1), &tile(2).replace(from, to));
        assert!(!body_of(&text).contains("%profiler_shared"), "{from} {to}");
    }
}

#[test]
fn a_list_of_arrays_is_joined_name_by_name() {
    let list =
        |a, b| format!(".shared .b32 {a}[4], {b}; st.shared.b32 [{a}+4], 0; ld.u32 %r1, [{b}];");
    let body = body_of(&copies(&list("a", "b"), &list("c", "d")));
    assert!(
        body.contains(".shared .b32 %profiler_shared_0 [ 4 ] , %profiler_shared_1 ;"),
        "{body}"
    );
    let uses = "st.shared.b32 [%profiler_shared_0+4], 0; ld.u32 %r1, [%profiler_shared_1];";
    assert_eq!(body.matches(uses).count(), 2, "{body}");
}

#[test]
fn arms_that_threads_take_apart_keep_their_arrays() {
    // Two arms of one copy are no two copies.
    let arms = format!("@mark\n@%p2 bra A;\n{}\nbra E;\nA:\n{}\nE:", tile(1), tile(2));
    let body = body_of(&kernel(&arms));
    assert!(body.contains(&tile(1)) && body.contains(&tile(2)), "{body}");
    // Where the copies have an end in common, its array is neither's.
    let text = copies(&tile(1), &tile(2)).replace("\nE:", &format!("\nE:\n{}", tile(3)));
    let body = body_of(&text);
    assert!(body.contains(&joined(1, 0)) && body.contains(&joined(2, 0)), "{body}");
    assert!(body.contains(&tile(3)), "{body}");
    // A jump by a table is followed.
    let table = "T: .branchtargets P, Q; brx.idx %r1, T; Q:";
    let body = body_of(&copies(&format!("{} {table}", tile(1)), &tile(2)));
    assert!(body.contains(&tile(1)) && body.contains(&tile(2)), "{body}");
}

#[test]
fn labels_are_those_of_their_block() {
    let wait = "{ W: @%p2 bra W; }";
    let body = body_of(&copies(&format!("{wait} {}", tile(1)), &format!("{wait} {}", tile(2))));
    assert!(body.contains(&joined(1, 0)) && body.contains(&joined(2, 0)), "{body}");
}

#[test]
fn what_cannot_be_joined_names_the_remedy() {
    for (recording, plain, words) in [
        (tile(1) + &tile(2), tile(3), "it is unclear which"),
        ("W: bra W;".to_owned(), "W: bra W;".to_owned(), "the label `W`"),
        (".shared .b8 t<3>;".to_owned(), ".shared .b8 u<3>;".to_owned(), "(`t`) is the same"),
        (tile(1) + "{ .reg .b64 %rd2_tile; }", tile(2), "as something else"),
    ] {
        let error = refusal(&copies(&recording, &plain));
        for part in [words, "the kernel `k`", "#[profiled(single_body)]"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn kernels_that_do_not_record_are_left_alone() {
    // Nor is one whose body is there once.
    let range = ".shared .b8 t<3>; .shared .b8 u<3>;";
    assert!(body_of(&kernel(&format!("@mark\n{range}"))).contains(range));
    let twice = ".shared .b8 t[4]; .shared .b8 t[4];";
    let text = kernel("@mark") + &format!(".entry other() {{ {twice} }}\n");
    assert!(process(&text).expect("processed").text.contains(twice));
}

#[test]
fn calls_of_what_nothing_defines_are_refused() {
    let declared = ".extern .func (.param .b32 func_retval0) __nv_sinf\n(\n\t.param .b32 a\n)\n;\n";
    let system: String = ["vprintf", "malloc", "free", "__assertfail", "__cuda_syscall_1"]
        .iter()
        .map(|name| format!(".extern .func {name};\n.func by_{name}() {{ call {name}; }}\n"))
        .collect();
    assert!(process(&format!("{HEAD}{declared}{system}.entry k() {{ ret; }}")).is_ok());
    let text = format!(
        "{HEAD}{declared}.extern .func memcmp;\n.entry unrelated() {{ ret; }}\n\
         .func _RNvCs3U6Y81Vs9pJ_3ext4step() {{ @%p1 call.uni (r),\n__nv_sinf,\n(a); }}\n\
         .entry k() {{ call memcmp; call (r), __nv_sinf, (a); // call other\n }}\n"
    );
    let error = refusal(&text);
    for part in ["`ext::step` calls `__nv_sinf`", "`k` calls `memcmp`", "`libm`", "iter().eq("] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn every_use_of_what_nothing_defines_is_refused() {
    let calls = ".entry k() { call (r), foo, (a); }";
    let used = ".entry k() { mov.u64 %rd1, foo; }";
    let table = ".global .u64 tab[2] = {0, foo};";
    for declared in [
        ".extern .func foo;",
        ".visible .func (.param .b32 r) foo ();",
        ".weak .func foo;",
        ".func foo;",
    ] {
        for (text, words) in
            [(calls, "`k` calls `foo`"), (used, "`k` uses `foo`"), (table, "`tab` uses `foo`")]
        {
            let error = refusal(&format!("{HEAD}{declared}\n{text}"));
            assert!(error.starts_with(words) && error.contains("in Rust"), "{error}");
            for definition in [".func foo { ret; }", ".func bar { ret; } .alias foo, bar;"] {
                let defined = format!("{HEAD}{declared}\n{text}\n{definition}");
                assert!(process(&defined).is_ok(), "{defined}");
            }
        }
    }
    assert!(refusal(calls).starts_with("`k` calls `foo`"));
    for state in [".global", ".const"] {
        let text = format!("{HEAD}.extern {state} .align 4 .u32 bar, foo;\n{used}");
        assert!(refusal(&text).starts_with("`k` uses `foo`"));
        assert!(process(&format!("{text}.visible {state} .u32 foo = 1;")).is_ok());
    }
    for allowed in [
        format!(".extern .shared .align 16 .b8 foo[];\n{used}"),
        ".extern .func foo;\n.extern .global .u32 bar;\n.entry k(.param .u64 bar) { ret; }"
            .to_owned(),
        ".extern .func vprintf;\n.entry k() { mov.u64 %rd1, vprintf; }".to_owned(),
        ".entry k() { call (r), fp, (a), prototype; call fp, prototype; }".to_owned(),
    ] {
        assert!(process(&allowed).is_ok(), "{allowed}");
    }
}

#[test]
fn functions_that_record_and_are_not_inlined_are_named() {
    let entry = encode(&site(SiteKind::Region, "step", 3));
    let marker = marker(&entry, 1);
    let text = format!(
        "{HEAD}{}.func _RNvCs3U6Y81Vs9pJ_3ext4step()\n{{\n{marker}{{\n{marker}}}\n}}\n\
         .func silent() {{ ret; }}\n.entry k()\n{{\n{marker}}}\n",
        declare("a__PROFILER_SITE", &entry)
    );
    let warnings = process(&text).expect("processed").warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    for part in ["`ext::step`", "#[inline(always)]", "#[profiled]"] {
        assert!(warning.contains(part), "{warning}");
    }
}

proptest! {
    #[test]
    fn random_bodies_never_panic(body in "(@mark|\n|\\.shared \\.b8 [ab]|\\.reg \\.b32 [ab]|\\[4\\]|[ab]: |, [ab]|[;{}<]|bra [ab];|@%p |ret;|mov [ab], 4;|bar\\.sync 0;| // ){0,60}") {
        if let Ok(out) = process(&kernel(&body)) {
            prop_assert!(out.text.starts_with("// profiler-build: "));
        }
    }
}
