//! The documents of the inputs: their fingerprints, and what else is to be known of them.

use std::path::Path;

use simidx::batch::{DedupOptions, Deduplicator};
use simidx::{Error, Fingerprint};

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
    /// The texts, if they are needed.
    pub(super) texts: Option<HeldTexts>,
}

impl<F: Fingerprint> Documents<F> {
    pub(super) fn new(options: &DedupOptions, needs: Needs, temp_dir: Option<&Path>) -> Self {
        let texts = needs.texts.map(HeldTexts::new);
        Documents {
            deduplicator: Deduplicator::new(options),
            needs,
            known: Known {
                positions: Positions::default(),
                lengths: Vec::new(),
                ids: SpooledIds::new(temp_dir),
                texts,
            },
        }
    }

    /// The documents, once so much has been read.
    pub(super) fn finish(mut self, read: ReadCounts) -> Result<(Deduplicator<F>, Known), Failure> {
        let known = &mut self.known;
        known.positions.total = read.records + read.skipped;
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
        self.deduplicator.push(record.fingerprint)?;
        self.known.positions.push(record.position, 1);
        if self.needs.lengths {
            let length = u32::try_from(record.text_len).unwrap_or(u32::MAX);
            self.known.lengths.push(length);
        }
        if let Some(texts) = &mut self.known.texts {
            texts.push(record.text);
        }
        if let (true, Some(id)) = (self.needs.ids, record.id) {
            let document = self.deduplicator.document_count() as u64 - 1;
            self.known.ids.push(document, &id)?;
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

/// Where the documents stand among all records of the inputs. Memory: 8 bytes for each record that was skipped.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// The positions of records that are no documents, ascending.
    skipped: Vec<u64>,
    /// The position behind the last document.
    end: u64,
    /// Number of all records.
    total: u64,
}

impl Positions {
    /// The next documents stand here, one behind the other.
    fn push(&mut self, position: u64, count: u64) {
        self.skipped.extend(self.end..position);
        self.end = position + count;
    }

    /// Where a document stands.
    pub(super) fn of(&self, document: usize) -> u64 {
        let document = document as u64;
        let before = |i: usize| self.skipped[i] - i as u64;
        let (mut low, mut high) = (0, self.skipped.len());
        while low < high {
            let middle = low.midpoint(high);
            match before(middle) <= document {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        document + low as u64
    }

    /// Number of records that are no documents.
    pub(super) fn skipped_count(&self) -> u64 {
        self.skipped.len() as u64 + (self.total - self.end)
    }

    /// Goes through all records once more.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            positions: self,
            position: 0,
            passed: 0,
        }
    }
}

/// A further pass over the records.
pub(super) struct Walk<'a> {
    positions: &'a Positions,
    position: u64,
    /// Number of skipped records so far.
    passed: usize,
}

impl Walk<'_> {
    /// The document that the next record is.
    pub(super) fn next(&mut self) -> Option<usize> {
        let position = self.position;
        self.position += 1;
        if self.positions.skipped.get(self.passed) == Some(&position) {
            self.passed += 1;
            return None;
        }
        (position < self.positions.end).then(|| position as usize - self.passed)
    }

    /// Number of records so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Says whether the pass had as many records as the first one.
    pub(super) fn check_complete(&self) -> Result<(), Failure> {
        if self.position == self.positions.total {
            return Ok(());
        }
        let (first, now) = (self.positions.total, self.position);
        let message = format!("the inputs have changed: {first} records at first, {now} later");
        Err(Failure::new(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_what_was_skipped() {
        let mut positions = Positions::default();
        for (position, count) in [(2, 1), (3, 4), (7, 1), (10, 2), (20, 1)] {
            positions.push(position, count);
        }
        positions.total = 25;
        let expected = [2, 3, 4, 5, 6, 7, 10, 11, 20];
        let found: Vec<u64> = (0..9).map(|document| positions.of(document)).collect();
        assert_eq!(found, expected);
        assert_eq!(positions.skipped_count(), 25 - 9);
        let mut walk = positions.walk();
        let walked: Vec<u64> = (0..25u64).filter(|_| walk.next().is_some()).collect();
        assert_eq!(walked, expected);
        assert!(walk.check_complete().is_ok());
        walk.next();
        assert!(walk.check_complete().is_err());
    }
}
