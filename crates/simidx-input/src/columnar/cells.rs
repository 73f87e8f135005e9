//! Reads the values of arrays, row by row.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, downcast_dictionary_array, downcast_integer_array};
use arrow_schema::DataType;

use super::leaves::Step;
use simidx::Fingerprints;

/// The value of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Integer(i128),
    Bytes(&'a [u8]),
}

/// Calls `visit` with the values that the steps lead to from a row, except nulls. Returns whether there is a value, or
/// a list, even an empty one.
pub(super) fn visit<'a>(
    array: &'a dyn Array,
    row: usize,
    steps: &[Step],
    each: &mut dyn FnMut(Cell<'a>),
) -> bool {
    let Some((array, row)) = resolve(array, row) else {
        return false;
    };
    match steps.split_first() {
        None => {
            let cell = cell(array, row);
            cell.into_iter().for_each(each);
            cell.is_some()
        }
        Some((Step::Member(index), rest)) => {
            let members = array.as_struct_opt();
            members.is_some_and(|members| visit(members.column(*index), row, rest, each))
        }
        Some((Step::Elements, rest)) => {
            let Some((values, range)) = elements(array, row) else {
                return false;
            };
            for row in range {
                visit(values, row, rest, each);
            }
            true
        }
    }
}

/// Returns the array and the index that hold the value of a row, also of a dictionary; `None` for null.
fn resolve(array: &dyn Array, row: usize) -> Option<(&dyn Array, usize)> {
    if row >= array.len() || array.is_null(row) {
        return None;
    }
    downcast_dictionary_array!(
        array => resolve(array.values(), array.key(row)?),
        _ => Some((array, row))
    )
}

/// Returns the array and the range of the elements of the list in a row.
fn elements(array: &dyn Array, row: usize) -> Option<(&dyn Array, Range<usize>)> {
    let range =
        |start: i64, end: i64| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?);
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list_opt::<i32>()?;
            let ends = list.value_offsets().get(row..row + 2)?;
            (list.values(), range(ends[0].into(), ends[1].into())?)
        }
        DataType::LargeList(_) => {
            let list = array.as_list_opt::<i64>()?;
            let ends = list.value_offsets().get(row..row + 2)?;
            (list.values(), range(ends[0], ends[1])?)
        }
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list_opt()?;
            let start = list.value_offset_at(row);
            let length = usize::try_from(list.value_length()).ok()?;
            (list.values(), start..start + length)
        }
        DataType::Map(..) => {
            let map = array.as_map_opt()?;
            let ends = map.value_offsets().get(row..row + 2)?;
            (map.entries(), range(ends[0].into(), ends[1].into())?)
        }
        _ => return None,
    })
}

/// Returns the value of a row that is not null.
fn cell(array: &dyn Array, row: usize) -> Option<Cell<'_>> {
    Some(downcast_integer_array!(
        array => Cell::Integer(array.value(row).into()),
        DataType::Utf8 => Cell::Bytes(array.as_string_opt::<i32>()?.value(row).as_bytes()),
        DataType::LargeUtf8 => Cell::Bytes(array.as_string_opt::<i64>()?.value(row).as_bytes()),
        DataType::Utf8View => Cell::Bytes(array.as_string_view_opt()?.value(row).as_bytes()),
        DataType::Binary => Cell::Bytes(array.as_binary_opt::<i32>()?.value(row)),
        DataType::LargeBinary => Cell::Bytes(array.as_binary_opt::<i64>()?.value(row)),
        DataType::BinaryView => Cell::Bytes(array.as_binary_view_opt()?.value(row)),
        DataType::FixedSizeBinary(_) => Cell::Bytes(array.as_fixed_size_binary_opt()?.value(row)),
        _ => return None,
    ))
}

/// Appends the fingerprints of rows of an array of numbers, if it has no nulls, and returns their number.
pub(super) fn plain_fingerprints(
    array: &ArrayRef,
    rows: Range<usize>,
    out: &mut Fingerprints,
) -> usize {
    if array.null_count() > 0 {
        return 0;
    }
    let before = out.len();
    macro_rules! append {
        ($out:expr, $type:ty, $bits:ty) => {
            if let Some(numbers) = array.as_primitive_opt::<$type>() {
                let numbers = numbers.values().get(rows).unwrap_or_default();
                $out.extend(numbers.iter().map(|&number| number as $bits));
            }
        };
    }
    match (array.data_type(), &mut *out) {
        (DataType::UInt64, Fingerprints::W64(out)) => append!(out, UInt64Type, u64),
        (DataType::Int64, Fingerprints::W64(out)) => append!(out, Int64Type, u64),
        (DataType::UInt32, Fingerprints::W32(out)) => append!(out, UInt32Type, u32),
        (DataType::Int32, Fingerprints::W32(out)) => append!(out, Int32Type, u32),
        (DataType::FixedSizeBinary(_), out) => {
            let values = array.as_fixed_size_binary_opt();
            for values in values.iter() {
                rows.clone()
                    .for_each(|row| out.push(big_endian(values.value(row))));
            }
        }
        _ => {}
    }
    out.len() - before
}

/// Returns the number with these bytes, the most significant first.
pub(super) fn big_endian(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |all, &b| all << 8 | u128::from(b))
}
