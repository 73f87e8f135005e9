//! The decision on each document, in the words that the outputs use.

use simidx::batch::DedupCounts;
use simidx::{Error, IdBuf};
use simidx_text::similar::JaccardEstimate;

use super::known::Known;

/// The decision on a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    Kept,
    /// Another document is kept for it; how near the fingerprints are, or how similar the texts, if they were compared.
    Duplicate {
        of: usize,
        distance: Option<u32>,
        similarity: Option<f64>,
    },
    /// An index has a member that is near it.
    Excluded {
        distance: Option<u32>,
    },
}

/// The decisions on all documents, by their numbers from 0.
pub(super) trait Decisions {
    /// The number of documents of each kind.
    fn counts(&self) -> DedupCounts;

    fn verdict(&self, document: usize) -> Verdict;

    /// The number of the cluster that a document is in, if there is another one in it.
    fn cluster_of(&self, document: usize) -> Option<u64>;

    /// The member of an index that excludes a document, if one does.
    ///
    /// # Errors
    /// A damaged index.
    fn member(&self, document: usize) -> Result<Option<Member>, Error>;
}

/// A member of an index, with its first id.
pub(super) struct Member {
    pub(super) fingerprint: String,
    pub(super) id: Option<IdBuf>,
    /// How similar the texts are, if they were compared.
    pub(super) similarity: Option<f64>,
    /// How similar they are by their sketches, if these decided.
    pub(super) estimate: Option<JaccardEstimate>,
}

/// The decisions, and the properties of the documents.
pub(super) struct Judged<'a> {
    pub(super) decisions: Box<dyn Decisions + 'a>,
    pub(super) documents: Known,
}

/// A dropped document: what is kept instead, and how near the two are.
pub(super) struct Dropped {
    /// The document that is kept, and its number; none if an index has a near one.
    pub(super) kept: Option<(IdBuf, usize)>,
    /// The member of an index that is near.
    pub(super) member: Option<Member>,
    pub(super) cluster: Option<u64>,
    /// The distance of the fingerprints, if they were compared.
    pub(super) distance: Option<u32>,
    /// The similarity of the texts, if they were compared.
    pub(super) similarity: Option<f64>,
}

impl Judged<'_> {
    /// Number of documents.
    pub(super) fn count(&self) -> usize {
        self.decisions.counts().documents as usize
    }

    /// Returns the name of a document.
    pub(super) fn label(&self, document: usize) -> Result<IdBuf, Error> {
        self.documents.labels.of(document)
    }

    /// Returns what is kept instead of a document; `None` if it is kept itself.
    pub(super) fn dropped(&self, document: usize) -> Result<Option<Dropped>, Error> {
        Ok(match self.decisions.verdict(document) {
            Verdict::Kept => None,
            Verdict::Duplicate {
                of,
                distance,
                similarity,
            } => Some(Dropped {
                kept: Some((self.label(of)?, of)),
                member: None,
                cluster: self.decisions.cluster_of(document),
                distance,
                similarity,
            }),
            Verdict::Excluded { distance } => {
                let member = self.decisions.member(document)?;
                member.map(|member| Dropped {
                    kept: None,
                    cluster: None,
                    distance,
                    similarity: member.similarity,
                    member: Some(member),
                })
            }
        })
    }
}
