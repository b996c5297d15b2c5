//! Makes the tables and the picture of what the bench measured.

use xtask::{Error, root};

use crate::cargo;

/// Writes the table of a file of results into the texts that show it, and draws its picture if it has one.
pub(crate) fn table(arguments: &[String]) -> Result<(), Error> {
    let [results] = arguments else {
        return Err("usage: cargo lab cost-table RESULTS_JSONL".into());
    };
    // The command below runs in the repository's root, whatever the caller's folder is.
    let results = std::path::absolute(results)?;
    cargo("run")
        .args(["--quiet", "--package", "profiler-bench", "--bin", "cost-table", "--"])
        .arg(results)
        .arg("--root")
        .arg(root())
        .run()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn the_table_is_of_one_file() {
        let usage = table(&[]).expect_err("no file").to_string();
        assert!(usage.contains("RESULTS_JSONL"), "{usage}");
    }
}
