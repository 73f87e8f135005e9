//! Collects texts, and finds which may be similar.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use simidx::{Error, Fingerprint, Result};

use super::columns::Columns;
use super::groups::Groups;
use super::sets::Sets;
use super::signature::Signer;
use super::{Banding, NONE};
use crate::compare::FeatureSet;
use crate::dedup::Similarity;
use crate::{Fingerprinter, ParallelFingerprinter, Pipeline};

/// Texts that wait until they are signed together, and bytes of them.
const BATCH_TEXTS: usize = 4096;
const BATCH_LEN: usize = 16 << 20;

/// Of a memory limit, the part of the keys and the part of the feature sets; the rest is for the groups and the texts.
const KEY_SHARE: u64 = 16;
const SET_SHARE: u64 = 8;

/// Bytes that each text takes beside its groups: while groups are made, and when the texts are decided on.
const TEXT_LEN: u64 = 24;

/// How similar texts are found. Start from [`SimilarOptions::default`] and set what differs.
///
/// ```
/// use simidx_text::dedup::Similarity;
/// use simidx_text::similar::SimilarOptions;
///
/// let mut options = SimilarOptions::default();
/// options.similarity = Similarity::of_words(0.9, 5)?;
/// options.memory = Some(1 << 30);
/// # Ok::<(), simidx_text::dedup::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SimilarOptions {
    /// How similar two texts must be. Default: at least 0.8 of all runs of three words.
    pub similarity: Similarity,
    /// Bytes of memory for keys, groups and feature sets; what does not fit goes to temporary files, but for the groups.
    /// By default there is no limit.
    pub memory: Option<u64>,
    /// The folder of these files. By default that of the system.
    pub temp_dir: Option<PathBuf>,
}

/// Signs texts for a [`SimilarTexts`], on any thread. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TextSigner {
    similarity: Similarity,
    banding: Banding,
}

/// A text that has been signed: its features, and the keys by which similar texts are found.
#[derive(Debug, Clone)]
pub struct SignedText {
    keys: Box<[u32]>,
    features: FeatureSet,
    has_features: bool,
}

impl SignedText {
    /// Whether the text has any feature. One without is similar only to those of the same bytes.
    pub fn has_features(&self) -> bool {
        self.has_features
    }
}

impl TextSigner {
    /// Takes a text apart: some microseconds a kilobyte.
    pub fn sign<F: Fingerprint>(
        &self,
        fingerprinter: &mut Fingerprinter<F>,
        text: &str,
    ) -> SignedText {
        let features = self.similarity.features(fingerprinter, text);
        let has_features = features.is_some();
        let features = features.unwrap_or_else(|| Similarity::without_features(text));
        SignedText {
            keys: Signer::new(self.banding).keys(features.hashes()),
            features,
            has_features,
        }
    }
}

/// Collects texts and finds those that are similar: all pairs of a Jaccard similarity of at least that of the options.
///
/// Texts are numbered from 0 in the order in which they come. Each gets a number of keys from the MinHash values of its
/// features ([`Banding`]). Texts that have one of their keys in common are compared, feature by feature. So whatever is
/// found has the similarity; with the default of 0.8 the search misses two in ten thousand of all similar pairs.
///
/// Memory: 24 bytes a text; up to 8 bytes a text for each key that it has in common with another one; 4 bytes a text and
/// key, which go to temporary files beyond a sixteenth of the limit; and 8 bytes for each feature of texts with common
/// keys, which go to a file beyond an eighth.
///
/// ```
/// use simidx_text::Pipeline;
/// use simidx_text::similar::{Fate, SimilarOptions, SimilarTexts};
///
/// let texts = [
///     "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it there.",
///     "A treatise on the growth of mushrooms in damp cellars.",
///     "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it.",
/// ];
/// let mut collected = SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default())?;
/// for text in texts {
///     collected.push(text)?;
/// }
/// let mut candidates = collected.candidates()?;
/// for (number, text) in texts.iter().enumerate() {
///     if candidates.needs_text(number) {
///         candidates.give(number, *text)?;
///     }
/// }
/// let found = candidates.dedup()?;
/// assert_eq!(found.fate(1), Fate::Kept);
/// assert!(matches!(found.fate(2), Fate::Dropped { kept: 0, jaccard } if jaccard > 0.8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SimilarTexts {
    options: SimilarOptions,
    fingerprinter: ParallelFingerprinter<u64>,
    columns: Columns,
    /// The features of all texts, as long as they fit.
    sets: Option<Sets>,
    /// Features in them.
    feature_count: u64,
    pending: Vec<String>,
    pending_len: usize,
}

