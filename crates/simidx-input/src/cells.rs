//! The values of records as cells, and their columns.

use std::collections::HashMap;

use super::new_fields::{FieldValue, NewField};

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// The field is missing.
    Missing,
    Null,
    Bool(bool),
    /// A number in the notation of JSON.
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

    /// Returns the value as text; `None` if it is missing or null.
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

/// Appends a JSON object.
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

/// Returns a list as JSON.
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

/// Returns an object as JSON.
#[cfg(feature = "arrow")]
pub(crate) fn object(members: &[(String, Cell)]) -> Cell {
    let mut json = Vec::new();
    let members = members.iter();
    write_object(members.map(|(name, cell)| (name.as_str(), cell)), &mut json);
    Cell::Json(String::from_utf8_lossy(&json).into_owned())
}

/// Returns bytes as text, or as hexadecimal digits if they are not valid UTF-8.
#[cfg(feature = "arrow")]
pub(crate) fn bytes(bytes: &[u8]) -> Cell {
    Cell::Text(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// Returns a number as `shown`, with a point or an exponent that distinguishes it from an integer. Infinities, which
/// JSON lacks, are null.
pub(crate) fn real(value: f64, shown: impl std::fmt::Debug) -> Cell {
    match value.is_finite() {
        true => Cell::Number(format!("{shown:?}")),
        false => Cell::Null,
    }
}

/// Appends a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// The type of all values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No value has occurred yet.
    Unknown,
    Bool,
    /// Signed integers of 64 bits.
    Integer,
    /// Unsigned integers of 64 bits.
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

/// Widens the kinds of columns so that they fit the values of a row.
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
    /// Creates columns of strings with these names.
    pub(super) fn of_table<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut columns = Columns::default();
        for name in names {
            // A table may have two columns with the same name.
            columns.names.push(name.to_owned());
            columns.kinds.push(Kind::Text);
            columns
                .numbers
                .insert(name.to_owned(), columns.names.len() - 1);
        }
        columns
    }

    /// Returns the number of the column with a name, and adds the column if it does not exist.
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

    /// Returns the first new field that has the name of a column.
    pub(super) fn clash<'f>(&self, fields: &'f [NewField]) -> Option<&'f NewField> {
        let mut fields = fields.iter();
        fields.find(|field| self.numbers.contains_key(&field.name))
    }
}

/// Returns the message for a record, or a file, that already has a new field.
pub(crate) fn has_already(field: &NewField) -> String {
    format!(
        "has a field {:?} already; give the new ones other names",
        field.name
    )
}
