//! Documents that are dropped because their texts are similar to those of others, or of an index by the sketches that it
//! carries.

use std::time::Instant;

use rayon::prelude::*;
use simidx::batch::DedupCounts;
use simidx::{Error, Set};
use simidx_text::Pipeline;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    Fate, JaccardEstimate, MOST_CHANCE_MATCHES, SignedText, SimilarDedup, SimilarOptions,
    SimilarTexts, SketchMatch, SketchSearch, Template, TextSketch, chance_matches,
};

use super::Job;
use super::judged::{Decisions, Judged, Member, Verdict};
use super::summary::{Summary, TemplateFigure};
use crate::support::failure::Failure;
use crate::support::labels::{Labels, place_among};
use crate::support::messages::counted;
use crate::support::output::id_to_json;
use crate::support::records::{Each, Fingerprinted, Wanted};
use crate::support::similarity::{candidates, features_of, signed};

/// Reads the documents and decides on each by its text.
///
/// # Errors
/// What keeps the documents from being read or compared.
pub(super) fn judge<'a>(
    job: &Job<'a>,
    similarity: Similarity,
) -> Result<(Judged<'a>, Summary), Failure> {
    let mut options = SimilarOptions::default();
    options.similarity = similarity;
    options.memory = Some(job.memory.search);
    options.temp_dir.clone_from(&job.args.resources.temp_dir);
    let mut texts = SimilarTexts::new(&job.pipeline, &options)?;
    // What is compared with each other takes most of its memory after that.
    let against = |set| Against::new(set, similarity, &job.pipeline, job.memory.search / 2);
    let mut against = job.set.map(against).transpose()?;
    let mut known = job.known(true);
    let wanted = Wanted::Signed(texts.signer());
    let mut each = Each(wanted, |mut record: Fingerprinted| {
        let text = signed(record.signed.take())?;
        match &mut against {
            None => texts.push_signed(text)?,
            Some(against) => against.push(text, &mut texts)?,
        }
        Ok(known.push(&record)?)
    });
    let start = Instant::now();
    let read = job.read(&mut each)?;
    let reading = start.elapsed();
    known.labels.end_at(read.records + read.skipped)?;
    let in_index = match against {
        Some(against) => against.finish(&mut texts)?,
        None => InIndex::default(),
    };
    let lengths = known.labels.lengths.as_ref().map(|lengths| {
        let texts = 0..texts.text_count();
        texts
            .map(|text| lengths[in_index.document_of(text)])
            .collect()
    });
    let source = (job.originals, &known.labels.positions);
    let text_of = |document| in_index.text_of(document);
    let candidates = candidates(texts, lengths, &text_of, source, job.mode)?;
    let finding = start.elapsed() - reading;
    let (bar, watch) = job.mode.comparing();
    let fates = match job.args.chains {
        false => candidates.dedup(&watch)?,
        true => candidates.dedup_by_chains(&watch)?,
    };
    bar.finish_and_clear();
    let comparing = start.elapsed() - reading - finding;
    let (counts, single_features) = (fates.counts(), fates.single_feature_count());
    let similar = Similar::of(fates, in_index, job.set);
    let sketch_bits = Some(similar.in_index.bits).filter(|&bits| bits > 0);
    let error_of = |bits: u32| {
        let distance = (1.0 - similarity.least()) / 2.0 * f64::from(bits);
        let error = JaccardEstimate::at(distance as u32, bits).standard_error;
        (error * 1000.0).round() / 1000.0
    };
    let summary = Summary {
        similarity: Some(similarity.least()),
        features: Some(features_of(similarity)),
        chained: similar.chained_count(similarity.least()),
        sketch_bits,
        estimate_standard_error: sketch_bits.map(error_of),
        single_feature: Some(single_features as u64),
        templates: Some(similar.templates(&known.labels)?),
        candidates: Some(counts.candidate_count),
        compared_pairs: Some(counts.compared_count),
        comparing_seconds: Some(Summary::seconds(comparing)),
        ..Summary::new(&similar.counts(), &read, [reading, finding])
    };
    let judged = Judged {
        decisions: Box::new(similar),
        documents: known,
    };
    Ok((judged, summary))
}

/// Stands for a document that is in no cluster.
const NONE: u32 = u32::MAX;

/// The decisions, and the clusters that they make: documents that are dropped, and the one that is kept for them.
/// Memory: 4 bytes a document in addition to those of the decisions.
struct Similar<'a> {
    /// Of the documents that no index has.
    fates: SimilarDedup,
    in_index: InIndex,
    set: Option<&'a Set>,
    /// The numbers of the clusters, by the text that is kept.
    numbers: Vec<u32>,
    clusters: u64,
    largest: u64,
}

impl<'a> Similar<'a> {
    /// Numbers the clusters in the order of their first documents.
    fn of(fates: SimilarDedup, in_index: InIndex, set: Option<&'a Set>) -> Self {
        let mut sizes = vec![0u32; fates.text_count()];
        for document in 0..fates.text_count() {
            if let Fate::Dropped { kept, .. } = fates.fate(document) {
                sizes[kept] += 1;
            }
        }
        let largest = sizes.iter().max().map_or(0, |&most| u64::from(most) + 1);
        let mut numbers = sizes;
        for number in &mut numbers {
            // A cluster without a number yet, or none.
            *number = if *number > 0 { NONE - 1 } else { NONE };
        }
        let mut clusters = 0;
        for document in 0..fates.text_count() {
            let number = &mut numbers[kept_for(&fates, document)];
            if *number == NONE - 1 {
                *number = clusters;
                clusters += 1;
            }
        }
        Similar {
            fates,
            in_index,
            set,
            numbers,
            clusters: clusters.into(),
            largest: if clusters > 0 { largest } else { 0 },
        }
    }

