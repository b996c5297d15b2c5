//! Catapult's trace viewer, which was chrome://tracing, and Chrome JSON.

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{Export, ExportOptions, Trace};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::Test;
use crate::support::{hand_over, site};
use crate::tools;
use crate::zoo::{KERNEL, zoo};

const NEEDS: &[Tool] = &[Tool::Catapult, Tool::NodeModules, Tool::Chromium];

pub(crate) const TESTS: &[Test] = &[Test {
    name: "catapult::imports_every_slice_and_arrow",
    needs: NEEDS,
    run: imports_every_slice_and_arrow,
}];

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
                        out.slices.push([process.name, thread.name, s.title]);\n\
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

/// Its slices are compared with the trace's by Perfetto's trace processor, which reads the same file.
fn imports_every_slice_and_arrow() -> Result<(), Failed> {
    let (mut trace, sites) = zoo();
    let (signal, wait) = (sites.signal, site(&mut trace, SiteKind::Wait, "wait full"));
    hand_over(&mut trace, (0, signal, 16_500.0), (1, wait, 16_800.0), 1);
    for by_sm in [false, true] {
        let options = ExportOptions { by_sm, ..ExportOptions::default() };
        let model = import(&trace, &options, &format!("catapult-{by_sm}"))?;
        for complaint in ["warnings", "errors"] {
            assert_eq!(model[complaint], serde_json::json!([]));
        }
        assert_eq!(model["failure"], Value::Null);
        let slices = model["slices"].as_array().expect("slices").iter();
        let slices: Vec<_> = slices.filter(|slice| slice[1] != "about this trace").collect();
        // Kernels of warps, regions and, without duration, marks, each once; and what was lost.
        let records = trace.warps.iter().map(|warp| 1 + warp.regions.len() + warp.marks.len());
        assert_eq!(slices.len(), records.sum::<usize>() + 1);
        let process = slices[0][0].as_str().expect("a process");
        assert!(process.starts_with(KERNEL), "{process}");
        assert_eq!(model["flows"], serde_json::json!([["full", "wait full"]]));
    }
    Ok(())
}
