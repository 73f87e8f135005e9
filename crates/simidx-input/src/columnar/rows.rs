//! Converts the rows of files into cells.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions as time;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use super::cells::{self, elements, resolve};
use super::{Batches, guarded, unreadable};
use crate::cells::{Cell, Columns, Kind, bytes, list, object, real};
use crate::source::input_error;
use crate::{Format, InputFile, Place, Result};

/// The rows of a file or a stream.
pub(crate) struct BatchRows {
    batches: Box<dyn Batches>,
    batch: Option<RecordBatch>,
    /// The row of the batch after the current one.
    next: usize,
    /// The name of the format in errors.
    library: &'static str,
}

impl BatchRows {
    /// Opens an input. `columns` are those of the inputs before it.
    pub(crate) fn open(input: &InputFile, columns: &mut Columns) -> Result<Self> {
        let batches = super::open(input)?;
        let schema = batches.schema();
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        if columns.names.is_empty() {
            for &name in &names {
                columns.number(name);
            }
        }
        if !columns.names.iter().eq(names) {
            let message = "has other columns than the files before it";
            let message = match first_repeated(schema) {
                Some(name) => format!("has two columns {name:?}"),
                None => message.to_owned(),
            };
            return Err(input_error(batches.name(), Place::File, message));
        }
        for field in schema.fields() {
            if let Some(hidden) = hidden(field.data_type()) {
                let message = format!(
                    "column {:?} holds values of the type {hidden}, which cannot be converted",
                    field.name()
                );
                return Err(input_error(batches.name(), Place::File, message));
            }
        }
        let kinds = schema.fields().iter().map(|field| kind(field.data_type()));
        columns.kinds = kinds.collect();
        Ok(BatchRows {
            batches,
            batch: None,
            next: 0,
            library: match input.format() {
                Format::Parquet => "Parquet",
                _ => "Arrow",
            },
        })
    }
}

/// Returns a name that two columns have.
fn first_repeated(schema: &arrow_schema::Schema) -> Option<&str> {
    let fields = schema.fields();
    let names = || fields.iter().map(|field| field.name().as_str());
    names()
        .enumerate()
        .find(|&(number, name)| names().take(number).any(|other| other == name))
        .map(|(_, name)| name)
}

impl BatchRows {
    /// Advances to the next row; returns `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.next += 1;
        let rows = |batch: &RecordBatch| batch.num_rows();
        while self.batch.as_ref().map_or(0, rows) < self.next {
            // This frees the memory of the last batch before the next one is read.
            self.batch = None;
            self.batch = self.batches.next()?;
            self.next = 1;
            if self.batch.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends the cells of the row. The error describes an unusable value.
    pub(crate) fn row(&self, row: &mut Vec<Cell>) -> Result<(), String> {
        let Some(batch) = &self.batch else {
            return Err("is no row".into());
        };
        let number = self.next - 1;
        let cells = guarded(self.library, || {
            let columns = batch.columns().iter();
            let cells = columns.map(|array| cell(array, number));
            let cells: Option<Vec<Cell>> = cells.collect();
            cells.ok_or("a value is outside the range of its type")
        });
        row.extend(cells.map_err(|message| unreadable(self.batches.name(), &message).to_string())?);
        Ok(())
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.batches.bytes_read()
    }
}

/// Returns the kind of a column when it is written to another file.
fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Boolean => Kind::Bool,
        DataType::UInt64 => Kind::Unsigned,
        data_type if data_type.is_integer() => Kind::Integer,
        data_type if data_type.is_floating() => Kind::Real,
        DataType::Dictionary(_, values) => kind(values),
        DataType::RunEndEncoded(_, values) => kind(values.data_type()),
        _ => Kind::Text,
    }
}

/// Returns a type without a text form, if a type contains one.
fn hidden(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Interval(_)
        | DataType::Duration(_)
        | DataType::Union(..)
        | DataType::Decimal32(..)
        | DataType::Decimal64(..) => Some(data_type),
        DataType::Dictionary(_, values) => hidden(values),
        DataType::Struct(members) => members.iter().find_map(|member| hidden(member.data_type())),
        DataType::RunEndEncoded(_, values)
        | DataType::List(values)
        | DataType::LargeList(values)
        | DataType::FixedSizeList(values, _)
        | DataType::ListView(values)
        | DataType::LargeListView(values)
        | DataType::Map(values, _) => hidden(values.data_type()),
        _ => None,
    }
}

