//! Counts over the time of a launch: warps in the kernel on each SM, and regions of a name that run
//! at once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::export::arrows::Axis;
use crate::model::{SiteIndex, Warp};

/// Into how many parts of equal length a launch is cut at most for the regions that run at once.
const PARTS: usize = 512;
/// And at least, where it is long enough.
const PARTS_LEAST: usize = 8;
/// Of how many regions one step is shown. A step takes some 20 bytes of a native timeline and a
/// region 25, so that all steps take little beside the regions.
const REGIONS_A_STEP: usize = 16;
/// So many steps, however few regions there are, are shared by all launches.
const STEPS_LEAST: usize = 512;

/// A number from a moment on, moment by moment, in order.
pub(super) type Steps = Vec<(u64, f64)>;

/// The warps in the kernel on each SM. `end` says when a warp left.
pub(super) fn warps_by_sm(
    warps: &[Warp],
    axis: &Axis,
    end: impl Fn(&Warp) -> f64,
) -> BTreeMap<u32, Steps> {
    let mut changes: BTreeMap<u32, Vec<(u64, f64)>> = BTreeMap::new();
    for warp in warps {
        let of_sm = changes.entry(warp.sm).or_default();
        of_sm.push((axis.round(warp.entry.ns), 1.0));
        of_sm.push((axis.round(end(warp).max(warp.entry.ns)), -1.0));
    }
    for changes in changes.values_mut() {
        changes.sort_unstable_by_key(|(ns, _)| *ns);
        let mut steps = Steps::new();
        let mut count = 0.0;
        for &(ns, change) in changes.iter() {
            count += change;
            match steps.last_mut().filter(|last| last.0 == ns) {
                Some(last) => last.1 = count,
                None => steps.push((ns, count)),
            }
        }
        *changes = without_repetition(steps);
    }
    changes
}

/// The mean number of regions of each site that run at once, for each part of a launch.
pub(super) struct Activity {
    start: f64,
    /// Nanoseconds of a part.
    part: f64,
    parts: usize,
    /// The number of regions that were added.
    regions: usize,
    sites: BTreeMap<SiteIndex, Parts>,
}

/// Of one site.
struct Parts {
    /// Regions that cover the part, less those that cover the one before it.
    whole: Vec<f64>,
    /// The covered share of the parts in which regions begin or end.
    partial: Vec<f64>,
}

impl Parts {
    fn add(&mut self, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.whole, &other.whole);
        add(&mut self.partial, &other.partial);
    }
}

impl Activity {
    pub(super) fn new(start_ns: f64, end_ns: f64) -> Self {
        let length = (end_ns - start_ns).clamp(1.0, f64::MAX);
        // No part is shorter than the nanosecond of which a timeline's times are made.
        let parts = PARTS.min(length as usize).max(1);
        let part = length / parts as f64;
        Self { start: start_ns, part, parts, regions: 0, sites: BTreeMap::new() }
    }

    /// A region; what lies beyond the launch is left out.
    pub(super) fn add(&mut self, site: SiteIndex, start: f64, end: f64) {
        let parts = self.parts;
        let at = |ns: f64| ((ns - self.start) / self.part).clamp(0.0, parts as f64);
        let (start, end) = (at(start), at(end));
        self.regions += 1;
        let of_site = self.sites.entry(site).or_insert_with(|| Parts {
            whole: vec![0.0; parts + 1],
            partial: vec![0.0; parts + 1],
        });
        let (first, last) = (start as usize, end as usize);
        if first >= last {
            of_site.partial[first] += (end - start).max(0.0);
            return;
        }
        of_site.partial[first] += (first + 1) as f64 - start;
        of_site.partial[last] += end - last as f64;
        of_site.whole[first + 1] += 1.0;
        of_site.whole[last] -= 1.0;
    }

