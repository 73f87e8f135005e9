//! `simidx lint`: predicts whether searches in a set will be slow or find too much, and why.

use std::io::{self, Write};

use serde_json::{Value, json};
use simidx::Set;
use simidx::batch::{
    BitReport, DocumentLengths, DuplicateGroup, LintOptions, LintReport, LintWarning,
    TableCrowding, lint,
};
use simidx_output::one_line;

use crate::cmd::Answer;
use crate::support::indexes::ExcludeArgs;
use crate::support::inputs::SourceArgs;
use crate::support::options::{
    DEFAULT_DISTANCE, DISTANCES, IdChoice, ResourceArgs, distance_or, distance_within,
};
use crate::support::output::{Report, row, stdout, write_report};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::records::{self, Each, Fingerprinted, Wanted};
use crate::support::transient::TransientBuilder;

/// The head of `simidx lint --help` and of its man page.
pub(crate) const HELP: &str = "\
Report whether a set will search badly, and why: dead or unbalanced bits, crowded prefixes, duplicates, short \
documents.

The exit code is 1 if there are warnings.

Examples:
  simidx lint crawl.simidx
  simidx lint docs.jsonl -k 5
  simidx lint crawl.simidx --groups 20 --json";

/// Arguments of `simidx lint`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Largest distance of future queries [default: the one that the index was built for, the smallest of several; of
    /// records 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// Number of groups of records with equal fingerprints to list, the largest first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(1..=u32::MAX))]
    groups: u32,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    match args.source.open(&ExcludeArgs::default())? {
        Some(set) => of_set(&set, None, args, mode),
        None => of_records(args, mode),
    }
}

/// Reports on records without an index, as on the index that a build would make of them.
fn of_records(args: &Args, mode: ProgressMode) -> Answer {
    let width = args.source.records.width;
    let distance = distance_or(args.max_distance, width, DEFAULT_DISTANCE)?;
    let mut builder = TransientBuilder::new(width, IdChoice::Auto, distance, &args.resources);
    builder.chooses_tables = true;
    let mut documents = DocumentLengths::default();
    let mut each = Each(Wanted::FeatureCount, |record: Fingerprinted| {
        let feature_count = record.feature_count;
        builder.push(record)?;
        if let Some(count) = feature_count {
            documents.add(count);
        }
        Ok(())
    });
    let (input, reading) = (&args.source.records, (mode, "reading", "records"));
    records::read(input, &input.pipeline.pipeline()?, reading, &mut each)?;
    let documents = (documents.document_count > 0).then_some(documents);
    of_set(&builder.finish()?, documents, args, mode)
}

fn of_set(
    set: &Set,
    documents: Option<DocumentLengths>,
    args: &Args,
    mode: ProgressMode,
) -> Answer {
    let spinner = mode.spinner("looking at bits and tables");
    let mut options = LintOptions::default();
    options.distance = distance_within(args.max_distance, set.width())?;
    options.group_count = args.groups as usize;
    let report = lint(set, &options)?;
    spinner.finish_and_clear();
    let mut warnings = report.warnings();
    warnings.extend(documents.iter().flat_map(DocumentLengths::warnings));
    let linted = Linted {
        report,
        documents,
        warnings,
        names: set.names(),
    };
    write_report(stdout(), &linted, args.json)?;
    Ok(linted.warnings.is_empty())
}

/// The results.
struct Linted<'a> {
    report: LintReport,
    documents: Option<DocumentLengths>,
    warnings: Vec<LintWarning>,
    /// The names of the indexes.
    names: &'a [String],
}

impl Report for Linted<'_> {
    fn to_json(&self) -> Value {
        let (report, bits) = (&self.report, &self.report.bits);
        let group = |group: &DuplicateGroup| {
            json!({
                "record_count": group.record_count,
                "fingerprint": report.width.to_hex(group.fingerprint),
                "id": group.id,
            })
        };
        let table = |table: &TableCrowding| {
            json!({
                "index": self.names.get(table.segment).filter(|name| !name.is_empty()),
                "table": table.table,
                "address_bits": table.address_bits,
                "fingerprint_count": table.fingerprint_count,
                "prefix_count": table.prefix_count,
                "largest_prefix": table.largest,
                "largest_prefix_example": table.largest_example.map(|f| report.width.to_hex(f)),
                "sharing": table.sharing,
                "uniform_sharing": table.uniform_sharing,
                "candidates": table.candidates(),
                "uniform_candidates": table.uniform_candidates,
            })
        };
        let documents = self.documents.map(|documents| {
            json!({
                "document_count": documents.document_count,
                "empty_count": documents.empty_count,
                "short_count": documents.short_count,
            })
        });
        let warning = |warning: &LintWarning| {
            json!({
                "kind": warning.kind.to_string(),
                "reason": warning.reason,
                "remedy": warning.remedy,
            })
        };
        json!({
            "sound": self.warnings.is_empty(),
            "width": report.width.bits(),
            "max_distance": report.distance,
            "record_count": report.record_count,
            "fingerprint_count": report.fingerprint_count,
            "duplicate_share": report.duplicate_share(),
            "groups": report.groups.iter().map(group).collect::<Vec<_>>(),
            "bits": {
                "set_counts": bits.set_counts,
                "dead": bits.dead,
                "lopsided": bits.lopsided,
            },
            "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
            "documents": documents,
            "warnings": self.warnings.iter().map(warning).collect::<Vec<_>>(),
        })
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        print_bits(out, &self.report)?;
        for group in &self.report.groups {
            let count = group.record_count;
            let (hex, id) = (
                self.report.width.to_hex(group.fingerprint),
                one_line(&group.id),
            );
            let value = format!("{count} records with {hex}, first {id}");
            row(out, "group", value)?;
        }
        for table in &self.report.tables {
            let label = match self.names {
                [_, _, ..] => format!("table {} of index {}", table.table, table.segment),
                _ => format!("table {}", table.table),
            };
            let value = format!(
                "{:.0} candidates a query (uniform {:.0}), at most {} with the same {} leading bits",
                table.candidates(),
                table.uniform_candidates,
                table.largest,
                table.address_bits
            );
            row(out, &label, value)?;
        }
        if let Some(documents) = self.documents {
            let (all, empty) = (documents.document_count, documents.empty_count);
            let (short, least) = (documents.short_count, DocumentLengths::SHORT);
            let short = format!("{short} with fewer than {least} features");
            let value = format!("{all}, of which {empty} empty, {short}");
            row(out, "documents", value)?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {}", one_line(&warning.to_string()))?;
        }
        Ok(())
    }
}

fn print_bits(out: &mut dyn Write, report: &LintReport) -> io::Result<()> {
    let bits = &report.bits;
    let records = report.record_count;
    let duplicates = report.duplicate_share() * 100.0;
    let value = format!("{records}, of which {duplicates:.1} % are duplicates");
    row(out, "records", value)?;
    let count = report.fingerprint_count;
    row(out, "fingerprints", count)?;
    if count < BitReport::MIN_COUNT {
        return row(out, "bits", "too few fingerprints to tell");
    }
    let share = |set: &u64| *set as f64 / count as f64 * 100.0;
    let shares = bits.set_counts.iter().map(share);
    let (least, most) = shares.fold((100f64, 0f64), |(a, b), s| (a.min(s), b.max(s)));
    let value = format!("set in {least:.1} to {most:.1} % of the fingerprints");
    row(out, "bits", value)?;
    let (dead, lopsided) = (bits.dead.len(), bits.lopsided.len());
    row(out, "", format_args!("{dead} dead, {lopsided} lopsided"))
}
