//! What was decided of each document, in the words that the outputs use.

use serde_json::Value;
use simidx::batch::{Decision, DedupCounts, Deduplicated};
use simidx::{Error, IdBuf, IdKind, Set};
use simidx_text::similar::{Fate, JaccardEstimate};

use super::documents::Known;
use super::similar::Similar;
use crate::support::labels::Label;
use crate::support::output::id_to_json;

/// The decisions, and all that is known of the documents.
pub(super) struct Judged<'a> {
    pub(super) found: Found,
    pub(super) documents: &'a Known,
    /// The indexes of documents that were there before.
    pub(super) set: Option<&'a Set>,
}

/// What was decided, by what was compared.
pub(super) enum Found {
    /// Fingerprints.
    Near(Deduplicated),
    /// Texts.
    Similar(Similar),
}

impl Found {
    /// How many documents there are, and what becomes of them.
    pub(super) fn counts(&self) -> DedupCounts {
        match self {
            Found::Near(found) => found.counts(),
            Found::Similar(found) => found.counts(),
        }
    }

    /// Whether a document is kept.
    pub(super) fn is_kept(&self, document: usize) -> bool {
        match self {
            Found::Near(found) => found.is_kept(document),
            Found::Similar(found) => found.fate(document) == Some(Fate::Kept),
        }
    }

    /// The number of the cluster that a document is in, if there is another one in it.
    pub(super) fn cluster_of(&self, document: usize) -> Option<u64> {
        match self {
            Found::Near(found) => found.cluster_of(document),
            Found::Similar(found) => found.cluster_of(document),
        }
    }

    /// Whether distances of fingerprints are known; otherwise similarities of texts are.
    pub(super) fn has_distances(&self) -> bool {
        matches!(self, Found::Near(..))
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
        /// How similar the texts are, by their sketches.
        estimate: Option<JaccardEstimate>,
    },
}

/// A document that is dropped: why, and the distance of the fingerprints, if they were compared.
pub(super) struct Dropped {
    pub(super) distance: Option<u32>,
    pub(super) cause: Cause,
}

impl Judged<'_> {
    /// Number of documents.
    pub(super) fn count(&self) -> usize {
        self.found.counts().documents as usize
    }

    /// What a document is called.
    pub(super) fn label(&self, document: usize) -> Result<Label, Error> {
        self.documents.labels.of(document)
    }

    /// Why a document is dropped; nothing if it is kept.
    pub(super) fn dropped(&self, document: usize) -> Result<Option<Dropped>, Error> {
        let found = match &self.found {
            Found::Near(found) => found,
            Found::Similar(found) => {
                let cause = match (found.fate(document), self.set) {
                    (Some(Fate::Kept), _) | (None, None) => return Ok(None),
                    (Some(Fate::Dropped { kept, jaccard }), _) => Cause::Document {
                        of: self.label(kept)?,
                        cluster: found.cluster_of(document),
                        similarity: Some(jaccard),
                    },
                    (None, Some(set)) => match found.in_index.record(document, set)? {
                        None => return Ok(None),
                        Some(record) => Cause::Member {
                            fingerprint: record.fingerprint,
                            id: record.id,
                            estimate: Some(record.estimate),
                        },
                    },
                };
                return Ok(Some(Dropped {
                    distance: None,
                    cause,
                }));
            }
        };
        Ok(match found.decision(document) {
            Decision::Kept => None,
            Decision::Duplicate { of, distance } => Some(Dropped {
                distance: Some(distance),
                cause: Cause::Document {
                    of: self.label(of)?,
                    cluster: found.cluster_of(document),
                    similarity: None,
                },
            }),
            Decision::Excluded {
                fingerprint,
                distance,
            } => Some(Dropped {
                distance: Some(distance),
                cause: self.member(fingerprint)?,
            }),
        })
    }

    /// The member of an index that excludes a document, with its first id.
    fn member(&self, fingerprint: u128) -> Result<Cause, Error> {
        let width = self.set.map(Set::width).unwrap_or_default();
        let id = match self.set.filter(|s| s.id_kind() != IdKind::None) {
            Some(set) => set.ids_of(fingerprint)?.next().transpose()?,
            None => None,
        };
        Ok(Cause::Member {
            fingerprint: width.to_hex(fingerprint),
            id,
            estimate: None,
        })
    }
}

/// An id of an index as JSON.
pub(super) fn id_json(id: &IdBuf) -> Value {
    id_to_json(id.as_id())
}
