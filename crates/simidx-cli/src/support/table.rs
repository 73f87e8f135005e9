//! Tables for analysis: the lines of a command as a file with named, typed columns, of TSV, CSV, JSON Lines or Parquet.

#[cfg(feature = "parquet")]
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use simidx::IdKind;
use simidx_input::{FieldKind, NewField, unescape, write_csv_row};
#[cfg(feature = "parquet")]
use simidx_input::{FieldValue, ParquetOut};

use crate::support::failure::Failure;
use crate::support::inputs::InputFiles;
use crate::support::output::{
    Output, compressed, ending, is_compressed, json_style, stdout, write_object,
};

/// Where rows go, if not to standard output; shared by the commands that print rows.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TableArgs {
    /// File to write a table with named columns to, in place of lines on standard output. It ends in .tsv, .csv or .jsonl, each
    /// also with .gz or .zst, or in .parquet
    #[arg(short, long, value_name = "OUT", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Replace an existing output
    #[arg(long, requires = "output")]
    force: bool,
}

impl TableArgs {
    /// The file of the table; standard output takes lines.
    pub(crate) fn path(&self) -> Option<&Path> {
        let path = self.output.as_deref();
        path.filter(|&path| path != Path::new("-"))
    }

    /// Calls `run` with the file of the table, which appears when it is complete; with none if there is to be no table.
    ///
    /// # Errors
    /// A file that may not be written, one of these inputs among them, and what `inputs` and `run` return.
    pub(crate) fn write<T>(
        &self,
        inputs: impl FnOnce() -> Result<InputFiles, Failure>,
        run: impl FnOnce(Option<Sheet<'_>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(path) = self.path() else {
            return run(None);
        };
        let format = TableFormat::named(path)?;
        let output = Output::outside(path, self.force, &inputs()?)?;
        let run = |out: &mut (dyn Write + Send)| run(Some(Sheet(out, format, true)));
        output.write(|out| compressed(path, out, run))
    }
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Tsv,
    Csv,
    Jsonl,
    Parquet,
}

impl TableFormat {
    /// The format that the name of a file says.
    ///
    /// # Errors
    /// It says none that the program can write there.
    pub(crate) fn named(path: &Path) -> Result<Self, Failure> {
        Self::of(path).ok_or_else(|| {
            let message = format!("a table ends in {TABLE_ENDINGS}");
            Failure::new(message).about(path.display())
        })
    }

    /// The format that the name of a file says, if the program can write it there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Some(match &*ending(path) {
            "tsv" => TableFormat::Tsv,
            "csv" => TableFormat::Csv,
            "jsonl" | "ndjson" => TableFormat::Jsonl,
            "parquet" | "pq" if cfg!(feature = "parquet") && !is_compressed(path) => {
                TableFormat::Parquet
            }
            _ => return None,
        })
    }
}

/// Names of files that a build can write, for messages.
pub(crate) const TABLE_ENDINGS: &str = match cfg!(feature = "parquet") {
    true => ".tsv, .csv, .jsonl, each also with .gz or .zst, or .parquet",
    false => ".tsv, .csv or .jsonl, each also with .gz or .zst",
};

/// The output of a table, its format, and whether TSV has a header.
pub(crate) struct Sheet<'a>(
    pub(crate) &'a mut (dyn Write + Send),
    pub(crate) TableFormat,
    pub(crate) bool,
);

/// The name of a column, and the kind of its values.
pub(crate) type Column = (&'static str, FieldKind);

/// The kind of a column of ids. With `--json-strings` ids are strings.
pub(crate) fn id_kind(kind: IdKind) -> FieldKind {
    match kind {
        IdKind::Number if !json_style().strings => FieldKind::Number,
        _ => FieldKind::Text,
    }
}

/// Takes lines with cells between tabs, of which the ids and names are escaped: standard output, or a table of which each
/// line is a row. An empty cell has no value.
pub(crate) enum Lines<'a> {
    Plain(Box<dyn Write + 'a>),
    Rows(Rows<'a>),
}

/// A table that is made of lines.
pub(crate) struct Rows<'a> {
    columns: Vec<NewField>,
    writer: Writer<'a>,
    /// The line that has not ended yet.
    line: Vec<u8>,
}

enum Writer<'a> {
    Csv(&'a mut (dyn Write + Send)),
    Jsonl(&'a mut (dyn Write + Send)),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetOut<'a>>),
}

impl<'a> Lines<'a> {
    /// Creates lines of these columns, which go into a table if one is given.
    ///
    /// # Errors
    /// Any error of the output.
    pub(crate) fn new<'s: 'a>(
        sheet: Option<Sheet<'s>>,
        columns: &[Column],
    ) -> Result<Self, Failure> {
        let Some(Sheet(out, format, has_header)) = sheet else {
            return Ok(Lines::Plain(Box::new(stdout())));
        };
        let names: Vec<&str> = columns.iter().map(|&(name, _)| name).collect();
        let columns = columns
            .iter()
            .map(|&(name, kind)| NewField::new(name, kind));
        let columns: Vec<NewField> = columns.collect();
        let writer = match format {
            TableFormat::Tsv => {
                if has_header {
                    writeln!(out, "{}", names.join("\t"))?;
                }
                return Ok(Lines::Plain(Box::new(out)));
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Writer::Parquet(Box::new(ParquetOut::of_fields(out, &columns)?))
            }
            TableFormat::Csv => {
                write_csv_row(out, names.into_iter())?;
                Writer::Csv(out)
            }
            _ => Writer::Jsonl(out),
        };
        Ok(Lines::Rows(Rows {
            columns,
            writer,
            line: Vec::new(),
        }))
    }

    /// Writes the buffered rows.
    ///
    /// # Errors
    /// Any error of the output.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        match self {
            #[cfg(feature = "parquet")]
            Lines::Rows(Rows {
                writer: Writer::Parquet(out),
                ..
            }) => Ok(out.finish()?),
            _ => Ok(()),
        }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rows = match self {
            Lines::Plain(out) => return out.write(bytes),
            Lines::Rows(rows) => rows,
        };
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            rows.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                rows.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Lines::Plain(out) => out.flush(),
            Lines::Rows(_) => Ok(()),
        }
    }
}

impl Rows<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let cell = |text| unescape(text).ok().filter(|text| !text.is_empty());
        let mut cells: Vec<_> = line.trim_end_matches('\n').split('\t').map(cell).collect();
        // The last ones may be missing.
        cells.resize(self.columns.len(), None);
        match &mut self.writer {
            Writer::Csv(out) => write_csv_row(
                *out,
                cells.iter().map(|cell| cell.as_deref().unwrap_or_default()),
            ),
            Writer::Jsonl(out) => {
                let mut object = Map::new();
                for (column, cell) in self.columns.iter().zip(cells) {
                    let value = match (cell, column.kind) {
                        (None, _) => Value::Null,
                        (Some(text), FieldKind::Text) => text.into(),
                        (Some(number), _) => serde_json::from_str(&number)?,
                    };
                    object.insert(column.name.clone(), value);
                }
                write_object(*out, &object.into())
            }
            #[cfg(feature = "parquet")]
            Writer::Parquet(out) => {
                // Numbers are read by the kinds of their columns.
                let text =
                    |cell: Option<Cow<'_, str>>| cell.map(|text| FieldValue::Text(text.into()));
                let row: Vec<_> = cells.into_iter().map(text).collect();
                out.write(&row).map_err(|error| match error {
                    simidx_input::Error::Io(error) => error,
                    other => io::Error::other(other.to_string()),
                })
            }
        }
    }
}
