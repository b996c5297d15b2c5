//! The two formats.

use std::io::{self, Write};

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::Metadata;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use profiler_trace::{Trace, WarpSource};

use crate::batches::Batches;
use crate::columns::{self, Values};
use crate::error::WriteError;
use crate::{ArrowOptions, Compression, ParquetOptions, Summary, metadata};
/// Rows that are made at once for the encoder of Parquet.
const ENCODED_ROWS: usize = 1 << 13;

pub(crate) fn parquet(
    source: &impl WarpSource,
    writer: impl Write + Send,
    options: &ParquetOptions,
) -> Result<Summary, WriteError> {
    let mut batches = Batches::new(source)?;
    let mut sink = Sink::new(writer);
    let properties = properties(source.outline(), &batches, options)?;
    let written = (|| {
        let schema = columns::schema().into();
        let mut writer =
            ArrowWriter::try_new(&mut sink, schema, Some(properties)).map_err(encode)?;
        batches.each(source, ENCODED_ROWS, |batch| writer.write(batch).map_err(encode))?;
        let file = writer.close().map_err(encode)?;
        Ok(file.num_row_groups() as u64)
    })();
    sink.settle(written, batches.made)
}

pub(crate) fn arrow(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ArrowOptions,
) -> Result<Summary, WriteError> {
    let mut batches = Batches::new(source)?;
    let mut sink = Sink::new(writer);
    let written = (|| {
        let compression = match options.compression {
            Compression::None => None,
            Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        };
        let settings =
            IpcWriteOptions::default().try_with_compression(compression).map_err(encode)?;
        let pairs: Metadata = metadata::pairs(source.outline()).into_iter().collect();
        let schema = columns::schema().with_metadata(pairs);
        let mut writer =
            FileWriter::try_new_with_options(&mut sink, &schema, settings).map_err(encode)?;
        let mut groups = 0;
        batches.each(source, options.rows_per_batch.get(), |batch| {
            groups += 1;
            writer.write(batch).map_err(encode)
        })?;
        writer.finish().map_err(encode)?;
        Ok(groups)
    })();
    sink.settle(written, batches.made)
}

fn encode(error: impl std::error::Error + Send + Sync + 'static) -> WriteError {
    WriteError::Encode(Box::new(error))
}

fn properties(
    trace: &Trace,
    batches: &Batches<'_>,
    options: &ParquetOptions,
) -> Result<WriterProperties, WriteError> {
    let pairs = metadata::pairs(trace).into_iter();
    let codec = match options.compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Lz4 => Codec::LZ4_RAW,
    };
    let mut properties = WriterProperties::builder()
        .set_compression(codec)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(options.rows_per_group.get()))
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
    Ok(properties.build())
}

/// Counts what is written, and keeps the writer's error, which the encoders' errors may only tell of.
struct Sink<W> {
    writer: W,
    bytes: u64,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    fn new(writer: W) -> Self {
        Self { writer, bytes: 0, error: None }
    }

    fn settle(
        mut self,
        written: Result<u64, WriteError>,
        made: Summary,
    ) -> Result<Summary, WriteError> {
        match (written, self.error.take()) {
            (_, Some(error)) => Err(WriteError::Io(error)),
            (written, None) => {
                let groups = written?;
                self.writer.flush().map_err(WriteError::Io)?;
                Ok(Summary { groups, bytes: self.bytes, ..made })
            }
        }
    }
}

impl<W> Sink<W> {
    /// Keeps an error, and gives one like it.
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            // A writer that was interrupted is asked again.
            if kind != io::ErrorKind::Interrupted {
                self.error.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match self.writer.write(bytes) {
            // Who writes all would make an error of it that is not seen here.
            Ok(0) if !bytes.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            result => result,
        };
        let taken = self.keep(result)?;
        self.bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.keep(result)
    }
}
