//! Selections of launches, blocks and warps: numbers such as `0-3,8`, blocks such as `0-3,1`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use profiler_trace::{Decoder, Launch, Site, Warp, matches_pattern};
use profiler_wire::header::Dim3;

use crate::console::Console;
use crate::exit::Error;

/// Kernels that an error names.
const MOST_LISTED: usize = 8;

/// Options that choose warps.
#[derive(Args, Debug, Default)]
pub(crate) struct WarpArguments {
    /// Warps on these SMs only, such as 0-3,8
    #[arg(long, value_name = "NUMBERS", allow_negative_numbers = true)]
    pub(crate) sm: Option<Selection>,
    /// These blocks only: coordinates or ranges of them, such as 7, 0-3 or 0-3,1,0; a coordinate that is
    /// left out may be any; may be repeated
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true)]
    pub(crate) block: Vec<Blocks>,
    /// These warps of each block only
    #[arg(long, value_name = "NUMBERS", allow_negative_numbers = true)]
    pub(crate) warp: Option<Selection>,
}

impl WarpArguments {
    /// Whether all warps are chosen.
    fn takes_all(&self) -> bool {
        self.sm.is_none() && self.block.is_empty() && self.warp.is_none()
    }

    /// A sentence for each choice that matches none of these places.
    fn unmet(&self, places: &Places) -> Vec<String> {
        let of = |selection: &Option<Selection>, present: &BTreeSet<u64>| {
            let is_empty =
                |range: &RangeInclusive<u64>| present.range(range.clone()).next().is_none();
            selection.as_ref().and_then(|selection| selection.unmet(is_empty))
        };
        let mut unmet = Vec::new();
        if let Some(text) = of(&self.sm, &places.sms) {
            unmet.push(format!("nothing was recorded on SM {text} in these launches"));
        }
        let is_empty =
            |blocks: &&Blocks| !places.blocks.iter().any(|&block| blocks.contains(block));
        for blocks in self.block.iter().filter(is_empty) {
            unmet.push(format!("nothing was recorded of block {blocks} in these launches"));
        }
        if let Some(text) = of(&self.warp, &places.warps) {
            unmet.push(format!("no warp {text} of a block was recorded in these launches"));
        }
        unmet
    }

    /// Whether a warp is chosen.
    pub(crate) fn takes(&self, warp: &Warp) -> bool {
        let takes = |selection: &Option<Selection>, number: u32| {
            selection.as_ref().is_none_or(|selection| selection.contains(number.into()))
        };
        takes(&self.sm, warp.sm)
            && takes(&self.warp, warp.warp)
            && (self.block.is_empty() || self.block.iter().any(|it| it.contains(warp.block)))
    }
}

/// Options that choose launches.
#[derive(Args, Debug)]
pub(crate) struct LaunchArguments {
    /// Launches of kernels of this name only: `*` stands for any characters, `?` for one; may be
    /// repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) kernel: Vec<String>,
    /// These launches only, by their index, such as 0-3,8; `profiler info` lists them
    #[arg(long, value_name = "NUMBERS", allow_negative_numbers = true)]
    pub(crate) launch: Option<Selection>,
}

impl LaunchArguments {
    /// The launches that `--launch` chooses, of so many.
    fn numbers(&self, count: usize) -> Result<Vec<usize>, Error> {
        let Some(selection) = &self.launch else { return Ok((0..count).collect()) };
        let launches: Vec<usize> =
            (0..count).filter(|&launch| selection.contains(launch as u64)).collect();
        if launches.is_empty() {
            return Err(Error::new("there is no such launch").with_help(match count {
                0 => "nothing was launched while the session was attached".to_owned(),
                _ => format!("the launches are 0 to {}; `profiler info` lists them", count - 1),
            }));
        }
        Ok(launches)
    }

