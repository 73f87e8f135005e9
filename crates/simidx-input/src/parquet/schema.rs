//! Which columns of a Parquet file hold the records.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::Fields;
use simidx::Fingerprint;

/// The columns of the records.
#[derive(Debug)]
pub(super) struct Schema {
    /// Fingerprints or documents.
    pub(super) content: Chosen,
    pub(super) id: Option<Chosen>,
}

/// A column.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer {
        bits: u32,
        signed: bool,
    },
    /// As many bytes, the most significant first.
    Fixed {
        bytes: usize,
    },
    /// Strings that are hexadecimal digits.
    Digits,
    /// Strings.
    Text,
}

impl Kind {
    /// Whether the values are fingerprints that need not be read out of text.
    pub(super) fn is_ready_made(self) -> bool {
        matches!(self, Kind::Integer { .. } | Kind::Fixed { .. })
    }

    fn of(column: &ColumnDescriptor) -> Option<Self> {
        if column.max_rep_level() > 0 {
            return None;
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        match column.physical_type() {
            Type::INT32 => integer(32, logical, converted),
            Type::INT64 => integer(64, logical, converted),
            Type::FIXED_LEN_BYTE_ARRAY => {
                let plain = matches!(logical, None | Some(LogicalType::Uuid));
                let bytes = usize::try_from(column.type_length()).ok()?;
                (plain && converted == ConvertedType::NONE).then_some(Kind::Fixed { bytes })
            }
            Type::BYTE_ARRAY => {
                let text = matches!(logical, None | Some(LogicalType::String));
                let converted = matches!(converted, ConvertedType::NONE | ConvertedType::UTF8);
                (text && converted).then_some(Kind::Text)
            }
            _ => None,
        }
    }

    /// Words for a message.
    fn words(kind: Option<Self>) -> String {
        match kind {
            Some(Kind::Integer { bits, .. }) => format!("{bits}-bit numbers"),
            Some(Kind::Fixed { bytes }) => format!("arrays of {bytes} bytes"),
            Some(Kind::Digits | Kind::Text) => "strings".into(),
            None => "values of another type".into(),
        }
    }
}

/// Numbers of these bits, unless they are dates, decimals or the like, or have fewer bits.
fn integer(bits: u32, logical: Option<&LogicalType>, converted: ConvertedType) -> Option<Kind> {
    let signed = match (logical, converted) {
        (Some(LogicalType::Integer(kind)), _)
            if u32::from(kind.bit_width.unsigned_abs()) == bits =>
        {
            kind.is_signed
        }
        (None, ConvertedType::NONE) => true,
        (None, ConvertedType::INT_32) if bits == 32 => true,
        (None, ConvertedType::INT_64) if bits == 64 => true,
        (None, ConvertedType::UINT_32) if bits == 32 => false,
        (None, ConvertedType::UINT_64) if bits == 64 => false,
        _ => return None,
    };
    Some(Kind::Integer { bits, signed })
}

impl Schema {
    /// The columns of records with fingerprints of this width, or why there are none.
    pub(super) fn find<F: Fingerprint>(
        schema: &SchemaDescriptor,
        fields: &Fields,
    ) -> Result<Self, String> {
        let named = |name: &str| named(schema, name);
        let chosen = |index: usize, kind| Chosen {
            index,
            name: schema.column(index).path().string(),
            kind,
        };
        let text = |index: usize| Ok::<_, String>(chosen(index, texts(&schema.column(index))?));
        let fingerprint = |index: usize| {
            Ok::<_, String>(chosen(index, fingerprints::<F>(&schema.column(index))?))
        };
        let id = match named(fields.id()) {
            Some(index) => Some(chosen(index, ids(&schema.column(index))?)),
            None if fields.id.is_some() => return Err(missing(fields.id())),
            None => None,
        };
        let content = match (named("fingerprint"), named(fields.text())) {
            (_, Some(index)) if fields.text.is_some() => text(index)?,
            (_, None) if fields.text.is_some() => return Err(missing(fields.text())),
            (Some(_), Some(_)) => {
                return Err("has a column \"fingerprint\" and a column \"text\"".into());
            }
            (Some(index), None) => fingerprint(index)?,
            (None, Some(index)) => text(index)?,
            (None, None) if id.is_some() => {
                return Err("has neither a column \"fingerprint\" nor a column \"text\"".into());
            }
            (None, None) => fingerprint(only_fitting::<F>(schema)?)?,
        };
        Ok(Schema { content, id })
    }
}

/// The column of a name, or of a path whose parts are written with points between them.
fn named(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    let columns = 0..schema.num_columns();
    let exact = columns
        .clone()
        .find(|&i| schema.column(i).path().parts() == [name]);
    let nested = || {
        columns
            .clone()
            .find(|&i| schema.column(i).path().string() == name)
    };
    exact.or_else(nested)
}

fn missing(name: &str) -> String {
    format!("has no column {name:?}")
}

/// The only column of integers of the width.
fn only_fitting<F: Fingerprint>(schema: &SchemaDescriptor) -> Result<usize, String> {
    let fits = |&i: &usize| {
        let column = schema.column(i);
        column.path().parts().len() == 1
            && matches!(Kind::of(&column), Some(Kind::Integer { bits, .. }) if bits == F::WIDTH)
    };
    let fitting: Vec<usize> = (0..schema.num_columns()).filter(fits).collect();
    match fitting[..] {
        [index] => Ok(index),
        [] => Err(format!(
            "has no column \"fingerprint\" or \"text\", and none of {}-bit numbers",
            F::WIDTH
        )),
        _ => Err(format!(
            "has no column \"fingerprint\" or \"text\", and {} columns of {}-bit numbers",
            fitting.len(),
            F::WIDTH
        )),
    }
}

fn fingerprints<F: Fingerprint>(column: &ColumnDescriptor) -> Result<Kind, String> {
    match Kind::of(column) {
        Some(Kind::Text) => Ok(Kind::Digits),
        Some(kind @ Kind::Integer { bits, .. }) if bits == F::WIDTH => Ok(kind),
        Some(kind @ Kind::Fixed { bytes }) if bytes == F::BYTES => Ok(kind),
        other => Err(format!(
            "column \"fingerprint\" holds {}, not {}-bit fingerprints",
            Kind::words(other),
            F::WIDTH
        )),
    }
}

fn texts(column: &ColumnDescriptor) -> Result<Kind, String> {
    match Kind::of(column) {
        Some(Kind::Text) => Ok(Kind::Text),
        other => Err(format!(
            "column {:?} holds {}, not strings",
            column.path().string(),
            Kind::words(other)
        )),
    }
}

fn ids(column: &ColumnDescriptor) -> Result<Kind, String> {
    match Kind::of(column) {
        Some(kind @ (Kind::Text | Kind::Integer { .. })) => Ok(kind),
        other => Err(format!(
            "column {:?} holds {}, neither strings nor integers",
            column.path().string(),
            Kind::words(other)
        )),
    }
}
