//! A kernel that runs for long, and is looked at meanwhile: it solves linear systems by repetition, and
//! does not know how often it has to repeat.

use profiler_device::{profile_region, profiled, region_end, region_start};
use profiler_kernel::{thread, warp};

/// Threads of a block.
pub const BLOCK: u32 = 64;
/// Unknowns of a system: one a lane.
pub const UNKNOWNS: u32 = 32;
/// The most that an unknown of a solved system changed by in its last sweep.
pub const TOLERANCE: f32 = 1e-2;
/// How many times closer to 1 the coupling of the grid's last warp is.
pub const SLOWER: f32 = 16.0;
/// Sweeps between two looks at how much still changes.
const SWEEPS: u32 = 16;
/// After so many a system is given up: one whose numbers are none, or whose coupling is 1, has no end.
const SWEEPS_MAX: u32 = 1 << 24;
const ALL_LANES: u32 = u32::MAX;

/// Solves `systems` systems a warp, `rounds` times over: of each the unknowns of
/// `x[i] = coupling * (x[i - 1] + x[i + 1]) / 2 + right_side[i]`, which form a ring, by Jacobi's method:
/// sweeps, of which each works out all unknowns from those of the sweep before, until none changes by
/// more than [`TOLERANCE`], or 2^24 are done.
///
/// The closer `coupling` is to 1, the more sweeps it takes. That of the last warp of the grid is
/// [`SLOWER`] times closer. The other warps wait for nothing: it is the one that a program hangs on.
///
/// # Safety
///
/// `right_sides` and `solutions` must be valid for `systems * UNKNOWNS` numbers a warp, each warp's in a
/// row; `coupling` is from 0 to below 1; blocks have [`BLOCK`] threads.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn jacobi(
    right_sides: *const f32,
    solutions: *mut f32,
    coupling: f32,
    systems: u32,
    rounds: u32,
) {
    let lane = warp::lane_id();
    let warp = thread::index_1d() / 32;
    let is_last = warp == thread::grid_dim_x() * BLOCK / 32 - 1;
    let coupling = if is_last { 1.0 - (1.0 - coupling) / SLOWER } else { coupling };
    let mut system = 0;
    while system < systems * rounds {
        let at = ((warp * systems + system % systems) * UNKNOWNS + lane) as usize;
        // SAFETY: one of the warp's systems, and one of its unknowns.
        let right_side = profile_region!("load", wait, { unsafe { *right_sides.add(at) } });
        let solving = region_start!("solve");
        let mut unknown = 0.0;
        let mut sweeps = 0;
        loop {
            let mut before = unknown;
            for _ in 0..SWEEPS {
                before = unknown;
                // SAFETY: all lanes solve the same system, and leave the loop together.
                let (left, right) = unsafe {
                    (
                        warp::shuffle(ALL_LANES, unknown, lane + UNKNOWNS - 1),
                        warp::shuffle(ALL_LANES, unknown, lane + 1),
                    )
                };
                unknown = coupling * 0.5 * (left + right) + right_side;
            }
            sweeps += SWEEPS;
            // SAFETY: as above.
            let is_solved = unsafe { warp::all(ALL_LANES, (unknown - before).abs() <= TOLERANCE) };
            if is_solved || sweeps == SWEEPS_MAX {
                break;
            }
        }
        region_end!(solving, value = sweeps);
        // SAFETY: as for the right side; no other lane has this place.
        unsafe { *solutions.add(at) = unknown };
        system += 1;
    }
}
