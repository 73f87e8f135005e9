//! The leaf columns of an Arrow schema.

use arrow_schema::{DataType, Field, Schema};

use super::schema::{Kind, Leaf};

/// A step from a column into its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To a member of a structure, by its number.
    Member(usize),
    /// To the elements of a list.
    Elements,
}

/// The number of a top-level column, and the steps from there.
pub(super) type Route = (usize, Vec<Step>);

/// Returns all columns whose values contain no others, and the routes to them.
pub(super) fn leaves(schema: &Schema) -> (Vec<Leaf>, Vec<Route>) {
    let mut all = (Vec::new(), Vec::new());
    for (index, field) in schema.fields().iter().enumerate() {
        add(field, field.name().clone(), (index, Vec::new()), &mut all);
    }
    all
}

fn add(field: &Field, path: String, route: Route, all: &mut (Vec<Leaf>, Vec<Route>)) {
    add_type(field.data_type(), path, route, all);
}

fn add_type(data_type: &DataType, path: String, route: Route, all: &mut (Vec<Leaf>, Vec<Route>)) {
    let further = |step: Step| {
        let mut further = route.clone();
        further.1.push(step);
        further
    };
    match data_type {
        DataType::Struct(members) => {
            for (index, member) in members.iter().enumerate() {
                let path = format!("{path}.{}", member.name());
                add(member, path, further(Step::Member(index)), all);
            }
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::Map(element, _) => {
            add(element, path + ".*", further(Step::Elements), all);
        }
        // This type stores the same values in another form.
        DataType::Dictionary(_, values) => add_type(values, path, route, all),
        _ => {
            all.0.push(Leaf {
                other_name: path.clone(),
                name: path,
                kind: kind(data_type),
                is_list: route.1.contains(&Step::Elements),
                is_top: route.1.is_empty(),
            });
            all.1.push(route);
        }
    }
}

fn kind(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Kind::Text),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(Kind::Text),
        DataType::FixedSizeBinary(bytes) => {
            let bytes = usize::try_from(*bytes).ok()?;
            Some(Kind::Fixed { bytes })
        }
        other if other.is_integer() => Some(Kind::Integer {
            bits: 8 * other.primitive_width()? as u32,
            signed: other.is_signed_integer(),
        }),
        _ => None,
    }
}
