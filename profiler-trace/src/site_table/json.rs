//! A site table in a capture's metadata.

use std::collections::BTreeSet;

use profiler_wire::record::SITE_MAX;
use profiler_wire::site::Buffer;
use profiler_wire::{SiteKind, Strategy};
use serde_json::{Value, json};

use super::SiteTable;
use crate::json::Member;
use crate::model::Site;

impl SiteTable {
    pub(crate) fn to_json(&self) -> Value {
        let kernels = |id: u32| -> Vec<u32> {
            self.in_kernels.range((id, 0)..=(id, u32::MAX)).map(|(_, kernel)| *kernel).collect()
        };
        let site = |site: &Site| {
            json!({
                "id": site.id,
                "kind": kind_name(site.kind),
                "name": site.name,
                "list": site.list,
                "file": site.file,
                "module": site.module,
                "line": site.line,
                "column": site.column,
                "unit": site.unit,
                "strategy": site.strategy.map(Strategy::code),
                "symbol": site.symbol,
                "buffer": site.buffer.name(),
                "in": kernels(site.id),
            })
        };
        self.sites.iter().map(site).collect()
    }

    pub(crate) fn from_json(table: &Member<'_>) -> Result<Self, String> {
        let sites: Vec<Site> = table.array()?.iter().map(site).collect::<Result<_, _>>()?;
        // Looking up an id relies on their order.
        if !sites.is_sorted_by(|left, right| left.id < right.id) {
            return Err(table.wrong("in order of different ids"));
        }
        let mut in_kernels = BTreeSet::new();
        for (site, member) in sites.iter().zip(table.array()?) {
            // Not in the first files of this version.
            let Ok(kernels) = member.get("in") else { continue };
            for kernel in kernels.array()? {
                in_kernels.insert((site.id, kernel.u32()?));
            }
        }
        Ok(Self { sites, in_kernels })
    }
}

fn site(site: &Member<'_>) -> Result<Site, String> {
    let text = |name: &str| site.get(name)?.option().map(|text| text.string()).transpose();
    let (id, kind, strategy) = (site.get("id")?, site.get("kind")?, site.get("strategy")?);
    let strategy_of = |code: Member<'_>| {
        let known = u16::try_from(code.u32()?).ok().and_then(Strategy::from_code);
        known.ok_or_else(|| code.wrong("a strategy"))
    };
    Ok(Site {
        id: match id.u32()? {
            number @ 1..=SITE_MAX => number,
            _ => return Err(id.wrong("the id of a site")),
        },
        kind: {
            let name = kind.string()?;
            let known = KINDS.into_iter().find(|kind| kind_name(*kind) == name);
            known.ok_or_else(|| kind.wrong("the kind of a site"))?
        },
        name: site.get("name")?.string()?,
        list: text("list")?,
        file: site.get("file")?.string()?,
        module: site.get("module")?.string()?,
        line: site.get("line")?.u32()?,
        column: site.get("column")?.u32()?,
        unit: text("unit")?,
        strategy: strategy.option().map(strategy_of).transpose()?,
        symbol: text("symbol")?,
        // Not in the first files of this version.
        buffer: match site.get("buffer") {
            Err(_) => Buffer::Global,
            Ok(buffer) => {
                let known = Buffer::from_name(&buffer.string()?);
                known.ok_or_else(|| buffer.wrong("a buffer"))?
            }
        },
    })
}

const KINDS: [SiteKind; 6] = [
    SiteKind::Kernel,
    SiteKind::Region,
    SiteKind::Mark,
    SiteKind::Signal,
    SiteKind::Wait,
    SiteKind::Names,
];

fn kind_name(kind: SiteKind) -> &'static str {
    match kind {
        SiteKind::Kernel => "kernel",
        SiteKind::Region => "region",
        SiteKind::Mark => "mark",
        SiteKind::Signal => "signal",
        SiteKind::Wait => "wait",
        SiteKind::Names => "names",
    }
}
