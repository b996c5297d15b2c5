//! The private folder of a recording: the library, the stand-in for ptxas, the settings, and what programs leave.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use profiler_wire::spool::{DRIVER_VARIABLE, FOLDER_VARIABLE, MODULES, SETTINGS_FILE, Settings};
use tempfile::TempDir;

use super::names::readable;
use crate::console::Console;
use crate::exit::Error;

/// Kernels that could not be rewritten, by the stand-in for ptxas.
const REFUSED: &str = "refused";

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libprofiler_preload.so"));

/// The folder, which goes with this value.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    driver: PathBuf,
}

impl Folder {
    /// A new folder. `None` if there is no driver, so that there is nothing to record.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, Error> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Error::new("`profiler record` needs Linux on x86-64"));
        }
        if LIBRARY.is_empty() {
            return Err(Error::new("this `profiler` was built without the library that records")
                .with_help("build it on x86-64 Linux"));
        }
        let Some(driver) = find_driver() else { return Ok(None) };
        let cannot = |error: io::Error| {
            Error::new(format!("cannot make a folder for temporary files: {error}"))
                .with_help("set TMPDIR to a folder of your own on a disk with space")
        };
        // Only its owner may enter it.
        let folder =
            tempfile::Builder::new().prefix("profiler-record-").tempdir().map_err(cannot)?;
        let this = Self { folder, driver };
        this.fill(settings).map_err(cannot)?;
        Ok(Some(this))
    }

    fn fill(&self, settings: &Settings) -> io::Result<()> {
        for name in [MODULES, "bin", "caches", "lib"] {
            fs::create_dir(self.path(name))?;
        }
        fs::write(self.library(), LIBRARY)?;
        #[cfg(unix)]
        std::os::unix::fs::symlink(self.library(), self.path("lib/libcuda.so"))?;
        fs::write(self.path(SETTINGS_FILE), settings.to_text())?;
        let program = env::current_exe()?;
        let ptxas = self.path("bin/ptxas");
        let program = program.to_string_lossy().replace('\'', r"'\''");
        fs::write(&ptxas, format!("#!/bin/sh\nexec '{program}' ptxas -- \"$0\" \"$@\"\n"))?;
        #[cfg(unix)]
        fs::set_permissions(&ptxas, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        fs::copy(&ptxas, self.path("bin/ptxas-blackwell"))?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn library(&self) -> PathBuf {
        self.path("libcuda.so.1")
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Lets a program record.
    pub(crate) fn prepare(&self, command: &mut Command) {
        let bin = self.path("bin");
        let joined = |first: OsString, variable: &str, between: &str| {
            let mut all = first;
            if let Some(rest) = env::var_os(variable).filter(|rest| !rest.is_empty()) {
                all.push(between);
                all.push(rest);
            }
            all
        };
        command.env(FOLDER_VARIABLE, self.folder.path()).env(DRIVER_VARIABLE, &self.driver);
        command.env("LD_PRELOAD", joined(self.library().into_os_string(), "LD_PRELOAD", ":"));
        // What is preloaded stands for `libcuda.so.1`; some ask for `libcuda.so`, which is looked for.
        let lib = self.path("lib").into_os_string();
        command.env("LD_LIBRARY_PATH", joined(lib, "LD_LIBRARY_PATH", ":"));
        command.env("PATH", joined(bin.clone().into_os_string(), "PATH", ":"));
        for (variable, ptxas) in
            [("TRITON_PTXAS_PATH", "ptxas"), ("TRITON_PTXAS_BLACKWELL_PATH", "ptxas-blackwell")]
        {
            if let Some(users) = env::var_os(variable) {
                command.env(format!("PROFILER_{variable}"), users);
            }
            command.env(variable, bin.join(ptxas));
        }
        // What is compiled now records, and nobody else may find it.
        for (variable, name) in [
            ("TRITON_CACHE_DIR", "triton"),
            ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
            ("CUPY_CACHE_DIR", "cupy"),
            ("CUDA_CACHE_PATH", "cuda"),
        ] {
            command.env(variable, self.path("caches").join(name));
        }
        command.env("JAX_ENABLE_COMPILATION_CACHE", "false");
        // XLA compiles PTX by the program ptxas then, and not by a library.
        let flag = "--xla_gpu_enable_libnvptxcompiler=false";
        let mut flags = env::var_os("XLA_FLAGS").unwrap_or_default();
        if !flags.is_empty() {
            flags.push(" ");
        }
        flags.push(flag);
        command.env("XLA_FLAGS", flags);
    }

    /// What each process of the program left, by its number.
    pub(crate) fn spools(&self) -> Result<Vec<(u32, Vec<u8>)>, Error> {
        let cannot =
            |error: io::Error| Error::new(format!("cannot read what was recorded: {error}"));
        let mut spools = Vec::new();
        for entry in fs::read_dir(self.folder.path()).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let process = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            if let (Some(process), true) =
                (process, path.extension().is_some_and(|it| it == "spool"))
            {
                spools.push((process, fs::read(&path).map_err(cannot)?));
            }
        }
        spools.sort_by_key(|(process, _)| *process);
        Ok(spools)
    }

    /// Leaves the folder if processes that the program started go on: they would no longer find what they compile
    /// with.
    pub(crate) fn leave_to_its_users(self, console: &Console) {
        let users = self.users();
        if !users.is_empty() {
            let folder = self.folder.keep();
            console.note(&format!(
                "processes that the program started go on ({}); what they record from now on is in no capture, and {} \
                 can be removed when they have ended",
                users.join(", "),
                folder.display()
            ));
        }
    }

    /// The numbers of processes whose environment names the folder.
    fn users(&self) -> Vec<String> {
        let mut named = format!("{FOLDER_VARIABLE}=").into_bytes();
        named.extend_from_slice(self.folder.path().as_os_str().as_encoded_bytes());
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = numbers.filter(|name| name.bytes().all(|it| it.is_ascii_digit()));
        // Those of other users, and those that have ended, cannot be read.
        let is_user = |number: &String| {
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == named)
        };
        numbers.filter(is_user).collect()
    }

    /// Kernels that could not be rewritten before ptxas, with the reasons.
    pub(crate) fn refused(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.path(REFUSED)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(kernel, reason)| (readable(kernel), reason.to_owned())).collect()
    }
}

