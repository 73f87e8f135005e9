//! The outcome for each document: `--report`, a row for each dropped one, and the fields of `--annotate`.

use std::io::Write;
use std::path::Path;

use simidx::{Error, IdBuf, IdKind, Set};
use simidx_input::{Escaped, FieldKind, FieldValue, NewField};

use super::Job;
use super::judged::{Dropped, Judged};
use crate::support::failure::Failure;
use crate::support::originals::{OTHER_COMPRESSION, said};
use crate::support::output::ending;
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
            let message = format!("a report ends in .html, {TABLE_ENDINGS}");
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
        let kept = dropped.kept.as_ref().map(|&(_, of)| labels.place(of));
        let own = Some(value(judged.label(document)?));
        let values = std::iter::once(own).chain(values(dropped)).take(count);
        let cells: Vec<String> = values.map(|value| cell(value, is_tsv)).collect();
        write!(lines, "{}", cells.join("\t"))?;
        if !is_tsv {
            let kept = kept.unwrap_or_else(|| "\t".to_owned());
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

/// The properties of a dropped document, in the order of the columns after its own id.
fn values(dropped: Dropped) -> [Option<FieldValue>; 9] {
    let place = if dropped.kept.is_some() {
        "input"
    } else {
        "index"
    };
    let estimate = dropped.member.as_ref().and_then(|member| member.estimate);
    let (fingerprint, id) = match dropped.member {
        Some(member) => (Some(FieldValue::Text(member.fingerprint)), member.id),
        None => (None, None),
    };
    [
        dropped.kept.map(|(kept, _)| value(kept)),
        dropped.distance.map(|bits| FieldValue::Number(bits.into())),
        Some(FieldValue::Text(place.to_owned())),
        dropped.cluster.map(FieldValue::Number),
        dropped.similarity.map(FieldValue::Real),
        fingerprint,
        id.map(value),
        estimate.map(|estimate| FieldValue::Real(estimate.similarity)),
        estimate.map(|estimate| FieldValue::Real(estimate.standard_error)),
    ]
}

/// The cell of a value in a line.
fn cell(value: Option<FieldValue>, is_short: bool) -> String {
    match value {
        Some(FieldValue::Text(text)) => Escaped(&text).to_string(),
        Some(FieldValue::Number(number)) => number.to_string(),
        Some(FieldValue::Real(number)) if is_short => format!("{number:.4}"),
        Some(FieldValue::Real(number)) => format!("{number:?}"),
        _ => String::new(),
    }
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
        let cluster = judged.decisions.cluster_of(document);
        let cluster = cluster.map(FieldValue::Number);
        let dropped = judged.dropped(document)?.map(values).unwrap_or_default();
        let [
            kept,
            distance,
            place,
            _,
            similarity,
            fingerprint,
            id,
            estimate,
            _,
        ] = dropped;
        let of = kept.or(id).or(fingerprint);
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
