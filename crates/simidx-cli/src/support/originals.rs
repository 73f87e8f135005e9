//! Inputs whose records are copied into outputs by their fates: dropped, copied as they are, or written with new fields.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use simidx_input::{Fate, Format, InputFile, NewField, ReadOptions, rewrite_records};

use crate::support::failure::Failure;
use crate::support::inputs::InputArgs;
use crate::support::output::{Members, compressed, ending, is_compressed, is_gzip};
use crate::support::progress::{ProgressMode, ReadingBar};

/// Endings of compressed files, but for .gz and .zst, which are written.
pub(crate) const OTHER_COMPRESSION: [&str; 8] =
    ["xz", "bz2", "lz4", "br", "lzma", "zip", "7z", "rar"];

/// Endings of files that hold no records, or none that are read.
const OTHER_ENDINGS: [&str; 9] = [
    "avro", "html", "orc", "pdf", "simidx", "svg", "tar", "xlsx", "xml",
];

/// Formats that other programs convert records with named fields to.
const CONVERTED: [&str; 3] = ["csv", "jsonl", "parquet"];

/// Opens inputs. With `way_out`, their records go into one output, and they must go together; it is what helps if they do
/// not.
///
/// # Errors
/// An input that cannot be opened or copied, or that does not go with the first one.
pub(crate) fn open_all(
    (args, paths): (&InputArgs, &[PathBuf]),
    options: &ReadOptions,
    temp_dir: Option<&Path>,
    way_out: Option<&str>,
) -> Result<Vec<InputFile>, Failure> {
    let mut originals: Vec<InputFile> = Vec::new();
    for path in paths {
        let original = InputFile::open_with(path, args.format(), options, temp_dir)?;
        original.check_copyable()?;
        if let (Some(way_out), Some(first)) = (way_out, originals.first())
            && !original.goes_with(first)
        {
            let (format, other) = (original.format().name(), first.format().name());
            let message = match format == other {
                true => "has other columns than the inputs before it".to_owned(),
                false => format!(
                    "is read as {format} and cannot go into one output with inputs read as {other}"
                ),
            };
            let message = format!("{message}; {way_out}");
            return Err(Failure::new(message).about(path.display()));
        }
        originals.push(original);
    }
    Ok(originals)
}

/// The contents that the ending of a name stands for.
pub(crate) fn said(path: &Path) -> Option<&'static str> {
    if let Some(format) = Format::of_name(path) {
        return Some(format.name());
    }
    let ending = match &*ending(path) {
        "htm" => "html".to_owned(),
        "tgz" => "tar".to_owned(),
        other => other.to_owned(),
    };
    OTHER_ENDINGS.into_iter().find(|other| *other == ending)
}

/// The way out from a name that says a compression that is not written.
pub(crate) const OTHER_NAME: &str = "use .gz, .zst or no compression";

/// Refuses a name of an output that says something else than the format of the inputs, in which their records are written.
/// `way_out` ends the message about a compression that is not written.
///
/// # Errors
/// It does; the failure says how to name the output.
pub(crate) fn check_name(path: &Path, inputs: &[InputFile], way_out: &str) -> Result<(), Failure> {
    let refuse = |message: String| Err(Failure::new(message).about(path.display()));
    if path == Path::new("-") {
        return Ok(());
    }
    let Some(first) = inputs.first() else {
        return Ok(());
    };
    let own = ending(path);
    if OTHER_COMPRESSION.contains(&own.as_str()) {
        return refuse(format!(".{own} cannot be written; {way_out}"));
    }
    let written = first.format().name();
    if written == "parquet" && is_compressed(path) {
        return refuse("a Parquet file is compressed inside and not as a whole".into());
    }
    let Some(said) = said(path) else {
        return Ok(());
    };
    let fits = match first.format() {
        Format::Jsonl => ["jsonl", "json"].contains(&said),
        Format::Hex | Format::Tsv if !first.has_fields() => ["hex", "tsv"].contains(&said),
        _ => said == written,
    };
    // The inputs have such a name as well.
    if fits || inputs.iter().all(|input| ending(input.path()) == own) {
        return Ok(());
    }
    let way_out = match first.has_fields() && CONVERTED.contains(&said) {
        true => format!("name it .{written}, and convert it then, for example with DuckDB"),
        false => "give it another extension".to_owned(),
    };
    refuse(format!(
        "its name says {said}, but the records are {written}; {way_out}"
    ))
}

/// Decides the fate of the record at a position among those of all inputs.
pub(crate) type FateAt<'a> = &'a dyn Fn(u64) -> io::Result<Fate>;

/// Copies records, input by input, into one output or several.
pub(crate) struct Copier<'a> {
    fields: &'a [NewField],
    fate: FateAt<'a>,
    bar: ReadingBar,
    /// Records of the inputs that have been copied.
    records: u64,
    bytes: u64,
    /// Records that were to be copied and could not.
    lost: u64,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(
        originals: &[InputFile],
        fields: &'a [NewField],
        fate: FateAt<'a>,
        mode: ProgressMode,
    ) -> Self {
        let total = originals.iter().map(InputFile::byte_count).sum();
        Copier {
            fields,
            fate,
            bar: mode.reading("copying", "documents", total),
            records: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// Copies the next inputs to an output, compressed as its name says.
    ///
    /// # Errors
    /// Any error of the inputs and the output.
    pub(crate) fn copy(
        &mut self,
        originals: &[InputFile],
        path: &Path,
        out: &mut (dyn Write + Send),
    ) -> Result<(), Failure> {
        let is_archive = |original: &InputFile| original.format() == Format::Warc;
        if is_gzip(path) && originals.first().is_some_and(is_archive) {
            let mut members = Members::new(out);
            self.copy_plain(originals, &mut members)?;
            return Ok(members.finish()?);
        }
        compressed(path, out, |out| {
            self.copy_plain(originals, &mut Unflushed(out))
        })
    }

    fn copy_plain(
        &mut self,
        originals: &[InputFile],
        out: &mut (dyn Write + Send),
    ) -> Result<(), Failure> {
        let (mut records, mut bytes) = (0, 0);
        let mut fate = |number: u64, read: u64| {
            records = number + 1;
            bytes = read;
            let position = self.records + number;
            self.bar.show_sometimes(position, self.bytes + read);
            (self.fate)(position)
        };
        self.lost += rewrite_records(originals, out, self.fields, &mut fate)?;
        self.records += records;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the number of records of the inputs that have been copied, and of those that were to be copied and could
    /// not.
    pub(crate) fn finish(self) -> (u64, u64) {
        self.bar.finish();
        (self.records, self.lost)
    }
}

/// An output that is flushed at its end only: archives flush each record.
struct Unflushed<'a>(&'a mut (dyn Write + Send));

impl Write for Unflushed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats_and_compression() {
        let of = |name: &str| (said(Path::new(name)), is_compressed(Path::new(name)));
        assert_eq!(of("a/B.JSONL.GZ"), (Some("jsonl"), true));
        assert_eq!(of("x.pq"), (Some("parquet"), false));
        assert_eq!(of("x.htm"), (Some("html"), false));
        assert_eq!(of("kept.lst"), (None, false));
        assert_eq!(of("kept.zst"), (None, true));
        assert_eq!(of("csv"), (None, false));
        assert_eq!(ending(Path::new("a.tsv.zst")), "tsv");
    }
}
