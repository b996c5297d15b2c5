//! `stats --show` of launches as JSON. The grouping of rows.

use crate::support;

use std::collections::BTreeSet;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_wire::SiteKind;
use serde_json::Value;
use support::Folder;

fn folder() -> Folder {
    let folder = Folder::with_captures();
    folder.save("waiting.capture", &support::waiting());
    folder
}

/// The member of the document for two launches, a list of these.
#[track_caller]
fn member(folder: &Folder, capture: &str, show: &str) -> Value {
    let ran = folder.run(&format!("stats {capture} --launch 0-1 --show {show} --format json"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{show}");
    let mut document = ran.json();
    assert_eq!(document["schema"], 1);
    document[show.replace('-', "_")].take()
}

fn row<'r>(member: &'r Value, launch: usize, wanted: &[(&str, &str)]) -> &'r Value {
    let is_wanted = |row: &&Value| wanted.iter().all(|(column, text)| row[column] == *text);
    let mut rows = member[launch]["rows"].as_array().expect("rows").iter().filter(is_wanted);
    let row = rows.next().expect("such a row");
    assert!(rows.next().is_none(), "{wanted:?} is one row");
    row
}

/// Each warp loses what it recorded itself, while its entry and its launch stay where they are.
#[test]
fn times_between_warps_are_shown_as_they_were_recorded_or_not_at_all() {
    let folder = folder();
    for show in ["balance", "waits", "critical-path", "regions,balance"] {
        let ran = folder.run(&format!("stats gemm.capture --show {show} --subtract-cost"));
        assert_eq!((ran.code, ran.text().as_str()), (Some(2), ""), "{show}");
        for words in
            ["--subtract-cost shortens", "leave --subtract-cost out, or show regions alone"]
        {
            assert!(ran.stderr.contains(words), "{show}: {}", ran.stderr);
        }
    }
    folder.run("stats gemm.capture --show regions --subtract-cost").done();
}

#[test]
fn balance_has_rows_for_warps_blocks_sms_and_regions() {
    let folder = folder();
    let balance = member(&folder, "gemm.capture", "balance");
    // The figures are those of the table.
    let kernel = row(&balance, 1, &[("kind", "kernel"), ("over", "warp")]);
    assert_eq!((&kernel["count"], &kernel["mean_ns"]), (&8.into(), &4655.0.into()));
    let done = row(&balance, 1, &[("kind", "kernel_done"), ("over", "sm")]);
    assert_eq!((&done["max_ns"], &done["file"]), (&10700.0.into(), &Value::Null));
    let load = row(&balance, 0, &[("kind", "region"), ("name", "load"), ("over", "sm")]);
    assert_eq!((&load["count"], &load["max_ns"]), (&2.into(), &3840.0.into()));
    let launch = &balance[1];
    assert_eq!((&launch["launch"], &launch["span_ns"]), (&1.into(), &10700.0.into()));
    assert_eq!(launch["last_blocks"][0]["block"], serde_json::json!([2, 0, 0]));
}

#[test]
fn waits_have_rows_for_who_waits_for_whom() {
    let folder = folder();
    let waits = member(&folder, "waiting.capture", "waits");
    let names = [("name", "full"), ("waiter", "wait, for \"work\""), ("signaller", "work")];
    for launch in 0..2 {
        let row = row(&waits, launch, &names);
        assert_eq!((&row["count"], &row["blocked"]), (&1.into(), &1.into()));
        assert_eq!(row["from_other_blocks"], 1);
        // It waits from the begin of its region to the signal, and goes on 100 cycles later.
        assert_eq!(
            (&row["blocked_p50_ns"], &row["hand_off_max_ns"]),
            (&500.0.into(), &50.0.into())
        );
        let facts = &waits[launch];
        assert_eq!((&facts["launch"], &facts["without_signal"]), (&launch.into(), &1.into()));
    }
}

#[test]
fn a_critical_path_has_rows_for_all_of_its_time() {
    let folder = folder();
    for capture in ["gemm.capture", "waiting.capture"] {
        let path = member(&folder, capture, "critical-path");
        for launch in path.as_array().expect("a list") {
            let rows = launch["rows"].as_array().expect("rows").iter();
            let sum =
                |column: &str| rows.clone().filter_map(|row| row[column].as_f64()).sum::<f64>();
            let span = launch["span_ns"].as_f64().expect("a number");
            assert!((sum("time_ns") - span).abs() < 1e-6 && (sum("share") - 1.0).abs() < 1e-9);
        }
    }
    let path = member(&folder, "waiting.capture", "critical-path");
    assert_eq!(path[0]["signals"], 1);
    assert_eq!(row(&path, 0, &[("kind", "hand_off")])["time_ns"], 50.0);
    assert_eq!(row(&path, 0, &[("kind", "region"), ("name", "work")])["time_ns"], 500.0);
}

