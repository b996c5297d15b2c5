//! The statistics for programs: as CSV and as JSON.

use std::io::{self, BufWriter, Write};

use serde_json::json;

use super::paths::DEEPER;
use super::{GroupBy, MarkStats, SiteStats, Stats, StatsPlace, Summary};
use crate::diagnostic::{Diagnostic, Severity};
use crate::display::push_frame;
use crate::model::SiteIndex;
use crate::table::cells::{Cell, write_csv, write_json};

/// The version of the columns: it is raised when one changes its meaning, its place or goes.
const SCHEMA: u64 = 1;

const COLUMNS: &str = "\
     schema,group,kind,kernel,name,path,launch,sm,block_x,block_y,block_z,warp,count,open,\
     warps,share,total_ns,mean_ns,standard_deviation_ns,min_ns,p50_ns,p95_ns,p99_ns,max_ns,\
     mean_per_warp_ns,total_cycles,mean_cycles,standard_deviation_cycles,min_cycles,\
     p50_cycles,p95_cycles,p99_cycles,max_cycles,mean_per_warp_cycles,value_total,value_unit,\
     value_per_second,worst_diagnostic,file,line,module";

const MARK_COLUMNS: &str = "\
     kernel,name,launch,sm,block_x,block_y,block_z,warp,count,valued,sum,mean,\
     standard_deviation,min,p50,p95,p99,max,unit,file,line,module";

impl Stats {
    /// Writes the rows as CSV (RFC 4180, lines end as on Unix), with a line of column names first.
    /// The columns are those of [`Stats::write_json_to`]. A field is empty if the row has nothing
    /// for it. The writer need not be buffered.
    ///
    /// A CSV file has no place for the notes and the diagnostics of the trace; every row has the
    /// severity of the worst of them in `worst_diagnostic` (`note`, `warning` or `error`).
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_csv_to(&self, writer: impl Write) -> io::Result<()> {
        let mut writer = BufWriter::new(writer);
        writeln!(writer, "{COLUMNS}")?;
        self.rows.iter().try_for_each(|row| write_csv(self.fields(row), &mut writer))?;
        writer.flush()
    }

