//! `profiler instrument`: PTX whose kernels record.

use clap::{Args, ValueHint};

use crate::arguments::File;
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::kernels::{KernelArguments, check_regions};
use crate::output::{self, Content};

const EXAMPLES: &str = "\
Examples:
  profiler instrument softmax.ptx -o softmax.recording.ptx
  profiler instrument ./program -o gemm.ptx --kernel gemm --budget 10";

/// Write PTX whose kernels record, for programs that load PTX themselves
///
/// Kernels keep their parameters, launch bounds, shared memory and results. Without a session they run a copy of
/// their code that records nothing. A program attaches a profiler to the PTX as to that of annotated kernels.
/// From a file with PTX for several GPUs the newest is taken.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: KernelArguments,
    /// The file to write; `-` for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: File,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let Arguments { input, output } = arguments;
    output::check(output, Content::Text, &[&input.file])?;
    let newest = input.images()?.into_iter().max_by_key(|image| image.arch);
    let ptx = newest.map(|image| image.ptx).unwrap_or_default();
    let options = input.options()?;
    let out = profiler_ptx::instrument(&ptx, &options).map_err(|error| input.error(&error))?;
    input.check_names(out.kernels.iter().map(|kernel| kernel.name.as_str()))?;
    check_regions(&options, &out.kernels, console)?;
    for kernel in &out.kernels {
        if let Some(reason) = &kernel.reason {
            console.note(&format!("{} is not recorded: {reason}", kernel.name));
        }
    }
    output::write(output, Content::Text, &[&input.file], console, |writer| {
        Ok(writer.write_all(out.text.as_bytes())?)
    })?;
    let regions: usize = out.kernels.iter().map(|kernel| kernel.sites.len()).sum();
    let kernels = out.kernels.iter().filter(|kernel| kernel.reason.is_none()).count();
    let s = |count: usize| if count == 1 { "" } else { "s" };
    console.note(&format!(
        "{regions} region{} in {kernels} kernel{}; `profiler sites` lists them",
        s(regions),
        s(kernels)
    ));
    Ok(Verdict::Clean)
}
