//! Nearly all pairs of similar texts.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use simidx::watch::Stage;
use simidx::{Result, Watch};

use super::NONE;
use super::candidates::{Buffers, SimilarCandidates};
use super::dedup::groups_of;

/// Largest number of texts whose pairs are found together, and number of pairs after which no further text is started.
const LARGEST_BLOCK: usize = 1 << 10;
const BLOCK_PAIRS: usize = 1 << 18;

/// Two similar texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// The text with the lower number.
    pub a: usize,
    /// The text with the higher number.
    pub b: usize,
    /// The Jaccard similarity of the two texts.
    pub jaccard: f64,
}

impl SimilarCandidates {
    /// Calls `visit` with each pair of similar texts once, ordered by `b` and then by `a`, if the candidates are in the
    /// order of the texts.
    ///
    /// # Errors
    /// An error of `visit`, a needed text that was not given, and temporary files that cannot be read.
    pub fn for_each_pair<E: From<simidx::Error>>(
        &mut self,
        mut visit: impl FnMut(SimilarPair) -> Result<(), E>,
    ) -> Result<(), E> {
        self.complete()?;
        let next_equal = self.next_equals();
        let mut similar = Vec::new();
        let (mut start, mut block) = (0, LARGEST_BLOCK);
        while start < self.text_count() {
            let end = self.text_count().min(start + block);
            let found = self.similar_in(start..end)?;
            let found_count = found.len();
            for (place, firsts) in (start as u32..).zip(found) {
                similar.clear();
                let own = self.first_of(place);
                for (first, jaccard) in firsts.into_iter().chain([(own, 1.0)]) {
                    let mut equal = first;
                    while equal < place {
                        similar.push((equal, jaccard));
                        equal = next_equal[equal as usize];
                    }
                }
                similar.sort_unstable_by_key(|&(place, _)| place);
                for &(other, jaccard) in &similar {
                    let [one, other] = [place, other].map(|place| self.text_at(place) as usize);
                    visit(SimilarPair {
                        a: one.min(other),
                        b: one.max(other),
                        jaccard,
                    })?;
                }
            }
            // The next block starts with the postponed texts and is smaller, so that fewer texts are postponed again.
            block = match start + found_count < end {
                true => found_count,
                false => (2 * block).min(LARGEST_BLOCK),
            };
            start += found_count;
        }
        Ok(())
    }

    /// Returns the number of pairs that [`SimilarCandidates::for_each_pair`] visits, without enumerating the pairs of
    /// equal texts. `watch` is called on this thread with the number of compared texts.
    ///
    /// # Errors
    /// A needed text that was not given, temporary files that cannot be read, and
    /// [`Error::Interrupted`](simidx::Error::Interrupted).
    pub fn count_pairs(&mut self, watch: &Watch) -> Result<u64> {
        self.complete()?;
        let mut equals = vec![0u64; self.text_count()];
        let mut count = 0;
        for place in 0..self.text_count() as u32 {
            let equals = &mut equals[self.first_of(place) as usize];
            // There are fewer than 2^30 texts, and so fewer than 2^59 pairs.
            count += *equals;
            *equals += 1;
        }
        let total = self.text_count() as u64;
        for start in (0..self.text_count()).step_by(LARGEST_BLOCK) {
            let end = self.text_count().min(start + LARGEST_BLOCK);
            let groups = self.groups_at(start..end)?;
            let counts: Result<Vec<u64>> = (start..end)
                .into_par_iter()
                .filter(|&place| self.firsts[place] == NONE)
                .map_init(Buffers::default, |buffers, place| {
                    let of_place = groups_of(&groups, place - start);
                    let similar = self.all_similar(place as u32, of_place, buffers)?;
                    let others = similar.iter().map(|&(other, _)| equals[other as usize]);
                    Ok(equals[place] * others.sum::<u64>())
                })
                .collect();
            count += counts?.into_iter().sum::<u64>();
            watch.report(Stage::Compare, end as u64, total)?;
        }
        Ok(count)
    }

    /// Returns, for each place, the next one with equal features, or `NONE`, which is greater than all places.
    fn next_equals(&self) -> Vec<u32> {
        let firsts = &self.firsts;
        let mut next = vec![NONE; firsts.len()];
        for (place, &first) in firsts.iter().enumerate().rev() {
            if first != NONE {
                next[place] = std::mem::replace(&mut next[first as usize], place as u32);
            }
        }
        next
    }

    /// Returns, for the first places of a range, the similar places before each. Of equal texts, only the first is
    /// included; a place's own equals are not. Processes at least one place, and stops when there are more pairs than
    /// memory should hold.
    fn similar_in(&self, places: Range<usize>) -> Result<Vec<Vec<(u32, f64)>>> {
        let groups = self.groups_at(places.clone())?;
        let start = places.start;
        let pair_count = AtomicUsize::new(0);
        let found: Result<Vec<_>> = places
            .into_par_iter()
            .map_init(Buffers::default, |buffers, place| {
                if place > start && pair_count.load(Ordering::Relaxed) > BLOCK_PAIRS {
                    return Ok(None);
                }
                let of_place = groups_of(&groups, place - start);
                let similar = self.all_similar(place as u32, of_place, buffers)?;
                pair_count.fetch_add(similar.len(), Ordering::Relaxed);
                Ok(Some(similar))
            })
            .collect();
        Ok(found?.into_iter().map_while(|similar| similar).collect())
    }
}
