//! The figures of an index, as `build` and `info` print them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use simidx::Set;
use simidx::format::{FORMAT_VERSION, Metadata, SketchParameters};
use simidx::set::Segment;
use simidx::summary::{Summary, TableSummary};

use crate::{one_line, row};

/// Number of blocks below which an index is too small to measure its compression.
const TINY_BLOCKS: u64 = 8;

/// The parameters and the compression of an index file.
#[derive(Debug)]
pub struct FileReport<'a> {
    /// The summary of the file.
    pub summary: Summary,
    /// The pipeline that the file records.
    pub pipeline: Option<&'a str>,
    /// The metadata of the file.
    pub metadata: &'a Metadata,
    /// The parameters of the sketches, if the file has sketches.
    pub sketches: Option<&'a SketchParameters>,
}

/// The figures of all files of a set.
#[derive(Debug)]
pub struct SetReport<'a> {
    /// The reports of the files, with their names.
    files: Vec<(&'a str, FileReport<'a>)>,
}

impl FileReport<'_> {
    /// Returns the figures as JSON.
    pub fn to_json(&self) -> Value {
        let summary = &self.summary;
        let per_table = summary.bits_per_fingerprint_per_table();
        let tables = summary.tables.iter().map(|table| self.table_to_json(table));
        let mut figures = json!({
            "format_version": FORMAT_VERSION,
            "width": summary.width.bits(),
            "max_distance": summary.max_distance,
            "record_count": summary.record_count,
            "fingerprint_count": summary.fingerprint_count,
            "table_count": summary.tables.len(),
            "block_size": summary.block_size,
            "codec": self.codec(),
            "id_kind": summary.id_kind.name(),
            "id_bytes": summary.ids_len,
            "id_lookup": summary.has_id_lookup,
            "content_id": summary.content_id.to_string(),
            "file_bytes": summary.file_len,
            "raw_bytes": summary.raw_len(),
            "bits_per_fingerprint": summary.bits_per_fingerprint(),
            "bits_per_fingerprint_per_table": per_table,
            "bound_bits_per_fingerprint": summary.bound_bits_per_fingerprint(),
            "ratio_to_raw": ratio(summary.file_len, summary.raw_len()),
            "table_ratio_to_raw": per_table / f64::from(summary.width.bits()),
            "pipeline": self.pipeline,
            "metadata": self.metadata.iter().collect::<BTreeMap<_, _>>(),
            "tables": tables.collect::<Vec<_>>(),
        });
        if let Some(sketches) = self.sketches {
            figures["sketches"] = json!({
                "bits": sketches.bits(),
                "features": sketches.features(),
                "bytes": summary.sketches_len,
                "bytes_per_record": ratio(summary.sketches_len, summary.record_count),
            });
        }
        figures
    }

    fn table_to_json(&self, table: &TableSummary) -> Value {
        json!({
            "prefix_mask": self.summary.width.to_hex(table.prefix_mask),
            "prefix_bits": table.prefix_bits(),
            "flips": table.flips,
            "codec": table.codec.name(),
            "block_count": table.block_count,
            "bytes": table.byte_len,
            "bits_per_fingerprint": self.summary.per_fingerprint(table.byte_len),
            "code_lengths": table.code_lengths,
        })
    }

    /// Prints the figures for people.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = &self.summary;
        row(out, "width", format_args!("{} bits", summary.width))?;
        row(out, "max distance", summary.max_distance)?;
        row(out, "records", summary.record_count)?;
        row(out, "distinct fingerprints", summary.fingerprint_count)?;
        row(out, "ids", self.ids())?;
        if let Some(sketches) = self.sketches {
            let (bits, features) = (sketches.bits(), one_line(sketches.features()));
            let bytes = summary.sketches_len;
            let each = ratio(bytes, summary.record_count);
            let value = format!("{bits} bits of {features}: {bytes} bytes, {each:.2} each");
            row(out, "sketches", value)?;
        }
        let (tables, codec) = (summary.tables.len(), self.codec());
        let block = summary.block_size;
        let value = format!("{tables} of codec {codec} in blocks of {block} bytes");
        row(out, "tables", value)?;
        row(out, "file", format_args!("{} bytes", summary.file_len))?;
        row(out, "raw fingerprints", self.raw())?;
        row(out, "bits per fingerprint", self.bits())
    }

    /// The name of the codec that all tables have, or a word for several codecs.
    fn codec(&self) -> &'static str {
        let mut codecs: Vec<_> = self.summary.tables.iter().map(|t| t.codec.name()).collect();
        codecs.dedup();
        match codecs[..] {
            [only] => only,
            _ => "mixed",
        }
    }

    /// Formats the size of the bare fingerprints, and the size of the file relative to it.
    fn raw(&self) -> String {
        let (summary, raw) = (&self.summary, self.summary.raw_len());
        if self.is_tiny() {
            return format!("{raw} bytes; too few for ratios");
        }
        let with_ids = match (summary.ids_len > 0, self.sketches.is_some()) {
            (false, false) => "",
            (true, false) => " with ids",
            (false, true) => " with sketches",
            (true, true) => " with ids and sketches",
        };
        let table = summary.bits_per_fingerprint_per_table() / f64::from(summary.width.bits());
        format!(
            "{raw} bytes; the file{with_ids} is {:.2} times that, a table {table:.2} times",
            ratio(summary.file_len, raw)
        )
    }

    /// Formats the number of bits per fingerprint.
    fn bits(&self) -> String {
        let summary = &self.summary;
        if self.is_tiny() {
            let block = summary.block_size;
            return format!("few fingerprints; each table takes a block of {block} bytes at least");
        }
        format!(
            "{:.2}, of them {:.2} a table; bound of uniform ones {:.2} a table",
            summary.bits_per_fingerprint(),
            summary.bits_per_fingerprint_per_table(),
            summary.bound_bits_per_fingerprint()
        )
    }

    /// Whether the fixed parts of the file dominate its size.
    fn is_tiny(&self) -> bool {
        self.summary.raw_len() < u64::from(self.summary.block_size) * TINY_BLOCKS
    }

    /// Formats the kind and the size of the ids.
    fn ids(&self) -> String {
        let (kind, len) = (self.summary.id_kind.name(), self.summary.ids_len);
        if len == 0 || self.summary.record_count == 0 {
            return kind.to_owned();
        }
        let lookup = match self.summary.has_id_lookup {
            true => ", with look-up",
            false => "",
        };
        let each = ratio(len, self.summary.record_count);
        format!("{kind}{lookup}: {len} bytes, {each:.2} each")
    }

    /// Prints the content id, the metadata, the pipeline, and a line for each table.
    fn print_details(&self, out: &mut dyn Write) -> io::Result<()> {
        row(out, "content id", self.summary.content_id)?;
        for (key, value) in self.metadata.iter() {
            let (key, value) = (one_line(key), one_line(value));
            row(out, "metadata", format_args!("{key}={value}"))?;
        }
        if let Some(pipeline) = self.pipeline {
            row(out, "pipeline", one_line(pipeline))?;
        }
        writeln!(out)?;
        writeln!(
            out,
            "table  prefix  flips  codec      blocks   bits/fp  prefix mask"
        )?;
        for (number, table) in self.summary.tables.iter().enumerate() {
            writeln!(
                out,
                "{number:>5}  {:>6}  {:>5}  {:>5}  {:>10}  {:>8.2}  {}",
                table.prefix_bits(),
                table.flips,
                table.codec.name(),
                table.block_count,
                self.summary.per_fingerprint(table.byte_len),
                self.summary.width.to_hex(table.prefix_mask)
            )?;
        }
        Ok(())
    }
}

