//! `profiler sites`: the regions that kernels offer without annotations.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use profiler_ptx::{Kernel, Location};
use serde_json::{Value, json};

use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::kernels::{KernelArguments, check_regions};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profiler sites softmax.ptx
  profiler sites ./program --kernel gemm --budget 10
  profiler sites kernels.fatbin --format json";

/// List the regions that kernels offer without annotations
///
/// The list shows what `profiler instrument` records: loops, and waits for barriers, copies, mbarriers and
/// matrix instructions. Neither a GPU nor the CUDA toolkit is needed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: KernelArguments,
    /// The form of the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each region
    Text,
    /// One JSON document
    Json,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let images = arguments.input.images()?;
    let options = arguments.input.options(&images)?;
    let mut found = Vec::new();
    for image in images {
        let kernels = profiler_ptx::sites(&image.ptx, &options)
            .map_err(|error| arguments.input.error(&error))?;
        found.push((image.arch, kernels));
    }
    check_regions(&options, found.iter().flat_map(|(_, kernels)| kernels), console)?;
    match arguments.format {
        Format::Text => output::print(&text(&found))?,
        Format::Json => output::print_json(&format!("{:#}\n", json(&found)))?,
    }
    Ok(Verdict::Clean)
}

fn text(found: &[(u32, Vec<Kernel>)]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for (arch, kernels) in found {
        for kernel in kernels {
            let target = if *arch == 0 { String::new() } else { format!(" (sm_{arch})") };
            let share = match 100.0 * kernel.share {
                0.0 => String::new(),
                share => format!(": records of loops and waits take up to {share:.1} % of a loop"),
            };
            let _ = writeln!(text, "{}{target}{share}", kernel.name);
            if let Some(reason) = &kernel.reason {
                let _ = writeln!(text, "  not recorded: {reason}");
            }
            let sites = kernel.sites.iter().map(|site| {
                let at = site.location.as_ref().filter(|_| site.chosen.is_some());
                let at = at.map(|at| format!(" ({at})")).unwrap_or_default();
                format!("{}{at}", site.name())
            });
            let left_out = kernel.left_out.iter().map(|it| {
                let at = it.location.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
                let name = it.chosen.as_ref().map_or(it.kind.name(), |it| &it.name);
                format!("left out: {name}{at}: {}", it.reason)
            });
            let lines = sites.chain(left_out).collect::<Vec<_>>();
            // What is unrolled is there several times.
            for same in lines.chunk_by(|one, next| one == next) {
                let times =
                    if same.len() > 1 { format!(" x{}", same.len()) } else { String::new() };
                let _ = writeln!(text, "  {}{times}", same[0]);
            }
            if lines.is_empty() && kernel.reason.is_none() {
                let _ = writeln!(text, "  no loops and waits: warps' time in the kernel alone");
            }
        }
    }
    if text.is_empty() { "no kernel\n".to_owned() } else { text }
}

fn json(found: &[(u32, Vec<Kernel>)]) -> Value {
    let place = |location: &Option<Location>| match location {
        Some(Location { file, line, column }) => json!([file, line, column]),
        None => json!([null, null, null]),
    };
    let region = |kind: &str, location: &Option<Location>| {
        let place = place(location);
        json!({ "kind": kind, "file": place[0], "line": place[1], "column": place[2] })
    };
    let kernel = |kernel: &Kernel| {
        let sites = kernel.sites.iter().map(|site| {
            let mut value = region(site.kind.name(), &site.location);
            value["id"] = json!(site.id);
            value["name"] = json!(site.name());
            value
        });
        let left_out = kernel.left_out.iter().map(|it| {
            let mut value = region(it.kind.name(), &it.location);
            value["reason"] = json!(it.reason);
            value["chosen"] = json!(it.chosen.as_ref().map(|it| &it.name));
            value
        });
        json!({
            "name": kernel.name,
            "reason": kernel.reason,
            "share": kernel.share,
            "sites": sites.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    };
    let module = |(arch, kernels): &(u32, Vec<Kernel>)| {
        let arch = if *arch == 0 { None } else { Some(arch) };
        json!({ "arch": arch, "kernels": kernels.iter().map(kernel).collect::<Vec<_>>() })
    };
    json!({ "schema": 1, "modules": found.iter().map(module).collect::<Vec<_>>() })
}