    /// A sentence for each choice that matches no launch, if another matches some.
    pub(crate) fn unmet(&self, launches: &[Launch], sites: &[Site]) -> Vec<String> {
        let mut unmet = Vec::new();
        let is_beyond = |range: &RangeInclusive<u64>| *range.start() >= launches.len() as u64;
        if let Some(text) = self.launch.as_ref().and_then(|selection| selection.unmet(is_beyond)) {
            unmet.push(format!("there is no launch {text}: they are 0 to {}", launches.len() - 1));
        }
        for text in &self.kernel {
            let names = launches.iter().map(|launch| &sites[launch.kernel.0 as usize].name);
            if !names.into_iter().any(|name| matches_pattern(name, text)) {
                unmet.push(format!("no kernel is called {text}"));
            }
        }
        unmet
    }

    /// The chosen launches of a capture.
    pub(crate) fn of(&self, launches: &[Launch], sites: &[Site]) -> Result<Vec<usize>, Error> {
        let kernel = |launch: &Launch| sites[launch.kernel.0 as usize].name.as_str();
        let patterns = &self.kernel;
        let mut numbers = self.numbers(launches.len())?;
        numbers.retain(|&number| {
            let name = kernel(&launches[number]);
            patterns.is_empty() || patterns.iter().any(|pattern| matches_pattern(name, pattern))
        });
        if numbers.is_empty() && !patterns.is_empty() {
            let among = if self.launch.is_some() { "of these launches is" } else { "is" };
            let none = format!("no kernel {among} called {}", patterns.join(" or "));
            let names: BTreeSet<&str> = launches.iter().map(kernel).collect();
            let mut listed: Vec<&str> = names.iter().copied().take(MOST_LISTED).collect();
            if names.len() > MOST_LISTED {
                listed.push("and others");
            }
            return Err(Error::new(none).with_help(format!(
                "choose others by --kernel and --launch; there is {}; `profiler info` lists them",
                listed.join(", ")
            )));
        }
        Ok(numbers)
    }
}

/// A decoder of the chosen launches and warps alone, and a sentence for each choice that matches nothing. If no
/// warp is left, diagnostics are shown, too: the chosen ones may be lost.
pub(crate) fn only<'c>(
    decoder: Decoder<'c>,
    launches: &LaunchArguments,
    warps: &WarpArguments,
    console: &Console,
) -> Result<(Decoder<'c>, Vec<String>), Error> {
    let takes_all = launches.kernel.is_empty() && launches.launch.is_none() && warps.takes_all();
    if takes_all {
        return Ok((decoder, Vec::new()));
    }
    let (all, sites) = (decoder.launches(), decoder.sites());
    let numbers =
        launches.of(all, sites).inspect_err(|_| console.diagnostics(&decoder.diagnostics()))?;
    let mut unmet = launches.unmet(all, sites);
    let places = RefCell::new(Places::default());
    let decoder = decoder.only(|warp: &Warp| {
        let is_of_launch = numbers.binary_search(&warp.launch).is_ok();
        if is_of_launch {
            places.borrow_mut().add(warp);
        }
        is_of_launch && warps.takes(warp)
    });
    unmet.extend(warps.unmet(&places.into_inner()));
    if decoder.warp_count() == 0 && !warps.takes_all() {
        console.diagnostics(&decoder.diagnostics());
        return Err(Error::new("nothing was recorded there").with_help(
            "choose others by --sm, --block and --warp; `profiler timeline` shows which",
        ));
    }
    Ok((decoder, unmet))
}

/// The places of recorded warps.
#[derive(Default)]
struct Places {
    sms: BTreeSet<u64>,
    warps: BTreeSet<u64>,
    blocks: BTreeSet<Dim3>,
}

impl Places {
    fn add(&mut self, warp: &Warp) {
        self.sms.insert(warp.sm.into());
        self.warps.insert(warp.warp.into());
        self.blocks.insert(warp.block);
    }
}

/// A list of numbers and ranges of them; both ends of a range belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection(Vec<RangeInclusive<u64>>);

