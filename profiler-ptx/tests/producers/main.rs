//! PTX of Triton, nvcc, NVRTC, numba and clang, made here without a GPU: rewritten it is assembled for each GPU, without spills, and what is
//! not chosen stays byte for byte.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use profiler_ptx::{Options, instrument};
use profiler_test_tools::{Tool, announce, are_required};

/// Registers and bytes of spills of the kernels in a file, by ptxas.
fn assembled(ptxas: &Path, ptx: &Path) -> Result<[u32; 2], String> {
    let text = fs::read_to_string(ptx).expect("it was written");
    let target = text.lines().find_map(|line| line.strip_prefix(".target ")).expect("a target");
    let arch = target.split([',', ' ']).next().unwrap_or_default();
    let output = Command::new(ptxas)
        .args(["-v", "-arch", arch, "-o", "/dev/null"])
        .arg(ptx)
        .output()
        .expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(said);
    }
    let before = |what: &str| {
        let words = said.split([' ', ',', '\n']).collect::<Vec<_>>();
        let found = words.windows(3).filter(|window| window.join(" ").contains(what));
        found.filter_map(|window| window[0].parse::<u32>().ok()).max().unwrap_or(0)
    };
    Ok([before("registers"), before("bytes spill stores")])
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows what rewriting costs in registers")]
fn what_compilers_make_is_rewritten_and_assembled() {
    let tools = Tool::Ptxas
        .find()
        .and_then(|ptxas| Ok((ptxas, Tool::Python(&["triton", "numba"]).find()?)));
    let (ptxas, python) = match tools {
        Ok(tools) => tools,
        Err(missing) => {
            assert!(!are_required(), "{missing}");
            return announce("tests of what compilers make", &missing);
        }
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let nvidia = ptxas.parent().and_then(Path::parent).expect("ptxas is in its package");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = manifest.join("../examples/record");
    let make = manifest.join("tests/producers/make.py");
    let made = Command::new(python)
        .arg(make)
        .args([&examples, nvidia, &manifest.join("tests/data/wait.cu"), folder.path()])
        .env("TRITON_CACHE_DIR", folder.path().join("cache"))
        .status()
        .expect("Python runs");
    assert!(made.success(), "PTX can be made");
    let mut files: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "ptx"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 4 * (7 + 2) + 2 * (3 + 1));
    let mut table = String::from("PTX | registers | recording | regions\n");
    let mut wrong = String::new();
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let text = fs::read_to_string(&file).expect("it can be read");
        let mut none = Options::default();
        none.kernels = vec!["none of them".to_owned()];
        assert_eq!(instrument(&text, &none).expect("PTX").text, text, "{name}");
        let out = instrument(&text, &Options::default()).expect("PTX");
        for kernel in &out.kernels {
            assert_eq!(kernel.reason, None, "{name}");
        }
        let rewritten = folder.path().join(format!("{name}.rewritten"));
        fs::write(&rewritten, &out.text).expect("it can be written");
        let before = assembled(&ptxas, &file).expect("ptxas takes what a compiler made");
        match assembled(&ptxas, &rewritten) {
            Ok([registers, spills]) => {
                let regions: usize = out.kernels.iter().map(|kernel| kernel.sites.len()).sum();
                let _ = writeln!(table, "{name} | {} | {registers} | {regions}", before[0]);
                if spills > before[1] {
                    let _ =
                        writeln!(wrong, "{name}: {spills} bytes of spills, {} before", before[1]);
                }
            }
            Err(said) => drop(writeln!(wrong, "{name}: {said}")),
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong}");
}
