//! Keeps the outcome of a nested build for build scripts that ask for the same.
//!
//! Cargo runs a build script in another folder for each profile and set of features, and once more for clippy.
//! The nested cargo would compile the same kernels again in each, as it misses files that are never written
//! without a linker (`-Zno-link`). An outcome is valid as long as everything that cargo watches is unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::env::VarError;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use profiler_wire::site::fnv1a;
use serde_json::{Value, json};

use crate::nested::Outcome;

/// The file in which the outcome of one job is kept.
pub(crate) struct BuildCache<'a> {
    file: PathBuf,
    /// Everything that the outcome depends on, except files and variables.
    key: String,
    /// Files and folders that are known to go into it before it is compiled.
    watched: &'a [PathBuf],
}

/// Hashes of files' contents, by their paths.
type Contents = BTreeMap<PathBuf, u64>;

impl<'a> BuildCache<'a> {
    /// In a folder, which need not exist.
    pub(crate) fn new(folder: &Path, key: String, watched: &'a [PathBuf]) -> Self {
        let file = folder.join(format!("{:016x}.json", fnv1a(key.as_bytes())));
        Self { file, key, watched }
    }

    /// The outcome, if it is kept and still valid.
    pub(crate) fn read(&self) -> Option<Outcome> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        let string = |value: &Value| value.as_str().map(str::to_owned);
        if kept["key"] != self.key.as_str() {
            return None;
        }
        let sources: Vec<PathBuf> = kept["sources"]
            .as_array()?
            .iter()
            .map(|path| path.as_str().map(PathBuf::from))
            .collect::<Option<_>>()?;
        if kept["contents"] != json_of_contents(&contents(self.watched, &sources)?)? {
            return None;
        }
        let variables = kept["variables"].as_object()?;
        if variables.iter().any(|(name, value)| *value != value_of_variable(name)) {
            return None;
        }
        Some(Outcome {
            text: string(&kept["text"])?,
            warnings: string(&kept["warnings"])?,
            sources,
            variables: variables.keys().cloned().collect(),
        })
    }

    /// Keeps the outcome of a build that began at a time, unless a file was changed since, before or after it was
    /// compiled. A failure is no error: the crate is compiled again.
    pub(crate) fn write(&self, outcome: &Outcome, begun: SystemTime) {
        if let Some(text) = self.text(outcome, begun) {
            // Another build script may read or write the same.
            let unfinished = self.file.with_extension(format!("{}.unfinished", std::process::id()));
            let written = self
                .file
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&unfinished, text))
                .and_then(|()| std::fs::rename(&unfinished, &self.file));
            if written.is_err() {
                let _ = std::fs::remove_file(&unfinished);
            }
        }
    }

    fn text(&self, outcome: &Outcome, begun: SystemTime) -> Option<String> {
        let contents = contents(self.watched, &outcome.sources)?;
        let changed = |path: &PathBuf| Some(path.metadata().ok()?.modified().ok()? >= begun);
        if contents.keys().any(|path| changed(path).unwrap_or(true)) {
            return None;
        }
        let sources: Option<Vec<&str>> = outcome.sources.iter().map(|path| path.to_str()).collect();
        let variables: serde_json::Map<String, Value> =
            outcome.variables.iter().map(|name| (name.clone(), value_of_variable(name))).collect();
        let kept = json!({
            "key": self.key,
            "sources": sources?,
            "contents": json_of_contents(&contents)?,
            "variables": variables,
            "warnings": outcome.warnings,
            "text": outcome.text,
        });
        Some(kept.to_string())
    }
}

/// A variable's value; null if it is not set, and bytes if it is no text.
fn value_of_variable(name: &str) -> Value {
    match std::env::var(name) {
        Ok(text) => text.into(),
        Err(VarError::NotPresent) => Value::Null,
        Err(VarError::NotUnicode(value)) => value.as_encoded_bytes().into(),
    }
}

/// The contents of these files, and of all files in these folders and below; `None` if one cannot be read.
fn contents(watched: &[PathBuf], sources: &[PathBuf]) -> Option<Contents> {
    let mut waiting: BTreeSet<PathBuf> = watched.iter().chain(sources).cloned().collect();
    let mut contents = Contents::new();
    while let Some(path) = waiting.pop_first() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path).ok()? {
                waiting.insert(entry.ok()?.path());
            }
        } else {
            contents.insert(path.clone(), fnv1a(&std::fs::read(&path).ok()?));
        }
    }
    Some(contents)
}

