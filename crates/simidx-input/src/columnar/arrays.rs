//! Columns that are made of the cells of rows, among them those of new fields.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow_schema::{DataType, Field};

use crate::cells::{Cell, Kind};
use crate::source::input_error;
use crate::{Fate, FieldKind, NewField, Place, Result};

/// Bytes of text in the new fields of a row group, or a record batch, and in a value. A column has room for twice as many.
pub(super) const MAX_TEXT: usize = 1 << 30;

/// The kind of the column of a new field.
pub(super) fn kind(kind: FieldKind) -> Kind {
    match kind {
        FieldKind::Text => Kind::Text,
        FieldKind::Number => Kind::Unsigned,
        FieldKind::Real => Kind::Real,
    }
}

/// A column that may have nulls.
pub(super) fn field(name: &str, kind: Kind) -> Field {
    let data_type = match kind {
        Kind::Bool => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Unsigned => DataType::UInt64,
        Kind::Real => DataType::Float64,
        Kind::Text | Kind::Unknown => DataType::Utf8,
    };
    Field::new(name, data_type, true)
}

/// The columns of new fields.
pub(super) fn new_fields(fields: &[NewField]) -> impl Iterator<Item = Field> {
    fields.iter().map(|new| field(&new.name, kind(new.kind)))
}

/// The values of a column so far.
pub(super) enum Column {
    Bool(BooleanBuilder),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Real(Float64Builder),
    Text(StringBuilder),
}

impl Column {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Column::Bool(BooleanBuilder::new()),
            Kind::Integer => Column::Integer(Int64Builder::new()),
            Kind::Unsigned => Column::Unsigned(UInt64Builder::new()),
            Kind::Real => Column::Real(Float64Builder::new()),
            Kind::Text | Kind::Unknown => Column::Text(StringBuilder::new()),
        }
    }

    /// Adds the value of the next row: null if the cell holds nothing of this kind.
    pub(super) fn push(&mut self, cell: &Cell) {
        let text = cell.text();
        match self {
            Column::Bool(values) => values.append_option(text.and_then(|t| t.parse().ok())),
            Column::Integer(values) => values.append_option(text.and_then(|t| t.parse().ok())),
            Column::Unsigned(values) => values.append_option(text.and_then(|t| t.parse().ok())),
            Column::Real(values) => values.append_option(text.and_then(|t| t.parse().ok())),
            Column::Text(values) => values.append_option(text),
        }
    }

    /// The values so far, after which the column is empty.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Bool(values) => Arc::new(values.finish()),
            Column::Integer(values) => Arc::new(values.finish()),
            Column::Unsigned(values) => Arc::new(values.finish()),
            Column::Real(values) => Arc::new(values.finish()),
            Column::Text(values) => Arc::new(values.finish()),
        }
    }
}

/// What becomes of some rows.
pub(super) struct Choice {
    /// For each row whether it is kept.
    pub(super) kept: Vec<bool>,
    /// The columns of the new fields of those that are.
    pub(super) new: Vec<ArrayRef>,
}

impl Choice {
    /// Asks for the fate of the next `rows` rows.
    pub(super) fn of(
        rows: usize,
        fields: &[NewField],
        mut fate: impl FnMut() -> std::io::Result<Fate>,
    ) -> Result<Self> {
        // The number of rows is what the file declares.
        let mut kept = Vec::new();
        let columns = fields.iter().map(|field| Column::new(kind(field.kind)));
        let mut columns: Vec<Column> = columns.collect();
        let mut text_len = 0;
        for _ in 0..rows {
            let fate = fate()?;
            kept.push(fate != Fate::Dropped);
            match fate {
                Fate::Dropped => {}
                Fate::Copied => columns.iter_mut().for_each(|c| c.push(&Cell::Null)),
                Fate::With(values) => {
                    for (column, value) in columns.iter_mut().zip(&values) {
                        let cell = Cell::of(value);
                        text_len += cell.text().map_or(0, str::len);
                        column.push(&cell);
                    }
                }
            }
            if text_len > MAX_TEXT {
                let message =
                    "the new fields of a row group or a record batch are longer than 1 GiB";
                return Err(input_error("the output", Place::File, message));
            }
        }
        Ok(Choice {
            kept,
            new: columns.iter_mut().map(Column::finish).collect(),
        })
    }

    /// Whether any row is kept.
    pub(super) fn keeps_any(&self) -> bool {
        self.kept.contains(&true)
    }
}
