//! A kernel for each strategy, clock and buffer that runs a program from memory: what it records is then
//! data, and random programs need no compiler.
//!
//! A program is an array of [`Instruction`]s. Those that enclose others are followed by them. Every
//! loop is bounded, and each thread runs at most so many instructions as its fuel says, so that no
//! program hangs.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use profiler_device::hardware::{
    block_dim, block_index, clock64, grid_dim, lane_id, thread_index, warp_index,
};
use profiler_device::{
    Recorder, RegionToken, profile_anchor, profile_mark, profile_names, profile_region,
    profile_signal, profile_wait, profiled, recorder, region_end, region_start,
};
// For its panic handler.
use profiler_kernel as _;

profile_names!(pub TASK = ["load", "compute", "store"], unit = "bytes");

/// The code of an [`Operation`], how many instructions its body and its other body have, and its
/// argument.
pub type Instruction = [u32; 4];

/// Tokens that a thread can hold at a time.
pub const TOKENS: usize = 4;

/// The warp whose lane 0 records in the kernels and regions `by = warp(n)`.
pub const WARP_INDEX: u32 = 1;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What an instruction does. The order is that of the places in `step`: who is elected, and who
        /// begins a region together, the emulator answers in the order of the source, and who ends one
        /// in the reverse order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum Operation {
            $($(#[$doc])* $name,)*
        }

        impl Operation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The operation with this code.
            #[inline(always)]
            #[must_use]
            pub const fn from_code(code: u32) -> Option<Self> {
                $(if code == Self::$name as u32 {
                    return Some(Self::$name);
                })*
                None
            }
        }
    };
}

operations! {
    /// Calls `call` with its body: a device function that is a region, and recursive.
    Call,
    /// A region around its body.
    Region,
    /// The same with its argument as value.
    RegionValue,
    /// The same, whose value is 1 for the lanes in its argument and 0 for the others.
    RegionLanes,
    /// The same without a value, whose end waits for one, and which pins one.
    RegionWait,
    /// A region to the end of the block, which is its body, on the track of its argument.
    Statement,
    /// The same with a negative value, on the warp's own track.
    StatementValue,
    /// A region with a name of [`TASK`] and a value, both by its argument.
    Named,
    /// A region with the first name of [`TASK`] for the lanes in its argument, and the second for the
    /// others.
    NamedLanes,
    /// A region of lane 0 of warp 0.
    ByBlock,
    /// A region of lane 0 of each warp.
    ByWarp,
    /// A region of lane 0 of warp [`WARP_INDEX`].
    ByWarpIndex,
    /// A region of lane 0 of every fourth warp.
    ByWarpGroup,
    /// A region of the elected lane.
    ByElected,
    /// A region of every thread.
    ByThread,
    /// A region of the lanes in its argument.
    ByWhen,
    /// Opens a region with the token of its argument's number; what that held is dropped.
    Start,
    /// Ends the region of that token, if there is one.
    End,
    /// The same with a value.
    EndValue,
    /// A mark.
    Mark,
    /// A mark with its argument as value.
    MarkValue,
    /// A mark of the elected lane, whose value is a fraction.
    MarkElected,
    /// A mark of every thread.
    MarkThread,
    /// A signal whose key is its argument.
    Signal,
    /// A wait whose key is its argument.
    Wait,
    /// A reading of both clocks.
    Anchor,
    /// So many clock reads as its argument says, of which none is recorded.
    Work,
    /// The body for the lanes in its argument, the other body for the others.
    Lanes,
    /// The same for warps.
    Warps,
    /// The body so many times as its argument says.
    Repeat,
    /// Ends the innermost [`Operation::Repeat`] for the lanes in its argument.
    Break,
    /// The lanes in its argument leave the kernel.
    Return,
}

/// The value of a region by [`Operation::StatementValue`].
#[inline(always)]
#[must_use]
pub const fn negative(argument: u32) -> i16 {
    -((argument & 0x7fff) as i16) - 1
}

