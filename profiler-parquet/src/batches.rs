//! The rows of a trace, batch by batch.
//!
//! Warps in the trace's order; of each its own row, then those of its regions, then those of its
//! marks. So the row of anything is known by arithmetic.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use profiler_trace::{
    Launch, Mark, MarkIndex, Progress, Region, SiteIndex, Time, Trace, Value, Warp, WarpSource,
};

use crate::columns::{self, Cells, Column, Columns};
use crate::names::{Kind, Names};
use crate::nesting::{Nesting, PathKey, Paths, Within};
use crate::writer::of_arrow;

/// What it takes to go through a warp for its paths, in sixteenths of what its rows take.
const FOR_PATHS: u64 = 2;

/// Makes record batches of the rows of a trace.
pub(crate) struct Batches<'a> {
    trace: &'a Trace,
    schema: SchemaRef,
    columns: Vec<Column>,
    names: Names,
    paths: Paths,
    /// The row of each warp, and how many rows there are.
    first_rows: Vec<u64>,
    released: Vec<Released>,
    /// Those of `released` that were passed.
    passed: usize,
    builders: Columns,
    /// Rows in the builders.
    gathered: usize,
}

/// A mark that an arrow leads to.
struct Released {
    /// Its warp, and which mark of that it is.
    mark: (usize, usize),
    /// The row of the mark that the arrow is from.
    by: u64,
}

/// Where the marks of a warp lie among its regions.
struct MarkWalk {
    nesting: Nesting,
    /// Regions that began before the last mark.
    begun: usize,
}

impl MarkWalk {
    fn new(kernel: Within) -> Self {
        Self { nesting: Nesting::new(kernel), begun: 0 }
    }

    /// What encloses the next mark, and its own path.
    fn mark(
        &mut self,
        warp: &Warp,
        mark: &Mark,
        first: u64,
        paths: &mut Paths,
    ) -> (Within, PathKey) {
        while let Some(region) = warp.regions.get(self.begun)
            && region.start.ticks <= mark.time.ticks
        {
            self.nesting.region(region, region_row(first, self.begun), paths);
            self.begun += 1;
        }
        self.nesting.mark(mark, paths)
    }
}

/// The row of a warp's region; `first` is the row of the warp.
fn region_row(first: u64, region: usize) -> u64 {
    first + 1 + region as u64
}

/// The row of a warp's mark; `next` is the row of the warp after it. The warp may lack its regions.
fn mark_row(next: u64, warp: &Warp, mark: usize) -> u64 {
    next - (warp.marks.len() - mark) as u64
}

/// A row, but for what its warp and its site say.
pub(crate) struct Row {
    pub(crate) event: u64,
    pub(crate) kind: Kind,
    pub(crate) site: SiteIndex,
    pub(crate) lane: Option<u8>,
    pub(crate) track: Option<u32>,
    pub(crate) depth: Option<u16>,
    pub(crate) parent: Option<u64>,
    pub(crate) path: PathKey,
    pub(crate) start: Time,
    pub(crate) end: Option<Time>,
    pub(crate) value: Option<Value>,
    pub(crate) released_by: Option<u64>,
    /// Records that the warp kept and that it lost.
    pub(crate) counts: Option<(u64, u64)>,
}

