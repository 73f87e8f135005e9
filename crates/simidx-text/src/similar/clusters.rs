//! Clusters of similar texts: what chains of similar texts lead to.

use simidx::Result;

use super::SimilarDedup;
use super::search::{Buffers, SimilarCandidates};

/// Texts that are compared before their clusters are joined: at first few, since texts of one cluster are not compared.
const FIRST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 12;

impl SimilarCandidates {
    /// For each text the first one of its cluster. Two texts are in one cluster if a chain of similar ones leads from one
    /// to the other: the clusters are the connected components.
    ///
    /// # Errors
    ///
    /// A text that was needed and not given, and temporary files that cannot be read.
    pub fn clusters(&mut self) -> Result<Vec<usize>> {
        self.complete()?;
        let mut sets = DisjointSets::new(self.text_count());
        let (mut start, mut block) = (0, FIRST_BLOCK);
        while start < self.text_count() {
            let end = self.text_count().min(start + block);
            let roots = &sets;
            let similar = self.similar_in(start..end, |a, b| roots.root(a) != roots.root(b))?;
            for (place, similar) in (start..end).zip(similar) {
                for (other, _) in similar {
                    sets.join(place as u32, other);
                }
            }
            start = end;
            block = (2 * block).min(LARGEST_BLOCK);
        }
        let first = |text: usize| {
            let root = sets.root(self.place_of(text as u32));
            self.text_at(root) as usize
        };
        Ok((0..self.text_count()).map(first).collect())
    }

    /// Keeps the first text of each cluster. A text may be dropped though it is not similar to the one that is kept:
    /// it need only be similar to one that is similar to another, and so on.
    ///
    /// # Errors
    ///
    /// As for [`SimilarCandidates::clusters`].
    pub fn dedup_by_chains(mut self) -> Result<SimilarDedup> {
        let clusters = self.clusters()?;
        let mut buffers = Buffers::default();
        let mut decided = SimilarDedup::keeping(clusters.len());
        for (text, kept) in clusters.into_iter().enumerate() {
            if kept != text {
                let [one, other] = [text, kept].map(|text| self.place_of(text as u32));
                let jaccard = self.jaccard(one, other, &mut buffers)?;
                decided.drop_for(text as u32, kept as u32, jaccard);
            }
        }
        Ok(decided.with_counts(self.counts()))
    }
}

/// Sets of places, each named by its first one.
struct DisjointSets {
    /// The place itself, or one before it in the same set.
    before: Vec<u32>,
}

impl DisjointSets {
    fn new(count: usize) -> Self {
        DisjointSets {
            before: (0..count as u32).collect(),
        }
    }

    /// The first place of the set of a place.
    fn root(&self, mut place: u32) -> u32 {
        while self.before[place as usize] != place {
            place = self.before[place as usize];
        }
        place
    }

    fn join(&mut self, a: u32, b: u32) {
        let [a, b] = [self.root_of(a), self.root_of(b)];
        self.before[a.max(b) as usize] = a.min(b);
    }

    /// The same as `root`, and shortens the way for the next time.
    fn root_of(&mut self, place: u32) -> u32 {
        let root = self.root(place);
        let mut next = place;
        while next != root {
            next = std::mem::replace(&mut self.before[next as usize], root);
        }
        root
    }
}
