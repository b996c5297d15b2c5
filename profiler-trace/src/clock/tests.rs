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
fn a_clock_that_was_reset_is_a_contradiction() {
    let gpu = Gpu::steady(1.9);
    let mut anchors = launch(&gpu, 1, 4, 1_000.0, 1e6);
    let mut later = launch(&gpu, 1, 4, 1_000.0, 1e6);
    later.iter_mut().for_each(|anchor| anchor.globaltimer += 32_000_000);
    anchors.append(&mut later);
    let (_, diagnostics) = gpu.fit(&anchors);
    assert_eq!(diagnostics.count(DiagnosticKind::ClockContradiction), 1);
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
