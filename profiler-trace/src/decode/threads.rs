//! Work on many slots at once.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::progress::Progress;

/// Pieces of work for each thread, so that those who are done early take over from others.
const PIECES: usize = 16;

/// The number of threads that the machine runs at once.
pub(super) fn available() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Does the work for the numbers up to `count`, range by range, and returns what came of the ranges in
/// their order. Each thread has a state of its own.
pub(super) fn in_ranges<State: Default, Done: Send>(
    threads: NonZeroUsize,
    count: usize,
    work: impl Fn(&mut State, Range<usize>) -> Done + Sync,
) -> Vec<Done> {
    if threads.get() == 1 || count <= 1 {
        return vec![work(&mut State::default(), 0..count)];
    }
    let pieces = count.min(threads.get().saturating_mul(PIECES));
    let next = AtomicUsize::new(0);
    let progress = Progress::current();
    let run = || {
        let mut state = State::default();
        let mut done = Vec::new();
        loop {
            // Relaxed: it need only give each piece to one thread. The scope's beginning and its
            // joins order the input and the results.
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return done;
            }
            let start = |piece: usize| (piece as u128 * count as u128 / pieces as u128) as usize;
            done.push((piece, work(&mut state, start(piece)..start(piece + 1))));
        }
    };
    let mut done: Vec<(usize, Done)> = thread::scope(|scope| {
        let watched = || match &progress {
            Some(progress) => progress.watch(run),
            None => run(),
        };
        let others: Vec<_> = (1..threads.get().min(pieces)).map(|_| scope.spawn(watched)).collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(piece, _)| *piece);
    done.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order_and_cover_everything() {
        for count in [0, 1, 2, 7, 1000] {
            for threads in [1, 2, 3, 40] {
                let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
                let ranges = in_ranges(threads, count, |(), range| range);
                assert!(!ranges.is_empty(), "nothing is a range, too");
                let numbers: Vec<usize> = ranges.into_iter().flatten().collect();
                assert!(numbers.into_iter().eq(0..count));
            }
        }
    }
}
