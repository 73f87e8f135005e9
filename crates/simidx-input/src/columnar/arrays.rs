//! Columns made from the values of new fields.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use arrow_schema::{DataType, Field};

use crate::source::input_error;
use crate::{Fate, FieldKind, FieldValue, NewField, Place, Result};

/// Largest number of bytes of text in the new fields of a row group or a record batch, and in a value. A column can
/// hold twice as many.
pub(super) const MAX_TEXT: usize = 1 << 30;

/// Returns the columns of new fields, which may have nulls.
pub(super) fn new_fields(fields: &[NewField]) -> impl Iterator<Item = Field> {
    fields.iter().map(|new| {
        let data_type = match new.kind {
            FieldKind::Text => DataType::Utf8,
            FieldKind::Number => DataType::UInt64,
            FieldKind::Real => DataType::Float64,
        };
        Field::new(&new.name, data_type, true)
    })
}

/// The values of a column so far, as text.
pub(super) struct Column {
    kind: FieldKind,
    values: StringBuilder,
}

impl Column {
    pub(super) fn new(field: &NewField) -> Self {
        Column {
            kind: field.kind,
            values: StringBuilder::new(),
        }
    }

    /// Adds the value of the next row, and returns its length as text.
    pub(super) fn push(&mut self, value: Option<&FieldValue>) -> usize {
        let text = value.map(FieldValue::text);
        self.values.append_option(text.as_deref());
        text.map_or(0, |text| text.len())
    }

    /// Returns the values so far, with null for values of another kind, and empties the column.
    pub(super) fn finish(&mut self) -> ArrayRef {
        let values = self.values.finish();
        let texts = values.iter();
        match self.kind {
            FieldKind::Number => Arc::new(texts.map(parse::<u64>).collect::<UInt64Array>()),
            FieldKind::Real => Arc::new(texts.map(parse::<f64>).collect::<Float64Array>()),
            FieldKind::Text => Arc::new(values),
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
        let mut columns: Vec<Column> = fields.iter().map(Column::new).collect();
        let mut text_len = 0;
        for _ in 0..rows {
            let fate = fate()?;
            kept.push(fate != Fate::Dropped);
            match fate {
                Fate::Dropped => {}
                Fate::Copied => {
                    for column in &mut columns {
                        column.push(None);
                    }
                }
                Fate::With(values) => {
                    for (column, value) in columns.iter_mut().zip(&values) {
                        text_len += column.push(value.as_ref());
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
