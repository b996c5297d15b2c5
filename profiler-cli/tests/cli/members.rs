//! What the pages say of the program. The JSON that commands print has the members that `docs/formats.md`
//! lists, of the types that stand there: none more, none less, in nested objects as well. The examples of
//! `docs/cli.md` print what stands there; `UPDATE_EXPECT=1` writes it anew.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, RecordCost, ResourceEffect};
use profiler_wire::{SiteEntry, SiteKind, Strategy};
use serde_json::Value;
use support::Folder;

/// The types of members by their paths, with `null` and `absent` among them.
type Members = BTreeMap<String, BTreeSet<String>>;

const PAGE: &str = include_str!("../../../docs/formats.md");
const CLI_PAGE: &str = include_str!("../../../docs/cli.md");

/// A column of a table, whose contents other tests check.
const ANY: &str = "anything";

/// The names and the types of each row of the table after such a comment.
fn table(comment: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    let comment = format!("<!-- {comment} -->\n");
    let (_, rest) = PAGE.split_once(&comment).unwrap_or_else(|| panic!("no {comment}"));
    assert!(!rest.contains(&comment), "{comment} is there twice");
    let lines = rest.lines().skip_while(|line| !line.starts_with("| `"));
    let rows = lines.take_while(|line| line.starts_with('|')).map(|line| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let (names, types) = (cells.next().expect("names"), cells.next().expect("a type"));
        assert!(cells.next().is_some_and(|meaning| !meaning.is_empty()), "{line}");
        (names.split(", ").map(|name| name.trim_matches('`')).collect(), types)
    });
    rows.collect()
}

/// Adds what the page says of the members of an object at `path`.
fn documented(name: &str, path: &str, members: &mut Members) {
    for (names, types) in table(&format!("members: {name}")) {
        for name in names {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let mut kinds = BTreeSet::new();
            for kind in types.split(" or ") {
                let (kind, element) = match kind.strip_prefix("list of ") {
                    Some(element) => ("list", Some(element)),
                    None => (kind, None),
                };
                kinds.insert(documented_type(kind, &path, members));
                if let Some(element) = element {
                    let path = format!("{path}[]");
                    // Of several.
                    let one = element.strip_suffix('s').unwrap_or(element);
                    let element = documented_type(one, &path, members);
                    members.insert(path, BTreeSet::from([element]));
                }
            }
            assert!(members.insert(path.clone(), kinds).is_none(), "{path} is there twice");
        }
    }
}

/// The type of a member at `path`. One in brackets has a list of members, which are added.
fn documented_type(kind: &str, path: &str, members: &mut Members) -> String {
    let Some((name, link)) = kind.strip_prefix('[').and_then(|kind| kind.split_once("](#")) else {
        let known = ["text", "integer", "number", "bool", "object", "list", "null", "absent"];
        assert!(known.contains(&kind), "{path} is of no type: {kind}");
        return kind.to_owned();
    };
    let anchor = link.strip_suffix(')').expect("a link ends");
    if name == "rows" {
        for (names, _) in table(&format!("columns: {}", anchor.replace('-', " "))) {
            for name in names {
                members.insert(format!("{path}.{name}"), BTreeSet::from([ANY.to_owned()]));
            }
        }
    } else {
        documented(name, path, members);
    }
    "object".to_owned()
}

/// The members in printed documents.
#[derive(Default)]
struct Seen {
    members: Members,
    /// The number of times that each was there.
    counts: BTreeMap<String, u64>,
    /// The number of objects at each path.
    objects: BTreeMap<String, u64>,
}

impl Seen {
    fn value(&mut self, path: &str, value: &Value) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "text",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        };
        self.members.entry(path.to_owned()).or_default().insert(kind.to_owned());
        *self.counts.entry(path.to_owned()).or_default() += 1;
        match value {
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.value(&format!("{path}[]"), element));
            }
            Value::Object(_) => self.object(path, value),
            _ => {}
        }
    }

    fn object(&mut self, path: &str, object: &Value) {
        *self.objects.entry(path.to_owned()).or_default() += 1;
        for (name, value) in object.as_object().expect("an object") {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.value(&path, value);
        }
    }

    /// The members of all documents, as the page would have them.
    fn into_members(mut self, documented: &Members) -> Members {
        for (path, kinds) in &mut self.members {
            if documented.get(path).is_some_and(|kinds| kinds.contains(ANY)) {
                *kinds = BTreeSet::from([ANY.to_owned()]);
            }
            let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
            if !path.ends_with("[]") && self.counts[path] < self.objects[parent] {
                kinds.insert("absent".to_owned());
            }
        }
        self.members
    }
}

