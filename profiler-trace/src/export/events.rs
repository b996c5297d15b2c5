//! Everything that was recorded, a row each, as CSV and as lines of JSON.

use std::io::{self, Write};

use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use crate::display;
use crate::host::{HostSpan, HostSpanKind, HostThread};
use crate::model::{Launch, Mark, Region, SiteIndex, Time, Trace, Value, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;
use crate::table::cells::{Cell, write_csv, write_json};

/// The version of the columns: it is raised when one changes its meaning, its place or goes.
const SCHEMA: u64 = 2;

const COLUMNS: &str = "\
     schema,kind,launch,grid_id,replay,kernel,name,list,block_x,block_y,block_z,warp,sm,\
     cluster_rank,slot,lane,track,depth,clock,start_ticks,end_ticks,cycles,start_ns,end_ns,\
     duration_ns,value,unit,recorded,lost,file,line,column,thread";

pub(super) fn write_as_csv(source: &impl WarpSource, writer: &mut impl Write) -> io::Result<()> {
    writeln!(writer, "{COLUMNS}")?;
    rows(source, |row| write_csv(row, writer))
}

pub(super) fn write_as_json(source: &impl WarpSource, writer: &mut impl Write) -> io::Result<()> {
    rows(source, |row| {
        write_json(COLUMNS, row, writer)?;
        writer.write_all(b"\n")
    })
}

type Row<'t> = [Cell<'t>; 33];

fn rows<'t>(
    source: &'t impl WarpSource,
    mut write: impl FnMut(Row<'t>) -> io::Result<()>,
) -> io::Result<()> {
    let trace = source.outline();
    Progress::expect("warps written", trace.warps.len());
    for (index, warp) in Progress::each(trace.warps.iter().enumerate()) {
        let Some(launch) = trace.launches.get(warp.launch) else { continue };
        let warp = &*source.warp(index);
        let of = Of { trace, launch, warp };
        write(of.row(&of.kernel()))?;
        for region in &warp.regions {
            write(of.row(&of.region(region)))?;
        }
        for mark in &warp.marks {
            write(of.row(&of.mark(mark)))?;
        }
    }
    for thread in &trace.host.threads {
        for span in &thread.spans {
            write(host_row(trace, thread, span))?;
        }
    }
    Ok(())
}

/// A row for a span of the host, which has no warp and no ticks of a device clock.
fn host_row<'t>(trace: &'t Trace, thread: &'t HostThread, span: &'t HostSpan) -> Row<'t> {
    let (kind, launch) = match span.kind {
        HostSpanKind::Span => ("host_span", None),
        HostSpanKind::Launch(launch) => ("host_launch", launch),
    };
    let kernel = launch.and_then(|launch| trace.launches.get(launch)).map(|launch| launch.kernel);
    let kernel = kernel.and_then(|kernel| trace.sites.get(kernel.0 as usize));
    let mut row = [const { Cell::Empty }; 33];
    for (cell, column) in row.iter_mut().zip(COLUMNS.split(',')) {
        *cell = match column {
            "schema" => SCHEMA.into(),
            "kind" => kind.into(),
            "launch" => launch.map(|launch| launch as u64).into(),
            "kernel" => kernel.map(|kernel| kernel.name.as_str()).into(),
            "name" => span.name.as_str().into(),
            "start_ns" => span.start_ns.into(),
            "end_ns" => span.end_ns.into(),
            "duration_ns" => (span.end_ns - span.start_ns).into(),
            "thread" => thread.name.as_str().into(),
            _ => Cell::Empty,
        };
    }
    row
}

/// The warp whose rows are written.
struct Of<'t, 'w> {
    trace: &'t Trace,
    launch: &'t Launch,
    warp: &'w Warp,
}

/// The columns in which rows of one warp differ.
#[derive(Default)]
struct Record {
    kind: &'static str,
    site: SiteIndex,
    lane: Option<u8>,
    track: Option<u32>,
    depth: Option<u16>,
    start: Time,
    end: Option<Time>,
    value: Option<Value>,
    counts: Option<(u64, u64)>,
}

impl<'t> Of<'t, '_> {
    fn kernel(&self) -> Record {
        Record {
            kind: "kernel",
            site: self.launch.kernel,
            track: self.warp.track,
            start: self.warp.entry,
            end: self.warp.exit,
            counts: Some((self.warp.recorded, self.warp.lost)),
            ..Record::default()
        }
    }

    fn region(&self, region: &Region) -> Record {
        Record {
            kind: "region",
            site: region.site,
            lane: Some(region.lane),
            track: region.track.or(self.warp.track),
            depth: Some(region.depth),
            start: region.start,
            end: region.end,
            value: region.value,
            ..Record::default()
        }
    }

    fn mark(&self, mark: &Mark) -> Record {
        let site = self.trace.sites.get(mark.site.0 as usize);
        Record {
            kind: match site.map(|site| site.kind) {
                Some(SiteKind::Signal) => "signal",
                Some(SiteKind::Wait) => "wait",
                _ => "mark",
            },
            site: mark.site,
            lane: Some(mark.lane),
            track: mark.track.or(self.warp.track),
            start: mark.time,
            end: Some(mark.time),
            value: mark.value,
            ..Record::default()
        }
    }

    fn row(&self, record: &Record) -> Row<'t> {
        let Self { trace, launch, warp } = *self;
        let site = trace.sites.get(record.site.0 as usize);
        let kernel = trace.sites.get(launch.kernel.0 as usize);
        let [x, y, z] = warp.block;
        let (start, end) = (record.start, record.end);
        let cycles = end.filter(|_| warp.clock == Clock::Cycles);
        [
            SCHEMA.into(),
            record.kind.into(),
            (warp.launch as u64).into(),
            launch.grid_id.into(),
            launch.replay.into(),
            kernel.map(|site| site.name.as_str()).into(),
            site.map(|site| site.name.as_str()).into(),
            site.and_then(|site| site.list.as_deref()).into(),
            x.into(),
            y.into(),
            z.into(),
            warp.warp.into(),
            warp.sm.into(),
            warp.cluster_rank.into(),
            warp.slot.into(),
            record.lane.map(u32::from).into(),
            record.track.into(),
            record.depth.map(u32::from).into(),
            display::clock_name(warp.clock).into(),
            start.ticks.into(),
            end.map(|end| end.ticks).into(),
            cycles.map(|end| end.ticks.saturating_sub(start.ticks)).into(),
            start.ns.into(),
            end.map(|end| end.ns).into(),
            end.map(|end| end.ns - start.ns).into(),
            match record.value {
                None => Cell::Empty,
                Some(Value::Unsigned(value)) => Cell::Unsigned(value),
                Some(Value::Signed(value)) => Cell::Signed(value),
                Some(Value::Float(value)) => Cell::Float(value),
            },
            site.and_then(|site| site.unit.as_deref()).into(),
            record.counts.map(|(recorded, _)| recorded).into(),
            record.counts.map(|(_, lost)| lost).into(),
            site.map(|site| site.file.as_str()).into(),
            site.map(|site| site.line).into(),
            site.map(|site| site.column).into(),
            Cell::Empty,
        ]
    }
}
