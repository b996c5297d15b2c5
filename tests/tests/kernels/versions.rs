//! Kernels that older commits compiled, each with the device crate and the build step of its day, are
//! refused. How they were made is in `fixtures/versions/README.md`; `cases.rs` takes them to a GPU.

use std::path::Path;

use profiler_trace::{SiteTable, SiteTableError};
use profiler_wire::WIRE_VERSION;

fn older(version: u32) -> String {
    let file = format!("fixtures/versions/wire{version}.ptx");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{file}: {error}; make it by fixtures/versions/make.sh"))
}

#[test]
fn kernels_of_each_older_version_are_refused_with_both_named_and_the_cure() {
    for version in 1..WIRE_VERSION {
        let ptx = older(version);
        let error = SiteTable::from_ptx(&ptx).expect_err("another version");
        let found = version.to_string();
        assert_eq!(error, SiteTableError::DescriptorVersion { found });
        assert_eq!(
            error.to_string(),
            format!(
                "the PTX has the descriptor __profiler_descriptor_v{version}, this library reads wire \
                 version {WIRE_VERSION}; build the kernels with the same version of the profiler as the \
                 host program"
            )
        );
    }
}

/// Were only the name of the descriptor another, as in kernels of which another part was made anew, the
/// entries would say it.
#[test]
fn entries_of_each_older_version_are_refused_too() {
    for version in 1..WIRE_VERSION {
        let own = format!("__profiler_descriptor_v{WIRE_VERSION}");
        let ptx = older(version).replace(&format!("__profiler_descriptor_v{version}"), &own);
        let error = SiteTable::from_ptx(&ptx).expect_err("another version");
        assert_eq!(error, SiteTableError::EntryVersion { found: version });
        let text = error.to_string();
        for part in [
            format!("wire version {version}, this library reads version {WIRE_VERSION}"),
            "build the kernels with the same version of the profiler".to_owned(),
        ] {
            assert!(text.contains(&part), "`{part}` is not in: {text}");
        }
    }
}

/// The files are what they are taken for.
#[test]
fn each_file_is_a_kernel_of_its_version() {
    for version in 1..WIRE_VERSION {
        let ptx = older(version);
        let stamp = format!("// profiler-build: wire={version} ");
        assert!(ptx.starts_with(&stamp), "wire{version}.ptx: {:?}", ptx.lines().next());
        assert!(ptx.contains(".visible .entry kernel()"), "wire{version}.ptx");
        let sites = ptx.lines().filter(|line| line.contains("__PROFILER_SITE["));
        assert_eq!(sites.count(), 2, "wire{version}.ptx: a kernel and a region");
    }
}
