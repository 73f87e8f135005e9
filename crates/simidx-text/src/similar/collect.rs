//! Collects texts, and finds candidates for similar pairs.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use simidx::{Error, Result, Width};

use super::candidates::SimilarCandidates;
use super::columns::Columns;
use super::digest::HASH_NUMBERS;
use super::equals::first_equals;
use super::groups::{Groups, MAX_TEXTS, MEMBER_LEN};
use super::sets::Sets;
use super::signature::{row, wide_keys};
use super::{BATCH_LEN, BATCH_TEXTS, Banding, NONE};
use crate::compare::FeatureSet;
use crate::dedup::Similarity;
use crate::{Fingerprinter, ParallelFingerprinter, Pipeline};

/// The share of the memory limit for columns is one part in this number; the rest is for texts, their features and
/// groups.
const COLUMN_SHARE: u64 = 16;

/// The share of the memory limit reserved for features, if not all of them fit, is one part in this number.
const SET_SHARE: u64 = 8;

/// The share of the memory for groups that holds data about large ones is one part in this number.
const LARGE_SHARE: u64 = 4;

/// Memory in bytes for each text: 4 for its equal or the text kept for it, 8 for the similarity of the two, 8 for the
/// place of its set, 16 for its parities, and 1 for whether it is a candidate. Making groups takes no more.
const TEXT_LEN: u64 = 37;

/// Memory in bytes for the text at each place, if the order of decisions differs from the order of texts.
const ORDER_LEN: u64 = 4;

/// Options of the search for similar texts.
///
/// ```
/// use simidx_text::dedup::Similarity;
/// use simidx_text::similar::SimilarOptions;
///
/// let options = SimilarOptions::default()
///     .similarity(Similarity::of_words(0.9, 5)?)
///     .memory(1 << 30);
/// # Ok::<(), simidx_text::dedup::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SimilarOptions {
    /// The similarity threshold. Default: at least 0.8 of all shingles of three words.
    pub similarity: Similarity,
    /// Memory limit in bytes. Data beyond it goes to temporary files, except 40 bytes for each text, or 44 if texts
    /// have an order of decisions. By default, there is no limit, and there are no files.
    pub memory: Option<u64>,
    /// The folder of temporary files. By default, the folder of the system.
    pub temp_dir: Option<PathBuf>,
}

simidx::setters!(SimilarOptions {
    similarity(Similarity)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
});

/// Signs texts for a [`SimilarTexts`], on any thread. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TextSigner {
    similarity: Similarity,
    banding: Banding,
}

/// A signed text: its features, and the keys that similar texts are found by.
#[derive(Debug, Clone)]
pub struct SignedText {
    /// The row of the columns: the keys, and the hash of the features.
    row: Box<[u32]>,
    features: FeatureSet,
    has_features: bool,
}

impl SignedText {
    /// Whether the text has any feature. A text without features is similar only to texts with the same bytes.
    pub fn has_features(&self) -> bool {
        self.has_features
    }

    /// The key of each band.
    pub(super) fn keys(&self) -> &[u32] {
        &self.row[..self.row.len() - HASH_NUMBERS]
    }

    /// The features. A text without features has a hash of its bytes instead.
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }
}

impl TextSigner {
    /// Creates a signer for this similarity. [`SimilarTexts::signer`] returns the signer of a [`SimilarTexts`].
    pub fn new(similarity: Similarity) -> Self {
        TextSigner {
            banding: Banding::for_similarity(similarity.least()),
            similarity,
        }
    }

