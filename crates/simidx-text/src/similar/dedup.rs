//! Decides which texts to keep, so that each dropped text is similar to a kept one.

use rayon::prelude::*;
use simidx::watch::Stage;
use simidx::{Result, Watch};

use super::NONE;
use super::candidates::{Buffers, Counts, SimilarCandidates};
use super::crowded::Crowded;
use super::templates::{self, Crowd, Crowds, Template};

/// Number of texts that are decided on together. It starts small, because each kept text saves comparisons of the
/// others.
const FIRST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 14;

/// The fate of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// The text is kept.
    Kept,
    /// The text is dropped, because it is similar to a kept one.
    Dropped {
        /// The number of the kept text.
        kept: usize,
        /// The Jaccard similarity of the two texts.
        jaccard: f64,
    },
}

/// The texts that are kept, and the kept text for each dropped one.
#[derive(Debug, Clone)]
pub struct SimilarDedup {
    /// For each text the text kept for it, or `NONE`; indexed by place until all texts are decided.
    kept_for: Vec<u32>,
    /// The similarity of each text to the one kept for it.
    jaccards: Vec<f64>,
    templates: Vec<Template>,
    counts: Counts,
}

impl SimilarDedup {
    /// Returns the fate of a text.
    ///
    /// # Panics
    /// If `text` is not below the number of texts.
    pub fn fate(&self, text: usize) -> Fate {
        match self.kept_for[text] {
            NONE => Fate::Kept,
            kept => Fate::Dropped {
                kept: kept as usize,
                jaccard: self.jaccards[text],
            },
        }
    }

    /// Whether a text is kept. Numbers beyond the texts count as kept.
    pub fn is_kept(&self, text: usize) -> bool {
        self.kept_for.get(text).is_none_or(|&kept| kept == NONE)
    }

    /// Number of texts.
    pub fn text_count(&self) -> usize {
        self.kept_for.len()
    }

    /// Number of dropped texts.
    pub fn dropped_count(&self) -> usize {
        let dropped = self.kept_for.iter().filter(|&&kept| kept != NONE);
        dropped.count()
    }

