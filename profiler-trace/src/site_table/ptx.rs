//! Finds site entries, the descriptor and the build stamp in the text of a PTX module.

use std::collections::BTreeSet;

use profiler_wire::statics::{self, OMITTED_MAX, identifier};
use profiler_wire::symbol::{BUILD_STAMP, DESCRIPTOR, DESCRIPTOR_PREFIX, SITE_MARKER};

use super::SiteTableError;

/// The parts of a PTX module that are about profiling.
#[derive(Debug, Default)]
pub(super) struct PtxModule {
    /// Bytes of the statics that begin like a site entry.
    pub entries: Vec<Vec<u8>>,
    /// Whether the descriptor of this wire version is there.
    pub has_descriptor: bool,
    /// The version of another descriptor, as its name has it.
    pub other_version: Option<String>,
    /// The text after [`BUILD_STAMP`].
    pub stamp: Option<String>,
    /// The ids in marked instructions, for each kernel of the module.
    pub ids_of_entries: Vec<BTreeSet<u32>>,
}

/// Reads a module's text; any text will do.
pub(super) fn scan(ptx: &str) -> Result<PtxModule, SiteTableError> {
    let mut module = PtxModule {
        stamp: ptx
            .lines()
            .take_while(|line| line.trim_start().starts_with("//") || line.trim().is_empty())
            .find_map(|line| line.trim_start().strip_prefix(BUILD_STAMP))
            .map(|stamp| stamp.trim().to_owned()),
        ..PtxModule::default()
    };
    let found = statics::find(ptx).map_err(|(symbol, reason)| SiteTableError::Damaged {
        error: format!("the static {symbol}: {reason}"),
    })?;
    for statics::Static { length, mut bytes, .. } in found {
        bytes.resize(length.min(bytes.len() + OMITTED_MAX), 0);
        module.entries.push(bytes);
    }
    module.ids_of_entries = ids_of_entries(ptx);
    let mut done = 0;
    for (at, _) in ptx.match_indices(DESCRIPTOR_PREFIX) {
        if at < done {
            continue;
        }
        let name = identifier(ptx, at);
        done = name.end;
        if name.start != at {
            continue;
        }
        if &ptx[name.clone()] == DESCRIPTOR {
            module.has_descriptor = true;
            break;
        }
        let version = &ptx[at + DESCRIPTOR_PREFIX.len()..name.end];
        if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) {
            module.other_version.get_or_insert_with(|| version.to_owned());
        }
    }
    Ok(module)
}

/// The ids in marked instructions, kernel by kernel. Those of functions that are called are in none.
fn ids_of_entries(ptx: &str) -> Vec<BTreeSet<u32>> {
    let mut entries = Vec::new();
    let mut is_in_entry = false;
    for line in ptx.lines() {
        let line = line.trim();
        if line.starts_with('.') && line.contains(".entry ") {
            is_in_entry = true;
            entries.push(BTreeSet::new());
        } else if line.starts_with('.') && line.contains(".func ") {
            is_in_entry = false;
        } else if let Some((code, comment)) = line.split_once("//")
            && comment.trim_start().starts_with(SITE_MARKER)
            && is_in_entry
            && let Some(entry) = entries.last_mut()
        {
            let immediate = code.trim_end().trim_end_matches(';').rsplit([',', ' ', '\t']).next();
            entry.extend(immediate.and_then(|id| id.parse::<u32>().ok()));
        }
    }
    entries
}
