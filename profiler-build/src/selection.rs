//! Checks the names of [`Kernels::only`](crate::Kernels::only) against the sites of the module.

use profiler_wire::selection;
use profiler_wire::site::{SiteEntry, SiteKind};

use crate::error::Error;

/// The names of a module's annotations.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    /// The names of regions and name lists, each once, in the order of the sites.
    pub(crate) regions: Vec<String>,
    /// The names of marks, signals and waits, likewise.
    pub(crate) marks: Vec<String>,
    /// Names in name lists, and their lists.
    listed: Vec<(String, String)>,
}

impl Annotations {
    /// The annotations of a module's sites, in their order.
    pub(crate) fn of(sites: &[&SiteEntry<'_>]) -> Self {
        let is_list =
            |name: &str| sites.iter().any(|site| site.kind == SiteKind::Names && site.name == name);
        let mut annotations = Self::default();
        for site in sites {
            if site.kind == SiteKind::Kernel {
                continue;
            }
            // A region that says who records into a list is named by the path of that list.
            if site.name.rsplit_once(" :: ").is_some_and(|(_, last)| is_list(last)) {
                continue;
            }
            let names = match site.kind.is_region() {
                true => &mut annotations.regions,
                false => &mut annotations.marks,
            };
            if !names.iter().any(|name| name == site.name) {
                names.push(site.name.to_owned());
            }
            let listed = site.names.iter().map(|name| (name.to_owned(), site.name.to_owned()));
            annotations.listed.extend(listed);
        }
        annotations
    }

    /// An error if one of the names selects nothing.
    pub(crate) fn check(&self, only: &[String], module: &str) -> Result<(), Error> {
        let is_known = |name: &String| self.regions.contains(name) || self.marks.contains(name);
        let Some(unknown) = only.iter().find(|name| !is_known(name)) else {
            return Ok(());
        };
        let list = self.listed.iter().find(|(name, _)| name == unknown);
        Err(Error::UnknownAnnotation {
            module: module.to_owned(),
            name: unknown.clone(),
            list: list.map(|(_, list)| list.clone()),
            names: self.regions.iter().chain(&self.marks).cloned().collect(),
        })
    }
}

/// The value of the variable from which kernels read the selected names.
pub(crate) fn encode(only: &[String]) -> String {
    let mut list = String::new();
    // Writing to a String cannot fail.
    let _ = selection::write(only.iter().map(String::as_str), &mut list);
    list
}

#[cfg(test)]
mod tests {
    use profiler_wire::site::{Names, SiteEntry, SiteKind};

    use super::Annotations;

    fn site(kind: SiteKind, name: &'static str) -> SiteEntry<'static> {
        SiteEntry::new(kind, name, "lib.rs", "kernels", 1, 1)
    }

    #[test]
    fn names_are_those_of_annotations_that_can_be_left_out() {
        let mut list = site(SiteKind::Names, "TASK");
        list.names = Names::Given(&["copy", "sum"]);
        let sites = [
            site(SiteKind::Kernel, "gemm"),
            site(SiteKind::Region, "load"),
            site(SiteKind::Mark, "loaded"),
            site(SiteKind::Region, "load"),
            list,
            site(SiteKind::Region, "kernels :: TASK"),
        ];
        let annotations = Annotations::of(&sites.iter().collect::<Vec<_>>());
        assert_eq!(annotations.regions, ["load", "TASK"]);
        assert_eq!(annotations.marks, ["loaded"]);
        let check = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            annotations.check(&names, "kernels").map_err(|error| error.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["TASK", "load"]), Ok(()));
        let unknown = check(&["load", "gemm"]).expect_err("a kernel cannot be left out");
        assert!(unknown.contains("`gemm`") && unknown.contains("`load`, `TASK`, `loaded`"));
        let listed = check(&["sum"]).expect_err("a list is one");
        assert!(listed.contains("`sum`, which is one of the list `TASK`"), "{listed}");
    }
}
