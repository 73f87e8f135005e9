//! Similar texts in an index by their keys: the same keys by which [`SimilarTexts`](super::super::SimilarTexts) finds
//! similar texts, stored in the place of sketches.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use rayon::prelude::*;
use simidx::format::{MAX_SKETCH_BITS, SketchParameters};
use simidx::set::Segment;
use simidx::{Result, Set};

use crate::dedup::Similarity;
use crate::similar::{Banding, SignedText, SketchFeatures};
use crate::stages::Html;
use crate::tally::LowBits;

/// The start of the name of the features.
const KEYS: &str = "keys:";

/// Records of an index that one task compares.
const TASK_LEN: u64 = 1 << 12;

/// Bytes that a key of a text takes while the set of keys grows.
const KEY_LEN: u64 = 8 * 4;

/// The parameters of an index that stores the keys of its texts in the place of sketches, so that a later run finds the
/// texts that [`SimilarTexts`](super::super::SimilarTexts) would compare with new ones: `None` if the keys have more than
/// the 512 bits of the longest sketch, as those of a similarity below 0.72 do. The features of a pipeline are those of the
/// one that the index records.
///
/// ```
/// use simidx_text::dedup::Similarity;
/// use simidx_text::similar::key_parameters;
/// use simidx_text::stages::Html;
///
/// let parameters = key_parameters(Similarity::default(), Html::No).unwrap();
/// assert_eq!(parameters.to_string(), "512 bits of keys:15x4 words:3 html:no");
/// # let low = Similarity::of_words(0.5, 3)?;
/// assert!(key_parameters(low, Html::No).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn key_parameters(similarity: Similarity, html: Html) -> Option<SketchParameters> {
    let Banding { bands, rows } = Banding::for_similarity(similarity.least());
    let features = match similarity.words() {
        Some(words) => SketchFeatures::new(words, html).ok()?.to_string(),
        None => "pipeline".to_owned(),
    };
    let bits = (32 * bands).next_multiple_of(64);
    let name = format!("{KEYS}{bands}x{rows} {features}");
    let parameters = (bits <= MAX_SKETCH_BITS).then(|| SketchParameters::new(bits, &name));
    parameters?.ok()
}

/// Whether an index stores keys in the place of sketches, by the parameters of these.
pub fn are_keys(parameters: &SketchParameters) -> bool {
    parameters.features().starts_with(KEYS)
}

impl SignedText {
    /// The keys of the text in the form in which an index stores them: two in each number, as many numbers as
    /// [`key_parameters`] says.
    pub fn packed_keys(&self) -> Vec<u64> {
        let pair = |keys: &[u32]| {
            let second = keys.get(1).copied().unwrap_or_default();
            u64::from(keys[0]) | u64::from(second) << 32
        };
        self.keys().chunks(2).map(pair).collect()
    }
}

/// Finds the records of an index, or of several, whose texts have a key in common with one of many new texts.
///
/// Cost: a look-up for each record and key, about 0.2 microseconds a record. Memory: 32 bytes for each key of the new texts.
#[derive(Debug)]
pub struct KeySearch<'a> {
    set: &'a Set,
    /// Numbers that a record has.
    words: usize,
    /// The keys of the new texts, each with its band.
    keys: HashSet<u64, BuildHasherDefault<LowBits>>,
}

impl<'a> KeySearch<'a> {
    /// A search in indexes with these [parameters](key_parameters).
    pub fn new(set: &'a Set, parameters: &SketchParameters) -> Self {
        KeySearch {
            set,
            words: parameters.u64_count(),
            keys: HashSet::default(),
        }
    }

    /// Takes a new text.
    pub fn push(&mut self, text: &SignedText) {
        let keys = text.keys().iter();
        self.keys
            .extend((0..).zip(keys).map(|(band, &key)| with_band(band, key)));
    }

    /// Bytes that the keys take.
    pub fn byte_count(&self) -> u64 {
        self.keys.len() as u64 * KEY_LEN
    }

    /// The records that have a key in common with one of the new texts, which are then forgotten: the numbers of the segment
    /// and of the record, ascending. Records that are left out of the segments are not found.
    ///
    /// # Errors
    ///
    /// A damaged page of a segment.
    pub fn near_records(&mut self) -> Result<Vec<(usize, u64)>> {
        let keys = std::mem::take(&mut self.keys);
        let mut near = Vec::new();
        if keys.is_empty() {
            return Ok(near);
        }
        for segment in 0..self.set.segment_count() {
            let sketches = self.set.segment(segment).map(Segment::sketches);
            let count = sketches.transpose()?.flatten().map_or(0, |keys| keys.len());
            let of_task = |task: u64| {
                let start = task * TASK_LEN;
                let records = start..count.min(start + TASK_LEN);
                let (mut numbers, mut found) = (Vec::new(), Vec::new());
                self.set
                    .read_sketches(segment, records.clone(), &mut numbers)?;
                for (record, numbers) in records.zip(numbers.chunks_exact(self.words)) {
                    let pairs = numbers
                        .iter()
                        .flat_map(|&pair| [pair as u32, (pair >> 32) as u32]);
                    let mut own = (0..).zip(pairs).map(|(band, key)| with_band(band, key));
                    if own.any(|key| keys.contains(&key))
                        && self.set.shows_record(segment, record)?
                    {
                        found.push((segment, record));
                    }
                }
                Ok(found)
            };
            let tasks = (0..count.div_ceil(TASK_LEN)).into_par_iter();
            let found: Result<Vec<_>> = tasks.map(of_task).collect();
            near.extend(found?.into_iter().flatten());
        }
        Ok(near)
    }
}

/// A key that is of one band only.
fn with_band(band: u64, key: u32) -> u64 {
    u64::from(key) | band << 32
}
