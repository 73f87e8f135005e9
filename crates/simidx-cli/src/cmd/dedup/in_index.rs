//! Documents with texts that are similar to those of an index, by the sketches that it carries.

use rayon::prelude::*;
use simidx::{Error, IdBuf, Set};
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    JaccardEstimate, MOST_CHANCE_MATCHES, SignedText, SimilarTexts, SketchMatch, SketchSearch,
    TextSketch, chance_matches,
};

use crate::support::failure::Failure;
use crate::support::messages::counted;

/// Bytes of features that wait until their texts are compared with the index together.
const WAITING_LEN: usize = 32 << 20;

/// Compares documents with an index before they are compared with each other.
pub(super) struct Against<'a> {
    search: SketchSearch<'a>,
    /// Documents that are compared together at the most.
    batch_len: usize,
    waiting: Vec<SignedText>,
    waiting_len: usize,
    found: InIndex,
}

/// The documents that an index has: ascending, each with the record that is most like it. The others are the texts that are
/// compared with each other, numbered from 0. Memory: 40 bytes for each document in the index.
#[derive(Debug, Default)]
pub(super) struct InIndex {
    documents: Vec<(usize, SketchMatch)>,
    /// Bits of a sketch.
    pub(super) bits: u32,
}

/// A record of an index.
pub(super) struct Record {
    pub(super) fingerprint: String,
    pub(super) id: Option<IdBuf>,
    pub(super) estimate: JaccardEstimate,
}

impl<'a> Against<'a> {
    /// Checks that the sketches are of what is compared. The tables of a search take no more than so many bytes of memory.
    ///
    /// # Errors
    /// No sketches, or others.
    pub(super) fn new(
        set: &'a Set,
        similarity: Similarity,
        pipeline: &Pipeline,
        memory: u64,
    ) -> Result<Self, Failure> {
        let name = &set.names()[0];
        let refuse = |message: String| Err(Failure::new(message).about(name));
        if set.sketch_parameters()?.is_none() {
            let message = "has no sketches to compare texts with; build it with --sketch 256, or \
                           compare fingerprints by -k";
            return refuse(message.to_owned());
        }
        let search = SketchSearch::new(set, similarity.least(), 0.0)?;
        if search.chance_matches() > MOST_CHANCE_MATCHES {
            return refuse(too_short(&search, set.record_count(), similarity.least()));
        }
        let features = search.sketcher().features();
        if similarity.words() != Some(features.words()) {
            let words = features.words();
            return refuse(format!(
                "has sketches of runs of {words} words; say --features words:{words}"
            ));
        }
        if pipeline.options().html != features.html() {
            let html = features.html();
            return refuse(format!(
                "has sketches of texts with --html {html}; say so here, too"
            ));
        }
        let found = InIndex {
            documents: Vec::new(),
            bits: search.sketcher().parameters().bits(),
        };
        Ok(Against {
            batch_len: search.batch_len(memory),
            search,
            waiting: Vec::new(),
            waiting_len: 0,
            found,
        })
    }

    /// Number of documents that wait, or that the index has.
    pub(super) fn count(&self) -> usize {
        self.waiting.len() + self.found.count()
    }

    /// Takes the next document. It comes to the texts, or is found in the index, at the latest by [`Against::finish`].
    ///
    /// # Errors
    /// A damaged index, and what the texts report.
    pub(super) fn push(&mut self, text: SignedText, texts: &mut SimilarTexts) -> Result<(), Error> {
        self.waiting_len += size_of_val(text.features().hashes());
        self.waiting.push(text);
        if self.waiting.len() >= self.batch_len || self.waiting_len >= WAITING_LEN {
            self.compare(texts)?;
        }
        Ok(())
    }

