//! Speedscope: the schema of its files, and what its page shows.

use std::process::Command;

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{SpeedscopeOptions, Trace};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::Test;
use crate::support::{gpu, last, launch, region, site, warp};
use crate::tools;
use crate::zoo::{KERNEL, host, zoo};

const SCHEMA: &[Tool] = &[Tool::NodeModules];
const PAGE: &[Tool] = &[Tool::NodeModules, Tool::Chromium];

pub(crate) const TESTS: &[Test] = &[
    Test { name: "speedscope::files_are_valid", needs: SCHEMA, run: files_are_valid },
    Test { name: "speedscope::frames_nest", needs: &[], run: frames_nest },
    Test { name: "speedscope::warps_are_bounded", needs: &[], run: warps_are_bounded },
    Test {
        name: "speedscope::threads_of_the_host",
        needs: &[],
        run: threads_of_the_host_are_profiles,
    },
    Test { name: "speedscope::the_page_lists_profiles", needs: PAGE, run: page_lists_profiles },
    Test { name: "speedscope::the_page_shows_times", needs: PAGE, run: page_shows_times },
];

fn written(trace: &Trace, options: &SpeedscopeOptions) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    trace.write_speedscope_to(&mut bytes, options)?;
    Ok(bytes)
}

/// By the schema that speedscope publishes.
fn files_are_valid() -> Result<(), Failed> {
    const PROGRAM: &str = "const fs = require('fs');\n\
        const [modules, ...files] = process.argv.slice(1);\n\
        const Ajv = require(modules + '/ajv').default;\n\
        const at = modules + '/speedscope/dist/release/file-format-schema.json';\n\
        const schema = JSON.parse(fs.readFileSync(at, 'utf8'));\n\
        const ajv = new Ajv({strict: false});\n\
        ajv.addSchema(schema, 'speedscope');\n\
        const check = ajv.getSchema('speedscope#/definitions/FileFormat.File');\n\
        for (const file of files) {\n\
            const ok = check(JSON.parse(fs.readFileSync(file, 'utf8')));\n\
            console.log(ok ? 'valid' : JSON.stringify(check.errors));\n\
        }";
    let options = SpeedscopeOptions::default();
    let with_host = Trace { host: host(), ..zoo().0 };
    let full = tools::file("valid.speedscope.json", &written(&with_host, &options)?)?;
    let empty = tools::file("empty.speedscope.json", &written(&gpu(), &options)?)?;
    // The check itself is checked: a frame that is no number is not valid.
    let broken = String::from_utf8(written(&zoo().0, &options)?)?;
    let broken = broken.replacen("\"frame\":0", "\"frame\":\"0\"", 1);
    let broken = tools::file("broken.speedscope.json", broken.as_bytes())?;
    let mut command = Command::new("node");
    command.args(["-e", PROGRAM]).arg(Tool::NodeModules.find()?).args([full, empty, broken]);
    let text = tools::output(&mut command)?;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["valid", "valid"]);
    assert!(lines[2].contains("must be number"), "{text}");
    Ok(())
}