impl<'a> Batches<'a> {
    /// Goes through the warps once, for the paths, and so that nothing is found wrong when half is
    /// written.
    pub(crate) fn new(source: &'a impl WarpSource) -> io::Result<Self> {
        let trace = source.outline();
        Progress::weighing(FOR_PATHS, || Progress::expect(trace.warps.len()));
        Progress::expect(trace.warps.len());
        let mut paths = Paths::default();
        let mut first_rows = Vec::with_capacity(trace.warps.len() + 1);
        let mut rows = 0;
        let survey = |index, warp: &Warp| {
            let launch = check(trace, index, warp)?;
            let kernel = Within { event: rows, path: paths.root(launch.kernel) };
            let mut nesting = Nesting::new(kernel);
            for (region, at) in warp.regions.iter().zip(0..) {
                nesting.region(region, region_row(rows, at), &mut paths);
            }
            let mut walk = MarkWalk::new(kernel);
            for mark in &warp.marks {
                walk.mark(warp, mark, rows, &mut paths);
            }
            first_rows.push(rows);
            rows = region_row(rows, warp.regions.len()) + warp.marks.len() as u64;
            Ok(())
        };
        Progress::weighing(FOR_PATHS, || each_warp(source, survey))?;
        first_rows.push(rows);
        let columns = columns::all();
        Ok(Self {
            released: released(trace, &first_rows)?,
            names: Names::new(trace, &paths)?,
            schema: Arc::new(columns::schema()),
            builders: Columns::default(),
            gathered: 0,
            passed: 0,
            trace,
            columns,
            paths,
            first_rows,
        })
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Makes all rows, and lets `take` have them in batches of so many; the last may have fewer.
    pub(crate) fn each(
        &mut self,
        source: &impl WarpSource,
        rows: usize,
        mut take: impl FnMut(&RecordBatch) -> io::Result<()>,
    ) -> io::Result<()> {
        each_warp(source, |index, warp| {
            self.warp(index, warp, &mut |batches, row| {
                batches.push(warp, &row);
                if batches.gathered == rows {
                    take(&batches.finish()?)?;
                }
                Ok(())
            })
        })?;
        if self.gathered > 0 {
            take(&self.finish()?)?;
        }
        Ok(())
    }

    /// What was gathered.
    fn finish(&mut self) -> io::Result<RecordBatch> {
        self.gathered = 0;
        let arrays: Vec<ArrayRef> =
            self.builders.finish(&self.columns, &self.names.dictionaries)?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        batch.map_err(of_arrow)
    }

    /// Makes the rows of a warp.
    fn warp(
        &mut self,
        index: usize,
        warp: &Warp,
        put: &mut impl FnMut(&mut Self, Row) -> io::Result<()>,
    ) -> io::Result<()> {
        let (first, next) = (self.first_rows[index], self.first_rows[index + 1]);
        let kernel = self.trace.launches[warp.launch].kernel;
        let within = Within { event: first, path: self.paths.root(kernel) };
        let row = Row {
            event: first,
            kind: Kind::Kernel,
            site: kernel,
            lane: None,
            track: warp.track,
            depth: None,
            parent: None,
            path: within.path,
            start: warp.entry,
            end: warp.exit,
            value: None,
            released_by: None,
            counts: Some((warp.recorded, warp.lost)),
        };
        put(self, row)?;
        let mut nesting = Nesting::new(within);
        for (at, region) in warp.regions.iter().enumerate() {
            let event = region_row(first, at);
            let (parent, path) = nesting.region(region, event, &mut self.paths);
            put(self, of_region(warp, region, event, parent, path))?;
        }
        let mut walk = MarkWalk::new(within);
        for (at, mark) in warp.marks.iter().enumerate() {
            let (parent, path) = walk.mark(warp, mark, first, &mut self.paths);
            let row = Row {
                event: mark_row(next, warp, at),
                kind: self.names.kind(mark),
                site: mark.site,
                lane: Some(mark.lane),
                track: mark.track.or(warp.track),
                depth: None,
                parent: Some(parent.event),
                path,
                start: mark.time,
                end: None,
                value: mark.value,
                released_by: self.released_by((index, at)),
                counts: None,
            };
            put(self, row)?;
        }
        Ok(())
    }

    /// The row of the mark that released this one. Marks are asked for in order.
    fn released_by(&mut self, mark: (usize, usize)) -> Option<u64> {
        while let Some(released) = self.released.get(self.passed)
            && released.mark <= mark
        {
            self.passed += 1;
            if released.mark == mark {
                return Some(released.by);
            }
        }
        None
    }

    fn push(&mut self, warp: &Warp, row: &Row) {
        let launch = &self.trace.launches[warp.launch];
        let sites = &self.names.sites;
        let (kernel, site) = (sites[launch.kernel.0 as usize].name, sites[row.site.0 as usize]);
        self.gathered += 1;
        self.builders.push(&Cells { row, warp, launch, kernel, site });
    }
}

fn of_region(warp: &Warp, region: &Region, event: u64, parent: Within, path: PathKey) -> Row {
    Row {
        event,
        kind: Kind::Region,
        site: region.site,
        lane: Some(region.lane),
        track: region.track.or(warp.track),
        depth: Some(region.depth),
        parent: Some(parent.event),
        path,
        start: region.start,
        end: region.end,
        value: region.value,
        released_by: None,
        counts: None,
    }
}

/// Goes through the warps, each with its index and its regions.
fn each_warp(
    source: &impl WarpSource,
    mut visit: impl FnMut(usize, &Warp) -> io::Result<()>,
) -> io::Result<()> {
    (0..source.outline().warps.len()).try_for_each(|index| {
        visit(index, &source.warp(index))?;
        Progress::step();
        Ok(())
    })
}

/// The launch of a warp, all of whose indices lead somewhere.
fn check<'a>(trace: &'a Trace, index: usize, warp: &Warp) -> io::Result<&'a Launch> {
    let launch = (trace.launches.get(warp.launch))
        .filter(|_| u32::try_from(warp.launch).is_ok())
        .ok_or_else(|| dangling(index, "launch", warp.launch, trace.launches.len()))?;
    let regions = warp.regions.iter().map(|region| region.site);
    let marks = warp.marks.iter().map(|mark| mark.site);
    let sites = trace.sites.len();
    match regions.chain(marks).chain([launch.kernel]).find(|site| site.0 as usize >= sites) {
        Some(site) => Err(dangling(index, "site", site.0 as usize, sites)),
        None => Ok(launch),
    }
}

/// The error that an index of the trace, found in a warp, leads nowhere.
fn dangling(warp: usize, what: &str, index: usize, len: usize) -> io::Error {
    let text = format!(
        "warp {warp} of the trace refers to {what} {index}, and there are {len}; pass the trace as \
         `decode` or a session returned it, with nothing removed"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The arrows, by what they lead to. Of several to one mark the first is kept. No regions are asked
/// for.
fn released(trace: &Trace, first_rows: &[u64]) -> io::Result<Vec<Released>> {
    let row = |MarkIndex { warp, mark }| -> io::Result<u64> {
        let of = trace.warps.get(warp);
        let of = of.ok_or_else(|| dangling(warp, "warp", warp, trace.warps.len()))?;
        if mark >= of.marks.len() {
            return Err(dangling(warp, "mark", mark, of.marks.len()));
        }
        Ok(mark_row(first_rows[warp + 1], of, mark))
    };
    let mut released = Vec::with_capacity(trace.edges.len());
    for edge in &trace.edges {
        row(edge.to)?;
        let mark = (edge.to.warp, edge.to.mark);
        released.push(Released { mark, by: row(edge.from)? });
    }
    released.sort_by_key(|edge| edge.mark);
    Ok(released)
}
