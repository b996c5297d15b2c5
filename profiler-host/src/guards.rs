//! Guard words: what lies between the buffers of a session and must stay as it is.

use std::ops::Range;

use profiler_wire::descriptor::{CLAIM_STRIDE, LANE_STEP, Lost};
use profiler_wire::header;
use profiler_wire::record::UNIT_BYTES;

use crate::arrays::{Memory, Rows};
use crate::error::Error;
use crate::layout::{LANE_COUNT_BYTES, Layout};

/// What a guard word holds: no record, header or count looks like it.
const PATTERN: u64 = 0xa5a5_5a5a_c3c3_3c3c;
/// Words that are written or read at once.
const CHUNK_WORDS: usize = 1 << 17;
/// Bytes of a word.
const WORD: u64 = 8;

/// One array: which of its bytes kernels may write.
#[derive(Clone, Debug)]
struct Area {
    what: &'static str,
    bytes: Range<u64>,
    /// Bytes from one element to the next, of which kernels may write the first `used`.
    stride: u64,
    used: u64,
    /// Of each so many bytes kernels may not write the first `skip`.
    row: u64,
    skip: u64,
}

impl Area {
    fn new(what: &'static str, bytes: Range<u64>, stride: u64, used: u64) -> Self {
        Self { what, bytes, stride, used, row: stride.max(1), skip: 0 }
    }

    fn may_be_written(&self, offset: u64) -> bool {
        let offset = offset - self.bytes.start;
        offset % self.stride < self.used && offset % self.row >= self.skip
    }
}

/// The guard words of a session's memory.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    /// In the order in which they lie in memory.
    areas: Vec<Area>,
    /// Address of the aligned base.
    base: u64,
    bytes: u64,
}

impl Guards {
    /// Those of a layout that was made with guards and lies at the aligned `base`.
    pub(crate) fn new(layout: &Layout, base: u64) -> Self {
        let slots = u64::from(layout.slot_count);
        let array = |start: u64, count: u64, stride: u64| start..start + count * stride;
        let mut areas = Vec::new();
        let buffer = layout.buffer;
        areas.push(Area::new(
            "the buffers of lane 0",
            array(layout.records, slots, buffer.stride()),
            buffer.stride(),
            u64::from(buffer.capacity()) * u64::from(UNIT_BYTES),
        ));
        if let Some(buffer) = layout.lane_buffer {
            areas.push(Area {
                // The column of lane 0, which has a buffer of its own.
                row: u64::from(LANE_STEP),
                skip: u64::from(UNIT_BYTES),
                ..Area::new(
                    "the buffers of the other lanes",
                    array(layout.lanes, slots, buffer.stride()),
                    buffer.stride(),
                    u64::from(buffer.capacity()) * u64::from(LANE_STEP),
                )
            });
        }
        let header_bytes = header::BYTES as u64;
        let written = WORD * (header::EXIT_START + header::EXIT_WORDS) as u64;
        let headers = array(layout.headers, slots, header_bytes);
        areas.push(Area::new("the headers", headers, header_bytes, written));
        if layout.lane_buffer.is_some() {
            areas.push(Area {
                // That of lane 0, which stands in the header.
                row: LANE_COUNT_BYTES,
                skip: WORD,
                ..Area::new(
                    "the counts of the lanes",
                    array(layout.lane_counts, slots, LANE_COUNT_BYTES),
                    LANE_COUNT_BYTES,
                    LANE_COUNT_BYTES,
                )
            });
        }
        if let Some(claims) = layout.claims {
            let stride = u64::from(CLAIM_STRIDE);
            let counters = array(layout.counters, claims.counters() as u64, stride);
            areas.push(Area::new("the counters of claims", counters, stride, WORD));
        }
        let lost = Lost::BYTES as u64;
        areas.push(Area::new(
            "the counts of what is lost",
            layout.lost..layout.lost + lost,
            lost,
            lost,
        ));
        Self { areas, base, bytes: layout.bytes }
    }

