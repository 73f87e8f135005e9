//! The outcome for each document: `--report`, a row for each dropped one, and the fields of `--annotate`.

use std::io::Write;
use std::path::Path;

use simidx::{Error, IdBuf, IdKind, Set};
use simidx_input::{FieldKind, FieldValue, NewField};

use super::Job;
use super::judged::{Dropped, Judged};
use crate::support::failure::Failure;
use crate::support::originals::{OTHER_COMPRESSION, said};
use crate::support::output::{Column, ending};
use crate::support::table::{self, Lines, Sheet, TABLE_ENDINGS, TableFormat, id_kind};

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

/// Writes a row for each document that is dropped, in order. All rows have the same columns.
///
/// # Errors
/// An output that cannot be written, a damaged index, and temporary files that cannot be read.
pub(super) fn write(
    job: &Job<'_>,
    judged: &Judged<'_>,
    format: TableFormat,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    // Scripts read the lines of TSV from the first one on, with four digits after the point, and only the first columns.
    let (sheet, is_tsv) = (Sheet(out, format, false), format == TableFormat::Tsv);
    let mut columns = columns(job, judged);
    let count = columns.len();
    if !is_tsv {
        columns.extend([
            ("dropped_row", FieldKind::Number),
            ("dropped_file", FieldKind::Text),
        ]);
        columns.extend([
            ("kept_row", FieldKind::Number),
            ("kept_file", FieldKind::Text),
        ]);
    }
    let mut lines = Lines::new(Some(sheet), &columns)?;
    let labels = &judged.documents.labels;
    for document in 0..judged.count() {
        let Some(dropped) = judged.dropped(document)? else {
            continue;
        };
        let cells = cells(&judged.label(document)?, &dropped, is_tsv);
        write!(lines, "{}", cells[..count].join("\t"))?;
        if !is_tsv {
            let kept = match dropped.kept {
                Some((_, of)) => labels.place(of),
                None => "\t".to_owned(),
            };
            write!(lines, "\t{}\t{kept}", labels.place(document))?;
        }
        writeln!(lines)?;
    }
    lines.finish()
}

/// The columns: of all that there may be, those up to the last one that can have a value.
fn columns(job: &Job<'_>, judged: &Judged<'_>) -> Vec<table::Column> {
    let own_ids = judged.documents.labels.id_kind();
    let index_ids = id_kind(job.set.map_or(IdKind::None, Set::id_kind));
    let has_distance = job.measure.distance().is_some();
    let count = match (job.set, has_distance) {
        (None, true) => 5,
        (None, false) => 6,
        (Some(_), false) if job.args.texts.is_empty() => 10,
        (Some(_), _) => 8,
    };
    let mut columns = vec![
        ("dropped", own_ids),
        ("kept", own_ids),
        ("distance", FieldKind::Number),
        ("found_in", FieldKind::Text),
        ("cluster", FieldKind::Number),
        ("similarity", FieldKind::Real),
        ("index_fingerprint", FieldKind::Text),
        ("index_id", index_ids),
        ("estimate", FieldKind::Real),
        ("standard_error", FieldKind::Real),
    ];
    columns.truncate(count);
    columns
}

/// A cell for each column that there may be.
fn cells(label: &IdBuf, dropped: &Dropped, is_short: bool) -> [String; 10] {
    let id = |id: &IdBuf| Column::of(id).to_string();
    let text = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let real = |number: Option<f64>| match number {
        None => String::new(),
        Some(number) if is_short => format!("{number:.4}"),
        Some(number) => format!("{number:?}"),
    };
    let kept = dropped.kept.as_ref().map(|(kept, _)| id(kept));
    let place = if kept.is_some() { "input" } else { "index" };
    let member = dropped.member.as_ref();
    let estimate = member.and_then(|member| member.estimate);
    [
        id(label),
        kept.unwrap_or_default(),
        text(dropped.distance.map(u64::from)),
        place.to_owned(),
        text(dropped.cluster),
        real(dropped.similarity),
        member.map_or_else(String::new, |member| member.fingerprint.clone()),
        member
            .and_then(|member| member.id.as_ref())
            .map_or_else(String::new, id),
        real(estimate.map(|estimate| estimate.similarity)),
        real(estimate.map(|estimate| estimate.standard_error)),
    ]
}

/// The new fields, in order.
pub(super) struct Notes {
    pub(super) fields: Vec<NewField>,
    /// Of all that there may be, in order, which there are.
    wanted: [bool; 6],
}

impl Notes {
    /// The fields for these documents; their names begin with the prefix.
    pub(super) fn new(job: &Job<'_>, judged: &Judged<'_>) -> Self {
        let (prefix, has_index) = (&job.args.annotate_prefix, job.set.is_some());
        // Members of an index may have any ids.
        let of = match has_index || judged.documents.labels.has_text_ids {
            true => FieldKind::Text,
            false => FieldKind::Number,
        };
        let has_distance = job.measure.distance().is_some();
        let has_estimate = has_index && !has_distance && job.args.texts.is_empty();
        let fields = [
            (true, "duplicate_of", of),
            (true, "cluster", FieldKind::Number),
            (has_distance, "distance", FieldKind::Number),
            (!has_distance, "similarity", FieldKind::Real),
            (has_estimate, "estimate", FieldKind::Real),
            (has_index, "duplicate_in", FieldKind::Text),
        ];
        let wanted = fields.map(|(is_wanted, ..)| is_wanted);
        let fields = fields.into_iter().filter(|(is_wanted, ..)| *is_wanted);
        let fields = fields.map(|(_, name, kind)| NewField::new(format!("{prefix}{name}"), kind));
        Notes {
            fields: fields.collect(),
            wanted,
        }
    }

    /// The values for a document: but for the cluster, none if it is kept.
    ///
    /// # Errors
    /// A damaged index, and temporary files that cannot be read.
    pub(super) fn of(
        &self,
        document: usize,
        judged: &Judged<'_>,
    ) -> Result<Vec<Option<FieldValue>>, Error> {
        let number = |number: u64| Some(FieldValue::Number(number));
        let cluster = judged.decisions.cluster_of(document).and_then(number);
        let (mut of, mut distance, mut place) = (None, None, None);
        let (mut similarity, mut estimate) = (None, None);
        if let Some(dropped) = judged.dropped(document)? {
            distance = dropped.distance.map(|bits| FieldValue::Number(bits.into()));
            similarity = dropped.similarity.map(FieldValue::Real);
            place = Some(if dropped.kept.is_some() {
                "input"
            } else {
                "index"
            });
            of = dropped.kept.map(|(kept, _)| value(kept));
            if let Some(member) = dropped.member {
                estimate = member
                    .estimate
                    .map(|found| FieldValue::Real(found.similarity));
                let fingerprint = FieldValue::Text(member.fingerprint);
                of = Some(member.id.map_or(fingerprint, value));
            }
        }
        let place = place.map(|place| FieldValue::Text(place.to_owned()));
        let values = [of, cluster, distance, similarity, estimate, place];
        let values = values.into_iter().zip(self.wanted);
        Ok(values
            .filter_map(|(value, is_wanted)| is_wanted.then_some(value))
            .collect())
    }
}

fn value(label: IdBuf) -> FieldValue {
    match label {
        IdBuf::String(id) => FieldValue::Text(id),
        IdBuf::Number(number) => FieldValue::Number(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
