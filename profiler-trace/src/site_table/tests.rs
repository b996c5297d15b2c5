use profiler_wire::site::{ID_OFFSET, MAGIC};
use proptest::prelude::*;

use super::*;
use crate::synthetic::{Keep, SyntheticModule};

/// PTX as rustc writes it: trailing zeros omitted, with and without `.visible`.
fn ptx(entries: &[Vec<u8>]) -> String {
    let mut text = String::from(
        ".version 7.8\n.target sm_80\n.const .align 16 .b8 __profiler_descriptor_v1[128];\n",
    );
    for (index, entry) in entries.iter().enumerate() {
        let visible = if index % 2 == 0 { ".visible " } else { "" };
        let zeros = entry.iter().rev().take_while(|byte| **byte == 0).count();
        let numbers: Vec<String> = entry[..entry.len() - zeros].iter().map(u8::to_string).collect();
        text += &format!(
            "{visible}.global .align 1 .b8 _ZN3gpu4main14__PROFILER_SITE17h{index:016x}E[{}] = {{{}}};\n",
            entry.len(),
            numbers.join(", ")
        );
    }
    text + "mov.u64 %rd1, _ZN3gpu4main14__PROFILER_SITE17h0000000000000000E;\n"
}

fn sample() -> SyntheticModule {
    let mut module = SyntheticModule::new(Keep::First, 4);
    module.site(SiteKind::Kernel, "gemm");
    module.site_with_unit(SiteKind::Region, "load", "bytes");
    module.names("TASK", &["copy", "mma"]);
    module.site(SiteKind::Mark, "tick");
    module
}

#[test]
fn reads_statics_with_omitted_zeros_and_with_and_without_visible() {
    let module = sample();
    let table = SiteTable::from_ptx(&ptx(module.entries())).expect("the PTX is whole");
    assert_eq!(table, module.sites().expect("the entries are whole"));
    assert_eq!(table.len(), 6);
    assert_eq!(table.kernels().map(|site| &*site.name).collect::<Vec<_>>(), ["gemm"]);
    let load = table.get(2).expect("id 2 was given");
    assert_eq!((load.name.as_str(), load.unit.as_deref()), ("load", Some("bytes")));
    assert_eq!((load.file.as_str(), load.line), ("src/kernel.rs", 2));
    assert!(!table.needs_lanes());
}

#[test]
fn the_buffer_of_a_kernel_is_read_and_what_is_none_is_refused() {
    const ENTRY: SiteEntry<'static> =
        SiteEntry::new(SiteKind::Kernel, "gemm", "src/kernel.rs", "gpu", 1, 1);
    let encode = |buffer| SiteEntry { buffer, ..ENTRY }.encode::<{ ENTRY.encoded_len() }>();
    let [global, host] = Buffer::ALL.map(encode);
    let table = |bytes: &[u8]| SiteTable::from_entries([bytes]);
    assert!(!table(&global).expect("whole").needs_host_memory());
    let read = table(&host).expect("whole");
    assert!(read.needs_host_memory());
    assert_eq!(read.sites()[0].buffer, Buffer::Host);
    // Byte 5 holds both. Every other number is refused, by this version as by those before it.
    let accepted = (0..=u8::MAX).filter(|kind| {
        let mut bytes = global;
        bytes[5] = *kind;
        SiteEntry::parse(&bytes).is_ok()
    });
    assert_eq!(accepted.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 0x11]);
}

#[test]
fn expands_a_list_and_names_what_is_beyond_it() {
    let table = sample().sites().expect("the entries are whole");
    let names: Vec<_> = (3..=5).filter_map(|id| table.get(id)).collect();
    assert_eq!(names[0].name, "copy");
    assert_eq!(names[1].name, "mma");
    assert_eq!(names[2].name, "TASK[out of range]");
    assert!(names.iter().all(|site| site.list.as_deref() == Some("TASK")));
    assert_eq!(table.get(6).map(|site| &*site.name), Some("tick"));
    assert_eq!((table.get(0), table.get(7)), (None, None));
}

#[test]
fn merges_the_same_entry_twice() {
    let mut entries = sample().entries().to_vec();
    entries.extend(entries.clone());
    assert_eq!(SiteTable::from_ptx(&ptx(&entries)), sample().sites());
}