    /// Returns the keys of a text with these features for a distributed search: 64 bits for each band, with the number
    /// of the band mixed in. Two texts that [`SimilarTexts`] compares have one of these keys in common, unless their
    /// keys of 32 bits are equal only by chance.
    ///
    /// ```
    /// use simidx_text::Pipeline;
    /// use simidx_text::dedup::Similarity;
    /// use simidx_text::similar::TextSigner;
    ///
    /// let signer = TextSigner::new(Similarity::of_words(0.8, 3)?);
    /// let parallel = Pipeline::default().parallel(simidx::Width::W64)?;
    /// let sets = signer.all_features(&parallel, &["a rose is a rose", "A rose is a rose!"]);
    /// let keys = signer.wide_keys(&sets[0]);
    /// assert_eq!(keys.len(), 15);
    /// assert_eq!(keys, signer.wide_keys(&sets[1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wide_keys(&self, features: &FeatureSet) -> Vec<u64> {
        let keys = wide_keys(self.banding, features.hashes()).into_iter();
        let with_band = |(band, key): (u64, u64)| key ^ band.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..).zip(keys).map(with_band).collect()
    }

    /// Returns the features of texts, on all threads of the current rayon pool. A text without features has a hash of
    /// its bytes instead.
    pub fn all_features<T: AsRef<str> + Sync>(
        &self,
        parallel: &ParallelFingerprinter,
        texts: &[T],
    ) -> Vec<FeatureSet> {
        parallel.map(texts, |fingerprinter, text| {
            self.similarity.feature_set(fingerprinter, text.as_ref())
        })
    }

    /// Signs a text, in some microseconds for each kilobyte.
    pub fn sign(&self, fingerprinter: &mut Fingerprinter, text: &str) -> SignedText {
        let features = self.similarity.features(fingerprinter, text);
        let has_features = features.is_some();
        let features = features.unwrap_or_else(|| Similarity::without_features(text));
        SignedText {
            row: row(self.banding, features.hashes()),
            features,
            has_features,
        }
    }
}

/// Collects texts and finds the similar ones: nearly all pairs whose Jaccard similarity is at least that of the options.
///
/// Texts are numbered from 0 in the order of their arrival. Each gets a number of keys from the MinHash values of its
/// features ([`Banding`]). Texts with a common key are compared, feature by feature, so every result has the required
/// similarity. By default, the search misses four in ten thousand of the pairs with a similarity of exactly 0.8, and
/// fewer of the more similar pairs ([`Banding::recall`]).
///
/// Of texts with equal features, only the first takes part in the search, and the others get the same result.
///
/// Memory, and the data that goes to temporary files if a limit is set:
///
/// | | bytes | beyond the limit |
/// |---|---|---|
/// | each text | 37, or 41 with an order of decisions | an error |
/// | each text and key, and three more for each text | 4 | in files beyond a sixteenth |
/// | each text and key, if another text has the key too | 4 | in a file |
/// | each feature | 8 | recomputed for texts with such keys, and in a file if they do not fit |
///
/// [`SimilarCandidates::clusters`] and [`SimilarCandidates::dedup_by_chains`] take 8 more bytes for each text.
/// Independently of the limit, texts that are given and wait for others take up to 16 MiB.
///
/// ```
/// use simidx::Watch;
/// use simidx_text::Pipeline;
/// use simidx_text::similar::{Fate, SimilarOptions, SimilarTexts};
///
/// let texts = [
///     "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it there.",
///     "A treatise on the growth of mushrooms in damp cellars.",
///     "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it.",
/// ];
/// let mut collected = SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default())?;
/// collected.push_all(&texts)?;
/// let mut candidates = collected.candidates()?;
/// for (number, text) in texts.iter().enumerate() {
///     if candidates.needs_text(number) {
///         candidates.give(number, *text)?;
///     }
/// }
/// let found = candidates.dedup(&Watch::default())?;
/// assert_eq!(found.fate(1), Fate::Kept);
/// assert!(matches!(found.fate(2), Fate::Dropped { kept: 0, jaccard } if jaccard > 0.8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SimilarTexts {
    options: SimilarOptions,
    signer: TextSigner,
    fingerprinter: ParallelFingerprinter,
    columns: Columns,
    /// The features of all texts, until they exceed the memory.
    sets: Option<Sets>,
}

impl SimilarTexts {
    /// Creates an empty collection. Only the first stage of the pipeline matters, which extracts the text of HTML
    /// documents, unless the similarity is that of the pipeline's features.
    ///
    /// # Errors
    /// The errors of [`Pipeline::fingerprinter`] with 64 bits.
    pub fn new(pipeline: &Pipeline, options: &SimilarOptions) -> crate::Result<Self> {
        let signer = TextSigner::new(options.similarity);
        let budget = options.memory.map(|memory| memory / COLUMN_SHARE);
        let column_count = signer.banding.band_count() + HASH_NUMBERS;
        Ok(SimilarTexts {
            signer,
            fingerprinter: pipeline.parallel(Width::W64)?,
            columns: Columns::new(column_count, budget, options.temp_dir.as_deref()),
            sets: Some(Sets::new(0, None, options.temp_dir.as_deref())),
            options: options.clone(),
        })
    }

