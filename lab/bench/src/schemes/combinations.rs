//! Every strategy with every clock, every kind of record and every buffer.

use std::sync::LazyLock;

use profiler_host::Keep;

use super::{Kernels, Plan, Recorded, Recorders, Scheme, Writes};

/// As the kernels are named, and who records by them.
const STRATEGIES: [(&str, Recorders); 7] = [
    ("warp", Recorders::Warp),
    ("warp-index", Recorders::Block),
    ("warp-group", Recorders::WarpGroup),
    ("block", Recorders::Block),
    ("thread", Recorders::Thread),
    ("elected", Recorders::Warp),
    ("when", Recorders::Warp),
];
const CLOCKS: [&str; 2] = ["cycles", "globaltimer"];
const RECORDS: [(&str, Recorded); 6] = [
    ("region", Recorded::Region),
    ("value", Recorded::RegionWithValue),
    ("short-value", Recorded::RegionWithShortValue),
    ("wait", Recorded::Region),
    ("token", Recorded::Token),
    ("mark", Recorded::Mark),
];

/// All of them, named `strategy-clock-record-buffer`. Where every lane may record, buffers for all records
/// would take too much memory, and over the bus all of them too much time: there the last ones are kept.
#[must_use]
pub fn combinations() -> &'static [Scheme] {
    static ALL: LazyLock<Vec<Scheme>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for (buffer, hosted) in [("global", false), ("host", true)] {
            for (strategy, recorders) in STRATEGIES {
                for clock in CLOCKS {
                    for (record, recorded) in RECORDS {
                        let kernel = format!("{strategy}-{clock}-{record}");
                        let is_ring = hosted || recorders == Recorders::Thread;
                        let keep = if is_ring { Keep::Last } else { Keep::First };
                        let mut plan = Plan { recorders, recorded, hosted, keep, words: None };
                        plan.words = is_ring.then(|| plan.ring_words());
                        all.push(Scheme {
                            name: format!("{kernel}-{buffer}").leak(),
                            kernel: kernel.leak(),
                            writes: Writes::Session(plan),
                            kernels: match hosted {
                                true => Kernels::HostedCombinations,
                                false => Kernels::Combinations,
                            },
                        });
                    }
                }
            }
        }
        all
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use profiler_host::Keep;

    use super::super::{LANE_RING_WORDS, RING_WORDS};
    use super::{Kernels, Plan, Recorded, Recorders, Writes, combinations};

    #[test]
    fn all_are_there_and_distinct() {
        let names: BTreeSet<&str> = combinations().iter().map(|scheme| scheme.name).collect();
        assert_eq!(names.len(), 7 * 2 * 6 * 2);
        assert!(names.contains("warp-index-globaltimer-value-host"), "{names:?}");
        let one = combinations().iter().find(|scheme| scheme.name == "thread-cycles-mark-global");
        assert_eq!(one.map(|scheme| scheme.kernel), Some("thread-cycles-mark"));
    }

    #[test]
    fn lanes_and_the_host_keep_the_last() {
        for (name, kernels, recorders, recorded, keep, words) in [
            (
                "warp-group-cycles-value-global",
                Kernels::Combinations,
                Recorders::WarpGroup,
                Recorded::RegionWithValue,
                Keep::First,
                None,
            ),
            (
                "thread-globaltimer-token-global",
                Kernels::Combinations,
                Recorders::Thread,
                Recorded::Token,
                Keep::Last,
                Some(LANE_RING_WORDS),
            ),
            (
                "elected-cycles-wait-host",
                Kernels::HostedCombinations,
                Recorders::Warp,
                Recorded::Region,
                Keep::Last,
                Some(RING_WORDS),
            ),
            (
                "thread-cycles-value-host",
                Kernels::HostedCombinations,
                Recorders::Thread,
                Recorded::RegionWithValue,
                Keep::Last,
                Some(LANE_RING_WORDS),
            ),
            (
                "thread-cycles-mark-host",
                Kernels::HostedCombinations,
                Recorders::Thread,
                Recorded::Mark,
                Keep::Last,
                Some(LANE_RING_WORDS),
            ),
        ] {
            let scheme = combinations().iter().find(|scheme| scheme.name == name).expect(name);
            let Writes::Session(plan) = scheme.writes else { panic!("{name} has a session") };
            let Plan { recorders: by, recorded: what, hosted, keep: kept, words: buffer } = plan;
            assert_eq!((scheme.kernels, by, what), (kernels, recorders, recorded), "{name}");
            assert_eq!((kept, buffer), (keep, words), "{name}");
            assert_eq!(hosted, kernels == Kernels::HostedCombinations, "{name}");
        }
    }
}
