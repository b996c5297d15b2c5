//! Whether every region is there, whole and in order.

use std::cmp::Reverse;

use profiler_bench_kernels::REGION_NAMES;
use profiler_bench_kernels::format::{
    BEGIN, END, SM_PROFILER_BYTES, SM_PROFILER_HEAD, TICK_BITS, unpack, unpack_compact,
    unpack_tagged,
};
use profiler_host::trace::{Region, Trace};

use crate::schemes::{Format, Plan, Recorded};

/// What a launch must have recorded.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Warps of a block.
    pub warps: u32,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Iterations of the loop.
    pub iterations: u32,
    /// Recorded bodies of an iteration, at least 1.
    pub recorded: u32,
}

impl Expected {
    fn regions_of_lane(&self) -> u64 {
        u64::from(self.iterations) * u64::from(self.recorded)
    }
}

/// A region as its bytes say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    /// From 1.
    number: u32,
    start: u64,
    end: u64,
}

/// Checks what a launch left in its buffers: `buffers` are those of all warps, `buffer_bytes` each; where
/// the format has a counter for the grid, one more.
///
/// # Errors
///
/// What is wrong, and where.
pub fn buffers(
    buffers: &[u8],
    buffer_bytes: usize,
    format: Format,
    expected: &Expected,
) -> Result<(), String> {
    if format == Format::GridCounter {
        return grid(buffers, buffer_bytes, expected);
    }
    let warps = expected.warps as usize * expected.blocks as usize;
    if buffers.len() < warps * buffer_bytes {
        return Err(format!("{} bytes are not {warps} buffers of {buffer_bytes}", buffers.len()));
    }
    for (warp, buffer) in buffers.chunks_exact(buffer_bytes).take(warps).enumerate() {
        regions_of_buffer(buffer, format, expected, warp as u32)
            .and_then(|regions| in_order(&regions, 0, expected.recorded, clock_bits(format)))
            .map_err(|wrong| format!("warp {warp} of the grid: {wrong}"))?;
    }
    Ok(())
}

/// How many bits of its clock a format keeps.
fn clock_bits(format: Format) -> u32 {
    match format {
        Format::Compact8 | Format::Tagged => 32,
        Format::GridCounter => TICK_BITS,
        Format::Slices | Format::Events40 => 64,
    }
}

fn word(bytes: &[u8], index: usize) -> Result<u64, String> {
    bytes
        .get(8 * index..8 * index + 8)
        .and_then(|bytes| bytes.first_chunk())
        .map(|bytes| u64::from_le_bytes(*bytes))
        .ok_or_else(|| format!("word {index} lies after the buffer"))
}

fn half(bytes: &[u8], offset: usize) -> Result<u32, String> {
    bytes
        .get(offset..offset + 4)
        .and_then(|bytes| bytes.first_chunk())
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or_else(|| format!("byte {offset} lies after the buffer"))
}

/// The regions of a buffer, in the order in which they ended.
fn regions_of_buffer(
    buffer: &[u8],
    format: Format,
    expected: &Expected,
    warp: u32,
) -> Result<Vec<Found>, String> {
    let count = expected.regions_of_lane();
    let mut regions = Vec::with_capacity(count as usize);
    for region in 0..count {
        regions.push(
            region_at(buffer, format, region as usize, warp)
                .map_err(|wrong| format!("region {region}: {wrong}"))?,
        );
    }
    nothing_more(buffer, format, count)?;
    Ok(regions)
}

