//! The stand-in for ptxas in programs that `profiler record` runs: it rewrites PTX and hands it to the real one.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use profiler_ptx::Recording;
use profiler_wire::spool::FOLDER_VARIABLE;

use crate::exit::{Error, Verdict};
use crate::record::refuse;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The path under which it was called, and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Verdict, Error> {
    let (called, rest) =
        arguments.command.split_first().ok_or_else(|| Error::new("it is called by a script"))?;
    let called = Path::new(called);
    let real = real_ptxas(called).ok_or_else(|| {
        Error::new("the program asked for ptxas, and none was found")
            .with_help("put the folder of the CUDA toolkit's ptxas into PATH")
    })?;
    let assemble = |arguments: &[OsString]| {
        Command::new(&real).args(arguments).output().map_err(|error| {
            Error::new(format!("cannot run {}: {error}", real.display()))
                .with_help("check that it is a program and may be run")
        })
    };
    let recording = env::var_os(FOLDER_VARIABLE).and_then(|it| Recording::open(it.into()));
    let mut kernels = Vec::new();
    let rewritten: Vec<OsString> = rest
        .iter()
        .map(|argument| {
            let file = recording.as_ref().and_then(|recording| {
                let (file, names) = rewrite(recording, Path::new(argument))?;
                kernels.extend(names);
                Some(file.into_os_string())
            });
            file.unwrap_or_else(|| argument.clone())
        })
        .collect();
    let mut output = assemble(&rewritten)?;
    if let (Some(recording), true) = (recording, rewritten != rest && !output.status.success()) {
        // The program must not fail because of what was put in.
        output = assemble(rest)?;
        if output.status.success() {
            for kernel in &kernels {
                refuse(&recording.folder, kernel, "ptxas refused the rewritten PTX");
            }
        }
    }
    let written = io::stdout().write_all(&output.stdout);
    written
        .and_then(|()| io::stderr().write_all(&output.stderr))
        .map_err(|error| Error::new(format!("cannot pass on what ptxas said: {error}")))?;
    let code = output.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Verdict::Program(code.unwrap_or(u8::MAX)))
}

/// The file with the rewritten text of a file of PTX, and the kernels that record. `None` if it is none, or stays as
/// it is.
fn rewrite(recording: &Recording, input: &Path) -> Option<(PathBuf, Vec<String>)> {
    let ptx = fs::read_to_string(input).ok().filter(|text| text.contains(".version"))?;
    match recording.rewrite(&ptx, &[]) {
        Ok(out) => {
            let out = out?;
            let (refused, recorded): (Vec<_>, Vec<_>) =
                out.kernels.into_iter().partition(|kernel| kernel.reason.is_some());
            for kernel in &refused {
                refuse(&recording.folder, &kernel.name, kernel.reason.as_deref().unwrap_or(""));
            }
            let file = recording.keep(out.hash, &out.text).ok()?;
            Some((file, recorded.into_iter().map(|kernel| kernel.name).collect()))
        }
        Err(error) => {
            let names = profiler_ptx::kernel_names(&ptx).into_iter();
            for kernel in names.filter(|name| recording.takes(name)) {
                refuse(&recording.folder, &kernel, &error.to_string());
            }
            None
        }
    }
}

/// The ptxas that the program would have called.
fn real_ptxas(called: &Path) -> Option<PathBuf> {
    let name = called.file_name()?;
    let variable =
        if name == "ptxas" { "TRITON_PTXAS_PATH" } else { "TRITON_PTXAS_BLACKWELL_PATH" };
    let users = env::var_os(format!("PROFILER_{variable}")).map(PathBuf::from);
    let own = called.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let in_path = env::var_os("PATH").into_iter().flat_map(|path| {
        env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>()
    });
    let candidates = users.into_iter().chain(of_packages(name)).chain(in_path);
    candidates
        .filter_map(|path| fs::canonicalize(path).ok())
        .find(|path| path.is_file() && path.parent().map(Path::to_path_buf) != own)
}

/// Those in the Python packages that the calling process has loaded libraries of: Triton carries its own, and
/// NVIDIA's packages have one.
fn of_packages(name: &std::ffi::OsStr) -> Vec<PathBuf> {
    let parent = parent_process().unwrap_or(0);
    let maps = fs::read_to_string(format!("/proc/{parent}/maps")).unwrap_or_default();
    let mut found = Vec::new();
    for path in
        maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| format!("/{path}"))
    {
        if let Some((package, _)) = path.split_once("/triton/_C/") {
            found.push(Path::new(package).join("triton/backends/nvidia/bin").join(name));
        }
        if let Some((packages, _)) = path.split_once("/nvidia/") {
            for folder in ["cu13/bin", "cuda_nvcc/bin"] {
                found.push(Path::new(packages).join("nvidia").join(folder).join(name));
            }
        }
    }
    found.dedup();
    found
}

/// The process that called the script: the script has made room for this program.
fn parent_process() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}
