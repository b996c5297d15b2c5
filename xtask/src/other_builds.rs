//! Compiles the examples' kernels with half of their regions, for `--half-density`, and without
//! annotations, for `--unannotated`.

#[path = "../../examples/kernels.rs"]
mod kernels;

use std::path::Path;

use crate::{Error, root, target};
use kernels::kernels;

/// Writes `NAME-first.ptx` and `NAME-second.ptx` into `folder` for each example with two regions or
/// more, so that each region is in one of the two, and `NAME-unannotated.ptx`, in which the kernels have
/// the launch bounds that their annotations give them.
pub(crate) fn make(examples: &[String], folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for name in examples {
        let out = target().join("other-builds");
        let kernels = kernels(&root().join("examples"), name).out_dir(out).target_dir(target());
        let all = kernels.clone().name(format!("{name}-all")).build()?;
        println!("compiling {name}-unannotated");
        let mut without =
            kernels.clone().profile_enabled(false).name(format!("{name}-unannotated"));
        for (kernel, bounds) in all.launch_bounds {
            without = without.launch_bounds(kernel, bounds);
        }
        let file = without.build()?.path;
        std::fs::copy(&file, folder.join(format!("{name}-unannotated.ptx")))?;
        let Some(halves) = halves(&all.regions, &all.marks) else { continue };
        for (half, only) in ["first", "second"].into_iter().zip(halves) {
            let file = format!("{name}-{half}");
            println!("compiling {file}: {}", only.join(", "));
            let ptx = kernels.clone().only(only).name(&file).build()?;
            std::fs::copy(&ptx.path, folder.join(format!("{file}.ptx")))?;
        }
    }
    Ok(())
}

/// Every other region, from the first and from the second, with as many of the marks; `None` of a
/// single region.
fn halves(regions: &[String], marks: &[String]) -> Option<[Vec<String>; 2]> {
    let half = |skipped| {
        let other = |names: &[String]| names.iter().skip(skipped).step_by(2).cloned().collect();
        let parts: [Vec<String>; 2] = [other(regions), other(marks)];
        parts.concat()
    };
    (regions.len() > 1).then(|| [half(0), half(1)])
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn each_name_is_in_one_half() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let (regions, marks) = (names(&["wait", "load", "mma"]), names(&["full", "empty"]));
        let [first, second] = halves(&regions, &marks).expect("three regions");
        assert_eq!(first, ["wait", "mma", "full"]);
        assert_eq!(second, ["load", "empty"]);
        assert_eq!(halves(&regions[..1], &marks), None);
    }
}
