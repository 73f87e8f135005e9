//! All pairs of similar texts.

use rayon::prelude::*;
use simidx::Result;

use super::dedup::groups_of;
use super::search::{Buffers, SimilarCandidates};

/// Texts whose pairs are found before they are handed over.
const BLOCK: usize = 1 << 10;

/// Two similar texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// The text with the lower number.
    pub a: usize,
    /// The text with the higher number.
    pub b: usize,
    /// Their Jaccard similarity.
    pub jaccard: f64,
}

impl SimilarCandidates {
    /// Hands over each pair of similar texts once, ordered by `b` and then by `a`, if the candidates are in the order of
    /// the texts.
    ///
    /// # Errors
    ///
    /// What `visit` returns, a text that was needed and not given, and temporary files that cannot be read.
    pub fn for_each_pair<E: From<simidx::Error>>(
        &mut self,
        mut visit: impl FnMut(SimilarPair) -> Result<(), E>,
    ) -> Result<(), E> {
        self.complete()?;
        for start in (0..self.text_count()).step_by(BLOCK) {
            let end = self.text_count().min(start + BLOCK);
            for (place, similar) in (start..end).zip(self.similar_in(start..end, |_, _| true)?) {
                for (other, jaccard) in similar {
                    let [one, other] =
                        [place as u32, other].map(|place| self.text_at(place) as usize);
                    visit(SimilarPair {
                        a: one.min(other),
                        b: one.max(other),
                        jaccard,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// For each of the places those before it with similar texts for which `is_wanted`.
    pub(super) fn similar_in(
        &self,
        places: std::ops::Range<usize>,
        is_wanted: impl Fn(u32, u32) -> bool + Sync,
    ) -> Result<Vec<Vec<(u32, f64)>>> {
        let groups = self.groups_at(places.clone())?;
        let start = places.start;
        places
            .into_par_iter()
            .map_init(Buffers::default, |buffers, place| {
                let of_place = groups_of(&groups, place - start);
                let place = place as u32;
                self.all_similar(place, of_place, |other| is_wanted(other, place), buffers)
            })
            .collect()
    }
}
