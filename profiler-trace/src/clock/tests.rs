use super::*;

/// A GPU whose SMs count cycles from offsets of tens of millions, with a timer of a given step.
struct Gpu {
    /// `(time in ns, GHz)`: the frequency from that time on.
    frequencies: Vec<(f64, f64)>,
    step: u64,
    base: u64,
}

impl Gpu {
    fn steady(ghz: f64) -> Self {
        Self { frequencies: vec![(0.0, ghz)], step: 32, base: 1_790_000_000_000_000_000 }
    }

    fn clock(&self, sm: u32, ns: f64) -> u64 {
        let offset = 900_000_000 + u64::from(sm) * 7_919_317 % 42_000_000;
        let ends = self.frequencies.iter().skip(1).map(|change| change.0).chain([f64::INFINITY]);
        let cycles: f64 = self
            .frequencies
            .iter()
            .zip(ends)
            .map(|(&(from, ghz), to)| (ns.min(to) - from).max(0.0) * ghz)
            .sum();
        offset + cycles as u64
    }

    fn anchor(&self, sm: u32, ns: f64) -> Anchor {
        let globaltimer = (self.base + ns as u64) / self.step * self.step;
        Anchor { sm, clock: self.clock(sm, ns), globaltimer }
    }

    fn fit(&self, anchors: &[Anchor]) -> (ClockMap, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let origin = anchors.iter().map(|anchor| anchor.globaltimer).min().unwrap_or(0);
        (ClockMap::fit(anchors, origin, None, &mut diagnostics), diagnostics)
    }

    /// The error of the map at a time.
    fn error(&self, map: &ClockMap, sm: u32, ns: f64) -> f64 {
        map.cycles_to_ns(sm, self.clock(sm, ns)) - difference(self.base, map.origin) - ns
    }
}

/// Times within a step that look random but are always the same.
fn jitter(seed: u32) -> f64 {
    f64::from(seed.wrapping_mul(2_654_435_761) >> 16) / 65_536.0
}

/// One launch: on each SM some warps enter around `start` and leave around `end`.
fn launch(gpu: &Gpu, sms: u32, warps: u32, start: f64, end: f64) -> Vec<Anchor> {
    (0..sms * warps)
        .flat_map(|index| {
            let late = 300.0 * jitter(index);
            let early = 300.0 * jitter(index + 77_777);
            [gpu.anchor(index % sms, start + late), gpu.anchor(index % sms, end - early)]
        })
        .collect()
}

#[test]
fn a_barrier_shows_on_all_sms_within_two_steps() {
    for (length, ghz) in [(3_000.0, 1.98), (200_000.0, 1.98), (200_000.0, 1.2), (5e6, 1.755)] {
        let gpu = Gpu::steady(ghz);
        let anchors = launch(&gpu, 132, 4, 1_000.0, 1_000.0 + length);
        let (map, diagnostics) = gpu.fit(&anchors);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        assert_eq!(map.step, 32.0);
        let barrier = 1_000.0 + length * 0.37;
        let times: Vec<f64> =
            (0..132).map(|sm| map.cycles_to_ns(sm, gpu.clock(sm, barrier))).collect();
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        let last = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(last - first <= 64.0, "{length} ns at {ghz} GHz: {}", last - first);
        let mhz = 1000.0 / map.slope;
        let tolerance = if length < 1e5 { 0.02 } else { 0.0005 };
        assert!((mhz / ghz / 1000.0 - 1.0).abs() < tolerance, "{mhz} MHz for {ghz} GHz");
    }
}

#[test]
fn length_of_a_short_and_of_a_nine_second_kernel() {
    for (length, tolerance) in [(200_000.0, 0.001), (9e9, 1e-8)] {
        let gpu = Gpu::steady(1.98);
        let (map, _) = gpu.fit(&launch(&gpu, 132, 1, 500.0, 500.0 + length));
        let clocks = |ns| map.cycles_to_ns(3, gpu.clock(3, ns));
        let measured = clocks(500.0 + length) - clocks(500.0);
        assert!((measured / length - 1.0).abs() < tolerance, "{measured} for {length}");
        assert!(gpu.error(&map, 7, 500.0 + length / 2.0).abs() <= 64.0);
    }
}

