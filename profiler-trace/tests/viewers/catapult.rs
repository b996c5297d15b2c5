//! Catapult's trace viewer, which was chrome://tracing, and Chrome JSON.

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{ExportOptions, Trace};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::Test;
use crate::support::{edge, gpu, launch, mark, site, warp};
use crate::tools;
use crate::zoo::{KERNEL, zoo};

const NEEDS: &[Tool] = &[Tool::Catapult, Tool::NodeModules, Tool::Chromium];

pub(crate) const TESTS: &[Test] = &[
    Test { name: "catapult::imports_every_slice", needs: NEEDS, run: imports_every_slice },
    Test { name: "catapult::imports_arrows", needs: NEEDS, run: imports_arrows },
];

/// What the viewer's own importer makes of a timeline.
fn import(trace: &Trace, options: &ExportOptions, name: &str) -> Result<Value, Failed> {
    const PROGRAM: &str = "const model = new tr.Model();\n\
        const out = {slices: [], flows: [], failure: null};\n\
        try {\n\
            const importer = new tr.importer.Import(model, new tr.importer.ImportOptions());\n\
            importer.importTraces([text]);\n\
            for (const process of Object.values(model.processes))\n\
                for (const thread of Object.values(process.threads)) {\n\
                    for (const s of thread.sliceGroup.slices) {\n\
                        const parent = s.parentSlice ? s.parentSlice.title : null;\n\
                        out.slices.push([process.name, thread.name, s.title, s.start, s.duration,\n\
                            parent]);\n\
                    }\n\
                }\n\
            for (const f of model.flowEvents)\n\
                out.flows.push([f.startSlice && f.startSlice.title, f.endSlice && f.endSlice.title]);\n\
        } catch (error) { out.failure = String(error.stack); }\n\
        out.warnings = model.importWarnings.map(warning => warning.message);\n\
        out.errors = errors;\n\
        document.getElementById('out').textContent = btoa(String.fromCharCode(\n\
            ...new TextEncoder().encode(JSON.stringify(out))));";
    let mut bytes = Vec::new();
    trace.write_chrome_to(&mut bytes, options)?;
    let viewer = std::fs::read_to_string(Tool::Catapult.find()?)?;
    let polyfill = Tool::NodeModules.find()?.join("webcomponents.js/webcomponents.min.js");
    let polyfill = std::fs::read_to_string(polyfill)?;
    // A script may hold any text but its own end.
    let text = Value::from(String::from_utf8(bytes)?).to_string().replace("</", "<\\/");
    let page = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><script>var errors = [];\
         window.onerror = message => errors.push(String(message));\
         window.__hideTraceViewerPolyfillWarning = true;</script><script>{polyfill}</script>\
         {viewer}<pre id=\"out\"></pre><script>const text = {text};\n{PROGRAM}</script>"
    );
    let path = tools::file(&format!("{name}.html"), page.as_bytes())?;
    let page = tools::page(name, &format!("file://{}", path.display()))?;
    let (_, out) = page.split_once("<pre id=\"out\">").ok_or("the page shows nothing")?;
    let out = out.split('<').next().unwrap_or_default();
    Ok(serde_json::from_slice(&decode(out)).map_err(|error| format!("{error} in {page}"))?)
}

/// Decodes base64, which keeps any text out of the page's markup.
fn decode(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte)) {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[track_caller]
fn assert_clean(model: &Value) {
    for complaint in ["warnings", "errors"] {
        assert_eq!(model[complaint].as_array().map(Vec::len), Some(0), "{}", model[complaint]);
    }
    assert_eq!(model["failure"], Value::Null);
}

fn imports_every_slice() -> Result<(), Failed> {
    let (trace, _) = zoo();
    for by_sm in [false, true] {
        let options = ExportOptions { by_sm, ..ExportOptions::default() };
        let model = import(&trace, &options, &format!("catapult-{by_sm}"))?;
        assert_clean(&model);
        let slices = model["slices"].as_array().expect("slices");
        let (about, slices): (Vec<_>, Vec<_>) = slices
            .iter()
            .partition(|slice| slice[1].as_str().is_some_and(|name| name == "about this trace"));
        assert!(!about.is_empty());
        // Kernels of warps, regions and, without duration, marks, each once; and what was lost.
        let records = trace.warps.iter().map(|warp| warp.regions.len() + warp.marks.len());
        assert_eq!(slices.len(), trace.warps.len() + records.sum::<usize>() + 1);
        let process = slices[0][0].as_str().expect("a process");
        assert!(process.starts_with(KERNEL), "{process}");
        // In milliseconds; whole nanoseconds of the trace's axis.
        let nanoseconds = |slice: &Value| slice[4].as_f64().map(|ms| ms * 1e6);
        let loads: Vec<f64> = slices
            .iter()
            .filter(|slice| slice[2] == "load")
            .filter_map(|slice| nanoseconds(slice))
            .collect();
        let wanted = trace.warps.iter().flat_map(|warp| &warp.regions);
        let wanted: Vec<f64> = wanted
            .filter(|region| trace.site(region.site).name == "load")
            .filter_map(|region| Some(region.end?.ns.round() - region.start.ns.round()))
            .collect();
        assert_eq!(loads.len(), wanted.len());
        let (mut loads, mut wanted) = (loads, wanted);
        loads.sort_by(f64::total_cmp);
        wanted.sort_by(f64::total_cmp);
        for (found, wanted) in loads.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
        }
        // What lies in what, on the rows where nothing crosses.
        let parents = |name: &str| {
            let of_name = slices.iter().filter(|slice| slice[2] == name);
            let mut parents: Vec<_> = of_name.map(|slice| slice[5].to_string()).collect();
            parents.sort();
            parents.dedup();
            parents
        };
        let kernels = ["axpy", &format!("{KERNEL} (never left)"), KERNEL];
        assert_eq!(parents("load (open)"), kernels.map(|name| Value::from(name).to_string()));
        assert_eq!(parents("計算 100%"), parents("load (open)"));
        assert!(parents("load").contains(&"\"load\"".to_owned()));
        assert!(parents("load").contains(&"\"計算 100%\"".to_owned()));
    }
    Ok(())
}

fn imports_arrows() -> Result<(), Failed> {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let full = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "wait full");
    launch(&mut trace, kernel, [1, 1, 1], 0.0, 1000.0);
    let producer = warp(&mut trace, [0, 0, 0], 0, 0.0, 1000.0);
    let consumer = warp(&mut trace, [0, 0, 0], 1, 0.0, 1000.0);
    let from = mark(&mut trace, producer, full, 300.0, 1);
    let to = mark(&mut trace, consumer, wait, 450.0, 1);
    mark(&mut trace, consumer, full, 900.0, 2);
    edge(&mut trace, from, to);
    let model = import(&trace, &ExportOptions::default(), "catapult-arrows")?;
    assert_clean(&model);
    assert_eq!(model["flows"], serde_json::json!([["full", "wait full"]]));
    Ok(())
}