impl Selection {
    /// Whether a number is chosen.
    fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// The ranges that are `empty`, in words, if any are.
    fn unmet(&self, empty: impl Fn(&RangeInclusive<u64>) -> bool) -> Option<String> {
        let ranges: Vec<_> = self.0.iter().filter(|range| empty(range)).map(in_words).collect();
        (!ranges.is_empty()).then(|| ranges.join(", "))
    }
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ranges: Option<_> = text.split(',').map(range).collect();
        ranges.map(Self).ok_or_else(|| {
            format!("`{text}` is no selection; write numbers and ranges, such as 0-3,8")
        })
    }
}

/// A range of blocks along each coordinate that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks(Vec<RangeInclusive<u64>>);

impl Blocks {
    fn contains(&self, block: Dim3) -> bool {
        self.0.iter().zip(block).all(|(range, coordinate)| range.contains(&coordinate.into()))
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(in_words).collect::<Vec<_>>().join(","))
    }
}

/// A range as it is written.
fn in_words(range: &RangeInclusive<u64>) -> String {
    match range.start() == range.end() {
        true => range.start().to_string(),
        false => format!("{}-{}", range.start(), range.end()),
    }
}

impl FromStr for Blocks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.filter(|ranges| ranges.len() <= 3).map(Self).ok_or_else(|| {
            format!("`{text}` is no block; write X, X,Y or X,Y,Z, each a number or a range of them")
        })
    }
}

/// `3`, or `0-3`.
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Blocks, Selection, in_words};

    /// Ranges in order, as text; a range of one number is that number.
    fn written(ranges: &[(u64, u64)]) -> String {
        let range = |&(first, last): &(u64, u64)| in_words(&(first..=last));
        ranges.iter().map(range).collect::<Vec<_>>().join(",")
    }

    proptest! {
        #[test]
        fn any_text_is_a_selection_or_refused(text in "(\\PC|[0-9]|-|,){0,12}") {
            for error in [
                text.parse::<Selection>().err(),
                text.parse::<Blocks>().err(),
            ].into_iter().flatten() {
                prop_assert!(error.contains("write"), "{error}");
            }
        }

        #[test]
        fn what_was_written_is_read(
            ends in prop::collection::vec((any::<u64>(), any::<u64>()), 1..4),
            number: u64,
            block: [u32; 3],
        ) {
            let ranges: Vec<_> = ends.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
            let text = written(&ranges);
            let selection: Selection = text.parse().expect("a selection");
            let inside = |(first, last): (u64, u64), number: u64| first <= number && number <= last;
            for number in ranges.iter().flat_map(|range| [range.0, range.1]).chain([number]) {
                let expected = ranges.iter().any(|range| inside(*range, number));
                prop_assert_eq!(selection.contains(number), expected);
            }
            let blocks: Blocks = text.parse().expect("at most three coordinates");
            let expected = ranges.iter().zip(block).all(|(range, at)| inside(*range, at.into()));
            prop_assert_eq!(blocks.contains(block), expected);
        }
    }

    #[test]
    fn numbers_and_ranges_are_read() {
        let selection: Selection = "0-2, 8".parse().expect("a selection");
        let selected: Vec<u64> = (0..10).filter(|&number| selection.contains(number)).collect();
        assert_eq!(selected, [0, 1, 2, 8]);
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        for text in ["", "a", "1-", "-1", "3-2", "1,,2", "99999999999999999999"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }

    #[test]
    fn coordinates_that_are_left_out_may_be_any() {
        let blocks: Blocks = "0-3,1".parse().expect("blocks");
        assert!(blocks.contains([2, 1, 9]));
        assert!(!blocks.contains([4, 1, 0]));
        assert!(!blocks.contains([2, 0, 0]));
        for text in ["", "1,2,3,4", "a", "3-1"] {
            assert!(text.parse::<Blocks>().is_err(), "{text}");
        }
    }
}
