//! The journal: changes on disk before they are acknowledged, those of several threads in one commit.

mod change;
mod committer;
mod queue;
mod recovery;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redb::{Database, ReadableDatabase, TableDefinition};
use simidx::Fingerprint;

pub(crate) use change::{Change, Entry};
pub(crate) use recovery::Recovered;

use crate::error::{Error, Result};
use crate::options::{Options, Sync};
use committer::Committer;
use queue::{Queue, Shared};
use recovery::read;

/// Changes that wait for the committer at most where nobody waits for the disk.
const MOST_WAITING: usize = 1 << 16;
/// Changes that wait from which on further ones are slowed down, so that they never come to a stop, and by how much.
const MANY_WAITING: usize = MOST_WAITING / 2;
const SLOWED: Duration = Duration::from_millis(1);

/// Deletions of records that are, or will be, in segments: the number of the change, and the id.
const DELETED: TableDefinition<u64, &[u8]> = TableDefinition::new("deleted");
/// What the tables with the changes of a generation are called.
const CHANGES: &str = "changes-";

/// Bytes of the journal that are kept in memory at most.
const CACHE_LEN: usize = 32 << 20;

/// The journal of an open collection.
#[derive(Debug)]
pub(crate) struct Journal {
    shared: Arc<Shared>,
    database: Arc<Database>,
    committer: Mutex<Option<JoinHandle<()>>>,
    /// Whether the committer has to be woken.
    wakes: AtomicBool,
    sync: Sync,
}

/// Makes an empty journal.
///
/// # Errors
/// What the operating system reports.
pub(crate) fn make(path: &Path) -> Result<()> {
    let made = Database::create(path).map_err(redb::Error::from);
    made.map(|_| ()).map_err(|error| {
        Error::Io(std::io::Error::other(format!(
            "{}: {error}",
            path.display()
        )))
    })
}

fn journal_error(error: impl Into<redb::Error>) -> Error {
    Error::Journal(error.into().to_string())
}

