//! The examples of `docs/cli.md` print what stands there. `UPDATE_EXPECT=1` writes it anew.

use crate::support;

use expect_test::expect_file;
use support::Folder;

#[test]
fn the_examples_print_what_the_page_says() {
    let folder = Folder::new();
    folder.save("gemm.capture", &support::gemm(2));
    folder.save("hosted.capture", &support::hosted());
    folder.save("slower.capture", &support::gemm(3));
    folder.save("lossy.capture", &support::lossy());
    folder.write("wait.ptx", support::WAIT_PTX.as_bytes());
    let page = include_str!("../../../docs/cli.md");
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
    let page = include_str!("../../../docs/cli.md");
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
