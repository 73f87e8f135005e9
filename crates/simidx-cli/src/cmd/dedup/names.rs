//! What the name of an output says: its format, and how it is compressed.

use std::path::Path;

use simidx_input::{Format, InputFile, OutputFormat};

use crate::support::failure::Failure;
use crate::support::output::{ending, is_compressed};
use crate::support::table::{TABLE_ENDINGS, TableFormat};

/// Endings of compressed files, but for .gz and .zst, which are written.
const OTHER_COMPRESSION: [&str; 8] = ["xz", "bz2", "lz4", "br", "lzma", "zip", "7z", "rar"];

/// Endings that say what a file holds, and are its name. But for those below, any other says nothing.
const ENDINGS: [&str; 20] = [
    "arrow", "avro", "csv", "dec", "hex", "html", "json", "jsonl", "le", "npy", "orc", "parquet",
    "pdf", "simidx", "svg", "tar", "tsv", "warc", "xlsx", "xml",
];

/// Further endings, each for one of them.
const FURTHER_ENDINGS: [(&str, &str); 11] = [
    ("arrows", "arrow"),
    ("bin", "le"),
    ("feather", "arrow"),
    ("htm", "html"),
    ("ipc", "arrow"),
    ("ndjson", "jsonl"),
    ("pq", "parquet"),
    ("tgz", "tar"),
    ("u128", "le"),
    ("u32", "le"),
    ("u64", "le"),
];

/// The contents that the ending of a name stands for.
fn said(path: &Path) -> Option<&'static str> {
    let ending = ending(path);
    let own = ENDINGS.map(|known| (known, known)).into_iter();
    let mut all = own.chain(FURTHER_ENDINGS);
    all.find(|(known, _)| *known == ending)
        .map(|(_, said)| said)
}

/// Refuses a name that says something else than what will be written.
///
/// # Errors
/// It does; the failure says how to name the output, or how to write what the name says.
pub(super) fn check(
    path: &Path,
    inputs: &[InputFile],
    format: Option<OutputFormat>,
) -> Result<(), Failure> {
    let refuse = |message: String| Err(Failure::new(message).about(path.display()));
    if path == Path::new("-") {
        return Ok(());
    }
    let Some(first) = inputs.first() else {
        return Ok(());
    };
    let own = ending(path);
    if OTHER_COMPRESSION.contains(&own.as_str()) {
        return refuse(format!(
            ".{own} cannot be written; name it .gz, .zst or without compression"
        ));
    }
    let written = format.map_or(first.format().name(), OutputFormat::name);
    if written == "parquet" && is_compressed(path) {
        return refuse("a Parquet file is compressed inside and not as a whole".into());
    }
    let Some(said) = said(path) else {
        return Ok(());
    };
    if let Some(format) = format {
        return match said == format.name() || said == "json" && written == "jsonl" {
            true => Ok(()),
            false => refuse(format!("its name says {said}, but --format says {format}")),
        };
    }
    let fits = match first.format() {
        Format::Jsonl => ["jsonl", "json"].contains(&said),
        Format::Hex | Format::Tsv if !first.has_fields() => ["hex", "tsv"].contains(&said),
        format => said == format.name(),
    };
    // The inputs have such a name as well.
    if fits || inputs.iter().all(|input| ending(input.path()) == own) {
        return Ok(());
    }
    let mut formats = OutputFormat::ALL.into_iter();
    let format = formats.find(|format| first.has_fields() && format.name() == said);
    refuse(match format {
        Some(format) => format!(
            "its name says {said}, but the records are {written}; name it .{written}, or add --format {format}"
        ),
        None => {
            format!("its name says {said}, but the records are {written}; let it end otherwise")
        }
    })
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportFormat {
    /// A row for each document that is dropped.
    Table(TableFormat),
    /// A page to look at.
    Page,
}

impl ReportFormat {
    /// That which a name says; columns if it says nothing.
    ///
    /// # Errors
    /// It says another.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let own = ending(path);
        let format = match said(path) {
            _ if OTHER_COMPRESSION.contains(&own.as_str()) => None,
            None => Some(ReportFormat::Table(TableFormat::Tsv)),
            Some("json") => Some(ReportFormat::Table(TableFormat::Jsonl)),
            Some("html") => Some(ReportFormat::Page),
            Some(_) => TableFormat::of(path).map(ReportFormat::Table),
        };
        format.ok_or_else(|| {
            let message = format!("a report ends in .html, {TABLE_ENDINGS}, not in .{own}");
            Failure::new(message).about(path.display())
        })
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
        assert_eq!(of("kept.lst"), (None, false));
        assert_eq!(of("kept.zst"), (None, true));
        assert_eq!(of("csv"), (None, false));
        assert_eq!(ending(Path::new("a.tsv.zst")), "tsv");
    }

    #[test]
    fn a_report_is_what_its_name_says() {
        let of = |name: &str| ReportFormat::of(Path::new(name)).ok();
        for name in ["r", "r.tsv", "r.txt.gz", "r.lst"] {
            let format = Some(ReportFormat::Table(TableFormat::Tsv));
            assert_eq!(of(name), format, "{name}");
        }
        for name in ["r.jsonl", "r.NDJSON.zst", "r.json"] {
            let format = Some(ReportFormat::Table(TableFormat::Jsonl));
            assert_eq!(of(name), format, "{name}");
        }
        assert_eq!(of("r.HTML.gz"), Some(ReportFormat::Page));
        let csv = Some(ReportFormat::Table(TableFormat::Csv));
        assert_eq!(of("r.csv.zst"), csv);
        let parquet = Some(ReportFormat::Table(TableFormat::Parquet));
        let parquet = parquet.filter(|_| cfg!(feature = "parquet"));
        assert_eq!(of("r.parquet"), parquet);
        for name in ["r.parquet.gz", "r.arrow", "r.tsv.xz"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
