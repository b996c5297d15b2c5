//! The capacity that a kernel needs, told from a run that only counted.

use profiler_trace::{Capture, ModuleCapture};
use profiler_wire::header::{
    self, COUNT_MAX, ExitHeader, LANE_COUNT_MAX, SlotHeader, unpack_counts,
};

use crate::error::Error;
use crate::options::{RECORDS_PER_LANE_MAX, RECORDS_PER_WARP_MAX, WARPS_MAX};

/// The buffers and slots in which a session loses nothing of the launches that were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// Records of the buffer of the busiest warp's lane 0.
    pub(crate) records_per_warp: u32,
    /// Records of the buffer of the busiest other lane; 0 if none recorded.
    pub(crate) records_per_lane: u32,
    /// Slots that the launches of the busiest module took: one for each warp that entered a kernel that
    /// records; if slots are linear, also one for each selected warp of the other launches.
    pub(crate) max_warps: u32,
}

impl Capacity {
    /// The capacity that the launches in `capture` needed. Buffers may have been too small, or empty:
    /// warps and lanes count what they emit, kept or not.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] if the capture does not tell.
    pub(crate) fn needed(capture: &Capture) -> Result<Self, Error> {
        let (mut units, mut lane_units) = (0, 0);
        let (mut warps, mut unfinished, mut without_slot, mut slots) = (0_u64, 0, 0, 0);
        for module in capture.modules.iter().filter(|module| !module.is_of_clocks()) {
            without_slot += module.lost.warps;
            slots = slots.max(module.needed_slots());
            for header in module.headers.chunks_exact(header::BYTES) {
                let words = header::words(header);
                if SlotHeader::unpack(&words).is_none() {
                    continue;
                }
                warps += 1;
                match ExitHeader::unpack(&words) {
                    Some(exit) => units = units.max(exit.units),
                    None => unfinished += 1,
                }
            }
            lane_units = lane_units.max(busiest_lane(module));
        }
        if without_slot > 0 {
            return Err(Error::Capacity(format!(
                "{without_slot} warps found no slot in the run, so what they need is not known; build the \
                 profiler with .max_warps({slots}) or more, or select fewer blocks"
            )));
        }
        if unfinished > 0 {
            return Err(Error::Capacity(format!(
                "{unfinished} warps never left their kernel, so what they need is not known; let it finish"
            )));
        }
        if warps == 0 {
            return Err(Error::Capacity(
                "no warp recorded in the run, so nothing says how much buffer is needed; launch the kernels \
                 within it, and check the selection of blocks and warps"
                    .to_owned(),
            ));
        }
        let records = |units: u32, stop: u32, limit: u32| {
            if units < stop && units <= limit {
                Ok(units)
            } else {
                Err(Error::Capacity(format!(
                    "a warp or lane emitted {units} records, more than any buffer takes; keep the last ones \
                     (Keep::Last) in a buffer of your choice, or select fewer regions"
                )))
            }
        };
        match u32::try_from(slots) {
            Ok(max_warps) if max_warps <= WARPS_MAX => Ok(Self {
                records_per_warp: records(units, COUNT_MAX, RECORDS_PER_WARP_MAX)?,
                records_per_lane: records(lane_units, LANE_COUNT_MAX, RECORDS_PER_LANE_MAX)?,
                max_warps,
            }),
            _ => Err(Error::Capacity(format!(
                "{slots} slots are needed, and a session has at most {WARPS_MAX}; select fewer blocks"
            ))),
        }
    }
}

