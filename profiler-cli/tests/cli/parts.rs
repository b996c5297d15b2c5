//! Parts of a capture: some launches, some warps.

use crate::support;

use expect_test::expect;
use support::{Folder, check};

#[test]
fn a_launch_of_one_kernel_and_some_of_its_warps() {
    check(
        "export gemm.capture --to folded --kernel g* --launch 1 --block 0-1 --warp 0",
        expect![[r#"
            gemm 800
            gemm;tile 160
            gemm;tile;load 1880
            gemm;tile;mma 4640
            gemm;epilogue 1800
            --- stderr
            wrote 2 of 16 warps
            --- exit code 0
        "#]],
    );
}

#[test]
fn tables_have_the_rows_of_the_part() {
    let folder = Folder::with_captures();
    let all = folder.run("export gemm.capture --to events-csv").text();
    let part = folder.run("export gemm.capture --to events-csv --launch 1 --sm 0").text();
    let header = all.lines().next().expect("a header");
    let place = |name: &str| header.split(',').position(|column| column == name).expect("a column");
    let (launch, sm) = (place("launch"), place("sm"));
    let is_meant = |line: &&str| {
        let columns: Vec<&str> = line.split(',').collect();
        (columns[launch], columns[sm]) == ("1", "0")
    };
    let expected: Vec<&str> = all.lines().skip(1).filter(is_meant).collect();
    assert!(expected.len() > 20, "{expected:?}");
    assert_eq!(part.lines().skip(1).collect::<Vec<_>>(), expected);
}

#[test]
fn all_of_it_named_is_all_of_it() {
    let folder = Folder::with_captures();
    let all = folder.run("export gemm.capture --to chrome").text();
    let named = folder.run("export gemm.capture --to chrome --launch 0-1 --block 0-3").text();
    assert!(all == named && !all.contains("SHOWS"));
    let part = folder.run("export gemm.capture --to chrome --block 1,0,0").text();
    assert!(part.contains("SHOWS 4 of 16 warps"));
    assert!(part.contains("block 1") && !part.contains("block 2"));
}

#[test]
fn what_is_not_there_is_refused() {
    let folder = Folder::with_captures();
    for (words, said) in [
        ("export gemm.capture --to folded --launch 2", "there is no such launch"),
        (
            "report gemm.capture -o - --kernel softmax --kernel gem?x",
            "no kernel is called softmax or gem?x",
        ),
        (
            "export gemm.capture --to folded --launch 1 --kernel softmax",
            "no kernel of these launches is called softmax",
        ),
        ("export gemm.capture --to folded --warp 2", "nothing was recorded there"),
    ] {
        folder.run(words).refused(&format!("error: {said}\n  help: "));
    }
}

#[test]
fn a_page_of_one_launch_lists_no_other() {
    let folder = Folder::with_captures();
    let all = folder.run("report gemm.capture -o -").text();
    let page = folder.run("report gemm.capture -o - --launch 1").text();
    let lists = |page: &str, launch: u32| page.contains(&format!("<tr data-launch=\"{launch}\""));
    assert!(lists(&all, 0) && lists(&all, 1) && !all.contains("SHOWS"));
    assert!(!lists(&page, 0) && lists(&page, 1) && page.contains("SHOWS 8 of 16 warps"));
    let windowed = folder.run("report gemm.capture -o - --launch 1 --window 0us..5us");
    assert!(lists(&windowed.text(), 1));
}

#[test]
fn what_is_not_there_beside_what_is_is_said() {
    let folder = Folder::with_captures();
    let words =
        "--launch 0,99 --kernel gemm --kernel conv --sm 0,77-78 --block 0 --block 9,1 --warp 0,31";
    for command in ["export gemm.capture --to folded", "export gemm.capture --to events-csv"] {
        let ran = folder.run(&format!("{command} {words}"));
        let said = "there is no launch 99: they are 0 to 1\nno kernel is called conv\n\
                    nothing was recorded on SM 77-78 in these launches\n\
                    nothing was recorded of block 9,1 in these launches\n\
                    no warp 31 of a block was recorded in these launches\n\
                    wrote 1 of 16 warps\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), said));
    }
    let ran = folder.run("report gemm.capture --launch 1,2 -o page.html").done();
    assert!(ran.stderr.contains("there is no launch 2: they are 0 to 1\n"), "{}", ran.stderr);
}