    /// Writes a JSON object: `schema` (1), `group`, `notes` (what a reader must know of the whole
    /// trace, a line each), `diagnostics` (objects with `kind`, `severity`, `count`, `number`, `first`,
    /// the `module`, `slot`, `lane` and `unit` where it was seen first, and the sentence as `text`), and `rows`, objects whose keys are the columns of [`Stats::write_csv_to`]; what
    /// a row does not have is `null`. `path` holds, by path, the names of the regions that enclose the
    /// row's, the outermost first, with a `;` between them, and a `…` after 64 of them. `marks` are objects as well: `count` marks, `valued` of them with
    /// values, and of these `sum`, `mean` and the like. The writer need
    /// not be buffered.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_json_to(&self, writer: impl Write) -> io::Result<()> {
        let mut writer = BufWriter::new(writer);
        let diagnostics = self.diagnostics.list.iter().map(Diagnostic::to_json);
        write!(writer, "{{\"schema\":{SCHEMA},\"group\":\"{}\"", group_name(self.by))?;
        write!(writer, ",\n\"notes\":{}", json!(self.notes))?;
        write!(writer, ",\n\"diagnostics\":{}", json!(diagnostics.collect::<Vec<_>>()))?;
        writer.write_all(b",\n\"rows\":[")?;
        for (index, row) in self.rows.iter().enumerate() {
            writer.write_all(if index == 0 { b"\n" } else { b",\n" })?;
            write_json(COLUMNS, self.fields(row), &mut writer)?;
        }
        writer.write_all(b"\n],\n\"marks\":[")?;
        for (index, mark) in self.marks.iter().enumerate() {
            writer.write_all(if index == 0 { b"\n" } else { b",\n" })?;
            write_json(MARK_COLUMNS, self.mark_fields(mark), &mut writer)?;
        }
        writer.write_all(b"\n]}\n")?;
        writer.flush()
    }

    /// The cells of a place: launch, SM, block and warp.
    fn place_cells(place: StatsPlace) -> [Cell<'static>; 6] {
        let StatsPlace { launch, sm, block, warp } = place;
        let [x, y, z] = [0, 1, 2].map(|axis| block.map(|block| block[axis]));
        let launch = launch.map(|launch| launch as u64);
        [launch.into(), sm.into(), x.into(), y.into(), z.into(), warp.into()]
    }

    /// The cells of a site's place in the source.
    fn source_cells(&self, site: SiteIndex) -> [Cell<'_>; 3] {
        let site = self.sites.get(site.0 as usize);
        [
            site.map(|site| site.file.as_str()).into(),
            site.map(|site| site.line).into(),
            site.map(|site| site.module.as_str()).into(),
        ]
    }

    fn mark_fields<'s>(&'s self, mark: &'s MarkStats) -> Vec<Cell<'s>> {
        let mut cells = vec![self.name_of(mark.kernel).into(), mark.name.as_str().into()];
        cells.extend(Self::place_cells(mark.place));
        cells.extend([mark.count.into(), mark.valued.into()]);
        // Marks have no mean of a warp.
        cells.extend(times(mark.values.as_ref()).into_iter().take(8));
        cells.push(mark.unit.as_deref().into());
        cells.extend(self.source_cells(mark.site));
        cells
    }

    /// By path, the stack that the row is of, as it stands in folded stacks.
    fn path(&self, row: &SiteStats) -> Option<String> {
        let mut stack = String::new();
        let mut push = |name: &str| {
            if !stack.is_empty() {
                stack.push(';');
            }
            push_frame(&mut stack, name);
        };
        let name = |site: SiteIndex| self.name_of(site).unwrap_or("unknown site");
        push(name(row.kernel));
        row.path.iter().for_each(|site| push(name(*site)));
        if row.is_deeper() {
            push(DEEPER);
        }
        if row.site != row.kernel {
            push(name(row.site));
        }
        (self.by == GroupBy::Path).then_some(stack)
    }

    fn fields<'s>(&'s self, row: &'s SiteStats) -> Vec<Cell<'s>> {
        let mut cells = vec![
            SCHEMA.into(),
            group_name(self.by).into(),
            if row.site == row.kernel { "kernel" } else { "region" }.into(),
            self.name_of(row.kernel).into(),
            row.name.as_str().into(),
            self.path(row).into(),
        ];
        cells.extend(Self::place_cells(row.place));
        cells.extend([row.count.into(), row.open.into(), row.warps.into(), row.share.into()]);
        cells.extend(times((row.count > 0).then_some(&row.ns)));
        cells.extend(cycles(row.cycles.as_ref()));
        let throughput = row.throughput.as_ref();
        cells.extend([
            throughput.map(|throughput| throughput.total).into(),
            throughput.map(|throughput| throughput.unit.as_str()).into(),
            throughput.map(|throughput| throughput.per_second).into(),
            self.diagnostics.worst().map(Severity::name).into(),
        ]);
        cells.extend(self.source_cells(row.site));
        cells
    }
}

fn times(summary: Option<&Summary>) -> [Cell<'static>; 9] {
    summary.map_or([const { Cell::Empty }; 9], |summary| summary.figures().map(Cell::Float))
}

/// All but the means are whole numbers, and are written as such.
fn cycles(summary: Option<&Summary>) -> [Cell<'static>; 9] {
    let Some(summary) = summary else { return [const { Cell::Empty }; 9] };
    const EXACT: f64 = (1u64 << 53) as f64;
    summary.figures().map(|figure| {
        if figure.fract() == 0.0 && (0.0..=EXACT).contains(&figure) {
            Cell::Unsigned(figure as u64)
        } else {
            Cell::Float(figure)
        }
    })
}

pub(crate) fn group_name(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Name => "name",
        GroupBy::Site => "site",
        GroupBy::Path => "path",
        GroupBy::Launch => "launch",
        GroupBy::Sm => "sm",
        GroupBy::Block => "block",
        GroupBy::Warp => "warp",
    }
}
