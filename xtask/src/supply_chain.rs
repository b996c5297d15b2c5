//! What the project takes from others, and what it would publish: licences, duplicates, sources,
//! features, oldest versions, contents of packages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use xtask::command::Run;
use xtask::{Error, cargo, root, target};

/// Subcommands of cargo, at the versions that the configuration was made with.
const TOOLS: [(&str, &str); 2] = [("cargo-deny", "0.20.2"), ("cargo-hack", "0.6.46")];

/// What every published package must hold.
const CONTENTS: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// Keywords that crates.io takes.
const KEYWORDS_MAX: usize = 5;

/// Runs all checks; says at the end what could not be checked.
pub(crate) fn check() -> Result<(), Error> {
    let mut unchecked = Vec::new();
    let tools = install()?;
    published_packages()?;
    packed_program()?;
    deny(&tools, &mut unchecked)?;
    let isolated = isolated(&mut unchecked);
    features(&tools, isolated)?;
    oldest_compiler()?;
    oldest_versions()?;
    println!("the supply chain is in order");
    for line in &unchecked {
        println!("NOT checked: {line}");
    }
    Ok(())
}

/// Cargo's own folder for what is built here.
fn build_folder() -> PathBuf {
    target().join("supply-chain")
}

/// Installs the tools that are missing; gives their folder.
fn install() -> Result<PathBuf, Error> {
    let folder = target().join("tools").join("cargo");
    let programs = folder.join("bin");
    for (name, version) in TOOLS {
        let subcommand = name.trim_start_matches("cargo-");
        let installed = Run::new(programs.join(name)).args([subcommand, "--version"]);
        if installed.first_line().is_some_and(|line| line.ends_with(&format!(" {version}"))) {
            println!("{name} {version}: installed in {}", folder.display());
            continue;
        }
        let what = format!("{name}@{version}");
        cargo().args(["install", "--locked", &what, "--root"]).arg(&folder).run()?;
    }
    Ok(programs)
}

/// Runs one of the tools as cargo would.
fn tool(programs: &Path, name: &str) -> Run {
    Run::new(programs.join(format!("cargo-{name}"))).arg(name)
}

/// Manifests and contents of what would be published.
fn published_packages() -> Result<(), Error> {
    let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut offences = version_offences(&metadata);
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        if package["rust_version"].as_str() != Some(env!("CARGO_PKG_RUST_VERSION")) {
            offences.push(format!("{name}: has no `rust-version.workspace = true`"));
        }
        // `null` is every registry, an empty list none.
        if !package["publish"].is_null() {
            continue;
        }
        offences.extend(manifest_offences(package));
        let list =
            cargo().args(["package", "--list", "--allow-dirty", "--package", name]).output()?;
        offences.extend(content_offences(name, &list));
    }
    if offences.is_empty() {
        println!("packages that would be published: in order");
        return Ok(());
    }
    Err(format!("packages:\n{}", offences.join("\n")).into())
}