    fn compare(&mut self, texts: &mut SimilarTexts) -> Result<(), Error> {
        self.waiting_len = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let sketcher = self.search.sketcher();
        let sketch = |text: &SignedText| sketcher.sketch_of(text.features());
        let sketches: Vec<TextSketch> = waiting.par_iter().map(sketch).collect();
        let best = self.search.best_matches(&sketches)?;
        for (text, found) in waiting.into_iter().zip(best) {
            match found {
                None => texts.push_signed(text)?,
                Some(found) => {
                    let document = texts.text_count() + self.found.documents.len();
                    self.found.documents.push((document, found));
                }
            }
        }
        Ok(())
    }

    /// What was found, once all documents are there.
    ///
    /// # Errors
    /// As for [`Against::push`].
    pub(super) fn finish(mut self, texts: &mut SimilarTexts) -> Result<InIndex, Error> {
        self.compare(texts)?;
        Ok(self.found)
    }
}

/// What to do where sketches are too short for the number of records.
fn too_short(search: &SketchSearch<'_>, records: u64, least: f64) -> String {
    let bits = search.sketcher().parameters().bits();
    let is_enough = |least, bits| chance_matches(records, least, 0.0, bits) <= MOST_CHANCE_MATCHES;
    let percents = (least * 100.0).ceil() as u32..=100;
    let higher = percents
        .map(|percent| f64::from(percent) / 100.0)
        .find(|&higher| is_enough(higher, bits));
    let higher = higher.map(|higher| format!("--similarity {higher}"));
    let longer = (1..=8)
        .map(|words| 64 * words)
        .find(|&longer| is_enough(least, longer));
    let longer = longer.map(|longer| format!("build it with --sketch {longer}"));
    let ways: Vec<String> = higher.into_iter().chain(longer).collect();
    format!(
        "has {} with sketches of {bits} bits: of a document that is like none of them, {:.2} would seem to have a \
         similarity of {least} by chance; {}",
        counted(records, "record"),
        search.chance_matches(),
        ways.join(", or ")
    )
}

impl InIndex {
    /// Number of documents that the index has.
    pub(super) fn count(&self) -> usize {
        self.documents.len()
    }

    /// The number of a document among the texts; none if the index has it.
    pub(super) fn text_of(&self, document: usize) -> Option<usize> {
        match self
            .documents
            .binary_search_by_key(&document, |found| found.0)
        {
            Ok(_) => None,
            Err(before) => Some(document - before),
        }
    }

    /// The document that a text is.
    pub(super) fn document_of(&self, text: usize) -> usize {
        // So many documents of the index come before it.
        let texts_before = |number: usize| self.documents[number].0 - number;
        let (mut low, mut high) = (0, self.documents.len());
        while low < high {
            let middle = low.midpoint(high);
            match texts_before(middle) <= text {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        text + low
    }

    /// The record that a document is like; none if the index has none.
    ///
    /// # Errors
    /// A damaged index.
    pub(super) fn record(&self, document: usize, set: &Set) -> Result<Option<Record>, Error> {
        let found = self
            .documents
            .binary_search_by_key(&document, |found| found.0);
        let Ok(number) = found else {
            return Ok(None);
        };
        let (_, found) = self.documents[number];
        let (fingerprint, id) = set.record(found.segment, found.record)?;
        Ok(Some(Record {
            fingerprint: set.width().to_hex(fingerprint),
            id,
            estimate: found.estimate(self.bits),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_texts_have_numbers_of_their_own() {
        let found = |document| {
            let found = SketchMatch {
                query: 0,
                segment: 0,
                record: 0,
                distance: 0,
            };
            (document, found)
        };
        let in_index = InIndex {
            documents: [0, 1, 4, 7].map(found).to_vec(),
            bits: 64,
        };
        let texts: Vec<_> = (0..9).map(|document| in_index.text_of(document)).collect();
        assert_eq!(
            texts,
            [
                None,
                None,
                Some(0),
                Some(1),
                None,
                Some(2),
                Some(3),
                None,
                Some(4)
            ]
        );
        for (document, text) in texts.into_iter().enumerate() {
            assert!(text.is_none_or(|text| in_index.document_of(text) == document));
        }
        assert_eq!(InIndex::default().text_of(7), Some(7));
        assert_eq!(InIndex::default().document_of(7), 7);
    }
}