#[test]
fn a_coarse_timer_of_a_microsecond() {
    let gpu = Gpu { step: 1024, ..Gpu::steady(1.7) };
    let anchors = launch(&gpu, 80, 8, 5_000.0, 300_000.0);
    let (map, diagnostics) = gpu.fit(&anchors);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert_eq!(map.step, 1024.0);
    for sm in 0..80 {
        assert!(gpu.error(&map, sm, 100_000.0).abs() <= 1024.0);
    }
}

#[test]
fn a_change_of_frequency_between_launches_is_followed() {
    let gpu = Gpu { frequencies: vec![(0.0, 1.98), (5e6, 1.41)], ..Gpu::steady(1.0) };
    let anchors: Vec<Anchor> = (0..20)
        .flat_map(|index| {
            let start = 1_000.0 + 5e5 * f64::from(index);
            launch(&gpu, 132, 1, start, start + 4e5)
        })
        .collect();
    let (map, diagnostics) = gpu.fit(&anchors);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 0);
    assert!((2..=6).contains(&diagnostics.count(DiagnosticKind::ClockChanged)), "{diagnostics}");
    for index in 0..20 {
        let start = 1_500.0 + 5e5 * f64::from(index);
        let end = start + 3.9e5;
        let clocks = |ns| map.cycles_to_ns(9, gpu.clock(9, ns));
        let length = clocks(end) - clocks(start);
        assert!((length / 3.9e5 - 1.0).abs() < 0.005, "launch {index}: {length}");
        assert!(gpu.error(&map, 9, start + 1e5).abs() < 128.0, "launch {index}");
    }
}

#[test]
fn sms_of_different_frequency_get_maps_of_their_own() {
    let (slow, fast) = (Gpu::steady(1.9), Gpu::steady(1.98));
    let mut anchors = launch(&slow, 10, 2, 1_000.0, 2e9);
    anchors.retain(|anchor| anchor.sm < 5);
    anchors.extend(launch(&fast, 10, 2, 1_000.0, 2e9).into_iter().filter(|anchor| anchor.sm >= 5));
    let (map, _) = slow.fit(&anchors);
    for (gpu, sm) in [(&slow, 2), (&fast, 8)] {
        assert!(gpu.error(&map, sm, 1e9).abs() < 200.0);
    }
}

#[test]
fn a_single_anchor_takes_the_frequency_of_the_others() {
    let gpu = Gpu::steady(1.6);
    let mut anchors = launch(&gpu, 4, 2, 1_000.0, 1e6);
    anchors.push(gpu.anchor(99, 2_000.0));
    let (map, diagnostics) = gpu.fit(&anchors);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockPooled), 1);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 0);
    assert!(gpu.error(&map, 99, 9e5).abs() < 64.0);
}

#[test]
fn one_anchor_alone_is_uncertain_and_says_so() {
    let gpu = Gpu::steady(1.6);
    let (map, diagnostics) = gpu.fit(&[gpu.anchor(0, 100.0)]);
    let said = diagnostics.get(DiagnosticKind::ClockUncertain).expect("it is uncertain");
    assert_eq!(said.number, 2000);
    assert!(map.cycles_to_ns(0, gpu.clock(0, 100.0)) >= 0.0);
    assert_eq!(map.cycles_to_ns(5, 7), 0.0);
}

#[test]
fn a_timer_that_never_moved_promises_little() {
    let gpu = Gpu::steady(1.6);
    // Two SMs within one step of the timer: where in it, nobody knows.
    let anchors = [gpu.anchor(0, 1.0), gpu.anchor(1, 31.0)];
    assert_eq!(anchors[0].globaltimer, anchors[1].globaltimer);
    let (map, _) = gpu.fit(&anchors);
    let apart = map.cycles_to_ns(1, anchors[1].clock) - map.cycles_to_ns(0, anchors[0].clock);
    assert!((apart - 30.0).abs() <= map.alignment, "{apart} of 30 ns, to {}", map.alignment);
    assert!(map.alignment >= 1024.0, "{}", map.alignment);
    assert!(map.step_at_most >= 1024.0, "{}", map.step_at_most);
}

