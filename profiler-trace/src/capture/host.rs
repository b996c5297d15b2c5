//! The host in the metadata.

use serde_json::{Value, json};

use crate::host::{ClockPair, HostCapture, HostRecord};
use crate::json::{Member, float};

/// Null where nothing was recorded.
pub(super) fn encode(host: &HostCapture) -> Value {
    if *host == HostCapture::default() {
        return Value::Null;
    }
    let clock = host.clock.iter().map(|pair| {
        json!({
            "host_ns": pair.host_ns,
            "device_ns": pair.device_ns,
            "uncertainty_ns": float(pair.uncertainty_ns),
        })
    });
    let spans = host.spans.iter().map(|span| {
        json!({
            "thread": span.thread,
            "name": span.name,
            "is_launch": span.is_launch,
            "start_ns": span.start_ns,
            "end_ns": span.end_ns,
        })
    });
    json!({
        "clock": clock.collect::<Vec<_>>(),
        "threads": host.threads,
        "spans": spans.collect::<Vec<_>>(),
    })
}

pub(super) fn decode(host: &Member<'_>) -> Result<HostCapture, String> {
    let pair = |pair: &Member<'_>| {
        Ok(ClockPair {
            host_ns: pair.get("host_ns")?.u64()?,
            device_ns: pair.get("device_ns")?.u64()?,
            uncertainty_ns: pair.get("uncertainty_ns")?.f64()?,
        })
    };
    let threads = host.get("threads")?.array()?;
    let span = |span: &Member<'_>| {
        let thread = span.get("thread")?;
        let number = thread.u32()?;
        if number as usize >= threads.len() {
            return Err(thread.wrong("the number of a thread"));
        }
        Ok(HostRecord {
            thread: number,
            name: span.get("name")?.string()?,
            is_launch: span.get("is_launch")?.bool()?,
            start_ns: span.get("start_ns")?.u64()?,
            end_ns: span.get("end_ns")?.u64()?,
        })
    };
    let clock = host.get("clock")?;
    let pairs: Vec<ClockPair> = clock.array()?.iter().map(pair).collect::<Result<_, String>>()?;
    if pairs.is_empty() || !pairs.is_sorted_by_key(|pair| pair.host_ns) {
        return Err(clock.wrong("a row of readings in order of time"));
    }
    Ok(HostCapture {
        clock: pairs,
        threads: threads.iter().map(Member::string).collect::<Result<_, String>>()?,
        spans: host.get("spans")?.array()?.iter().map(span).collect::<Result<_, String>>()?,
    })
}
