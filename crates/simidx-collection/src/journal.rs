//! The journal: changes on disk before they are acknowledged, those of several threads in one commit.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use simidx::Fingerprint;

use crate::error::{Error, Result};
use crate::options::{Options, Sync};

/// Changes that wait for the committer at most where nobody waits for the disk.
const MOST_WAITING: usize = 1 << 16;
/// Changes in one commit at most, so that none is long.
const MOST_TOGETHER: usize = 4096;
/// Deletions that are forgotten in one commit.
const MOST_FORGOTTEN: usize = 4096;

/// Deletions of records that are, or will be, in segments: the number of the change, and the id.
const DELETED: TableDefinition<u64, &[u8]> = TableDefinition::new("deleted");
/// What the tables with the changes of a generation are called.
const CHANGES: &str = "changes-";

/// Bytes of the journal that are kept in memory at most.
const CACHE_LEN: usize = 32 << 20;

/// A change of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change<F> {
    /// The record with this id is this one from now on.
    Add { id: Arc<str>, fingerprint: F },
    /// There is no record with this id any more.
    Delete { id: Arc<str> },
}

impl<F: Fingerprint> Change<F> {
    pub(crate) fn id(&self) -> &Arc<str> {
        match self {
            Change::Add { id, .. } | Change::Delete { id } => id,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + F::BYTES + self.id().len());
        match self {
            Change::Add { id, fingerprint } => {
                bytes.push(b'+');
                fingerprint.extend_le(&mut bytes);
                bytes.extend_from_slice(id.as_bytes());
            }
            Change::Delete { id } => {
                bytes.push(b'-');
                bytes.extend_from_slice(id.as_bytes());
            }
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let id = |bytes| Some(Arc::from(std::str::from_utf8(bytes).ok()?));
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'+' => {
                let (fingerprint, rest) = rest.split_at_checked(F::BYTES)?;
                let fingerprint = F::from_le_slice(fingerprint)?;
                Some(Change::Add {
                    id: id(rest)?,
                    fingerprint,
                })
            }
            b'-' => Some(Change::Delete { id: id(rest)? }),
            _ => None,
        }
    }
}

/// A change that waits for the committer.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) generation: u64,
    bytes: Vec<u8>,
    /// The id, if a record is deleted by it that is in a segment or will be.
    deleted: Option<Arc<str>>,
}

impl Entry {
    pub(crate) fn new<F: Fingerprint>(
        number: u64,
        generation: u64,
        change: &Change<F>,
        deletes_sealed: bool,
    ) -> Self {
        Entry {
            number,
            generation,
            bytes: change.encode(),
            deleted: deletes_sealed.then(|| Arc::clone(change.id())),
        }
    }
}

/// What a journal has when it is opened.
#[derive(Debug)]
pub(crate) struct Recovered<F> {
    /// The changes with their numbers, in order.
    pub(crate) changes: Vec<(u64, Change<F>)>,
    /// The deletions of records in segments.
    pub(crate) deleted: Vec<(u64, String)>,
    pub(crate) generations: Vec<u64>,
}

impl<F> Recovered<F> {
    /// The last change that the journal knows of.
    pub(crate) fn last(&self) -> u64 {
        let change = self.changes.last().map_or(0, |change| change.0);
        change.max(self.deleted.last().map_or(0, |deleted| deleted.0))
    }
}

