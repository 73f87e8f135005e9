//! Which of a collection of texts to keep, so that each text that is dropped is similar to one that is kept.

use rayon::prelude::*;
use simidx::Result;

use super::NONE;
use super::search::{Buffers, Counts, SimilarCandidates};

/// Texts that are decided on together: at first few, since each of them that is kept spares the others comparisons.
const FIRST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 14;

/// What becomes of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// It is kept.
    Kept,
    /// It is dropped for a text that is kept.
    Dropped {
        /// The text that is kept.
        kept: usize,
        /// The Jaccard similarity of the two.
        jaccard: f64,
    },
}

/// Which texts are kept, and for which of them the others are dropped.
#[derive(Debug, Clone)]
pub struct SimilarDedup {
    /// For each text the one that is kept for it, or `NONE`.
    kept_for: Vec<u32>,
    /// Their similarity.
    jaccards: Vec<f64>,
    dropped_count: usize,
    counts: Counts,
}

impl SimilarDedup {
    /// All of so many texts are kept.
    pub(super) fn keeping(text_count: usize) -> Self {
        SimilarDedup {
            kept_for: vec![NONE; text_count],
            jaccards: vec![0.0; text_count],
            dropped_count: 0,
            counts: Counts::default(),
        }
    }

    /// Drops a text that has been kept.
    pub(super) fn drop_for(&mut self, text: u32, kept: u32, jaccard: f64) {
        self.kept_for[text as usize] = kept;
        self.jaccards[text as usize] = jaccard;
        self.dropped_count += 1;
    }

    pub(super) fn with_counts(mut self, counts: Counts) -> Self {
        self.counts = counts;
        self
    }

    /// What becomes of a text.
    ///
    /// # Panics
    ///
    /// If there is no such text.
    pub fn fate(&self, text: usize) -> Fate {
        match self.kept_for[text] {
            NONE => Fate::Kept,
            kept => Fate::Dropped {
                kept: kept as usize,
                jaccard: self.jaccards[text],
            },
        }
    }

    /// Whether a text is kept; so is one that was not among the texts.
    pub fn is_kept(&self, text: usize) -> bool {
        self.kept_for.get(text).is_none_or(|&kept| kept == NONE)
    }

    /// Number of texts.
    pub fn text_count(&self) -> usize {
        self.kept_for.len()
    }

    /// Number of texts that are dropped.
    pub fn dropped_count(&self) -> usize {
        self.dropped_count
    }

    /// What the search has done.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl SimilarCandidates {
    /// Decides on one text after the other, in the order of [`SimilarTexts::candidates`](super::SimilarTexts::candidates) or
    /// [`candidates_by`](super::SimilarTexts::candidates_by): a text is dropped if it is similar to one that is kept.
    ///
    /// So every dropped text has a kept one of at least the similarity, and no two kept ones are similar, as far as the
    /// search finds them. It works on all threads of the current rayon pool; the outcome does not depend on their number.
    ///
    /// # Errors
    ///
    /// A text that was needed and not given, and temporary files that cannot be read.
    pub fn dedup(mut self) -> Result<SimilarDedup> {
        self.complete()?;
        let count = self.text_count();
        let mut kept = Kept::new(&self);
        let mut decided = SimilarDedup::keeping(count);
        let (mut start, mut block) = (0, FIRST_BLOCK);
        while start < count {
            let end = count.min(start + block);
            let groups = self.groups_at(start..end)?;
            let earlier: Result<Vec<_>> = (start..end)
                .into_par_iter()
                .map_init(Buffers::default, |buffers, place| {
                    let of_place = groups_of(&groups, place - start);
                    self.first_similar(
                        place as u32,
                        of_place,
                        |band, group| kept.before(&self, band, group),
                        buffers,
                    )
                })
                .collect();
            let mut buffers = Buffers::default();
            for (place, found) in (start..end).zip(earlier?) {
                let found = match found {
                    Some(found) => Some(found),
                    None => {
                        // Not yet compared are those of this block that are kept.
                        let of_block = |band: usize, group: u32| {
                            let kept = kept.before(&self, band, group);
                            &kept[kept.partition_point(|&member| (member as usize) < start)..]
                        };
                        let of_place = groups_of(&groups, place - start);
                        self.first_similar(place as u32, of_place, of_block, &mut buffers)?
                    }
                };
                match found {
                    Some((other, jaccard)) => {
                        decided.drop_for(self.text_at(place as u32), self.text_at(other), jaccard);
                    }
                    None => {
                        for (band, group) in groups_of(&groups, place - start) {
                            kept.add(&mut self, band, group, place as u32);
                        }
                    }
                }
            }
            start = end;
            block = (2 * block).min(LARGEST_BLOCK);
        }
        Ok(decided.with_counts(self.counts()))
    }
}

/// The groups of the text in a row: the band and the number of each.
pub(super) fn groups_of(groups: &[Vec<u32>], row: usize) -> impl Iterator<Item = (usize, u32)> {
    let all = groups.iter().enumerate();
    all.map(move |(band, column)| (band, column[row]))
        .filter(|(_, group)| *group != NONE)
}

/// The kept members of each group stand first in it, so many of them.
struct Kept {
    counts: Vec<Vec<u32>>,
}

impl Kept {
    fn new(candidates: &SimilarCandidates) -> Self {
        let bands = candidates.bands.iter();
        Kept {
            counts: bands.map(|groups| vec![0; groups.count()]).collect(),
        }
    }

    /// Those that were kept so far.
    fn before<'c>(&self, candidates: &'c SimilarCandidates, band: usize, group: u32) -> &'c [u32] {
        let count = self.counts[band][group as usize] as usize;
        &candidates.bands[band].members(group)[..count]
    }

    /// Keeps the text at a place, which comes after all others that are kept.
    fn add(&mut self, candidates: &mut SimilarCandidates, band: usize, group: u32, place: u32) {
        let count = &mut self.counts[band][group as usize];
        // What it overwrites comes before it, and was dropped.
        candidates.bands[band].members_mut(group)[*count as usize] = place;
        *count += 1;
    }
}
