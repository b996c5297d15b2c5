//! What a process left, as captures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::names::readable;
use profiler_trace::{
    Capture, ClockPair, DeviceInfo, HostCapture, HostRecord, ModuleCapture, SiteTable,
};
use profiler_wire::descriptor::{Descriptor, FLAG_CLAIMED, Lost};
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::site::SiteKind;
use profiler_wire::spool::{Entries, Entry, Launch, Records, module_file};

/// What a process did.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) process: u32,
    /// A capture of each GPU.
    pub(crate) captures: Vec<Capture>,
    pub(crate) kernels: Vec<Kernel>,
    /// Launches whose time was taken, in the order in which they ended.
    pub(crate) launches: Vec<Launch>,
    /// Whether the process wrote all to its end.
    pub(crate) is_whole: bool,
}

/// A kernel that a process launched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// How often it was launched, if the process came to its end.
    pub(crate) launches: Option<u64>,
    /// Whether it records somewhere.
    pub(crate) records: bool,
    /// Why it does not.
    pub(crate) reason: String,
    /// The hash of its module.
    hash: Option<u64>,
}

impl Kernel {
    /// The names of its regions, by its module in the folder of the recording.
    pub(crate) fn regions(&self, folder: &Path) -> Vec<String> {
        let table = self.hash.and_then(|hash| sites_of(folder, hash)).unwrap_or_default();
        let own = table.sites().iter().skip_while(|site| site.name != self.name).skip(1);
        // The regions of a kernel come after it.
        let regions = own.take_while(|site| site.kind != SiteKind::Kernel);
        regions.map(|site| site.name.clone()).collect()
    }
}

/// The sites of a module.
fn sites_of(folder: &Path, hash: u64) -> Option<SiteTable> {
    let text = fs::read_to_string(folder.join(module_file(hash))).ok()?;
    Some(SiteTable::from_ptx(&text).ok()?.with_kernel_names(readable))
}

struct Module {
    device: u32,
    hash: u64,
}

impl Recording {
    /// Reads what a process left in the folder of a recording. `None` if it launched nothing.
    pub(crate) fn of(process: u32, bytes: &[u8], folder: &Path) -> Option<Self> {
        let (mut devices, mut found, mut kernels) = (Vec::new(), Vec::new(), Vec::<Kernel>::new());
        let (mut launches, mut records) = (Vec::new(), Vec::new());
        for entry in Entries::of(bytes)? {
            match entry {
                Entry::Device { name, capability, sm_count, driver } => devices.push(DeviceInfo {
                    name,
                    emulated: false,
                    compute_capability: Some(capability),
                    sm_count,
                    driver: format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10),
                    clock_mhz: None,
                }),
                Entry::Module { device, hash } => found.push(Module { device, hash }),
                Entry::Kernel { name } => {
                    kernels.push(Kernel { name: readable(&name), ..Kernel::default() });
                }
                Entry::Attached { kernel, module, reason } => {
                    if let Some(kernel) = kernels.get_mut(kernel as usize) {
                        kernel.hash = found.get(module as usize).map(|module| module.hash);
                        kernel.records |= reason.is_empty();
                        kernel.reason = reason;
                    }
                }
                Entry::Launch(launch) => launches.push(launch),
                Entry::Records(it) => records.push(it),
                Entry::Count { kernel, launches } => {
                    if let Some(kernel) = kernels.get_mut(kernel as usize) {
                        kernel.launches = Some(kernel.launches.unwrap_or(0) + launches);
                    }
                }
            }
        }
        if kernels.is_empty() {
            return None;
        }
        let captures = devices.into_iter().enumerate().map(|(index, device)| {
            let index = index as u32;
            let is_here = |module: u32| {
                found.get(module as usize).is_some_and(|module| module.device == index)
            };
            let here: Vec<&Records> = records.iter().filter(|it| is_here(it.module)).collect();
            Capture {
                device,
                modules: merged(&here, &found, folder),
                host: shown(launches.iter().filter(|launch| launch.device == index), &kernels),
                ..Capture::default()
            }
        });
        let captures = captures.collect();
        // Kernels whose modules were unloaded are counted before the end.
        let is_whole = kernels.iter().all(|kernel| kernel.launches.is_some());
        Some(Self { process, captures, kernels, launches, is_whole })
    }
}

