//! Which warps can run, and in which order.

use std::collections::BTreeSet;

use crate::block::{Block, Released, lanes, warp_and_lane};
use crate::config::{CLOCK_READ_TICKS, WARP_SIZE};
use crate::error::Wait;
use crate::place::Place;

/// Virtual cost of one look of a spinning wait.
const YIELD_TICKS: u64 = 16;

/// The resident blocks of a launch and the queue of their runnable warps.
pub(crate) struct State {
    pub(crate) blocks: Vec<Option<Block>>,
    /// (time, sequence, slot, warp): the warp that is furthest behind runs next.
    runnable: BTreeSet<(u64, u64, usize, usize)>,
    /// Makes keys distinct, and warps of the same time take turns.
    sequence: u64,
    /// Warps with lanes that have yielded, outside their turn.
    spinning: BTreeSet<(usize, usize)>,
    /// Yields since a thread last did anything else.
    pub(crate) idle_yields: u64,
    /// The latest time of the threads that ran in the current turn.
    turn_time: u64,
    /// The latest time of all.
    pub(crate) latest: u64,
    /// The earliest that the next reading of a [serial](crate::ClockMode::Serial) clock may be.
    reading: u64,
}

impl State {
    pub(crate) fn new(slots: usize, start: u64) -> Self {
        Self {
            blocks: (0..slots).map(|_| None).collect(),
            runnable: BTreeSet::new(),
            sequence: 0,
            spinning: BTreeSet::new(),
            idle_yields: 0,
            turn_time: 0,
            latest: start,
            reading: start,
        }
    }

    /// The block in a slot.
    pub(crate) fn block(&mut self, slot: usize) -> &mut Block {
        self.blocks[slot].as_mut().expect("a slot is asked for only by the threads of its block")
    }

    /// A reading of a serial clock by a thread at some virtual time.
    pub(crate) fn next_reading(&mut self, time: u64) -> u64 {
        let now = self.reading.max(time);
        self.reading = now + CLOCK_READ_TICKS;
        self.latest = self.latest.max(self.reading);
        now
    }

    pub(crate) fn place_block(&mut self, slot: usize, block: Block, start: u64) {
        let warps = block.warps.len();
        self.blocks[slot] = Some(block);
        self.idle_yields = 0;
        for warp in 0..warps {
            self.enqueue(slot, warp, start);
        }
    }

    fn enqueue(&mut self, slot: usize, warp: usize, time: u64) {
        self.sequence += 1;
        let sequence = self.sequence;
        let entry = &mut self.block(slot).warps[warp];
        if entry.in_turn || entry.queued.is_some_and(|(queued, _)| queued <= time) {
            return;
        }
        let before = entry.queued.replace((time, sequence));
        if let Some((time, sequence)) = before {
            self.runnable.remove(&(time, sequence, slot, warp));
        }
        self.runnable.insert((time, sequence, slot, warp));
    }

    /// Lets threads go on, none of them earlier than the release; `except` runs already.
    pub(crate) fn release(&mut self, slot: usize, released: Released, except: Option<usize>) {
        self.idle_yields = 0;
        let mut woken = 0;
        for thread in released.threads {
            let (warp, lane) = warp_and_lane(thread);
            let block = self.block(slot);
            block.threads[thread].time = released.time;
            if except != Some(thread) {
                block.warps[warp].ready |= 1 << lane;
                if woken != warp + 1 {
                    woken = warp + 1;
                    self.enqueue(slot, warp, released.time);
                }
            }
        }
    }

    /// Begins the turn of the warp that is furthest behind; `None` if none can run.
    pub(crate) fn begin_turn(&mut self) -> Option<(usize, usize)> {
        let (_, _, slot, warp) = self.runnable.pop_first()?;
        self.spinning.remove(&(slot, warp));
        self.turn_time = 0;
        let entry = &mut self.block(slot).warps[warp];
        entry.queued = None;
        entry.in_turn = true;
        entry.ready |= std::mem::take(&mut entry.paused);
        let yielded = entry.yielded;
        self.look_again(slot, warp, yielded);
        Some((slot, warp))
    }

    /// Lets spinning lanes look again at what they wait for.
    fn look_again(&mut self, slot: usize, warp: usize, mask: u32) {
        let turn_time = self.turn_time;
        let block = self.block(slot);
        let entry = &mut block.warps[warp];
        entry.yielded &= !mask;
        entry.ready |= mask;
        for lane in lanes(mask) {
            let thread = &mut block.threads[warp * WARP_SIZE as usize + lane as usize];
            thread.time = (thread.time + YIELD_TICKS).max(entry.observed).max(turn_time);
        }
    }