impl SimilarTexts {
    /// No texts yet. Of the pipeline only the first stage counts, which finds the text in an HTML document, unless the
    /// similarity is that of the pipeline's features.
    ///
    /// # Errors
    ///
    /// As for [`Pipeline::fingerprinter`] with 64 bits.
    pub fn new(pipeline: &Pipeline, options: &SimilarOptions) -> crate::Result<Self> {
        let banding = Banding::for_similarity(options.similarity.least());
        let keys = options.memory.map(|memory| memory / KEY_SHARE);
        Ok(SimilarTexts {
            fingerprinter: pipeline.parallel()?,
            columns: Columns::new(banding.band_count(), keys, options.temp_dir.clone()),
            sets: Some(Sets::new(None, options.temp_dir.as_deref())),
            feature_count: 0,
            options: options.clone(),
            pending: Vec::new(),
            pending_len: 0,
        })
    }

    /// How the texts are found.
    pub fn banding(&self) -> Banding {
        Banding::for_similarity(self.options.similarity.least())
    }

    /// What signs texts elsewhere, to be pushed by [`SimilarTexts::push_signed`].
    pub fn signer(&self) -> TextSigner {
        TextSigner {
            similarity: self.options.similarity,
            banding: self.banding(),
        }
    }

    /// Number of texts so far.
    pub fn text_count(&self) -> usize {
        self.columns.len() + self.pending.len()
    }

    /// Takes the next text. Up to 4,096 texts wait until they are signed on all threads of the current rayon pool.
    ///
    /// # Errors
    ///
    /// More than 2^32 - 2 texts, and what keeps keys from being written to a temporary file.
    pub fn push(&mut self, text: impl Into<String>) -> Result<()> {
        let text = text.into();
        self.pending_len += text.len();
        self.pending.push(text);
        if self.pending.len() >= BATCH_TEXTS || self.pending_len >= BATCH_LEN {
            self.sign_pending()?;
        }
        Ok(())
    }

    /// Takes the next text, which has been signed by the [signer](SimilarTexts::signer).
    ///
    /// # Errors
    ///
    /// As for [`SimilarTexts::push`].
    pub fn push_signed(&mut self, text: SignedText) -> Result<()> {
        self.sign_pending()?;
        self.add(text)
    }

    fn sign_pending(&mut self) -> Result<()> {
        self.pending_len = 0;
        let pending = std::mem::take(&mut self.pending);
        let signer = self.signer();
        let sign = |fingerprinter: &mut Fingerprinter<u64>, text: &String| {
            signer.sign(fingerprinter, text)
        };
        for signed in self.fingerprinter.map(&pending, sign) {
            self.add(signed)?;
        }
        Ok(())
    }

    fn add(&mut self, text: SignedText) -> Result<()> {
        if self.columns.len() >= NONE as usize - 1 {
            return Err(Error::LimitReached {
                what: "texts",
                limit: u64::from(NONE) - 1,
            });
        }
        self.columns.push(&text.keys)?;
        let features = text.features.hashes();
        self.feature_count += features.len() as u64;
        let has_room = self.options.memory.is_none_or(|memory| {
            let sets = 8 * (self.feature_count + self.columns.len() as u64);
            sets <= memory / SET_SHARE
        });
        match &mut self.sets {
            Some(sets) if has_room => sets.push(features)?,
            sets => *sets = None,
        }
        Ok(())
    }

