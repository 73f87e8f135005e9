//! What was decided of each document, in the words that the outputs use.

use std::fmt;

use serde_json::Value;
use simidx::batch::{Decision, Deduplicated};
use simidx::segments::Segments;
use simidx::{Error, Fingerprint, Id, IdBuf, IdKind, Storage};
use simidx_input::RecordId;
use simidx_text::dedup::TextVerifier;

use super::documents::Known;
use crate::support::columns::Column;
use crate::support::json_ids::{id_to_json, record_id_to_json};

/// The decisions, and all that is known of the documents.
pub(super) struct Judged<'a, F: Fingerprint> {
    pub(super) found: &'a Deduplicated<F>,
    pub(super) documents: &'a Known,
    /// The indexes of documents that were there before.
    pub(super) segments: Option<&'a Segments<F, Storage>>,
    /// What knows how similar two texts are, if they were compared.
    pub(super) verifier: Option<&'a mut TextVerifier>,
}

/// The id of a record, or its position.
#[derive(Debug, Clone)]
pub(super) enum Label {
    Id(RecordId),
    Position(u64),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Id(id) => Column::of_record(id).fmt(f),
            Label::Position(position) => position.fmt(f),
        }
    }
}

impl Label {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Label::Id(id) => record_id_to_json(id),
            Label::Position(position) => id_to_json(Id::Number(*position)),
        }
    }
}

/// Why a document is dropped.
pub(super) enum Cause {
    /// Another document of its cluster is kept.
    Document {
        of: Label,
        cluster: Option<u64>,
        similarity: Option<f64>,
    },
    /// An index has this member, maybe with an id.
    Member {
        fingerprint: String,
        id: Option<IdBuf>,
    },
}

/// A document that is dropped: why, and the distance of the fingerprints.
pub(super) struct Dropped {
    pub(super) distance: u32,
    pub(super) cause: Cause,
}

impl<F: Fingerprint> Judged<'_, F> {
    /// Number of documents.
    pub(super) fn count(&self) -> usize {
        self.found.counts().documents as usize
    }

    /// What a document is called.
    pub(super) fn label(&self, document: usize) -> Result<Label, Error> {
        Ok(match self.documents.ids.get(document as u64)? {
            Some(id) => Label::Id(id),
            None => Label::Position(self.documents.positions.of(document)),
        })
    }

    /// Why a document is dropped; nothing if it is kept.
    pub(super) fn dropped(&mut self, document: usize) -> Result<Option<Dropped>, Error> {
        Ok(match self.found.decision(document) {
            Decision::Kept => None,
            Decision::Duplicate { of, distance } => Some(Dropped {
                distance,
                cause: Cause::Document {
                    of: self.label(of)?,
                    cluster: self.found.cluster_of(document),
                    similarity: self.similarity(of, document)?,
                },
            }),
            Decision::Excluded {
                fingerprint,
                distance,
            } => Some(Dropped {
                distance,
                cause: Cause::Member {
                    fingerprint: fingerprint.to_hex(),
                    id: self.id_in_index(fingerprint)?,
                },
            }),
        })
    }

    /// How similar the texts of two documents of a cluster are, if texts were compared.
    pub(super) fn similarity(&mut self, a: usize, b: usize) -> Result<Option<f64>, Error> {
        let verifier = self.verifier.as_mut();
        verifier.map(|verifier| verifier.jaccard(a, b)).transpose()
    }

    /// The first id that the index has for a fingerprint.
    fn id_in_index(&self, fingerprint: F) -> Result<Option<IdBuf>, Error> {
        match self.segments.filter(|s| s.id_kind() != IdKind::None) {
            Some(segments) => segments.ids_of(fingerprint)?.next().transpose(),
            None => Ok(None),
        }
    }
}

/// An id of an index as JSON.
pub(super) fn id_json(id: &IdBuf) -> Value {
    id_to_json(id.as_id())
}
