//! The metadata of a capture in JSON. Unknown members are skipped, so a later version can add some.

use std::ops::Range;

use profiler_wire::descriptor::{self, Lost};
use profiler_wire::{Descriptor, WIRE_VERSION};
use serde_json::{Map, Value, json};

use super::lost::slots_of;
use super::{Capture, CaptureArray, CaptureDamage, CaptureEnd, ModuleCapture, host, resources};
use crate::json::{Member, float};
use crate::model::DeviceInfo;
use crate::record_cost::{FormCosts, RecordCost, StampCost, StampWait, StampWaits};
use crate::resources::ResourceEffect;
use crate::site_table::SiteTable;

/// The content of the metadata.
#[derive(Debug)]
pub(super) struct Metadata {
    /// All of a capture but its arrays; the damage is what was missing when it was written.
    pub capture: Capture,
    /// Bytes of each module's arrays, in the order of [`CaptureArray::ALL`].
    pub bytes: Vec<[u64; 4]>,
}

pub(super) fn encode(capture: &Capture) -> Vec<u8> {
    let device = &capture.device;
    let missing: Vec<Value> = capture
        .damage
        .iter()
        .filter_map(|damage| match damage {
            CaptureDamage::Missing { module, array, bytes, .. } => Some(json!({
                "module": module,
                "array": array.name(),
                "start": bytes.start,
                "end": bytes.end,
            })),
            _ => None,
        })
        .collect();
    json!({
        "writer": concat!("profiler-trace ", env!("CARGO_PKG_VERSION")),
        "wire_version": WIRE_VERSION,
        "device": {
            "name": device.name,
            "emulated": device.emulated,
            "compute_capability": device.compute_capability.map(|(major, minor)| [major, minor]),
            "sm_count": device.sm_count,
            "driver": device.driver,
            "clock_mhz": device.clock_mhz.map(float),
        },
        "record_cost": capture.record_cost.map(RecordCost::to_json),
        "resources": capture.resources.iter().map(ResourceEffect::to_json).collect::<Vec<_>>(),
        "end": match capture.end {
            CaptureEnd::Finished => json!({ "how": "finished" }),
            CaptureEnd::Running => json!({ "how": "running" }),
            CaptureEnd::Failed { code } => json!({ "how": "failed", "code": code }),
        },
        "host": host::encode(&capture.host),
        "modules": capture.modules.iter().map(encode_module).collect::<Vec<_>>(),
        "missing": missing,
    })
    .to_string()
    .into_bytes()
}

fn encode_module(module: &ModuleCapture) -> Value {
    let bytes = CaptureArray::ALL.map(|array| (array.name().to_owned(), module.array(array).len()));
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
        "bytes": bytes.into_iter().map(|(name, bytes)| (name, bytes.into())).collect::<Map<_, _>>(),
    })
}

pub(super) fn decode(bytes: &[u8]) -> Result<Metadata, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let root = Member::root(&value);
    let device = root.get("device")?;
    let modules = root.get("modules")?.array()?;
    let mut capture = Capture {
        device: DeviceInfo {
            name: device.get("name")?.string()?,
            emulated: device.get("emulated")?.bool()?,
            compute_capability: device
                .get("compute_capability")?
                .option()
                .map(|pair| {
                    let [major, minor] =
                        pair.array()?.try_into().map_err(|_| pair.wrong("a pair"))?;
                    Ok::<_, String>((major.u32()?, minor.u32()?))
                })
                .transpose()?,
            sm_count: device.get("sm_count")?.u32()?,
            driver: device.get("driver")?.string()?,
            clock_mhz: device.get("clock_mhz")?.option().map(|mhz| mhz.f64()).transpose()?,
        },
        modules: modules.iter().map(decode_module).collect::<Result<_, _>>()?,
        record_cost: root
            .get("record_cost")?
            .option()
            .map(|cost| {
                Ok::<_, String>(RecordCost {
                    one_lane: decode_costs(&cost.get("one_lane")?)?,
                    elected: decode_costs(&cost.get("elected")?)?,
                })
            })
            .transpose()?,
        // Not in the first files of this version.
        resources: root.get("resources").map_or(Ok(Vec::new()), |kernels| {
            kernels.array()?.iter().map(resources::decode).collect()
        })?,
        // Not in the first files of this version.
        end: root.get("end").ok().map(|end| decode_end(&end)).transpose()?.unwrap_or_default(),
        host: root
            .get("host")
            .ok()
            .and_then(|host| host.option())
            .map(|host| host::decode(&host))
            .transpose()?
            .unwrap_or_default(),
        damage: Vec::new(),
    };
    for missing in root.get("missing")?.array()? {
        capture.damage.push(decode_missing(&missing, &capture.modules)?);
    }
    let bytes = modules
        .iter()
        .map(|module| {
            let bytes = module.get("bytes")?;
            let mut lengths = [0; 4];
            for (length, array) in lengths.iter_mut().zip(CaptureArray::ALL) {
                *length = bytes.get(array.name())?.u64()?;
            }
            Ok::<_, String>(lengths)
        })
        .collect::<Result<_, _>>()?;
    Ok(Metadata { capture, bytes })
}