fn busiest_lane(module: &ModuleCapture) -> u32 {
    let of_slots = module.lane_counts.as_chunks::<8>().0.chunks(32);
    // Lane 0's stand in the header; here may be a guard word.
    let counts = of_slots.flat_map(|counts| &counts[1..]);
    counts.map(|bytes| unpack_counts(u64::from_le_bytes(*bytes)).0).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use profiler_wire::descriptor::Lost;
    use profiler_wire::header::{Clock, pack_counts};

    use super::*;

    fn header(units: Option<u32>) -> Vec<u8> {
        let entry = SlotHeader {
            clock: 1,
            globaltimer: 1,
            version: profiler_wire::WIRE_VERSION,
            kernel: 1,
            record_clock: Clock::Cycles,
            grid_id: 1,
            block: [0; 3],
            grid_dim: [1; 3],
            block_dim: [32, 1, 1],
            warp: 0,
            sm: 0,
            cluster_rank: None,
            track: 0,
            strategy: 0,
        };
        let exit =
            units.map(|units| ExitHeader { clock: 2, globaltimer: 2, units, attachments: 0 });
        let mut words = entry.pack().to_vec();
        words.extend(exit.map_or([0; header::EXIT_WORDS], |exit| exit.pack()));
        words.resize(header::WORDS, 0);
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn capture(units: &[Option<u32>], lanes: &[u32], lost_warps: u64) -> Capture {
        let module = ModuleCapture {
            headers: units.iter().flat_map(|&units| header(units)).collect(),
            // In the place of lane 0 anything may stand.
            lane_counts: lanes
                .chunks(31)
                .flat_map(|of_slot| {
                    once(u64::MAX).chain(of_slot.iter().map(|&n| pack_counts(n, 1)))
                })
                .flat_map(u64::to_le_bytes)
                .collect(),
            lost: Lost { warps: lost_warps, ..Lost::default() },
            ..ModuleCapture::default()
        };
        Capture { modules: vec![module], ..Capture::default() }
    }

    #[test]
    fn the_busiest_warp_and_lane_count() {
        assert_eq!(
            needed(&capture(&[Some(3), Some(70), Some(0)], &[0, 5, 2], 0)),
            Capacity { records_per_warp: 70, records_per_lane: 5, max_warps: 3 }
        );
        let of_two_slots: Vec<u32> = (1..=40).collect();
        assert_eq!(needed(&capture(&[Some(3)], &of_two_slots, 0)).records_per_lane, 40);
    }

    fn needed(capture: &Capture) -> Capacity {
        Capacity::needed(capture).expect("it tells")
    }

    fn refused(capture: &Capture) -> String {
        Capacity::needed(capture).expect_err("cannot be told").to_string()
    }

    #[test]
    fn the_busiest_module_counts() {
        let mut both = capture(&[Some(3), Some(70)], &[], 0);
        both.modules.extend(capture(&[Some(4), Some(0), Some(1)], &[], 0).modules);
        let expected = Capacity { records_per_warp: 70, records_per_lane: 0, max_warps: 3 };
        assert_eq!(needed(&both), expected);
    }

    #[test]
    fn linear_slots_of_launches_that_do_not_record_count() {
        let linear = |base, slot_count, lost_warps| {
            let mut capture = capture(&[Some(3), Some(70)], &[], lost_warps);
            let descriptor = &mut capture.modules[0].descriptor;
            (descriptor.slot_base, descriptor.slot_count) = (base, slot_count);
            capture
        };
        assert_eq!(needed(&linear(9, 10, 0)).max_warps, 9);
        // The base of a capture of an earlier version says nothing.
        for (base, warps) in [(20, 20), (0, 13)] {
            let error = refused(&linear(base, 10, 3));
            assert!(error.starts_with("3 warps found no slot in the run, "), "{error}");
            assert!(error.contains(&format!(".max_warps({warps}) or more")), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        for (capture, said) in [
            (capture(&[], &[], 0), "no warp recorded in the run, ".to_owned()),
            (capture(&[Some(1)], &[], 9), "9 warps found no slot in the run, ".to_owned()),
            (capture(&[Some(1), None], &[], 0), "1 warps never left their kernel, ".to_owned()),
            (
                capture(&[Some(COUNT_MAX)], &[], 0),
                format!("a warp or lane emitted {COUNT_MAX} records, "),
            ),
            (capture(&[Some(1)], &[1 << 30], 0), "a warp or lane emitted 1073741824 ".to_owned()),
        ] {
            let error = refused(&capture);
            assert!(error.starts_with(&said), "{error}");
        }
    }
}
