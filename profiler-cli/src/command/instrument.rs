//! `profiler instrument`: PTX whose kernels record.

use clap::{Args, ValueHint};

use crate::arguments::File;
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::kernels::{KernelArguments, check_regions};
use crate::output::{self, Content};
use crate::units::counted;

const EXAMPLES: &str = "\
Examples:
  profiler instrument softmax.ptx -o softmax.recording.ptx
  profiler instrument ./program -o gemm.ptx --kernel gemm --arch sm_80";

/// Write PTX whose kernels record, for programs that load PTX themselves
///
/// Kernels keep their parameters, launch bounds, shared memory and results. Without a session they run a copy of
/// their code that records nothing. A program attaches a profiler to the PTX as to that of annotated kernels.
/// From a file with PTX for several GPUs that of the newest is taken, or of the one that `--arch` names.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: KernelArguments,
    /// The GPU whose PTX to take of several, like `sm_80`
    #[arg(long, value_name = "sm_NN", value_parser = arch)]
    arch: Option<u32>,
    /// The file to write; `-` for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: File,
}

fn arch(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text).trim_end_matches(char::is_alphabetic);
    number.parse().map_err(|_| "give a GPU like sm_90".to_owned())
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let Arguments { input, output, arch } = arguments;
    output::check(output, Content::Text, &[&input.file])?;
    let mut images = input.images()?;
    let all = images.iter().map(|image| format!("sm_{}", image.arch)).collect::<Vec<_>>();
    if let Some(arch) = arch {
        // Of PTX alone there is one.
        images.retain(|image| image.arch == *arch || image.arch == 0);
    }
    let Some(image) = images.into_iter().max_by_key(|image| image.arch) else {
        return Err(Error::new("there is no PTX for that GPU")
            .with_help(format!("give one of {} by --arch", all.join(", "))));
    };
    let options = input.options(std::slice::from_ref(&image))?;
    let out =
        profiler_ptx::instrument(&image.ptx, &options).map_err(|error| input.error(&error))?;
    check_regions(&options, &out.kernels, console)?;
    for kernel in &out.kernels {
        if let Some(reason) = &kernel.reason {
            console.note(&format!("{} is not recorded: {reason}", kernel.name));
        }
    }
    if out.kernels.iter().all(|kernel| kernel.reason.is_some()) {
        return Err(Error::new("no kernel in it can record, so nothing is written")
            .with_help("see whether the PTX is whole; `profiler sites` lists its kernels"));
    }
    output::write(output, Content::Text, &[&input.file], console, |writer| {
        writer.write_all(out.text.as_bytes())
    })?;
    let regions: usize = out.kernels.iter().map(|kernel| kernel.sites.len()).sum();
    let kernels = out.kernels.iter().filter(|kernel| kernel.reason.is_none()).count();
    let (regions, kernels) = (counted(regions, "region"), counted(kernels, "kernel"));
    console.note(&format!("{regions} in {kernels}; `profiler sites` lists them"));
    Ok(Verdict::Clean)
}