fn decode_end(end: &Member<'_>) -> Result<CaptureEnd, String> {
    let how = end.get("how")?;
    Ok(match how.string()?.as_str() {
        "finished" => CaptureEnd::Finished,
        "running" => CaptureEnd::Running,
        "failed" => CaptureEnd::Failed { code: end.get("code")?.u32()? },
        _ => return Err(how.wrong("finished, running or failed")),
    })
}

fn decode_module(module: &Member<'_>) -> Result<ModuleCapture, String> {
    let lost = module.get("lost")?;
    let sites = module.get("sites")?;
    Ok(ModuleCapture {
        sites: SiteTable::from_json(&sites)?,
        descriptor: decode_descriptor(&module.get("descriptor")?)?,
        lost: Lost {
            warps: lost.get("warps")?.u64()?,
            units: lost.get("units")?.u64()?,
            attachments: lost.get("attachments")?.u64()?,
        },
        ..ModuleCapture::default()
    })
}

fn decode_descriptor(text: &Member<'_>) -> Result<Descriptor, String> {
    let digits = text.string()?;
    let wrong = || text.wrong("256 hexadecimal digits");
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

fn decode_costs(costs: &Member<'_>) -> Result<FormCosts, String> {
    let stamp = |name: &str| {
        let stamp = costs.get(name)?;
        Ok::<_, String>(StampCost {
            before_ticks: stamp.get("before_ticks")?.f64()?,
            after_ticks: stamp.get("after_ticks")?.f64()?,
        })
    };
    // Not in the first files of this version.
    let waits = costs.get("waits").ok().map(|waits| {
        let wait = |name: &str| {
            let wait = waits.get(name)?;
            Ok::<_, String>(StampWait {
                mean_ticks: wait.get("mean_ticks")?.f64()?,
                most_ticks: wait.get("most_ticks")?.f64()?,
            })
        };
        Ok::<_, String>(StampWaits {
            nested: wait("nested")?,
            begin: wait("begin")?,
            end: wait("end")?,
            record: wait("record")?,
        })
    });
    Ok(FormCosts {
        region_begin: stamp("region_begin")?,
        region_end: stamp("region_end")?,
        mark: stamp("mark")?,
        value: stamp("value")?,
        anchor: stamp("anchor")?,
        waits: waits.transpose()?.unwrap_or_default(),
    })
}

fn decode_missing(
    missing: &Member<'_>,
    modules: &[ModuleCapture],
) -> Result<CaptureDamage, String> {
    let name = missing.get("array")?;
    let text = name.string()?;
    let array = CaptureArray::ALL.into_iter().find(|array| array.name() == text);
    let array = array.ok_or_else(|| name.wrong("an array of a module"))?;
    let number = missing.get("module")?;
    let module = number.u32()?;
    let of = modules.get(module as usize).ok_or_else(|| number.wrong("a module of the capture"))?;
    let bytes: Range<u64> = missing.get("start")?.u64()?..missing.get("end")?.u64()?;
    let slots = slots_of(array, &bytes, &of.descriptor);
    Ok(CaptureDamage::Missing { module, array, bytes, slots })
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