/// Whether the value of a region that [`Operation::EndValue`] ends has a type of 16 bits.
#[inline(always)]
#[must_use]
pub const fn ends_with_short_value(token: usize) -> bool {
    token < 2
}

/// The value of a mark by [`Operation::MarkElected`].
#[inline(always)]
#[must_use]
pub const fn fraction(argument: u32) -> f32 {
    (argument & 0xffff) as f32 / 4.0
}

/// The track of a region by [`Operation::Statement`].
#[inline(always)]
#[must_use]
pub const fn track(argument: u32) -> u32 {
    argument % 3
}

/// What a thread's result is once it has run one more instruction.
#[inline(always)]
#[must_use]
pub const fn trail(result: u32, code: u32) -> u32 {
    result.wrapping_mul(31).wrapping_add(code + 1)
}

/// How it goes on after an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Return,
}

/// What a thread knows while it runs a program.
struct Machine<'a> {
    prof: Recorder<'a>,
    program: *const Instruction,
    tokens: [Option<RegionToken<'a>>; TOKENS],
    lane: u32,
    warp: u32,
    /// Instructions that it may still run.
    fuel: u32,
    /// See [`trail`].
    result: u32,
}

/// A device function whose body is a region; programs call it from itself.
#[profiled(name = "call")]
#[inline(never)]
fn call(prof: Recorder<'_>, machine: &mut Machine<'_>, from: u32, to: u32) -> Flow {
    run(machine, from, to)
}

/// Runs instructions; those that enclose others come back to it.
#[inline(never)]
fn run(machine: &mut Machine<'_>, from: u32, to: u32) -> Flow {
    let mut at = from;
    while at < to {
        if machine.fuel == 0 {
            return Flow::Return;
        }
        machine.fuel -= 1;
        // SAFETY: the kernel's caller vouches for the program: bodies end within it.
        let instruction = unsafe { *machine.program.add(at as usize) };
        machine.result = trail(machine.result, instruction[0]);
        let flow = step(machine, at + 1, instruction);
        if flow != Flow::Next {
            return flow;
        }
        at += 1 + instruction[1] + instruction[2];
    }
    Flow::Next
}

/// Runs a body; leaves the function around it where the body does not come to its end.
macro_rules! run {
    ($machine:ident, $from:expr, $to:expr) => {
        match run($machine, $from, $to) {
            Flow::Next => {}
            flow => return flow,
        }
    };
}

