//! The columns of the table: each stands here once.

use std::io;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, DictionaryArray};
use arrow_schema::{DataType, Field, Schema};
use profiler_trace::{Launch, Value, Warp};

use crate::batches::Row;
use crate::names::{SiteKeys, clock_key};
use crate::writer::of_arrow;

/// The dictionaries that columns of text refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dictionary {
    Kind,
    Clock,
    Name,
    File,
    Unit,
    Path,
}

impl Dictionary {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::Path as usize + 1;
}

/// How the values of a column behave, by which Parquet's encoding is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Few different ones, or the same for long.
    Few,
    /// Whole numbers of which successive ones are near each other.
    Successive,
    /// Anything.
    Any,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// That of its keys, if it has a dictionary.
    pub(crate) data_type: DataType,
    pub(crate) is_nullable: bool,
    pub(crate) values: Values,
    pub(crate) dictionary: Option<Dictionary>,
}

/// What the cells of a row are made of.
pub(crate) struct Cells<'a> {
    pub(crate) row: &'a Row,
    pub(crate) warp: &'a Warp,
    pub(crate) launch: &'a Launch,
    /// The name of the kernel.
    pub(crate) kernel: i32,
    pub(crate) site: SiteKeys,
}

/// Makes [`Columns`] with a builder for each column, and [`all`] from the same list. The last of a column is its
/// cell in a row, or the key of that.
macro_rules! columns {
    (|$row:ident| $($name:ident $type:ident, $null:ident $values:ident, $dictionary:expr, $cell:expr;)+) => {
        /// A builder for each column. Of columns with a dictionary it takes the keys.
        #[derive(Default)]
        pub(crate) struct Columns {
            $($name: PrimitiveBuilder<$type>,)+
        }

        impl Columns {
            pub(crate) fn push(&mut self, $row: &Cells<'_>) {
                $(columns!(@ $null self.$name, $cell);)+
            }

            fn builders(&mut self) -> impl Iterator<Item = &mut dyn ArrayBuilder> {
                [$(&mut self.$name as &mut dyn ArrayBuilder,)+].into_iter()
            }
        }

        /// All columns, in order.
        pub(crate) fn all() -> Vec<Column> {
            vec![$(Column {
                name: stringify!($name),
                data_type: $type::DATA_TYPE,
                is_nullable: stringify!($null) == "nullable",
                values: Values::$values,
                dictionary: $dictionary,
            },)+]
        }
    };
    (@ required $builder:expr, $cell:expr) => { $builder.append_value($cell) };
    (@ nullable $builder:expr, $cell:expr) => { $builder.append_option($cell) };
}

/// The value of a row, if it is of this type.
macro_rules! value {
    ($row:ident, $type:ident) => {
        match $row.row.value {
            Some(Value::$type(value)) => Some(value),
            _ => None,
        }
    };
}

columns! {
    |it|
    event UInt64Type, required Successive, None, it.row.event;
    kind Int32Type, required Few, Some(Dictionary::Kind), it.row.kind as i32;
    launch UInt32Type, required Few, None, it.warp.launch as u32;
    grid_id UInt64Type, required Few, None, it.launch.grid_id;
    replay UInt32Type, required Few, None, it.launch.replay;
    kernel Int32Type, required Few, Some(Dictionary::Name), it.kernel;
    grid_x UInt32Type, required Few, None, it.launch.grid_dim[0];
    grid_y UInt32Type, required Few, None, it.launch.grid_dim[1];
    grid_z UInt32Type, required Few, None, it.launch.grid_dim[2];
    threads_x UInt32Type, required Few, None, it.launch.block_dim[0];
    threads_y UInt32Type, required Few, None, it.launch.block_dim[1];
    threads_z UInt32Type, required Few, None, it.launch.block_dim[2];
    block_x UInt32Type, required Few, None, it.warp.block[0];
    block_y UInt32Type, required Few, None, it.warp.block[1];
    block_z UInt32Type, required Few, None, it.warp.block[2];
    cluster_rank UInt32Type, nullable Few, None, it.warp.cluster_rank;
    warp UInt32Type, required Few, None, it.warp.warp;
    lane UInt8Type, nullable Few, None, it.row.lane;
    sm UInt32Type, required Few, None, it.warp.sm;
    slot UInt32Type, required Few, None, it.warp.slot;
    track UInt32Type, nullable Few, None, it.row.track;
    depth UInt16Type, nullable Few, None, it.row.depth;
    parent UInt64Type, nullable Successive, None, it.row.parent;
    path Int32Type, required Few, Some(Dictionary::Path), it.row.path.cast_signed();
    site UInt32Type, required Few, None, it.row.site.0;
    name Int32Type, required Few, Some(Dictionary::Name), it.site.name;
    file Int32Type, required Few, Some(Dictionary::File), it.site.file;
    line UInt32Type, required Few, None, it.site.line;
    clock Int32Type, required Few, Some(Dictionary::Clock), clock_key(it.warp.clock);
    start_ticks UInt64Type, required Successive, None, it.row.start.ticks;
    end_ticks UInt64Type, nullable Successive, None, it.row.end.map(|end| end.ticks);
    start_ns Float64Type, required Any, None, it.row.start.ns;
    end_ns Float64Type, nullable Any, None, it.row.end.map(|end| end.ns);
    value_unsigned UInt64Type, nullable Few, None, value!(it, Unsigned);
    value_signed Int64Type, nullable Few, None, value!(it, Signed);
    value_float Float64Type, nullable Any, None, value!(it, Float);
    unit Int32Type, nullable Few, Some(Dictionary::Unit), it.site.unit;
    released_by UInt64Type, nullable Successive, None, it.row.released_by;
    recorded UInt64Type, nullable Few, None, it.row.counts.map(|counts| counts.0);
    lost UInt64Type, nullable Few, None, it.row.counts.map(|counts| counts.1);
}

impl Columns {
    /// The arrays of what the builders took, which are empty thereafter.
    pub(crate) fn finish(
        &mut self,
        columns: &[Column],
        dictionaries: &[ArrayRef; Dictionary::COUNT],
    ) -> io::Result<Vec<ArrayRef>> {
        let arrays = self.builders().zip(columns).map(|(builder, column)| {
            let array = builder.finish();
            let Some(dictionary) = column.dictionary else { return Ok(array) };
            let keys = array.as_primitive::<Int32Type>().clone();
            let texts = Arc::clone(&dictionaries[dictionary as usize]);
            let array = DictionaryArray::try_new(keys, texts).map_err(of_arrow)?;
            Ok(Arc::new(array) as ArrayRef)
        });
        arrays.collect()
    }
}

/// The columns as Arrow's schema.
pub(crate) fn schema() -> Schema {
    let field = |column: Column| {
        let data_type = match column.dictionary {
            None => column.data_type,
            Some(_) => DataType::Dictionary(Box::new(column.data_type), Box::new(DataType::Utf8)),
        };
        Field::new(column.name, data_type, column.is_nullable)
    };
    Schema::new(all().into_iter().map(field).collect::<Vec<_>>())
}