fn region_at(buffer: &[u8], format: Format, index: usize, warp: u32) -> Result<Found, String> {
    let short = |(number, start, end): (u32, u32, u32)| Found {
        number,
        start: u64::from(start),
        end: u64::from(end),
    };
    Ok(match format {
        Format::Compact8 => short(unpack_compact(word(buffer, index)?)),
        Format::Tagged => {
            let (group, number, is_end, start) = unpack_tagged(word(buffer, 2 * index)?);
            let (end_group, end_number, end_is_end, end) =
                unpack_tagged(word(buffer, 2 * index + 1)?);
            kinds(if is_end { END } else { BEGIN }, if end_is_end { END } else { BEGIN })?;
            same(number, end_number)?;
            if (group, end_group) != (warp, warp) {
                return Err(format!("is of groups {group} and {end_group}"));
            }
            short((number, start, end))
        }
        Format::Slices => {
            let part = |part| word(buffer, 1 + 4 * index + part);
            if part(3)? != u64::from(warp) {
                return Err("is of another warp".to_owned());
            }
            let start = part(0)?;
            Found { number: part(2)? as u32, start, end: start.wrapping_add(part(1)?) }
        }
        Format::Events40 => {
            let at = (SM_PROFILER_HEAD + SM_PROFILER_BYTES * index as u32) as usize;
            let event = buffer.get(at..).unwrap_or_default();
            if half(event, 20)? != index as u32 {
                return Err("has another event's number".to_owned());
            }
            Found { number: half(event, 16)?, start: word(event, 0)?, end: word(event, 1)? }
        }
        Format::GridCounter => return Err("is not in a buffer".to_owned()),
    })
}

fn kinds(begin: u64, end: u64) -> Result<(), String> {
    if (begin, end) == (BEGIN, END) {
        return Ok(());
    }
    Err(format!("has the kinds {begin} and {end}, not those of a begin and an end"))
}

fn same(number: u32, end_number: u32) -> Result<(), String> {
    if number == end_number {
        return Ok(());
    }
    Err(format!("begins as number {number} and ends as {end_number}"))
}

/// Checks that a counter says what it should, and that nothing lies after the last region.
fn nothing_more(buffer: &[u8], format: Format, count: u64) -> Result<(), String> {
    let counted = match format {
        Format::Slices => Some(u64::from(half(buffer, 0)?)),
        Format::Events40 => Some(u64::from(half(buffer, 0)?)),
        _ => None,
    };
    if let Some(counted) = counted.filter(|&counted| counted != count) {
        return Err(format!("its counter says {counted} regions, not {count}"));
    }
    let end = match format {
        Format::Slices => 8 + 32 * count,
        Format::Events40 => u64::from(SM_PROFILER_HEAD) + 40 * count,
        _ => count * u64::from(format.bytes_per_region()),
    };
    match buffer.get(end as usize..).unwrap_or_default().iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(format!("byte {} after the last region is written", end + at as u64)),
    }
}

/// Checks numbers and times of regions that follow each other, `first` of which came before.
fn in_order(regions: &[Found], first: u64, recorded: u32, clock_bits: u32) -> Result<(), String> {
    let half_range = 1_u64 << (clock_bits - 1);
    let mask = half_range | (half_range - 1);
    let mut before = None;
    for (index, region) in (first..).zip(regions) {
        let number = (index % u64::from(recorded)) as u32 + 1;
        if region.number != number {
            return Err(format!("region {index} has number {}, not {number}", region.number));
        }
        let ends_late = region.end.wrapping_sub(region.start) & mask < half_range;
        let begins_late =
            before.is_none_or(|end| region.start.wrapping_sub(end) & mask < half_range);
        if !ends_late || !begins_late {
            return Err(format!("region {index} is out of order: {region:?} after {before:?}"));
        }
        before = Some(region.end);
    }
    Ok(())
}

/// Checks the records of a grid that share one counter.
fn grid(buffers: &[u8], buffer_bytes: usize, expected: &Expected) -> Result<(), String> {
    let warps = u64::from(expected.warps) * u64::from(expected.blocks);
    let count = warps * expected.regions_of_lane();
    let counted = half(buffers, 0)?;
    if u64::from(counted) != count {
        return Err(format!("the counter says {counted} regions, not {count}"));
    }
    let records = buffers.get(buffer_bytes..).unwrap_or_default();
    let mut of_warp = vec![Vec::new(); warps as usize];
    for index in 0..count as usize {
        let (kind, number, start) = unpack(word(records, 2 * index)?);
        let (end_kind, warp, end) = unpack(word(records, 2 * index + 1)?);
        kinds(kind, end_kind).map_err(|wrong| format!("record {index}: {wrong}"))?;
        of_warp
            .get_mut(warp as usize)
            .ok_or_else(|| format!("record {index} is of warp {warp} of {warps}"))?
            .push(Found { number, start, end });
    }
    for (warp, regions) in of_warp.iter().enumerate() {
        if regions.len() as u64 != expected.regions_of_lane() {
            return Err(format!("warp {warp} has {} regions", regions.len()));
        }
        in_order(regions, 0, expected.recorded, TICK_BITS)
            .map_err(|wrong| format!("warp {warp}: {wrong}"))?;
    }
    Ok(())
}

