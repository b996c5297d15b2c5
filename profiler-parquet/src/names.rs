//! The dictionaries of kinds, clocks, names, files, units and paths.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use profiler_trace::{Mark, Site, Trace};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use crate::columns::Dictionary;
use crate::nesting::Paths;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Kernel,
    Region,
    Mark,
    Signal,
    Wait,
}

impl Kind {
    /// The texts, by their keys.
    const TEXTS: [&str; 5] = ["kernel", "region", "mark", "signal", "wait"];
}

/// The texts of clocks, by their keys.
const CLOCKS: [&str; 2] = ["cycles", "globaltimer"];

pub(crate) fn clock_key(clock: Clock) -> i32 {
    match clock {
        Clock::Cycles => 0,
        Clock::GlobalTimer => 1,
    }
}

/// What the rows of a site have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteKeys {
    /// Of rows about marks there.
    pub(crate) mark: Kind,
    pub(crate) name: i32,
    pub(crate) file: i32,
    pub(crate) line: u32,
    pub(crate) unit: Option<i32>,
}

/// Gives each different text a key.
#[derive(Default)]
struct Interner<'a> {
    keys: HashMap<&'a str, i32>,
    texts: Vec<&'a str>,
}

impl<'a> Interner<'a> {
    fn key(&mut self, text: &'a str, column: &str) -> io::Result<i32> {
        if let Some(&key) = self.keys.get(text) {
            return Ok(key);
        }
        let key = i32::try_from(self.texts.len()).map_err(|_| too_many(column))?;
        self.keys.insert(text, key);
        self.texts.push(text);
        Ok(key)
    }
}

/// All dictionaries, and the keys into them of each site.
pub(crate) struct Names {
    pub(crate) sites: Vec<SiteKeys>,
    /// By [`Dictionary`].
    pub(crate) dictionaries: [ArrayRef; Dictionary::COUNT],
}

impl Names {
    pub(crate) fn new<'a>(trace: &'a Trace, paths: &Paths) -> io::Result<Self> {
        let (mut names, mut files, mut units) =
            (Interner::default(), Interner::default(), Interner::default());
        let keys = |site: &'a Site| -> io::Result<SiteKeys> {
            let Site { kind, name, file, line, unit, .. } = site;
            let unit = unit.as_deref().map(|unit| units.key(unit, "unit")).transpose()?;
            Ok(SiteKeys {
                mark: match kind {
                    SiteKind::Signal => Kind::Signal,
                    SiteKind::Wait => Kind::Wait,
                    _ => Kind::Mark,
                },
                name: names.key(name, "name")?,
                file: files.key(file, "file")?,
                line: *line,
                unit,
            })
        };
        let sites = trace.sites.iter().map(keys).collect::<Result<_, _>>()?;
        let paths = paths.texts(|site| trace.site(site).name.as_str());
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        Ok(Self {
            sites,
            // In the order of [`Dictionary`].
            dictionaries: [
                dictionary(&Kind::TEXTS, "kind")?,
                dictionary(&CLOCKS, "clock")?,
                dictionary(&names.texts, "name")?,
                dictionary(&files.texts, "file")?,
                dictionary(&units.texts, "unit")?,
                dictionary(&paths, "path")?,
            ],
        })
    }

    /// The kind of a mark's row.
    pub(crate) fn kind(&self, mark: &Mark) -> Kind {
        self.sites[mark.site.0 as usize].mark
    }
}

/// The error that a column has more different text than Arrow can count.
fn too_many(column: &str) -> io::Error {
    io::Error::other(format!(
        "the different texts of the column `{column}` are more than 2 GiB; write the launches in several \
         parts, or name fewer things"
    ))
}

/// Arrow counts keys and bytes of text in 31 bits.
fn dictionary(texts: &[&str], column: &str) -> io::Result<ArrayRef> {
    let bytes = texts.iter().fold(0usize, |sum, text| sum.saturating_add(text.len()));
    if i32::try_from(bytes.max(texts.len())).is_err() {
        return Err(too_many(column));
    }
    Ok(Arc::new(StringArray::from_iter_values(texts)))
}