/// Requires that what the page says of `name` is what these commands print, all together.
#[track_caller]
fn check(name: &str, folder: &Folder, commands: &[&str]) {
    let mut seen = Seen::default();
    for words in commands {
        let ran = folder.run(&format!("{words} --format json"));
        assert!(ran.code != Some(2), "{words}: {}", ran.stderr);
        seen.object("", &ran.json());
    }
    let mut page = Members::new();
    documented(name, "", &mut page);
    let printed = seen.into_members(&page);
    let paths: BTreeSet<&String> = page.keys().chain(printed.keys()).collect();
    let types = |of: &Members, path| of.get(path).map(|kinds| Vec::from_iter(kinds.clone()));
    let differences: Vec<String> = paths
        .into_iter()
        .filter(|path| page.get(*path) != printed.get(*path))
        .map(|path| {
            let (page, printed) = (types(&page, path), types(&printed, path));
            format!("{path}: the page says {page:?}, printed is {printed:?}")
        })
        .collect();
    assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
}

/// A region of a site that is not there, and one that begins before its warp: a unit that is odd, and
/// an error.
fn odd() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "odd");
    let region = module.site(SiteKind::Region, "step");
    let mut warp = SyntheticWarp::new(kernel, 2000, 64_000);
    warp.range(99, None, 2005, 2010).range(region, None, 1500, 2020);
    warp.leave(4000, 65_000);
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

/// A capture with everything that a session measures besides records, and a list of names.
fn measured() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let entry = SiteEntry::new(SiteKind::Kernel, "kernel", "src/kernel.rs", "gpu", 1, 1);
    let strategy = Strategy::Warp.code();
    let kernel = module.site_entry(&SiteEntry { symbol: "kernel", strategy, ..entry }, &[]);
    let names = module.names("phase", &["fill", "drain"]);
    let mut warp = SyntheticWarp::new(kernel, 2000, 64_000);
    warp.range(names, None, 2010, 2020).leave(4000, 65_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.compute_capability = Some((9, 0));
    capture.device.clock_mhz = Some(2000.0);
    capture.record_cost = Some(RecordCost::uniform(10.0, 24.0));
    capture.resources =
        vec![ResourceEffect { kernel: "kernel".to_owned(), ..ResourceEffect::default() }];
    capture
}

/// Launches that run a region now and then once more, `count` times at least.
fn counted(count: u64) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "step");
    let silent = module.site(SiteKind::Region, "silent");
    for launch in 0..8 {
        let entry = 2000 + 10_000 * launch;
        let ns = |ticks: u64| 64_000 + ticks / 2;
        let mut warp = SyntheticWarp::new(kernel, entry, ns(entry));
        warp.header.grid_id = 1 + launch;
        for step in 0..count + u64::from(launch == 5) {
            warp.range(region, None, entry + 100 * step, entry + 100 * step + 50 + launch);
        }
        warp.leave(entry + 1000, ns(entry + 1000));
        module.warps.push(warp);
    }
    let mut capture = module.into_capture().expect("the sites are whole");
    let sites = &mut capture.modules[0].sites;
    *sites = sites.clone().with_kernels([(region, kernel), (silent, kernel)]);
    capture
}

/// Captures that together have everything that a document may say.
fn folder() -> Folder {
    let folder = Folder::with_captures();
    folder.save("slower.capture", &support::gemm(3));
    folder.save("waiting.capture", &support::waiting());
    folder.save("odd.capture", &odd());
    folder.save("measured.capture", &measured());
    folder.save("few.capture", &counted(1));
    folder.save("more.capture", &counted(3));
    let empty = SyntheticModule::new(Keep::First, 8).into_capture().expect("there are no sites");
    folder.save("empty.capture", &empty);
    folder
}

#[test]
fn info_prints_what_the_page_says() {
    let captures = ["gemm", "hosted", "lossy", "odd", "measured", "empty"];
    let commands = captures.map(|name| format!("info {name}.capture"));
    check("info", &folder(), &commands.each_ref().map(String::as_str));
}

