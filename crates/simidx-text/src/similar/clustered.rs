//! The texts of large groups by their clusters, so that a text that is linked with one is not held against its members.

use std::collections::HashMap;

use super::crowded::LARGE;
use super::digest::{Digest, FoldedDigest};

/// Bytes of a text that is alone in its cluster: a vector of four digests, and its place in another that may be twice as
/// large as what it holds.
const TEXT_LEN: u64 = 4 * size_of::<FoldedDigest>() as u64 + 2 * size_of::<Cluster>() as u64;

/// The texts of a group that are in one cluster.
type Cluster = Vec<FoldedDigest>;

/// The texts so far of all large groups, as far as there is memory for them.
#[derive(Debug)]
pub(super) struct Clustered {
    /// Texts for which there is memory left.
    room: u64,
    /// By band and group the clusters, `None` if there was no memory for them.
    clusters: HashMap<(usize, u32), Option<Vec<Cluster>>>,
}

impl Clustered {
    pub(super) fn new(budget: Option<u64>) -> Self {
        Clustered {
            room: budget.map_or(u64::MAX, |bytes| bytes / TEXT_LEN),
            clusters: HashMap::new(),
        }
    }

    /// The texts of a group: two lists may be of clusters that have become one since.
    pub(super) fn of(&self, band: usize, group: u32) -> Option<&[Cluster]> {
        self.clusters.get(&(band, group))?.as_deref()
    }

    /// Adds a text to a group of so many members. All of them must be added, in their order.
    pub(super) fn add(
        &mut self,
        of: (usize, u32),
        member_count: usize,
        place: u32,
        digest: Digest,
        is_linked: impl Fn(u32) -> bool,
    ) {
        if member_count < LARGE {
            return;
        }
        let entry = self.clusters.entry(of).or_insert(Some(Vec::new()));
        let Some(clusters) = entry else {
            return;
        };
        let digest = digest.folded(place).filter(|_| self.room > 0);
        let Some(digest) = digest else {
            // If one is missing, none is of use.
            let known: usize = clusters.iter().map(Vec::len).sum();
            self.room = self.room.saturating_add(known as u64);
            *entry = None;
            return;
        };
        self.room -= 1;
        let mut own = vec![digest];
        let mut i = 0;
        while i < clusters.len() {
            if !is_linked(clusters[i][0].place) {
                i += 1;
                continue;
            }
            let mut other = clusters.swap_remove(i);
            if other.len() > own.len() {
                std::mem::swap(&mut own, &mut other);
            }
            own.append(&mut other);
        }
        clusters.push(own);
    }
}