/// Returns the value of a row; `None` if it has no text form.
fn cell(array: &dyn Array, row: usize) -> Option<Cell> {
    let Some((array, row)) = resolve(array, row) else {
        return Some(Cell::Null);
    };
    match array.data_type() {
        DataType::Struct(fields) => {
            let members = array.as_struct_opt()?;
            let members = fields.iter().zip(members.columns());
            let members =
                members.map(|(field, array)| Some((field.name().clone(), cell(array, row)?)));
            return Some(object(&members.collect::<Option<Vec<_>>>()?));
        }
        DataType::Map(..) => {
            let (entries, range) = elements(array, row)?;
            let entries = entries.as_struct_opt()?;
            let (keys, values) = (entries.columns().first()?, entries.columns().get(1)?);
            let members = range.map(|row| {
                let key = cell(keys, row)?.text().unwrap_or("null").to_owned();
                Some((key, cell(values, row)?))
            });
            return Some(object(&members.collect::<Option<Vec<_>>>()?));
        }
        _ => {}
    }
    if let Some((values, range)) = elements(array, row) {
        let elements: Option<Vec<Cell>> = range.map(|row| cell(values, row)).collect();
        return Some(list(elements?.into_iter()));
    }
    match cells::cell(array, row) {
        Some(cells::Cell::Signed(number)) => Some(Cell::Number(number.to_string())),
        Some(cells::Cell::Unsigned(number)) => Some(Cell::Number(number.to_string())),
        Some(cells::Cell::Bytes(value)) => Some(bytes(value)),
        None => other(array, row),
    }
}

/// Returns a value of a type that records do not need.
fn other(array: &dyn Array, row: usize) -> Option<Cell> {
    macro_rules! native {
        ($type:ty) => {
            array.as_primitive_opt::<$type>()?.value(row)
        };
    }
    macro_rules! moment {
        ($type:ty, $zone:expr) => {{
            let moment = time::as_datetime::<$type>(native!($type))?;
            let zone = if $zone.is_some() { " +00:00" } else { "" };
            let clock = clock(&<$type>::UNIT);
            format!("{}{zone}", moment.format(&format!("%Y-%m-%d {clock}")))
        }};
    }
    macro_rules! time_of_day {
        ($type:ty, $unit:expr) => {{
            let time = time::as_time::<$type>(native!($type).into())?;
            Cell::Text(time.format(clock($unit)).to_string())
        }};
    }
    Some(match array.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => Cell::Bool(array.as_boolean_opt()?.value(row)),
        DataType::Float16 => real(native!(Float16Type).to_f64(), native!(Float16Type)),
        DataType::Float32 => real(native!(Float32Type).into(), native!(Float32Type)),
        DataType::Float64 => real(native!(Float64Type), native!(Float64Type)),
        DataType::Date32 => {
            Cell::Text(time::as_date::<Date32Type>(native!(Date32Type).into())?.to_string())
        }
        DataType::Date64 => {
            Cell::Text(time::as_date::<Date64Type>(native!(Date64Type))?.to_string())
        }
        DataType::Timestamp(unit, zone) => Cell::Text(match unit {
            TimeUnit::Second => moment!(TimestampSecondType, zone),
            TimeUnit::Millisecond => moment!(TimestampMillisecondType, zone),
            TimeUnit::Microsecond => moment!(TimestampMicrosecondType, zone),
            TimeUnit::Nanosecond => moment!(TimestampNanosecondType, zone),
        }),
        DataType::Time32(unit @ TimeUnit::Second) => time_of_day!(Time32SecondType, unit),
        DataType::Time32(unit) => time_of_day!(Time32MillisecondType, unit),
        DataType::Time64(unit @ TimeUnit::Microsecond) => {
            time_of_day!(Time64MicrosecondType, unit)
        }
        DataType::Time64(unit) => time_of_day!(Time64NanosecondType, unit),
        &DataType::Decimal128(precision, scale) => Cell::Text(Decimal128Type::format_decimal(
            native!(Decimal128Type),
            precision,
            scale,
        )),
        &DataType::Decimal256(precision, scale) => Cell::Text(Decimal256Type::format_decimal(
            native!(Decimal256Type),
            precision,
            scale,
        )),
        _ => return None,
    })
}

/// Returns the format of a time of day in a unit.
fn clock(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "%H:%M:%S",
        TimeUnit::Millisecond => "%H:%M:%S%.3f",
        TimeUnit::Microsecond => "%H:%M:%S%.6f",
        TimeUnit::Nanosecond => "%H:%M:%S%.9f",
    }
}
