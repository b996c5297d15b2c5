//! The errors of a launch.

use std::fmt;

/// Why a launch failed. `Debug` is the text of `Display`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// The configuration asks for something that no GPU can do; the text says what.
    InvalidConfig(String),
    /// `launch` was called from inside a kernel, or while the calling thread was panicking.
    NotFromHere(&'static str),
    /// The operating system refused a stack or a thread.
    Resources(String),
    /// A thread of the kernel panicked.
    Panic {
        /// The block of the thread.
        block: [u32; 3],
        /// The thread in its block.
        thread: [u32; 3],
        /// The panic's message.
        message: String,
    },
    /// Every thread waits, and none can go on.
    Deadlock {
        /// The waits of all threads.
        waits: Vec<Wait>,
        /// Blocks that have not begun, for want of a place on an SM.
        blocks_not_started: u64,
    },
    /// The threads did nothing but yield for as long as the configuration allows.
    Livelock {
        /// The limit that was reached.
        yields: u64,
        /// The waits of all threads.
        waits: Vec<Wait>,
        /// Blocks that have not begun, for want of a place on an SM.
        blocks_not_started: u64,
    },
    /// Another thread of the host ended the launch: see [`crate::Stop`].
    Stopped,
}

/// A thread that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The block of the thread.
    pub block: [u32; 3],
    /// The thread in its block.
    pub thread: [u32; 3],
    /// The reason.
    pub for_what: WaitFor,
}

/// The reason of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitFor {
    /// A barrier of the block.
    Barrier {
        /// Its number.
        id: u32,
        /// The number of threads that have arrived.
        arrived: u32,
        /// The number that is needed.
        needed: u32,
    },
    /// Lanes of its warp, at a barrier that counts warps.
    LanesAtBarrier {
        /// The barrier's number.
        id: u32,
        /// The lanes of the warp that have not left the kernel.
        mask: u32,
        /// The lanes that have arrived.
        arrived: u32,
    },
    /// Lanes of its warp.
    Lanes {
        /// The lanes that were named.
        mask: u32,
        /// The lanes that have arrived.
        arrived: u32,
    },
    /// The thread is spinning: it yields and looks again.
    Spin,
    /// The thread waits to learn the active lanes; another thread ended the launch meanwhile.
    ActiveMask,
}

impl fmt::Display for WaitFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barrier { id, arrived, needed } => {
                write!(f, "barrier {id} ({arrived} of {needed} threads arrived)")
            }
            Self::LanesAtBarrier { id, mask, arrived } => write!(
                f,
                "lanes {mask:#010x} of its warp at barrier {id} ({arrived:#010x} arrived)"
            ),
            Self::Lanes { mask, arrived } => {
                write!(f, "lanes {mask:#010x} of its warp ({arrived:#010x} arrived)")
            }
            Self::Spin => f.write_str("a condition, spinning"),
            Self::ActiveMask => f.write_str("the mask of active lanes"),
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {:?} thread {:?} waits for {}", self.block, self.thread, self.for_what)
    }
}

/// The number of different waits in a message.
const NAMED_WAITS: usize = 8;

/// Threads of a block with the same wait are one line, so that a different one stands out.
fn write_waits(f: &mut fmt::Formatter<'_>, waits: &[Wait], not_started: u64) -> fmt::Result {
    let mut alike: Vec<(&Wait, usize)> = Vec::new();
    for wait in waits {
        let is_like = |(first, _): &&mut (&Wait, usize)| {
            first.block == wait.block && first.for_what == wait.for_what
        };
        match alike.iter_mut().rev().find(is_like) {
            Some((_, count)) => *count += 1,
            None => alike.push((wait, 1)),
        }
    }
    for (first, count) in alike.iter().take(NAMED_WAITS) {
        write!(f, "\n  {first}")?;
        match count - 1 {
            0 => {}
            1 => f.write_str(", and so does another thread of the block")?,
            others => write!(f, ", and so do {others} other threads of the block")?,
        }
    }
    let more: usize = alike.iter().skip(NAMED_WAITS).map(|(_, count)| count).sum();
    if more > 0 {
        write!(f, "\n  and {more} threads more")?;
    }
    if not_started > 0 {
        write!(
            f,
            "\n  {not_started} blocks have not started; if a thread waits for one of them, raise \
             `blocks_per_sm` or the number of SMs"
        )?;
    }
    Ok(())
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidConfig(message) => write!(f, "invalid launch: {message}"),
            Self::NotFromHere(reason) => write!(f, "cannot launch here: {reason}"),
            Self::Resources(message) => write!(
                f,
                "cannot make a thread of the kernel: {message}; lower `blocks_per_sm` or the number of \
                 SMs, or run fewer launches at once (`cargo test -- --test-threads=1`): each thread has a \
                 stack of its own, and Linux bounds a process's memory maps, of which one takes two \
                 (vm.max_map_count)"
            ),
            Self::Panic { block, thread, message } => {
                write!(f, "block {block:?} thread {thread:?} panicked: {message}")
            }
            Self::Deadlock { waits, blocks_not_started } => {
                f.write_str("deadlock: every thread waits, and none can go on")?;
                write_waits(f, waits, *blocks_not_started)
            }
            Self::Livelock { yields, waits, blocks_not_started } => {
                write!(
                    f,
                    "livelock: threads yielded {yields} times and did nothing else; if that is \
                     right, raise `yield_limit`"
                )?;
                write_waits(f, waits, *blocks_not_started)
            }
            Self::Stopped => f.write_str("another thread stopped the launch"),
        }
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LaunchError {}
