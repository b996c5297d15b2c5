//! What views of a session show, by memory that no kernel writes to.

use profiler_wire::header::EXIT_MARK;

use super::*;

#[test]
fn a_header_is_taken_by_its_whole_halves() {
    let whole: [u64; header::WORDS] = std::array::from_fn(|word| match word {
        0..8 => word as u64 + 1,
        11 => EXIT_MARK,
        8..12 => word as u64,
        _ => 0,
    });
    // A unit of two words has arrived, or it has not.
    for there in 0..1_u32 << 6 {
        let mut words = whole;
        for unit in (0..6).filter(|unit| there & (1 << unit) == 0) {
            words[2 * unit..2 * unit + 2].fill(0);
        }
        take_whole(&mut words);
        let has_entry = there & 0xf == 0xf;
        let has_exit = has_entry && there >> 4 == 0b11;
        assert_eq!(words[..8] == whole[..8], has_entry, "{there:b}");
        assert_eq!(words[8..12] == whole[8..12], has_exit, "{there:b}");
        assert!(has_entry || words == [0; header::WORDS]);
        assert!(has_exit || words[8..] == [0; 8]);
    }
}

/// On the emulator no module is out of reach, and all memory outlives a failure.
#[cfg(feature = "cuda")]
mod failed {
    use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
    use profiler_trace::{DiagnosticKind as Kind, HostSpanKind, decode};
    use profiler_wire::SiteKind;
    use profiler_wire::site::{Buffer, SiteEntry};

    use super::*;
    use crate::host_spans::HostRecorder;
    use crate::options::Options;

    /// A module with one kernel, whose one warp has entered it.
    fn module(kernel: &str, buffer: Buffer) -> SyntheticModule {
        let mut module = SyntheticModule::new(Keep::First, 4);
        let mut entry = SiteEntry::new(SiteKind::Kernel, kernel, "k.rs", "k", 1, 1);
        entry.buffer = buffer;
        let kernel = module.site_entry(&entry, &[]);
        module.warps.push(SyntheticWarp::new(kernel, 1_000, 64_000));
        module
    }

    /// A module of which nothing can be read keeps its place and its sites, and what the host did is there.
    #[test]
    fn what_outlives_a_failed_kernel_is_there_as_a_whole() {
        let options = Options { max_warps: Some(1), ..Options::default() };
        let layout = Layout::new(&options, false, false, 1).expect("a layout");
        let memory =
            HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help()).expect("memory");
        let (address, memory) = (memory.address(), Arc::new(memory));
        let descriptor = layout.descriptor(&options, layout.base(address));
        let [gone, kept] = [("gone", Buffer::Global), ("kept", Buffer::Host)]
            .map(|(kernel, buffer)| module(kernel, buffer));
        let headers = kept.capture().expect("the sites are whole").headers;
        memory.write_words((descriptor.headers - address) as usize, &headers);
        let [gone, kept] = [gone, kept].map(|module| module.sites().expect("the sites are whole"));
        let arrays = LiveArrays::new(memory, address, &layout, descriptor, Some(kept));
        let unreadable = ModuleCapture { sites: gone, descriptor, ..ModuleCapture::default() };

        let recorder = HostRecorder::new();
        let log = HostLog::new(recorder.clone());
        log.read_both(ClockPair { host_ns: 0, device_ns: 60_000, uncertainty_ns: 1.0 });
        recorder.in_span("upload", || ());
        log.launched("gone", log.now_ns());
        let watch = Watch::new(
            DeviceInfo::default(),
            vec![WatchedModule::Unreadable(unreadable), WatchedModule::Live(arrays)],
            &Output::new(&options),
            Some(WatchedHost { log, clock: None }),
        );
        let watch = watch.expect("one module can be read");
        let capture = watch.capture_at(CaptureEnd::Failed { code: 700 }).expect("it can be read");
        let trace = decode(&capture);
        let names: Vec<&str> = trace.sites.iter().map(|site| site.name.as_str()).collect();
        assert_eq!(names, ["gone", "kept"], "each module has its index");
        let [launch] = trace.launches.as_slice() else {
            panic!("one launch: {:?}", trace.launches)
        };
        assert_eq!((trace.site(launch.kernel).name.as_str(), trace.warps.len()), ("kept", 1));
        let host: Vec<_> = trace.host.spans().map(|span| (span.name.as_str(), span.kind)).collect();
        let call = ("gone", HostSpanKind::Launch(None));
        assert_eq!(host, [("upload", HostSpanKind::Span), call]);
        let gone = trace.diagnostics.get(Kind::RecordsGone).expect("it is said");
        assert_eq!((gone.count, gone.place.map(|place| place.module)), (1, Some(0)), "{gone}");
        let salvaged = Some(Box::new(capture));
        let error = failed(salvaged, None);
        assert!(error.contains("Error::salvaged has them (of 1 module, "), "{error}");
        assert!(!error.contains("guard word"), "{error}");
    }

    fn failed(salvaged: Option<Box<Capture>>, overwritten: Option<Box<Error>>) -> String {
        let reason = "a trap".to_owned();
        Error::KernelFailed { reason, code: 719, salvaged, overwritten }.to_string()
    }

    /// That a kernel failed hides no guard word that was overwritten, nor the other way round.
    #[test]
    fn a_failure_and_guards_that_were_overwritten_are_both_said() {
        let first = "at byte 8, before all arrays".to_owned();
        let guards = Box::new(Error::GuardsOverwritten { words: 2, first });
        let error = failed(None, Some(guards));
        assert!(error.starts_with("a kernel failed (a trap), "), "{error}");
        let (_, after) = error.split_once(". Besides, ").expect("both");
        assert!(after.starts_with("2 guard word(s) of the session's memory "), "{after}");
    }

    /// What records in device memory cannot be watched, and it is said what can.
    #[test]
    fn modules_out_of_reach_are_not_watchable() {
        let watch = |modules| {
            let output = Output::new(&Options::default());
            Watch::new(DeviceInfo::default(), modules, &output, None)
        };
        let gone = || WatchedModule::Unreadable(ModuleCapture::default());
        let error = watch(vec![gone(), gone()]).expect_err("nothing can be read");
        assert!(matches!(error, Error::NotWatchable), "{error}");
        assert!(error.to_string().contains("#[profiled(buffer = host)]"), "{error}");
        watch(vec![gone(), WatchedModule::Live(live())]).expect("one can be read");
    }

    /// Arrays for one warp, which nothing was written to.
    fn live() -> LiveArrays {
        let options = Options { max_warps: Some(1), ..Options::default() };
        let layout = Layout::new(&options, false, false, 1).expect("a layout");
        let memory =
            HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help()).expect("memory");
        let address = memory.address();
        let descriptor = layout.descriptor(&options, layout.base(address));
        LiveArrays::new(Arc::new(memory), address, &layout, descriptor, None)
    }
}