#[test]
fn one_document_has_all_that_is_shown_and_the_diagnostics_of_every_command() {
    let folder = folder();
    let all = "stats lossy.capture --show balance,regions,waits,critical-path,waits --format json";
    let ran = folder.run(all);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let document = ran.json();
    let mut members: Vec<&String> = document.as_object().expect("an object").keys().collect();
    members.sort_unstable();
    let wanted = ["balance", "critical_path", "diagnostics", "notes", "regions", "schema", "waits"];
    assert_eq!(members, wanted);
    let info = folder.run("info lossy.capture --format json").json();
    assert_eq!(document["diagnostics"], info["diagnostics"]);
    // Those of regions have a member more, and are the same otherwise.
    let note = folder.run("stats waiting.capture --show waits --format json").json();
    let regions = folder.run("stats waiting.capture --format json").json();
    for document in [note, regions] {
        let note = support::diagnostic(&document["diagnostics"], "wait-without-signal");
        assert_eq!((&note["severity"], &note["count"]), (&"note".into(), &2.into()));
    }
    assert_eq!(document["regions"], folder.run("stats lossy.capture --format json").json());
    // CSV has no place for them.
    let table = folder.run("stats lossy.capture --format csv");
    assert!(table.stderr.starts_with("warning["), "{}", table.stderr);
    // The ending of the output asks for a format as well.
    folder.run("stats gemm.capture --show balance -o balance.json");
    let named = folder.run("stats gemm.capture --show balance --format json");
    assert!(folder.bytes("balance.json") == named.stdout);
}

/// A launch of each of two kernels, and one more of the second.
fn kernels() -> Folder {
    let mut module = SyntheticModule::new(Keep::First, 16);
    let kernels = ["first", "second"].map(|name| module.site(SiteKind::Kernel, name));
    for (launch, kernel) in [(0, kernels[0]), (1, kernels[1]), (2, kernels[1])] {
        let entry = 1_000 + 20_000 * launch;
        let mut warp = SyntheticWarp::new(kernel, entry, 64_000 + entry / 2);
        warp.header.grid_id = 1 + launch;
        warp.leave(entry + 2_000, 65_000 + entry / 2);
        module.warps.push(warp);
    }
    let folder = Folder::new();
    folder.save("kernels.capture", &module.into_capture().expect("the sites are whole"));
    folder
}

#[test]
fn launches_are_chosen_by_kernel() {
    let folder = kernels();
    for show in ["balance", "waits", "critical-path", "balance,regions"] {
        let shown = |words: &str| {
            let words = format!("stats kernels.capture --show {show} --format json {words}");
            let ran = folder.run(&words).done();
            let member = show.split(',').next().unwrap_or_default().replace('-', "_");
            let launches = ran.json()[member].take();
            let launches = launches.as_array().expect("launches").iter();
            let launches: Vec<_> =
                launches.map(|it| it["launch"].as_u64()).map(Option::unwrap).collect();
            (launches, ran.stderr)
        };
        let first = "launch 1 is the first of 2 of second; --launch chooses\n";
        assert_eq!(shown("--kernel second"), (vec![1], first.to_owned()));
        assert_eq!(shown("--kernel first"), (vec![0], String::new()));
        assert_eq!(shown("--kernel s*d --launch 0-2"), (vec![1, 2], String::new()));
        let of_all = "launch 0 of 0 to 2; --launch chooses\n";
        assert_eq!(shown(""), (vec![0], of_all.to_owned()));
    }
    let both = folder.run("stats kernels.capture --show balance --kernel first --kernel thrid");
    assert!(both.stderr.starts_with("no kernel is called thrid\n"), "{}", both.stderr);
    let none = folder.run("stats kernels.capture --show balance --kernel thrid");
    assert_eq!((none.code, none.stdout.len()), (Some(2), 0));
    assert!(none.stderr.contains("no kernel is called thrid"), "{}", none.stderr);
    let none = folder.run("stats kernels.capture --show waits --kernel first --launch 1-2");
    assert!(none.stderr.contains("no kernel of these launches is called first"), "{}", none.stderr);
    for option in ["--sm 0", "--block 0", "--warp 0", "--name x", "--by sm", "--window 0..50%"] {
        let ran = folder.run(&format!("stats kernels.capture --show balance {option}"));
        ran.refused("as --launch and --kernel choose launches");
    }
}

