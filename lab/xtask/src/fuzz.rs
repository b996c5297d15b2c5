//! Fuzzes one target, from the archive of its corpus and back into it.

use xtask::Error;
use xtask::command::Run;

const USAGE: &str = "usage: cargo lab fuzz TARGET SECONDS";

/// Unpacks the corpus, adds the seeds, fuzzes, drops inputs that reach nothing new, and packs the corpus again.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let [target, seconds] = arguments else { return Err(USAGE.into()) };
    let seconds: u32 = seconds.parse().map_err(|_| USAGE)?;
    let package = crate::lab().join("fuzz");
    let archive = package.join("corpus").join(format!("{target}.tar.gz"));
    if !archive.is_file() {
        return Err(format!("there is no corpus {}; {USAGE}", archive.display()).into());
    }
    let corpus = xtask::target().join("lab/corpus").join(target);
    let _ = std::fs::remove_dir_all(&corpus);
    std::fs::create_dir_all(&corpus)?;
    Run::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&corpus).run()?;
    crate::cargo("run")
        .args(["--quiet", "--package", "profiler-fuzz", "--example", "seeds", target])
        .arg(&corpus)
        .run()?;
    // The readers have no `unsafe`: a sanitizer would find nothing more in them.
    let fuzz = |subcommand: &str| {
        Run::new("cargo")
            .args(["+nightly", "fuzz", subcommand, "--features", "targets", "--sanitizer", "none"])
            .folder(&package)
            .arg("--target-dir")
            .arg(xtask::target().join("lab/fuzz"))
            .arg(target)
            .arg(&corpus)
    };
    fuzz("run")
        .arg("--")
        .arg(format!("-dict={}", package.join("words.dict").display()))
        .args(["-max_len=16384", "-timeout=20", &format!("-max_total_time={seconds}")])
        .run()?;
    fuzz("cmin").run()?;
    // The same files make the same archive.
    Run::new("tar")
        .args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"])
        .arg("-czf")
        .arg(&archive)
        .arg("-C")
        .arg(&corpus)
        .arg(".")
        .run()
}
