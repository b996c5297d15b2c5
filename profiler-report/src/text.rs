//! Figures for people, and text that is safe in HTML.

pub(crate) use profiler_trace::units::{digits, duration};

/// A share, in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// A whole number in groups of three digits, parted by narrow spaces that do not break.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 launch`, `2 launches`.
pub(crate) fn things(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// An extent as people write it: `4`, `4×2`, `4×2×3`.
pub(crate) fn extent(dim: [u32; 3]) -> String {
    match dim {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("{x}×{y}"),
        [x, y, z] => format!("{x}×{y}×{z}"),
    }
}

/// Text in which characters that HTML or XML forbids are U+FFFD.
pub(crate) fn legible(text: &str) -> String {
    let is_forbidden = |character: char| {
        matches!(character, '\u{fffe}' | '\u{ffff}')
            || character.is_control() && !matches!(character, '\t' | '\n')
    };
    text.replace(is_forbidden, "\u{fffd}")
}

/// Text that is safe between tags and in quoted attributes, and [`legible`].
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in legible(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// JSON that is safe in a script element: without `<`, nothing looks like a tag or a comment.
pub(crate) fn script_json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(duration(1_234_567.0), "1.235 ms");
        assert_eq!(duration(0.5), "0.5 ns");
        assert_eq!(percent(0.25), "25 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(extent([4, 2, 1]), "4×2");
    }

    #[test]
    fn nothing_can_end_the_element_it_stands_in() {
        let hostile = "</script><b a=\"'&\u{0}\u{ffff}";
        assert_eq!(escape(hostile), "&lt;/script&gt;&lt;b a=&quot;&#39;&amp;\u{fffd}\u{fffd}");
        let json = script_json(&serde_json::json!(hostile));
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }
}
