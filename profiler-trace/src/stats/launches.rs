//! Tables about launches, for programs: as CSV and as JSON.

use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};

use super::{Balance, CriticalPath, Load, PathPart, RegionBalance, Summary, Tail, Waits};
use crate::diagnostic::{Diagnostics, Severity};
use crate::table::cells::{Cell, write_csv, write_json};

/// The version of the columns: it is raised when one changes its meaning, its place or goes.
const SCHEMA: u64 = 1;

/// A table about launches: [`Balance`], [`Waits`] or [`CriticalPath`]. `docs/formats.md` lists the
/// columns of each; the first, `schema`, is their version.
pub trait LaunchTable: Sized {
    /// Writes the rows of these launches as CSV (RFC 4180, lines end as on Unix), with a line of column
    /// names first. A field is empty if the row has nothing for it. The writer need not be buffered.
    ///
    /// A CSV file has no place for the diagnostics of the trace. Every row has the severity of the worst of
    /// them in `worst_diagnostic` (`note`, `warning` or `error`).
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_csv_to(
        launches: &[Self],
        diagnostics: &Diagnostics,
        writer: impl Write,
    ) -> io::Result<()>;

    /// Writes a JSON object. `launches` has an object for each launch, with `launch`, `kernel`, `span_ns`
    /// (except for waits) and the facts that are in no row. `rows` has objects whose keys are the columns of
    /// [`LaunchTable::write_csv_to`], with `null` for an empty field. The writer need not be buffered.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_json_to(
        launches: &[Self],
        diagnostics: &Diagnostics,
        writer: impl Write,
    ) -> io::Result<()>;
}

macro_rules! launch_tables {
    ($($table:ty),+) => {$(
        impl LaunchTable for $table {
            fn write_csv_to(
                launches: &[Self],
                diagnostics: &Diagnostics,
                writer: impl Write,
            ) -> io::Result<()> {
                csv(launches, diagnostics, writer)
            }

            fn write_json_to(
                launches: &[Self],
                diagnostics: &Diagnostics,
                writer: impl Write,
            ) -> io::Result<()> {
                json(launches, diagnostics, writer)
            }
        }
    )+};
}

launch_tables!(Balance, Waits, CriticalPath);

/// The rows of a launch's table.
trait Rows: Sized {
    /// With a comma between them.
    const COLUMNS: &'static str;

    /// The facts about the launch that are in no row.
    fn facts(&self) -> Value;

    /// Gives each row to `write`. The worst diagnostic of the trace has this severity.
    fn rows(
        &self,
        worst: Option<&'static str>,
        write: impl FnMut(Vec<Cell<'_>>) -> io::Result<()>,
    ) -> io::Result<()>;
}

fn csv<T: Rows>(launches: &[T], diagnostics: &Diagnostics, writer: impl Write) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    writeln!(writer, "{}", T::COLUMNS)?;
    for launch in launches {
        launch.rows(worst(diagnostics), |row| write_csv(row, &mut writer))?;
    }
    writer.flush()
}

fn json<T: Rows>(launches: &[T], diagnostics: &Diagnostics, writer: impl Write) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    let facts: Vec<Value> = launches.iter().map(T::facts).collect();
    write!(writer, "{{\"launches\":{},\n\"rows\":[", Value::from(facts))?;
    let mut is_first = true;
    for launch in launches {
        launch.rows(worst(diagnostics), |row| {
            writer.write_all(if std::mem::take(&mut is_first) { b"\n" } else { b",\n" })?;
            write_json(T::COLUMNS, row, &mut writer)
        })?;
    }
    writer.write_all(b"\n]}")?;
    writer.flush()
}

fn worst(diagnostics: &Diagnostics) -> Option<&'static str> {
    diagnostics.worst().map(Severity::name)
}

impl Rows for Balance {
    const COLUMNS: &'static str = "\
     schema,launch,kernel,kind,name,over,count,mean_ns,min_ns,max_ns,imbalance_ns,imbalance,\
     peak,mean_running,below_half_ns,below_tenth_ns,alone_ns,worst_diagnostic,file,line,\
     module";

