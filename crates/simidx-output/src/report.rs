//! The figures of an index: what `build` and `info` print.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use simidx::format::{FORMAT_VERSION, Metadata, SketchParameters};
use simidx::summary::{Summary, TableSummary};

use simidx::Set;
use simidx::set::Segment;

use crate::one_line;

/// Fingerprints that would fit fewer blocks than these say nothing about compression.
const TINY_BLOCKS: u64 = 8;

/// Parameters and compression of an index.
#[derive(Debug, Serialize)]
pub struct Report {
    format_version: u16,
    width: u32,
    max_distance: u32,
    record_count: u64,
    fingerprint_count: u64,
    table_count: usize,
    block_size: u32,
    codec: &'static str,
    id_kind: &'static str,
    id_bytes: u64,
    id_lookup: bool,
    content_id: String,
    file_bytes: u64,
    raw_bytes: u64,
    bits_per_fingerprint: f64,
    bits_per_fingerprint_per_table: f64,
    bound_bits_per_fingerprint: f64,
    ratio_to_raw: f64,
    table_ratio_to_raw: f64,
    pipeline: Option<String>,
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sketches: Option<SketchReport>,
    tables: Vec<TableReport>,
}

/// What the sketches are, and what they take.
#[derive(Debug, Serialize)]
struct SketchReport {
    bits: u32,
    features: String,
    bytes: u64,
    bytes_per_record: f64,
}

/// Figures of one table.
#[derive(Debug, Serialize)]
struct TableReport {
    prefix_mask: String,
    prefix_bits: u32,
    flips: u32,
    codec: &'static str,
    block_count: u64,
    bytes: u64,
    bits_per_fingerprint: f64,
    code_lengths: Vec<u8>,
}

/// The figures of one of several files.
#[derive(Debug, Serialize)]
pub struct SegmentReport {
    /// The file.
    pub path: String,
    #[serde(flatten)]
    /// Its figures.
    pub report: Report,
}

/// The figures of several files that are read as one: what adds up, and what holds for all of them.
#[derive(Debug, Serialize)]
pub struct TotalReport {
    format_version: u16,
    width: u32,
    /// The smallest of all: the default distance of a query.
    max_distance: u32,
    record_count: u64,
    /// A fingerprint in several files counts in each.
    fingerprint_count: u64,
    id_kind: &'static str,
    file_bytes: u64,
    raw_bytes: u64,
    bits_per_fingerprint: f64,
    ratio_to_raw: f64,
    pipeline: Option<String>,
    segments: Vec<SegmentReport>,
}

impl Report {
    /// The figures of an index and the pipeline that it records.
    pub fn new(summary: &Summary, pipeline: Option<&str>, metadata: &Metadata) -> Self {
        let raw = summary.raw_len();
        let mut codecs: Vec<&str> = summary.tables.iter().map(|t| t.codec.name()).collect();
        codecs.dedup();
        Report {
            format_version: FORMAT_VERSION,
            width: summary.width.bits(),
            max_distance: summary.max_distance,
            record_count: summary.record_count,
            fingerprint_count: summary.fingerprint_count,
            table_count: summary.tables.len(),
            block_size: summary.block_size,
            codec: if codecs.len() == 1 {
                codecs[0]
            } else {
                "mixed"
            },
            id_kind: summary.id_kind.name(),
            id_bytes: summary.ids_len,
            id_lookup: summary.has_id_lookup,
            content_id: summary.content_id.to_string(),
            file_bytes: summary.file_len,
            raw_bytes: raw,
            bits_per_fingerprint: summary.bits_per_fingerprint(),
            bits_per_fingerprint_per_table: summary.bits_per_fingerprint_per_table(),
            bound_bits_per_fingerprint: summary.bound_bits_per_fingerprint(),
            ratio_to_raw: ratio(summary.file_len, raw),
            table_ratio_to_raw: summary.bits_per_fingerprint_per_table()
                / f64::from(summary.width.bits()),
            pipeline: pipeline.map(str::to_owned),
            metadata: metadata
                .iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            sketches: None,
            tables: summary
                .tables
                .iter()
                .map(|t| TableReport::new(t, summary))
                .collect(),
        }
    }

