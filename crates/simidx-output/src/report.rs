//! The figures of an index, as `build` and `info` print them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use simidx::Set;
use simidx::format::{FORMAT_VERSION, Metadata, SketchParameters};
use simidx::set::Segment;
use simidx::summary::{Summary, TableSummary};

use crate::page::{decimal, grouped};
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

    /// The name of the codec that all tables have, or a word for several codecs.
    fn codec(&self) -> &'static str {
        let mut codecs: Vec<_> = self.summary.tables.iter().map(|t| t.codec.name()).collect();
        codecs.dedup();
        match codecs[..] {
            [only] => only,
            _ => "mixed",
        }
    }
}

/// Returns the figures of a set as JSON. For several files, totals and common values come first, then each file.
///
/// # Errors
/// Damaged sketches in a file.
pub fn figures(set: &Set) -> simidx::Result<Value> {
    let report = |file: Segment<'_>| {
        let report = FileReport {
            summary: file.summary(),
            pipeline: file.pipeline(),
            metadata: file.metadata(),
            sketches: file.sketches()?.map(|sketches| sketches.parameters()),
        };
        Ok(report.to_json())
    };
    let files = set.segments().map(report);
    let mut files = files.collect::<simidx::Result<Vec<Value>>>()?;
    if files.len() == 1 {
        return Ok(files.remove(0));
    }
    for (file, name) in files.iter_mut().zip(set.names()) {
        file["path"] = name.as_str().into();
    }
    let sum = |key: &str| -> u64 { files.iter().filter_map(|file| file[key].as_u64()).sum() };
    let (file_bytes, raw_bytes) = (sum("file_bytes"), sum("raw_bytes"));
    let fingerprint_count = sum("fingerprint_count");
    Ok(json!({
        "format_version": FORMAT_VERSION,
        "width": set.width().bits(),
        // The default distance of a query.
        "max_distance": set.max_distance(),
        "record_count": sum("record_count"),
        // A fingerprint in several files counts once for each.
        "fingerprint_count": fingerprint_count,
        "id_kind": set.id_kind().name(),
        "file_bytes": file_bytes,
        "raw_bytes": raw_bytes,
        "bits_per_fingerprint": ratio(file_bytes * 8, fingerprint_count),
        "ratio_to_raw": ratio(file_bytes, raw_bytes),
        "pipeline": set.pipeline(),
        "segments": files,
    }))
}

/// The unit of the sizes of tables.
const BITS: &str = " bits per fingerprint";

/// The figures for people: key, name and unit of each.
const NAMES: [(&str, &str, &str); 20] = [
    ("width", "width", " bits"),
    ("max_distance", "max distance", ""),
    ("record_count", "records", ""),
    ("recent_count", "not sealed yet", ""),
    ("deleted_count", "deleted, in segments", ""),
    ("segment_count", "segments", ""),
    ("fingerprint_count", "distinct fingerprints", ""),
    ("id_kind", "ids", ""),
    ("id_bytes", "bytes of the ids", ""),
    ("table_count", "tables", ""),
    ("codec", "codec", ""),
    ("block_size", "bytes of a block", ""),
    ("file_bytes", "bytes of the files", ""),
    ("raw_bytes", "bytes of fingerprints", ""),
    ("ratio_to_raw", "files to fingerprints", " times"),
    ("table_ratio_to_raw", "table to fingerprints", " times"),
    ("bits_per_fingerprint", "whole file", BITS),
    ("bits_per_fingerprint_per_table", "each table", BITS),
    ("bound_bits_per_fingerprint", "bound of one table", BITS),
    ("content_id", "content id", ""),
];

/// Returns the names and values of the figures of an index for people, as far as they are present.
pub fn rows(figures: &Value) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let files = figures["segments"].as_array();
    if let Some(files) = files {
        rows.push(("index files", grouped(files.len() as u64)));
    }
    let is_tiny = is_tiny(figures);
    let is_empty = figures["fingerprint_count"] == 0;
    for (key, name, unit) in NAMES {
        let value = match &figures[key] {
            Value::String(text) => text.clone(),
            number => match (number.as_u64(), number.as_f64()) {
                (Some(0), _) if key == "id_bytes" => continue,
                // Tables in lines have no blocks.
                (Some(_), _) if key == "block_size" && figures["codec"] == "lines" => continue,
                (Some(count), _) => grouped(count),
                // An empty index has no meaningful ratio, and one of few fingerprints has none that says anything.
                (None, Some(share)) if share > 0.0 && !is_tiny => decimal(share, 2),
                _ => continue,
            },
        };
        rows.push(match (key, files) {
            ("fingerprint_count", Some(_)) => {
                let value = value + ", those in several files counted in each";
                ("fingerprints", value)
            }
            ("bits_per_fingerprint", Some(_)) => ("all files", value + unit),
            _ => (name, value + unit),
        });
    }
    if is_tiny && !is_empty {
        rows.push(("compression", "too few fingerprints to say".to_owned()));
    }
    if figures["id_lookup"] == true {
        rows.push(("look-up of ids", "yes".to_owned()));
    }
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default());
    if let sketches @ Value::Object(_) = &figures["sketches"] {
        let (bits, features) = (&sketches["bits"], text(&sketches["features"]));
        let (bytes, each) = (&sketches["bytes"], sketches["bytes_per_record"].as_f64());
        let bytes = grouped(bytes.as_u64().unwrap_or_default());
        let each = each.unwrap_or_default();
        let value = format!("{bits} bits of {features}: {bytes} bytes, {each:.2} each");
        rows.push(("sketches", value));
    }
    for (key, value) in figures["metadata"].as_object().into_iter().flatten() {
        rows.push(("metadata", format!("{}={}", one_line(key), text(value))));
    }
    if figures["pipeline"].is_string() {
        rows.push(("pipeline", text(&figures["pipeline"])));
    }
    rows
}

/// Whether the fixed parts of the files dominate their sizes.
fn is_tiny(figures: &Value) -> bool {
    if let Some(files) = figures["segments"].as_array() {
        return files.iter().all(is_tiny);
    }
    let figure = |key: &str| figures[key].as_u64().unwrap_or_default();
    figure("raw_bytes") < figure("block_size") * TINY_BLOCKS
}

/// Prints the figures of an index for people: the rows, a line for each table, and then each of several files.
///
/// # Errors
/// Any error of `out`.
pub fn print(figures: &Value, out: &mut dyn Write) -> io::Result<()> {
    for (name, value) in rows(figures) {
        row(out, name, value)?;
    }
    if let Some(tables) = figures["tables"].as_array() {
        writeln!(
            out,
            "\ntable  prefix  flips  codec      blocks   bits/fp  prefix mask"
        )?;
        for (number, table) in tables.iter().enumerate() {
            let number_of = |key: &str| table[key].as_u64().unwrap_or_default();
            let text = |key: &str| table[key].as_str().unwrap_or_default();
            writeln!(
                out,
                "{number:>5}  {:>6}  {:>5}  {:>5}  {:>10}  {:>8.2}  {}",
                number_of("prefix_bits"),
                number_of("flips"),
                text("codec"),
                number_of("block_count"),
                table["bits_per_fingerprint"].as_f64().unwrap_or_default(),
                text("prefix_mask")
            )?;
        }
    }
    for file in figures["segments"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        writeln!(out, "\n{}:", one_line(path))?;
        print(file, out)?;
    }
    Ok(())
}

/// Divides; returns 0 for an empty index.
fn ratio(dividend: u64, divisor: u64) -> f64 {
    match divisor {
        0 => 0.0,
        divisor => dividend as f64 / divisor as f64,
    }
}
