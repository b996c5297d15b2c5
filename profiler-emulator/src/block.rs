//! A resident block: its threads, warps and barriers.

use std::mem::take;
use std::sync::Arc;

use crate::call_site::CallSite;
use crate::config::WARP_SIZE;
use crate::error::{Wait, WaitFor};
use crate::shared::SharedMemory;

/// Named barriers of a block (PTX ISA, `bar.sync`: barriers 0 to 15).
pub(crate) const BARRIERS: usize = 16;

/// The part of a thread that others may look at.
pub(crate) struct Thread {
    /// Virtual time in ticks.
    pub(crate) time: u64,
    /// The warp's event at which the thread last yielded or asked for the mask.
    pub(crate) stamp: u64,
    /// The place where it asks for the active mask; meaningless otherwise.
    pub(crate) place: CallSite,
    /// The answer: the lanes that asked there.
    pub(crate) mask: u32,
    /// The time at which it yielded, and the one given to it to look again, if it did nothing since.
    pub(crate) looking: Option<(u64, u64)>,
    /// The answer to an exchange.
    pub(crate) words: Option<Arc<[u64]>>,
}

/// Lanes that are handing words to each other.
pub(crate) struct Exchange {
    mask: u32,
    arrived: u32,
    /// Words that each lane gives.
    width: usize,
    /// 32 times `width`.
    words: Vec<u64>,
}

/// Bit i of a mask is lane i. A lane in none of the masks runs, or waits in a barrier or exchange.
#[derive(Default)]
pub(crate) struct Warp {
    pub(crate) ready: u32,
    pub(crate) yielded: u32,
    /// Lanes that let warps run that are after them in time.
    pub(crate) paused: u32,
    pub(crate) asking_mask: u32,
    /// Lanes that have left the kernel, as far as others wait for them.
    pub(crate) finished: u32,
    /// The lanes that go on once the last one has left.
    leaving: u32,
    exchanges: Vec<Exchange>,
    /// Counts yields and questions for the mask.
    pub(crate) events: u64,
    /// The latest time of threads that ran since spinning lanes of this warp looked last.
    pub(crate) observed: u64,
    /// The latest time since then at which a thread published something.
    pub(crate) told: Option<u64>,
    /// As which time it was last queued to look again while it spins: later each time, so that warps that
    /// are far ahead get their turns.
    pub(crate) looks_at: u64,
    /// Its key among the runnable warps.
    pub(crate) queued: Option<(u64, u64)>,
    pub(crate) in_turn: bool,
}

#[derive(Default)]
struct Barrier {
    waiting: Vec<usize>,
    /// Threads that have arrived; where they gave a count, 32 for each warp that has.
    arrived: u32,
    /// The count that the arrivals gave; meaningful while there are any.
    count: Option<u32>,
    /// Warps with some lanes that arrived and gave a count.
    meetings: Vec<Meeting>,
    time: u64,
}

/// Lanes of a warp that wait for its others at a barrier with a count.
#[derive(Clone, Copy)]
struct Meeting {
    warp: usize,
    lanes: u32,
    /// The lanes that then wait for other warps too.
    waiting: u32,
}

pub(crate) struct Block {
    pub(crate) index: [u32; 3],
    dims: [u32; 3],
    pub(crate) threads: Vec<Thread>,
    pub(crate) warps: Vec<Warp>,
    pub(crate) live: u32,
    pub(crate) shared: SharedMemory,
    barriers: [Barrier; BARRIERS],
}

/// Threads that may go on, from a given time.
#[derive(Default)]
pub(crate) struct Released {
    pub(crate) threads: Vec<usize>,
    pub(crate) time: u64,
}

pub(crate) fn thread_index(thread: usize, dims: [u32; 3]) -> [u32; 3] {
    // At most 1024 threads: no truncation.
    let thread = thread as u32;
    [thread % dims[0], thread / dims[0] % dims[1], thread / dims[0] / dims[1]]
}

