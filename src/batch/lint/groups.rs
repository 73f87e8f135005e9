//! Records that share a fingerprint: how many, and the largest groups.

/// Records that share a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateGroup<F> {
    /// Records.
    pub record_count: u64,
    /// Their fingerprint.
    pub fingerprint: F,
    /// The id of the first of them, as text.
    pub id: String,
}

/// The largest groups seen so far.
pub(super) struct LargestGroups<F> {
    /// Largest first, of equally large ones the first seen.
    groups: Vec<DuplicateGroup<F>>,
    limit: usize,
}

impl<F> LargestGroups<F> {
    pub(super) fn new(limit: usize) -> Self {
        LargestGroups {
            groups: Vec::new(),
            limit,
        }
    }

    /// Sees a group; `id` is asked for only if it is among the largest.
    pub(super) fn push(&mut self, record_count: u64, fingerprint: F, id: impl FnOnce() -> String) {
        let is_full = self.groups.len() >= self.limit;
        let least = self.groups.last().map_or(0, |group| group.record_count);
        if record_count < 2 || (is_full && record_count <= least) {
            return;
        }
        let place = self
            .groups
            .partition_point(|g| g.record_count >= record_count);
        let group = DuplicateGroup {
            record_count,
            fingerprint,
            id: id(),
        };
        self.groups.insert(place, group);
        self.groups.truncate(self.limit);
    }

    pub(super) fn finish(self) -> Vec<DuplicateGroup<F>> {
        self.groups
    }
}
