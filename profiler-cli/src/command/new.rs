//! `profiler new`: writes a project with a kernel that records.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};

use crate::console::Console;
use crate::exit::{Error, Verdict};

const EXAMPLES: &str = "\
Examples:
  profiler new tour
  profiler new tour --host cudarc
  profiler new tour --profiler ../profiler
  profiler new tour --profiler https://git.example.org/profiler.git

`cargo run` and `cargo test` accept the project at once. The test runs the
kernel on the CPU emulator, and so does the program where there is no GPU; with
--host it says that there is none.";

/// The folder of the clone that this program was built in.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Write a project: a kernel with two regions, a host program, a build script and a test
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The name of the project and of its folder
    name: String,
    /// The library with which the program loads and launches kernels
    #[arg(long, value_enum, default_value_t = Host::None)]
    host: Host,
    /// Where the profiler's crates are: the folder of a clone, the address of a git repository, or `crates.io`
    /// [default: the clone that this program was built in, or else crates.io]
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::DirPath)]
    profiler: Option<String>,
}

/// Names that cargo or the project takes for something else.
const TAKEN: [&str; 9] =
    ["alloc", "build", "core", "deps", "examples", "incremental", "kernels", "std", "test"];

/// A host library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Host {
    /// None: the profiler's own back ends, a GPU or the emulator
    None,
    /// cudarc
    Cudarc,
    /// cust
    Cust,
}

/// Where the profiler's crates are.
enum Source {
    Path(String),
    Git(String),
    Registry,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let name = arguments.name.as_str();
    check(name)?;
    let folder = PathBuf::from(name);
    if folder.exists() {
        return Err(Error::new(format!("there is a folder {name} already"))
            .with_help("give another name, or remove the folder"));
    }
    let source = source(arguments.profiler.as_deref())?;
    for (path, text) in files(name, arguments.host, &source) {
        write(&folder.join(path), &text).map_err(|error| {
            Error::new(format!("cannot write {}: {error}", folder.join(path).display()))
        })?;
    }
    console.note(&format!("wrote {name}; next: cd {name} && cargo run"));
    Ok(Verdict::Clean)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    fs::write(path, text)
}

/// Refuses what is no name of a package, or one of a package that the project has.
fn check(name: &str) -> Result<(), Error> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_taken = TAKEN.contains(&name) || name.starts_with("profiler-");
    if is_plain && begins && !is_taken {
        return Ok(());
    }
    Err(Error::new(format!("`{name}` cannot be the name of a project")).with_help(
        "give letters, digits, `-` and `_`, a letter first, and another one than `kernels`, `test`, `build` and those of the profiler's crates",
    ))
}

fn source(given: Option<&str>) -> Result<Source, Error> {
    let has_crates = |path: &Path| path.join("profiler-host/Cargo.toml").is_file();
    match given {
        Some(url) if url.contains("://") => Ok(Source::Git(url.to_owned())),
        // As git takes it, and cargo does not.
        Some(url) if url.starts_with("git@") => {
            Ok(Source::Git(format!("ssh://{}", url.replacen(':', "/", 1))))
        }
        Some("crates.io") => Ok(Source::Registry),
        Some(path) if !has_crates(Path::new(path)) => {
            Err(Error::new(format!("{path} has no crate profiler-host"))
                .with_help("name the folder of a clone of the profiler"))
        }
        // The project is a folder deeper.
        Some(path) if Path::new(path).is_relative() => Ok(Source::Path(format!("../{path}"))),
        Some(path) => Ok(Source::Path(path.to_owned())),
        None => Ok(match fs::canonicalize(BUILT_IN) {
            Ok(path) if has_crates(&path) => Source::Path(path.display().to_string()),
            _ => Source::Registry,
        }),
    }
}

impl Source {
    /// A dependency on one of the crates, in a manifest that is so many folders below the project's.
    fn dependency(&self, package: &str, depth: usize, features: &str) -> String {
        let from = match self {
            Self::Path(path) => {
                let up =
                    if Path::new(path).is_relative() { "../".repeat(depth) } else { String::new() };
                format!("path = {:?}", format!("{up}{path}/{package}"))
            }
            Self::Git(url) => format!("git = {url:?}"),
            Self::Registry => format!("version = {:?}", env!("CARGO_PKG_VERSION")),
        };
        format!("{package} = {{ {from}{features} }}\n")
    }
}

/// The project's files.
fn files(name: &str, host: Host, source: &Source) -> Vec<(&'static str, String)> {
    let (features, library, main) = match host {
        Host::None => ("", "", include_str!("../../templates/main.rs")),
        Host::Cudarc => (
            ", features = [\"cudarc\"]",
            "cudarc = { version = \"0.19.10\", default-features = false, features = [\"cuda-12080\", \"driver\", \
             \"dynamic-loading\", \"nvrtc\", \"std\"] }\n",
            include_str!("../../templates/main_cudarc.rs"),
        ),
        Host::Cust => (
            ", features = [\"cust\"]",
            "cust = \"0.3.2\"\n",
            include_str!("../../templates/main_cust.rs"),
        ),
    };
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\nmembers = \
         [\"kernels\"]\n\n[dependencies]\n{library}kernels = {{ path = \"kernels\" }}\n{}\n[build-dependencies]\n{}",
        source.dependency("profiler-host", 0, features),
        source.dependency("profiler-build", 0, ""),
    );
    let kernels = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{}{}",
        source.dependency("profiler-device", 1, ""),
        source.dependency("profiler-kernel", 1, ""),
    );
    let mut files = vec![
        (".gitignore", "/target\n*.capture\n*.pftrace\n".to_owned()),
        ("Cargo.toml", manifest),
        ("build.rs", include_str!("../../templates/build.rs").to_owned()),
        ("kernels/Cargo.toml", kernels),
        ("kernels/src/lib.rs", include_str!("../../templates/kernels.rs").to_owned()),
        ("src/main.rs", main.to_owned()),
        ("tests/sum_rows.rs", include_str!("../../templates/test.rs").to_owned()),
    ];
    if host == Host::Cust {
        // Build scripts of cust look for a CUDA toolkit; there is nothing that it would link.
        let config = "[env]\nCUDA_LIBRARY_PATH = \"/\"\n".to_owned();
        files.push((".cargo/config.toml", config));
    }
    files
}
