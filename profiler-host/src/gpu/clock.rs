//! Reads the host's clock and the GPU's at one moment.

use profiler_trace::ClockPair;

use super::driver::{self, DeviceMemory};
use super::handles::{Module, Stream};
use crate::arrays::{Memory, Rows};
use crate::error::Error;
use crate::launch::Shape;

/// A kernel that stores `%globaltimer` (PTX ISA, "Special Registers: %globaltimer").
pub(crate) const PTX: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry profiler_read_globaltimer(.param .u64 into)
{
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [into];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u64 %rd3, %globaltimer;
	st.global.u64 [%rd2], %rd3;
	ret;
}
";

const KERNEL: &str = "profiler_read_globaltimer";

/// How often the kernel is launched for one pair.
const ROUNDS: usize = 64;

/// A kernel that reads the GPU's timer, ready to be launched. What it is made of is dropped before
/// the session's context.
#[derive(Debug)]
pub(crate) struct ClockReader {
    module: Module,
    stream: Stream,
    memory: DeviceMemory,
}

impl ClockReader {
    pub(crate) fn new() -> Result<Self, Error> {
        let module = driver::load(PTX)?;
        let stream = Stream::new()?;
        let memory = DeviceMemory::new(8, || "free device memory".to_owned())?;
        Ok(Self { module, stream, memory })
    }

    /// What both clocks say; `now_ns` reads the host's. Waits for nothing but its own kernels.
    pub(crate) fn read(&self, now_ns: impl Fn() -> u64) -> Result<ClockPair, Error> {
        let kernel = super::function(self.module.raw(), PTX, KERNEL)?;
        let mut readings = Vec::with_capacity(ROUNDS);
        // The first launch loads the kernel's code, which makes its bounds wide and does no harm.
        for _ in 0..ROUNDS {
            let mut into = self.memory.address();
            let before_ns = now_ns();
            let mut arguments = [(&raw mut into).cast()];
            // SAFETY: the kernel takes one address and stores eight bytes there, which `memory` has.
            unsafe {
                driver::launch(kernel, Shape::new(1, 1, 0), self.stream.as_inner(), &mut arguments)
            }?;
            driver::synchronize(self.stream.as_inner())?;
            let after_ns = now_ns();
            let mut timer = [0; 8];
            self.memory.read(self.memory.address(), Rows::all(timer.len()), &mut timer)?;
            let timer_ns = u64::from_le_bytes(timer);
            readings.push(Reading { before_ns, timer_ns, after_ns });
        }
        Ok(agree(&readings).unwrap_or_default())
    }
}

/// A reading of the GPU's timer between two of the host's clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before_ns: u64,
    timer_ns: u64,
    after_ns: u64,
}

/// Where the last reading lies by what all of them allow. The timer was read between the two
/// readings of the host's clock, and each such pair bounds how far the clocks are apart; in the short
/// time of all readings that does not change. `None` of none.
fn agree(readings: &[Reading]) -> Option<ClockPair> {
    let last = readings.last()?;
    let apart = |timer: u64, host: u64| {
        (i128::from(timer) - i128::from(last.timer_ns))
            - (i128::from(host) - i128::from(last.after_ns))
    };
    // The timer less the host's clock: more than at the reading after, less than at that before.
    let least = readings.iter().map(|it| apart(it.timer_ns, it.after_ns)).max()?;
    let most = readings.iter().map(|it| apart(it.timer_ns, it.before_ns)).min()?;
    // The timer shows its last step, and it may be a step behind.
    let steps = readings.windows(2).map(|pair| pair[1].timer_ns.saturating_sub(pair[0].timer_ns));
    let step = steps.filter(|step| *step > 0).reduce(gcd).unwrap_or(1);
    let middle = (least + most) / 2;
    let device_ns = u64::try_from(i128::from(last.timer_ns) + middle).unwrap_or(last.timer_ns);
    // Where the clocks drifted apart meanwhile, the bounds may cross.
    let uncertainty_ns = (most - least).abs() as f64 / 2.0 + step as f64;
    Some(ClockPair { host_ns: last.after_ns, device_ns, uncertainty_ns })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{Reading, agree};

    /// How far the made-up timer is ahead of the host's clock.
    const AHEAD: u64 = 1_763_700_000_000_000_000;

    #[test]
    fn the_true_offset_is_within_what_is_stated() {
        let mut random = 1_u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % limit
        };
        for step in [1, 32, 1_000] {
            let mut host = 1_000_000;
            let readings: Vec<Reading> = (0..64)
                .map(|_| {
                    let before_ns = host;
                    let read = before_ns + 2_000 + below(5_000);
                    let after_ns = read + 1_000 + below(5_000);
                    host = after_ns + 300;
                    let timer_ns = (AHEAD + read) / step * step;
                    Reading { before_ns, timer_ns, after_ns }
                })
                .collect();
            let pair = agree(&readings).expect("there are readings");
            let error = i128::from(pair.device_ns) - i128::from(AHEAD + pair.host_ns);
            assert!(error.abs() as f64 <= pair.uncertainty_ns, "{error} {pair:?}");
            assert!(pair.uncertainty_ns < 2_000.0 + 2.0 * step as f64, "{pair:?}");
        }
        assert!(agree(&[]).is_none());
    }
}
