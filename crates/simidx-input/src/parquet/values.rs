//! Columns that are written value by value, each of which may have nulls.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;

use crate::cells::{Cell, Kind};
use crate::{FieldKind, NewField};

/// The values of a column that are still to be written.
pub(super) struct Values {
    data: Data,
    /// For each row whether there is a value.
    levels: Vec<i16>,
}

enum Data {
    Bool(Vec<bool>),
    Integer(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Values {
    pub(super) fn new(kind: Kind) -> Self {
        Values {
            data: match kind {
                Kind::Bool => Data::Bool(Vec::new()),
                Kind::Integer | Kind::Unsigned => Data::Integer(Vec::new()),
                Kind::Real => Data::Real(Vec::new()),
                Kind::Text | Kind::Unknown => Data::Text(Vec::new()),
            },
            levels: Vec::new(),
        }
    }

    /// Adds the value of the next row: none if the cell holds nothing of this kind.
    pub(super) fn push(&mut self, cell: &Cell) {
        let text = cell.text();
        let is_there = match &mut self.data {
            Data::Bool(values) => push(values, text.and_then(|text| text.parse().ok())),
            Data::Integer(values) => push(values, text.and_then(integer)),
            Data::Real(values) => push(values, text.and_then(|text| text.parse().ok())),
            Data::Text(values) => push(values, text.map(ByteArray::from)),
        };
        self.levels.push(i16::from(is_there));
    }

    /// Writes the values as the next column of a row group.
    pub(super) fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let wrong = |what: &str| ParquetError::General(what.into());
        let column = group.next_column()?;
        let mut column = column.ok_or_else(|| wrong("a row group has too few columns"))?;
        let levels = Some(&self.levels[..]);
        match (&self.data, column.untyped()) {
            (Data::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?
            }
            (Data::Integer(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?
            }
            (Data::Real(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?
            }
            (Data::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?
            }
            _ => return Err(wrong("a column changes its type")),
        };
        column.close()
    }

    pub(super) fn clear(&mut self) {
        self.levels.clear();
        match &mut self.data {
            Data::Bool(values) => values.clear(),
            Data::Integer(values) => values.clear(),
            Data::Real(values) => values.clear(),
            Data::Text(values) => values.clear(),
        }
    }
}

fn push<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.extend(value);
    is_there
}

/// A signed or unsigned integer in 64 bits.
fn integer(text: &str) -> Option<i64> {
    let signed = text.parse::<i64>().ok();
    signed.or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
}

/// The kind of the column of a new field.
pub(super) fn kind(kind: FieldKind) -> Kind {
    match kind {
        FieldKind::Text => Kind::Text,
        FieldKind::Number => Kind::Unsigned,
        FieldKind::Real => Kind::Real,
    }
}

/// The type of a column.
pub(super) fn column(name: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let physical = match kind {
        Kind::Bool => Physical::BOOLEAN,
        Kind::Integer | Kind::Unsigned => Physical::INT64,
        Kind::Real => Physical::DOUBLE,
        Kind::Text | Kind::Unknown => Physical::BYTE_ARRAY,
    };
    let logical = match kind {
        Kind::Text | Kind::Unknown => Some(LogicalType::String),
        Kind::Unsigned => Some(LogicalType::integer(64, false)),
        _ => None,
    };
    let column = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(column.build()?))
}

/// A schema with the columns of new fields after its own.
pub(super) fn with_columns(schema: TypePtr, fields: &[NewField]) -> Result<TypePtr, ParquetError> {
    if fields.is_empty() {
        return Ok(schema);
    }
    let mut columns = schema.get_fields().to_vec();
    for field in fields {
        columns.push(column(&field.name, kind(field.kind))?);
    }
    group(schema.name(), columns)
}

/// The schema of these columns.
pub(super) fn group(name: &str, columns: Vec<TypePtr>) -> Result<TypePtr, ParquetError> {
    let schema = Type::group_type_builder(name).with_fields(columns);
    Ok(Arc::new(schema.build()?))
}
