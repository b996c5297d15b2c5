//! What can be said of written tables without a reader: sizes, errors, oddities.

mod support;

use std::io::{self, Write};

use profiler_parquet::{schema, write_arrow, write_parquet};
use profiler_test_tools::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_trace::{
    Capture, Decoder, MarkIndex, Progress, RecordCost, SiteIndex, Trace, WarpSource, decode,
};
use profiler_wire::SiteKind;

use support::{Numbers, many_regions, zoo, zoo_capture};

/// Takes this many bytes.
struct Limited(usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no more room"));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn parquet(trace: &impl WarpSource) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_parquet(trace, &mut bytes).expect("a vector takes all");
    bytes
}

fn arrow(trace: &impl WarpSource) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_arrow(trace, &mut bytes).expect("a vector takes all");
    bytes
}

/// Requires that what is written while decoding is what is written of the trace, with what recording
/// cost and without.
fn require_equal_while_decoding(capture: &Capture) {
    let mut trace = decode(capture);
    for subtracts in [false, true] {
        let mut decoder = Decoder::new(capture);
        if subtracts {
            trace.subtract_record_cost();
            decoder = decoder.subtract_record_cost();
        }
        assert!(parquet(&decoder.streamed()) == parquet(&trace));
        assert!(arrow(&decoder.streamed()) == arrow(&trace));
    }
}

#[test]
fn what_is_written_while_decoding_is_the_same() {
    let cost = Some(RecordCost::uniform(5.0, 40.0));
    let captures = [Content::Regions, Content::Mixed, Content::Marks]
        .map(|content| sized(300, content).expect("the sites are whole"));
    for capture in captures.into_iter().chain([zoo_capture(), Capture::default()]) {
        require_equal_while_decoding(&capture);
        require_equal_while_decoding(&Capture { record_cost: cost, ..capture });
    }
}

#[test]
fn what_is_watched_ends_where_it_said() {
    let trace = zoo();
    for write in [parquet, arrow] {
        let progress = Progress::default();
        progress.watch(|| write(&trace));
        assert!(progress.expected() >= 12 && progress.expected() == progress.done());
    }
}

#[test]
fn errors_of_the_writer_are_returned() {
    let trace = zoo();
    type Way<'t> = &'t dyn Fn(&mut (dyn Write + Send)) -> io::Result<()>;
    let ways: [(Way<'_>, usize); 2] = [
        (&|writer| write_parquet(&trace, writer), parquet(&trace).len()),
        (&|writer| write_arrow(&trace, writer), arrow(&trace).len()),
    ];
    for (way, bytes) in ways {
        for limit in (0..bytes).step_by(bytes / 50).chain([bytes - 1]) {
            let error = way(&mut Limited(limit)).expect_err("too little room");
            assert!(error.to_string().ends_with("no more room"), "{error}");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        way(&mut Limited(bytes)).expect("room for all");
        // What takes nothing, and calls that no error.
        let error = way(&mut [0_u8; 0].as_mut_slice()).expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}

#[test]
fn an_index_that_leads_nowhere_is_named() {
    type Change = fn(&mut Trace);
    let cases: [(Change, &str); 6] = [
        (
            |trace| trace.warps[3].regions[1].site = SiteIndex(99),
            "warp 3 .. site 99, and there are 13",
        ),
        (
            |trace| trace.warps[2].marks[0].site = SiteIndex(u32::MAX),
            "warp 2 .. site 4294967295, and",
        ),
        (|trace| trace.warps[0].launch = 3, "warp 0 .. launch 3, and there are 3"),
        (|trace| trace.launches[2].kernel = SiteIndex(40), "warp 8 .. site 40,"),
        (|trace| trace.edges[0].from = MarkIndex { warp: 1, mark: 77 }, "warp 1 .. mark 77, and"),
        (
            |trace| trace.edges[0].to = MarkIndex { warp: 12, mark: 0 },
            "warp 12 .. warp 12, and there are 12",
        ),
    ];
    for (change, wanted) in cases {
        let mut trace = zoo();
        change(&mut trace);
        let mut bytes = Vec::new();
        let error = write_parquet(&trace, &mut bytes).expect_err("it leads nowhere");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let error = error.to_string();
        assert!(error.starts_with(&wanted.replace("..", "of the trace refers to")), "{error}");
        assert!(error.contains("pass the trace"), "{error}");
        assert!(write_arrow(&trace, &mut bytes).is_err());
        assert!(bytes.is_empty(), "nothing is written of what is wrong");
    }
}

/// Paths of a recursion would take the square of its depth, 70000 squared times five bytes.
#[test]
fn a_deep_recursion_has_short_paths() {
    const DEPTH: u64 = 70_000;
    let mut module = SyntheticModule::new(Keep::First, 1 << 18);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "step");
    let mut warp = SyntheticWarp::new(kernel, 0, 64_000);
    for at in 1..=DEPTH {
        warp.begin(region, None, at);
    }
    for at in DEPTH + 1..=2 * DEPTH {
        warp.end(region, None, at);
    }
    warp.leave(3 * DEPTH, 64_000 + 16 * DEPTH / 10);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.warps[0].regions.len() as u64, DEPTH);
    let bytes = parquet(&trace);
    assert!(bytes.len() < 4_000_000, "{}", bytes.len());
}

/// Whatever was read back, its trace can be written.
#[test]
fn traces_of_damaged_captures_are_written() {
    let whole = zoo_capture();
    let mut numbers = Numbers(99);
    for round in 0..60 {
        let mut capture = whole.clone();
        let module = &mut capture.modules[0];
        for _ in 0..1 + numbers.below(40) {
            let records = numbers.below(4) != 0;
            let bytes = if records { &mut module.records } else { &mut module.headers };
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] = numbers.below(256) as u8;
        }
        let trace = decode(&capture);
        parquet(&trace);
        arrow(&trace);
        // It takes longer.
        if round % 6 == 0 {
            let record_cost = Some(RecordCost::uniform(5.0, 40.0));
            require_equal_while_decoding(&Capture { record_cost, ..capture });
        }
    }
}

#[test]
fn a_region_takes_few_bytes() {
    let trace = many_regions(100_000);
    let bytes = parquet(&trace);
    assert!(bytes.len() < 20 * 100_000, "{}", bytes.len());
}

/// The page's table of columns: name, type and whether it may be null.
#[test]
fn the_page_documents_every_column() {
    let page = include_str!("../../docs/parquet.md");
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let documented: Vec<(String, String, bool)> = page
        .lines()
        .skip_while(|line| !line.starts_with("| column |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .map(|cells| (cells[1].clone(), cells[2].clone(), cells[3] == "yes"))
        .collect();
    let columns: Vec<(String, String, bool)> = schema()
        .fields()
        .iter()
        .map(|field| {
            let name = match field.data_type() {
                arrow_schema::DataType::Dictionary(..) => "text".to_owned(),
                other => other.to_string().to_lowercase(),
            };
            (field.name().clone(), name, field.is_nullable())
        })
        .collect();
    assert_eq!(documented, columns);
}
