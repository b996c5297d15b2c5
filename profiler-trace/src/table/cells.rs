//! Rows of named columns, as CSV and as JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::ser::{SerializeMap, Serializer};

/// The content of a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// Nothing: an empty field in CSV, `null` in JSON.
    Empty,
    Unsigned(u64),
    Signed(i64),
    /// Written with as many digits as it takes to read the same number again.
    Float(f64),
    Text(Cow<'a, str>),
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Self::Unsigned(value.into())
    }
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// Writes a line of CSV as RFC 4180 has it, but for the line's end, which is that of Unix.
pub(crate) fn write_csv<'a>(
    cells: impl IntoIterator<Item = Cell<'a>>,
    writer: &mut impl Write,
) -> io::Result<()> {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            writer.write_all(b",")?;
        }
        match cell {
            Cell::Empty => {}
            Cell::Unsigned(value) => write!(writer, "{value}")?,
            Cell::Signed(value) => write!(writer, "{value}")?,
            Cell::Float(value) => write!(writer, "{value}")?,
            // A text without anything in it is not the same as none.
            Cell::Text(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                write!(writer, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Cell::Text(text) => writer.write_all(text.as_bytes())?,
        }
    }
    writer.write_all(b"\n")
}

/// Writes an object whose keys are the columns, in their order. Between their names are commas.
pub(crate) fn write_json<'a>(
    columns: &str,
    cells: impl IntoIterator<Item = Cell<'a>>,
    writer: &mut impl Write,
) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(writer);
    let mut map = serializer.serialize_map(None)?;
    for (column, cell) in columns.split(',').zip(cells) {
        match cell {
            Cell::Empty => map.serialize_entry(column, &())?,
            Cell::Unsigned(value) => map.serialize_entry(column, &value)?,
            Cell::Signed(value) => map.serialize_entry(column, &value)?,
            // JSON has no number for infinity and none for what is not a number.
            Cell::Float(value) if !value.is_finite() => {
                map.serialize_entry(column, &value.to_string())?;
            }
            Cell::Float(value) => map.serialize_entry(column, &value)?,
            Cell::Text(text) => map.serialize_entry(column, &text)?,
        }
    }
    Ok(SerializeMap::end(map)?)
}
