//! Traces whose times are noise as on a GPU: regions depend on the region before them, blocks on
//! their SM, launches on their capture, and none of it is normal.

use crate::model::{SiteIndex, Trace};
use profiler_wire::SiteKind;

use crate::support::{gpu, launch, region, site, warp};

/// Numbers that look random and are the same each time: xorshift64* (G. Marsaglia, 2003; S. Vigna,
/// 2016).
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds that lie side by side must not begin alike.
        let mut noise = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            noise.uniform();
        }
        noise
    }

    /// From 0 to below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 0 with the standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// How much of the logarithm of a duration comes from where: standard deviations.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) captures: usize,
    pub(crate) launches: usize,
    pub(crate) blocks: u32,
    /// Blocks go to them in turns.
    pub(crate) sms: u32,
    pub(crate) regions: usize,
    pub(crate) names: usize,
    pub(crate) of_capture: f64,
    pub(crate) of_launch: f64,
    /// How much of a launch's deviation the next one keeps.
    pub(crate) launch_memory: f64,
    pub(crate) of_sm: f64,
    pub(crate) of_block: f64,
    pub(crate) of_region: f64,
    /// How much of a region's deviation the next one of the warp keeps.
    pub(crate) region_memory: f64,
    /// All durations times this.
    pub(crate) scale: f64,
}

/// Eight launches of 8 blocks on 4 SMs, 30 regions a warp that much depend on each other.
pub(crate) const MODEL: Model = Model {
    captures: 1,
    launches: 8,
    blocks: 8,
    sms: 4,
    regions: 30,
    names: 1,
    of_capture: 0.0,
    of_launch: 0.03,
    launch_memory: 0.0,
    of_sm: 0.0,
    of_block: 0.05,
    of_region: 0.1,
    region_memory: 0.9,
    scale: 1.0,
};

impl Model {
    /// One side: a trace for each capture. Regions are called `work 0`, `work 1`, ..
    pub(crate) fn side(&self, noise: &mut Noise) -> Vec<Trace> {
        (0..self.captures).map(|_| self.trace(noise)).collect()
    }

    fn trace(&self, noise: &mut Noise) -> Trace {
        let mut trace = gpu();
        let kernel = site(&mut trace, SiteKind::Kernel, "noisy");
        let names: Vec<SiteIndex> = (0..self.names)
            .map(|name| site(&mut trace, SiteKind::Region, &format!("work {name}")))
            .collect();
        let of_capture = self.of_capture * noise.normal();
        let mut of_launch = noise.normal();
        for number in 0..self.launches {
            let memory = self.launch_memory;
            of_launch = memory * of_launch + (1.0 - memory * memory).sqrt() * noise.normal();
            let begin = number as f64 * 1e6;
            launch(&mut trace, kernel, [self.blocks, 1, 1], begin, begin + 1e5);
            let of_sm: Vec<f64> = (0..self.sms).map(|_| self.of_sm * noise.normal()).collect();
            for block in 0..self.blocks {
                let of_block = self.of_block * noise.normal();
                let entry = begin + f64::from(block);
                let of = warp(&mut trace, [block, 0, 0], 0, entry, begin + 1e5);
                trace.warps[of].sm = block % self.sms;
                for name in &names {
                    let shared = of_capture
                        + self.of_launch * of_launch
                        + of_block
                        + of_sm[(block % self.sms) as usize];
                    self.regions(&mut trace, of, *name, shared, noise);
                }
            }
        }
        trace
    }

    /// The regions of one name in a warp.
    fn regions(
        &self,
        trace: &mut Trace,
        of: usize,
        name: SiteIndex,
        shared: f64,
        noise: &mut Noise,
    ) {
        let memory = self.region_memory;
        let mut own = noise.normal();
        let mut at = trace.warps[of].entry.ns;
        for _ in 0..self.regions {
            own = memory * own + (1.0 - memory * memory).sqrt() * noise.normal();
            // Now and then something takes three times as long: two modes and a tail.
            let slow = if noise.uniform() < 0.05 { 3.0 } else { 1.0 };
            let ns = 200.0 * self.scale * slow * (shared + self.of_region * own).exp();
            region(trace, of, name, 0, at, at + ns);
            at += ns;
        }
    }
}