    /// The banding of the search.
    pub fn banding(&self) -> Banding {
        self.signer.banding
    }

    /// Returns a signer for texts that [`SimilarTexts::push_signed`] adds.
    pub fn signer(&self) -> TextSigner {
        self.signer.clone()
    }

    /// Number of added texts.
    pub fn text_count(&self) -> usize {
        self.columns.len()
    }

    /// Adds the next texts. Up to 4,096 of them are signed at a time, on all threads of the current rayon pool.
    ///
    /// # Errors
    /// The errors of [`SimilarTexts::push_signed`].
    pub fn push_all<T: AsRef<str> + Sync>(&mut self, texts: &[T]) -> Result<()> {
        let (mut start, mut len) = (0, 0);
        for (end, text) in (1..).zip(texts) {
            len += text.as_ref().len();
            if end - start >= BATCH_TEXTS || len >= BATCH_LEN || end == texts.len() {
                for signed in self.sign_all(&texts[start..end]) {
                    self.push_signed(signed)?;
                }
                (start, len) = (end, 0);
            }
        }
        Ok(())
    }

    /// Adds the next text, which was signed by the [signer](SimilarTexts::signer).
    ///
    /// # Errors
    /// More than 2^30 - 1 texts, and a failure to write keys to a temporary file.
    pub fn push_signed(&mut self, text: SignedText) -> Result<()> {
        if self.columns.len() >= MAX_TEXTS {
            return Err(Error::LimitReached {
                what: "texts",
                limit: MAX_TEXTS as u64,
            });
        }
        self.columns.push(&text.row)?;
        let features = text.features.hashes();
        let memory = self.options.memory;
        // If every text shares every key with another one.
        let beside = most_of(self.columns.len() as u64, self.banding());
        let room = memory.map(|memory| memory.saturating_sub(memory / COLUMN_SHARE + beside));
        let has_room =
            |sets: &Sets| room.is_none_or(|room| sets.byte_count_with(features.len()) <= room);
        match &mut self.sets {
            Some(sets) if has_room(sets) => sets.push(features)?,
            sets => *sets = None,
        }
        Ok(())
    }

    /// Signs texts on all threads of the current rayon pool, without adding them.
    pub fn sign_all<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Vec<SignedText> {
        self.fingerprinter.map(texts, |fingerprinter, text| {
            self.signer.sign(fingerprinter, text.as_ref())
        })
    }

    /// Finds the texts that have keys in common. They are decided on in the order of their numbers.
    ///
    /// # Errors
    /// [`Error::Budget`] for a memory limit below the minimum for this number of texts, and temporary files that cannot
    /// be read or written.
    pub fn candidates(self) -> Result<SimilarCandidates> {
        self.candidates_in_order(None)
    }

    /// [`SimilarTexts::candidates`] for [`SimilarCandidates::dedup`] in another order: texts are decided on by
    /// descending value, then by ascending number.
    ///
    /// # Errors
    /// The errors of [`SimilarTexts::candidates`].
    pub fn candidates_by(self, value: impl Fn(usize) -> u64) -> Result<SimilarCandidates> {
        let mut texts: Vec<u32> = (0..self.text_count() as u32).collect();
        texts.sort_by_key(|&text| std::cmp::Reverse(value(text as usize)));
        self.candidates_in_order(Some(texts))
    }

    /// Returns the smallest value of [`SimilarOptions::memory`], in bytes, with which `text_count` texts can be
    /// compared by [`SimilarTexts::candidates`] or, if `by_value` is set, by [`SimilarTexts::candidates_by`].
    ///
    /// ```
    /// use simidx_text::similar::SimilarTexts;
    ///
    /// let [in_order, by_value] = [false, true].map(|by_value| SimilarTexts::least_memory(1_000_000, by_value));
    /// assert!(in_order < by_value && by_value < 44_000_000);
    /// ```
    pub fn least_memory(text_count: u64, by_value: bool) -> u64 {
        let fixed = text_count * (TEXT_LEN + if by_value { ORDER_LEN } else { 0 });
        fixed + fixed.saturating_sub(1) / (COLUMN_SHARE - 1)
    }