pub(crate) fn warp_and_lane(thread: usize) -> (usize, u32) {
    (thread / WARP_SIZE as usize, thread as u32 % WARP_SIZE)
}

/// The threads of some lanes of a warp.
fn threads_of(warp: usize, mask: u32) -> impl Iterator<Item = usize> {
    lanes(mask).map(move |lane| warp * WARP_SIZE as usize + lane as usize)
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            lane
        })
    })
}

impl Block {
    /// A block whose threads are all ready to run from `start`.
    pub(crate) fn new(index: [u32; 3], dims: [u32; 3], dynamic_bytes: usize, start: u64) -> Self {
        let count = dims.iter().map(|&extent| extent as usize).product::<usize>();
        let thread = || Thread {
            time: start,
            stamp: 0,
            place: CallSite::Numbered(0),
            mask: 0,
            looking: None,
            words: None,
        };
        let warp = |first: usize| {
            let lanes = (count - first).min(WARP_SIZE as usize) as u32;
            let ready = u32::MAX >> (WARP_SIZE - lanes);
            Warp { ready, finished: !ready, ..Warp::default() }
        };
        Self {
            index,
            dims,
            threads: (0..count).map(|_| thread()).collect(),
            warps: (0..count).step_by(WARP_SIZE as usize).map(warp).collect(),
            live: count as u32,
            shared: SharedMemory::new(dynamic_bytes),
            barriers: Default::default(),
        }
    }

    /// The latest time of any of its threads.
    pub(crate) fn latest(&self) -> u64 {
        self.threads.iter().map(|thread| thread.time).max().unwrap_or(0)
    }

    /// The latest time of these lanes of a warp, as far as it has them.
    fn latest_of(&self, warp: usize, mask: u32) -> u64 {
        let threads = threads_of(warp, mask).filter_map(|thread| self.threads.get(thread));
        threads.map(|thread| thread.time).max().unwrap_or(0)
    }

    /// A thread arrives at a barrier, and waits there if `wait`. Releases those that need not wait any
    /// longer; it must itself be among them to go on.
    ///
    /// Where a count is given, warps are counted (PTX ISA, "bar, barrier": the instruction waits for all
    /// threads of the warp that have not exited, and marks the warp's arrival), so that the warp at a
    /// block's end counts for 32 threads as well.
    pub(crate) fn arrive(
        &mut self,
        thread: usize,
        id: u32,
        count: Option<u32>,
        wait: bool,
    ) -> Result<Vec<Released>, String> {
        let Some(barrier) = self.barriers.get_mut(id as usize) else {
            return Err(format!("barrier {id} does not exist; a block has barriers 0 to 15"));
        };
        if let Some(count) = count
            && (count == 0 || !count.is_multiple_of(WARP_SIZE))
        {
            return Err(format!(
                "barrier {id} is given a thread count of {count}; it must be a multiple of 32, and \
                 not 0"
            ));
        }
        if barrier.arrived == 0 && barrier.meetings.is_empty() {
            barrier.count = count;
        } else if barrier.count != count {
            let [first, second] = [barrier.count, count].map(|count| {
                count.map_or("all threads of the block".to_owned(), |count| count.to_string())
            });
            return Err(format!(
                "threads disagree on the thread count of barrier {id}: {first} and {second}; let all \
                 of them give the same count, or use another barrier"
            ));
        }
        if count.is_none() {
            barrier.arrived += 1;
            barrier.time = barrier.time.max(self.threads[thread].time);
            barrier.waiting.push(thread);
            return Ok(self.complete_barrier(id as usize).into_iter().collect());
        }
        let (warp, lane) = warp_and_lane(thread);
        let at = match barrier.meetings.iter().position(|meeting| meeting.warp == warp) {
            Some(at) => at,
            None => {
                barrier.meetings.push(Meeting { warp, lanes: 0, waiting: 0 });
                barrier.meetings.len() - 1
            }
        };
        let meeting = &mut barrier.meetings[at];
        meeting.lanes |= 1 << lane;
        meeting.waiting |= u32::from(wait) << lane;
        Ok(self.complete_meeting(id as usize, warp))
    }

