//! The documents of the inputs: their fingerprints, and what else is to be known of them.

use std::path::Path;

use simidx::batch::{DedupOptions, Deduplicator};
use simidx::{Error, Fingerprint};
use simidx_input::RecordId;

use super::positions::Positions;
use super::repeated_ids::RepeatedIds;
use super::texts::HeldTexts;
use crate::support::failure::Failure;
use crate::support::records::{Fingerprinted, ReadCounts, Refusal, Sink};
use crate::support::spooled_ids::SpooledIds;

/// What is to be known of documents.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The option that needs a text of each.
    pub(super) text: Option<&'static str>,
    /// Whether the lengths of the texts are needed.
    pub(super) lengths: bool,
    /// Whether the ids are needed.
    pub(super) ids: bool,
    /// Bytes of memory for the texts, if they are needed later.
    pub(super) texts: Option<u64>,
    /// Bytes of memory for the search for ids that come twice.
    pub(super) id_memory: u64,
    /// Why no document can be compared with the index.
    pub(super) pipeline: Option<String>,
}

/// Takes documents in.
pub(super) struct Documents<F> {
    deduplicator: Deduplicator<F>,
    needs: Needs,
    known: Known,
}

/// What is known of documents beside their fingerprints.
pub(super) struct Known {
    pub(super) positions: Positions,
    /// Bytes of each text, if they are needed.
    pub(super) lengths: Vec<u32>,
    pub(super) ids: SpooledIds,
    /// Whether any id is a text.
    pub(super) has_text_ids: bool,
    pub(super) repeated_ids: RepeatedIds,
    /// The texts, if they are needed.
    pub(super) texts: Option<HeldTexts>,
}

impl<F: Fingerprint> Documents<F> {
    pub(super) fn new(options: &DedupOptions, needs: Needs, temp_dir: Option<&Path>) -> Self {
        let texts = needs.texts.map(HeldTexts::new);
        let repeated_ids = RepeatedIds::new(needs.id_memory);
        Documents {
            deduplicator: Deduplicator::new(options),
            needs,
            known: Known {
                positions: Positions::default(),
                lengths: Vec::new(),
                ids: SpooledIds::new(temp_dir),
                has_text_ids: false,
                repeated_ids,
                texts,
            },
        }
    }

    /// The documents, once so much has been read.
    pub(super) fn finish(mut self, read: ReadCounts) -> Result<(Deduplicator<F>, Known), Failure> {
        let known = &mut self.known;
        known.positions.end_at(read.records + read.skipped);
        known.ids.complete()?;
        Ok((self.deduplicator, self.known))
    }
}

impl<F: Fingerprint> Sink<F> for Documents<F> {
    fn record(&mut self, record: Fingerprinted<F>) -> Result<(), Refusal> {
        if let (true, Some(reason)) = (record.is_document, &self.needs.pipeline) {
            return Err(Refusal::Input(reason.clone()));
        }
        if let (false, Some(option)) = (record.is_document, self.needs.text) {
            return Err(Refusal::record(format!(
                "has no text, which {option} needs"
            )));
        }
        match record.without_features {
            None => self.deduplicator.push(record.fingerprint)?,
            Some(identity) => self.deduplicator.push_without_fingerprint(identity)?,
        }
        self.known.positions.push(record.position, 1);
        if self.needs.lengths {
            let length = u32::try_from(record.text_len).unwrap_or(u32::MAX);
            self.known.lengths.push(length);
        }
        if let Some(texts) = &mut self.known.texts {
            texts.push(record.text);
        }
        if let Some(id) = record.id {
            self.known.repeated_ids.push(&id);
            self.known.has_text_ids |= matches!(id, RecordId::Text(_));
            if self.needs.ids {
                let document = self.deduplicator.document_count() as u64 - 1;
                self.known.ids.push(document, &id)?;
            }
        }
        Ok(())
    }

    fn wants_texts(&self) -> bool {
        let texts = self.known.texts.as_ref();
        texts.is_some_and(HeldTexts::are_complete)
    }

    fn takes_fingerprints(&self) -> bool {
        self.needs.text.is_none()
    }

    fn fingerprints(&mut self, fingerprints: &[F], first_position: u64) -> Result<usize, Error> {
        self.deduplicator.extend_from_slice(fingerprints)?;
        self.known
            .positions
            .push(first_position, fingerprints.len() as u64);
        Ok(fingerprints.len())
    }
}
