//! Python with the packages that read tables.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::Failed;
use profiler_parquet::{write_arrow, write_parquet};
use profiler_test_tools::{Missing, Tool};
use profiler_trace::Trace;
use serde_json::Value;

/// A Python that has DuckDB and pyarrow.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    python: PathBuf,
}

/// What a reader found.
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    /// As the reader names them; empty for the answer of a query.
    pub(crate) types: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    /// An object; null for the answer of a query.
    pub(crate) metadata: Value,
}

impl Table {
    /// The column of this name in a row.
    pub(crate) fn get(&self, row: usize, column: &str) -> &Value {
        let at = self.columns.iter().position(|name| name == column);
        &self.rows[row][at.unwrap_or_else(|| panic!("no column {column}"))]
    }
}

/// A floating-point number as `read.py` writes it.
pub(crate) fn exact(value: f64) -> Value {
    serde_json::json!({ "float": value.to_bits() })
}

/// The number that `read.py` wrote, of whatever type.
pub(crate) fn number(value: &Value) -> f64 {
    match value.get("float").and_then(Value::as_u64) {
        Some(bits) => f64::from_bits(bits),
        None => value.as_f64().unwrap_or_else(|| panic!("{value} is no number")),
    }
}

impl Reader {
    /// The Python that has what is needed.
    pub(crate) fn find() -> Result<Self, Missing> {
        Tool::Python(&["duckdb", "pyarrow"]).find().map(|python| Self { python })
    }

    /// What DuckDB reads when the trace is written as Parquet.
    pub(crate) fn parquet(&self, trace: &Trace) -> Result<Table, Failed> {
        let folder = Folder::new()?;
        let file = folder.0.join("trace.parquet");
        write_parquet(trace, std::fs::File::create(&file)?)?;
        self.ask("duckdb", &file, "")
    }

    /// What pyarrow reads when the trace is written as Arrow.
    pub(crate) fn arrow(&self, trace: &Trace) -> Result<Table, Failed> {
        let folder = Folder::new()?;
        let file = folder.0.join("trace.arrow");
        write_arrow(trace, std::fs::File::create(&file)?)?;
        self.ask("pyarrow", &file, "")
    }

    /// What DuckDB answers where the trace is `trace.parquet`.
    pub(crate) fn query(&self, trace: &Trace, statement: &str) -> Result<Table, Failed> {
        let folder = Folder::new()?;
        let file = std::fs::File::create(folder.0.join("trace.parquet"))?;
        write_parquet(trace, file)?;
        self.ask("query", &folder.0, statement)
    }

    /// What DuckDB answers where the traces are files of the folder `captures`: `0.parquet` and so on.
    pub(crate) fn query_all(&self, traces: &[Trace], statement: &str) -> Result<Table, Failed> {
        let folder = Folder::new()?;
        let captures = folder.0.join("captures");
        std::fs::create_dir(&captures)?;
        for (number, trace) in traces.iter().enumerate() {
            let file = std::fs::File::create(captures.join(format!("{number}.parquet")))?;
            write_parquet(trace, file)?;
        }
        self.ask("query", &folder.0, statement)
    }

    fn ask(&self, reader: &str, path: &Path, input: &str) -> Result<Table, Failed> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables/read.py");
        let mut child = Command::new(&self.python)
            .arg(program)
            .arg(reader)
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let mut answer: Value = serde_json::from_slice(&output.stdout)?;
        let mut take = |key: &str| answer.get_mut(key).map(Value::take).unwrap_or_default();
        let types = Some(take("types")).filter(|types| !types.is_null());
        Ok(Table {
            columns: serde_json::from_value(take("columns"))?,
            types: types.map(serde_json::from_value).transpose()?.unwrap_or_default(),
            rows: serde_json::from_value(take("rows"))?,
            metadata: take("metadata"),
        })
    }
}

/// A folder of a test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failed> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over lies in the target folder and harms nothing.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
