//! The documents of the inputs: their fingerprints, and what else is to be known of them.

use std::path::Path;

use simidx::batch::Deduplicator;
use simidx::{Column, Error, IdBuf};
use simidx_text::similar::{SimilarTexts, TextSigner};

use super::in_index::Against;
use super::repeated_ids::RepeatedIds;
use crate::support::failure::Failure;
use crate::support::labels::Labels;
use crate::support::records::{Fingerprinted, ReadCounts, Refusal, Sink};
use crate::support::similarity::signed;

/// What is to be known of documents.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The option that needs a text of each.
    pub(super) text: Option<&'static str>,
    /// Whether the lengths of the texts are needed.
    pub(super) lengths: bool,
    /// Whether the ids are needed.
    pub(super) ids: bool,
    /// Bytes of memory for ids, and for the search for those that come twice.
    pub(super) id_memory: u64,
    /// Why no document can be compared with the index.
    pub(super) pipeline: Option<String>,
}

/// What the documents are compared by.
#[expect(clippy::large_enum_variant, reason = "there is one of it at a time")]
pub(super) enum Compared<'a> {
    Fingerprints(Deduplicator),
    /// Texts, first with those of an index if there is one.
    Texts(SimilarTexts, TextSigner, Option<Box<Against<'a>>>),
}

impl Compared<'_> {
    fn count(&self) -> usize {
        match self {
            Compared::Fingerprints(deduplicator) => deduplicator.document_count(),
            Compared::Texts(texts, _, None) => texts.text_count(),
            Compared::Texts(texts, _, Some(against)) => against.count() + texts.text_count(),
        }
    }

    fn push(&mut self, record: &mut Fingerprinted) -> Result<(), Refusal> {
        match (self, record.without_features) {
            (Compared::Texts(texts, _, against), _) => {
                let text = signed(record.signed.take())?;
                match against {
                    None => texts.push_signed(text)?,
                    Some(against) => against.push(text, texts)?,
                }
            }
            (Compared::Fingerprints(deduplicator), None) => {
                deduplicator.push(record.fingerprint)?
            }
            (Compared::Fingerprints(deduplicator), Some(identity)) => {
                deduplicator.push_without_fingerprint(identity)?;
            }
        }
        Ok(())
    }
}

/// Takes documents in.
pub(super) struct Documents<'a> {
    compared: Compared<'a>,
    needs: Needs,
    known: Known,
}

/// What is known of documents beside their fingerprints.
pub(super) struct Known {
    pub(super) labels: Labels,
    /// Bytes of each text, if they are needed.
    pub(super) lengths: Option<Vec<u32>>,
    /// Whether any id is a text.
    pub(super) has_text_ids: bool,
    pub(super) repeated_ids: RepeatedIds,
}

impl<'a> Documents<'a> {
    pub(super) fn new(compared: Compared<'a>, needs: Needs, temp_dir: Option<&Path>) -> Self {
        // The other half is for the ids themselves.
        let id_memory = needs.id_memory / 2;
        let repeated_ids = RepeatedIds::new(id_memory);
        Documents {
            compared,
            known: Known {
                labels: Labels::new(temp_dir, id_memory),
                lengths: needs.lengths.then(Vec::new),
                has_text_ids: false,
                repeated_ids,
            },
            needs,
        }
    }

    /// The documents, once so much has been read.
    pub(super) fn finish(mut self, read: ReadCounts) -> Result<(Compared<'a>, Known), Failure> {
        self.known.labels.end_at(read.records + read.skipped)?;
        Ok((self.compared, self.known))
    }
}

impl Sink for Documents<'_> {
    fn record(&mut self, mut record: Fingerprinted) -> Result<(), Refusal> {
        if let (true, Some(reason)) = (record.is_document, &self.needs.pipeline) {
            return Err(Refusal::Input(reason.clone()));
        }
        if let (false, Some(option)) = (record.is_document, self.needs.text) {
            return Err(Refusal::record(format!(
                "has no text, which {option} needs"
            )));
        }
        self.compared.push(&mut record)?;
        self.known.labels.positions.push(record.position, 1);
        if let Some(lengths) = &mut self.known.lengths {
            lengths.push(u32::try_from(record.text_len).unwrap_or(u32::MAX));
        }
        if let Some(id) = record.id {
            self.known.repeated_ids.push(&id);
            self.known.has_text_ids |= matches!(id, IdBuf::String(_));
            if self.needs.ids {
                let document = self.compared.count() as u64 - 1;
                self.known.labels.ids.push(document, &id)?;
            }
        }
        Ok(())
    }

    fn signer(&self) -> Option<TextSigner> {
        match &self.compared {
            Compared::Texts(_, signer, _) => Some(signer.clone()),
            Compared::Fingerprints(_) => None,
        }
    }

    fn takes_fingerprints(&self) -> bool {
        self.needs.text.is_none() && matches!(self.compared, Compared::Fingerprints(_))
    }

    fn fingerprints(
        &mut self,
        fingerprints: Column<'_>,
        first_position: u64,
    ) -> Result<usize, Error> {
        let Compared::Fingerprints(deduplicator) = &mut self.compared else {
            return Ok(0);
        };
        deduplicator.extend_from_slice(fingerprints)?;
        let count = fingerprints.len();
        let positions = &mut self.known.labels.positions;
        positions.push(first_position, count as u64);
        Ok(count)
    }
}
