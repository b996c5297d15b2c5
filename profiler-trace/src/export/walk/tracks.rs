//! The tracks that kernels chose by number.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::{Range, RangeInclusive};

use profiler_wire::record::{TRACK_BEYOND, TRACK_MAX};

use super::{Node, Walk, What, has_own_track, item, kernel_end, where_lost};
use crate::display;
use crate::export::rows::{Item, nest, pack};
use crate::export::sink::Sink;
use crate::model::{MarkIndex, Trace, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;

/// Of so many regions and marks the tracks are written together, however few there are in all.
const TOGETHER_LEAST: usize = 1 << 16;
/// Or of this part of all. A warp that wrote to very many tracks is then decoded some 30 times at most.
const TOGETHER_PARTS: usize = 16;

/// The warps that wrote to a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct User {
    /// Indices into [`Trace::warps`], ascending.
    pub(super) warps: Vec<usize>,
    /// The number of regions, marks and kernels on the track.
    pub(super) items: usize,
}

/// A warp while it is written. What all of its regions tell is known of it even where it has not all of
/// them any more.
pub(super) struct Held<'w> {
    index: usize,
    pub(super) warp: Cow<'w, Warp>,
    /// The end of the kernel's slice.
    end: f64,
    /// The time at which its records are missing.
    lost_at: f64,
}

impl<'w> Held<'w> {
    pub(super) fn new(trace: &Trace, index: usize, warp: Cow<'w, Warp>) -> Self {
        let end = kernel_end(trace, &warp);
        let lost_at = if warp.lost > 0 { where_lost(&warp, end) } else { end };
        Self { index, warp, end, lost_at }
    }

    /// Without regions that are on no such track, unless the warp is in memory anyway: not all that its
    /// warps recorded is held at once for a track.
    pub(super) fn on(mut self, tracks: &RangeInclusive<u32>) -> Self {
        if let Cow::Owned(warp) = &mut self.warp {
            let is_on = |track: Option<u32>| track.is_some_and(|track| tracks.contains(&track));
            warp.regions.retain(|region| is_on(region.track.or(warp.track)));
            warp.regions.shrink_to_fit();
        }
        self
    }
}

/// The items of lanes. Items of one lane in a row are gathered without a search.
pub(super) struct Lanes<'w, Key> {
    /// The places of each lane's items.
    places: BTreeMap<Key, usize>,
    items: Vec<Vec<Item<What<'w>>>>,
    last: Option<(Key, usize)>,
}

impl<Key> Default for Lanes<'_, Key> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), items: Vec::new(), last: None }
    }
}

impl<'w, Key: Copy + Ord> Lanes<'w, Key> {
    pub(super) fn push(&mut self, key: Key, item: Item<What<'w>>) {
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => *self.places.entry(key).or_insert_with(|| {
                self.items.push(Vec::new());
                self.items.len() - 1
            }),
        };
        self.last = Some((key, place));
        self.items[place].push(item);
    }

    /// Each lane, in order, with all of its items as they were told.
    pub(super) fn in_order(mut self) -> impl Iterator<Item = (Key, Vec<Item<What<'w>>>)> {
        let places = self.places.into_iter();
        places.map(move |(key, place)| (key, std::mem::take(&mut self.items[place])))
    }
}