/// A step of the timer is 32 ns here, so that readings which lie apart by 64 ns and the nanosecond that
/// is for rounding may be of one moment.
#[test]
fn readings_that_exclude_each_other_are_a_contradiction() {
    for (late, is_said) in [(0, 0), (64, 0), (96, 1), (320, 1)] {
        let gpu = Gpu::steady(2.0);
        let mut anchors = launch(&gpu, 8, 4, 1_000.0, 1e6);
        anchors.push(gpu.anchor(3, 5e5));
        let first = *anchors.last().expect("just pushed");
        anchors.push(Anchor { globaltimer: first.globaltimer + late, ..first });
        let (map, diagnostics) = gpu.fit(&anchors);
        let said = diagnostics.count(DiagnosticKind::ClockContradiction);
        assert_eq!(said, is_said, "{late} ns: {diagnostics}");
        // The map goes between the two, and they do not move what is far from them.
        assert!(gpu.error(&map, 3, 1_500.0).abs() <= 64.0);
        let off = gpu.error(&map, 3, 5e5) - late as f64 / 2.0;
        assert!(off.abs() <= 64.0, "{off} ns off, with {late} ns between the readings");
    }
}

#[test]
fn a_timer_that_ran_back_is_a_contradiction() {
    let gpu = Gpu::steady(2.0);
    let mut anchors: Vec<Anchor> =
        [0.0, 1e6, 2e6, 3e6, 4e6].map(|ns| gpu.anchor(0, 1_000.0 + ns)).to_vec();
    let (_, diagnostics) = gpu.fit(&anchors);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 0, "{diagnostics}");
    let back = gpu.anchor(0, 2_001_010.0);
    anchors.push(Anchor { globaltimer: back.globaltimer - 320_000, ..back });
    let (map, diagnostics) = gpu.fit(&anchors);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 1, "{diagnostics}");
    let times = [2_001_000.0, 2_001_010.0].map(|ns| map.cycles_to_ns(0, gpu.clock(0, ns)));
    assert!(times.is_sorted(), "{times:?}");
}

/// The steps of the timer alone bend no map.
#[test]
fn the_map_of_a_steady_clock_is_one_line() {
    let gpu = Gpu::steady(1.98);
    let (map, diagnostics) = gpu.fit(&launch(&gpu, 4, 64, 1_000.0, 5e6));
    assert!(diagnostics.is_empty(), "{diagnostics}");
    assert!(map.alignment > 30.0, "{}", map.alignment);
    assert!(map.sms.values().all(|map| map.knots.len() == 2));
}

#[test]
fn the_first_reading_may_be_0() {
    let anchors = [(0, 6_400), (2_000_000, 1_006_400)].map(|(clock, globaltimer)| Anchor {
        sm: 0,
        clock,
        globaltimer,
    });
    let map = ClockMap::fit(&anchors, 0, None, &mut Diagnostics::default());
    for clock in [0, 1, 2_000_000] {
        let ns = 6_400.0 + clock as f64 / 2.0;
        assert!((map.cycles_to_ns(0, clock) - ns).abs() <= 32.0, "{clock}");
    }
}

