//! Walks all ways through rewritten kernels: every region is begun before it is ended, ended before it is begun again,
//! and ended before the kernel is left, which is before it returns.
#![cfg(feature = "rewrite")]

use std::collections::BTreeSet;

use crate::graph::{Graph, Instruction};
use crate::runtime::Step;
use crate::syntax::{Function, Module};

/// How far a path has come where a block begins, and which regions are open.
type Open = (Stage, BTreeSet<u32>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing is recorded, or not yet.
    #[default]
    Outside,
    Inside,
    Left,
}

/// Checks all kernels of a module that record.
///
/// # Errors
///
/// Says what is wrong with which kernel.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let module = Module::parse(text);
    let records = |function: &&Function<'_>| {
        let body = &module.statements[function.body.clone()];
        function.is_kernel
            && body.iter().any(|statement| Step::of(statement.text) == Some(Step::Leave))
    };
    for function in module.functions.iter().filter(records) {
        walk(&module, function, |_, _| {})
            .map_err(|wrong| format!("kernel {}: {wrong}", function.name))?;
    }
    Ok(())
}

/// Walks a kernel, and shows each statement that is reached, with the regions that are open before it, if there is a
/// recorder.
fn walk(
    module: &Module<'_>,
    function: &Function<'_>,
    mut show: impl FnMut(usize, &BTreeSet<u32>),
) -> Result<(), String> {
    let graph = Graph::of(module, function).map_err(|label| format!("no label {label}"))?;
    let mut entered: Vec<Option<Open>> = vec![None; graph.blocks.len()];
    let mut todo = vec![(0, Open::default())];
    while let Some((block, mut open)) = todo.pop() {
        match &entered[block] {
            Some(before) if *before == open => continue,
            Some(before) => return Err(format!("{before:?} and {open:?} meet in block {block}")),
            None => entered[block] = Some(open.clone()),
        }
        for index in graph.blocks[block].statements.clone() {
            let statement = &module.statements[index];
            let (stage, regions) = &mut open;
            if *stage == Stage::Inside {
                show(index, regions);
            }
            let is_right = match Step::of(statement.text) {
                Some(Step::Enter) => std::mem::replace(stage, Stage::Inside) == Stage::Outside,
                Some(Step::Begin(id)) => *stage == Stage::Inside && regions.insert(id),
                Some(Step::End(id)) => *stage == Stage::Inside && regions.remove(&id),
                Some(Step::Leave) => {
                    std::mem::replace(stage, Stage::Left) == Stage::Inside && regions.is_empty()
                }
                None => true,
            };
            let returns =
                Instruction::of(statement).is_some_and(|it| matches!(it.name(), "ret" | "exit"));
            if !is_right || returns && open.0 == Stage::Inside {
                return Err(format!("`{}` with {open:?}", statement.text));
            }
        }
        todo.extend(graph.blocks[block].edges.iter().map(|edge| (edge.to, open.clone())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Selection, instrument};

    use proptest::prelude::*;

    const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
    const LEAVE: &str = "mov.b32 %r, %profiler_slot;";

    fn checked(body: &str) -> Result<(), String> {
        check(&format!(".entry k() {{ mov.b32 %profiler_slot, %r; {body} }}"))
    }

    #[test]
    fn what_does_not_pair_is_found() {
        let (begin, end) =
            ("mov.u64 %profiler_begin2, %clock64;", "mov.b64 %rd, %profiler_begin2;");
        assert_eq!(checked(&format!("{begin} {end} {LEAVE} ret;")), Ok(()));
        assert_eq!(checked(&format!("A: {begin} {end} @%p bra A; {LEAVE} ret;")), Ok(()));
        for wrong in [
            format!("{begin} {LEAVE} ret;"),
            format!("{end} {LEAVE} ret;"),
            format!("{begin} {end} @%p ret; {LEAVE} ret;"),
            format!("{begin} A: {end} @%p bra A; {LEAVE} ret;"),
            format!("@%p bra A; {begin} A: {end} {LEAVE} ret;"),
            format!("{LEAVE} {begin} {end} ret;"),
            format!("{LEAVE} {LEAVE} ret;"),
        ] {
            assert!(checked(&wrong).is_err(), "{wrong}");
        }
    }

    /// Blocks with all sorts of ends. Some of what comes out is no loop that a compiler would make.
    fn bodies() -> impl Strategy<Value = String> {
        let block = (0_u8..12, 0_usize..12, 0_usize..12, any::<bool>(), 0_u8..8);
        proptest::collection::vec(block, 1..12).prop_map(|blocks| {
            let count = blocks.len();
            let mut text = format!(
                "T: .branchtargets {};",
                (0..count).map(|block| format!("L{block}")).collect::<Vec<_>>().join(", ")
            );
            for (index, (end, one, other, waits, line)) in blocks.into_iter().enumerate() {
                let (one, other) = (one % count, other % count);
                let wait = if waits { "bar.sync 0; " } else { "" };
                let end = match end {
                    0 => "ret;".to_owned(),
                    1 => "@%p1 exit;".to_owned(),
                    2 => "trap;".to_owned(),
                    3 => "brx.idx %r1, T;".to_owned(),
                    4 | 5 => format!("bra L{one};"),
                    6 => format!("{{ M: @!%p1 bra .uni M; }} bra.uni L{one};"),
                    7 => format!("@%p1 bra L{one}; @!%p2 bra L{other};"),
                    8..=10 => format!("@%p1 bra L{one};"),
                    _ => String::new(),
                };
                // The line changes before the block, in it, or not at all.
                let (before, in_it) = match line {
                    0..4 => (format!(".loc 1 {line} 1\n"), ""),
                    4 => (String::new(), ".loc 1 2 1\n"),
                    5 => (String::new(), ".loc 1 9 1, function_name F, inlined_at 1 3 1\n"),
                    _ => (String::new(), ""),
                };
                text += &format!(" L{index}: {before}{wait}{in_it}mov.u32 %r1, 0; {end}");
            }
            text + " ret;"
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_the_graph_chosen_regions_pair(
            body in bodies(), first in 1_u32..4, lines in 0_u32..3, auto in any::<bool>(),
        ) {
            let text = format!("{HEAD}.file 1 \"a/b.cu\"\n.visible .entry k() {{ {body} }}");
            let regions = [
                &format!("lines b.cu:{first}-{}=lines", first + lines),
                "lines a/b.cu:3=three",
                "function F",
                "instruction *=all",
                "instruction b*",
                "instruction mov.u32",
                "instruction *ret",
                "instruction *exit*",
            ];
            let regions: Vec<Selection> =
                regions.iter().map(|it| it.parse().expect("it is right")).collect();
            for regions in [&regions[..1], &regions] {
                let regions = regions.to_vec();
                let options = Options { regions, auto, budget: 1.0, ..Options::default() };
                let out = instrument(&text, &options).expect("it is PTX");
                prop_assert_eq!(&out.kernels[0].reason, &None);
                prop_assert_eq!(check(&out.text), Ok(()));
            }
            // The region is open at the instructions of its lines and nowhere else.
            let options = Options { regions: regions[..1].to_vec(), auto: false, ..Options::default() };
            let out = instrument(&text, &options).expect("it is PTX");
            let module = Module::parse(&out.text);
            let function = &module.functions[0];
            let places = crate::region::locations(&module, function, &crate::source::Source::of(&module));
            let is_placed = !out.kernels[0].sites.is_empty();
            let mut wrong = None;
            let walked = walk(&module, function, |index, open| {
                let line = places[index - function.body.start].as_ref().map_or(0, |it| it.line);
                let is_in = is_placed && (first..=first + lines).contains(&line);
                let statement = module.statements[index].text;
                if ["mov.u32 %r1, 0;", "bar.sync 0;"].contains(&statement) && is_in == open.is_empty() {
                    wrong = Some((index, open.clone()));
                }
            });
            prop_assert_eq!((walked, wrong), (Ok(()), None));
        }

        #[test]
        fn whatever_the_graph_regions_pair(body in bodies()) {
            let text = format!("{HEAD}.visible .entry k() {{ {body} }}");
            let options = Options { budget: f64::INFINITY, ..Options::default() };
            let out = instrument(&text, &options).expect("it is PTX");
            let kernel = &out.kernels[0];
            prop_assert_eq!(&kernel.reason, &None);
            prop_assert_eq!(check(&out.text), Ok(()));
            let mut placed = Vec::new();
            for statement in &Module::parse(&out.text).statements {
                if let Some(Step::Begin(id)) = Step::of(statement.text) {
                    placed.push(id);
                }
            }
            // Only what no path leads to is nowhere.
            placed.sort_unstable();
            placed.dedup();
            prop_assert!(placed.len() <= kernel.sites.len());
            // The body is there once more, as it was.
            prop_assert_eq!(out.text.matches("bar.sync 0;").count(), 2 * body.matches("bar.sync").count());
            let waits = kernel.sites.iter().filter(|site| site.kind == crate::RegionKind::Barrier);
            prop_assert_eq!(waits.count(), body.matches("bar.sync").count());
        }
    }
}
