//! The changes that wait for the committer, and how many of them one commit takes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use super::change::Entry;
use crate::system::lock;

/// The most changes in one commit, so that each is short.
pub(super) const MOST_TOGETHER: usize = 2048;
/// The most deletions that one commit drops.
const MOST_FORGOTTEN: usize = 4096;

/// The work of the committer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) entries: VecDeque<Entry>,
    /// Generations whose changes are sealed.
    pub(super) sealed: Vec<u64>,
    /// Deletions that are now applied in all segments.
    pub(super) forgotten: Vec<u64>,
    /// The last change that was passed on, the last on disk, and the last that a caller waits for.
    pub(super) handed: u64,
    pub(super) durable: u64,
    pub(super) wanted: u64,
    pub(super) failure: Option<String>,
    pub(super) stops: bool,
}

impl Queue {
    pub(super) fn is_idle(&self) -> bool {
        self.entries.is_empty()
            && self.sealed.is_empty()
            && self.forgotten.is_empty()
            && self.wanted <= self.durable
    }

    /// Takes a change. Returns whether the committer may be asleep.
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        self.handed = entry.number;
        self.entries.push_back(entry);
        matches!(self.entries.len(), 1 | MOST_TOGETHER)
    }

    /// Takes the contents of the next commit.
    pub(super) fn take(&mut self) -> Commit {
        let count = self.entries.len().min(MOST_TOGETHER);
        let entries: Vec<Entry> = self.entries.drain(..count).collect();
        let last = match (self.entries.is_empty(), entries.last()) {
            (false, Some(last)) => last.number,
            _ => self.handed,
        };
        let left = self.forgotten.len().saturating_sub(MOST_FORGOTTEN);
        Commit {
            entries,
            sealed: std::mem::take(&mut self.sealed),
            forgotten: self.forgotten.split_off(left),
            last,
            is_wanted: self.wanted > self.durable,
        }
    }
}

/// The contents of a commit.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) entries: Vec<Entry>,
    pub(super) sealed: Vec<u64>,
    pub(super) forgotten: Vec<u64>,
    /// All changes up to this one are on disk after the commit, if it is durable.
    pub(super) last: u64,
    /// Whether a caller waits for it.
    pub(super) is_wanted: bool,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) queue: Mutex<Queue>,
    pub(super) work: Condvar,
    pub(super) done: Condvar,
    pub(super) room: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use simidx::Width;

    use super::*;
    use crate::journal::Change;

    /// Returns a deletion.
    pub(in crate::journal) fn entry(number: u64) -> Entry {
        let id = Arc::from("a");
        Entry::new(number, 1, Width::W64, &Change::Delete { id }, false)
    }

    #[test]
    fn a_commit_has_a_bounded_number_of_changes() {
        let mut queue = Queue::default();
        let most = MOST_TOGETHER as u64;
        queue.entries.extend((1..=2 * most + 5).map(entry));
        queue.handed = 2 * most + 5;
        for (len, last) in [(most, most), (most, 2 * most), (5, 2 * most + 5)] {
            let commit = queue.take();
            assert_eq!((commit.entries.len() as u64, commit.last), (len, last));
            assert_eq!(commit.entries.last().map(|entry| entry.number), Some(last));
        }
        assert!(queue.is_idle());
    }
}
