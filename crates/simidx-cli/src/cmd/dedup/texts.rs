//! Documents that are dropped because their texts are similar to those of others, or of an index by the sketches that it
//! carries.

use std::time::Instant;

use simidx::batch::DedupCounts;
use simidx::{Error, IdBuf, Set};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    Fate, JaccardEstimate, SimilarDedup, SimilarOptions, SimilarTexts, Template,
};

use super::Job;
use super::against::{Against, Earlier, InIndex};
use super::judged::{Decisions, Judged, Member, Verdict};
use super::summary::{Summary, TemplateFigure};
use super::update::Update;
use crate::support::failure::Failure;
use crate::support::labels::Labels;
use crate::support::output::id_to_json;
use crate::support::records::{Each, Extras, Fingerprinted, Refusal, Wanted};
use crate::support::similarity::{Rank, candidates, features_of, signed};

/// Reads the documents and decides on each by its text.
///
/// # Errors
/// Documents that cannot be read or compared.
pub(super) fn judge<'a>(
    job: &Job<'a>,
    similarity: Similarity,
    mut update: Option<&mut Update<'_>>,
) -> Result<(Judged<'a>, Summary), Failure> {
    let mut options = SimilarOptions::default();
    options.similarity = similarity;
    options.memory = Some(job.memory.search);
    options.temp_dir.clone_from(&job.args.resources.temp_dir);
    let mut texts = SimilarTexts::new(&job.pipeline, &options)?;
    // The comparison of the documents takes most of its memory after that.
    let has_texts = !job.args.texts.is_empty();
    let against = |set| {
        Against::new(
            (set, has_texts),
            similarity,
            &job.pipeline,
            job.memory.search,
        )
    };
    let mut against = job.set.map(against).transpose()?;
    let extras = Extras {
        sketcher: match (&update, &against) {
            (Some(update), _) => update.sketcher.clone(),
            (None, Some(against)) => against.sketcher().cloned(),
            (None, None) => None,
        },
        text: update.is_some(),
    };
    let mut known = job.known(true);
    let wanted = Wanted::Signed(texts.signer(), extras);
    let mut single_features = 0;
    let mut each = Each(wanted, |mut record: Fingerprinted| {
        let text = signed(record.signed.take())?;
        if let Some(update) = &mut update {
            update.push(&mut record, &text)?;
        }
        let is_single = text.has_features() && text.features().hashes().len() == 1;
        single_features += u64::from(is_single);
        match &mut against {
            Some(against) => against.push(text, record.sketch.take(), &mut texts)?,
            None => texts.push_signed(text)?,
        }
        Ok::<_, Refusal>(known.push(&record)?)
    });
    let start = Instant::now();
    let read = job.read(&mut each)?;
    let reading = start.elapsed();
    known.labels.end(&read)?;
    let (in_index, earlier) = match against {
        Some(against) => against.finish(job, &mut texts)?,
        None => Default::default(),
    };
    let own_texts = known.labels.count as usize - in_index.documents.len();
    // Earlier documents come first, and then the longest ones, if lengths are known.
    let rank = |text: usize| match &known.labels.lengths {
        _ if text >= own_texts => u64::MAX,
        Some(lengths) => lengths[in_index.document_of(text)].into(),
        None => 0,
    };
    let is_in_order = known.labels.lengths.is_none() && earlier.records.is_empty();
    let rank: Option<Rank<'_>> = if is_in_order { None } else { Some(&rank) };
    let source = (job.originals, &known.labels.positions);
    let text_of = |document| in_index.text_of(document);
    let mut candidates = candidates(texts, rank, &text_of, source, job.mode)?;
    if candidates.needs_texts() {
        earlier.give(job, own_texts, &mut candidates)?;
    }
    candidates.keep_first(earlier.records.len());
    let finding = start.elapsed() - reading;
    let (bar, watch) = job.mode.comparing();
    let fates = match job.args.chains {
        false => candidates.dedup(&watch)?,
        true => candidates.dedup_by_chains(&watch)?,
    };
    bar.finish_and_clear();
    let comparing = start.elapsed() - reading - finding;
    let counts = fates.counts();
    let similar = Similar::of(fates, (in_index, earlier), job.set);
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
        earlier_texts: has_texts.then_some(similar.earlier.records.len() as u64),
        single_feature: Some(single_features),
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
    /// The decisions on the documents that no index has, and then on earlier ones.
    fates: SimilarDedup,
    in_index: InIndex,
    earlier: Earlier,
    /// Number of the texts that are not those of earlier documents.
    own_texts: usize,
    set: Option<&'a Set>,
    /// The numbers of the clusters, by the text that is kept.
    numbers: Vec<u32>,
    clusters: u64,
    largest: u64,
    kept: u64,
    /// Documents that are dropped for one of an index.
    excluded: u64,
}

