//! What the metadata say of the observer effect.

use profiler_wire::header::Dim3;
use serde_json::{Value, json};

use super::metadata::{Member, float};
use crate::observer_effect::{
    AnnotationEffect, KernelResources, ObserverEffect, RegionCycles, RegionEffect, RegionLengths,
    ResourceEffect,
};

pub(super) fn encode(effect: &ObserverEffect) -> Value {
    json!({
        "without_ns": float(effect.without_ns),
        "with_ns": float(effect.with_ns),
        "annotations": effect.annotations.as_ref().map(encode_annotations),
        "regions": effect.regions.iter().map(encode_region).collect::<Vec<_>>(),
    })
}

fn encode_annotations(annotations: &AnnotationEffect) -> Value {
    json!({
        "without_ns": float(annotations.without_ns),
        "with_ns": float(annotations.with_ns),
        "kernels": annotations.kernels.iter().map(ResourceEffect::to_json).collect::<Vec<_>>(),
    })
}

fn encode_region(region: &RegionEffect) -> Value {
    let lengths = |lengths: &RegionLengths| {
        json!({
            "count": lengths.count,
            "median_ns": float(lengths.median_ns),
            "p95_ns": float(lengths.p95_ns),
            "cycles": lengths.cycles.map(|cycles| json!({
                "median": float(cycles.median),
                "p95": float(cycles.p95),
            })),
        })
    };
    json!({ "name": region.name, "full": lengths(&region.full), "half": lengths(&region.half) })
}

/// Members that are missing came later than the first files of this version.
pub(super) fn decode(effect: &Member<'_>) -> Result<ObserverEffect, String> {
    let annotations = effect.get("annotations").ok().and_then(|annotations| annotations.option());
    Ok(ObserverEffect {
        without_ns: effect.get("without_ns")?.f64()?,
        with_ns: effect.get("with_ns")?.f64()?,
        annotations: annotations.as_ref().map(decode_annotations).transpose()?,
        regions: each(effect, "regions", decode_region)?,
    })
}

fn decode_annotations(annotations: &Member<'_>) -> Result<AnnotationEffect, String> {
    Ok(AnnotationEffect {
        without_ns: annotations.get("without_ns")?.f64()?,
        with_ns: annotations.get("with_ns")?.f64()?,
        kernels: each(annotations, "kernels", decode_kernel)?,
    })
}

fn decode_kernel(kernel: &Member<'_>) -> Result<ResourceEffect, String> {
    let resources = |name: &str| {
        let resources = kernel.get(name)?;
        Ok::<_, String>(KernelResources {
            registers: resources.get("registers")?.u32()?,
            local_bytes: resources.get("local_bytes")?.u32()?,
            shared_bytes: resources.get("shared_bytes")?.u32()?,
            blocks_per_sm: resources.get("blocks_per_sm")?.u32()?,
        })
    };
    let block = kernel.get("block")?;
    let extents: Vec<u32> = block.array()?.iter().map(Member::u32).collect::<Result<_, _>>()?;
    Ok(ResourceEffect {
        kernel: kernel.get("kernel")?.string()?,
        block: Dim3::try_from(extents).map_err(|_| block.wrong("three numbers"))?,
        dynamic_shared_bytes: kernel.get("dynamic_shared_bytes")?.u32()?,
        without: resources("without")?,
        with: resources("with")?,
    })
}

fn decode_region(region: &Member<'_>) -> Result<RegionEffect, String> {
    let lengths = |name: &str| {
        let lengths = region.get(name)?;
        let cycles = lengths.get("cycles").ok().and_then(|cycles| cycles.option());
        let cycles = cycles.map(|cycles| {
            let [median, p95] = [cycles.get("median")?.f64()?, cycles.get("p95")?.f64()?];
            Ok::<_, String>(RegionCycles { median, p95 })
        });
        Ok::<_, String>(RegionLengths {
            count: lengths.get("count")?.u64()?,
            median_ns: lengths.get("median_ns")?.f64()?,
            p95_ns: lengths.get("p95_ns")?.f64()?,
            cycles: cycles.transpose()?,
        })
    };
    let (full, half) = (lengths("full")?, lengths("half")?);
    Ok(RegionEffect { name: region.get("name")?.string()?, full, half })
}

/// The elements of a member; none where it is missing.
fn each<T>(
    of: &Member<'_>,
    name: &str,
    decode: impl Fn(&Member<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    of.get(name).map_or(Ok(Vec::new()), |list| list.array()?.iter().map(decode).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As read from the metadata of a file.
    fn read(effect: &Value) -> Result<ObserverEffect, String> {
        decode(&Member::root(effect))
    }

    #[test]
    fn what_came_later_may_be_missing() {
        let first = read(&json!({ "without_ns": 1.0, "with_ns": "inf" })).expect("the first files");
        let with_ns = f64::INFINITY;
        assert_eq!(first, ObserverEffect { without_ns: 1.0, with_ns, ..ObserverEffect::default() });
        let annotations = json!({ "without_ns": 2.0, "with_ns": 3.0 });
        let second = json!({ "without_ns": 1.0, "with_ns": "inf", "annotations": annotations });
        let annotations = AnnotationEffect { without_ns: 2.0, with_ns: 3.0, kernels: Vec::new() };
        assert_eq!(read(&second), Ok(ObserverEffect { annotations: Some(annotations), ..first }));
    }

    #[test]
    fn what_is_not_as_it_should_be_is_named() {
        let mut effect = ObserverEffect {
            annotations: Some(AnnotationEffect {
                kernels: vec![ResourceEffect::default()],
                ..AnnotationEffect::default()
            }),
            ..ObserverEffect::default()
        };
        let whole = encode(&effect);
        assert_eq!(read(&whole).as_ref(), Ok(&effect));
        let error = |at: &str, value: Value| {
            let mut spoiled = whole.clone();
            *spoiled.pointer_mut(at).expect("a member") = value;
            read(&spoiled).expect_err("it is spoiled")
        };
        let kernel = ".annotations.kernels[0]";
        let at = "/annotations/kernels/0";
        let short = error(&format!("{at}/block"), json!([1, 2]));
        assert_eq!(short, format!("{kernel}.block is not three numbers"));
        let many = error(&format!("{at}/with/registers"), json!(1_u64 << 32));
        assert_eq!(many, format!("{kernel}.with.registers is not a number below 2^32"));
        let none = error(at, json!({ "kernel": "gemm" }));
        assert_eq!(none, format!("{kernel}.block is missing"));
        effect.annotations = None;
        assert_eq!(read(&encode(&effect)), Ok(effect));
    }
}
