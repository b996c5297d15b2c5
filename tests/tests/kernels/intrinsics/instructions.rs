//! That what is said to run an intrinsic on a GPU has its instructions: they are in the PTX of the kernels
//! that the test launches.

use std::collections::BTreeSet;
use std::path::Path;

use super::carried::carried;
use super::list::{By, LIST, read};

/// The PTX of the kernels that a test program launches, as far as it names them, and of those that sessions do.
fn ptx_of(file: &str) -> String {
    let folder = Path::new(env!("OUT_DIR"));
    let mut source = read(&format!("tests/tests/{file}.rs"));
    for line in source.clone().lines() {
        // Its PTX may be named in a module that it shares with others.
        if let Some((_, path)) = line.split_once("#[path = \"") {
            source += &read(&format!("tests/tests/{}", path.trim_end_matches("\"]")));
        }
    }
    let names: BTreeSet<&str> = source
        .split("include_ptx!(\"")
        .skip(1)
        .filter_map(|behind| Some(behind.split_once('"')?.0))
        .collect();
    assert!(!names.is_empty(), "{file} has no kernels");
    let texts =
        names.iter().map(|name| std::fs::read_to_string(folder.join(format!("{name}.ptx"))));
    let texts = texts.map(|text| text.expect("the build script makes it"));
    let mut ptx: String = texts.map(|text| of_launched(&text, &source)).collect();
    if source.contains(".measure_record_cost()") {
        ptx += &carried("calibration");
    }
    ptx
}

/// PTX without those kernels whose names are no word of the source of a test program.
fn of_launched(ptx: &str, source: &str) -> String {
    let words: BTreeSet<&str> =
        source.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let mut parts = ptx.split(".entry ");
    let ahead = parts.next().unwrap_or_default().to_owned();
    let is_launched = |kernel: &&str| {
        let name = kernel.split('(').next().unwrap_or_default();
        words.contains(name)
    };
    ahead + &parts.filter(is_launched).collect::<String>()
}

/// The string literals of some source text, without those of attributes and comments.
fn literals(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//") && !line.starts_with('#'))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// The instructions of a line of PTX, as `asm!` takes it: without operands, and without what is filled in.
fn instructions(line: &str) -> Vec<&str> {
    let statements = line.split(';').map(|statement| {
        statement.trim().trim_start_matches("{{").trim_start_matches("}}").trim_start()
    });
    let mut found = Vec::new();
    for statement in statements {
        let mut words = statement.split(' ').skip_while(|word| word.starts_with('@'));
        let word = words.next().unwrap_or_default();
        let name = word.split('{').next().unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c));
        if is_name && name.contains('.') && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.push(name);
        }
    }
    found
}

/// What must be in the PTX for a function of a source file to have been compiled into it: where it is spelled
/// out, its instructions; where a macro makes it, what the macro is given for it.
fn expected<'s>(source: &'s str, name: &str) -> Vec<&'s str> {
    let spelled_out = source
        .match_indices(&format!("fn {name}"))
        .find(|(at, found)| source[at + found.len()..].starts_with(['(', '<']));
    if let Some((at, found)) = spelled_out {
        let behind = &source[at + found.len()..];
        let end = ["fn ", "\nmacro_rules! ", "\nglobal_asm!"].into_iter();
        let end = end.filter_map(|next| behind.find(next)).min().unwrap_or(behind.len());
        return literals(&behind[..end]).flat_map(instructions).collect();
    }
    let is_of = |line: &&str| {
        let names = line.trim_start().split_once(": ").map(|(names, _)| names);
        names.is_some_and(|names| names.split([',', ' ']).any(|listed| listed == name))
    };
    source.lines().filter(is_of).flat_map(literals).collect()
}

#[test]
#[cfg_attr(
    no_nvptx_compiler,
    ignore = "needs a compiler for nvptx64; `cargo xtask tools` installs one"
)]
fn what_runs_an_intrinsic_has_its_instructions() {
    let (mut found, mut functions) = (0, 0);
    for (file, list) in LIST {
        let source = read(file);
        for (name, by) in list {
            let (By::Test(test, _) | By::Apart(test, _)) = by else { continue };
            let ptx = ptx_of(test);
            let expected = expected(&source, name);
            functions += usize::from(!expected.is_empty());
            for text in expected {
                assert!(
                    ptx.contains(text),
                    "{file}: {test} has no `{text}` of {name} in its kernels"
                );
                found += 1;
            }
        }
    }
    // The others are made of these, or are none of PTX.
    assert!(functions >= 80 && found >= 140, "{functions} functions, {found} instructions");
}

#[test]
fn kernels_that_are_not_launched_do_not_count() {
    let ptx = ".version 8.0\n.visible .entry one(\n) { ld }\n.visible .entry other(\n) { st }\n";
    let of_one = of_launched(ptx, "launch!(session, kernels::one<<<1, 32>>>())");
    assert!(of_one.contains("ld") && !of_one.contains("st }"));
}

#[test]
fn instructions_of_functions_are_found() {
    let source = "macro_rules! two {\n    ($($name:ident: $register:literal;)*) => {};\n}\n\
                  two! {\n    first: \"tid.x\", \"tid.y\";\n    second, third: \"tid.z\";\n}\n\
                  /// \"no.string\"\nfn fourth<N>(a: u32) {\n    // \"no.comment\"\n    \
                  \"{{ .reg .pred %p; setp.ne.u32 %p, {a}, 0;\",\n    \
                  \"@%p ld.{kind}.u32 {b}, [c]; }}\"\n}\nfn fourth_not() {\n    \"bar.sync 0;\"\n}\n";
    assert_eq!(expected(source, "first"), ["tid.x", "tid.y"]);
    assert_eq!(expected(source, "third"), ["tid.z"]);
    assert_eq!(expected(source, "fourth"), ["setp.ne.u32", "ld."]);
    assert_eq!(expected(source, "fourth_not"), ["bar.sync"]);
}
