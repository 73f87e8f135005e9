//! Clusters of similar texts: the connected components of similarity.

use std::ops::Range;

use rayon::prelude::*;
use simidx::watch::Stage;
use simidx::{Result, Watch};

use super::NONE;
use super::candidates::{Buffers, SimilarCandidates};
use super::clustered::Clustered;
use super::crowded::LARGE;
use super::dedup::{SimilarDedup, groups_of};
use super::digest::FoldedDigest;
use super::groups::place_of;

/// Number of texts that are compared together with earlier ones. It starts small, because few texts of a cluster need
/// comparisons.
const FIRST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 12;

/// Number of texts whose similarity to the first of their cluster is measured together.
const MEASURED_BLOCK: u32 = 1 << 14;

impl SimilarCandidates {
    /// Returns the first text of the cluster of each text. Two texts are in the same cluster if a chain of similar
    /// texts connects them: clusters are the connected components.
    ///
    /// `watch` is called on this thread with the number of assigned texts, every few thousand texts.
    ///
    /// # Errors
    /// A needed text that was not given, temporary files that cannot be read or written, and
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
        let mut clustered = Clustered::new(self.large_budget);
        let mut buffers = Buffers::default();
        let (mut start, mut block) = (0, FIRST_BLOCK);
        while start < count {
            watch.report(Stage::Compare, start as u64, count as u64)?;
            let end = count.min(start + block);
            let groups = self.groups_at(start..end)?;
            let known = (&clustered, &sets);
            let earlier: Result<Vec<_>> = (start..end)
                .into_par_iter()
                .map_init(Buffers::default, |buffers, place| {
                    let of_place = groups_of(&groups, place - start);
                    match self.firsts[place] {
                        NONE => {
                            self.to_link(place as u32, of_place, 0..start as u32, known, buffers)
                        }
                        _ => Ok(Vec::new()),
                    }
                })
                .collect();
            for (place, members) in (start as u32..end as u32).zip(earlier?) {
                let first = self.first_of(place);
                if first != place {
                    sets.join(first, place);
                    continue;
                }
                members.iter().for_each(|&member| sets.join(member, place));
                let of_place = || groups_of(&groups, place as usize - start);
                let (range, known) = (start as u32..place, (&clustered, &sets));
                let members = self.to_link(place, of_place(), range, known, &mut buffers)?;
                members.iter().for_each(|&member| sets.join(member, place));
                for (of, &member_count) in of_place().zip(&buffers.member_counts) {
                    let is_linked = |other| sets.root(other) == sets.root(place);
                    clustered.add(of, member_count, place, self.digest(place), is_linked);
                }
            }
            start = end;
            block = (2 * block).min(LARGEST_BLOCK);
        }
        Ok(sets)
    }

    /// Returns, from the members at these places of the groups of a text, one similar text of each cluster except its
    /// own. Data about large groups avoids look-ups of their members.
    fn to_link(
        &self,
        place: u32,
        groups: impl Iterator<Item = (usize, u32)>,
        range: Range<u32>,
        (clustered, sets): (&Clustered, &DisjointSets),
        buffers: &mut Buffers,
    ) -> Result<Vec<u32>> {
        let Buffers {
            members,
            member_counts,
            failed,
            one,
            other,
            ..
        } = buffers;
        let (own, least) = (self.digest(place), self.similarity.least());
        failed.clear();
        let folded = own.folded(place);
        let mut is_similar = |member: u32| {
            let mut found = false;
            if own.may_be_similar(self.digest(member), least) && failed.insert(member) {
                self.compare(place, [member].into_iter(), one, other, |_, _| {
                    found = true;
                    false
                })?;
            }
            Ok::<_, simidx::Error>(found)
        };
        // The text's own cluster, if it has other texts, and the clusters found.
        let own_root = Some(sets.root(place)).filter(|&root| root != place);
        let mut roots: Vec<u32> = own_root.into_iter().collect();
        let is_linked =
            |roots: &[u32], member| !roots.is_empty() && roots.contains(&sets.root(member));
        let mut found = Vec::new();
        member_counts.clear();
        for (band, group) in groups {
            let Some(clusters) = clustered.of(band, group) else {
                let members = self.groups.members(band, group, members)?;
                member_counts.push(members.len());
                let of_range = members.iter().map(place_of);
                for member in of_range.filter(|member| range.contains(member)) {
                    if !is_linked(&roots, member) && is_similar(member)? {
                        found.push(member);
                        roots.push(sets.root(member));
                    }
                }
                continue;
            };
            member_counts.push(LARGE);
            for cluster in clusters {
                if is_linked(&roots, cluster[0].place) {
                    continue;
                }
                let of_range = cluster
                    .iter()
                    .filter(|member| range.contains(&member.place));
                for member in of_range {
                    let may_be = |own: FoldedDigest| own.may_be_similar(*member, least);
                    if folded.is_none_or(may_be) && is_similar(member.place)? {
                        found.push(member.place);
                        roots.push(sets.root(member.place));
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Keeps the first text of each cluster. A dropped text need not be similar to the kept one: a chain of similar
    /// texts connects them.
    ///
    /// `watch` is called as by [`SimilarCandidates::clusters`].
    ///
    /// # Errors
    /// The errors of [`SimilarCandidates::clusters`].
    pub fn dedup_by_chains(mut self, watch: &Watch) -> Result<SimilarDedup> {
        let clusters = self.joined(watch)?;
        let count = self.text_count() as u32;
        let mut decided = SimilarDedup::undecided(vec![NONE; self.text_count()]);
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
                    decided.drop_for(place, kept, jaccard);
                }
            }
        }
        drop(clusters);
        self.decided(decided, Vec::new())
    }
}

/// Sets of places, each identified by its first place.
struct DisjointSets {
    /// For each place, itself or an earlier place of the same set.
    before: Vec<u32>,
}

impl DisjointSets {
    fn new(count: usize) -> Self {
        DisjointSets {
            before: (0..count as u32).collect(),
        }
    }

    /// Returns the first place of the set of a place.
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

    /// Returns [`DisjointSets::root`], and shortens the path for the next call.
    fn root_of(&mut self, place: u32) -> u32 {
        let root = self.root(place);
        let mut next = place;
        while next != root {
            next = std::mem::replace(&mut self.before[next as usize], root);
        }
        root
    }
}
