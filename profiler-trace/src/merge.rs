//! Puts traces of several sessions onto one axis.

use crate::diagnostic::DiagnosticKind;
use crate::model::{Edge, MarkIndex, SiteIndex, Time, Trace};
use crate::resources::ResourceEffect;

impl Trace {
    /// Joins traces of the same device: all times count from the earliest origin, launches are in
    /// order of their start. Sites are kept apart, also where they look alike: two modules may
    /// number them differently.
    ///
    /// Device and cost of a record are those of the first trace that says them; traces that do not go
    /// with it are merged all the same, and noted.
    #[must_use]
    pub fn merge(traces: impl IntoIterator<Item = Self>) -> Self {
        let mut traces: Vec<Self> = traces.into_iter().collect();
        if traces.len() < 2 {
            return traces.pop().unwrap_or_default();
        }
        let first = &traces[0];
        let mut merged = Self {
            device: first.device.clone(),
            record_cost: traces.iter().find_map(|trace| trace.record_cost),
            cost_subtracted: first.cost_subtracted,
            clock_mhz: traces.iter().find_map(|trace| trace.clock_mhz),
            ..Self::default()
        };
        // A trace without anything on its axis has no origin to speak of.
        let has_times = |trace: &Self| !trace.launches.is_empty() || !trace.host.is_empty();
        let origin = |trace: &Self| has_times(trace).then_some(trace.origin_ns);
        merged.origin_ns = traces.iter().filter_map(origin).min().unwrap_or(first.origin_ns);
        // Of sessions with the same kernels each is there once, and so is its warning.
        let mut resources: Vec<ResourceEffect> = Vec::new();
        for effect in traces.iter().flat_map(|trace| &trace.resources) {
            if !resources.contains(effect) {
                resources.push(effect.clone());
            }
        }
        for trace in traces {
            merged.append(trace);
        }
        merged.set_resources(resources);
        merged.sort_launches();
        merged
    }

    fn append(&mut self, mut other: Self) {
        if other.device != self.device {
            self.diagnostics.note(DiagnosticKind::DevicesDiffer, None);
        }
        if other.cost_subtracted != self.cost_subtracted {
            self.diagnostics.note(DiagnosticKind::CostSubtractedInPart, None);
        }
        other.shift(
            other.origin_ns.saturating_sub(self.origin_ns) as f64,
            self.sites.len() as u32,
            self.launches.len(),
            self.warps.len(),
        );
        self.sites.append(&mut other.sites);
        self.never_recorded.append(&mut other.never_recorded);
        self.launches.append(&mut other.launches);
        self.warps.append(&mut other.warps);
        self.edges.append(&mut other.edges);
        self.host.append(other.host);
        self.resolution_ns = self.resolution_ns.max(other.resolution_ns);
        self.alignment_ns = self.alignment_ns.max(other.alignment_ns);
        self.timer_step_ns = self.timer_step_ns.max(other.timer_step_ns);
        self.lost_unplaced = self.lost_unplaced.saturating_add(other.lost_unplaced);
        self.left_out_warps += other.left_out_warps;
        self.diagnostics.extend(&other.diagnostics);
    }

    /// Moves all times and all indices.
    fn shift(&mut self, ns: f64, sites: u32, launches: usize, warps: usize) {
        let time = |time: &mut Time| time.ns += ns;
        let site = |site: &mut SiteIndex| site.0 += sites;
        for (of, kernel) in &mut self.never_recorded {
            site(of);
            site(kernel);
        }
        for launch in &mut self.launches {
            site(&mut launch.kernel);
            launch.warps = launch.warps.start + warps..launch.warps.end + warps;
            launch.start_ns += ns;
            launch.end_ns += ns;
        }
        self.host.shift(ns, launches);
        for warp in &mut self.warps {
            warp.launch += launches;
            time(&mut warp.entry);
            warp.exit.iter_mut().for_each(time);
            for region in &mut warp.regions {
                site(&mut region.site);
                time(&mut region.start);
                region.end.iter_mut().for_each(time);
            }
            for mark in &mut warp.marks {
                site(&mut mark.site);
                time(&mut mark.time);
            }
            warp.anchors.iter_mut().for_each(|anchor| time(&mut anchor.time));
        }
        for Edge { from, to } in &mut self.edges {
            from.warp += warps;
            to.warp += warps;
        }
    }

    /// Puts launches into the order of their start, and warps into that of their launches.
    fn sort_launches(&mut self) {
        let mut order: Vec<usize> = (0..self.launches.len()).collect();
        order.sort_by(|&left, &right| {
            self.launches[left].start_ns.total_cmp(&self.launches[right].start_ns)
        });
        let mut warps: Vec<Option<_>> =
            std::mem::take(&mut self.warps).into_iter().map(Some).collect();
        let mut moved = vec![0; warps.len()];
        let mut launches = Vec::with_capacity(order.len());
        for (number, &index) in order.iter().enumerate() {
            let mut launch = self.launches[index].clone();
            let first = self.warps.len();
            for old in launch.warps.clone() {
                if let Some(mut warp) = warps.get_mut(old).and_then(Option::take) {
                    moved[old] = self.warps.len();
                    warp.launch = number;
                    self.warps.push(warp);
                }
            }
            launch.warps = first..self.warps.len();
            launches.push(launch);
        }
        self.launches = launches;
        let mut number_of = vec![0; order.len()];
        for (number, index) in order.into_iter().enumerate() {
            number_of[index] = number;
        }
        self.host.renumber(&number_of);
        for Edge { from, to } in &mut self.edges {
            for MarkIndex { warp, .. } in [from, to] {
                *warp = moved.get(*warp).copied().unwrap_or_default();
            }
        }
        self.edges.sort_unstable_by_key(|edge| edge.to);
    }
}

#[cfg(test)]
mod tests;