/// Records of one module are one, if they lie alike.
fn merged(records: &[&Records], modules: &[Module], folder: &Path) -> Vec<ModuleCapture> {
    let mut groups: BTreeMap<_, Vec<&Records>> = BTreeMap::new();
    for it in records {
        // The module may have been loaded several times.
        let hash = modules.get(it.module as usize).map(|module| module.hash);
        let descriptor = Descriptor::from_bytes(&it.descriptor);
        let shape = (descriptor.record_limit, descriptor.record_mask);
        groups.entry((hash, shape)).or_default().push(it);
    }
    let mut captures = Vec::new();
    for ((hash, _), group) in groups {
        if let Some(sites) = hash.and_then(|hash| sites_of(folder, hash)) {
            captures.push(one(sites, &group));
        }
    }
    captures
}

fn one(sites: SiteTable, group: &[&Records]) -> ModuleCapture {
    let mut descriptor = Descriptor::from_bytes(&group[0].descriptor);
    // Rings keep their size, as a record's place follows from it; others are as long as the longest.
    let is_ring = descriptor.record_mask != u32::MAX;
    let whole = 1_usize << descriptor.record_shift;
    let longest = group.iter().map(|it| it.record_bytes as usize).max().unwrap_or(0);
    let overflowed = group.iter().any(|it| has_losses(it, descriptor.record_limit));
    let stride = if is_ring || overflowed {
        whole
    } else {
        longest.next_power_of_two().max(UNIT_BYTES as usize)
    };
    let mut capture = ModuleCapture { sites, ..ModuleCapture::default() };
    let mut lost = Lost::default();
    for it in group {
        let width = it.record_bytes as usize;
        let slots = it.headers.len() / header::BYTES;
        capture.headers.extend_from_slice(&it.headers);
        for slot in 0..slots {
            let records = it.records.get(slot * width..(slot + 1) * width).unwrap_or_default();
            capture.records.extend_from_slice(records);
            capture.records.resize(capture.records.len() + stride - records.len().min(stride), 0);
        }
        let own = Lost::from_bytes(&it.lost);
        lost.warps += own.warps;
        lost.units += own.units;
        lost.attachments += own.attachments;
    }
    let slots = (capture.headers.len() / header::BYTES) as u32;
    descriptor.flags &= !FLAG_CLAIMED;
    descriptor.record_shift = stride.trailing_zeros();
    if !is_ring {
        descriptor.record_limit = stride as u32;
    }
    descriptor.slot_count = slots;
    descriptor.slot_base = slots;
    capture.descriptor = descriptor;
    capture.lost = lost;
    capture
}

/// Whether a warp made more records than there was memory for.
fn has_losses(records: &Records, limit: u32) -> bool {
    records.headers.chunks_exact(header::BYTES).any(|bytes| {
        ExitHeader::unpack(&header::words(bytes))
            .is_none_or(|exit| exit.units.saturating_mul(UNIT_BYTES) > limit)
    })
}

/// Timed launches as spans, a row a stream. Their times are the GPU's own.
fn shown<'l>(launches: impl Iterator<Item = &'l Launch>, kernels: &[Kernel]) -> HostCapture {
    let mut host = HostCapture::default();
    let mut streams = Vec::new();
    for launch in launches {
        let thread =
            streams.iter().position(|stream| *stream == launch.stream).unwrap_or_else(|| {
                streams.push(launch.stream);
                host.threads.push(match launch.stream {
                    0 => "launches, default stream".to_owned(),
                    _ => format!("launches, stream {}", streams.len()),
                });
                streams.len() - 1
            });
        let name = kernels.get(launch.kernel as usize).map_or("", |kernel| kernel.name.as_str());
        host.spans.push(HostRecord {
            thread: thread as u32,
            name: format!("{name} #{}", launch.number),
            is_launch: false,
            start_ns: launch.ns[0],
            end_ns: launch.ns[1],
        });
    }
    let pair = |ns: u64| ClockPair { host_ns: ns, device_ns: ns, uncertainty_ns: 0.0 };
    let start = host.spans.iter().map(|span| span.start_ns).min();
    let end = host.spans.iter().map(|span| span.end_ns).max();
    host.clock = start.into_iter().chain(end).map(pair).collect();
    host
}