    /// The same with what the sketches of the file are, if it has some.
    pub fn with_sketches(mut self, summary: &Summary, sketches: Option<&SketchParameters>) -> Self {
        self.sketches = sketches.map(|sketches| SketchReport {
            bits: sketches.bits(),
            features: sketches.features().to_owned(),
            bytes: summary.sketches_len,
            bytes_per_record: ratio(summary.sketches_len, summary.record_count),
        });
        self
    }

    /// Prints the figures for a person.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut row = |name: &str, value: String| writeln!(out, "{name:<24}{value}");
        row("width", format!("{} bits", self.width))?;
        row("max distance", self.max_distance.to_string())?;
        row("records", self.record_count.to_string())?;
        row("distinct fingerprints", self.fingerprint_count.to_string())?;
        row("ids", self.ids())?;
        if let Some(sketches) = &self.sketches {
            let (bits, features) = (sketches.bits, one_line(&sketches.features));
            let (bytes, each) = (sketches.bytes, sketches.bytes_per_record);
            let value = format!("{bits} bits of {features}: {bytes} bytes, {each:.2} each");
            row("sketches", value)?;
        }
        row(
            "tables",
            format!(
                "{} of codec {} in blocks of {} bytes",
                self.table_count, self.codec, self.block_size
            ),
        )?;
        row("file", format!("{} bytes", self.file_bytes))?;
        row("raw fingerprints", self.raw())?;
        row("bits per fingerprint", self.bits())
    }

    /// The size of the bare fingerprints, and of the file against it.
    fn raw(&self) -> String {
        let raw = self.raw_bytes;
        if self.is_tiny() {
            return format!("{raw} bytes; too few for ratios");
        }
        let with_ids = match (self.id_bytes > 0, self.sketches.is_some()) {
            (false, false) => "",
            (true, false) => " with ids",
            (false, true) => " with sketches",
            (true, true) => " with ids and sketches",
        };
        format!(
            "{raw} bytes; the file{with_ids} is {:.2} times that, a table {:.2} times",
            self.ratio_to_raw, self.table_ratio_to_raw
        )
    }

    /// What a fingerprint takes.
    fn bits(&self) -> String {
        if self.is_tiny() {
            let block = self.block_size;
            return format!("few fingerprints; each table takes a block of {block} bytes at least");
        }
        format!(
            "{:.2}, of them {:.2} a table; bound of uniform ones {:.2} a table",
            self.bits_per_fingerprint,
            self.bits_per_fingerprint_per_table,
            self.bound_bits_per_fingerprint
        )
    }

    /// Whether the size of the file has to do with the parts that every file has, not with the fingerprints.
    fn is_tiny(&self) -> bool {
        self.raw_bytes < u64::from(self.block_size) * TINY_BLOCKS
    }

    /// The kind of ids and what they take.
    fn ids(&self) -> String {
        if self.id_bytes == 0 || self.record_count == 0 {
            return self.id_kind.to_owned();
        }
        let lookup = if self.id_lookup { ", with look-up" } else { "" };
        let each = self.id_bytes as f64 / self.record_count as f64;
        format!(
            "{}{lookup}: {} bytes, {each:.2} each",
            self.id_kind, self.id_bytes
        )
    }

    /// Prints what identifies the contents, metadata, the pipeline, and a line for each table.
    pub fn print_details(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{:<24}{}", "content id", self.content_id)?;
        for (key, value) in &self.metadata {
            let (key, value) = (one_line(key), one_line(value));
            writeln!(out, "{:<24}{key}={value}", "metadata")?;
        }
        if let Some(pipeline) = &self.pipeline {
            writeln!(out, "{:<24}{}", "pipeline", one_line(pipeline))?;
        }
        writeln!(out)?;
        writeln!(
            out,
            "table  prefix  flips  codec      blocks   bits/fp  prefix mask"
        )?;
        for (number, table) in self.tables.iter().enumerate() {
            writeln!(
                out,
                "{number:>5}  {:>6}  {:>5}  {:>5}  {:>10}  {:>8.2}  {}",
                table.prefix_bits,
                table.flips,
                table.codec,
                table.block_count,
                table.bits_per_fingerprint,
                table.prefix_mask
            )?;
        }
        Ok(())
    }
}

