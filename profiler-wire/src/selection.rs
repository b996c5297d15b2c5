//! The list of annotations that are compiled in: names in one text. The build step passes it to the compiler in
//! an environment variable, and kernels read it while they are compiled.

use core::fmt::{self, Write};

/// The name of that variable as a literal, for `option_env!`. If it is not set, every annotation is compiled in.
#[macro_export]
macro_rules! only_variable {
    () => {
        "PROFILER_ONLY"
    };
}

/// The name of that variable.
pub const VARIABLE: &str = crate::only_variable!();

/// The end of a name in the list.
const END: u8 = b'\n';
/// The escape before a byte with another meaning.
const ESCAPE: u8 = b'\\';

/// Writes a list of names, which may hold any text: each ends in a line feed, and `\\`, `\n` and
/// `\0` stand for a backslash, a line feed and a NUL, which no environment variable can hold.
///
/// ```
/// use profiler_wire::selection;
///
/// let mut list = String::new();
/// selection::write(["load", "wait"], &mut list)?;
/// assert_eq!(list, "load\nwait\n");
/// assert!(selection::holds(&list, "wait") && !selection::holds(&list, "mma"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
///
/// # Errors
///
/// Those of the writer.
pub fn write<'n>(names: impl IntoIterator<Item = &'n str>, out: &mut impl Write) -> fmt::Result {
    for name in names {
        for character in name.chars() {
            match character {
                '\\' => out.write_str("\\\\")?,
                '\n' => out.write_str("\\n")?,
                '\0' => out.write_str("\\0")?,
                other => out.write_char(other)?,
            }
        }
        out.write_char(char::from(END))?;
    }
    Ok(())
}

/// Whether a list that [`write()`] has written holds a name.
#[must_use]
pub const fn holds(list: &str, name: &str) -> bool {
    let (list, name) = (list.as_bytes(), name.as_bytes());
    let (mut at, mut length, mut same) = (0, 0, true);
    while at < list.len() {
        let mut byte = list[at];
        at += 1;
        if byte == END {
            if same && length == name.len() {
                return true;
            }
            (length, same) = (0, true);
            continue;
        }
        if byte == ESCAPE && at < list.len() {
            byte = match list[at] {
                b'n' => END,
                b'0' => 0,
                other => other,
            };
            at += 1;
        }
        same = same && length < name.len() && name[length] == byte;
        length += 1;
    }
    false
}
