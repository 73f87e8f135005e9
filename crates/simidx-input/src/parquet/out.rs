//! A Parquet file written row by row.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::guarded;
use super::values::{self, Values};
use crate::cells::{Cell, Columns, Kind};
use crate::source::input_error;
use crate::watched::Watched;
use crate::{Error, NewField, Place, Result};

/// Rows of a row group, and bytes of text in it.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_LEN: usize = 64 << 20;

/// The level of Zstandard. A file does not tell the one that it was written with.
const ZSTD_LEVEL: i32 = 3;

/// Zstandard at the level that files are written with.
pub(super) fn zstd() -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
}

/// A file that takes rows. They are held in memory until a row group is full.
pub(crate) struct ParquetOut<'a> {
    writer: Option<SerializedFileWriter<Watched<'a>>>,
    columns: Vec<Values>,
    /// Columns that are not those of new fields.
    own: usize,
    rows: usize,
    len: usize,
}

impl<'a> ParquetOut<'a> {
    /// Begins a file with these columns.
    pub(crate) fn new(
        out: &'a mut (dyn Write + Send),
        columns: &Columns,
        fields: &[NewField],
    ) -> Result<Self> {
        let own = columns.names.iter().zip(columns.kinds.iter().copied());
        let new = fields.iter().map(|f| (&f.name, values::kind(f.kind)));
        let all: Vec<(&String, Kind)> = own.chain(new).collect();
        let writer = guarded(|| {
            let columns = all.iter().map(|&(name, kind)| values::column(name, kind));
            let schema = values::group("schema", columns.collect::<Result<_, _>>()?)?;
            let properties = WriterProperties::builder().set_compression(zstd()?).build();
            SerializedFileWriter::new(Watched::new(out), schema, Arc::new(properties))
        });
        Ok(ParquetOut {
            writer: Some(writer.map_err(failure)?),
            columns: all.iter().map(|&(_, kind)| Values::new(kind)).collect(),
            own: columns.names.len(),
            rows: 0,
            len: 0,
        })
    }

    /// Adds a row. Cells at the end of its own may be missing.
    pub(crate) fn row(&mut self, row: &[Cell], new: &[Cell]) -> Result<()> {
        let cells = row.iter().chain(std::iter::repeat(&Cell::Missing));
        let cells = cells.take(self.own).chain(new);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.len += cell.text().map_or(0, str::len);
            column.push(cell);
        }
        self.rows += 1;
        match self.rows >= GROUP_ROWS || self.len >= GROUP_LEN {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn write_group(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let columns = &self.columns;
        let written = guarded(|| {
            let mut group = writer.next_row_group()?;
            columns
                .iter()
                .try_for_each(|column| column.write(&mut group))?;
            group.close().map(drop)
        });
        let cause = writer.inner_mut().take_failure();
        written.map_err(|message| cause.map_or_else(|| failure(message), Error::from))?;
        self.columns.iter_mut().for_each(Values::clear);
        (self.rows, self.len) = (0, 0);
        Ok(())
    }

    /// Writes what is left, and the end of the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let finished = guarded(|| writer.finish().map(drop));
        let cause = writer.inner_mut().take_failure();
        finished.map_err(|message| cause.map_or_else(|| failure(message), Error::from))
    }
}

/// The error of rows that Parquet cannot hold.
fn failure(message: String) -> Error {
    let message = message.replace("cannot be read as Parquet", "cannot be written as Parquet");
    input_error("the output", Place::File, message)
}