/// Runs one instruction, whose body begins at `from`.
#[inline(always)]
fn step(machine: &mut Machine<'_>, from: u32, [code, body, other, argument]: Instruction) -> Flow {
    let prof = machine.prof;
    let to = from + body;
    let in_lanes = argument >> machine.lane & 1 != 0;
    let token = argument as usize % TOKENS;
    let Some(operation) = Operation::from_code(code) else { return Flow::Return };
    match operation {
        Operation::Call => return call(prof, machine, from, to),
        Operation::Region => {
            profile_region!("region", recorder = prof, { run!(machine, from, to) });
        }
        Operation::RegionValue => {
            profile_region!("region with value", value = argument, recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::RegionLanes => {
            profile_region!("region of lanes", value = in_lanes, recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::RegionWait => {
            let mut sum = argument;
            machine.result ^= profile_region!("awaited", wait, pin = sum, recorder = prof, {
                run!(machine, from, to);
                sum = sum.wrapping_mul(3);
                sum
            });
        }
        Operation::Statement => {
            profile_region!("statement", track = track(argument), recorder = prof);
            run!(machine, from, to);
        }
        Operation::StatementValue => {
            profile_region!("statement with value", value = negative(argument), recorder = prof);
            run!(machine, from, to);
        }
        Operation::Named => {
            profile_region!(TASK[argument], value = u64::from(argument), recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::NamedLanes => {
            profile_region!(TASK[u32::from(!in_lanes)], value = in_lanes, recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::ByBlock => {
            profile_region!("by block", by = block, recorder = prof, { run!(machine, from, to) });
        }
        Operation::ByWarp => {
            profile_region!("by warp", by = warp, recorder = prof, { run!(machine, from, to) });
        }
        Operation::ByWarpIndex => {
            profile_region!("by warp index", by = warp(WARP_INDEX), recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::ByWarpGroup => {
            profile_region!("by warp group", by = warp_group, recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::ByElected => {
            profile_region!("by elected", by = elected, recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::ByThread => {
            profile_region!("by thread", by = thread, recorder = prof, { run!(machine, from, to) });
        }
        Operation::ByWhen => {
            profile_region!("by when", by = when(in_lanes), recorder = prof, {
                run!(machine, from, to)
            });
        }
        Operation::Start => {
            // A site for each, so that what crosses cannot be paired wrongly.
            machine.tokens[token] = Some(match token {
                0 => region_start!("token 0", recorder = prof),
                1 => region_start!("token 1", recorder = prof, track = 1),
                2 => region_start!("token 2", recorder = prof),
                _ => region_start!("token 3", recorder = prof),
            });
        }
        Operation::End => {
            if let Some(token) = machine.tokens[token].take() {
                region_end!(token);
            }
        }
        Operation::EndValue => {
            if let Some(taken) = machine.tokens[token].take() {
                if ends_with_short_value(token) {
                    region_end!(taken, value = argument as u16);
                } else {
                    region_end!(taken, value = argument);
                }
            }
        }
        Operation::Mark => profile_mark!("mark", recorder = prof),
        Operation::MarkValue => profile_mark!("mark with value", argument, recorder = prof),
        Operation::MarkElected => {
            profile_mark!("mark of one", fraction(argument), by = elected, recorder = prof);
        }
        Operation::MarkThread => profile_mark!("mark of each", by = thread, recorder = prof),
        Operation::Signal => profile_signal!("key", argument, recorder = prof),
        Operation::Wait => profile_wait!("key", argument, recorder = prof),
        Operation::Anchor => profile_anchor!(recorder = prof),
        Operation::Work => {
            let mut left = argument;
            while left > 0 {
                let _ = clock64();
                left -= 1;
            }
        }
        Operation::Lanes => {
            if in_lanes {
                run!(machine, from, to);
            } else {
                run!(machine, to, to + other);
            }
        }
        Operation::Warps => {
            if argument >> machine.warp & 1 != 0 {
                run!(machine, from, to);
            } else {
                run!(machine, to, to + other);
            }
        }
        Operation::Repeat => {
            let mut left = argument;
            while left > 0 {
                match run(machine, from, to) {
                    Flow::Next => {}
                    Flow::Break => break,
                    Flow::Return => return Flow::Return,
                }
                left -= 1;
            }
        }
        Operation::Break => {
            if in_lanes {
                return Flow::Break;
            }
        }
        Operation::Return => {
            if in_lanes {
                return Flow::Return;
            }
        }
    }
    Flow::Next
}

macro_rules! kernels {
    (|$when:ident| $($(#[$doc:meta])* $name:ident: $($option:ident = $value:tt $(($argument:expr))?),*;)*) => {$(
        $(#[$doc])*
        ///
        /// `when` names the lanes that record in the kernels `by = when(..)`. Each thread runs at
        /// most `fuel` instructions and writes what [`trail`] makes of them.
        ///
        /// # Safety
        ///
        /// `program` must be valid for `length` instructions, of which no body ends after the last,
        /// and `output` for one number a thread of the grid.
        #[profiled($($option = $value $(($argument))?),*)]
        pub unsafe extern "ptx-kernel" fn $name(
            program: *const Instruction,
            length: u32,
            $when: u32,
            fuel: u32,
            output: *mut u32,
        ) {
            let _ = $when;
            let mut machine = Machine {
                prof: recorder!(),
                program,
                tokens: [const { None }; TOKENS],
                lane: lane_id(),
                warp: warp_index(),
                fuel,
                result: 0,
            };
            run(&mut machine, 0, length);
            // SAFETY: one number a thread.
            unsafe { *output.add(thread_of_grid()) = machine.result };
        }
    )*};
}

#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
kernels! { |when|
    /// By lane 0 of warp 0.
    by_block: by = block;
    /// By lane 0 of each warp.
    by_warp: by = warp;
    /// By lane 0 of one warp.
    by_warp_index: by = warp(WARP_INDEX);
    /// By lane 0 of every fourth warp.
    by_warp_group: by = warp_group;
    /// By the elected lane.
    by_elected: by = elected;
    /// By every thread.
    by_thread: by = thread;
    /// By some lanes.
    by_when: by = when(when >> lane_id() & 1 != 0);
    /// By lane 0 of warp 0, by the global timer.
    timed_by_block: by = block, clock = globaltimer;
    /// By lane 0 of each warp, by the global timer.
    timed_by_warp: by = warp, clock = globaltimer;
    /// By lane 0 of one warp, by the global timer.
    timed_by_warp_index: by = warp(WARP_INDEX), clock = globaltimer;
    /// By lane 0 of every fourth warp, by the global timer.
    timed_by_warp_group: by = warp_group, clock = globaltimer;
    /// By the elected lane, by the global timer.
    timed_by_elected: by = elected, clock = globaltimer;
    /// By every thread, by the global timer.
    timed_by_thread: by = thread, clock = globaltimer;
    /// By some lanes, by the global timer.
    timed_by_when: by = when(when >> lane_id() & 1 != 0), clock = globaltimer;
}

// A module of their own: on a GPU all buffers of a module that has one of these lie in the host's memory.
#[cfg(any(not(target_arch = "nvptx64"), feature = "host-buffer"))]
kernels! { |when|
    /// [`by_block`] into the host's memory.
    hosted_by_block: by = block, buffer = host;
    /// [`by_warp`] into the host's memory.
    hosted_by_warp: by = warp, buffer = host;
    /// [`by_warp_index`] into the host's memory.
    hosted_by_warp_index: by = warp(WARP_INDEX), buffer = host;
    /// [`by_warp_group`] into the host's memory.
    hosted_by_warp_group: by = warp_group, buffer = host;
    /// [`by_elected`] into the host's memory.
    hosted_by_elected: by = elected, buffer = host;
    /// [`by_thread`] into the host's memory.
    hosted_by_thread: by = thread, buffer = host;
    /// [`by_when`] into the host's memory.
    hosted_by_when: by = when(when >> lane_id() & 1 != 0), buffer = host;
    /// [`timed_by_block`] into the host's memory.
    hosted_timed_by_block: by = block, clock = globaltimer, buffer = host;
    /// [`timed_by_warp`] into the host's memory.
    hosted_timed_by_warp: by = warp, clock = globaltimer, buffer = host;
    /// [`timed_by_warp_index`] into the host's memory.
    hosted_timed_by_warp_index: by = warp(WARP_INDEX), clock = globaltimer, buffer = host;
    /// [`timed_by_warp_group`] into the host's memory.
    hosted_timed_by_warp_group: by = warp_group, clock = globaltimer, buffer = host;
    /// [`timed_by_elected`] into the host's memory.
    hosted_timed_by_elected: by = elected, clock = globaltimer, buffer = host;
    /// [`timed_by_thread`] into the host's memory.
    hosted_timed_by_thread: by = thread, clock = globaltimer, buffer = host;
    /// [`timed_by_when`] into the host's memory.
    hosted_timed_by_when: by = when(when >> lane_id() & 1 != 0), clock = globaltimer, buffer = host;
}

/// The thread's number in the grid: blocks count x first, and so do the threads of a block.
#[inline(always)]
fn thread_of_grid() -> usize {
    let linear = |[x, y, z]: [u32; 3], [width, height, _]: [u32; 3]| (z * height + y) * width + x;
    let [x, y, z] = block_dim();
    let threads = x * y * z;
    (linear(block_index(), grid_dim()) * threads + linear(thread_index(), block_dim())) as usize
}
