//! Facts about a launch that its tracks need: the warps on each track, and counts over time.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::tracks::User;
use super::{Node, Walk, kernel_end};
use crate::export::counters::{Activity, Steps, warps_by_sm};
use crate::export::sink::{Sink, Track};
use crate::model::Warp;
use crate::source::WarpSource;

/// The facts about a launch that its tracks need.
pub(super) struct Survey {
    /// The tracks that the kernel chose by number, and who wrote to them.
    pub(super) users: BTreeMap<u32, User>,
    pub(super) activity: Activity,
}

impl<S: WarpSource> Walk<'_, S> {
    /// Gathers these facts from all records of a launch.
    pub(super) fn survey(&self, launch: usize, warps: Range<usize>) -> Survey {
        let launch = &self.trace.launches[launch];
        let mut users: BTreeMap<u32, User> = BTreeMap::new();
        let mut activity = Activity::new(launch.start_ns, launch.end_ns);
        for index in warps {
            let warp = self.source.warp(index);
            let end = kernel_end(self.trace, &warp);
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
            for region in &warp.regions {
                note(region.track);
                if self.options.counters {
                    let end = region.end.map_or(end, |end| end.ns);
                    activity.add(region.site, region.start.ns, end);
                }
            }
            warp.marks.iter().for_each(|mark| note(mark.track));
            runs.sort_unstable();
            for runs in runs.chunk_by(|left, right| left.0 == right.0) {
                let user = users.entry(runs[0].0).or_default();
                user.warps.push(index);
                user.items += runs.iter().map(|(_, items)| items).sum::<usize>();
            }
        }
        Survey { users, activity: activity.by_name(|site| self.trace.name_of(site)) }
    }

    /// Tracks of what is counted.
    pub(super) fn counters(
        &mut self,
        process: u32,
        root: &mut Node,
        (warps, activity): (Range<usize>, &Activity),
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let trace = self.trace;
        let end = |warp: &Warp| kernel_end(trace, warp);
        let by_sm = warps_by_sm(&trace.warps[warps], &self.axis, end);
        let by_sm = by_sm.into_iter().map(|(sm, steps)| (format!("SM {sm}"), steps)).collect();
        self.counter_tracks(process, root, ("active warps", "warps"), by_sm, sink)?;
        let by_site = activity.steps(&self.axis, self.launches).into_iter();
        let by_site =
            by_site.map(|(site, steps)| (trace.name_of(site).to_owned(), steps)).collect();
        self.counter_tracks(process, root, ("active regions", "regions"), by_site, sink)
    }

    /// A group of tracks that count, and what each shows.
    fn counter_tracks(
        &mut self,
        process: u32,
        root: &mut Node,
        (name, unit): (&str, &'static str),
        tracks: Vec<(String, Steps)>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        if tracks.is_empty() {
            return Ok(());
        }
        let group = self.top(process, root, name, sink)?;
        for (rank, (track, steps)) in (0..).zip(tracks) {
            self.tracks += 1;
            let path = format!("{name} / {track}");
            sink.track(&Track {
                id: self.tracks,
                process,
                parent: Some(group.id),
                name: &track,
                path: &path,
                description: "",
                rank,
                group: false,
                unit: Some(unit),
            })?;
            sink.select(process, self.tracks)?;
            steps.into_iter().try_for_each(|(ns, value)| sink.counter(ns, &path, value))?;
        }
        Ok(())
    }
}
