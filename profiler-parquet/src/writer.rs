//! The two formats.

use std::io::{self, Write};

use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Metadata};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use profiler_trace::{Trace, WarpSource};

use crate::batches::Batches;
use crate::columns::{self, Values};
use crate::metadata;

/// Rows that are made at once for the encoder of Parquet.
const ENCODED_ROWS: usize = 1 << 13;
/// Rows of a row group, the last of which may have fewer. A row group is what the writer holds in memory,
/// and what readers divide among their threads.
const ROWS_PER_GROUP: usize = 1 << 18;
/// Rows of a record batch of Arrow, the last of which may have fewer.
const ROWS_PER_BATCH: usize = 1 << 16;

pub(crate) fn parquet(source: &impl WarpSource, mut writer: impl Write + Send) -> io::Result<()> {
    let mut batches = Batches::new(source)?;
    let properties = Some(properties(source.outline(), &batches));
    let schema = columns::schema().into();
    let mut file = ArrowWriter::try_new(&mut writer, schema, properties).map_err(of_parquet)?;
    batches.each(source, ENCODED_ROWS, |batch| file.write(batch).map_err(of_parquet))?;
    file.close().map_err(of_parquet)?;
    writer.flush()
}

pub(crate) fn arrow(source: &impl WarpSource, mut writer: impl Write) -> io::Result<()> {
    let mut batches = Batches::new(source)?;
    let pairs: Metadata = metadata::pairs(source.outline()).into_iter().collect();
    let schema = columns::schema().with_metadata(pairs);
    let mut file = FileWriter::try_new(&mut writer, &schema).map_err(of_arrow)?;
    batches.each(source, ROWS_PER_BATCH, |batch| file.write(batch).map_err(of_arrow))?;
    file.finish().map_err(of_arrow)?;
    writer.flush()
}

/// The writer's error, if the encoder's is about that.
fn of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

/// The same of Arrow.
pub(crate) fn of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

fn properties(trace: &Trace, batches: &Batches<'_>) -> WriterProperties {
    let pairs = metadata::pairs(trace).into_iter();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
        .set_key_value_metadata(Some(
            pairs.map(|(key, value)| KeyValue::new(key, value)).collect(),
        ));
    for column in batches.columns() {
        let path = ColumnPath::from(column.name);
        properties = match column.values {
            Values::Few => properties,
            Values::Successive => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Values::Any => properties.set_column_dictionary_enabled(path, false),
        };
    }
    properties.build()
}