/// Keeps that kernels could not be rewritten, in the folder of a recording.
pub(crate) fn refuse(folder: &Path, kernel: &str, reason: &str) {
    use std::io::Write as _;
    let file = fs::OpenOptions::new().append(true).create(true).open(folder.join(REFUSED));
    // Several compile at once: a line is written at once.
    let _kept =
        file.and_then(|mut file| file.write_all(format!("{kernel}\t{reason}\n").as_bytes()));
}

/// The file of the driver's library.
fn find_driver() -> Option<PathBuf> {
    const NAME: &str = "libcuda.so.1";
    let paths = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = env::split_paths(&paths).filter(|folder| !folder.as_os_str().is_empty());
    let named = named.map(|folder| folder.join(NAME)).collect::<Vec<_>>();
    let listed = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"].iter().find_map(|program| {
        let output = Command::new(program).arg("-p").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let paths = text.lines().filter(|line| line.contains(NAME) && line.contains("x86-64"));
        let paths = paths.filter_map(|line| Some(PathBuf::from(line.split_once(" => ")?.1)));
        Some(paths.collect::<Vec<_>>())
    });
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/local/nvidia/lib64",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
    ];
    let usual = usual.iter().map(|folder| Path::new(folder).join(NAME));
    let all = named.into_iter().chain(listed.unwrap_or_default()).chain(usual);
    // The toolkit's stub is no driver.
    all.filter(|path| !path.to_string_lossy().contains("/stubs/"))
        .find_map(|path| fs::canonicalize(path).ok())
}
