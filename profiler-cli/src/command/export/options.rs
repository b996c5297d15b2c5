//! Options of the formats. An option without effect is refused.

use clap::{Args, ValueEnum};
use profiler_trace::{ExportOptions, StackGroup};

use super::format::Format;
use crate::exit::Error;

/// Options that some formats have.
#[derive(Args, Debug, Default)]
pub(super) struct FormatArguments {
    /// How warps are grouped: `block` or `sm` in a timeline [default: block]; any in folded stacks
    /// [default: kernel]
    #[arg(long, value_name = "WHAT")]
    group_by: Option<Group>,
    /// Timelines: leave out the tracks that count the active warps of each SM
    #[arg(long)]
    no_counters: bool,
}

/// A grouping of warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Group {
    /// All of a kernel
    Kernel,
    /// All of a launch
    Launch,
    /// All that ran on an SM
    Sm,
    /// All of a block
    Block,
    /// All of a warp
    Warp,
}

/// The options of the writers.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) timeline: ExportOptions,
    pub(super) stacks: StackGroup,
}

impl FormatArguments {
    /// The options of a format; an error if one was given that it does not have.
    pub(super) fn of(&self, format: Format) -> Result<Options, Error> {
        let (timeline, folded) = (format.is_timeline(), format == Format::Folded);
        let in_place = [
            ("--group-by", self.group_by.is_none() || timeline || folded),
            ("--no-counters", !self.no_counters || timeline),
        ];
        if let Some((option, _)) = in_place.into_iter().find(|(_, in_place)| !in_place) {
            return Err(Error::new(format!("{option} has no effect on the format {format}"))
                .with_help(format!("leave {option} out")));
        }
        let by_sm = match self.group_by {
            None | Some(Group::Block) => false,
            Some(Group::Sm) => true,
            Some(Group::Kernel | Group::Launch | Group::Warp) if timeline => {
                return Err(Error::new("a timeline always has a track for each launch and warp")
                    .with_help("say --group-by block or --group-by sm"));
            }
            Some(_) => false,
        };
        Ok(Options {
            timeline: ExportOptions { by_sm, counters: !self.no_counters },
            stacks: match self.group_by {
                None | Some(Group::Kernel) => StackGroup::Kernel,
                Some(Group::Launch) => StackGroup::Launch,
                Some(Group::Sm) => StackGroup::Sm,
                Some(Group::Block) => StackGroup::Block,
                Some(Group::Warp) => StackGroup::Warp,
            },
        })
    }
}