/// Checks a session's trace: in each lane that records the last regions of the launch without a gap,
/// and everything else counted as lost; no loss at all unless the plan gives buffers that are too
/// small.
///
/// # Errors
///
/// What is wrong, and where.
pub fn trace(trace: &Trace, plan: &Plan, expected: &Expected) -> Result<(), String> {
    let warps = expected.warps as usize * expected.blocks as usize;
    if trace.warps.len() != warps {
        return Err(format!("the trace has {} warps, not {warps}", trace.warps.len()));
    }
    let of_lane = expected.regions_of_lane();
    for warp in &trace.warps {
        let place = format!("block {} warp {}", warp.block[0], warp.warp);
        let lanes = plan.recorders.lanes_of(warp.warp);
        let mut by_lane = [const { Vec::new() }; 32];
        if plan.recorded == Recorded::Mark {
            for mark in &warp.marks {
                let ticks = mark.time.ticks;
                let lane = &mut by_lane[usize::from(mark.lane) % 32];
                lane.push(found(trace, mark.site, ticks, Some(ticks))?);
            }
        } else {
            // Of regions that begin in one step of a coarse clock the trace has the longest first, and takes
            // one that also ends with another for around those that ended before it. Here none encloses
            // another, so the one that ended first began first.
            let mut regions: Vec<&Region> = warp.regions.iter().collect();
            regions.sort_by_key(|region| {
                (region.start.ticks, region.end.map(|end| end.ticks), Reverse(region.depth))
            });
            for region in regions {
                let has_value = matches!(
                    plan.recorded,
                    Recorded::RegionWithValue | Recorded::RegionWithShortValue
                );
                if has_value != region.value.is_some() {
                    return Err(format!("{place}: a region's value is {:?}", region.value));
                }
                let end = region.end.map(|end| end.ticks);
                let lane = &mut by_lane[usize::from(region.lane) % 32];
                lane.push(found(trace, region.site, region.start.ticks, end)?);
            }
        }
        let mut kept = 0;
        for (lane, regions) in by_lane.iter().enumerate() {
            let should = (lane as u64) < lanes;
            if regions.is_empty() == should {
                return Err(format!("{place} lane {lane}: {} regions", regions.len()));
            }
            let count = regions.len() as u64;
            kept += count;
            if count > of_lane {
                return Err(format!("{place} lane {lane}: {count} regions of {of_lane}"));
            }
            // A ring has room for so many bodies, at least.
            let buffer = plan.words.map_or(0, |words| u64::from(words / plan.words_of_body()));
            if should && count < of_lane.min(buffer) {
                return Err(format!(
                    "{place} lane {lane}: {count} regions in a buffer for {buffer}"
                ));
            }
            in_order(regions, of_lane - count, expected.recorded, u64::BITS)
                .map_err(|wrong| format!("{place} lane {lane}: {wrong}"))?;
        }
        let records = plan.records();
        let (kept, emitted) = (records * kept, records * lanes * of_lane);
        if kept + warp.lost != emitted {
            return Err(format!("{place}: {kept} kept and {} lost of {emitted}", warp.lost));
        }
        if plan.words.is_none() && warp.lost > 0 {
            return Err(format!("{place}: {} lost, though there was buffer", warp.lost));
        }
    }
    if trace.lost_unplaced > 0 {
        return Err(format!("{} records belong to no warp", trace.lost_unplaced));
    }
    Ok(())
}

fn found(
    trace: &Trace,
    site: profiler_host::trace::SiteIndex,
    start: u64,
    end: Option<u64>,
) -> Result<Found, String> {
    let name = &trace.site(site).name;
    let number = REGION_NAMES.iter().position(|known| known == name);
    let number = number.ok_or_else(|| format!("a region is named {name}"))? as u32 + 1;
    let end = end.ok_or_else(|| format!("a region {name} has no end"))?;
    Ok(Found { number, start, end })
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