#[test]
fn two_readings_at_once_are_what_each_is_alone() {
    let gpu = Wandering::new(1, 2e6, 20.0);
    let (map, _) = gpu.gpu.fit(&long_launch(&gpu, 2e6, 50_000.0, 4));
    assert!(map.sms[&0].knots.len() > 4, "the map is bent");
    let clocks: Vec<u64> = (0..400).map(|at| gpu.clock(0, 4_900.0 * f64::from(at))).collect();
    for (index, &first) in clocks.iter().enumerate() {
        for &second in clocks[index..].iter().step_by(37) {
            for (clocks, known) in
                [([first, second], 0), ([first, second], 1), ([second, first], 0)]
            {
                let mut both = map.of_cycles(0);
                // It begins on the line of one of them.
                both.ns(clocks[known]);
                let expected = clocks.map(|clock| map.cycles_to_ns(0, clock));
                let found = both.ns_of_two(clocks);
                let are_same = |index: usize| (found[index] - expected[index]).abs() < 1e-3;
                assert!(are_same(0) && are_same(1), "{found:?} and not {expected:?}");
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_anchors_give_a_map_that_never_runs_back(
        raw in proptest::collection::vec((0_u32..3, proptest::num::u64::ANY, proptest::num::u64::ANY, 0_u32..64), 0..40),
        mut probes in proptest::collection::vec(proptest::num::u64::ANY, 2..20),
    ) {
        let anchors: Vec<Anchor> = raw
            .iter()
            .map(|&(sm, clock, globaltimer, shift)| Anchor {
                sm,
                clock: clock >> shift,
                globaltimer: globaltimer >> shift,
            })
            .collect();
        let origin = anchors.iter().map(|anchor| anchor.globaltimer).min().unwrap_or(0);
        let map = ClockMap::fit(&anchors, origin, None, &mut Diagnostics::default());
        probes.extend(anchors.iter().map(|anchor| anchor.clock));
        probes.sort_unstable();
        for sm in 0..3 {
            let times: Vec<f64> = probes.iter().map(|clock| map.cycles_to_ns(sm, *clock)).collect();
            proptest::prop_assert!(times.is_sorted(), "{times:?}");
            proptest::prop_assert!(times.iter().all(|time| time.is_finite()));
        }
    }
}

#[test]
fn a_frequency_that_the_device_says_is_taken() {
    // One microsecond: by itself far too short to tell the frequency.
    let anchors = [(0, 1_000, 64), (0, 3_000, 1_056), (1, 901_000, 64), (1, 901_500, 320)]
        .map(|(sm, clock, globaltimer)| Anchor { sm, clock, globaltimer });
    let mut diagnostics = Diagnostics::default();
    let map = ClockMap::fit(&anchors, 64, Some(2000.0), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert!((map.slope - 0.5).abs() < 1e-12);
    assert!((map.cycles_to_ns(0, 3_000) - map.cycles_to_ns(0, 1_000) - 1_000.0).abs() < 1e-6);
}

/// Numbers below 1 that look random, and independent of each other, but are always the same.
fn random(sm: u32, number: u32) -> f64 {
    let mut bits = (u64::from(sm) << 32 | u64::from(number)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 29).wrapping_mul(factor);
    }
    (bits >> 32) as f64 / 4_294_967_296.0
}

/// SMs whose frequencies wander: every 10 µs, an SM's time steps off that of its mean frequency by
/// up to `wander` nanoseconds to either side.
struct Wandering {
    gpu: Gpu,
    /// Of each SM: by how much its clock is ahead at every multiple of 10 µs.
    ahead: Vec<Vec<f64>>,
}

impl Wandering {
    const PIECE: f64 = 10_000.0;

    fn new(sms: u32, ns: f64, wander: f64) -> Self {
        let pieces = (ns / Self::PIECE) as u32 + 2;
        let ahead = (0..sms).map(|sm| {
            let mut at = 0.0;
            let step = |piece: u32| {
                // The SMs' mean frequencies differ by up to 0.2 %.
                at += wander * (2.0 * random(sm, piece) - 1.0);
                at + 0.002 * jitter(sm + 5_555) * Self::PIECE * f64::from(piece)
            };
            (0..pieces).map(step).collect()
        });
        Self { gpu: Gpu::steady(1.98), ahead: ahead.collect() }
    }

    fn clock(&self, sm: u32, ns: f64) -> u64 {
        let pieces = &self.ahead[sm as usize];
        let piece = (ns / Self::PIECE) as usize;
        let part = ns / Self::PIECE - piece as f64;
        let ahead = pieces[piece] + (pieces[piece + 1] - pieces[piece]) * part;
        self.gpu.clock(sm, ns + ahead)
    }

    fn anchor(&self, sm: u32, ns: f64) -> Anchor {
        Anchor { clock: self.clock(sm, ns), ..self.gpu.anchor(sm, ns) }
    }

    fn time(&self, map: &ClockMap, sm: u32, ns: f64) -> f64 {
        map.cycles_to_ns(sm, self.clock(sm, ns)) - difference(self.gpu.base, map.origin)
    }

    /// The worst error of the map, and the worst relative error of a duration of 1 µs.
    fn errors(&self, map: &ClockMap, from: f64, to: f64) -> (f64, f64) {
        let (mut worst, mut worst_length) = (0.0_f64, 0.0_f64);
        for sm in 0..self.ahead.len() as u32 {
            for probe in 0..2_000_u32 {
                let ns = from + (to - from - 1_000.0) * f64::from(probe) / 2_000.0;
                let start = self.time(map, sm, ns);
                worst = worst.max((start - ns).abs());
                let length = self.time(map, sm, ns + 1_000.0) - start;
                worst_length = worst_length.max((length / 1_000.0 - 1.0).abs());
            }
        }
        (worst, worst_length)
    }
}

/// Anchors as warps take them: at entry and exit, and every so many nanoseconds, by `warps` warps
/// one after the other.
fn long_launch(gpu: &Wandering, ns: f64, every: f64, warps: u32) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    for sm in 0..gpu.ahead.len() as u32 {
        let mut number = 0;
        let mut at = 1_000.0;
        while at < ns {
            for _ in 0..warps {
                number += 1;
                let late = 2_000.0 * random(sm + 1_000, number);
                anchors.push(gpu.anchor(sm, at + late));
            }
            at += every;
        }
        anchors.push(gpu.anchor(sm, ns));
    }
    anchors
}

#[test]
fn a_wandering_clock_is_followed_from_anchor_to_anchor() {
    // SMs, nanoseconds, and how far the clock wanders in 10 µs: not at all, by up to 0.02 % for a long time,
    // and by a few steps of the timer.
    for (sms, length, wander, anchors) in [
        (4, 2e7, 0.0, &[(2_500.0, 1), (100_000.0, 1)][..]),
        (4, 2e7, 2.0, &[(2_500.0, 1), (10_000.0, 1), (100_000.0, 1)]),
        (4, 1e8, 1.5, &[(1e6, 1), (2e6, 4), (3e6, 1), (3e6, 16)]),
        // Also where anchors are so far apart that within a millisecond the clock went elsewhere.
        (8, 1e7, 6.0, &[(1e5, 4), (2e5, 4), (4e5, 4)]),
    ] {
        let gpu = Wandering::new(sms, length, wander);
        for &(every, warps) in anchors {
            let (map, diagnostics) = gpu.gpu.fit(&long_launch(&gpu, length, every, warps));
            let (worst, of_length) = gpu.errors(&map, 3_000.0, length);
            let what = format!("{wander}: an anchor every {every} ns of {warps} warps");
            let [most, most_of_length] = if wander > 2.0 { [41.0, 0.002] } else { [40.0, 0.001] };
            assert!(worst <= most, "{worst} ns, {what}");
            assert!(of_length <= most_of_length, "{of_length} of 1 µs, {what}");
            assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 0);
            if length > 5e7 {
                assert!(map.alignment <= 64.0, "{}", map.alignment);
                assert_eq!(map.step_at_most, 32.0);
                assert!(diagnostics.count(DiagnosticKind::ClockChanged) >= 1);
            }
        }
        // With anchors at entry and exit alone, the middle is off by more.
        let (straight, _) = gpu.gpu.fit(&long_launch(&gpu, length, length, 1));
        let off = gpu.errors(&straight, 3_000.0, length).0;
        assert!(wander == 0.0 || off > 32.0, "{wander}: {off}");
    }
}

#[test]
fn late_reads_do_not_disturb_durations() {
    const LENGTH: f64 = 5e6;
    let gpu = Wandering::new(4, LENGTH, 2.0);
    let mut anchors = long_launch(&gpu, LENGTH, 50_000.0, 8);
    for (index, anchor) in (0..).zip(&mut anchors) {
        // Of every fifth anchor, the timer was read up to 20 ns after the counter.
        let late = if index % 5 == 0 { (40.0 * jitter(index)) as u64 } else { 0 };
        anchor.clock -= late;
    }
    let (map, diagnostics) = gpu.gpu.fit(&anchors);
    let (worst, length) = gpu.errors(&map, 3_000.0, LENGTH);
    assert!(worst <= 48.0 && length <= 0.002, "{worst} ns, {length} of 1 µs");
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 0);
}

#[test]
fn many_anchors_take_no_quadratic_work() {
    const LENGTH: f64 = 1e9;
    let gpu = Wandering::new(1, LENGTH, 2.0);
    let anchors: Vec<Anchor> =
        (0..200_000).map(|number| gpu.anchor(0, 1_000.0 + 4_950.0 * f64::from(number))).collect();
    let (map, _) = gpu.gpu.fit(&anchors);
    let (worst, _) = gpu.errors(&map, 1_000.0, 9.9e8);
    assert!(worst <= 40.0, "{worst}");
}

/// Warps of the emulator may move alike, by the same multiple of its timer's step.
#[test]
fn the_emulators_step_is_known() {
    let anchors: Vec<Anchor> = (0..40)
        .map(|index| Anchor {
            sm: index % 4,
            clock: u64::from(832 * index),
            globaltimer: u64::from(416 * index),
        })
        .collect();
    let step = |exact| ClockMap::fit(&anchors, 0, exact, &mut Diagnostics::default()).step;
    assert_eq!((step(Some(2000.0)), step(None)), (32.0, 416.0));
}
