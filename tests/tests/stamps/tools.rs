//! ptxas and nvdisasm.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sass::{self, Kernels};

/// The two tools.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
}

impl Tools {
    /// Finds each tool: the one that its variable names, that of `cargo xtask tools`, or the one in
    /// `PATH`.
    pub(crate) fn find() -> Result<Self, String> {
        let ptxas = find("ptxas", "PROFILER_PTXAS")?;
        Ok(Self { ptxas, nvdisasm: find("nvdisasm", "PROFILER_NVDISASM")? })
    }

    /// Assembles PTX for a target and reads the machine code.
    pub(crate) fn disassemble(&self, ptx: &str, target: &str) -> Result<Kernels, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (module, cubin) =
            (folder.path().join("module.ptx"), folder.path().join("module.cubin"));
        std::fs::write(&module, ptx).map_err(|error| error.to_string())?;
        let mut ptxas = Command::new(&self.ptxas);
        ptxas.args(["--gpu-name", target, "--output-file"]).arg(&cubin).arg(&module);
        run(&mut ptxas).map_err(|log| format!("ptxas refuses it for {target}:\n{log}"))?;
        let mut nvdisasm = Command::new(&self.nvdisasm);
        nvdisasm.args(["--print-code", "--print-instruction-encoding"]).arg(&cubin);
        let printed = run(&mut nvdisasm).map_err(|log| format!("nvdisasm fails:\n{log}"))?;
        sass::parse(&printed)
    }
}

/// What a command prints.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn find(tool: &str, variable: &str) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(variable) {
        let named = PathBuf::from(named);
        return if named.is_file() {
            Ok(named)
        } else {
            Err(format!("{variable}={} is no file", named.display()))
        };
    }
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/lib");
    let pythons = std::fs::read_dir(lib).into_iter().flatten().filter_map(Result::ok);
    let installed = pythons
        .map(|python| python.path().join("site-packages/nvidia/cu13/bin").join(tool))
        .find(|path| path.is_file());
    if let Some(path) = installed {
        return Ok(path);
    }
    match Command::new(tool).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(PathBuf::from(tool)),
        _ => Err(format!("{tool} is missing: run `cargo xtask tools`, or let {variable} name it")),
    }
}
