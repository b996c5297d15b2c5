//! The metadata of a capture in JSON. Unknown members are skipped, so a later version can add some.

use profiler_wire::descriptor::{self, Lost};
use profiler_wire::{Descriptor, WIRE_VERSION};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Capture, CaptureEnd, ModuleCapture};
use crate::host::HostCapture;
use crate::model::DeviceInfo;
use crate::record_cost::RecordCost;
use crate::resources::ResourceEffect;
use crate::site_table::{Entry, SiteTable};

/// The content of the metadata.
#[derive(Debug)]
pub(super) struct Metadata {
    /// All of a capture but its arrays.
    pub capture: Capture,
    /// Bytes of each module's arrays, in the order of [`CaptureArray::ALL`](super::format::CaptureArray::ALL).
    pub bytes: Vec<[u64; 4]>,
}

pub(super) fn encode(capture: &Capture) -> Vec<u8> {
    let host = (capture.host != HostCapture::default()).then_some(&capture.host);
    json!({
        "writer": concat!("profiler-trace ", env!("CARGO_PKG_VERSION")),
        "wire_version": WIRE_VERSION,
        "device": capture.device,
        "record_cost": capture.record_cost,
        "resources": capture.resources,
        "end": capture.end,
        "host": host,
        "modules": capture.modules.iter().map(encode_module).collect::<Vec<_>>(),
        // Readers of before require it.
        "missing": [],
    })
    .to_string()
    .into_bytes()
}

fn encode_module(module: &ModuleCapture) -> Value {
    let descriptor: String =
        module.descriptor.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "sites": module.sites.to_json(),
        "descriptor": descriptor,
        "lost": {
            "warps": module.lost.warps,
            "units": module.lost.units,
            "attachments": module.lost.attachments,
        },
        "bytes": {
            "headers": module.headers.len(),
            "records": module.records.len(),
            "lanes": module.lanes.len(),
            "lane_counts": module.lane_counts.len(),
        },
    })
}

/// The metadata as they lie in a file. What has a default is not in the first files of this version.
#[derive(Deserialize)]
struct File {
    device: DeviceInfo,
    record_cost: Option<RecordCost>,
    #[serde(default)]
    resources: Vec<ResourceEffect>,
    #[serde(default)]
    end: CaptureEnd,
    host: Option<HostCapture>,
    modules: Vec<Module>,
    missing: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Module {
    sites: Vec<Entry>,
    #[serde(deserialize_with = "decode_descriptor")]
    descriptor: Descriptor,
    #[serde(with = "LostCounts")]
    lost: Lost,
    bytes: ArrayBytes,
}

#[derive(Deserialize)]
#[serde(remote = "Lost")]
struct LostCounts {
    warps: u64,
    units: u64,
    attachments: u64,
}

#[derive(Deserialize)]
struct ArrayBytes {
    headers: u64,
    records: u64,
    lanes: u64,
    lane_counts: u64,
}

pub(super) fn decode(bytes: &[u8]) -> Result<Metadata, String> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    // Writers of before saved what they could read of a damaged file.
    if !file.missing.is_empty() {
        return Err("missing is not empty: the capture was read from a damaged file".to_owned());
    }
    if let Some(host) = &file.host {
        host.check()?;
    }
    let mut capture = Capture {
        device: file.device,
        modules: Vec::new(),
        record_cost: file.record_cost,
        resources: file.resources,
        end: file.end,
        host: file.host.unwrap_or_default(),
    };
    let mut bytes = Vec::new();
    for Module { sites, descriptor, lost, bytes: of } in file.modules {
        let sites = SiteTable::from_json(sites)?;
        capture.modules.push(ModuleCapture { sites, descriptor, lost, ..ModuleCapture::default() });
        bytes.push([of.headers, of.records, of.lanes, of.lane_counts]);
    }
    Ok(Metadata { capture, bytes })
}

fn decode_descriptor<'de, D: Deserializer<'de>>(from: D) -> Result<Descriptor, D::Error> {
    let digits = String::deserialize(from)?;
    let wrong = || D::Error::custom("the descriptor is not 256 hexadecimal digits");
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let mut bytes = [0; descriptor::BYTES];
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return Err(wrong());
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let digit = |digit: u8| char::from(digit).to_digit(16).ok_or_else(wrong);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Ok(Descriptor::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions measured it, too.
    #[test]
    fn what_records_to_host_memory_cost_is_skipped() {
        let record_cost = Some(RecordCost::uniform(5.0, 20.0));
        let capture = Capture { record_cost, ..Capture::default() };
        let mut written: Value = serde_json::from_slice(&encode(&capture)).expect("JSON");
        written["record_cost"]["host"] = written["record_cost"].clone();
        let read = decode(written.to_string().as_bytes()).expect("all that is asked for is there");
        assert_eq!(read.capture, capture);
    }
}
