//! Names by a pattern.

/// Whether a whole name matches a pattern. `*` stands for any characters, `?` for one, and `\` takes the
/// character after it as it is. Upper and lower case differ. So `*load*` finds the names that contain
/// `load`.
#[must_use]
pub fn matches_pattern(name: &str, pattern: &str) -> bool {
    Pattern::new(pattern).matches(name)
}

/// A pattern that was read once; see [`matches_pattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Any,
    One,
    Char(char),
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            parts.push(match character {
                '*' => Part::Any,
                '?' => Part::One,
                // One at the very end stands for itself.
                '\\' => Part::Char(characters.next().unwrap_or('\\')),
                other => Part::Char(other),
            });
        }
        Self { text: text.to_owned(), parts }
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut part, mut at) = (0, 0);
        // Where to go on if what follows the last star does not fit: one character further on.
        let mut retry: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    retry = Some((part + 1, at));
                    part += 1;
                }
                Some(Part::One) => (part, at) = (part + 1, at + 1),
                Some(Part::Char(wanted)) if *wanted == name[at] => (part, at) = (part + 1, at + 1),
                _ => match &mut retry {
                    Some((after_star, from)) => {
                        *from += 1;
                        (part, at) = (*after_star, *from);
                    }
                    None => return false,
                },
            }
        }
        self.parts[part..].iter().all(|part| *part == Part::Any)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_question_marks_and_backslashes() {
        for (pattern, name, wanted) in [
            ("load", "load", true),
            ("load", "loads", false),
            ("load", "Load", false),
            ("*load*", "preload a", true),
            ("*load*", "preloa", false),
            ("l*d", "load", true),
            ("l*d", "lad, load", true),
            ("l*d", "lads", false),
            ("a*b*c", "a__b_b__c", true),
            ("a*b*c", "a__c__b", false),
            ("t?le", "tile", true),
            ("t?le", "tle", false),
            ("größe ?", "größe µ", true),
            (r"a\*b", "a*b", true),
            (r"a\*b", "axb", false),
            (r"\", r"\", true),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "any", true),
            ("?", "", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), wanted, "{pattern} {name}");
        }
    }

    /// Stars that must each be tried everywhere take time by the square at most.
    #[test]
    fn many_stars_are_no_trouble() {
        let pattern = Pattern::new(&"*a".repeat(200));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(5000))));
    }
}
