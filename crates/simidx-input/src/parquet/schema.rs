//! The columns of a Parquet file.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};

use crate::schema::{Kind, Leaf};

/// All columns of a file, in their order, and for each the definition level from which on a row has a list there, even if
/// it is empty.
pub(super) fn leaves(schema: &SchemaDescriptor) -> (Vec<Leaf>, Vec<i16>) {
    let mut walk = Walk {
        schema,
        leaves: Vec::new(),
        list_levels: Vec::new(),
    };
    for field in schema.root_schema().get_fields() {
        walk.add(field, field.name().to_owned(), Levels::default());
    }
    (walk.leaves, walk.list_levels)
}

/// Goes through a schema as through a tree.
struct Walk<'a> {
    schema: &'a SchemaDescriptor,
    leaves: Vec<Leaf>,
    list_levels: Vec<i16>,
}

/// How deep in the tree a type is.
#[derive(Clone, Copy, Default)]
struct Levels {
    depth: usize,
    definition: i16,
    /// The definition level below which there is no list, if the type is in one.
    list: Option<i16>,
}

impl Levels {
    /// Those within something of this repetition.
    fn within(self, repetition: Repetition) -> Self {
        let is_repeated = repetition == Repetition::REPEATED;
        Levels {
            depth: self.depth + 1,
            definition: self.definition + i16::from(repetition != Repetition::REQUIRED),
            list: self.list.or(is_repeated.then_some(self.definition)),
        }
    }
}

impl Walk<'_> {
    /// Adds the columns of a type.
    fn add(&mut self, field: &Type, mut path: String, levels: Levels) {
        let info = field.get_basic_info();
        let repetition = match info.has_repetition() {
            true => info.repetition(),
            false => Repetition::REQUIRED,
        };
        if repetition == Repetition::REPEATED {
            path.push_str(".*");
        }
        let levels = levels.within(repetition);
        if field.is_primitive() {
            self.add_leaf(path, levels);
        } else if let Some(repeated) = repeated_in(field) {
            self.add_elements(field, repeated, path, levels);
        } else {
            for child in field.get_fields() {
                self.add(child, format!("{path}.{}", child.name()), levels);
            }
        }
    }

    /// Adds the columns of the elements of a list: they are what is repeated, or it is wrapped around them.
    fn add_elements(&mut self, list: &Type, repeated: &Type, path: String, levels: Levels) {
        let is_element = repeated.is_primitive()
            || repeated.get_fields().len() != 1
            || repeated.name() == "array"
            || repeated.name() == format!("{}_tuple", list.name());
        match is_element {
            true => self.add(repeated, path, levels),
            false => {
                let levels = levels.within(Repetition::REPEATED);
                self.add(&repeated.get_fields()[0], path + ".*", levels);
            }
        }
    }

    fn add_leaf(&mut self, path: String, levels: Levels) {
        let column = self.schema.column(self.leaves.len());
        self.leaves.push(Leaf {
            name: path,
            other_name: column.path().string(),
            kind: kind(&column),
            is_list: column.max_rep_level() > 0,
            is_top: levels.depth == 1,
        });
        self.list_levels.push(levels.list.unwrap_or(0));
    }
}

/// The repeated type in a list or a map.
fn repeated_in(field: &Type) -> Option<&Type> {
    let info = field.get_basic_info();
    let is_list = matches!(
        info.logical_type_ref(),
        Some(LogicalType::List | LogicalType::Map)
    ) || matches!(
        info.converted_type(),
        ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
    );
    let repeated = match field.get_fields() {
        [child] if is_list => child,
        _ => return None,
    };
    (repeated.get_basic_info().repetition() == Repetition::REPEATED).then_some(repeated)
}

fn kind(column: &ColumnDescriptor) -> Option<Kind> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match column.physical_type() {
        Physical::INT32 => integer(32, logical, converted),
        Physical::INT64 => integer(64, logical, converted),
        Physical::FIXED_LEN_BYTE_ARRAY => {
            let plain = matches!(logical, None | Some(LogicalType::Uuid));
            let bytes = usize::try_from(column.type_length()).ok()?;
            (plain && converted == ConvertedType::NONE).then_some(Kind::Fixed { bytes })
        }
        Physical::BYTE_ARRAY => {
            let text = matches!(
                logical,
                None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)
            );
            let converted = matches!(
                converted,
                ConvertedType::NONE
                    | ConvertedType::UTF8
                    | ConvertedType::ENUM
                    | ConvertedType::JSON
            );
            (text && converted).then_some(Kind::Text)
        }
        _ => None,
    }
}

/// Numbers, unless they are dates, decimals or the like.
fn integer(bits: u32, logical: Option<&LogicalType>, converted: ConvertedType) -> Option<Kind> {
    let (bits, signed) = match (logical, converted) {
        (Some(LogicalType::Integer(kind)), _) => {
            (u32::from(kind.bit_width.unsigned_abs()), kind.is_signed)
        }
        (None, ConvertedType::NONE) => (bits, true),
        (None, ConvertedType::INT_8) => (8, true),
        (None, ConvertedType::INT_16) => (16, true),
        (None, ConvertedType::INT_32) => (32, true),
        (None, ConvertedType::INT_64) => (64, true),
        (None, ConvertedType::UINT_8) => (8, false),
        (None, ConvertedType::UINT_16) => (16, false),
        (None, ConvertedType::UINT_32) => (32, false),
        (None, ConvertedType::UINT_64) => (64, false),
        _ => return None,
    };
    Some(Kind::Integer { bits, signed })
}