    /// The next thread of the warp whose turn it is; `None` ends the turn.
    pub(crate) fn next_thread(&mut self, slot: usize, warp: usize) -> Option<usize> {
        loop {
            let block = self.block(slot);
            let entry = &mut block.warps[warp];
            let first = warp * WARP_SIZE as usize;
            if entry.ready != 0 {
                let lane = entry.ready.trailing_zeros();
                entry.ready &= entry.ready - 1;
                return Some(first + lane as usize);
            }
            if entry.asking_mask == 0 || entry.paused != 0 {
                return None;
            }
            // A lane that yielded before another asked may have come to the same place by now.
            let stamp = |lane| block.threads[first + lane as usize].stamp;
            let asked = lanes(entry.asking_mask).map(stamp).max().unwrap_or(0);
            let stale = lanes(entry.yielded)
                .filter(|&lane| stamp(lane) < asked)
                .fold(0, |mask, lane| mask | 1 << lane);
            if stale != 0 {
                self.look_again(slot, warp, stale);
            } else if let Some(released) = block.answer_mask(warp) {
                self.release(slot, released, None);
            }
        }
    }

    /// A thread has just run, and suspended or ended.
    pub(crate) fn has_run(&mut self, slot: usize, thread: usize) {
        let time = self.block(slot).threads[thread].time;
        self.turn_time = self.turn_time.max(time);
        self.latest = self.latest.max(time);
    }

    pub(crate) fn end_turn(&mut self, slot: usize, warp: usize) {
        let first = warp * WARP_SIZE as usize;
        let block = self.block(slot);
        let entry = &mut block.warps[warp];
        entry.in_turn = false;
        let earliest =
            |mask| lanes(mask).map(|lane| block.threads[first + lane as usize].time).min();
        let (paused, yielded) = (earliest(entry.paused), earliest(entry.yielded));
        if let Some(time) = paused {
            self.enqueue(slot, warp, time);
        }
        if let Some(time) = yielded {
            // What it waits for can change only when another warp has run.
            let next = self.runnable.first().map_or(0, |&(time, ..)| time);
            self.enqueue(slot, warp, next.max(time + YIELD_TICKS));
            self.spinning.insert((slot, warp));
        }
        let turn_time = self.turn_time;
        let Self { spinning, blocks, .. } = self;
        for &(slot, warp) in &*spinning {
            if let Some(block) = &mut blocks[slot] {
                let observed = &mut block.warps[warp].observed;
                *observed = turn_time.max(*observed);
            }
        }
    }

    /// The running thread works for a while. True if it has to suspend: where the launch is
    /// `stopped`, or to let warps that are now behind it run first, so that they do not see what it
    /// does after that.
    pub(crate) fn advance(
        &mut self,
        slot: usize,
        thread: usize,
        ticks: u64,
        stopped: bool,
    ) -> bool {
        self.idle_yields = 0;
        let (warp, lane) = warp_and_lane(thread);
        let behind = self.runnable.first().map(|&(time, ..)| time);
        let block = self.block(slot);
        let time = &mut block.threads[thread].time;
        *time += ticks;
        let pause = stopped || behind.is_some_and(|behind| behind < *time);
        if pause {
            block.warps[warp].paused |= 1 << lane;
        }
        pause
    }

    /// The running thread yields.
    pub(crate) fn yield_thread(&mut self, slot: usize, thread: usize) {
        self.idle_yields += 1;
        let (warp, lane) = warp_and_lane(thread);
        let block = self.block(slot);
        let entry = &mut block.warps[warp];
        entry.yielded |= 1 << lane;
        entry.events += 1;
        block.threads[thread].stamp = entry.events;
    }

    /// The running thread asks which lanes are with it.
    pub(crate) fn ask_mask(&mut self, slot: usize, thread: usize, place: Place) {
        self.idle_yields = 0;
        self.block(slot).ask_mask(thread, place);
    }

    /// The thread that ran has left the kernel.
    pub(crate) fn finish(&mut self, slot: usize, thread: usize) {
        self.idle_yields = 0;
        for released in self.block(slot).finish(thread) {
            self.release(slot, released, None);
        }
    }

    /// What each resident thread waits for.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        self.blocks.iter().flatten().flat_map(Block::waits).collect()
    }
}