/// `None` if a path is no text.
fn json_of_contents(contents: &Contents) -> Option<Value> {
    let member = |(path, hash): (&PathBuf, &u64)| Some((path.to_str()?.to_owned(), (*hash).into()));
    contents.iter().map(member).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    use super::BuildCache;
    use crate::nested::Outcome;

    /// A crate's manifest and sources, and a file that it includes.
    struct Crate {
        folder: tempfile::TempDir,
        watched: Vec<PathBuf>,
    }

    impl Crate {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            std::fs::create_dir_all(folder.path().join("src/inner")).expect("created");
            let watched = ["Cargo.toml", "src"].map(|name| folder.path().join(name)).to_vec();
            let new = Self { folder, watched };
            for name in ["Cargo.toml", "src/lib.rs", "src/inner/mod.rs", "table.txt"] {
                new.write(name, name);
            }
            new
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.folder.path().join(name), text).expect("written");
        }

        fn remove(&self, name: &str) {
            std::fs::remove_file(self.folder.path().join(name)).expect("there");
        }

        fn kept(&self, key: &str) -> BuildCache<'_> {
            BuildCache::new(
                &self.folder.path().join("kept/outcomes"),
                key.to_owned(),
                &self.watched,
            )
        }

        fn outcome(&self) -> Outcome {
            let path = |name: &str| self.folder.path().join(name);
            Outcome {
                text: ".version 7.1\n".to_owned(),
                warnings: "warning: unused".to_owned(),
                sources: vec![path("src/lib.rs"), path("table.txt")],
                variables: ["PROFILER_TEST_UNSET", "CARGO_PKG_NAME"].map(str::to_owned).into(),
            }
        }

        /// Writes the outcome of a build that begins when all files have been written.
        fn write_kept(&self, key: &str) {
            self.kept(key).write(&self.outcome(), SystemTime::now() + Duration::from_secs(60));
        }

        fn is_kept(&self) -> bool {
            self.kept("key").read().is_some()
        }
    }

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let crate_ = Crate::new();
        assert!(!crate_.is_kept(), "nothing is kept yet");
        crate_.write_kept("key");
        let (read, written) = (crate_.kept("key").read().expect("kept"), crate_.outcome());
        assert_eq!((read.text, read.warnings), (written.text, written.warnings));
        assert_eq!((read.sources, read.variables), (written.sources, written.variables));
        assert!(crate_.kept("another key").read().is_none());
    }

    /// A change to a crate.
    type Change = fn(&Crate);

    #[test]
    fn whatever_changes_is_compiled_again() {
        let changes: [(&str, Change); 6] = [
            ("a manifest", |changed| changed.write("Cargo.toml", "[package]")),
            ("a source", |changed| changed.write("src/inner/mod.rs", "const N: u32 = 1;")),
            ("an included file", |changed| changed.write("table.txt", "1 2 3")),
            ("a new file", |changed| changed.write("src/inner/new.rs", "")),
            ("a file less", |changed| changed.remove("src/inner/mod.rs")),
            ("an included file less", |changed| changed.remove("table.txt")),
        ];
        for (what, change) in changes {
            let crate_ = Crate::new();
            crate_.write_kept("key");
            assert!(crate_.is_kept());
            change(&crate_);
            assert!(!crate_.is_kept(), "{what}");
        }
    }

    #[test]
    fn a_variable_that_has_another_value_is_noticed() {
        let crate_ = Crate::new();
        crate_.write_kept("key");
        let file = crate_.kept("key").file;
        let text = std::fs::read_to_string(&file).expect("kept");
        let unset = "\"PROFILER_TEST_UNSET\":null";
        assert!(text.contains(unset) && text.contains("\"CARGO_PKG_NAME\":\"profiler-build\""));
        for changed in [
            text.replace(unset, "\"PROFILER_TEST_UNSET\":\"\""),
            text.replace("\"profiler-build\"", "\"another\""),
            text.replace("\"profiler-build\"", "null"),
        ] {
            assert_ne!(changed, text);
            std::fs::write(&file, changed).expect("written");
            assert!(!crate_.is_kept());
        }
    }

    #[test]
    fn nothing_is_kept_of_files_that_change_during_the_build() {
        let crate_ = Crate::new();
        crate_.kept("key").write(&crate_.outcome(), SystemTime::UNIX_EPOCH);
        assert!(!crate_.is_kept());
        assert!(!crate_.folder.path().join("kept").exists());
    }

    #[test]
    fn damaged_files_are_as_if_nothing_were_kept() {
        let crate_ = Crate::new();
        crate_.write_kept("key");
        let file = crate_.kept("key").file;
        let whole = std::fs::read_to_string(&file).expect("kept");
        for text in ["", "{}", &whole[..whole.len() / 2], &whole.replace("\"text\"", "\"texts\"")] {
            std::fs::write(&file, text).expect("written");
            assert!(!crate_.is_kept(), "{text}");
        }
        crate_.write_kept("key");
        assert!(crate_.is_kept());
        let names = std::fs::read_dir(file.parent().unwrap_or(Path::new("/"))).expect("a folder");
        assert_eq!(names.count(), 1, "no unfinished file is left");
    }
}