#[test]
fn finds_sites_that_need_lanes() {
    let mut module = sample();
    let mut entry = SiteEntry::new(SiteKind::Region, "each", "a.rs", "m", 1, 1);
    entry.strategy = profiler_wire::Strategy::Thread.code();
    module.site_entry(&entry, &[]);
    assert!(module.sites().expect("the entries are whole").needs_lanes());
}

#[test]
fn refuses_ids_that_clash_and_names_both_sites() {
    let mut entries = sample().entries().to_vec();
    // "tick" takes the id of the second name of the list.
    entries[3][ID_OFFSET..][..4].copy_from_slice(&4_u32.to_le_bytes());
    let error = SiteTable::from_ptx(&ptx(&entries)).expect_err("the ids clash").to_string();
    for part in ["\"TASK\" (src/kernel.rs:3:5)", "\"tick\" (src/kernel.rs:6:5)", "profiler-build"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn tells_no_kernel_from_switched_off() {
    let plain = ".version 7.8\n.target sm_80\n";
    let message = |text: &str| SiteTable::from_ptx(text).expect_err("no sites").to_string();
    assert!(message(plain).contains("either no kernel"));
    let off = format!("// profiler-build: wire=1 sites=0 enabled=false\n{plain}");
    assert!(message(&off).contains("built with profiling off"));
    let on = format!("// profiler-build: wire=1 sites=0 enabled=true\n{plain}");
    assert!(message(&on).contains("#[profiled]"));
    // A profiled kernel without a region still has the descriptor.
    assert!(SiteTable::from_ptx(&ptx(&[])).expect("a descriptor is there").is_empty());
}

#[test]
fn refuses_damaged_entries() {
    let mut entries = sample().entries().to_vec();
    entries[0][6] = 0x77;
    assert!(matches!(
        SiteTable::from_ptx(&ptx(&entries)),
        Err(SiteTableError::Damaged { error }) if error.contains("strategy")
    ));
    let mut entries = sample().entries().to_vec();
    entries[0].truncate(60);
    assert!(matches!(SiteTable::from_ptx(&ptx(&entries)), Err(SiteTableError::Damaged { .. })));
    let text = ptx(sample().entries()).replacen("{80,", "{80, x,", 1);
    assert!(matches!(SiteTable::from_ptx(&text), Err(SiteTableError::Damaged { .. })));
}

#[test]
fn an_array_that_only_looks_like_a_site_is_left_alone() {
    let text = ptx(&[vec![1, 2, 3]]) + "// __PROFILER_SITE[4] = {80, 83};\n";
    assert!(SiteTable::from_ptx(&text).expect("there is no site").is_empty());
    assert_eq!(MAGIC, [80, 83, 73, 84]);
}

#[test]
fn a_huge_length_takes_no_memory() {
    let entries = sample().entries().to_vec();
    let text = ptx(&entries[..1]).replace(&format!("[{}]", entries[0].len()), "[99999999999999]");
    assert_eq!(SiteTable::from_ptx(&text).expect("the entry is whole").len(), 1);
}

proptest! {
    /// Any text, also within PTX, and PTX of which bytes are altered or cut off.
    #[test]
    fn any_text_is_read_without_panic(
        text in ".{0,200}",
        at in 0_usize..200,
        changes in prop::collection::vec((0_usize..4000, any::<u8>()), 0..8),
        cut in 100_usize..4000,
    ) {
        let _ = SiteTable::from_ptx(&text);
        let mut ptx = ptx(sample().entries());
        let at = (0..=at).rev().find(|at| ptx.is_char_boundary(*at)).unwrap_or(0);
        let mut bytes = ptx.clone().into_bytes();
        for (at, byte) in changes {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        bytes.truncate(cut);
        let _ = SiteTable::from_ptx(&String::from_utf8_lossy(&bytes));
        ptx.insert_str(at, &text);
        let _ = SiteTable::from_ptx(&ptx);
    }

    #[test]
    fn any_bytes_as_entry_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut entry = sample().entries()[2].clone();
        let _ = SiteTable::from_entries([bytes.as_slice()]);
        for (at, byte) in bytes.iter().enumerate() {
            if let Some(place) = entry.get_mut(at + 4) {
                *place ^= byte & 3;
            }
        }
        let _ = SiteTable::from_entries([entry.as_slice()]);
    }
}
