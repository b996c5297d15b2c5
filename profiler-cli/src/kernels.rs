//! What `profiler sites` and `profiler instrument` share: reading PTX, and which kernels and regions to take.

use clap::{Args, ValueHint};
use profiler_ptx::{Error as PtxError, Image, ImageError, Options, images};

use crate::arguments::File;
use crate::exit::{Error, cannot_read};

/// Where the kernels are, and what to record of them.
#[derive(Args, Debug)]
pub(crate) struct KernelArguments {
    /// PTX, a fatbin, or a program or library with fatbins in it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: File,
    /// Take only this kernel, by its name in the PTX; may be given several times
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// The share of a loop's time that records may take, in per cent; a region that would take more is left
    /// out
    #[arg(long, value_name = "PER_CENT", default_value_t = 5.0, allow_negative_numbers = true,
          value_parser = per_cent)]
    budget: f64,
}

pub(crate) fn per_cent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.0..=10_000.0).contains(&number) { Ok(number) } else { Err("give 0 to 10000".to_owned()) }
}

impl KernelArguments {
    /// The PTX in the file.
    pub(crate) fn images(&self) -> Result<Vec<Image>, Error> {
        let name = self.file.input_name().to_string();
        let bytes = match self.file.path() {
            Some(path) => std::fs::read(path),
            None => {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
            }
        };
        let bytes = bytes.map_err(|error| cannot_read(&name, &error))?;
        images(&bytes).map_err(|error: ImageError| Error::new(format!("{name}: {error}")))
    }

    /// What to record.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.kernels.clone_from(&self.kernel);
        options.budget = self.budget / 100.0;
        options
    }

    /// An error of a module in the file.
    pub(crate) fn error(&self, error: &PtxError) -> Error {
        Error::new(format!("{}: {error}", self.file.input_name()))
    }

    /// Refuses names that no kernel has.
    pub(crate) fn check_names<'k>(
        &self,
        kernels: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<(), Error> {
        match self.kernel.iter().find(|name| kernels.clone().all(|kernel| kernel != name.as_str()))
        {
            None => Ok(()),
            Some(name) => Err(Error::new(format!("there is no kernel `{name}`"))
                .with_help("`profiler sites FILE` lists the kernels")),
        }
    }
}