    /// Sites of one name as one, which is the first of them: viewers tell what is counted by its name.
    pub(super) fn by_name<'n>(mut self, name: impl Fn(SiteIndex) -> &'n str) -> Self {
        let mut first: HashMap<&str, SiteIndex> = HashMap::new();
        for (site, parts) in std::mem::take(&mut self.sites) {
            match self.sites.entry(*first.entry(name(site)).or_insert(site)) {
                Entry::Vacant(entry) => {
                    entry.insert(parts);
                }
                Entry::Occupied(mut entry) => entry.get_mut().add(&parts),
            }
        }
        self
    }

    /// Each site's steps, rounded to thousandths; at the end of the launch there is nothing. The
    /// launch is one of so many.
    pub(super) fn steps(&self, axis: &Axis, launches: usize) -> BTreeMap<SiteIndex, Steps> {
        let together = self.together(launches);
        let steps = |parts: &Parts| {
            let mut whole = 0.0;
            let changes = parts.whole.iter().zip(&parts.partial).take(self.parts);
            let counts: Vec<f64> = changes
                .map(|(change, partial)| {
                    whole += change;
                    whole + partial
                })
                .collect();
            let means = counts.chunks(together).map(|counts| {
                let mean = counts.iter().sum::<f64>() / counts.len() as f64;
                (mean * 1000.0).round() / 1000.0
            });
            let places = (0..self.parts).step_by(together).chain([self.parts]);
            let steps = places.zip(means.chain([0.0]));
            let steps =
                steps.map(|(at, count)| (axis.round(self.start + at as f64 * self.part), count));
            without_repetition(steps.collect())
        };
        self.sites.iter().map(|(site, parts)| (*site, steps(parts))).collect()
    }

    /// The number of parts that share a step.
    fn together(&self, launches: usize) -> usize {
        let steps = (self.regions / REGIONS_A_STEP).max(STEPS_LEAST / launches.max(1));
        let of_site = (steps / self.sites.len().max(1)).clamp(PARTS_LEAST, PARTS);
        self.parts.div_ceil(of_site)
    }
}

/// The steps at which the number changes.
fn without_repetition(mut steps: Steps) -> Steps {
    steps.dedup_by(|later, earlier| later.1 == earlier.1);
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Trace;

    fn axis() -> Axis {
        Axis::new(&Trace::default())
    }

    const SITE: SiteIndex = SiteIndex(3);

    #[test]
    fn a_region_counts_while_it_runs() {
        let mut activity = Activity::new(1000.0, 1000.0 + 512.0 * 10.0);
        activity.add(SITE, 1025.0, 1052.5);
        activity.add(SITE, 1040.0, 1050.0);
        let steps = activity.steps(&axis(), 1);
        let expected =
            [(1000, 0.0), (1020, 0.5), (1030, 1.0), (1040, 2.0), (1050, 0.25), (1060, 0.0)];
        assert_eq!(steps[&SITE], expected);
    }

    #[test]
    fn times_beyond_a_launch_and_launches_of_no_length() {
        let mut activity = Activity::new(1000.0, 1000.0);
        activity.add(SITE, 0.0, 5000.0);
        assert_eq!(activity.steps(&axis(), 1)[&SITE], [(1000, 1.0), (1001, 0.0)]);
        let mut activity = Activity::new(0.0, 1e300);
        activity.add(SITE, f64::NAN, f64::INFINITY);
        assert!(activity.steps(&axis(), 1)[&SITE].len() <= PARTS + 1);
    }

    #[test]
    fn few_regions_have_few_steps() {
        let steps = |regions: usize, sites: u32, launches: usize| {
            let mut activity = Activity::new(0.0, 51_200.0);
            for at in 0..regions {
                let start = at as f64 * 51_200.0 / regions as f64;
                activity.add(SiteIndex(at as u32 % sites), start, start + at as f64 % 70.0);
            }
            activity.steps(&axis(), launches).into_values().map(|steps| steps.len()).sum::<usize>()
        };
        // Enough of both: all parts, and the end.
        assert!(steps(50_000, 3, 1) > 3 * 500);
        assert!(steps(50_000, 3, 1) <= 3 * (PARTS + 1));
        // One step for so many regions.
        assert!(steps(10_000, 6, 1) <= 10_000 / REGIONS_A_STEP + 6);
        // However few: some, but not for each of many launches.
        assert!((400..=STEPS_LEAST + 1).contains(&steps(500, 1, 1)));
        assert!(steps(500, 1, 100) <= 500 / REGIONS_A_STEP + 1);
        assert!((5..=2 * (PARTS_LEAST + 1)).contains(&steps(20, 2, 1_000)));
    }

    proptest! {
        /// The area below the steps is the time that the regions took.
        #[test]
        fn the_area_is_the_time(spans in prop::collection::vec((0.0..5000.0_f64, 0.0..500.0_f64), 1..50)) {
            let mut activity = Activity::new(0.0, 5632.0);
            let launches = spans.len();
            let mut total = 0.0;
            for (start, length) in spans {
                activity.add(SITE, start, start + length);
                total += length;
            }
            let steps = &activity.steps(&axis(), launches)[&SITE];
            let area: f64 = steps
                .windows(2)
                .map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64)
                .sum();
            // Rounding to thousandths, in each of the parts of 11 ns.
            prop_assert!((area - total).abs() <= 512.0 * 11.0 * 0.0005, "{area} {total}");
            prop_assert_eq!(steps.last().map(|step| step.1), Some(0.0));
        }
    }
}
