//! Clusters of documents with similar texts.

use std::io::{self, Write};

use serde_json::{Value, json};
use simidx_input::{FieldKind, InputFile};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Fate, SimilarDedup};

use super::Args;
use crate::cmd::Answer;
use crate::support::failure::into_io;
use crate::support::labels::Labels;
use crate::support::messages::{counted, is_quiet, say};
use crate::support::output::{Column, id_to_json, write_object};
use crate::support::progress::ProgressMode;
use crate::support::similarity::SimilarDocuments;
use crate::support::table::{self, Lines, Sheet};

/// Prints the connected components of similar texts.
///
/// # Errors
/// Documents that cannot be read.
pub(super) fn run(
    args: &Args,
    (similarity, inputs): (Similarity, &[InputFile]),
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let source = (&args.source.records, inputs);
    let documents = SimilarDocuments::read(source, similarity, &args.resources, mode)?;
    let (bar, watch) = mode.comparing();
    let found = documents.candidates.dedup_by_chains(&watch)?;
    bar.finish_and_clear();
    let (labels, is_table) = (&documents.labels, sheet.is_some());
    let mut out = Lines::new(sheet, &columns(args.summary, labels.id_kind()))?;
    let (mut clusters, mut records) = (0, 0);
    let all = in_clusters(&found);
    let mut wanted: Vec<&[(u32, u32)]> = all
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|members| members.len() as u64 >= args.min_size)
        .collect();
    // Those of a size stay in the order of the documents.
    wanted.sort_by_key(|members| std::cmp::Reverse(members.len()));
    for members in wanted {
        let numbered = (clusters, members);
        print((args, is_table), numbered, &found, labels, &mut out)?;
        clusters += 1;
        records += members.len() as u64;
    }
    out.finish()?;
    if args.summary && !is_quiet() {
        let records = counted(records, "document");
        say(format_args!(
            "{} of {records}",
            counted(clusters, "cluster")
        ));
    }
    Ok(clusters > 0)
}

/// Returns all documents by cluster, in the order of the first documents, the representative before the others.
fn in_clusters(found: &SimilarDedup) -> Vec<(u32, u32)> {
    // There are fewer than 2^30 documents.
    let representative = |document: usize| match found.fate(document) {
        Fate::Kept => document,
        Fate::Dropped { kept, .. } => kept,
    };
    let mut first = vec![u32::MAX; found.text_count()];
    let mut members: Vec<(u32, u32)> = Vec::with_capacity(found.text_count());
    for document in 0..found.text_count() {
        let first = &mut first[representative(document)];
        *first = (*first).min(document as u32);
        members.push((*first, document as u32));
    }
    members.sort_unstable_by_key(|&(first, document)| {
        (first, !found.is_kept(document as usize), document)
    });
    members
}

/// Returns the columns of members, or of clusters with their representatives.
fn columns(summary: bool, id_kind: FieldKind) -> Vec<table::Column> {
    let (number, id) = (FieldKind::Number, ("id", id_kind));
    let mut columns = vec![("cluster", number)];
    columns.extend(match summary {
        true => [("size", number), id],
        false => [id, ("similarity", FieldKind::Real)],
    });
    columns.extend([("row", number), ("file", FieldKind::Text)]);
    columns
}

/// Prints a cluster, its representative first.
fn print(
    (args, is_table): (&Args, bool),
    (number, members): (u64, &[(u32, u32)]),
    found: &SimilarDedup,
    labels: &Labels,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells = |document: u32| labels.cells(document as usize).map_err(into_io);
    let label = |document: u32| labels.of(document as usize).map_err(into_io);
    let similarity = |document: u32| match found.fate(document as usize) {
        Fate::Kept => 1.0,
        Fate::Dropped { jaccard, .. } => jaccard,
    };
    let (size, representative) = (members.len(), label(members[0].1)?);
    if args.json {
        let representative = id_to_json(representative.as_id());
        let mut object =
            json!({ "cluster": number, "size": size, "representative": representative });
        if !args.summary {
            let member = |&(_, document): &(u32, u32)| {
                let id = id_to_json(label(document)?.as_id());
                Ok(json!({ "id": id, "similarity": similarity(document) }))
            };
            let members: io::Result<Vec<Value>> = members.iter().map(member).collect();
            object["members"] = members?.into();
        }
        return write_object(out, &object);
    }
    if args.summary {
        if is_table {
            let (id, place) = cells(members[0].1)?;
            return writeln!(out, "{number}\t{size}\t{id}\t{place}");
        }
        let representative = Column::of(&representative);
        return writeln!(out, "{number}\t{size}\t{representative}");
    }
    for &(_, document) in members {
        let similarity = similarity(document);
        if is_table {
            let (id, place) = cells(document)?;
            writeln!(out, "{number}\t{id}\t{similarity:?}\t{place}")?;
            continue;
        }
        let label = label(document)?;
        writeln!(out, "{number}\t{}\t{similarity:.4}", Column::of(&label))?;
    }
    Ok(())
}
