//! Which warps can run, and in which order.

use std::collections::{BTreeSet, HashMap};

use crate::block::{Block, Released, lanes, warp_and_lane};
use crate::call_site::CallSite;
use crate::config::{CLOCK_READ_TICKS, WARP_SIZE};
use crate::error::Wait;

/// Virtual cost of one look of a spinning wait.
const YIELD_TICKS: u64 = 16;

/// The resident blocks of a launch and the queue of their runnable warps.
pub(crate) struct State {
    pub(crate) blocks: Vec<Option<Block>>,
    /// (time, sequence, slot, warp): the warp that is furthest after runs next.
    runnable: BTreeSet<(u64, u64, usize, usize)>,
    /// Makes keys distinct, and warps of the same time take turns.
    sequence: u64,
    /// Warps with lanes that have yielded, outside their turn.
    spinning: BTreeSet<(usize, usize)>,
    /// Yields since a thread last did anything else.
    pub(crate) idle_yields: u64,
    /// The latest time of the threads that ran in the current turn.
    turn_time: u64,
    /// The latest time in it at which a thread published something.
    told: Option<u64>,
    /// When what is published was written, by its address.
    written: HashMap<usize, u64>,
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
            told: None,
            written: HashMap::new(),
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

    /// Begins the turn of the warp that is furthest after; `None` if none can run.
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

    /// Lets spinning lanes look again at what they wait for: at the time at which another thread published
    /// something, or else when the last other thread ran. Where that was not what they wait
    /// for, and they yield again, they go on waiting from the time at which they began to.
    fn look_again(&mut self, slot: usize, warp: usize, mask: u32) {
        let turn_time = self.turn_time;
        let block = self.block(slot);
        let entry = &mut block.warps[warp];
        entry.yielded &= !mask;
        entry.ready |= mask;
        let told = entry.told.take();
        let seen = told.unwrap_or_else(|| std::mem::take(&mut entry.observed)).max(turn_time);
        for lane in lanes(mask) {
            let thread = &mut block.threads[warp * WARP_SIZE as usize + lane as usize];
            let looks = (thread.time + YIELD_TICKS).max(seen);
            thread.looking = Some((thread.time, looks));
            thread.time = looks;
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
        if entry.yielded != 0 {
            self.spinning.insert((slot, warp));
        } else {
            entry.looks_at = 0;
        }
        let (turn_time, told) = (self.turn_time, self.told.take());
        let spinning: Vec<(usize, usize)> = self.spinning.iter().copied().collect();
        for (slot, warp) in spinning {
            let Some(block) = &mut self.blocks[slot] else { continue };
            let entry = &mut block.warps[warp];
            match told {
                Some(_) => entry.told = entry.told.max(told),
                None => entry.observed = entry.observed.max(turn_time),
            }
            // Before the thread that told it, and after all that are after it.
            if let Some(time) = told {
                self.enqueue(slot, warp, time);
            }
        }
        let block = self.block(slot);
        let entry = &mut block.warps[warp];
        let earliest =
            |mask| lanes(mask).map(|lane| block.threads[first + lane as usize].time).min();
        let (paused, yielded) = (earliest(entry.paused), earliest(entry.yielded));
        if let Some(time) = paused {
            self.enqueue(slot, warp, time);
        }
        if let Some(time) = yielded {
            // What it waits for can change only when another warp has run.
            let next = self.runnable.first().map_or(0, |&(time, ..)| time);
            let looks_at = &mut self.block(slot).warps[warp].looks_at;
            let time = next.max(time.max(*looks_at) + YIELD_TICKS);
            *looks_at = time;
            self.enqueue(slot, warp, time);
        }
    }

    /// The running thread has written what others may wait for; `time_of` makes of when that was written
    /// last, and of the thread's time, when it is there. True if the thread has to suspend, to let those that
    /// spin, or are after it, look at it as it is now.
    pub(crate) fn publish(
        &mut self,
        slot: usize,
        thread: usize,
        address: usize,
        time_of: impl FnOnce(u64, u64) -> u64,
    ) -> bool {
        let (warp, lane) = warp_and_lane(thread);
        let time = self.block(slot).threads[thread].time;
        let written = self.written.entry(address).or_insert(0);
        *written = time_of(*written, time);
        let has_others = !self.spinning.is_empty();
        let is_ahead = self.runnable.first().is_some_and(|&(after, ..)| after < time);
        let is_watched = has_others || self.block(slot).warps[warp].yielded != 0;
        if is_watched {
            self.told = self.told.max(Some(time));
        }
        let pause = is_watched || is_ahead;
        self.block(slot).warps[warp].paused |= u32::from(pause) << lane;
        pause
    }

    /// The running thread has read what was written to an address.
    pub(crate) fn observe(&mut self, slot: usize, thread: usize, address: usize) {
        if let Some(&written) = self.written.get(&address) {
            let time = &mut self.block(slot).threads[thread].time;
            *time = written.max(*time);
        }
    }

    /// The running thread works for a while. True if it has to suspend: where the launch is
    /// `stopped`, or to let warps that are now after it run first, so that they do not see what it
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
        let after = self.runnable.first().map(|&(time, ..)| time);
        let block = self.block(slot);
        let time = &mut block.threads[thread].time;
        *time += ticks;
        let pause = stopped || after.is_some_and(|after| after < *time);
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
        let thread = &mut block.threads[thread];
        thread.stamp = entry.events;
        if let Some((yielded, looked)) = thread.looking.take()
            && thread.time == looked
        {
            thread.time = yielded;
        }
    }

    /// The running thread asks which lanes are with it.
    pub(crate) fn ask_mask(&mut self, slot: usize, thread: usize, place: CallSite) {
        self.idle_yields = 0;
        self.block(slot).ask_mask(thread, place);
    }

    /// The running thread leaves the kernel. True if it has to suspend until its warp has.
    pub(crate) fn leave(&mut self, slot: usize, thread: usize) -> bool {
        self.idle_yields = 0;
        let (warp, lane) = warp_and_lane(thread);
        let mut waits = self.block(slot).warps[warp].finished & 1 << lane == 0;
        if !waits {
            return false;
        }
        for released in self.block(slot).leave(thread) {
            waits &= !released.threads.contains(&thread);
            self.release(slot, released, Some(thread));
        }
        waits
    }

    /// The thread that ran has left the kernel.
    pub(crate) fn finish(&mut self, slot: usize, thread: usize) {
        self.idle_yields = 0;
        for released in self.block(slot).finish(thread) {
            self.release(slot, released, None);
        }
    }

    /// The waits of the resident threads.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        self.blocks.iter().flatten().flat_map(Block::waits).collect()
    }
}