    /// Counts a warp at a barrier if all its lanes that have not left are there.
    fn complete_meeting(&mut self, id: usize, warp: usize) -> Vec<Released> {
        let barrier = &mut self.barriers[id];
        let all = !self.warps[warp].finished;
        let is_whole = |meeting: &Meeting| meeting.warp == warp && meeting.lanes == all;
        let Some(at) = barrier.meetings.iter().position(is_whole) else { return Vec::new() };
        let Meeting { lanes, waiting, .. } = barrier.meetings.swap_remove(at);
        let time = self.latest_of(warp, lanes);
        let barrier = &mut self.barriers[id];
        barrier.arrived += WARP_SIZE;
        barrier.time = barrier.time.max(time);
        barrier.waiting.extend(threads_of(warp, waiting));
        let threads = threads_of(warp, lanes & !waiting).collect();
        [Some(Released { threads, time }), self.complete_barrier(id)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn complete_barrier(&mut self, id: usize) -> Option<Released> {
        let barrier = &mut self.barriers[id];
        if barrier.arrived == 0 || barrier.arrived < barrier.count.unwrap_or(self.live) {
            return None;
        }
        // Warps of which only some lanes are there come to the next round.
        barrier.arrived = 0;
        Some(Released { threads: take(&mut barrier.waiting), time: take(&mut barrier.time) })
    }

    /// A lane gives its words to the lanes in `mask`. Releases the others if it was the last, with
    /// their answers set; `None` if more have to come.
    pub(crate) fn exchange(
        &mut self,
        thread: usize,
        mask: u32,
        given: &[u64],
    ) -> Result<Option<Released>, String> {
        let (warp, lane) = warp_and_lane(thread);
        if mask & (1 << lane) == 0 {
            return Err(format!(
                "lane {lane} takes part in a warp operation whose mask {mask:#010x} does not name \
                 it"
            ));
        }
        let exchanges = &mut self.warps[warp].exchanges;
        let at = match exchanges.iter().position(|exchange| exchange.mask == mask) {
            Some(at) => at,
            None => {
                let words = vec![0; given.len() * WARP_SIZE as usize];
                exchanges.push(Exchange { mask, arrived: 0, width: given.len(), words });
                exchanges.len() - 1
            }
        };
        let exchange = &mut exchanges[at];
        if exchange.width != given.len() {
            return Err(format!(
                "lanes of mask {mask:#010x} meet in different warp operations ({} and {} words)",
                exchange.width,
                given.len()
            ));
        }
        exchange.arrived |= 1 << lane;
        exchange.words[lane as usize * given.len()..][..given.len()].copy_from_slice(given);
        Ok(self.complete_exchange(warp, at))
    }

    fn complete_exchange(&mut self, warp: usize, at: usize) -> Option<Released> {
        let Warp { exchanges, finished, .. } = &mut self.warps[warp];
        if exchanges[at].arrived != exchanges[at].mask & !*finished {
            return None;
        }
        let done = exchanges.swap_remove(at);
        let words: Arc<[u64]> = done.words.into();
        let threads: Vec<usize> = threads_of(warp, done.arrived).collect();
        let time = self.latest_of(warp, done.arrived);
        for &thread in &threads {
            self.threads[thread].words = Some(Arc::clone(&words));
        }
        Some(Released { threads, time })
    }

    /// A thread leaves the kernel, and goes on once all lanes of its warp have left. Releases what waited
    /// only for it.
    pub(crate) fn leave(&mut self, thread: usize) -> Vec<Released> {
        let (warp, lane) = warp_and_lane(thread);
        self.warps[warp].leaving |= 1 << lane;
        self.finish(thread)
    }

    /// Whether all its threads have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.live == 0 && self.warps.iter().all(|warp| warp.leaving == 0)
    }

    /// A thread has left the kernel; what waited only for it is released. One that was leaving has ended.
    pub(crate) fn finish(&mut self, thread: usize) -> Vec<Released> {
        let (warp, lane) = warp_and_lane(thread);
        let bit = 1 << lane;
        let of_warp = &mut self.warps[warp];
        if of_warp.finished & bit != 0 {
            of_warp.leaving &= !bit;
            return Vec::new();
        }
        of_warp.finished |= bit;
        self.live -= 1;
        let mut released = Vec::new();
        if of_warp.finished == u32::MAX && of_warp.leaving != 0 {
            let threads = threads_of(warp, of_warp.leaving).collect();
            released.push(Released { threads, time: self.latest_of(warp, u32::MAX) });
        }
        for at in (0..self.warps[warp].exchanges.len()).rev() {
            released.extend(self.complete_exchange(warp, at));
        }
        for id in 0..BARRIERS {
            match self.barriers[id].count {
                None => released.extend(self.complete_barrier(id)),
                Some(_) => released.extend(self.complete_meeting(id, warp)),
            }
        }
        released
    }

    /// A thread asks for the mask.
    pub(crate) fn ask_mask(&mut self, thread: usize, place: CallSite) {
        self.threads[thread].place = place;
        let (warp, lane) = warp_and_lane(thread);
        let entry = &mut self.warps[warp];
        entry.asking_mask |= 1 << lane;
        entry.events += 1;
        self.threads[thread].stamp = entry.events;
    }

    /// Answers those lanes of a warp that ask for the mask at one place, the first one: arms of a
    /// branch come before what follows it. Called when no lane can run.
    pub(crate) fn answer_mask(&mut self, warp: usize) -> Option<Released> {
        let asking = || threads_of(warp, self.warps[warp].asking_mask);
        let place = asking().map(|thread| self.threads[thread].place).min()?;
        let threads: Vec<usize> =
            asking().filter(|&thread| self.threads[thread].place == place).collect();
        let mask = threads.iter().fold(0, |mask, &thread| mask | 1 << warp_and_lane(thread).1);
        self.warps[warp].asking_mask &= !mask;
        // Arms of a branch run one after the other.
        let time = self.latest_of(warp, u32::MAX);
        for &thread in &threads {
            self.threads[thread].mask = mask;
        }
        Some(Released { threads, time })
    }

    /// The waits of its threads.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        for thread in 0..self.threads.len() {
            let (warp_index, lane) = warp_and_lane(thread);
            let warp = &self.warps[warp_index];
            let bit = 1 << lane;
            let barrier = || {
                let (id, barrier) = self
                    .barriers
                    .iter()
                    .enumerate()
                    .find(|(_, barrier)| barrier.waiting.contains(&thread))?;
                let needed = barrier.count.unwrap_or(self.live);
                Some(WaitFor::Barrier { id: id as u32, arrived: barrier.arrived, needed })
            };
            let meeting = || {
                self.barriers.iter().enumerate().find_map(|(id, barrier)| {
                    let is_here =
                        |meeting: &&Meeting| meeting.warp == warp_index && meeting.lanes & bit != 0;
                    let meeting = barrier.meetings.iter().find(is_here)?;
                    let (mask, arrived) = (!warp.finished, meeting.lanes);
                    Some(WaitFor::LanesAtBarrier { id: id as u32, mask, arrived })
                })
            };
            let exchange = || {
                let exchange =
                    warp.exchanges.iter().find(|exchange| exchange.arrived & bit != 0)?;
                Some(WaitFor::Lanes { mask: exchange.mask, arrived: exchange.arrived })
            };
            let for_what = if warp.finished & bit != 0 {
                None
            } else if (warp.yielded | warp.ready) & bit != 0 {
                Some(WaitFor::Spin)
            } else if warp.asking_mask & bit != 0 {
                Some(WaitFor::ActiveMask)
            } else {
                barrier().or_else(meeting).or_else(exchange)
            };
            waits.extend(for_what.map(|for_what| Wait {
                block: self.index,
                thread: thread_index(thread, self.dims),
                for_what,
            }));
        }
        waits
    }
}
