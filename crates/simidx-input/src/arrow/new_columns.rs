//! Columns of an Arrow file for the new fields of its rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use crate::{FieldKind, FieldValue, NewField};

/// A schema with the new fields after its own.
pub(super) fn schema_with(schema: &Schema, fields: &[NewField]) -> Schema {
    let own = schema.fields().iter().cloned();
    let new = fields.iter().map(|field| {
        let data_type = match field.kind {
            FieldKind::Text => DataType::Utf8,
            FieldKind::Number => DataType::UInt64,
            FieldKind::Real => DataType::Float64,
        };
        Arc::new(Field::new(&field.name, data_type, true))
    });
    Schema::new_with_metadata(
        own.chain(new).collect::<Vec<_>>(),
        schema.metadata().clone(),
    )
}

/// The column of a field, the number `index` of the new ones, with the values of some rows.
pub(super) fn column(field: &NewField, index: usize, rows: &[Vec<Option<FieldValue>>]) -> ArrayRef {
    let values = rows
        .iter()
        .map(|row| row.get(index).and_then(Option::as_ref));
    match field.kind {
        FieldKind::Text => Arc::new(values.map(text).collect::<StringArray>()),
        FieldKind::Number => Arc::new(values.map(number).collect::<UInt64Array>()),
        FieldKind::Real => Arc::new(values.map(real).collect::<Float64Array>()),
    }
}

fn text(value: Option<&FieldValue>) -> Option<String> {
    Some(match value? {
        FieldValue::Text(text) => text.clone(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Real(number) => number.to_string(),
    })
}

fn number(value: Option<&FieldValue>) -> Option<u64> {
    match value? {
        FieldValue::Number(number) => Some(*number),
        _ => None,
    }
}

fn real(value: Option<&FieldValue>) -> Option<f64> {
    match value? {
        FieldValue::Real(number) => Some(*number),
        FieldValue::Number(number) => Some(*number as f64),
        FieldValue::Text(_) => None,
    }
}