    /// The largest [templates](Template) among the kept texts, the largest first: at most ten, each of at least 20
    /// texts. [`SimilarCandidates::dedup_by_chains`] finds none.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Counts of the work of the search.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Creates a result whose texts are still to be decided on. `kept_for` has the initial value for each place.
    pub(super) fn undecided(kept_for: Vec<u32>) -> Self {
        SimilarDedup {
            jaccards: vec![0.0; kept_for.len()],
            kept_for,
            templates: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn drop_for(&mut self, place: u32, kept: u32, jaccard: f64) {
        self.kept_for[place as usize] = kept;
        self.jaccards[place as usize] = jaccard;
    }
}

impl SimilarCandidates {
    /// Makes [`SimilarCandidates::dedup`] keep the first `count` texts in the order of decisions, without a comparison
    /// between them: texts that an earlier run kept. One that is equal to an earlier one counts as its duplicate.
    pub fn keep_first(&mut self, count: usize) {
        self.kept_first = count;
    }

    /// Decides on the texts in the order of [`SimilarTexts::candidates`](super::SimilarTexts::candidates) or
    /// [`candidates_by`](super::SimilarTexts::candidates_by): a text is dropped if it is similar to a kept one.
    ///
    /// Thus every dropped text is similar to a kept one, and no two kept texts are similar, as far as the search finds
    /// them. It uses all threads of the current rayon pool; the result depends neither on their number nor on the
    /// memory.
    ///
    /// Cost: each text is compared with the kept texts that share a key with it. Texts of one template that are not
    /// similar enough are all kept, so their comparisons grow with the square of their number.
    ///
    /// `watch` is called on this thread with the number of decided texts, every few thousand texts.
    ///
    /// # Errors
    ///
    /// A needed text that was not given, temporary files that cannot be read or written, and
    /// [`Error::Interrupted`](simidx::Error::Interrupted).
    pub fn dedup(mut self, watch: &Watch) -> Result<SimilarDedup> {
        self.complete()?;
        let count = self.text_count();
        let mut crowds = Crowds::default();
        let mut crowded = Crowded::new(self.large_budget);
        // Until its turn, a text that is equal to an earlier one has that one in its place.
        let mut decided = SimilarDedup::undecided(std::mem::take(&mut self.firsts));
        let (mut start, mut block) = (0, FIRST_BLOCK);
        while start < count {
            watch.report(Stage::Compare, start as u64, count as u64)?;
            let end = count.min(start + block);
            let groups = self.groups_at(start..end)?;
            let earlier: Result<Vec<_>> = (start..end)
                .into_par_iter()
                .map_init(Buffers::default, |buffers, place| {
                    match decided.kept_for[place] {
                        NONE if place >= self.kept_first => {
                            let of_place = groups_of(&groups, place - start);
                            self.first_similar(place as u32, of_place, 0, &crowded, buffers)
                        }
                        _ => Ok(None),
                    }
                })
                .collect();
            let mut buffers = Buffers::default();
            for (place, found) in (start as u32..).zip(earlier?) {
                let first = decided.kept_for[place as usize];
                if first != NONE {
                    // A text has the same fate as its equal.
                    match decided.kept_for[first as usize] {
                        NONE => decided.drop_for(place, first, 1.0),
                        kept => decided.drop_for(place, kept, decided.jaccards[first as usize]),
                    }
                    continue;
                }
                let of_place = || groups_of(&groups, place as usize - start);
                // The kept texts of this block have not been compared yet.
                let found = match found {
                    Some(_) => found,
                    None => {
                        let is_kept = (place as usize) < self.kept_first;
                        let from = if is_kept { NONE } else { start as u32 };
                        self.first_similar(place, of_place(), from, &crowded, &mut buffers)?
                    }
                };
                if let Some((other, jaccard)) = found {
                    decided.drop_for(place, other, jaccard);
                    continue;
                }
                for ((band, group), &kept_count) in of_place().zip(&buffers.kept_counts) {
                    self.groups.keep(band, group, kept_count, place)?;
                    let groups = &self.groups;
                    crowds.note(groups, band, group, kept_count + 1)?;
                    let digest = |place| self.digest(place);
                    crowded.note(groups, (band, group), kept_count + 1, place, digest)?;
                }
            }
            start = end;
            block = (2 * block).min(LARGEST_BLOCK);
        }
        drop(crowded);
        let crowds = crowds.sorted(&self.groups)?;
        self.decided(decided, crowds)
    }

    /// Returns the result in the order of the texts.
    pub(super) fn decided(
        self,
        mut found: SimilarDedup,
        crowds: Vec<Crowd>,
    ) -> Result<SimilarDedup> {
        found.counts = self.counts();
        // This frees memory for the next steps.
        drop((self.sets, self.columns, self.firsts, self.is_candidate));
        let count = found.kept_for.len();
        found.templates = templates::templates(&self.groups, crowds, count)?;
        if let Some(text_at) = &self.text_at {
            let text = |place: u32| text_at[place as usize];
            let mut by_text = vec![NONE; count];
            let dropped = (0..)
                .zip(&found.kept_for)
                .filter(|(_, kept)| **kept != NONE);
            for (place, &kept) in dropped {
                by_text[text(place) as usize] = text(kept);
            }
            found.kept_for = by_text;
            let mut by_text = vec![0.0; count];
            for (place, &jaccard) in (0..).zip(&found.jaccards) {
                by_text[text(place) as usize] = jaccard;
            }
            found.jaccards = by_text;
            for template in &mut found.templates {
                template.example = text(template.example as u32) as usize;
            }
        }
        Ok(found)
    }
}

/// Returns the groups of the text in a row: the band and the number of each.
pub(super) fn groups_of(groups: &[Vec<u32>], row: usize) -> impl Iterator<Item = (usize, u32)> {
    let all = groups.iter().enumerate();
    all.map(move |(band, column)| (band, column[row]))
        .filter(|(_, group)| *group != NONE)
}
