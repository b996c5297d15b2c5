//! What compute-sanitizer says of a case.

use crate::setting::Provoked;

/// What begins each line of compute-sanitizer's own.
const PREFIX: &str = "=========";

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Findings {
    /// How many of the findings the case provokes.
    pub(crate) provoked: usize,
    /// The first lines of the others.
    pub(crate) others: Vec<String>,
    /// What was to be provoked and was not found.
    pub(crate) missing: Vec<&'static str>,
}

impl Findings {
    /// Reads the output of compute-sanitizer. Nothing is filtered but what the case provokes.
    ///
    /// # Errors
    ///
    /// The output has no summary, or its summary counts more findings or fewer than were read: then
    /// nothing is known.
    pub(crate) fn read(output: &str, provokes: Provoked) -> Result<Self, String> {
        let mut findings = Self { provoked: 0, others: Vec::new(), missing: Vec::new() };
        let mut counted = None;
        let mut heads = Vec::new();
        for line in output.lines().filter_map(|line| line.strip_prefix(PREFIX)) {
            // The lines that belong to a finding are indented further.
            let Some(head) = line.strip_prefix(' ').filter(|line| !line.starts_with(' ')) else {
                continue;
            };
            let head = head.trim();
            if let Some((_, counts)) = head.split_once("SUMMARY: ") {
                let count = counts.split(' ').next().and_then(|count| count.parse::<u64>().ok());
                let count = count.ok_or_else(|| format!("no number in `{head}`"))?;
                counted = Some(counted.unwrap_or(0) + count);
            } else if !head.is_empty() && head != "COMPUTE-SANITIZER" {
                heads.push(head);
            }
        }
        let counted = counted.ok_or("compute-sanitizer printed no summary")?;
        let printed = heads.len();
        if counted != printed as u64 {
            return Err(format!(
                "compute-sanitizer counts {counted} findings and prints {printed}"
            ));
        }
        for head in &heads {
            let mut known = provokes.always.iter().chain(provokes.perhaps);
            if known.any(|words| head.contains(words)) {
                findings.provoked += 1;
            } else {
                findings.others.push((*head).to_owned());
            }
        }
        let is_missing = |words: &&&str| !heads.iter().any(|head| head.contains(**words));
        findings.missing = provokes.always.iter().filter(is_missing).copied().collect();
        Ok(findings)
    }

    /// Whether nothing was found but what had to be.
    pub(crate) fn is_clean(&self) -> bool {
        self.others.is_empty() && self.missing.is_empty()
    }
}

/// Checks the reading of output, of each kind that there is.
pub(crate) fn findings_are_told_apart() {
    const CLEAN: &str =
        "========= COMPUTE-SANITIZER\nresult: fine\n========= ERROR SUMMARY: 0 errors\n";
    const INVALID: &str = "\
        ========= COMPUTE-SANITIZER\n\
        ========= Invalid __global__ write of size 4 bytes\n\
        =========     at write_to+0x50\n\
        =========     by thread (0,0,0) in block (0,0,0)\n\
        =========     Address 0x10 is out of bounds\n\
        =========\n\
        ========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuMemFree\n\
        =========     Saved host backtrace up to driver entry point at error\n\
        ========= ERROR SUMMARY: 2 errors\n";
    let nothing = Provoked::NOTHING;
    let read = |output: &str, provokes| Findings::read(output, provokes).expect("readable");
    assert!(read(CLEAN, nothing).is_clean());
    let hazards =
        CLEAN.replace("ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed");
    assert!(read(&hazards, nothing).is_clean());

    let found = read(INVALID, nothing);
    assert!(!found.is_clean());
    assert_eq!(found.others.len(), 2, "{found:?}");
    assert!(found.others[0].starts_with("Invalid __global__ write"), "{found:?}");

    let always = &["Invalid __global__ write"];
    let provoked = Provoked { always, perhaps: &["on CUDA API call to"] };
    let found = read(INVALID, provoked);
    assert!(found.is_clean());
    assert_eq!(found.provoked, 2);
    let found = read(INVALID, Provoked { always, perhaps: &[] });
    assert_eq!((found.provoked, found.others.len()), (1, 1), "only what is listed is provoked");
    let found = read(CLEAN, provoked);
    assert!(!found.is_clean(), "what was to be provoked was not found");
    assert_eq!(found.missing, always);

    for truncated in ["", "result: fine\n", &INVALID[..INVALID.len() - 40]] {
        assert!(Findings::read(truncated, provoked).is_err(), "no summary");
    }
    for (output, zero, count) in
        [(CLEAN, "0 errors", "3 errors"), (INVALID, "2 errors", "3 errors")]
    {
        let silent = output.replace(zero, count);
        let error = Findings::read(&silent, provoked).expect_err("findings that are not shown");
        assert!(error.contains("counts 3 findings"), "{error}");
    }
    let uncounted = INVALID.replace("2 errors", "1 error");
    assert!(Findings::read(&uncounted, provoked).is_err(), "a line that is no finding");
}
