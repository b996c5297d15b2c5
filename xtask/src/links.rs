//! Keeps the links between the pages true: each file that one leads to is there, and so is each heading.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::tidy::tracked;
use xtask::Error;

/// Every link that leads nowhere, as `file:line: rule`.
pub(crate) fn offences(root: &Path) -> Result<Vec<String>, Error> {
    let names = tracked(root)?;
    let is_page = |name: &&String| name.ends_with(".md");
    let pages = names.iter().filter(is_page).filter_map(|name| {
        // One may be listed and deleted.
        Some((name.clone(), std::fs::read_to_string(root.join(name)).ok()?))
    });
    // What git does not list, such as a built file, is nowhere but here.
    let known = names.iter().filter(|name| root.join(name).exists());
    let known: HashSet<&Path> = known.flat_map(|name| Path::new(name).ancestors()).collect();
    Ok(check(&pages.collect(), |path| known.contains(Path::new(path))))
}

/// The links of pages, by their paths in the repository, that lead nowhere.
fn check(pages: &HashMap<String, String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let headings: HashMap<&str, HashSet<String>> =
        pages.iter().map(|(name, text)| (name.as_str(), anchors(text))).collect();
    let mut offences = Vec::new();
    for (name, text) in pages {
        for (at, target) in links(text) {
            let line = 1 + text[..at].matches('\n').count();
            let mut offence = |rule: String| offences.push(format!("{name}:{line}: {rule}"));
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { Some(name.clone()) } else { resolve(name, file) };
            let Some(file) = file else {
                offence(format!("`{target}` leads out of the repository"));
                continue;
            };
            if !exists(&file) {
                offence(format!("there is no file {file}"));
            } else if !anchor.is_empty()
                && let Some(known) = headings.get(file.as_str())
                && !known.contains(anchor)
            {
                offence(format!("{file} has no heading #{anchor}"));
            }
        }
    }
    offences.sort();
    offences
}

/// Where links and pictures of a page lead to within the repository, and where they stand.
fn links(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    events
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((range.start, dest_url.into_string()))
            }
            _ => None,
        })
        .filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// What a link can name in a page: its headings, as GitHub calls them, and `<a id="..">`.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let same = (1..).map(|number| format!("{slug}-{number}"));
                let mut names = std::iter::once(slug.clone()).chain(same);
                anchors.insert(names.find(|name| !anchors.contains(name)).unwrap_or(slug));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let ids = html.split("<a id=\"").skip(1);
                anchors.extend(ids.filter_map(|id| Some(id.split_once('"')?.0.to_owned())));
            }
            _ => {}
        }
    }
    anchors
}

/// A heading as GitHub names it in a link: in lower case, letters, digits, `-` and `_` alone, and a `-` for
/// each space.
fn slug(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// The path in the repository of what a page at `from` names so.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{HashMap, check, offences};

    #[test]
    fn every_link_of_the_repository_leads_somewhere() {
        let offences = offences(xtask::root()).expect("git lists the files");
        assert!(offences.is_empty(), "\n{}", offences.join("\n"));
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let pages = [
            (
                "README.md",
                "# A `b`, c: d\n\n[own](#a-b-c-d) [page](docs/a.md#one-1) ![x](docs/x.png)\n",
            ),
            (
                "docs/a.md",
                "# One\n\n## One\n\n<a id=\"two\"></a>\n\n[up](../README.md) [two](#two)\n",
            ),
            (
                "docs/b.md",
                "[1](c.md)\n[2](a.md#three) [3](../../x) ```[no](no.md)```\n\n| [4](#five) |\n|---|\n",
            ),
            ("docs/d.md", "[web](https://example.com/none#x) `[code](none.md)`\n"),
        ];
        let pages: HashMap<String, String> =
            pages.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let found = check(&pages, |path| pages.contains_key(path) || path == "docs/x.png");
        assert_eq!(
            found,
            [
                "docs/b.md:1: there is no file docs/c.md",
                "docs/b.md:2: `../../x` leads out of the repository",
                "docs/b.md:2: docs/a.md has no heading #three",
                "docs/b.md:4: docs/b.md has no heading #five",
            ]
        );
    }
}