impl<'a> SetReport<'a> {
    /// Creates the report of a set.
    ///
    /// # Errors
    /// Damaged sketches in a file.
    pub fn of(set: &'a Set) -> simidx::Result<Self> {
        let report = |file: Segment<'a>| {
            let report = FileReport {
                summary: file.summary(),
                pipeline: file.pipeline(),
                metadata: file.metadata(),
                sketches: file.sketches()?.map(|sketches| sketches.parameters()),
            };
            Ok((file.name(), report))
        };
        let files = set.segments().map(report).collect::<simidx::Result<_>>()?;
        Ok(SetReport { files })
    }

    /// Returns the figures as JSON. For several files, totals and common values come first, then each file.
    pub fn to_json(&self) -> Value {
        if let [(_, only)] = &self.files[..] {
            return only.to_json();
        }
        let summaries = || self.files.iter().map(|(_, file)| &file.summary);
        let sum = |figure: fn(&Summary) -> u64| -> u64 { summaries().map(figure).sum() };
        let (file_bytes, raw_bytes) = (sum(|file| file.file_len), sum(Summary::raw_len));
        let fingerprint_count = sum(|file| file.fingerprint_count);
        let typical = self.typical();
        let files = self.files.iter().map(|(name, file)| {
            let mut figures = file.to_json();
            figures["path"] = (*name).into();
            figures
        });
        json!({
            "format_version": FORMAT_VERSION,
            "width": typical.summary.width.bits(),
            // The default distance of a query.
            "max_distance": summaries().map(|file| file.max_distance).min(),
            "record_count": sum(|file| file.record_count),
            // A fingerprint in several files counts once for each.
            "fingerprint_count": fingerprint_count,
            "id_kind": typical.summary.id_kind.name(),
            "file_bytes": file_bytes,
            "raw_bytes": raw_bytes,
            "bits_per_fingerprint": ratio(file_bytes * 8, fingerprint_count),
            "ratio_to_raw": ratio(file_bytes, raw_bytes),
            "pipeline": typical.pipeline,
            "segments": files.collect::<Vec<_>>(),
        })
    }

    /// Returns a file with the properties that all have in common. Files without records may have others.
    fn typical(&self) -> &FileReport<'a> {
        let files = || self.files.iter().map(|(_, file)| file);
        let filled = files().find(|file| file.summary.fingerprint_count > 0);
        filled.unwrap_or(&self.files[0].1)
    }

    /// Prints the figures for people. For several files, the totals come first, then each file.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if let [(_, only)] = &self.files[..] {
            only.print(out)?;
            return only.print_details(out);
        }
        let figures = self.to_json();
        row(out, "files", self.files.len())?;
        row(out, "width", format_args!("{} bits", figures["width"]))?;
        row(out, "max distance", &figures["max_distance"])?;
        row(out, "records", &figures["record_count"])?;
        let fingerprints = &figures["fingerprint_count"];
        let value = format!("{fingerprints}, those in several files counted in each");
        row(out, "fingerprints", value)?;
        row(out, "ids", self.typical().summary.id_kind.name())?;
        row(out, "bytes of all files", &figures["file_bytes"])?;
        let raw = &figures["raw_bytes"];
        if self.files.iter().all(|(_, file)| file.is_tiny()) {
            let value = format!("{raw} bytes; too few for ratios");
            row(out, "raw fingerprints", value)?;
        } else {
            let share = |key: &str| figures[key].as_f64().unwrap_or_default();
            let times = share("ratio_to_raw");
            let value = format!("{raw} bytes; the files are {times:.2} times that");
            row(out, "raw fingerprints", value)?;
            let bits = share("bits_per_fingerprint");
            row(out, "bits per fingerprint", format_args!("{bits:.2}"))?;
        }
        for (name, file) in &self.files {
            writeln!(out, "\n{}:", one_line(name))?;
            file.print(out)?;
            file.print_details(out)?;
        }
        Ok(())
    }
}

/// Divides; returns 0 for an empty index.
fn ratio(dividend: u64, divisor: u64) -> f64 {
    match divisor {
        0 => 0.0,
        divisor => dividend as f64 / divisor as f64,
    }
}