/// Builds and tests what `profiler new` writes against packed packages, with nothing of the workspace.
fn packed_program() -> Result<(), Error> {
    const PACKAGES: [&str; 10] = [
        "profiler-build",
        "profiler-cuda-driver",
        "profiler-device",
        "profiler-device-macros",
        "profiler-emulator",
        "profiler-host",
        "profiler-kernel",
        "profiler-ptx",
        "profiler-trace",
        "profiler-wire",
    ];
    let folder = build_folder().join("packed");
    for old in ["package", "program"].map(|name| folder.join(name)) {
        if old.exists() {
            std::fs::remove_dir_all(old)?;
        }
    }
    cargo()
        .args(["package", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(&folder)
        .args(PACKAGES.iter().flat_map(|name| ["--package", name]))
        .run()?;
    let packed = folder.join("package");
    let version = cargo().args(["pkgid", "--package", "profiler-wire"]).output()?;
    let version = version.trim().rsplit(['#', '@']).next().unwrap_or_default();
    let mut patch = "\n[patch.crates-io]\n".to_owned();
    for name in PACKAGES {
        let name_and_version = format!("{name}-{version}");
        let archive = packed.join(format!("{name_and_version}.crate"));
        Run::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&packed).run()?;
        patch += &format!("{name} = {{ path = {:?} }}\n", packed.join(name_and_version));
    }
    cargo().args(["build", "--package", "profiler-cli"]).run()?;
    let profiler = target().join("debug/profiler");
    Run::new(profiler).args(["new", "program", "--profiler", "crates.io"]).folder(&folder).run()?;
    let program = folder.join("program");
    let manifest = std::fs::read_to_string(program.join("Cargo.toml"))?;
    std::fs::write(program.join("Cargo.toml"), manifest + &patch)?;
    for command in ["run", "test"] {
        cargo()
            .args([command, "--target-dir"])
            .arg(folder.join("target"))
            .folder(&program)
            .run()?;
    }
    Ok(())
}

/// Dependencies of which packages of the workspace name several versions that are compatible: the
/// oldest of one is then not enough for another.
fn version_offences(metadata: &Value) -> Vec<String> {
    let mut named = BTreeMap::<(&str, String), BTreeMap<&str, Vec<&str>>>::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let [name, version] =
                ["name", "req"].map(|field| dependency[field].as_str().unwrap_or_default());
            // Versions are compatible up to the first number that is not 0.
            let numbers = version.trim_start_matches(['^', '=']).split_inclusive('.');
            let mut is_zero = true;
            let compatible = numbers
                .take_while(|number| std::mem::replace(&mut is_zero, number.starts_with("0.")));
            let user = package["name"].as_str().unwrap_or_default();
            let of_name = named.entry((name, compatible.collect())).or_default();
            of_name.entry(version).or_default().push(user);
        }
    }
    named.retain(|_, versions| versions.len() > 1);
    let offence = |((name, _), versions)| format!("{name}: {versions:?}");
    named.into_iter().map(offence).collect()
}

/// What the manifest of a published package lacks.
fn manifest_offences(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let mut offences = Vec::new();
    for field in ["description", "license", "readme"] {
        if package[field].as_str().is_none_or(str::is_empty) {
            offences.push(format!("{name}: has no `{field}`"));
        }
    }
    let count = |field: &str| package[field].as_array().map_or(0, Vec::len);
    if !(1..=KEYWORDS_MAX).contains(&count("keywords")) {
        offences.push(format!("{name}: has no `keywords`, or more than {KEYWORDS_MAX}"));
    }
    if count("categories") == 0 {
        offences.push(format!("{name}: has no `categories`"));
    }
    // A program has its page in docs/; docs.rs documents libraries.
    let is_library = package["targets"].as_array().into_iter().flatten().any(|target| {
        let kinds = target["kind"].as_array().into_iter().flatten();
        kinds.into_iter().any(|kind| kind == "lib" || kind == "proc-macro")
    });
    if is_library && package["metadata"]["docs"]["rs"]["targets"].as_array().is_none() {
        offences.push(format!("{name}: has no [package.metadata.docs.rs] with `targets`"));
    }
    offences
}

/// What is wrong with the list of files of a published package.
fn content_offences(name: &str, list: &str) -> Vec<String> {
    let missing = CONTENTS.iter().filter(|file| !list.lines().any(|line| line == **file));
    let mut offences: Vec<String> =
        missing.map(|file| format!("{name}: its package lacks {file}")).collect();
    if !list.lines().any(|line| line.starts_with("src/")) {
        offences.push(format!("{name}: its package has no sources"));
    }
    offences
}

