//! `simidx lint`: whether searches in a set will be slow or find too much, and why.

use std::io::Write;

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
use crate::support::output::{row, stdout, write_object};
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

/// The report on records that are in no index: that on the index which a build would make of them.
fn of_records(args: &Args, mode: ProgressMode) -> Answer {
    let width = args.source.width;
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
    let (input, bar) = (args.source.records(), mode.reading("records"));
    records::read(&input, &input.pipeline.pipeline()?, bar, &mut each)?;
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
    let mut out = stdout();
    match args.json {
        true => write_object(
            &mut out,
            &to_json(&report, documents, &warnings, set.names()),
        )?,
        false => print(&mut out, &report, documents, &warnings, set)?,
    }
    out.flush()?;
    Ok(warnings.is_empty())
}

fn to_json(
    report: &LintReport,
    documents: Option<DocumentLengths>,
    warnings: &[LintWarning],
    names: &[String],
) -> Value {
    let bits = &report.bits;
    let group = |group: &DuplicateGroup| {
        json!({
            "record_count": group.record_count,
            "fingerprint": report.width.to_hex(group.fingerprint),
            "id": group.id,
        })
    };
    let table = |table: &TableCrowding| {
        json!({
            "index": names.get(table.segment).filter(|name| !name.is_empty()),
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
    let documents = documents.map(|documents| {
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
        "sound": warnings.is_empty(),
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
        "warnings": warnings.iter().map(warning).collect::<Vec<_>>(),
    })
}

fn print(
    out: &mut impl Write,
    report: &LintReport,
    documents: Option<DocumentLengths>,
    warnings: &[LintWarning],
    set: &Set,
) -> std::io::Result<()> {
    print_bits(out, report)?;
    for group in &report.groups {
        let (count, hex) = (group.record_count, report.width.to_hex(group.fingerprint));
        let id = one_line(&group.id);
        row(
            out,
            "group",
            format_args!("{count} records with {hex}, first {id}"),
        )?;
    }
    for table in &report.tables {
        let label = match set.names() {
            [_, _, ..] => format!("table {} of index {}", table.table, table.segment),
            _ => format!("table {}", table.table),
        };
        writeln!(
            out,
            "{label:<24}{:.0} candidates a query (uniform {:.0}), at most {} with the same {} leading bits",
            table.candidates(),
            table.uniform_candidates,
            table.largest,
            table.address_bits
        )?;
    }
    if let Some(documents) = documents {
        let (all, empty) = (documents.document_count, documents.empty_count);
        let (short, least) = (documents.short_count, DocumentLengths::SHORT);
        let short = format!("{short} with fewer than {least} features");
        row(
            out,
            "documents",
            format_args!("{all}, of which {empty} empty, {short}"),
        )?;
    }
    for warning in warnings {
        writeln!(out, "warning: {}", one_line(&warning.to_string()))?;
    }
    Ok(())
}

fn print_bits(out: &mut impl Write, report: &LintReport) -> std::io::Result<()> {
    let bits = &report.bits;
    let records = report.record_count;
    let duplicates = report.duplicate_share() * 100.0;
    row(
        out,
        "records",
        format_args!("{records}, of which {duplicates:.1} % are duplicates"),
    )?;
    let count = report.fingerprint_count;
    row(out, "fingerprints", count)?;
    if count < BitReport::MIN_COUNT {
        return writeln!(out, "{:<24}too few fingerprints to tell", "bits");
    }
    let share = |set: &u64| *set as f64 / count as f64 * 100.0;
    let shares = bits.set_counts.iter().map(share);
    let (least, most) = shares.fold((100f64, 0f64), |(a, b), s| (a.min(s), b.max(s)));
    row(
        out,
        "bits",
        format_args!("set in {least:.1} to {most:.1} % of the fingerprints"),
    )?;
    let (dead, lopsided) = (bits.dead.len(), bits.lopsided.len());
    row(out, "", format_args!("{dead} dead, {lopsided} lopsided"))
}
