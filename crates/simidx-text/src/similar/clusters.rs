//! Clusters of similar texts: what chains of similar texts lead to.

use rayon::prelude::*;
use simidx::watch::Stage;
use simidx::{Result, Watch};

use super::NONE;
use super::candidates::{Buffers, Links, SimilarCandidates};
use super::clustered::Clustered;
use super::dedup::{Decisions, SimilarDedup, groups_of};

/// Texts that are compared with earlier ones together: at first few, since of those of one cluster few are compared.
const FIRST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 12;

/// Texts whose similarity to the first of their cluster is measured together.
const MEASURED_BLOCK: u32 = 1 << 14;

impl SimilarCandidates {
    /// For each text the first one of its cluster. Two texts are in one cluster if a chain of similar ones leads from one
    /// to the other: the clusters are the connected components.
    ///
    /// `watch` is called on this thread with how many texts are in their clusters, every few thousand of them.
    ///
    /// # Errors
    ///
    /// A text that was needed and not given, temporary files that cannot be read or written, and
    /// [`Error::Interrupted`](simidx::Error::Interrupted).
    pub fn clusters(&mut self, watch: &Watch) -> Result<Vec<usize>> {
        let clusters = self.joined(watch)?;
        let mut first = vec![usize::MAX; self.text_count()];
        // The first of a cluster in the order of decisions comes before all others of it.
        for place in 0..self.text_count() as u32 {
            let root = self.text_at(clusters.root(place));
            first[self.text_at(place) as usize] = root as usize;
        }
        Ok(first)
    }

    fn joined(&mut self, watch: &Watch) -> Result<DisjointSets> {
        self.complete()?;
        let count = self.text_count();
        let mut sets = DisjointSets::new(count);
        let mut clustered = Clustered::new(self.found.large_budget);
        let mut buffers = Buffers::default();
        let (mut start, mut block) = (0, FIRST_BLOCK);
        while start < count {
            watch.report(Stage::Compare, start as u64, count as u64)?;
            let end = count.min(start + block);
            let groups = self.groups_at(start..end)?;
            let earlier: Result<Vec<_>> = (start..end)
                .into_par_iter()
                .map_init(Buffers::default, |buffers, place| {
                    let mut links = Earlier::new(&sets);
                    if self.found.firsts[place] == NONE {
                        let of_place = groups_of(&groups, place - start);
                        self.link_similar(
                            place as u32,
                            of_place,
                            0..start as u32,
                            &clustered,
                            &mut links,
                            buffers,
                        )?;
                    }
                    Ok(links.members)
                })
                .collect();
            for (place, members) in (start as u32..end as u32).zip(earlier?) {
                let first = self.first_of(place);
                if first != place {
                    sets.join(first, place);
                    continue;
                }
                members
                    .into_iter()
                    .for_each(|member| sets.join(member, place));
                let of_place = || groups_of(&groups, place as usize - start);
                self.link_similar(
                    place,
                    of_place(),
                    start as u32..place,
                    &clustered,
                    &mut sets,
                    &mut buffers,
                )?;
                for (of, &member_count) in of_place().zip(&buffers.member_counts) {
                    let is_linked = |other| sets.are_linked(other, place);
                    clustered.add(of, member_count, place, self.digest(place), is_linked);
                }
            }
            start = end;
            block = (2 * block).min(LARGEST_BLOCK);
        }
        Ok(sets)
    }

    /// Keeps the first text of each cluster. A text may be dropped though it is not similar to the one that is kept:
    /// it need only be similar to one that is similar to another, and so on.
    ///
    /// `watch` is called as by [`SimilarCandidates::clusters`].
    ///
    /// # Errors
    ///
    /// As for [`SimilarCandidates::clusters`].
    pub fn dedup_by_chains(mut self, watch: &Watch) -> Result<SimilarDedup> {
        let clusters = self.joined(watch)?;
        let count = self.text_count() as u32;
        let mut decisions = Decisions::keeping(self.text_count());
        for start in (0..count).step_by(MEASURED_BLOCK as usize) {
            watch.report(Stage::Compare, count.into(), count.into())?;
            let of_place = |buffers: &mut Buffers, place| {
                let kept = clusters.root(place);
                let jaccard = match kept == place {
                    true => 1.0,
                    false => self.jaccard(place, kept, buffers)?,
                };
                Ok((place, kept, jaccard))
            };
            let places = (start..count.min(start + MEASURED_BLOCK)).into_par_iter();
            let measured: Result<Vec<_>> = places.map_init(Buffers::default, of_place).collect();
            for (place, kept, jaccard) in measured? {
                if kept != place {
                    decisions.drop_for(place, kept, jaccard);
                }
            }
        }
        drop(clusters);
        self.decided(decisions, Vec::new())
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

impl Links for DisjointSets {
    fn are_linked(&self, member: u32, place: u32) -> bool {
        self.root(member) == self.root(place)
    }

    fn link(&mut self, member: u32, place: u32) {
        self.join(member, place);
    }
}

/// Earlier texts that a text is similar to, one of each cluster.
struct Earlier<'s> {
    sets: &'s DisjointSets,
    members: Vec<u32>,
    /// Their clusters.
    roots: Vec<u32>,
}

impl<'s> Earlier<'s> {
    fn new(sets: &'s DisjointSets) -> Self {
        Earlier {
            sets,
            members: Vec::new(),
            roots: Vec::new(),
        }
    }
}

impl Links for Earlier<'_> {
    fn are_linked(&self, member: u32, _: u32) -> bool {
        !self.roots.is_empty() && self.roots.contains(&self.sets.root(member))
    }

    fn link(&mut self, member: u32, _: u32) {
        self.members.push(member);
        self.roots.push(self.sets.root(member));
    }
}