impl TotalReport {
    /// The figures of at least one file, the files alike.
    pub fn of(segments: Vec<SegmentReport>) -> Self {
        let reports = || segments.iter().map(|segment| &segment.report);
        let sum = |figure: fn(&Report) -> u64| -> u64 { reports().map(figure).sum() };
        let (file_bytes, raw_bytes) = (sum(|r| r.file_bytes), sum(|r| r.raw_bytes));
        let fingerprint_count = sum(|r| r.fingerprint_count);
        // Files without records need not be alike in the rest.
        let typical = reports().find(|r| r.fingerprint_count > 0);
        let typical = typical.unwrap_or(&segments[0].report);
        TotalReport {
            format_version: typical.format_version,
            width: typical.width,
            max_distance: reports().map(|r| r.max_distance).min().unwrap_or_default(),
            record_count: sum(|r| r.record_count),
            fingerprint_count,
            id_kind: typical.id_kind,
            file_bytes,
            raw_bytes,
            bits_per_fingerprint: ratio(file_bytes * 8, fingerprint_count),
            ratio_to_raw: ratio(file_bytes, raw_bytes),
            pipeline: typical.pipeline.clone(),
            segments,
        }
    }

    /// Prints the totals for a person, then the figures of each file.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut row = |name: &str, value: String| writeln!(out, "{name:<24}{value}");
        row("files", self.segments.len().to_string())?;
        row("width", format!("{} bits", self.width))?;
        row("max distance", self.max_distance.to_string())?;
        row("records", self.record_count.to_string())?;
        row(
            "fingerprints",
            format!(
                "{}, those in several files counted in each",
                self.fingerprint_count
            ),
        )?;
        row("ids", self.id_kind.to_owned())?;
        row("bytes of all files", self.file_bytes.to_string())?;
        let raw = self.raw_bytes;
        if self.segments.iter().all(|segment| segment.report.is_tiny()) {
            row(
                "raw fingerprints",
                format!("{raw} bytes; too few for ratios"),
            )?;
        } else {
            row(
                "raw fingerprints",
                format!(
                    "{raw} bytes; the files are {:.2} times that",
                    self.ratio_to_raw
                ),
            )?;
            row(
                "bits per fingerprint",
                format!("{:.2}", self.bits_per_fingerprint),
            )?;
        }
        for segment in &self.segments {
            writeln!(out, "\n{}:", one_line(&segment.path))?;
            segment.report.print(out)?;
            segment.report.print_details(out)?;
        }
        Ok(())
    }
}

/// A quotient; 0 for an empty index.
fn ratio(dividend: u64, divisor: u64) -> f64 {
    match divisor {
        0 => 0.0,
        divisor => dividend as f64 / divisor as f64,
    }
}

impl TableReport {
    fn new(table: &TableSummary, summary: &Summary) -> Self {
        TableReport {
            prefix_mask: summary.width.to_hex(table.prefix_mask),
            prefix_bits: table.prefix_bits(),
            flips: table.flips,
            codec: table.codec.name(),
            block_count: table.block_count,
            bytes: table.byte_len,
            bits_per_fingerprint: summary.per_fingerprint(table.byte_len),
            code_lengths: table.code_lengths.clone(),
        }
    }
}

/// The figures of each of several files.
///
/// # Errors
/// Damage in the sketches of a file.
pub fn reports(set: &Set) -> simidx::Result<Vec<SegmentReport>> {
    let report = |segment: Segment<'_>| {
        let sketches = segment.sketches()?;
        let summary = segment.summary();
        let report = Report::new(&summary, segment.pipeline(), segment.metadata());
        Ok(SegmentReport {
            path: segment.name().to_owned(),
            report: report.with_sketches(&summary, sketches.map(|s| s.parameters())),
        })
    };
    set.segments().map(report).collect()
}

/// The figures of a set as JSON: those of its file, or those of several together.
///
/// # Errors
/// Damage in the sketches of a file.
pub fn to_json(set: &Set) -> simidx::Result<Value> {
    let mut reports = reports(set)?;
    let value = match reports.len() {
        1 => serde_json::to_value(reports.remove(0).report),
        _ => serde_json::to_value(TotalReport::of(reports)),
    };
    Ok(value.map_err(io::Error::from)?)
}
