//! Puts the chosen regions of a module's kernels into its text.
#![cfg(feature = "rewrite")]

use std::fmt::Write as _;
use std::ops::Range;

use profiler_wire::descriptor::offset;
use profiler_wire::site::{FIXED_BYTES, ID_OFFSET, SiteEntry, SiteKind, fnv1a};
use profiler_wire::{WIRE_VERSION, symbol};

use crate::graph::{Graph, Instruction};
use crate::region::{self, Point, Region};
use crate::runtime::{PLAIN, PREFIX, Runtime};
use crate::source::Source;
use crate::syntax::{Function, Kind, Module};
use crate::{Error, Instrumented, Kernel, LeftOut, Options, Site, barrier, check, chosen, cost};

/// Directives that declare variables of a function.
const DECLARATIONS: [&str; 4] = [".reg", ".shared", ".local", ".param"];

/// Text to put in the place of a range of the module, which may be empty; of two at one byte the first comes first.
type Edit = (Range<usize>, String);

/// See [`crate::instrument`].
pub(crate) fn instrument(text: &str, options: &Options) -> Result<Instrumented, Error> {
    let module = Module::parse(text);
    check_module(&module)?;
    let source = Source::of(&module);
    let runtime = Runtime::new();
    let (mut kernels, mut entries) = (Vec::new(), Vec::new());
    let mut edits = Edits::default();
    let mut bound = Some(0);
    for function in module.functions.iter().filter(|it| it.is_kernel) {
        if !options.takes(function.name) {
            continue;
        }
        let first_id = entries.len() as u32 + 1;
        let (kernel, regions, graph) = match plan(&module, function, &source, options, first_id) {
            Ok(plan) => plan,
            Err(reason) => {
                kernels.push(Kernel {
                    name: function.name.to_owned(),
                    reason: Some(reason),
                    ..Kernel::default()
                });
                continue;
            }
        };
        entries.push(kernel_entry(function.name));
        entries.extend(kernel.sites.iter().map(region_entry));
        bound = bound.zip(most_records(&graph, &regions)).map(|(a, b)| a.max(b));
        if options.writes {
            let bound = options.bound(function.name).filter(|_| !kernel.is_bounded);
            edits.insert(function.directives.end, bound.unwrap_or_default());
            edits.kernel(&module, function, &graph, &regions, &runtime, first_id);
        }
        kernels.push(kernel);
    }
    let mut out = String::with_capacity(2 * text.len());
    // So that two modules that are linked into one have no name twice.
    let hash = fnv1a(text.as_bytes());
    if entries.is_empty() || !options.writes {
        return Ok(Instrumented { text: text.to_owned(), hash, kernels });
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{} wire={WIRE_VERSION} sites={} enabled=true",
        symbol::BUILD_STAMP,
        entries.len()
    );
    let head = module.head_end().ok_or(Error::NoHead)?;
    let mut descriptor = [0; profiler_wire::descriptor::BYTES];
    let mut put = |at: u32, bytes: &[u8]| {
        descriptor[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    put(offset::MODULE_HASH, &hash.to_le_bytes());
    put(offset::RECORDS_BOUND, &bound.unwrap_or(0).to_le_bytes());
    let mut variables = format!(
        "\n.visible .const .align 16 .b8 {}[{}] = {{{}}};\n",
        symbol::DESCRIPTOR,
        descriptor.len(),
        listed(&descriptor)
    );
    for (id, entry) in (1..).zip(&entries) {
        variables += &variable(hash, id, entry);
    }
    edits.insert(head, variables);
    edits.apply(text, &mut out);
    debug_assert_eq!(check::check(&out), Ok(()));
    Ok(Instrumented { text: out, hash, kernels })
}

/// Refuses what cannot be rewritten at all.
fn check_module(module: &Module<'_>) -> Result<(), Error> {
    let value = |directive: &str| {
        let found = module.statements.iter().find(|it| it.text.starts_with(directive));
        found.and_then(|it| it.text.split_whitespace().nth(1)).map(str::to_owned)
    };
    let version = value(".version").ok_or(Error::NotPtx)?;
    let number = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    if number(&version).ok_or(Error::NotPtx)? < (6, 2) {
        return Err(Error::OldPtx { version });
    }
    let target = value(".target").ok_or(Error::NotPtx)?;
    let arch = target.trim_end_matches(',').trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    if arch.parse::<u32>().is_ok_and(|arch| arch < 70) {
        return Err(Error::OldTarget { target });
    }
    if value(".address_size").is_some_and(|size| size != "64") {
        return Err(Error::AddressSize);
    }
    let is_ours =
        |text: &str| text.contains(symbol::DESCRIPTOR_PREFIX) || text.contains("%profiler_");
    if is_ours(module.text) {
        return Err(Error::Instrumented);
    }
    Ok(())
}

type Plan = (Kernel, Vec<Region>, Graph);

/// Chooses the regions of a kernel, whose own site has the number `first_id`.
fn plan(
    module: &Module<'_>,
    function: &Function<'_>,
    source: &Source,
    options: &Options,
    first_id: u32,
) -> Result<Plan, String> {
    let graph = Graph::of(module, function)
        .map_err(|label| format!("it branches to `{label}`, which is nowhere"))?;
    let ends = module.statements[function.body.clone()].iter().rev().find_map(Instruction::of);
    if !ends.is_some_and(|last| {
        last.guard.is_empty() && (last.is_exit() || matches!(last.name(), "bra" | "brx"))
    }) {
        return Err("it ends without `ret`".to_owned());
    }
    let mut depth = 0;
    for statement in &module.statements[function.body.clone()] {
        match statement.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ if depth > 0
                && [".shared", ".local"].iter().any(|it| statement.text.starts_with(it)) =>
            {
                return Err("it declares memory in a block of its own, which would be there twice"
                    .to_owned());
            }
            _ => {}
        }
    }
    let (by_hand, mut left_out) = chosen::find(module, function, &graph, source, &options.regions);
    let (mut regions, mut share) = (Vec::new(), 0.0);
    if options.auto {
        let (found, refused) = region::find(module, function, &graph, source);
        left_out.extend(refused);
        let mut leave_out = |Region { kind, location, .. }: Region, reason| {
            left_out.push(LeftOut { kind, location, reason, chosen: None });
        };
        let mut free = Vec::new();
        for region in found {
            match by_hand.iter().find(|it| region.conflicts(it)).and_then(|it| it.chosen.as_ref()) {
                Some(it) => leave_out(region, format!("`{}` has a part or all of it", it.name)),
                None => free.push(region),
            }
        }
        let is_in;
        (is_in, share) = cost::choose(module, &graph, &free, options.budget);
        for (region, is_in) in free.into_iter().zip(is_in) {
            let percent = 100.0 * options.budget;
            if is_in {
                regions.push(region);
            } else {
                leave_out(region, format!("it would take more than {percent} % of its loop"));
            }
        }
    }
    // What was found comes first, so that it is inside a region of the same size.
    regions.extend(by_hand);
    let sites = regions.iter().zip(first_id + 1..).map(|(region, id)| Site {
        id,
        kind: region.kind,
        location: region.location.clone(),
        chosen: region.chosen.clone(),
    });
    let (name, sites) = (function.name.to_owned(), sites.collect());
    let directives = &module.text[function.directives.clone()];
    let is_bounded = [".maxntid", ".reqntid", ".maxnreg"].iter().any(|it| directives.contains(it));
    let kernel = Kernel { name, sites, share, left_out, reason: None, is_bounded };
    Ok((kernel, regions, graph))
}

/// The most records that a warp of a kernel makes, if no region is in a loop: one for each, or for each of its ends if
/// the user chose it.
fn most_records(graph: &Graph, regions: &[Region]) -> Option<u32> {
    let is_header = |block: usize| graph.loops.iter().any(|it| it.header == block);
    let mut blocks = graph.blocks.iter().enumerate();
    // A way back that is no loop's cannot be told apart.
    let is_plain = blocks
        .all(|(from, block)| block.edges.iter().all(|edge| edge.to > from || is_header(edge.to)));
    let is_once = is_plain && regions.iter().all(|region| region.around.is_none());
    let ends = |region: &Region| if region.chosen.is_some() { region.ends.len() } else { 1 };
    is_once.then_some((regions.iter().map(ends).sum::<usize>() as u32).max(1))
}

fn kernel_entry(name: &str) -> Vec<u8> {
    let mut entry = SiteEntry::new(SiteKind::Kernel, name, "", "", 0, 0);
    entry.symbol = name;
    encoded(&entry)
}

fn region_entry(site: &Site) -> Vec<u8> {
    let name = site.name();
    let location = site.location.clone().unwrap_or_default();
    let (line, column) = (location.line, location.column);
    encoded(&SiteEntry::new(SiteKind::Region, &name, &location.file, "", line, column))
}

fn encoded(entry: &SiteEntry<'_>) -> Vec<u8> {
    let mut bytes = vec![0; entry.encoded_len().max(FIXED_BYTES)];
    entry.encode_into(&mut bytes);
    bytes
}

/// A site entry as a variable of the module.
fn variable(hash: u64, id: u32, entry: &[u8]) -> String {
    let mut bytes = entry.to_vec();
    bytes[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&id.to_le_bytes());
    let name = format!("{}_{hash:016x}_{id}", symbol::SITE_STATIC);
    format!(".visible .global .align 1 .b8 {name}[{}] = {{{}}};\n", bytes.len(), listed(&bytes))
}

fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

/// What is put in, and what is replaced.
#[derive(Default)]
struct Edits {
    edits: Vec<Edit>,
    /// Labels that were put in.
    labels: u32,
}

impl Edits {
    fn insert(&mut self, at: usize, text: String) {
        if !text.is_empty() {
            self.edits.push((at..at, text));
        }
    }

    fn kernel(
        &mut self,
        module: &Module<'_>,
        function: &Function<'_>,
        graph: &Graph,
        regions: &[Region],
        runtime: &Runtime,
        kernel: u32,
    ) {
        let numbered: Vec<(u32, &Region)> = (kernel + 1..).zip(regions).collect();
        let passed = |point: Point| passed(point, &numbered, runtime);
        let mut entry = runtime.enter(kernel);
        for (id, _) in &numbered {
            entry += &Runtime::declare(*id);
        }
        let body = &module.statements[function.body.start - 1];
        self.insert(body.end(), entry + &passed(Point::Entry));
        let plain = format!("\n{PLAIN}:\n\t{{{}}}\n", plain_copy(module, function));
        for block in &graph.blocks {
            for index in block.statements.clone() {
                let statement = &module.statements[index];
                let (before, after) = (passed(Point::Before(index)), passed(Point::After(index)));
                let barrier = numbered.iter().any(|(_, region)| region.follows(index));
                let completion = if barrier { barrier::completion(statement) } else { None };
                let after = completion.unwrap_or_default() + &after;
                self.insert(statement.at, with_newline(before));
                if let Some(instruction) = Instruction::of(statement) {
                    match instruction.name() {
                        "bra" => self.detour(
                            statement.at..statement.end(),
                            &instruction,
                            statement.text,
                            &passed(Point::Taken(index)),
                        ),
                        "ret" | "exit" => {
                            let text = passed(Point::Leave(index)) + runtime.leave();
                            self.detour(
                                statement.at..statement.end(),
                                &instruction,
                                statement.text,
                                &text,
                            );
                        }
                        _ => {}
                    }
                }
                self.insert(statement.end(), after);
            }
        }
        let last = &module.statements[function.body.end - 1];
        self.insert(last.end(), plain);
    }

    /// Lets those who jump by an instruction execute `text` first.
    fn detour(&mut self, at: Range<usize>, jump: &Instruction<'_>, statement: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let Some(guard) = jump.guard.strip_prefix('@').map(str::trim) else {
            self.insert(at.start, with_newline(text.to_owned()));
            return;
        };
        self.labels += 1;
        let label = format!("${PREFIX}on{}", self.labels);
        let opposite = match guard.strip_prefix('!') {
            Some(guard) => guard.trim().to_owned(),
            None => format!("!{guard}"),
        };
        // The jump's text from after its guard: it is as it was, for those who are left.
        let from = statement.find(jump.guard).map_or(0, |start| start + jump.guard.len());
        let uniform = if jump.opcode.contains(".uni") { ".uni" } else { "" };
        let text = format!(
            "@{opposite} bra{uniform} {label};{text}\n\t{}\n{label}:",
            statement[from..].trim()
        );
        self.edits.push((at, text));
    }

    fn apply(mut self, text: &str, out: &mut String) {
        // Stable: what was pushed first comes first.
        self.edits.sort_by_key(|(at, _)| at.start);
        let mut copied = 0;
        for (at, new) in &self.edits {
            out.push_str(&text[copied..at.start]);
            out.push_str(new);
            copied = at.end;
        }
        out.push_str(&text[copied..]);
    }
}

