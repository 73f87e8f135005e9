//! The values of records that are taken apart, and the columns that they stand in.

use std::collections::HashMap;

use super::new_fields::{FieldValue, NewField};

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// There is none.
    Missing,
    Null,
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(String),
    /// A list or an object, as JSON.
    Json(String),
}

impl Cell {
    pub(crate) fn of(value: &Option<FieldValue>) -> Self {
        match value {
            None => Cell::Null,
            Some(FieldValue::Text(text)) => Cell::Text(text.clone()),
            Some(FieldValue::Number(number)) => Cell::Number(number.to_string()),
            Some(FieldValue::Real(number)) => real(*number, number),
        }
    }

    /// The value as text; none of what is missing or null.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Cell::Missing | Cell::Null => None,
            Cell::Bool(true) => Some("true"),
            Cell::Bool(false) => Some("false"),
            Cell::Number(text) | Cell::Text(text) | Cell::Json(text) => Some(text),
        }
    }

    /// Appends the value as JSON.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Cell::Text(text) => write_string(text, out),
            other => out.extend(other.text().unwrap_or("null").as_bytes()),
        }
    }
}

/// Appends an object of JSON.
pub(crate) fn write_object<'a>(
    members: impl Iterator<Item = (&'a str, &'a Cell)>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (number, (name, cell)) in members.enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        cell.write_json(out);
    }
    out.push(b'}');
}

/// A list as JSON.
#[cfg(feature = "arrow")]
pub(crate) fn list(elements: impl Iterator<Item = Cell>) -> Cell {
    let mut json = vec![b'['];
    for (number, element) in elements.enumerate() {
        if number > 0 {
            json.push(b',');
        }
        element.write_json(&mut json);
    }
    json.push(b']');
    Cell::Json(String::from_utf8_lossy(&json).into_owned())
}

/// An object as JSON.
#[cfg(feature = "arrow")]
pub(crate) fn object(members: &[(String, Cell)]) -> Cell {
    let mut json = Vec::new();
    let members = members.iter();
    write_object(members.map(|(name, cell)| (name.as_str(), cell)), &mut json);
    Cell::Json(String::from_utf8_lossy(&json).into_owned())
}

/// Bytes as text, and as hexadecimal digits if they are none.
#[cfg(feature = "arrow")]
pub(crate) fn bytes(bytes: &[u8]) -> Cell {
    Cell::Text(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// A number as it is shown, with a point or an exponent, by which readers tell it from an integer. JSON has no infinities.
pub(crate) fn real(value: f64, shown: impl std::fmt::Debug) -> Cell {
    match value.is_finite() {
        true => Cell::Number(format!("{shown:?}")),
        false => Cell::Null,
    }
}

/// Appends a string of JSON.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    // A list of bytes takes everything.
    let _ = serde_json::to_writer(out, text);
}

/// What all values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No value has been seen.
    Unknown,
    Bool,
    /// Signed integers of 64 bits.
    Integer,
    /// Unsigned ones.
    #[cfg(feature = "arrow")]
    Unsigned,
    Real,
    Text,
}

impl Kind {
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Missing | Cell::Null => Kind::Unknown,
            Cell::Bool(_) => Kind::Bool,
            Cell::Number(number) if number.parse::<i64>().is_ok() => Kind::Integer,
            // A double would have other digits.
            Cell::Number(number) if number.parse::<u64>().is_ok() => Kind::Text,
            Cell::Number(_) => Kind::Real,
            Cell::Text(_) | Cell::Json(_) => Kind::Text,
        }
    }

    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Unknown, kind) | (kind, Kind::Unknown) => kind,
            (a, b) if a == b => a,
            (Kind::Integer, Kind::Real) | (Kind::Real, Kind::Integer) => Kind::Real,
            _ => Kind::Text,
        }
    }
}

/// Sees to it that the kinds of columns fit the values of a row.
pub(super) fn fit(kinds: &mut Vec<Kind>, row: &[Cell]) {
    kinds.resize(kinds.len().max(row.len()), Kind::Unknown);
    for (kind, cell) in kinds.iter_mut().zip(row) {
        *kind = kind.and(Kind::of(cell));
    }
}

/// Columns by their names.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) names: Vec<String>,
    pub(crate) kinds: Vec<Kind>,
    numbers: HashMap<String, usize>,
}

impl Columns {
    /// Columns of these names, with strings.
    pub(super) fn of_table<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut columns = Columns::default();
        for name in names {
            // A table may have two columns of one name.
            columns.names.push(name.to_owned());
            columns.kinds.push(Kind::Text);
            columns
                .numbers
                .insert(name.to_owned(), columns.names.len() - 1);
        }
        columns
    }

    /// The number of the column of a name, which is a new one if there is none.
    pub(crate) fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        self.kinds.push(Kind::Unknown);
        number
    }

    /// The first of the new fields that a column has the name of.
    pub(super) fn clash<'f>(&self, fields: &'f [NewField]) -> Option<&'f NewField> {
        let mut fields = fields.iter();
        fields.find(|field| self.numbers.contains_key(&field.name))
    }
}

/// What is wrong with a record, or a file, that has a new field already.
pub(crate) fn has_already(field: &NewField) -> String {
    format!(
        "has a field {:?} already; give the new ones other names",
        field.name
    )
}