impl<S: WarpSource, K: Sink> Walk<'_, S, K> {
    /// The tracks that the kernel of a launch chose by number, and who wrote to them.
    pub(super) fn users(&self, warps: Range<usize>) -> BTreeMap<u32, User> {
        let mut users: BTreeMap<u32, User> = BTreeMap::new();
        for index in warps {
            let warp = self.source.warp(index);
            // How many records in a row were on which track.
            let mut runs: Vec<(u32, usize)> = Vec::new();
            let mut note = |track: Option<u32>| {
                let Some(track) = track.or(warp.track) else { return };
                match runs.last_mut().filter(|(last, _)| *last == track) {
                    Some((_, items)) => *items += 1,
                    None => runs.push((track, 1)),
                }
            };
            // The kernel.
            note(None);
            warp.regions.iter().for_each(|region| note(region.track));
            warp.marks.iter().for_each(|mark| note(mark.track));
            runs.sort_unstable();
            for runs in runs.chunk_by(|left, right| left.0 == right.0) {
                let user = users.entry(runs[0].0).or_default();
                user.warps.push(index);
                user.items += runs.iter().map(|(_, items)| items).sum::<usize>();
            }
        }
        users
    }

    /// The tracks by their numbers, each with all that was recorded on it.
    pub(super) fn user_tracks(
        &mut self,
        top: &mut Node,
        users: BTreeMap<u32, User>,
    ) -> io::Result<()> {
        let tracks: Vec<(u32, User)> = users.into_iter().collect();
        batches(&tracks).into_iter().try_for_each(|batch| self.user_tracks_of(top, batch))
    }

    /// Neighbouring tracks, for which each warp is decoded and gone through once.
    fn user_tracks_of(&mut self, top: &mut Node, tracks: &[(u32, User)]) -> io::Result<()> {
        let [(first, _), ..] = tracks else { return Ok(()) };
        let numbers = *first..=tracks.last().map_or(*first, |(last, _)| *last);
        let mut warps: Vec<usize> =
            tracks.iter().flat_map(|(_, user)| &user.warps).copied().collect();
        warps.sort_unstable();
        warps.dedup();
        let (trace, source) = (self.trace, self.source);
        let hold = |&index: &usize| Held::new(trace, index, source.warp(index)).on(&numbers);
        let held: Vec<Held<'_>> = warps.iter().map(hold).collect();
        let is_here = |track: &u32| numbers.contains(track);
        // The others are counted where their own tracks are written.
        let without = held.iter().filter(|held| {
            !has_own_track(&held.warp) && held.warp.track.as_ref().is_some_and(is_here)
        });
        without.for_each(|_| Progress::step());
        let mut lanes: Lanes<'_, (u32, usize, u8)> = Lanes::default();
        for held in &held {
            items(held, |track, lane, item| {
                if let Some(track) = track.filter(is_here) {
                    lanes.push((track, held.index, lane), item);
                }
            });
        }
        let mut lanes = lanes.in_order().peekable();
        while let Some(&((number, ..), _)) = lanes.peek() {
            let (mut sources, mut warps) = (Vec::new(), Vec::new());
            while let Some(((_, warp, _), items)) = lanes.next_if(|((of, ..), _)| *of == number) {
                sources.push(nest(items));
                warps.push(warp);
            }
            warps.dedup();
            let name = track_name(number);
            let written = display::counted(warps.len() as u64, "warp");
            let description = format!("{name}, written by {written}");
            let mut node = self.track(top, &name, &description, false)?;
            match sources.len() {
                1 => self.rows(&mut node, sources.swap_remove(0))?,
                _ => {
                    let packed = pack(sources.into_iter().flatten().collect());
                    self.rows(&mut node, packed.rows())?;
                }
            }
        }
        Ok(())
    }
}

/// Tells what a warp recorded: the track and the lane of each item, and the item.
pub(super) fn items<'w>(held: &'w Held<'_>, mut tell: impl FnMut(Option<u32>, u8, Item<What<'w>>)) {
    let warp = &*held.warp;
    let kernel = What::Kernel(warp, held.index);
    tell(warp.track, 0, item(warp.entry.ns, held.end, i32::MIN, kernel));
    if warp.lost > 0 {
        let lost = What::Lost(warp.lost);
        tell(warp.track, 0, item(held.lost_at, held.lost_at, i32::MAX, lost));
    }
    for region in &warp.regions {
        let end = region.end.map_or(held.end, |end| end.ns);
        let depth = i32::from(region.depth);
        let region_item = item(region.start.ns, end, depth, What::Region(region));
        tell(region.track.or(warp.track), region.lane, region_item);
    }
    for (at, mark) in warp.marks.iter().enumerate() {
        let what = What::Mark(MarkIndex { warp: held.index, mark: at });
        let mark_item = item(mark.time.ns, mark.time.ns, i32::MAX, what);
        tell(mark.track.or(warp.track), mark.lane, mark_item);
    }
}

/// The name of a track.
fn track_name(number: u32) -> String {
    match number {
        TRACK_BEYOND => format!("tracks above {TRACK_MAX}"),
        _ => format!("track {number}"),
    }
}

/// Neighbouring tracks that are written together: as many as hold a part of all, at least one.
pub(super) fn batches(tracks: &[(u32, User)]) -> Vec<&[(u32, User)]> {
    let all: usize = tracks.iter().map(|(_, user)| user.items).sum();
    let most = TOGETHER_LEAST.max(all / TOGETHER_PARTS);
    let (mut batches, mut rest) = (Vec::new(), tracks);
    while !rest.is_empty() {
        let mut items = 0;
        let fits = |(_, user): &&(u32, User)| {
            items += user.items;
            items <= most
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (batch, after) = rest.split_at(count);
        batches.push(batch);
        rest = after;
    }
    batches
}
