//! Lists of names: what is written is found again, and nothing else.

use profiler_wire::selection::{holds, write};

fn list(names: &[&str]) -> String {
    let mut list = String::new();
    write(names.iter().copied(), &mut list).expect("a string takes all");
    list
}

#[test]
fn a_list_holds_its_names_whatever_they_are() {
    let names = [
        "load", "loa", "load 2", "", "a\nb", "a\\nb", "\\", "\\\\", "\0", "\\0", "0", "n", "größer",
    ];
    for (number, name) in names.iter().enumerate() {
        let only = list(&[name]);
        assert!(!only.contains('\0'), "{name:?}");
        for other in names {
            assert_eq!(holds(&only, other), other == *name, "{name:?}, {other:?}");
        }
        let mut others = names.to_vec();
        others.remove(number);
        assert!(holds(&list(&names), name) && !holds(&list(&others), name), "{name:?}");
    }
}

#[test]
fn the_list_of_none_holds_none() {
    assert_eq!(list(&[]), "");
    assert!(!holds("", "") && !holds("", "load"));
}

#[test]
fn a_name_is_found_at_compile_time() {
    const FOUND: bool = holds("load\nwait\n", "wait");
    const PART: bool = holds("load\nwait\n", "loa");
    assert_eq!((FOUND, PART), (true, false));
    assert!(!holds("load", "load"), "what does not end is no name");
    assert!(!holds("load\\", "load"));
}
