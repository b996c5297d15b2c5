//! The stand-in for ptxas in programs that `profiler record` runs: it rewrites PTX and hands it to the real one.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use profiler_ptx::Options;
use profiler_wire::spool::{MODULES, SETTINGS_FILE, Settings};

use crate::exit::{Error, Verdict};
use crate::record::{SETTINGS, refuse};

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
    let folder = env::var_os(SETTINGS).map(PathBuf::from);
    let rest: Vec<OsString> = rest
        .iter()
        .map(|argument| {
            let rewritten =
                folder.as_deref().and_then(|folder| rewrite(folder, Path::new(argument)));
            rewritten.map_or_else(|| argument.clone(), PathBuf::into_os_string)
        })
        .collect();
    let status = Command::new(&real).args(rest).status().map_err(|error| {
        Error::new(format!("cannot run {}: {error}", real.display()))
            .with_help("check that it is a program and may be run")
    })?;
    Ok(Verdict::Program(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
}

/// The file with the rewritten text of a file of PTX. `None` if it is none, or stays as it is.
fn rewrite(folder: &Path, input: &Path) -> Option<PathBuf> {
    let ptx = fs::read_to_string(input).ok().filter(|text| text.contains(".version"))?;
    let settings = fs::read_to_string(folder.join(SETTINGS_FILE)).ok()?;
    let settings = Settings::from_text(&settings)?;
    let filter = regex_lite::Regex::new(&settings.kernel).ok()?;
    let mut options = Options::default();
    options.budget = settings.budget;
    options.auto = settings.auto;
    options.regions = settings.regions.iter().filter_map(|it| it.parse().ok()).collect();
    options.kernels = profiler_ptx::kernel_names(&ptx);
    options.kernels.retain(|name| filter.is_match(name));
    if options.kernels.is_empty() {
        return None;
    }
    match profiler_ptx::instrument(&ptx, &options) {
        Ok(out) => {
            for kernel in &out.kernels {
                if let Some(reason) = &kernel.reason {
                    refuse(folder, &kernel.name, reason);
                }
            }
            let path = folder.join(MODULES).join(format!("{:016x}.ptx", out.hash));
            fs::write(&path, out.text).ok()?;
            Some(path)
        }
        Err(error) => {
            for kernel in &options.kernels {
                refuse(folder, kernel, &error.to_string());
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