    /// Finds which texts have keys in common, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// A memory limit that is too small for the groups of texts, and temporary files that cannot be read or written.
    pub fn candidates(self) -> Result<SimilarCandidates> {
        self.candidates_in_order(None)
    }

    /// The same for [`SimilarCandidates::dedup`] in another order: texts of higher value are decided on first, of equal
    /// ones that with the lower number.
    ///
    /// # Errors
    ///
    /// As for [`SimilarTexts::candidates`].
    pub fn candidates_by(self, value: impl Fn(usize) -> u64) -> Result<SimilarCandidates> {
        let mut texts: Vec<u32> = (0..self.text_count() as u32).collect();
        texts.sort_by_key(|&text| std::cmp::Reverse(value(text as usize)));
        self.candidates_in_order(Some(texts))
    }

    /// Whether the memory is enough for groups of so many bytes in so many bands, and for the rest.
    fn check_budget(&self, groups: u64, bands: usize) -> Result<()> {
        let count = self.columns.len() as u64;
        let Some(given) = self.options.memory else {
            return Ok(());
        };
        let left = given - given / KEY_SHARE - given / SET_SHARE;
        if groups + TEXT_LEN * count <= left {
            return Ok(());
        }
        let expected = groups / bands as u64 * self.columns.count() as u64 + TEXT_LEN * count;
        Err(Error::Budget {
            purpose: format!("comparing {count} texts"),
            needed: expected + expected / 3,
            given,
        })
    }

    fn candidates_in_order(mut self, text_at: Option<Vec<u32>>) -> Result<SimilarCandidates> {
        self.sign_pending()?;
        let count = self.columns.len();
        let place_of = text_at.as_ref().map(|text_at| {
            let mut place_of = vec![0; count];
            for (place, &text) in (0..).zip(text_at) {
                place_of[text as usize] = place;
            }
            place_of
        });
        let place = |text: usize| {
            place_of
                .as_ref()
                .map_or(text as u32, |p: &Vec<u32>| p[text])
        };
        let mut bands = Vec::new();
        let mut is_candidate = vec![false; count];
        let mut needed = 0;
        for band in 0..self.columns.count() {
            let (groups, group_of) = Groups::new(&self.columns.take(band)?, place);
            for (place, &group) in group_of.iter().enumerate() {
                if group != NONE {
                    let text = text_at
                        .as_ref()
                        .map_or(place, |text_at| text_at[place] as usize);
                    is_candidate[text] = true;
                }
            }
            // Beside the groups, how many members of each are kept.
            needed += groups.byte_count() + 4 * groups.count() as u64;
            self.check_budget(needed, band + 1)?;
            self.columns.put(band, group_of)?;
            bands.push(groups);
        }
        let sets = self.options.memory.map(|memory| memory / SET_SHARE);
        let (sets, set_of) = match self.sets {
            Some(sets) => (sets, None),
            None => {
                let sets = Sets::new(sets, self.options.temp_dir.as_deref());
                (sets, Some(vec![NONE; count]))
            }
        };
        Ok(SimilarCandidates {
            similarity: self.options.similarity,
            fingerprinter: self.fingerprinter,
            columns: self.columns,
            bands,
            text_at,
            place_of,
            is_candidate,
            sets,
            set_of,
            pending: Vec::new(),
            pending_len: 0,
            compared: AtomicU64::new(0),
        })
    }
}