impl Journal {
    /// Opens a journal and reads it.
    ///
    /// # Errors
    /// A journal that cannot be read or is damaged.
    pub(crate) fn open<F: Fingerprint>(
        path: &Path,
        options: &Options,
        last: u64,
    ) -> Result<(Self, Recovered<F>)> {
        let named = |error: String| {
            Error::Io(std::io::Error::other(format!(
                "{}: {error}",
                path.display()
            )))
        };
        // It may panic on a file that is cut short.
        let opened = std::panic::catch_unwind(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_LEN);
            let database = builder.open(path).map_err(journal_error)?;
            Ok((read::<F>(&database)?, database))
        });
        let (recovered, database) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(Error::Journal(message))) => return Err(named(message)),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(named("damaged journal".to_owned())),
        };
        let last = last.max(recovered.last());
        let shared = Arc::new(Shared::default());
        let mut queue = shared.lock();
        (queue.handed, queue.durable) = (last, last);
        drop(queue);
        let database = Arc::new(database);
        let committer = Committer {
            shared: Arc::clone(&shared),
            database: Arc::clone(&database),
            sync: options.sync,
            interval: options.batch_interval,
        };
        let committer = std::thread::Builder::new()
            .name("simidx-journal".to_owned())
            .spawn(move || committer.run())?;
        let journal = Journal {
            shared,
            database,
            committer: Mutex::new(Some(committer)),
            wakes: AtomicBool::new(false),
            sync: options.sync,
        };
        Ok((journal, recovered))
    }

    /// Waits until changes may come, and says whether they may at all. Those that come faster than they can be written are
    /// slowed down a little each.
    ///
    /// # Errors
    /// The journal has failed.
    pub(crate) fn admit(&self) -> Result<()> {
        let mut queue = self.shared.lock();
        let waiting = queue.entries.len();
        if queue.failure.is_none() && waiting >= MANY_WAITING {
            drop(queue);
            std::thread::sleep(slowed(waiting));
            queue = self.shared.lock();
        }
        while queue.failure.is_none() && queue.entries.len() >= MOST_WAITING {
            let waited = self.shared.room.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match &queue.failure {
            Some(failure) => Err(Error::Journal(failure.clone())),
            None => Ok(()),
        }
    }

    /// Takes a change; they come in order. Whoever hands it over calls [`Journal::wake`] soon, without a lock: waking a thread
    /// takes longer than a change.
    pub(crate) fn push(&self, entry: Entry) {
        if self.shared.lock().push(entry) {
            self.wakes.store(true, Ordering::Release);
        }
    }

    /// Wakes the committer if it may sleep over a change.
    pub(crate) fn wake(&self) {
        if self.wakes.swap(false, Ordering::AcqRel) {
            self.shared.work.notify_one();
        }
    }

    /// Waits until a change may be acknowledged.
    ///
    /// # Errors
    /// It could not be written.
    pub(crate) fn acknowledge(&self, number: u64) -> Result<()> {
        match self.sync {
            Sync::Always => self.wait(self.shared.lock(), number),
            Sync::Batch | Sync::Never => Ok(()),
        }
    }

    /// Waits until all changes that have come are on disk.
    ///
    /// # Errors
    /// They could not be written.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut queue = self.shared.lock();
        let handed = queue.handed;
        queue.wanted = queue.wanted.max(handed);
        self.shared.work.notify_one();
        self.wait(queue, handed)
    }

    fn wait(&self, mut queue: MutexGuard<'_, Queue>, number: u64) -> Result<()> {
        loop {
            if queue.durable >= number {
                return Ok(());
            }
            if let Some(failure) = &queue.failure {
                return Err(Error::Journal(failure.clone()));
            }
            let waited = self.shared.done.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the changes of generations that are in segments.
    pub(crate) fn drop_generations(&self, generations: &[u64]) {
        self.shared.lock().sealed.extend_from_slice(generations);
        self.shared.work.notify_one();
    }

    /// Drops deletions whose records are in no segment any more: those up to a change, but those to keep.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn forget_deleted(&self, last: u64, keep: impl Fn(&str) -> bool) -> Result<()> {
        let mut forgotten = Vec::new();
        let read = self.database.begin_read().map_err(journal_error)?;
        let Ok(table) = read.open_table(DELETED) else {
            return Ok(());
        };
        for row in table.range(..=last).map_err(journal_error)? {
            let (number, id) = row.map_err(journal_error)?;
            if !std::str::from_utf8(id.value()).is_ok_and(&keep) {
                forgotten.push(number.value());
            }
        }
        self.shared.lock().forgotten.append(&mut forgotten);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Why it failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }

    /// Brings everything to disk and ends the committer.
    ///
    /// # Errors
    /// What could not be written.
    pub(crate) fn close(&self) -> Result<()> {
        let committer = self
            .committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(committer) = committer else {
            return Ok(());
        };
        let synced = self.sync();
        self.shared.lock().stops = true;
        self.shared.work.notify_one();
        let _ = committer.join();
        synced
    }
}

/// How long a change waits before it may come, where so many wait for the committer.
fn slowed(waiting: usize) -> Duration {
    let steps = (waiting - MANY_WAITING) * 5 / (MOST_WAITING - MANY_WAITING);
    SLOWED * 2_u32.pow(steps.min(4) as u32)
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use committer::FailsOnPanic;
    use queue::tests::entry;

    #[test]
    fn a_writer_that_panics_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        make(&path).unwrap();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let committer = std::thread::spawn(move || {
            let _failing = FailsOnPanic(&of_thread);
            let mut queue = of_thread.lock();
            while queue.entries.is_empty() {
                queue = of_thread.work.wait(queue).unwrap();
            }
            panic!("as if a change could not be written");
        });
        let journal = Journal {
            shared,
            database: Arc::new(Database::open(&path).unwrap()),
            committer: Mutex::new(Some(committer)),
            wakes: AtomicBool::new(false),
            sync: Sync::Always,
        };
        journal.push(entry(1));
        journal.wake();
        assert!(matches!(journal.acknowledge(1), Err(Error::Journal(_))));
        assert!(matches!(journal.admit(), Err(Error::Journal(_))));
        assert!(matches!(journal.close(), Err(Error::Journal(_))));
    }
}
