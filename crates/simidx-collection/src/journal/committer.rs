//! The thread that writes the journal: all waiting changes in one commit.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::{Database, Durability, TableDefinition};

use super::change::{Rows, with_checksum};
use super::mark::{Mark, Marked};
use super::queue::{Commit, MOST_TOGETHER, Queue, Shared};
use super::{CHANGES, DELETED, failure_of, file_len, journal_error};
use crate::error::Result;
use crate::options::Sync;

/// Makes the journal fail if the writing thread panics, so that nobody waits for it forever.
pub(super) struct FailsOnPanic<'s>(pub(super) &'s Shared);

impl Drop for FailsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the thread that writes it broke off".to_owned();
            self.0.lock().failure.get_or_insert(message);
            self.0.done.notify_all();
            self.0.room.notify_all();
        }
    }
}

/// The writing thread.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) database: Arc<Database>,
    pub(super) mark: Arc<Mark>,
    /// The path of the file, and its length as other threads see it.
    pub(super) path: PathBuf,
    pub(super) len: Arc<AtomicU64>,
    pub(super) sync: Sync,
    pub(super) interval: Duration,
}

impl Committer {
    pub(super) fn run(&self) {
        let _failing = FailsOnPanic(&self.shared);
        let mut since = Instant::now();
        loop {
            let mut queue = self.shared.lock();
            while queue.is_idle() && !queue.stops {
                let waited = self.shared.work.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                since = Instant::now();
            }
            if queue.stops && queue.is_idle() {
                return;
            }
            if self.sync != Sync::Always {
                queue = self.gather(queue, since);
            }
            // Later changes have not waited longer than this.
            since = Instant::now();
            let commit = queue.take();
            drop(queue);
            self.shared.room.notify_all();
            let is_durable = self.sync != Sync::Never || commit.is_wanted;
            let written = self.write(&commit, is_durable);
            if let Ok(len) = file_len(&self.path) {
                self.len.store(len, Ordering::Relaxed);
            }
            let mut queue = self.shared.lock();
            let has_failed = written.is_err();
            match written {
                Ok(()) if is_durable => queue.durable = commit.last,
                Ok(()) => {}
                Err(error) => queue.failure = Some(failure_of(error)),
            }
            drop(queue);
            self.shared.done.notify_all();
            self.shared.room.notify_all();
            // Later changes must not be written without the lost ones.
            if has_failed {
                return;
            }
        }
    }

    /// Waits for further changes until the interval has passed, a caller waits, or there are enough for a commit.
    fn gather<'q>(
        &self,
        mut queue: MutexGuard<'q, Queue>,
        since: Instant,
    ) -> MutexGuard<'q, Queue> {
        let end = since + self.interval;
        while !queue.stops && queue.wanted <= queue.durable && queue.entries.len() < MOST_TOGETHER {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.work.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue
    }

    /// Writes changes. If they must be durable, marks them as acknowledged.
    fn write(&self, commit: &Commit, is_durable: bool) -> Result<()> {
        self.commit(commit, is_durable).map_err(journal_error)?;
        match is_durable {
            true => self.mark.write(Marked::open(commit.last)),
            false => Ok(()),
        }
    }

    fn commit(&self, commit: &Commit, is_durable: bool) -> Result<(), redb::Error> {
        let Commit {
            entries,
            sealed,
            forgotten,
            ..
        } = commit;
        let mut write = self.database.begin_write()?;
        let durability = if is_durable {
            Durability::Immediate
        } else {
            Durability::None
        };
        write.set_durability(durability)?;
        for group in entries.chunk_by(|a, b| a.generation == b.generation) {
            let name = format!("{CHANGES}{}", group[0].generation);
            let mut table = write.open_table(TableDefinition::<u64, &[u8]>::new(&name))?;
            for entry in group {
                table.insert(entry.number, &entry.bytes[..])?;
            }
        }
        if !forgotten.is_empty() || entries.iter().any(|entry| entry.deleted.is_some()) {
            let mut table = write.open_table(DELETED)?;
            for number in forgotten {
                table.remove(number)?;
            }
            for entry in entries {
                if let Some(id) = &entry.deleted {
                    let row = with_checksum(Rows::Deleted, entry.number, id.as_bytes().to_vec());
                    table.insert(entry.number, &row[..])?;
                }
            }
        }
        for generation in sealed {
            let name = format!("{CHANGES}{generation}");
            write.delete_table(TableDefinition::<u64, &[u8]>::new(&name))?;
        }
        write.commit()?;
        Ok(())
    }
}
