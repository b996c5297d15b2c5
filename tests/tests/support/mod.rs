//! Reading PTX, and what several tests share.

pub(crate) mod back_ends;
pub(crate) mod carried;
pub(crate) mod failure;
pub(crate) mod flag;
pub(crate) mod graph;
pub(crate) mod lane_buffers;
pub(crate) mod modules;
pub(crate) mod watching;

/// A test that needs the PTX of the test kernels; without a compiler it is listed as ignored.
macro_rules! ptx_test {
    ($(#[$attribute:meta])* fn $name:ident() $body:block) => {
        $(#[$attribute])*
        #[test]
        #[cfg_attr(
            no_nvptx_compiler,
            ignore = "needs a compiler for nvptx64; `cargo xtask tools` installs one"
        )]
        fn $name() $body
    };
}
pub(crate) use ptx_test;

/// PTX without comments and blank lines.
pub(crate) fn code(ptx: &str) -> Vec<&str> {
    ptx.lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim_end())
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// The lines of one kernel.
pub(crate) fn entry<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!(".entry {name}(");
    let lines = code(ptx);
    let begin = lines
        .iter()
        .position(|line| line.contains(&head))
        .unwrap_or_else(|| panic!("no kernel {name} in the PTX"));
    let length = lines[begin..]
        .iter()
        .position(|line| *line == "}")
        .unwrap_or_else(|| panic!("kernel {name} has no end"));
    lines[begin..=begin + length].to_vec()
}

/// How many lines of a kernel hold one of the instructions.
pub(crate) fn count(lines: &[&str], instructions: &[&str]) -> usize {
    let holds = |line: &str| {
        instructions
            .iter()
            .any(|instruction| line.split_whitespace().any(|word| word.starts_with(instruction)))
    };
    lines.iter().filter(|line| holds(line)).count()
}
