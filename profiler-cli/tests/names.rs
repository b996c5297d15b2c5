//! What a name may not do: a capture may be a stranger's, and a terminal obeys what is printed.

mod support;

use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    AnnotationEffect, Capture, ClockPair, HostRecord, ObserverEffect, ResourceEffect, Value,
};
use profiler_wire::SiteKind;
use support::Folder;

/// A capture of a stranger whose names are escape sequences, and turn the direction of text.
fn steering() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "kernel\x1b[2J");
    let region = module.site_with_unit(SiteKind::Region, "\u{202e}region\x1b[8m", "bytes\x07");
    let mut warp = SyntheticWarp::new(kernel, 1000, 5_000_500);
    warp.range(region, None, 2000, 3000);
    warp.attach(region, 3000, Value::Unsigned(64));
    warp.leave(300_000, 5_150_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are in order");
    capture.device.name = "GPU\x1b]0;title\x07".to_owned();
    capture.device.driver = "13\u{9b}1A".to_owned();
    capture.host.threads.push("thread\r\x1b[1A".to_owned());
    capture.host.clock.push(ClockPair { host_ns: 500, device_ns: 5_000_500, uncertainty_ns: 1.0 });
    let name = "span\x08\u{2066}".to_owned();
    let span = HostRecord { thread: 0, name, is_launch: false, start_ns: 0, end_ns: 100_000 };
    capture.host.spans.push(span);
    let kernel = "kernel\x1b[8m\x07".to_owned();
    let kernels = vec![ResourceEffect { kernel, ..ResourceEffect::default() }];
    let annotations = Some(AnnotationEffect { kernels, ..AnnotationEffect::default() });
    capture.observer_effect = Some(ObserverEffect { annotations, ..ObserverEffect::default() });
    capture
}

#[test]
fn no_name_steers_the_terminal() {
    let folder = Folder::new();
    folder.save("steering\x1b[1A.capture", &steering());
    let commands = [
        "info --all",
        "stats",
        "stats --by path",
        "stats --by warp --kernel nobody --name nobody",
        "stats --show balance,waits,critical-path",
        "timeline",
        "export -o out\x1b[1A.csv",
        "check",
        "check missing\x1b[1A.capture",
        "diff steering\x1b[1A.capture --fail-above 1%",
    ];
    for words in commands {
        let (command, more) = words.split_once(' ').unwrap_or((words, ""));
        let ran = folder.run(&format!("{command} steering\x1b[1A.capture {more} --color always"));
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(!said.contains("\x1b[8m"), "{words}: {said:?}");
        let plain = without_colours(&said);
        let steers = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c);
        assert!(!plain.contains(steers), "{words}: {said:?}");
        assert!(said.len() > 20, "{words}: {said:?}");
    }
}

/// Without the sequences that only choose a colour or a weight.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain + rest,
            None => plain + "\x1b[" + part,
        }
    })
}