/// What the committer has to do.
#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    /// Generations whose changes are sealed.
    sealed: Vec<u64>,
    /// Deletions that have become true in all segments.
    forgotten: Vec<u64>,
    /// The last change that was handed over, that is on disk, and that somebody waits for.
    handed: u64,
    durable: u64,
    wanted: u64,
    failure: Option<String>,
    stops: bool,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.entries.is_empty()
            && self.sealed.is_empty()
            && self.forgotten.is_empty()
            && self.wanted <= self.durable
    }

    /// Takes what the next commit has.
    fn take(&mut self) -> Commit {
        let later = self
            .entries
            .split_off(self.entries.len().min(MOST_TOGETHER));
        let entries = std::mem::replace(&mut self.entries, later);
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

/// What is written together.
#[derive(Debug)]
struct Commit {
    entries: Vec<Entry>,
    sealed: Vec<u64>,
    forgotten: Vec<u64>,
    /// All changes up to this one are on disk after it, if it is durable.
    last: u64,
    /// Whether somebody waits for it.
    is_wanted: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal of an open collection.
#[derive(Debug)]
pub(crate) struct Journal {
    shared: Arc<Shared>,
    database: Arc<Database>,
    committer: Mutex<Option<JoinHandle<()>>>,
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
            sync: options.sync,
        };
        Ok((journal, recovered))
    }

    /// Waits until changes may come, and says whether they may at all.
    ///
    /// # Errors
    /// The journal has failed.
    pub(crate) fn admit(&self) -> Result<()> {
        let mut queue = self.shared.lock();
        while queue.failure.is_none() && queue.entries.len() >= MOST_WAITING {
            let waited = self.shared.done.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match &queue.failure {
            Some(failure) => Err(Error::Journal(failure.clone())),
            None => Ok(()),
        }
    }

    /// Takes a change; they come in order.
    pub(crate) fn push(&self, entry: Entry) {
        let mut queue = self.shared.lock();
        queue.handed = entry.number;
        queue.entries.push(entry);
        self.shared.work.notify_one();
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

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// What the tables hold.
fn read<F: Fingerprint>(database: &Database) -> Result<Recovered<F>> {
    let read = database.begin_read().map_err(journal_error)?;
    let mut generations = Vec::new();
    for table in read.list_tables().map_err(journal_error)? {
        let number = table
            .name()
            .strip_prefix(CHANGES)
            .and_then(|number| number.parse().ok());
        generations.extend(number.map(|number: u64| number));
    }
    generations.sort_unstable();
    let damaged = || Error::Journal("damaged journal: a change cannot be read".to_owned());
    let mut changes = Vec::new();
    for &generation in &generations {
        let name = format!("{CHANGES}{generation}");
        let table = read.open_table(TableDefinition::<u64, &[u8]>::new(&name));
        for row in table
            .map_err(journal_error)?
            .iter()
            .map_err(journal_error)?
        {
            let (number, bytes) = row.map_err(journal_error)?;
            let change = Change::decode(bytes.value()).ok_or_else(damaged)?;
            changes.push((number.value(), change));
        }
    }
    changes.sort_by_key(|change| change.0);
    let mut deleted = Vec::new();
    match read.open_table(DELETED) {
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table
                .map_err(journal_error)?
                .iter()
                .map_err(journal_error)?
            {
                let (number, id) = row.map_err(journal_error)?;
                let id = String::from_utf8(id.value().to_vec()).map_err(|_| damaged())?;
                deleted.push((number.value(), id));
            }
        }
    }
    Ok(Recovered {
        changes,
        deleted,
        generations,
    })
}

/// Lets the journal fail when the thread that writes panics, so that nobody waits for it.
struct FailsOnPanic<'s>(&'s Shared);

impl Drop for FailsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the thread that writes it broke off".to_owned();
            self.0.lock().failure.get_or_insert(message);
            self.0.done.notify_all();
        }
    }
}

/// The thread that writes.
struct Committer {
    shared: Arc<Shared>,
    database: Arc<Database>,
    sync: Sync,
    interval: Duration,
}

impl Committer {
    fn run(&self) {
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
            // What waits from now on has not waited longer.
            since = Instant::now();
            let commit = queue.take();
            drop(queue);
            let is_durable = self.sync != Sync::Never || commit.is_wanted;
            let written = self.write(&commit, is_durable);
            let mut queue = self.shared.lock();
            let has_failed = written.is_err();
            match written {
                Ok(()) if is_durable => queue.durable = commit.last,
                Ok(()) => {}
                Err(error) => queue.failure = Some(error.to_string()),
            }
            drop(queue);
            self.shared.done.notify_all();
            // What comes later must not be there without what is lost.
            if has_failed {
                return;
            }
        }
    }

    /// Waits for further changes, until the interval has passed, somebody waits, or there are enough for a commit.
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

    fn write(&self, commit: &Commit, is_durable: bool) -> Result<(), redb::Error> {
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
                    table.insert(entry.number, id.as_bytes())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        for change in [
            Change::Add {
                id: "é\0".into(),
                fingerprint: 0x0102_0304_u32,
            },
            Change::Delete { id: "a".into() },
        ] {
            let bytes = change.encode();
            assert_eq!(Change::decode(&bytes), Some(change));
        }
        for bad in [&b""[..], b"?a", b"+abc", b"-\xff", b"+abcd\xff"] {
            assert_eq!(Change::<u32>::decode(bad), None);
        }
    }

    fn entry(number: u64) -> Entry {
        let id = Arc::from("a");
        Entry::new(number, 1, &Change::<u64>::Delete { id }, false)
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
            sync: Sync::Always,
        };
        journal.push(entry(1));
        assert!(matches!(journal.acknowledge(1), Err(Error::Journal(_))));
        assert!(matches!(journal.admit(), Err(Error::Journal(_))));
        assert!(matches!(journal.close(), Err(Error::Journal(_))));
    }
}