/// What is done where control passes a point: inner regions end first and begin last.
fn passed(point: Point, regions: &[(u32, &Region)], runtime: &Runtime) -> String {
    let at = |ends: bool| {
        let points = move |region: &Region| {
            if ends { region.ends.contains(&point) } else { region.begins.contains(&point) }
        };
        let mut all: Vec<_> = regions.iter().filter(|(_, region)| points(region)).collect();
        all.sort_by_key(|(_, region)| region.size());
        all
    };
    let ends: String = at(true).iter().map(|(id, _)| runtime.end(*id)).collect();
    let begins: String = at(false).iter().rev().map(|(id, _)| Runtime::begin(*id)).collect();
    ends + &begins
}

/// The body of a kernel without the declarations that hold for its first copy too. In braces its labels are its own.
fn plain_copy(module: &Module<'_>, function: &Function<'_>) -> String {
    let (mut text, mut depth, mut at) = (String::new(), 0_u32, None);
    for statement in &module.statements[function.body.clone()] {
        match statement.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        let from = at.replace(statement.end()).unwrap_or(statement.at);
        let is_declaration =
            depth == 0 && DECLARATIONS.iter().any(|it| statement.text.starts_with(it));
        if !is_declaration {
            text += &module.text[from..statement.end()];
        }
    }
    text
}

fn with_newline(mut text: String) -> String {
    if !text.is_empty() {
        text.push_str("\n\t");
    }
    text
}
