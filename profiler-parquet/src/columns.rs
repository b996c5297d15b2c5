//! The columns of the table: each stands here once.

use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int32Builder, Int64Builder, UInt8Builder, UInt16Builder,
    UInt32Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray};
use arrow_schema::{DataType, Field, Schema};

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
    pub(crate) data_type: DataType,
    pub(crate) is_nullable: bool,
    pub(crate) values: Values,
    pub(crate) dictionary: Option<Dictionary>,
}

/// Makes [`Columns`] with a builder for each column, and [`all`] from the same list.
macro_rules! columns {
    ($($name:ident $builder:ident $data_type:expr, $null:ident, $values:ident, $dictionary:expr;)+) => {
        /// A builder for each column. Of columns with a dictionary it takes the keys.
        #[derive(Default)]
        pub(crate) struct Columns {
            $(pub(crate) $name: $builder,)+
        }

        impl Columns {
            fn builders(&mut self) -> impl Iterator<Item = &mut dyn ArrayBuilder> {
                [$(&mut self.$name as &mut dyn ArrayBuilder,)+].into_iter()
            }
        }

        /// All columns, in order.
        pub(crate) fn all() -> Vec<Column> {
            vec![$(Column {
                name: stringify!($name),
                data_type: $data_type,
                is_nullable: columns!(@ $null),
                values: Values::$values,
                dictionary: $dictionary,
            },)+]
        }
    };
    (@ required) => { false };
    (@ nullable) => { true };
}

/// Text by way of a dictionary.
fn text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

columns! {
    event UInt64Builder DataType::UInt64, required, Successive, None;
    kind Int32Builder text(), required, Few, Some(Dictionary::Kind);
    launch UInt32Builder DataType::UInt32, required, Few, None;
    grid_id UInt64Builder DataType::UInt64, required, Few, None;
    replay UInt32Builder DataType::UInt32, required, Few, None;
    kernel Int32Builder text(), required, Few, Some(Dictionary::Name);
    grid_x UInt32Builder DataType::UInt32, required, Few, None;
    grid_y UInt32Builder DataType::UInt32, required, Few, None;
    grid_z UInt32Builder DataType::UInt32, required, Few, None;
    threads_x UInt32Builder DataType::UInt32, required, Few, None;
    threads_y UInt32Builder DataType::UInt32, required, Few, None;
    threads_z UInt32Builder DataType::UInt32, required, Few, None;
    block_x UInt32Builder DataType::UInt32, required, Few, None;
    block_y UInt32Builder DataType::UInt32, required, Few, None;
    block_z UInt32Builder DataType::UInt32, required, Few, None;
    cluster_rank UInt32Builder DataType::UInt32, nullable, Few, None;
    warp UInt32Builder DataType::UInt32, required, Few, None;
    lane UInt8Builder DataType::UInt8, nullable, Few, None;
    sm UInt32Builder DataType::UInt32, required, Few, None;
    slot UInt32Builder DataType::UInt32, required, Few, None;
    track UInt32Builder DataType::UInt32, nullable, Few, None;
    depth UInt16Builder DataType::UInt16, nullable, Few, None;
    parent UInt64Builder DataType::UInt64, nullable, Successive, None;
    path Int32Builder text(), required, Few, Some(Dictionary::Path);
    site UInt32Builder DataType::UInt32, required, Few, None;
    name Int32Builder text(), required, Few, Some(Dictionary::Name);
    file Int32Builder text(), required, Few, Some(Dictionary::File);
    line UInt32Builder DataType::UInt32, required, Few, None;
    clock Int32Builder text(), required, Few, Some(Dictionary::Clock);
    start_ticks UInt64Builder DataType::UInt64, required, Successive, None;
    end_ticks UInt64Builder DataType::UInt64, nullable, Successive, None;
    start_ns Float64Builder DataType::Float64, required, Any, None;
    end_ns Float64Builder DataType::Float64, nullable, Any, None;
    value_unsigned UInt64Builder DataType::UInt64, nullable, Few, None;
    value_signed Int64Builder DataType::Int64, nullable, Few, None;
    value_float Float64Builder DataType::Float64, nullable, Any, None;
    unit Int32Builder text(), nullable, Few, Some(Dictionary::Unit);
    released_by UInt64Builder DataType::UInt64, nullable, Successive, None;
    recorded UInt64Builder DataType::UInt64, nullable, Few, None;
    lost UInt64Builder DataType::UInt64, nullable, Few, None;
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
    let field = |column: Column| Field::new(column.name, column.data_type, column.is_nullable);
    Schema::new(all().into_iter().map(field).collect::<Vec<_>>())
}
