//! ptxas and nvdisasm.

use std::path::PathBuf;
use std::process::Command;

use profiler_test_tools::{Missing, Tool};

use crate::sass::{self, Kernels};

/// The two tools.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
}

impl Tools {
    /// Finds each tool.
    pub(crate) fn find() -> Result<Self, Missing> {
        Ok(Self { ptxas: Tool::Ptxas.find()?, nvdisasm: Tool::Nvdisasm.find()? })
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