/// Every frame that opens closes, in the order of brackets and of time.
fn frames_nest() -> Result<(), Failed> {
    let file: Value = serde_json::from_slice(&written(&zoo().0, &SpeedscopeOptions::default())?)?;
    let frames = file["shared"]["frames"].as_array().expect("frames").len() as u64;
    let profiles = file["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), 24);
    for profile in profiles {
        let mut open = Vec::new();
        let mut last = profile["startValue"].as_f64().expect("a start");
        for event in profile["events"].as_array().expect("events") {
            let at = event["at"].as_f64().expect("a time");
            let frame = event["frame"].as_u64().expect("a frame");
            assert!(last <= at && frame < frames, "{profile}");
            last = at;
            match event["type"].as_str() {
                Some("O") => open.push(frame),
                _ => assert_eq!(open.pop(), Some(frame), "{profile}"),
            }
        }
        assert!(open.is_empty() && profile["endValue"].as_f64() == Some(last), "{profile}");
    }
    Ok(())
}

/// Threads come before warps; what crosses within one has a profile of its own.
fn threads_of_the_host_are_profiles() -> Result<(), Failed> {
    let trace = Trace { host: host(), ..zoo().0 };
    let options = SpeedscopeOptions { first_warp: 0, most_warps: 1 };
    let file: Value = serde_json::from_slice(&written(&trace, &options)?)?;
    let profiles = file["profiles"].as_array().expect("profiles");
    let frames = &file["shared"]["frames"];
    let events = |profile: &Value| -> Vec<(String, String, f64)> {
        let events = profile["events"].as_array().into_iter().flatten();
        let event = |event: &Value| {
            let frame = event["frame"].as_u64().expect("a frame") as usize;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let at = event["at"].as_f64().expect("a time");
            (text(&event["type"]), text(&frames[frame]["name"]), at)
        };
        events.map(event).collect()
    };
    let names: Vec<&str> = profiles.iter().filter_map(|profile| profile["name"].as_str()).collect();
    let [main, crossing, loader] = ["main", "main, crossing 1", "a, \"loader\""];
    assert_eq!(names[..3], [main, crossing, loader].map(|name| format!("host, thread {name}")));
    assert!(names[3].starts_with(KERNEL), "{names:?}");
    let at = |sign: &str, name: &str, at: f64| (sign.to_owned(), name.to_owned(), at);
    let expected = [
        at("O", "all", -3000.5),
        at("O", KERNEL, 100.0),
        at("C", KERNEL, 200.0),
        at("C", "all", 9000.25),
    ];
    assert_eq!(events(&profiles[0]), expected);
    assert_eq!(profiles[0]["startValue"], -3000.5);
    assert_eq!(events(&profiles[1]), [at("O", "late", 8000.0), at("C", "late", 10_000.0)]);
    Ok(())
}

fn warps_are_bounded() -> Result<(), Failed> {
    let (trace, _) = zoo();
    let options = SpeedscopeOptions { first_warp: 4, most_warps: 3 };
    let file: Value = serde_json::from_slice(&written(&trace, &options)?)?;
    assert_eq!(file["name"], "NVIDIA H200, 3 of 12 warps, from warp 4 on");
    let names = file["profiles"].as_array().into_iter().flatten().map(|profile| &profile["name"]);
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    let name = |rest: &str| format!("{KERNEL}, launch 1, {rest}");
    let wanted = [
        "block 0, warp 0 · SM 0",
        "block 0, warp 0 · SM 0, lane 9",
        "block 0, warp 1 · SM 0 · LOST 7",
        "block 0, warp 1 · SM 0, lane 9",
        "block 1, warp 0 · SM 1",
        "block 1, warp 0 · SM 1, lane 9",
    ];
    assert_eq!(names, wanted.map(name));
    let all = SpeedscopeOptions { first_warp: usize::MAX, most_warps: usize::MAX };
    let file: Value = serde_json::from_slice(&written(&trace, &all)?)?;
    assert_eq!(file["profiles"].as_array().map(Vec::len), Some(0));
    Ok(())
}

/// The page as it is when the file is loaded.
fn page(trace: &Trace, name: &str, view: &str) -> Result<String, Failed> {
    let bytes = written(trace, &SpeedscopeOptions::default())?;
    // As its own command line hands a file to the page.
    let text = Value::from(String::from_utf8(bytes)?);
    let script = format!(
        "speedscope.loadFileFromBase64('{name}', \
         btoa(String.fromCharCode(...new TextEncoder().encode({text}))))"
    );
    let script = tools::file(&format!("{name}.js"), script.as_bytes())?;
    let page = Tool::NodeModules.find()?.join("speedscope/dist/release/index.html");
    let page = std::fs::canonicalize(page)?;
    let address = format!(
        "file://{}#localProfilePath={}&view={view}",
        page.display(),
        script.to_string_lossy().trim_start_matches('/')
    );
    tools::page(name, &address)
}

fn page_lists_profiles() -> Result<(), Failed> {
    let page = page(&zoo().0, "speedscope-profiles", "time-ordered")?;
    assert!(page.contains("(1/24)"), "{page}");
    // 20 000.7 ns of a kernel, and the region of the other lane.
    for (name, time) in
        [("axpy, launch 2, block 1, warp 0 · SM 1", "20.00µs"), (", lane 9", "2.40µs")]
    {
        let row = page.split("<tr ").find(|row| row.contains(&format!("{name}</span>")));
        assert!(row.is_some_and(|row| row.contains(time)), "{name}: {page}");
    }
    Ok(())
}

fn page_shows_times() -> Result<(), Failed> {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let load = site(&mut trace, SiteKind::Region, "load <&>");
    let store = site(&mut trace, SiteKind::Region, "store");
    launch(&mut trace, kernel, [1, 1, 1], 0.0, 1000.0);
    let warp = warp(&mut trace, [0, 0, 0], 0, 100.0, 1000.0);
    region(&mut trace, warp, load, 0, 200.0, 400.25);
    // Crosses it.
    region(&mut trace, warp, store, 0, 300.0, 700.5);
    region(&mut trace, warp, load, 0, 800.0, 0.0);
    last(&mut trace, warp).end = None;
    let page = page(&trace, "speedscope-times", "sandwich")?;
    for (name, total, own) in [
        ("gemm", "900.00ns", "199.50ns"),
        ("load &lt;&amp;&gt;", "200.25ns", "100.00ns"),
        ("store", "400.50ns", "400.50ns"),
        ("load &lt;&amp;&gt; (open)", "200.00ns", "200.00ns"),
    ] {
        let row = page.split("<tr ").find(|row| row.contains(&format!("</span>{name}</td>")));
        let row = row.ok_or_else(|| format!("no {name}: {page}"))?;
        let times: Vec<&str> = row
            .split('>')
            .filter_map(|cell| cell.split_once(" ("))
            .map(|(time, _)| time)
            .take(2)
            .collect();
        assert_eq!(times, [total, own], "{name}");
    }
    Ok(())
}
