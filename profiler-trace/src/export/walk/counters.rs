//! The tracks that count the warps in the kernel on each SM.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::{Node, Walk, kernel_end};
use crate::export::sink::{Sink, Track};
use crate::source::WarpSource;

/// The group of these tracks.
const GROUP: &str = "active warps";

impl<S: WarpSource, K: Sink> Walk<'_, S, K> {
    pub(super) fn counters(&mut self, root: &mut Node, warps: Range<usize>) -> io::Result<()> {
        // How many warps more there are from a moment on.
        let mut changes: BTreeMap<u32, Vec<(u64, i64)>> = BTreeMap::new();
        for warp in &self.trace.warps[warps] {
            let end = kernel_end(self.trace, warp).max(warp.entry.ns);
            let of_sm = changes.entry(warp.sm).or_default();
            of_sm.extend([(self.axis.round(warp.entry.ns), 1), (self.axis.round(end), -1)]);
        }
        if changes.is_empty() {
            return Ok(());
        }
        let group = self.top(root, GROUP)?;
        for (rank, (sm, mut changes)) in (0..).zip(changes) {
            self.tracks += 1;
            let name = format!("SM {sm}");
            let path = format!("{GROUP} / {name}");
            self.sink.track(&Track {
                id: self.tracks,
                process: self.process,
                parent: Some(group.id),
                name: &name,
                path: &path,
                description: "",
                rank,
                group: false,
                unit: Some("warps"),
            })?;
            self.sink.select(self.process, self.tracks)?;
            changes.sort_unstable_by_key(|(ns, _)| *ns);
            let (mut count, mut shown) = (0, None);
            for together in changes.chunk_by(|left, right| left.0 == right.0) {
                count += together.iter().map(|(_, change)| change).sum::<i64>();
                if shown.replace(count) != Some(count) {
                    self.sink.counter(together[0].0, &path, count)?;
                }
            }
        }
        Ok(())
    }
}