/// Times of the emulator were once shown as if they were a GPU's.
#[test]
fn times_of_the_emulator_are_called_so() {
    let folder = Folder::new();
    let mut capture = support::waiting();
    capture.device.emulated = true;
    capture.device.name = "emulator".to_owned();
    folder.save("emulated.capture", &capture);
    for show in ["balance", "waits", "critical-path", "balance,waits", "waits,regions"] {
        let text = folder.run(&format!("stats emulated.capture --show {show}")).text();
        assert!(text.starts_with("emulator: these are not GPU times"), "{show}: {text}");
        let json =
            folder.run(&format!("stats emulated.capture --show {show} --format json")).json();
        let first = json["notes"][0].as_str().expect("a note");
        assert!(first.starts_with("emulator: these are not GPU times"), "{first}");
    }
}

#[test]
fn ranges_are_asked_for_and_named_as_ranges() {
    let folder = folder();
    let words =
        "stats gemm.capture --launch 0-1,7 --block 0-900000,0 --sm 0-4294967295 --warp 1,5-9";
    let ran = folder.run(&format!("{words} --name load --name stroe --format json"));
    let unmet = "there is no launch 7: they are 0 to 1\n\
                 no warp 5-9 of a block was recorded in these launches\n";
    assert_eq!(ran.stderr, unmet);
    let json = ran.json();
    let notes: Vec<&str> =
        json["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    for wanted in [
        "SHOWS 8 of 16 warps: records, losses and open regions are counted of those",
        "the figures below are only of: names load or stroe",
        "no region is called stroe: there is epilogue, gemm, load, mma, tile",
    ] {
        assert!(notes.contains(&wanted), "{wanted}\n{notes:#?}");
    }
    assert_eq!(json["rows"][0]["count"], 32);
    // A table of CSV has no place for that, and standard error has.
    let csv = folder.run("stats gemm.capture --name stroe --name load --format csv");
    let said = "no region is called stroe: there is epilogue, gemm, load, mma, tile\n";
    assert_eq!((csv.code, csv.stderr.as_str()), (Some(0), said));
    // Where nothing is left there is nothing to show, which a script must see.
    for (words, said) in [
        ("--name stroe --name half", "error: no region is called stroe or half: there is epilogue"),
        (
            "--kernel gem",
            "error: no kernel is called gem\n  help: choose others by --kernel and --launch; there is gemm;",
        ),
    ] {
        for format in ["csv", "json", "table"] {
            let ran = folder.run(&format!("stats gemm.capture {words} --format {format} --quiet"));
            ran.refused(said);
        }
        let ran = folder.run(&format!("diff gemm.capture gemm.capture {words} --quiet"));
        let nothing = "error: nothing is compared: no chosen region is on either side\n";
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(nothing), "{}", ran.stderr);
        // A threshold cannot be held to what is not there.
        let ran = folder.run(&format!("diff gemm.capture gemm.capture {words} --fail-above 5%"));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    }
}

/// Two launches of four blocks with two warps each, on two SMs, and in each warp every region.
#[test]
fn a_row_is_about_what_was_asked_for() {
    const PLACE: [&str; 6] = ["launch", "sm", "block_x", "block_y", "block_z", "warp"];
    let folder = folder();
    for (by, filled, places) in [
        ("site", &[][..], 1),
        ("path", &[], 1),
        ("launch", &["launch"], 2),
        ("sm", &["sm"], 2),
        ("block", &["launch", "block_x", "block_y", "block_z"], 8),
        ("warp", &["launch", "block_x", "block_y", "block_z", "warp"], 16),
    ] {
        let ran = folder.run(&format!("stats gemm.capture --by {by} --format csv")).done();
        // No cell of this capture has a comma.
        let text = ran.text();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let columns = lines.next().expect("a line of names");
        let lines: Vec<_> = lines.collect();
        let at = |name: &str| columns.iter().position(|column| *column == name).expect("a column");
        let mut found = BTreeSet::new();
        for line in &lines {
            assert_eq!(line[at("group")], by);
            assert_eq!(line[at("path")].is_empty(), by != "path", "{line:?}");
            for column in PLACE {
                let is_filled = !line[at(column)].is_empty();
                assert_eq!(is_filled, filled.contains(&column), "{by}: {column}: {line:?}");
            }
            if line[at("name")] == "load" {
                assert_eq!(line[at("count")], (64 / places).to_string(), "{by}: {line:?}");
                found.insert(PLACE.map(|column| line[at(column)]));
            }
        }
        assert_eq!((found.len(), lines.len()), (places, 5 * places), "{by}");
    }
}
