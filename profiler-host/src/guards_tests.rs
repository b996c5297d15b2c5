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