    /// Templates of documents: how many there are of each, and one of them.
    fn templates(&self, labels: &Labels) -> Result<Vec<TemplateFigure>, Error> {
        let figure = |template: &Template| {
            let example = self.in_index.document_of(template.example);
            let label = labels.of(example)?;
            Ok(TemplateFigure {
                count: template.count as u64,
                example: id_to_json(label.as_id()),
                label,
            })
        };
        self.fates.templates().iter().map(figure).collect()
    }

    /// Documents that are less similar than this to the one that is kept for them.
    fn chained_count(&self, least: f64) -> u64 {
        let is_chained = |document: &usize| matches!(self.fates.fate(*document), Fate::Dropped { jaccard, .. } if jaccard < least);
        (0..self.fates.text_count()).filter(is_chained).count() as u64
    }
}

impl Decisions for Similar<'_> {
    fn counts(&self) -> DedupCounts {
        let texts = self.fates.text_count() as u64;
        let mut counts = DedupCounts::default();
        counts.excluded = self.in_index.documents.len() as u64;
        counts.documents = texts + counts.excluded;
        counts.kept = texts - self.fates.dropped_count() as u64;
        counts.clusters = self.clusters;
        counts.largest = self.largest;
        counts
    }

    fn verdict(&self, document: usize) -> Verdict {
        let text = self.in_index.text_of(document);
        match text.map(|text| self.fates.fate(text)) {
            None => Verdict::Excluded { distance: None },
            Some(Fate::Kept) => Verdict::Kept,
            Some(Fate::Dropped { kept, jaccard }) => Verdict::Duplicate {
                of: self.in_index.document_of(kept),
                distance: None,
                similarity: Some(jaccard),
            },
        }
    }

    fn cluster_of(&self, document: usize) -> Option<u64> {
        let text = self.in_index.text_of(document)?;
        let number = self.numbers[kept_for(&self.fates, text)];
        (number != NONE).then_some(number.into())
    }

    fn member(&self, document: usize) -> Result<Option<Member>, Error> {
        match self.set {
            Some(set) => self.in_index.member(document, set),
            None => Ok(None),
        }
    }
}

/// The document that is kept for one, which may be itself.
fn kept_for(fates: &SimilarDedup, document: usize) -> usize {
    match fates.fate(document) {
        Fate::Kept => document,
        Fate::Dropped { kept, .. } => kept,
    }
}

/// Bytes of features that wait until their texts are compared with the index together.
const WAITING_LEN: usize = 32 << 20;

/// Compares documents with an index before they are compared with each other.
struct Against<'a> {
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
struct InIndex {
    documents: Vec<(usize, SketchMatch)>,
    /// Bits of a sketch.
    bits: u32,
}

impl<'a> Against<'a> {
    /// Checks that the sketches are of what is compared. The tables of a search take no more than so many bytes of memory.
    ///
    /// # Errors
    /// No sketches, or others.
    fn new(
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

    /// Takes the next document. It comes to the texts, or is found in the index, at the latest by [`Against::finish`].
    ///
    /// # Errors
    /// A damaged index, and what the texts report.
    fn push(&mut self, text: SignedText, texts: &mut SimilarTexts) -> Result<(), Error> {
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
    fn finish(mut self, texts: &mut SimilarTexts) -> Result<InIndex, Error> {
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
    /// The number of a document among the texts; none if the index has it.
    fn text_of(&self, document: usize) -> Option<usize> {
        match self
            .documents
            .binary_search_by_key(&document, |found| found.0)
        {
            Ok(_) => None,
            Err(before) => Some(document - before),
        }
    }

    /// The document that a text is.
    fn document_of(&self, text: usize) -> usize {
        let excluded = |number: usize| self.documents[number].0 as u64;
        place_among(self.documents.len(), excluded, text as u64) as usize
    }

    /// The record that a document is like; none if the index has none.
    ///
    /// # Errors
    /// A damaged index.
    fn member(&self, document: usize, set: &Set) -> Result<Option<Member>, Error> {
        let found = self
            .documents
            .binary_search_by_key(&document, |found| found.0);
        let Ok(number) = found else {
            return Ok(None);
        };
        let (_, found) = self.documents[number];
        let (fingerprint, id) = set.record(found.segment, found.record)?;
        Ok(Some(Member {
            fingerprint: set.width().to_hex(fingerprint),
            id,
            estimate: Some(found.estimate(self.bits)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simidx::Watch;

    #[test]
    fn clusters_are_numbered_by_their_first_documents() {
        let mut texts =
            SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default()).unwrap();
        let given = [
            "alone in the dark wood",
            "two of a kind it is",
            "three of them, if you count",
            "two of a kind it is",
            "three of them if you count!",
            "Three of them if you count",
        ];
        given.iter().for_each(|text| texts.push(*text).unwrap());
        // The longer ones are decided on first.
        let found = texts
            .candidates_by(|text| given[text].len() as u64)
            .unwrap();
        let found = found.dedup(&Watch::default()).unwrap();
        let found = Similar::of(found, InIndex::default(), None);
        let clusters: Vec<_> = (0..given.len())
            .map(|text| found.cluster_of(text))
            .collect();
        assert_eq!(
            clusters,
            [None, Some(0), Some(1), Some(0), Some(1), Some(1)]
        );
        assert!(found.fates.is_kept(4) || found.fates.is_kept(2));
        let counts = found.counts();
        assert_eq!((counts.documents, counts.kept), (6, 3));
        assert_eq!((counts.clusters, counts.largest), (2, 3));
        assert_eq!(found.chained_count(0.8), 0);
    }

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
