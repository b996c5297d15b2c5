//! Tables about launches, for programs.

use serde_json::{Value, json};

use super::balance::{Balance, Load, RegionBalance};
use super::critical_path::{CriticalPath, PathPart};
use super::waits::Waits;

impl Balance {
    /// A JSON object, whose members `docs/formats.md` lists: facts about the launch, and `rows`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let last = self.last_blocks.iter();
        let last = last.map(|(block, sm, ns)| json!({ "block": block, "sm": sm, "done_ns": ns }));
        let row = |kind: &str, over: &str, load: &Load, region: Option<&RegionBalance>| {
            json!({
                "kind": kind,
                "name": region.map_or(&self.kernel, |region| &region.name),
                "over": over,
                "count": load.count,
                "mean_ns": load.mean_ns,
                "min_ns": load.min_ns,
                "max_ns": load.max_ns,
                "imbalance_ns": load.imbalance_ns(),
                "imbalance": load.imbalance(),
                "file": region.map(|region| &region.file),
                "line": region.map(|region| region.line),
                "module": region.map(|region| &region.module),
            })
        };
        let mut rows = vec![
            row("kernel", "warp", &self.warps, None),
            row("kernel", "block", &self.blocks, None),
            row("kernel", "sm", &self.sms, None),
            row("kernel_done", "sm", &self.sms_done, None),
        ];
        for region in &self.regions {
            rows.push(row("region", "warp", &region.warps, Some(region)));
            rows.push(row("region", "sm", &region.sms, Some(region)));
        }
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "span_ns": self.span_ns,
            "never_left": self.never_left,
            "unrecorded": self.unrecorded,
            "last_blocks": last.collect::<Vec<_>>(),
            "rows": rows,
        })
    }
}

impl Waits {
    /// A JSON object, whose members `docs/formats.md` lists: facts about the launch, and `rows`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|waits| {
            let mut row = json!({
                "name": waits.name,
                "waiter": waits.waiter,
                "signaller": waits.signaller,
                "count": waits.count,
                "blocked": waits.blocked,
                "from_other_blocks": waits.from_other_blocks,
            });
            for (time, of) in [("blocked", &waits.blocked_ns), ("hand_off", &waits.hand_off_ns)] {
                for (figure, ns) in [
                    ("total", of.total),
                    ("mean", of.mean),
                    ("min", of.min),
                    ("p50", of.p50),
                    ("p95", of.p95),
                    ("p99", of.p99),
                    ("max", of.max),
                ] {
                    row[format!("{time}_{figure}_ns")] = ns.into();
                }
            }
            row
        });
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "without_signal": self.without_signal,
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

impl CriticalPath {
    /// A JSON object, whose members `docs/formats.md` lists: facts about the launch, and `rows`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let count = |is: fn(PathPart) -> bool| self.steps.iter().filter(|it| is(it.part)).count();
        let row = |kind: &str, name: Option<&str>, ns: f64| {
            let share = if self.span_ns > 0.0 { ns / self.span_ns } else { 0.0 };
            json!({ "kind": kind, "name": name, "time_ns": ns, "share": share })
        };
        let regions = self.regions.iter().map(|region| match region.site {
            Some(_) => row("region", Some(&region.name), region.ns),
            None => row("no_region", None, region.ns),
        });
        let others = [
            row("hand_off", None, self.hand_off_ns),
            row("next_block", None, self.next_block_ns),
            row("before_entry", None, self.before_entry_ns),
        ];
        json!({
            "launch": self.launch,
            "kernel": self.kernel,
            "span_ns": self.span_ns,
            "signals": count(|part| matches!(part, PathPart::HandOff(_))),
            "following_blocks": count(|part| matches!(part, PathPart::NextBlock(_))),
            "rows": regions.chain(others).collect::<Vec<_>>(),
        })
    }
}