#[test]
fn check_prints_what_the_page_says() {
    check("check", &folder(), &["check gemm.capture lossy.capture odd.capture few.capture"]);
}

#[test]
fn sites_print_what_the_page_says() {
    let folder = Folder::new();
    folder.write("wait.ptx", support::WAIT_PTX.as_bytes());
    folder
        .write("wait.fatbin", include_bytes!("../../../profiler-ptx/tests/data/wait-zstd.fatbin"));
    folder.write("odd.ptx", support::WAIT_PTX.replace("$again;", "$nowhere;").as_bytes());
    let table = support::WAIT_PTX
        .replace("\tret;", "T: .branchtargets U, $again;\nbrx.idx %r1, T;\nU: ret;");
    folder.write("table.ptx", table.as_bytes());
    let of_line = "table.ptx --region 'lines turns.cu:11=end'";
    let commands =
        ["wait.ptx", "wait.fatbin", "odd.ptx", of_line].map(|file| format!("sites {file}"));
    check("sites", &folder, &commands.each_ref().map(String::as_str));
}

#[test]
fn diff_prints_what_the_page_says() {
    let commands = [
        "diff gemm.capture slower.capture --fail-above 5%",
        "diff gemm.capture waiting.capture --by path",
        "diff odd.capture odd.capture --name none --fail-above 5%",
        "diff lossy.capture gemm.capture",
        "diff few.capture more.capture",
    ];
    check("diff", &folder(), &commands);
}

const OF_STATS: [&str; 4] = ["lossy", "odd", "gemm", "waiting"];

#[test]
fn stats_of_regions_print_what_the_page_says() {
    let commands = OF_STATS.map(|name| format!("stats {name}.capture"));
    check("regions", &folder(), &commands.each_ref().map(String::as_str));
}

#[test]
fn stats_of_all_that_can_be_shown_print_what_the_page_says() {
    let all = "regions,balance,waits,critical-path";
    let commands = OF_STATS.map(|name| format!("stats {name}.capture --show {all}"));
    let mut commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    commands.extend(["stats gemm.capture --show balance", "stats gemm.capture --show waits"]);
    check("shown", &folder(), &commands);
}

#[test]
fn the_examples_print_what_the_page_says() {
    let folder = Folder::new();
    folder.save("gemm.capture", &support::gemm(2));
    folder.save("hosted.capture", &support::hosted());
    folder.save("slower.capture", &support::gemm(3));
    folder.save("lossy.capture", &support::lossy());
    folder.write("wait.ptx", support::WAIT_PTX.as_bytes());
    let page = CLI_PAGE;
    let mut written = String::new();
    let mut in_output = false;
    let mut examples = 0;
    for line in page.lines() {
        match line {
            "```" => in_output = false,
            _ if in_output => continue,
            _ => {}
        }
        written += line;
        written.push('\n');
        if let Some(words) = line.strip_prefix("$ profiler ") {
            let ran = folder.run(words);
            written += &ran.text();
            if ran.code != Some(0) {
                written += &format!("(exit code {})\n", ran.code.unwrap_or(-1));
            }
            assert!(!ran.text().is_empty(), "{words}: {}", ran.stderr);
            in_output = true;
            examples += 1;
        }
    }
    assert!(examples >= 7, "{examples}");
    expect_file!["../../../docs/cli.md"].assert_eq(&written);
}

#[cfg(feature = "parquet")]
#[test]
fn the_page_lists_every_command_and_format() {
    let folder = Folder::new();
    let page = CLI_PAGE;
    let help = folder.run("--help").text();
    let commands = help.split("Commands:\n").nth(1).expect("a list of commands");
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().expect("a name");
        assert!(name == "help" || page.contains(&format!("`{name}`")), "{name}");
    }
    let help = folder.run("export --help").text();
    let formats = help.split("Possible values:\n").nth(1).expect("a list of formats");
    let formats: Vec<&str> = formats
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next())
        .collect();
    assert!(formats.len() >= 7, "{formats:?}");
    for format in &formats {
        assert!(page.contains(&format!("\n| `{format}` |")), "{format}");
    }
    let listed = page.lines().filter(|line| line.starts_with("| `") && line.contains("| `."));
    assert_eq!(listed.count(), formats.len());
}
