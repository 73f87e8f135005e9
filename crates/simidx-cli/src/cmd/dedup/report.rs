//! What `simidx dedup` tells: which document was dropped for which, and the figures.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};
use simidx::batch::{Decision, DedupCounts, Deduplicated};
use simidx::segments::Segments;
use simidx::{Error, Fingerprint, IdKind, Storage};
use simidx_input::RecordId;
use simidx_text::dedup::TextVerifier;

use super::documents::Known;
use crate::support::failure::Failure;
use crate::support::json_ids::id_to_json;
use crate::support::output::{stdout, write_report};

/// What documents, and members of the index, are called.
pub(super) struct Labels<'a, F> {
    pub(super) documents: &'a Known,
    pub(super) segments: Option<&'a Segments<F, Storage>>,
}

/// The id of a record, or its position.
enum Label {
    Id(RecordId),
    Position(u64),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Id(id) => id.fmt(f),
            Label::Position(position) => position.fmt(f),
        }
    }
}

impl Label {
    fn to_json(&self) -> Value {
        match self {
            Label::Id(RecordId::Text(id)) => id.as_str().into(),
            Label::Id(RecordId::Number(number)) | Label::Position(number) => (*number).into(),
        }
    }
}

impl<F: Fingerprint> Labels<'_, F> {
    fn of(&self, document: usize) -> Result<Label, Error> {
        Ok(match self.documents.ids.get(document as u64)? {
            Some(id) => Label::Id(id),
            None => Label::Position(self.documents.positions.of(document)),
        })
    }

    /// The first id that the index has for a fingerprint.
    fn id_in_index(&self, fingerprint: F) -> Result<Option<(String, Value)>, Error> {
        let mut first = None;
        if let Some(segments) = self.segments.filter(|s| s.id_kind() != IdKind::None) {
            let id = segments.ids_of(fingerprint)?.next().transpose()?;
            first = id.map(|id| (id.to_string(), id_to_json(id.as_id())));
        }
        Ok(first)
    }
}

/// Writes a line for each document that is dropped, in order.
///
/// # Errors
/// What `out`, the index or the temporary files report.
pub(super) fn write_duplicates<F: Fingerprint>(
    found: &Deduplicated<F>,
    labels: &Labels<'_, F>,
    mut verifier: Option<&mut TextVerifier>,
    json: bool,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    for document in 0..found.counts().documents as usize {
        let line = match found.decision(document) {
            Decision::Kept => continue,
            Decision::Duplicate { of, distance } => Line {
                dropped: labels.of(document)?,
                distance,
                kept: Kept::Document {
                    label: labels.of(of)?,
                    jaccard: match &mut verifier {
                        Some(verifier) => Some(verifier.jaccard(of, document)?),
                        None => None,
                    },
                },
            },
            Decision::Excluded {
                fingerprint,
                distance,
            } => Line {
                dropped: labels.of(document)?,
                distance,
                kept: Kept::Member {
                    fingerprint: fingerprint.to_hex(),
                    id: labels.id_in_index(fingerprint)?,
                },
            },
        };
        match json {
            true => writeln!(out, "{}", line.to_json())?,
            false => line.write(out)?,
        }
    }
    Ok(())
}

/// A document that is dropped.
struct Line {
    dropped: Label,
    distance: u32,
    kept: Kept,
}

/// What a document is dropped for.
enum Kept {
    Document {
        label: Label,
        jaccard: Option<f64>,
    },
    Member {
        fingerprint: String,
        id: Option<(String, Value)>,
    },
}

impl Line {
    fn write(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let Line {
            dropped, distance, ..
        } = self;
        match &self.kept {
            Kept::Document { label, jaccard } => {
                write!(out, "{dropped}\t{label}\t{distance}\tinput")?;
                if let Some(jaccard) = jaccard {
                    write!(out, "\t{jaccard:.4}")?;
                }
            }
            Kept::Member { fingerprint, id } => {
                write!(out, "{dropped}\t{fingerprint}\t{distance}\tindex")?;
                if let Some((id, _)) = id {
                    write!(out, "\t{id}")?;
                }
            }
        }
        writeln!(out)
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("dropped".into(), self.dropped.to_json());
        object.insert("distance".into(), self.distance.into());
        match &self.kept {
            Kept::Document { label, jaccard } => {
                object.insert("kept".into(), label.to_json());
                if let Some(jaccard) = jaccard {
                    object.insert("jaccard".into(), (*jaccard).into());
                }
            }
            Kept::Member { fingerprint, id } => {
                let mut member = json!({ "fingerprint": fingerprint });
                if let Some((_, id)) = id {
                    member["id"] = id.clone();
                }
                object.insert("index".into(), member);
            }
        }
        object.into()
    }
}

/// The figures at the end.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    documents: u64,
    kept: u64,
    dropped: u64,
    /// Of those, what the index has.
    in_index: u64,
    /// And what is beyond the distance from the document that is kept for it.
    chained: u64,
    clusters: u64,
    largest_cluster: u64,
    skipped: u64,
    /// Records in which bytes became U+FFFD.
    replaced: u64,
}

impl Summary {
    pub(super) fn new(counts: &DedupCounts, chained: u64, skipped: u64, replaced: u64) -> Self {
        Summary {
            documents: counts.documents,
            kept: counts.kept,
            dropped: counts.documents - counts.kept,
            in_index: counts.excluded,
            chained,
            clusters: counts.clusters,
            largest_cluster: counts.largest,
            skipped,
            replaced,
        }
    }

    /// Prints the figures: for a person on stderr, as JSON on standard output.
    ///
    /// # Errors
    /// What the output reports.
    pub(super) fn tell(&self, json: bool) -> Result<(), Failure> {
        if json {
            return write_report(stdout(), self, true, |_| Ok(()));
        }
        // That stderr cannot be written is no reason to fail.
        let _ = self.print(&mut io::stderr());
        Ok(())
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut row = |name: &str, value: &dyn fmt::Display| writeln!(out, "{name:<24}{value}");
        row("documents", &self.documents)?;
        row("kept", &self.kept)?;
        match self.in_index {
            0 => row("dropped", &self.dropped)?,
            known => row(
                "dropped",
                &format_args!("{}, {known} of them in the index", self.dropped),
            )?,
        }
        if self.chained > 0 {
            row("dropped by chains only", &self.chained)?;
        }
        row("clusters", &self.clusters)?;
        row("largest cluster", &self.largest_cluster)
    }
}