/// Licences, duplicate versions, sources, build scripts, advisories: deny.toml.
fn deny(tools: &Path, unchecked: &mut Vec<String>) -> Result<(), Error> {
    let check = |manifest: &str, arguments: &[&str]| {
        tool(tools, "deny")
            .args(["--manifest-path", manifest, "--config", "deny.toml"])
            // Each of the two trees meets some of the exceptions.
            .args(["check", "--hide-inclusion-graph"])
            .args(["--allow", "license-exception-not-encountered"])
            .args(arguments)
            .run()
    };
    check("Cargo.toml", &["bans", "licenses", "sources"])?;
    check("lab/Cargo.toml", &["--allow", "license-not-encountered", "licenses", "sources"])?;
    if tool(tools, "deny").args(["fetch", "db"]).succeeds() {
        tool(tools, "deny").args(["check", "--disable-fetch", "advisories"]).run()?;
    } else {
        unchecked
            .push("advisories: the database cannot be fetched (`cargo deny fetch db`)".to_owned());
    }
    Ok(())
}

/// Whether programs can be run without a network: then no build script can reach anything.
fn isolated(unchecked: &mut Vec<String>) -> bool {
    let can = Run::new("unshare").args(["--map-root-user", "--net", "true"]).succeeds();
    if !can {
        unchecked
            .push("that build scripts need no network: `unshare --net` is not to be had".into());
    }
    can
}

/// Each published crate with each set of its features, from what is fetched before.
fn features(tools: &Path, isolated: bool) -> Result<(), Error> {
    cargo().args(["fetch", "--locked"]).run()?;
    // What a build script made before, perhaps with a network, would be taken for what it makes here.
    if build_folder().exists() {
        std::fs::remove_dir_all(build_folder())?;
    }
    let hack = tools.join("cargo-hack");
    let run = if isolated {
        Run::new("unshare").args(["--map-root-user", "--net", "--"]).arg(hack)
    } else {
        Run::new(hack)
    };
    run.args(["hack", "check", "--workspace", "--ignore-private", "--feature-powerset"])
        .args(["--locked", "--offline", "--target-dir"])
        .arg(build_folder())
        .run()
}

/// The published crates with the oldest compiler that they promise to build with.
fn oldest_compiler() -> Result<(), Error> {
    const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
    let version = Run::new("rustc").arg("--version").output()?;
    if version.starts_with(&format!("rustc {OLDEST}.")) {
        println!("Rust {OLDEST}: the compiler of all other checks");
        return Ok(());
    }
    Run::new("rustup").args(["toolchain", "install", OLDEST, "--profile", "minimal"]).run()?;
    Run::new("rustup")
        .args(["run", OLDEST, "cargo", "check", "--locked", "--target-dir"])
        .arg(build_folder())
        .args(published()?.iter().flat_map(|name| ["--package", name]))
        .run()
}

/// The published crates with the oldest versions that their manifests ask for.
fn oldest_versions() -> Result<(), Error> {
    let folder = build_folder().join("oldest-versions");
    mirror(root(), &folder)?;
    // The option is not stable; the compiler of the project is.
    let unstable = || [("RUSTC_BOOTSTRAP".to_owned(), "1".into())];
    cargo()
        .args(["generate-lockfile", "-Zdirect-minimal-versions"])
        .envs(unstable())
        .folder(&folder)
        .run()?;
    cargo()
        .args(["check", "--locked", "--target-dir"])
        .arg(build_folder())
        .args(published()?.iter().flat_map(|name| ["--package", name]))
        .folder(&folder)
        .run()
}

/// Names of the packages that would be published.
fn published() -> Result<Vec<String>, Error> {
    let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect())
}

