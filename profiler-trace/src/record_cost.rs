//! What recording costs: a table by what is recorded and by who records it.

use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use crate::model::{Mark, Region, RegionForm, Site, Trace, Value, Warp};
