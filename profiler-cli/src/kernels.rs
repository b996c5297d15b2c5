//! What `profiler sites` and `profiler instrument` share: reading PTX, and which kernels and regions to take.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use profiler_ptx::{
    Error as PtxError, Image, ImageError, Kernel, Options, Selection, SelectionError, images,
};
use regex_lite::Regex;
use toml::{Table, Value};

use crate::arguments::File;
use crate::console::Console;
use crate::exit::{Error, cannot_read};

/// Where the kernels are, and what to record of them.
#[derive(Args, Debug)]
pub(crate) struct KernelArguments {
    /// PTX, a fatbin, or a program or library with fatbins in it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: File,
    /// Take only kernels whose names this regular expression matches
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    kernel: Option<Regex>,
    /// The share of a loop's time that records may take, in per cent; a region that would take more is left
    /// out
    #[arg(long, value_name = "PER_CENT", default_value_t = 5.0, allow_negative_numbers = true,
          value_parser = per_cent)]
    budget: f64,
    #[command(flatten)]
    regions: RegionArguments,
}

/// Regions that the user chooses.
#[derive(Args, Debug)]
pub(crate) struct RegionArguments {
    /// Record this code, whatever it costs: `lines FILE:40-57=NAME`, `function FUNCTION[=NAME]` or
    /// `instruction PATTERN[=NAME]`, in which `*` stands for anything; may be given several times
    #[arg(long, value_name = "SPEC")]
    region: Vec<Selection>,
    /// A TOML file of such regions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    sites: Option<PathBuf>,
    /// Record no loops and waits besides them
    #[arg(long)]
    no_auto: bool,
}

/// See [`RegionArguments::read`].
#[derive(Debug)]
pub(crate) struct Regions {
    pub(crate) selections: Vec<Selection>,
    /// Whether to record loops and waits besides.
    pub(crate) auto: bool,
}

impl RegionArguments {
    /// The chosen regions, those of the file first.
    pub(crate) fn read(&self) -> Result<Regions, Error> {
        let mut regions = match &self.sites {
            None => Regions { selections: Vec::new(), auto: true },
            Some(path) => {
                let name = path.display().to_string();
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| cannot_read(&name, &error))?;
                of_toml(&text).map_err(|reason| {
                    Error::new(format!("{name}: {reason}")).with_help(TOML_HELP)
                })?
            }
        };
        regions.selections.extend_from_slice(&self.region);
        regions.auto &= !self.no_auto;
        if regions.selections.is_empty() && !regions.auto {
            return Err(Error::new("without loops and waits there is nothing to record")
                .with_help("choose code by --region, or leave out --no-auto and `auto = false`"));
        }
        Ok(regions)
    }
}

const TOML_HELP: &str = "write `auto = false` to record nothing else, and for each region `[[region]]`, one of `lines = \
     \"FILE:40-57\"`, `function = \"NAME\"` and `instruction = \"PATTERN\"`, and `name = \"NAME\"`";

fn of_toml(text: &str) -> Result<Regions, String> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", error.message())
    })?;
    let auto = match table.remove("auto") {
        None => true,
        Some(auto) => auto.as_bool().ok_or("`auto` is neither true nor false")?,
    };
    let regions = match table.remove("region") {
        None => Vec::new(),
        Some(Value::Array(regions)) => regions,
        Some(_) => return Err("`region` is no list".to_owned()),
    };
    match table.keys().next() {
        None => {}
        Some(key) => return Err(format!("there is no key `{key}`")),
    }
    let selections = (1..).zip(regions).map(|(number, region)| {
        selection(&region).map_err(|reason| format!("region {number}: {reason}"))
    });
    Ok(Regions { selections: selections.collect::<Result<_, _>>()?, auto })
}

/// A region of a TOML file, by its text on the command line.
fn selection(region: &Value) -> Result<Selection, String> {
    let table = region.as_table().ok_or("it is no table")?;
    let (mut specs, mut name) = (Vec::new(), String::new());
    for (key, value) in table {
        let value = value.as_str().ok_or_else(|| format!("`{key}` is no text"))?;
        match key.as_str() {
            "name" if value.contains('=') => return Err("a name has no `=`".to_owned()),
            "name" => name = format!("={value}"),
            "lines" | "function" | "instruction" => specs.push(format!("{key} {value}")),
            _ => return Err(format!("there is no key `{key}`")),
        }
    }
    let spec = match &specs[..] {
        [spec] => spec,
        [] => return Err("it has none of `lines`, `function` and `instruction`".to_owned()),
        _ => return Err("it has more than one of `lines`, `function` and `instruction`".to_owned()),
    };
    format!("{spec}{name}").parse().map_err(|error: SelectionError| error.to_string())
}

/// Says which chosen regions no kernel has.
pub(crate) fn check_regions<'k>(
    options: &Options,
    kernels: impl IntoIterator<Item = &'k Kernel>,
    console: &Console,
) -> Result<(), Error> {
    let mut is_found = vec![false; options.regions.len()];
    for kernel in kernels {
        let left_out = kernel.left_out.iter().map(|it| &it.chosen);
        for chosen in kernel.sites.iter().map(|it| &it.chosen).chain(left_out).flatten() {
            is_found[chosen.selection] = true;
        }
    }
    if !is_found.is_empty() && !is_found.contains(&true) {
        let chosen = options.regions.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>();
        let chosen = chosen.join(", ");
        return Err(Error::new(format!("no kernel has code of {chosen}")).with_help(
            "lines and inlined functions need line information (nvcc -lineinfo), and Triton does not name inlined \
             functions: choose the lines that call them; patterns match whole opcodes, like `wgmma.*`",
        ));
    }
    for (selection, _) in options.regions.iter().zip(is_found).filter(|(_, is_found)| !is_found) {
        console.note(&format!("no kernel has code of `{selection}`"));
    }
    Ok(())
}

/// A regular expression.
pub(crate) fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

pub(crate) fn per_cent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let number: f64 = number.parse().map_err(|_| "it is not a number".to_owned())?;
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
        if bytes.starts_with(b"\x89GPUREC\n") {
            return Err(Error::new(format!("{name} is a capture"))
                .with_help("`profiler info` and `profiler stats` read captures"));
        }
        images(&bytes).map_err(|error: ImageError| Error::new(format!("{name}: {error}")))
    }

    /// What to record of these.
    pub(crate) fn options(&self, images: &[Image]) -> Result<Options, Error> {
        let mut options = Options::default();
        let regions = self.regions.read()?;
        (options.regions, options.auto) = (regions.selections, regions.auto);
        options.budget = self.budget / 100.0;
        let Some(pattern) = &self.kernel else { return Ok(options) };
        let mut names = Vec::new();
        for image in images {
            let kernels = profiler_ptx::sites(&image.ptx, &Options::default());
            let kernels = kernels.map_err(|error| self.error(&error))?;
            names.extend(kernels.into_iter().map(|kernel| kernel.name));
        }
        names.retain(|name| pattern.is_match(name));
        if names.is_empty() {
            return Err(Error::new(format!("no kernel has a name that `{pattern}` matches"))
                .with_help("`profiler sites FILE` lists the kernels"));
        }
        options.kernels = names;
        Ok(options)
    }

    /// An error of a module in the file.
    pub(crate) fn error(&self, error: &PtxError) -> Error {
        Error::new(format!("{}: {error}", self.file.input_name()))
    }
}
