//! Columns made from the cells of rows, including those of new fields.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use arrow_schema::{DataType, Field};

use crate::cells::{Cell, Kind};
use crate::source::input_error;
use crate::{Fate, FieldKind, NewField, Place, Result};

/// Largest number of bytes of text in the new fields of a row group or a record batch, and in a value. A column can
/// hold twice as many.
pub(super) const MAX_TEXT: usize = 1 << 30;

/// Returns the kind of the column of a new field.
pub(super) fn kind(kind: FieldKind) -> Kind {
    match kind {
        FieldKind::Text => Kind::Text,
        FieldKind::Number => Kind::Unsigned,
        FieldKind::Real => Kind::Real,
    }
}

/// Returns a column that may have nulls.
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

/// Returns the columns of new fields.
pub(super) fn new_fields(fields: &[NewField]) -> impl Iterator<Item = Field> {
    fields.iter().map(|new| field(&new.name, kind(new.kind)))
}

/// The values of a column so far, as text.
pub(super) struct Column {
    kind: Kind,
    values: StringBuilder,
}

impl Column {
    pub(super) fn new(kind: Kind) -> Self {
        Column {
            kind,
            values: StringBuilder::new(),
        }
    }

    /// Adds the value of the next row.
    pub(super) fn push(&mut self, cell: &Cell) {
        self.values.append_option(cell.text());
    }

    /// Returns the values so far, with null for cells of another kind, and empties the column.
    pub(super) fn finish(&mut self) -> ArrayRef {
        let values = self.values.finish();
        let texts = values.iter();
        match self.kind {
            Kind::Bool => Arc::new(texts.map(parse::<bool>).collect::<BooleanArray>()),
            Kind::Integer => Arc::new(texts.map(parse::<i64>).collect::<Int64Array>()),
            Kind::Unsigned => Arc::new(texts.map(parse::<u64>).collect::<UInt64Array>()),
            Kind::Real => Arc::new(texts.map(parse::<f64>).collect::<Float64Array>()),
            Kind::Text | Kind::Unknown => Arc::new(values),
        }
    }
}

fn parse<T: FromStr>(text: Option<&str>) -> Option<T> {
    text?.parse().ok()
}

/// The fates of some rows.
pub(super) struct Choice {
    /// Whether each row is kept.
    pub(super) kept: Vec<bool>,
    /// The columns of the new fields of the kept rows.
    pub(super) new: Vec<ArrayRef>,
}

impl Choice {
    /// Determines the fates of the next `rows` rows.
    pub(super) fn of(
        rows: usize,
        fields: &[NewField],
        mut fate: impl FnMut() -> std::io::Result<Fate>,
    ) -> Result<Self> {
        // The number of rows is only declared by the file, so no memory is reserved for it.
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