impl<'a> Similar<'a> {
    /// Numbers the clusters in the order of their first documents.
    fn of(
        fates: SimilarDedup,
        (in_index, earlier): (InIndex, Earlier),
        set: Option<&'a Set>,
    ) -> Self {
        let own_texts = fates.text_count() - earlier.records.len();
        let mut sizes = vec![0u32; own_texts];
        let (mut kept_count, mut excluded) = (0, in_index.documents.len() as u64);
        for document in 0..own_texts {
            match fates.fate(document) {
                Fate::Kept => kept_count += 1,
                Fate::Dropped { kept, .. } if kept < own_texts => sizes[kept] += 1,
                Fate::Dropped { .. } => excluded += 1,
            }
        }
        let largest = sizes.iter().max().map_or(0, |&most| u64::from(most) + 1);
        let mut numbers = sizes;
        for number in &mut numbers {
            // A cluster without a number yet, or none.
            *number = if *number > 0 { NONE - 1 } else { NONE };
        }
        let mut clusters = 0;
        for document in 0..own_texts {
            let number = numbers.get_mut(kept_for(&fates, document));
            if let Some(number) = number.filter(|number| **number == NONE - 1) {
                *number = clusters;
                clusters += 1;
            }
        }
        Similar {
            fates,
            in_index,
            earlier,
            own_texts,
            set,
            numbers,
            clusters: clusters.into(),
            largest: if clusters > 0 { largest } else { 0 },
            kept: kept_count,
            excluded,
        }
    }

    /// The text of an earlier document that a document is dropped for, and the similarity of the two.
    fn earlier_for(&self, document: usize) -> Option<(usize, f64)> {
        match self.fates.fate(self.in_index.text_of(document)?) {
            Fate::Dropped { kept, jaccard } if kept >= self.own_texts => {
                Some((kept - self.own_texts, jaccard))
            }
            _ => None,
        }
    }

    /// Returns the name of the document of a text.
    fn label(&self, text: usize, labels: &Labels) -> Result<IdBuf, Error> {
        let earlier = text.checked_sub(self.own_texts).zip(self.set);
        let id = earlier.map(|(number, set)| self.earlier.id(number, set));
        match id.transpose()?.flatten() {
            Some(id) => Ok(id),
            None => labels.of(self.in_index.document_of(text)),
        }
    }

    /// Templates of documents: how many there are of each, and one of them.
    fn templates(&self, labels: &Labels) -> Result<Vec<TemplateFigure>, Error> {
        let figure = |template: &Template| {
            let label = self.label(template.example, labels)?;
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
        (0..self.own_texts).filter(is_chained).count() as u64
    }
}

impl Decisions for Similar<'_> {
    fn counts(&self) -> DedupCounts {
        let mut counts = DedupCounts::default();
        counts.documents = (self.own_texts + self.in_index.documents.len()) as u64;
        counts.kept = self.kept;
        counts.excluded = self.excluded;
        counts.clusters = self.clusters;
        counts.largest = self.largest;
        counts
    }

    fn verdict(&self, document: usize) -> Verdict {
        let text = self.in_index.text_of(document);
        match text.map(|text| self.fates.fate(text)) {
            Some(Fate::Kept) => Verdict::Kept,
            None => Verdict::Excluded { distance: None },
            Some(Fate::Dropped { kept, .. }) if kept >= self.own_texts => {
                Verdict::Excluded { distance: None }
            }
            Some(Fate::Dropped { kept, jaccard }) => Verdict::Duplicate {
                of: self.in_index.document_of(kept),
                distance: None,
                similarity: Some(jaccard),
            },
        }
    }

    fn cluster_of(&self, document: usize) -> Option<u64> {
        let text = self.in_index.text_of(document)?;
        let number = *self.numbers.get(kept_for(&self.fates, text))?;
        (number != NONE).then_some(number.into())
    }

    fn member(&self, document: usize) -> Result<Option<Member>, Error> {
        let Some(set) = self.set else {
            return Ok(None);
        };
        match self.earlier_for(document) {
            Some((number, similarity)) => self.earlier.member(number, set, similarity).map(Some),
            None => self.in_index.member(document, set),
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

#[cfg(test)]
mod tests {
    use super::*;
    use simidx::Watch;
    use simidx_text::Pipeline;

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
        texts.push_all(&given).unwrap();
        // The longer ones are decided on first.
        let found = texts
            .candidates_by(|text| given[text].len() as u64)
            .unwrap();
        let found = found.dedup(&Watch::default()).unwrap();
        let found = Similar::of(found, <(InIndex, Earlier)>::default(), None);
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
}