/// Makes a folder in which the repository's files lie, but for the versions that were locked.
fn mirror(repository: &Path, folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    for entry in std::fs::read_dir(repository)? {
        let entry = entry?;
        let name = entry.file_name();
        if ["Cargo.lock", "target", ".git"].iter().any(|other| name == *other) {
            continue;
        }
        link(&entry.path(), &folder.join(name))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link(original: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(original, link)
}

#[cfg(not(unix))]
fn link(_: &Path, link: &Path) -> std::io::Result<()> {
    let what = format!("cannot make the symbolic link {}: run this on Linux", link.display());
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, what))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_manifest_lacks_is_named() {
        let mut package = json!({
            "name": "a", "description": "b", "license": "MIT", "readme": "README.md",
            "keywords": ["c"], "categories": ["d"], "targets": [{ "kind": ["lib"] }],
            "metadata": { "docs": { "rs": { "targets": ["x86_64-unknown-linux-gnu"] } } },
        });
        assert!(manifest_offences(&package).is_empty());
        for field in ["description", "license", "readme", "keywords", "categories", "metadata"] {
            let mut lacking = package.clone();
            lacking[field] = json!(null);
            let offences = manifest_offences(&lacking);
            assert_eq!(offences.len(), 1, "{offences:?}");
        }
        package["keywords"] = json!(["1", "2", "3", "4", "5", "6"]);
        assert_eq!(manifest_offences(&package).len(), 1);
        package["keywords"] = json!(["1"]);
        package["metadata"] = json!(null);
        package["targets"] = json!([{ "kind": ["bin"] }]);
        assert!(manifest_offences(&package).is_empty());
    }

    #[test]
    fn versions_that_differ_are_named() {
        let package = |name: &str, versions: &[(&str, &str)]| {
            let of = |(name, version): &(&str, &str)| json!({ "name": name, "req": version });
            json!({ "name": name, "dependencies": versions.iter().map(of).collect::<Vec<_>>() })
        };
        let first = package("first", &[("a", "^1.2.0"), ("b", "=0.3.1"), ("c", "^2.0.0")]);
        let same = package("same", &[("a", "^1.2.0"), ("b", "^0.4.0"), ("c", "^1.9.0")]);
        assert_eq!(version_offences(&json!({ "packages": [first, same] })), [""; 0]);
        let other = package("other", &[("a", "^1.3"), ("b", "^0.3.0"), ("c", "^2.0.0")]);
        let offences = version_offences(&json!({ "packages": [first, same, other] }));
        assert_eq!(
            offences,
            [
                r#"a: {"^1.2.0": ["first", "same"], "^1.3": ["other"]}"#,
                r#"b: {"=0.3.1": ["first"], "^0.3.0": ["other"]}"#,
            ]
        );
    }

    #[test]
    fn packages_of_the_workspace_name_the_same_versions() {
        let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output();
        let metadata: Value =
            serde_json::from_str(&metadata.expect("cargo knows")).expect("what it says is JSON");
        assert_eq!(version_offences(&metadata), [""; 0]);
    }

    #[test]
    fn manifests_of_published_packages_lack_nothing() {
        let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output();
        let metadata: Value =
            serde_json::from_str(&metadata.expect("cargo knows")).expect("what it says is JSON");
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let published: Vec<&Value> =
            packages.filter(|package| package["publish"].is_null()).collect();
        assert!(published.len() > 5, "{published:?}");
        for package in published {
            assert_eq!(manifest_offences(package), [""; 0]);
        }
    }

    #[test]
    fn what_a_package_lacks_is_named() {
        let whole = "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert!(content_offences("a", whole).is_empty());
        for line in whole.lines() {
            let lacking = whole.replace(line, "other");
            assert_eq!(content_offences("a", &lacking).len(), 1, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_mirror_has_everything_but_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = folder.path().join("repository");
        std::fs::create_dir_all(repository.join("crate")).expect("a folder");
        std::fs::create_dir_all(repository.join("target")).expect("a folder");
        for name in ["Cargo.toml", "Cargo.lock", "crate/lib.rs"] {
            std::fs::write(repository.join(name), name).expect("written");
        }
        let copy = folder.path().join("copy");
        // Again over what is there.
        for _ in 0..2 {
            mirror(&repository, &copy).expect("made");
            let read = |name: &str| std::fs::read_to_string(copy.join(name)).ok();
            assert_eq!(read("crate/lib.rs").as_deref(), Some("crate/lib.rs"));
            assert!(read("Cargo.toml").is_some());
            assert!(!copy.join("Cargo.lock").exists() && !copy.join("target").exists());
        }
        assert!(repository.join("crate/lib.rs").is_file(), "the originals stay");
    }
}