    /// Returns the memory for feature sets (at least), for groups, and for data about large groups (at least).
    fn shares(&self, is_ordered: bool) -> Result<Option<[u64; 3]>> {
        let Some(given) = self.options.memory else {
            return Ok(None);
        };
        let count = self.columns.len() as u64;
        let fixed = count * (TEXT_LEN + if is_ordered { ORDER_LEN } else { 0 });
        let Some(left) = (given - given / COLUMN_SHARE).checked_sub(fixed) else {
            return Err(Error::Budget {
                purpose: format!("comparing {count} texts"),
                needed: Self::least_memory(count, is_ordered),
                given,
            });
        };
        let sets = match &self.sets {
            Some(sets) => sets.byte_count().min(left),
            None => (given / SET_SHARE).min(left / 4),
        };
        let large = (left - sets) / LARGE_SHARE;
        Ok(Some([sets, left - sets - large, large]))
    }

    fn candidates_in_order(mut self, text_at: Option<Vec<u32>>) -> Result<SimilarCandidates> {
        let shares = self.shares(text_at.is_some())?;
        let count = self.columns.len();
        let place_of = text_at.as_ref().map(|text_at| {
            let mut place_of = vec![0; count];
            for (place, &text) in (0..).zip(text_at) {
                place_of[text as usize] = place;
            }
            place_of
        });
        let place = |text: usize| match &place_of {
            Some(place_of) => place_of[text],
            None => text as u32,
        };
        let text = |place: usize| match &text_at {
            Some(text_at) => text_at[place] as usize,
            None => place,
        };
        let band_count = self.banding().band_count();
        let firsts = first_equals(&self.columns, band_count, place)?;
        let temp_dir = self.options.temp_dir.clone();
        let mut groups = Groups::new(shares.map(|[_, groups, _]| groups), temp_dir.as_deref());
        let mut is_candidate = vec![false; count];
        for band in 0..band_count {
            let takes_part = |text| Some(place(text)).filter(|&p| firsts[p as usize] == NONE);
            let mut group_of = groups.add_band(self.columns.take(band)?, takes_part)?;
            for place in 0..count {
                match firsts[place] {
                    NONE => is_candidate[text(place)] |= group_of[place] != NONE,
                    first => group_of[place] = group_of[first as usize],
                }
            }
            self.columns.put(band, group_of)?;
        }
        (0..HASH_NUMBERS).for_each(|i| self.columns.clear(band_count + i));
        // Memory that the groups do not use is for features and for data about large groups, except the part for texts
        // that are given.
        let left = groups.room().saturating_sub(BATCH_LEN as u64);
        let needs_sets = self.sets.is_none();
        let for_sets = if needs_sets { left / 2 } else { 0 };
        let sets = self.sets.unwrap_or_else(|| {
            let budget = shares.map(|[least, ..]| least + for_sets);
            Sets::new(count, budget, temp_dir.as_deref())
        });
        Ok(SimilarCandidates {
            similarity: self.options.similarity,
            fingerprinter: self.fingerprinter,
            columns: self.columns,
            groups,
            text_at,
            firsts,
            is_candidate,
            sets,
            large_budget: shares.map(|[.., least]| least + left - for_sets),
            needs_sets,
            kept_first: 0,
            pending: Vec::new(),
            pending_len: 0,
            compared: AtomicU64::new(0),
        })
    }
}

/// Returns the memory in bytes for `text_count` texts without their columns and features, if every text shares every
/// key with another one. It includes texts that are signed together, and a second copy of the places of features, which
/// is in use while columns are sorted.
fn most_of(text_count: u64, banding: Banding) -> u64 {
    let groups = MEMBER_LEN * banding.band_count() as u64;
    let with_large = groups * LARGE_SHARE / (LARGE_SHARE - 1);
    let texts = text_count.saturating_mul(TEXT_LEN + ORDER_LEN + with_large);
    texts.saturating_add(BATCH_LEN as u64)
}