/// Texts of which some have keys in common. Those are compared once they are there.
#[derive(Debug)]
pub struct SimilarCandidates {
    pub(super) similarity: Similarity,
    fingerprinter: ParallelFingerprinter<u64>,
    /// The groups of the texts in each band, by place.
    columns: Columns,
    pub(super) bands: Vec<Groups>,
    /// The text of each place in the order of decisions, if that is not the order of the texts.
    text_at: Option<Vec<u32>>,
    /// The reverse.
    place_of: Option<Vec<u32>>,
    is_candidate: Vec<bool>,
    sets: Sets,
    /// The set of each text, if not all texts have one.
    set_of: Option<Vec<u32>>,
    pending: Vec<(u32, String)>,
    pending_len: usize,
    compared: AtomicU64,
}

/// What a search has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Texts that have a key in common with another one.
    pub candidate_count: u64,
    /// Pairs of texts whose features were compared.
    pub compared_count: u64,
}

/// Memory for comparing texts.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    candidates: Vec<u32>,
    ranked: Vec<(u32, u32)>,
    one: Vec<u64>,
    other: Vec<u64>,
}

impl SimilarCandidates {
    /// Number of texts.
    pub fn text_count(&self) -> usize {
        self.is_candidate.len()
    }

    /// Whether the text has to be given by [`SimilarCandidates::give`]: it may be similar to another one, and there was no
    /// memory to keep its features.
    pub fn needs_text(&self, text: usize) -> bool {
        self.set_of.is_some() && self.is_candidate.get(text) == Some(&true)
    }

    /// Whether any text has to be given.
    pub fn needs_texts(&self) -> bool {
        self.set_of.is_some() && self.is_candidate.contains(&true)
    }

    /// Takes a text that is needed, in any order.
    ///
    /// # Errors
    ///
    /// What keeps its features from being written to the temporary file.
    pub fn give(&mut self, number: usize, text: impl Into<String>) -> Result<()> {
        if !self.needs_text(number) {
            return Ok(());
        }
        let text = text.into();
        self.pending_len += text.len();
        self.pending.push((number as u32, text));
        if self.pending.len() >= BATCH_TEXTS || self.pending_len >= BATCH_LEN {
            self.take_pending()?;
        }
        Ok(())
    }

    fn take_pending(&mut self) -> Result<()> {
        self.pending_len = 0;
        let pending = std::mem::take(&mut self.pending);
        let similarity = self.similarity;
        let sets = self
            .fingerprinter
            .map(&pending, |fingerprinter, (_, text)| {
                similarity.feature_set(fingerprinter, text)
            });
        for ((text, _), set) in pending.iter().zip(sets) {
            if let Some(set_of) = &mut self.set_of {
                set_of[*text as usize] = self.sets.len() as u32;
            }
            self.sets.push(set.hashes())?;
        }
        Ok(())
    }

    /// Makes all sets readable.
    pub(super) fn complete(&mut self) -> Result<()> {
        self.take_pending()?;
        Ok(self.sets.flush()?)
    }

    /// What has been done so far.
    pub fn counts(&self) -> Counts {
        Counts {
            candidate_count: self.is_candidate.iter().filter(|&&is| is).count() as u64,
            compared_count: self.compared.load(Ordering::Relaxed),
        }
    }

    /// The text at a place.
    pub(super) fn text_at(&self, place: u32) -> u32 {
        match &self.text_at {
            Some(text_at) => text_at[place as usize],
            None => place,
        }
    }

    /// The place of a text.
    pub(super) fn place_of(&self, text: u32) -> u32 {
        match &self.place_of {
            Some(place_of) => place_of[text as usize],
            None => text,
        }
    }

    /// The groups of the texts at these places: for each band a row.
    pub(super) fn groups_at(&self, places: std::ops::Range<usize>) -> Result<Vec<Vec<u32>>> {
        let read = |band| {
            let mut row = Vec::with_capacity(places.len());
            self.columns.read(band, places.clone(), &mut row)?;
            Ok(row)
        };
        (0..self.bands.len()).map(read).collect()
    }