    /// The area that the word at this offset is in or after, and whether kernels may write it.
    fn place(&self, offset: u64) -> (Option<&Area>, bool) {
        let area = self.areas.iter().rev().find(|area| area.bytes.start <= offset);
        let inside = area.filter(|area| area.bytes.contains(&offset));
        (area, inside.is_some_and(|area| area.may_be_written(offset)))
    }

    /// Writes the guards, and zeros between them.
    pub(crate) fn fill(&self, memory: &impl Memory) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(CHUNK_WORDS * WORD as usize);
        for chunk in self.chunks() {
            bytes.clear();
            for offset in chunk.clone().step_by(WORD as usize) {
                let word = if self.place(offset).1 { 0 } else { PATTERN };
                bytes.extend_from_slice(&word.to_le_bytes());
            }
            memory.write_at(self.base + chunk.start, &bytes)?;
        }
        Ok(())
    }

    /// Checks that all guards are as they were written.
    ///
    /// # Errors
    ///
    /// [`Error::GuardsOverwritten`].
    pub(crate) fn check(&self, memory: &impl Memory) -> Result<(), Error> {
        let mut bytes = vec![0; CHUNK_WORDS * WORD as usize];
        let (mut words, mut first) = (0, None);
        for chunk in self.chunks() {
            let bytes = &mut bytes[..(chunk.end - chunk.start) as usize];
            memory.read(self.base + chunk.start, Rows::all(bytes.len()), bytes)?;
            for (offset, word) in chunk.step_by(WORD as usize).zip(bytes.chunks_exact(8)) {
                let intact = word == PATTERN.to_le_bytes();
                if !intact && let (area, false) = self.place(offset) {
                    words += 1;
                    first.get_or_insert_with(|| describe(area, offset));
                }
            }
        }
        first.map_or(Ok(()), |first| Err(Error::GuardsOverwritten { words, first }))
    }

    /// Stretches of whole words that together are all of the memory.
    fn chunks(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let (bytes, step) = (self.bytes, CHUNK_WORDS as u64 * WORD);
        (0..bytes).step_by(step as usize).map(move |start| start..(start + step).min(bytes))
    }
}