    fn facts(&self) -> Value {
        let last = self.last_blocks.iter();
        let last = last.map(|(block, sm, ns)| json!({ "block": block, "sm": sm, "done_ns": ns }));
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "span_ns": self.span_ns,
            "never_left": self.never_left,
            "unrecorded": self.unrecorded,
            "last_blocks": last.collect::<Vec<_>>(),
        })
    }

    fn rows(
        &self,
        worst: Option<&'static str>,
        mut write: impl FnMut(Vec<Cell<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        type Source<'s> = Option<&'s RegionBalance>;
        let mut row = |(kind, name): (&str, &str),
                       over: &str,
                       load: &Load,
                       tail: Option<&Tail>,
                       source: Source<'_>| {
            let of = |figure: fn(&Tail) -> f64| Cell::from(tail.map(figure));
            write(vec![
                SCHEMA.into(),
                (self.launch as u64).into(),
                self.kernel.as_str().into(),
                kind.into(),
                name.into(),
                over.into(),
                load.count.into(),
                load.mean_ns.into(),
                load.min_ns.into(),
                load.max_ns.into(),
                load.imbalance_ns().into(),
                load.imbalance().into(),
                tail.map(|tail| tail.peak).into(),
                of(|tail| tail.mean_running),
                of(|tail| tail.below_half_ns),
                of(|tail| tail.below_tenth_ns),
                of(|tail| tail.alone_ns),
                worst.into(),
                source.map(|region| region.file.as_str()).into(),
                source.map(|region| region.line).into(),
                source.map(|region| region.module.as_str()).into(),
            ])
        };
        let kernel = ("kernel", self.kernel.as_str());
        row(kernel, "warp", &self.warps, Some(&self.warp_tail), None)?;
        row(kernel, "block", &self.blocks, Some(&self.block_tail), None)?;
        row(kernel, "sm", &self.sms, Some(&self.sm_tail), None)?;
        row(("kernel_done", &self.kernel), "sm", &self.sms_done, None, None)?;
        for region in &self.regions {
            let name = ("region", region.name.as_str());
            row(name, "warp", &region.warps, None, Some(region))?;
            row(name, "sm", &region.sms, None, Some(region))?;
        }
        Ok(())
    }
}

impl Rows for Waits {
    const COLUMNS: &'static str = "\
     schema,launch,kernel,name,waiter,signaller,count,blocked,from_other_blocks,\
     blocked_total_ns,blocked_mean_ns,blocked_min_ns,blocked_p50_ns,blocked_p95_ns,\
     blocked_p99_ns,blocked_max_ns,hand_off_total_ns,hand_off_mean_ns,hand_off_min_ns,\
     hand_off_p50_ns,hand_off_p95_ns,hand_off_p99_ns,hand_off_max_ns,worst_diagnostic";

    fn facts(&self) -> Value {
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "without_signal": self.without_signal,
        })
    }

    fn rows(
        &self,
        worst: Option<&'static str>,
        mut write: impl FnMut(Vec<Cell<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let figures = |of: &Summary| {
            [of.total, of.mean, of.min, of.p50, of.p95, of.p99, of.max].map(Cell::Float)
        };
        for row in &self.rows {
            let mut cells: Vec<Cell<'_>> = vec![
                SCHEMA.into(),
                (self.launch as u64).into(),
                self.kernel.as_str().into(),
                row.name.as_str().into(),
                row.waiter.as_deref().into(),
                row.signaller.as_deref().into(),
                row.count.into(),
                row.blocked.into(),
                row.from_other_blocks.into(),
            ];
            cells.extend(figures(&row.blocked_ns));
            cells.extend(figures(&row.hand_off_ns));
            cells.push(worst.into());
            write(cells)?;
        }
        Ok(())
    }
}

impl Rows for CriticalPath {
    const COLUMNS: &'static str = "schema,launch,kernel,kind,name,time_ns,share,worst_diagnostic";

    fn facts(&self) -> Value {
        let count = |is: fn(PathPart) -> bool| {
            self.steps.iter().filter(|step| is(step.part)).count() as u64
        };
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "span_ns": self.span_ns,
            "signals": count(|part| matches!(part, PathPart::HandOff(_))),
            "following_blocks": count(|part| matches!(part, PathPart::NextBlock(_))),
        })
    }

    fn rows(
        &self,
        worst: Option<&'static str>,
        mut write: impl FnMut(Vec<Cell<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut row = |kind: &str, name: Option<&str>, ns: f64| {
            write(vec![
                SCHEMA.into(),
                (self.launch as u64).into(),
                self.kernel.as_str().into(),
                kind.into(),
                name.into(),
                ns.into(),
                if self.span_ns > 0.0 { ns / self.span_ns } else { 0.0 }.into(),
                worst.into(),
            ])
        };
        for region in &self.regions {
            match region.site {
                Some(_) => row("region", Some(&region.name), region.ns)?,
                None => row("no_region", None, region.ns)?,
            }
        }
        for (kind, ns) in [
            ("hand_off", self.hand_off_ns),
            ("next_block", self.next_block_ns),
            ("before_entry", self.before_entry_ns),
        ] {
            row(kind, None, ns)?;
        }
        Ok(())
    }
}