    /// The similarity of the texts at two places, if it is enough.
    pub(super) fn compare(&self, a: u32, b: u32, buffers: &mut Buffers) -> Result<Option<f64>> {
        let [a, b] = [self.set_at(a)?, self.set_at(b)?];
        let (less, more) = (self.sets.len_of(a), self.sets.len_of(b));
        let (less, more) = (less.min(more), less.max(more));
        // The similarity is at most that of a set within the other.
        if (less as f64) < self.similarity.least() * more as f64 {
            return Ok(None);
        }
        self.compared.fetch_add(1, Ordering::Relaxed);
        let a = self.sets.read(a, &mut buffers.one)?;
        let b = self.sets.read(b, &mut buffers.other)?;
        let jaccard = crate::feature_set::jaccard(a, b);
        Ok(Some(jaccard).filter(|&jaccard| jaccard >= self.similarity.least()))
    }

    /// The similarity of two texts, whatever it is. Each of them must have a key in common with some text.
    pub(super) fn jaccard(&self, a: u32, b: u32, buffers: &mut Buffers) -> Result<f64> {
        let [a, b] = [self.set_at(a)?, self.set_at(b)?];
        let a = self.sets.read(a, &mut buffers.one)?;
        let b = self.sets.read(b, &mut buffers.other)?;
        Ok(crate::feature_set::jaccard(a, b))
    }

    fn set_at(&self, place: u32) -> Result<usize> {
        let text = self.text_at(place);
        let set = self
            .set_of
            .as_ref()
            .map_or(text, |set_of| set_of[text as usize]);
        if set == NONE {
            let message = format!("text {text} was not given");
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, message).into());
        }
        Ok(set as usize)
    }

    /// The first of the candidates that is similar to the text at a place, those first that share most keys with it.
    /// `candidates` hands over the places of the members of a group to be looked at.
    pub(super) fn first_similar<'g>(
        &self,
        place: u32,
        groups: impl Iterator<Item = (usize, u32)>,
        candidates: impl Fn(usize, u32) -> &'g [u32],
        buffers: &mut Buffers,
    ) -> Result<Option<(u32, f64)>> {
        buffers.rank(groups.map(|(band, group)| candidates(band, group)));
        for i in 0..buffers.ranked.len() {
            let (_, candidate) = buffers.ranked[i];
            if let Some(jaccard) = self.compare(candidate, place, buffers)? {
                return Ok(Some((candidate, jaccard)));
            }
        }
        Ok(None)
    }

    /// All members of the groups before a place that are similar to the text there, and for which `is_wanted`.
    pub(super) fn all_similar(
        &self,
        place: u32,
        groups: impl Iterator<Item = (usize, u32)>,
        is_wanted: impl Fn(u32) -> bool,
        buffers: &mut Buffers,
    ) -> Result<Vec<(u32, f64)>> {
        buffers.candidates.clear();
        for (band, group) in groups {
            let members = self.bands[band].members(group);
            let before = &members[..members.partition_point(|&member| member < place)];
            buffers
                .candidates
                .extend(before.iter().filter(|&&other| is_wanted(other)));
        }
        buffers.candidates.sort_unstable();
        buffers.candidates.dedup();
        let mut similar = Vec::new();
        for i in 0..buffers.candidates.len() {
            let candidate = buffers.candidates[i];
            if let Some(jaccard) = self.compare(candidate, place, buffers)? {
                similar.push((candidate, jaccard));
            }
        }
        Ok(similar)
    }
}

impl Buffers {
    /// Puts members of groups in order: those of most groups first, then by place.
    fn rank<'g>(&mut self, groups: impl Iterator<Item = &'g [u32]>) {
        self.candidates.clear();
        groups.for_each(|members| self.candidates.extend_from_slice(members));
        self.candidates.sort_unstable();
        let same = self.candidates.chunk_by(|a, b| a == b);
        self.ranked.clear();
        self.ranked
            .extend(same.map(|same| (same.len() as u32, same[0])));
        self.ranked
            .sort_unstable_by_key(|&(shared, place)| (std::cmp::Reverse(shared), place));
    }
}