/// Says where the guard word at an offset is.
fn describe(area: Option<&Area>, offset: u64) -> String {
    let Some(area) = area else { return format!("at byte {offset}, before all arrays") };
    let offset = offset - area.bytes.start;
    if area.bytes.end - area.bytes.start <= offset {
        return format!("after {}", area.what);
    }
    format!(
        "in {}, at byte {} of element {}",
        area.what,
        offset % area.stride,
        offset / area.stride
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::options::{Keep, Options};

    /// Memory at address 4096 that is as long as a layout.
    struct Words(Vec<Cell<u64>>);

    const BASE: u64 = 4096;

    impl Memory for Words {
        fn read(&self, address: u64, rows: Rows, into: &mut [u8]) -> Result<(), Error> {
            assert_eq!((rows.count, rows.width), (1, into.len()));
            let from = &self.0[((address - BASE) / WORD) as usize..];
            for (bytes, word) in into.chunks_exact_mut(8).zip(from) {
                bytes.copy_from_slice(&word.get().to_le_bytes());
            }
            Ok(())
        }

        fn write_at(&self, address: u64, from: &[u8]) -> Result<(), Error> {
            let into = &self.0[((address - BASE) / WORD) as usize..];
            for (word, bytes) in into.iter().zip(from.chunks_exact(8)) {
                word.set(u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
            }
            Ok(())
        }
    }

    /// Layouts of both forms of slots, with and without buffers for other lanes, with and without unused
    /// space in the buffers, and of buffers of nothing.
    fn layouts() -> impl Iterator<Item = Layout> {
        [(0, 0), (1, 2), (3, 5), (8, 1)].into_iter().flat_map(|(records, lane_records)| {
            [(Keep::First, true, false), (Keep::Last, true, true), (Keep::First, false, true)].map(
                |(keep, lanes, claimed)| {
                    let options = Options {
                        records_per_warp: records,
                        records_per_lane: lane_records,
                        keep,
                        max_warps: Some(5),
                        guards: true,
                        ..Options::default()
                    };
                    Layout::new(&options, lanes, claimed, 3).expect("legal options")
                },
            )
        })
    }

    fn filled(layout: &Layout) -> (Guards, Words) {
        let guards = Guards::new(layout, BASE);
        let memory = Words(vec![Cell::new(1); (layout.bytes / WORD) as usize]);
        guards.fill(&memory).expect("written");
        (guards, memory)
    }

    #[test]
    fn every_word_is_a_guard_or_zero_and_only_guards_are_checked() {
        for layout in layouts() {
            let (guards, memory) = filled(&layout);
            guards.check(&memory).expect("intact");
            for word in memory.0.iter().filter(|word| word.get() == 0) {
                word.set(7);
            }
            guards.check(&memory).expect("kernels may write all other words");
            let mut count = 0;
            for word in memory.0.iter().filter(|word| word.get() != 7) {
                assert_eq!(word.replace(0), PATTERN);
                count += 1;
            }
            let error = guards.check(&memory).expect_err("all guards were overwritten");
            let right = matches!(error, Error::GuardsOverwritten { words, .. } if words == count);
            assert!(right, "{error}, {count} guards");
        }
    }

    #[test]
    fn what_kernels_may_write_is_what_the_wire_contract_gives_them() {
        for layout in layouts() {
            let (_, memory) = filled(&layout);
            let slots = u64::from(layout.slot_count);
            let unit_words = u64::from(UNIT_BYTES) / WORD;
            let mut expected = slots * u64::from(layout.buffer.capacity()) * unit_words
                + slots * (header::EXIT_START + header::EXIT_WORDS) as u64
                + Lost::BYTES as u64 / WORD;
            if let Some(buffer) = layout.lane_buffer {
                expected += slots * 31 * (u64::from(buffer.capacity()) * unit_words + 1);
            }
            if let Some(claims) = layout.claims {
                expected += claims.counters() as u64;
            }
            let zeros = memory.0.iter().filter(|word| word.get() == 0).count();
            assert_eq!(zeros as u64, expected, "{layout:?}");
        }
    }

    #[test]
    fn guards_lie_before_after_and_between() {
        for layout in layouts() {
            let (_, memory) = filled(&layout);
            let words = &memory.0;
            let at = |byte: u64| words[(byte / WORD) as usize].get();
            assert_eq!((words[0].get(), words[words.len() - 1].get()), (PATTERN, PATTERN));
            let arrays = [layout.records, layout.headers, layout.lost].into_iter();
            for start in arrays.chain(layout.lane_buffer.map(|_| layout.lanes)) {
                assert_eq!(at(start - WORD), PATTERN);
            }
            for slot in 0..u64::from(layout.slot_count) {
                let end = layout.records + (slot + 1) * layout.buffer.stride();
                assert_eq!(at(end - WORD), PATTERN, "after the buffer of slot {slot}");
                if layout.lane_buffer.is_some() {
                    let counts = layout.lane_counts + slot * LANE_COUNT_BYTES;
                    assert_eq!(at(counts), PATTERN, "before the counts of slot {slot}");
                }
            }
        }
    }

    #[test]
    fn an_error_says_where() {
        let layout = layouts().nth(3).expect("a layout");
        let (guards, memory) = filled(&layout);
        let index = (layout.records + layout.buffer.stride() + 24) / WORD;
        memory.0[index as usize].set(0);
        let text = guards.check(&memory).expect_err("overwritten").to_string();
        assert!(text.contains("in the buffers of lane 0, at byte 24 of element 1"), "{text}");
        assert!(text.starts_with("1 guard word(s)"), "{text}");
    }
}
