//! The texts of large groups by their clusters: a text that is linked with a cluster is not compared with its other
//! members.

use std::collections::HashMap;

use super::crowded::LARGE;
use super::digest::{Digest, FoldedDigest};

/// Memory in bytes for a text that is alone in its cluster: a vector of four digests, and an element of another vector
/// that may have twice the required capacity.
const TEXT_LEN: u64 = 4 * size_of::<FoldedDigest>() as u64 + 2 * size_of::<Cluster>() as u64;

/// The texts of a group that are in the same cluster.
type Cluster = Vec<FoldedDigest>;

/// The texts of all large groups so far, as far as memory permits.
#[derive(Debug)]
pub(super) struct Clustered {
    /// Number of further texts that memory permits.
    room: u64,
    /// The clusters by band and group; `None` if memory was insufficient.
    clusters: HashMap<(usize, u32), Option<Vec<Cluster>>>,
}

impl Clustered {
    pub(super) fn new(budget: Option<u64>) -> Self {
        Clustered {
            room: budget.map_or(u64::MAX, |bytes| bytes / TEXT_LEN),
            clusters: HashMap::new(),
        }
    }

    /// Returns the texts of a group by cluster. Two lists may belong to clusters that have been merged since.
    pub(super) fn of(&self, band: usize, group: u32) -> Option<&[Cluster]> {
        self.clusters.get(&(band, group))?.as_deref()
    }

    /// Adds a text to a group of `member_count` members. All members must be added, in order.
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
            // An incomplete group is useless.
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
