//! The journal: writes changes to disk before they are acknowledged, with one commit for several threads.

mod change;
mod committer;
mod mark;
mod overlay;
mod queue;
mod recovery;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redb::{Builder, Database, ReadTransaction, ReadableDatabase, TableDefinition};
use simidx::Width;

pub(crate) use change::{Change, Entry};
pub(crate) use recovery::Recovered;

use crate::error::{Error, Result, at};
use crate::options::{Options, Sync};
use crate::system::lock;
use change::{Rows, checked};
use committer::Committer;
use mark::{Mark, Marked};
use overlay::Overlay;
use queue::{Queue, Shared};
use recovery::{read, write_new};

/// Largest number of changes that wait for the committer when callers do not wait for the disk.
const MOST_WAITING: usize = 1 << 16;
/// Number of waiting changes from which on further ones are delayed, and the first delay, so that callers rarely stop.
const MANY_WAITING: usize = MOST_WAITING / 2;
const SLOWED: Duration = Duration::from_millis(1);

/// Deletions of records that are, or will be, in segments: the number of the change, and the id.
const DELETED: TableDefinition<u64, &[u8]> = TableDefinition::new("checked-deleted");
/// The prefix of the names of the tables with the changes of a generation.
const CHANGES: &str = "checked-changes-";

/// Largest number of bytes of the journal that are cached in memory.
const CACHE_LEN: usize = 32 << 20;

/// The names of the files of a journal in a folder.
pub(crate) const FILES: [&str; 2] = ["journal.redb", "journal.mark"];

/// The paths of the files of the journal in a folder.
fn paths(folder: &Path) -> [PathBuf; 2] {
    FILES.map(|name| folder.join(name))
}

/// The journal of an open collection.
#[derive(Debug)]
pub(crate) struct Journal {
    shared: Arc<Shared>,
    /// The database, until the journal is closed; `None` if it cannot be written from the start.
    database: Mutex<Option<Arc<Database>>>,
    mark: Arc<Mark>,
    committer: Mutex<Option<JoinHandle<()>>>,
    /// Length of the file in bytes.
    len: Arc<AtomicU64>,
    /// Whether the committer has to be woken.
    wakes: AtomicBool,
    sync: Sync,
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_LEN);
    // Otherwise redb trusts a file that was closed, and may then panic or answer incorrectly.
    builder.set_check_integrity_on_open(true);
    builder
}

fn journal_error(error: impl Into<redb::Error>) -> Error {
    Error::Journal(error.into().to_string())
}

fn damaged(what: &str) -> Error {
    Error::Journal(format!(
        "damaged journal: {what}; restore the folder from a backup"
    ))
}

/// Converts an error of redb: a damaged file is distinguished from a failure of the system.
fn opening_error(error: redb::DatabaseError) -> Error {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};

    let error = redb::Error::from(error);
    match &error {
        redb::Error::Corrupted(what) => damaged(what),
        redb::Error::Io(io) if matches!(io.kind(), InvalidData | UnexpectedEof) => {
            damaged(&io.to_string())
        }
        _ => journal_error(error),
    }
}

/// Returns a conversion that adds the name of the journal to an error.
fn named(path: &Path) -> impl Fn(Error) -> Error + '_ {
    move |error| match error {
        Error::Journal(error) => {
            let message = format!("{}: {error}", path.display());
            Error::Io(std::io::Error::other(message))
        }
        other => other,
    }
}

/// Creates an empty journal in a folder without one.
///
/// # Errors
/// Any error of the operating system.
pub(crate) fn make(folder: &Path) -> Result<()> {
    let [path, mark] = paths(folder);
    Mark::open(&mark)?.write_through(Marked::clean(0))?;
    write_new(&path, |_| Ok(())).map_err(named(&path))
}

/// Removes a journal without changes, which an interrupted creation has left.
///
/// # Errors
/// A journal that has changes or cannot be read, and any error of the operating system.
pub(crate) fn remove_unused(folder: &Path) -> Result<()> {
    let [path, mark] = paths(folder);
    let is_unused = Marked::read(&mark)?.acknowledged == 0 && (!path.exists() || is_empty(&path)?);
    if !is_unused {
        return Err(Error::NotACollection {
            path: folder.to_owned(),
            message: format!(
                "has a journal with changes and no {}; restore that file, or move {} away to begin anew",
                simidx::set::Manifest::FILE_NAME,
                FILES.join(" and ")
            ),
        });
    }
    for path in [path, mark] {
        if path.exists() {
            std::fs::remove_file(&path).map_err(at(&path))?;
        }
    }
    Ok(())
}

/// Whether a journal has no tables, as before its first change.
fn is_empty(path: &Path) -> Result<bool> {
    let (database, _) = open_checked(path, untouched, |_| Ok(()))?;
    let read = database.begin_read().map_err(journal_error);
    let tables = read.and_then(|read| Ok(read.list_tables().map_err(journal_error)?.count()));
    Ok(tables.map_err(named(path))? == 0)
}

/// Opens a file whose bytes are all on disk. redb may repair it in place.
fn in_place(path: &Path) -> Result<Database> {
    builder().open(path).map_err(opening_error)
}

/// Opens a file that is only read, because cached changes of the system may never reach the disk.
fn untouched(path: &Path) -> Result<Database> {
    let opened = Overlay::open(path).map_err(redb::DatabaseError::from);
    let opened = opened.and_then(|file| builder().create_with_backend(file));
    opened.map_err(opening_error)
}

/// Opens and reads a redb file. Errors name the file.
fn open_checked<T>(
    path: &Path,
    open: impl FnOnce(&Path) -> Result<Database>,
    read: impl FnOnce(&ReadTransaction) -> Result<T>,
) -> Result<(Database, T)> {
    // redb may panic on a damaged file.
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let database = open(path)?;
        let transaction = database.begin_read().map_err(journal_error)?;
        let found = read(&transaction)?;
        drop(transaction);
        Ok((database, found))
    }));
    let damaged = |_| Err(damaged("redb broke off"));
    opened.unwrap_or_else(damaged).map_err(named(path))
}

/// Returns the reason for a failure of the journal, without the prefix of the error.
fn failure_of(error: Error) -> String {
    match error {
        Error::Journal(error) => error,
        error => error.to_string(),
    }
}

fn file_len(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(at(path))?.len())
}

/// A consistent view of the changes in the journal.
pub(crate) struct View {
    transaction: ReadTransaction,
    sealed: u64,
}

impl View {
    /// Writes the changes as a journal to another folder, for a collection of a width. Returns the number of the last
    /// change.
    ///
    /// # Errors
    /// A damaged change, and any error of the operating system.
    pub(crate) fn copy(&self, width: Width, folder: &Path) -> Result<u64> {
        let [path, mark] = paths(folder);
        let recovered = read(&self.transaction, width, self.sealed)?;
        recovered.write(&path).map_err(named(&path))?;
        Mark::open(&mark)?.write_through(Marked::clean(recovered.last))?;
        Ok(recovered.last)
    }
}

impl Journal {
    /// Opens and reads the journal of a collection of this width in a folder. The changes up to `sealed` are in
    /// segments.
    ///
    /// After an unclean shutdown the journal is written anew. If an fsync failed, the pages that the system has cached
    /// of the old file may never have reached the disk, and never will. The old file remains unchanged until the new
    /// one replaces it. If the new one cannot be written, the journal has failed from the start.
    ///
    /// # Errors
    /// A journal that cannot be read or is damaged, or that lacks changes that were acknowledged.
    pub(crate) fn open(
        folder: &Path,
        width: Width,
        options: &Options,
        sealed: u64,
    ) -> Result<(Self, Recovered)> {
        let [path, mark_path] = paths(folder);
        let said = Marked::read(&mark_path)?;
        let mark = Arc::new(Mark::open(&mark_path)?);
        // Before the first write to the journal: if that fails, the next opening must know.
        let marked = mark.write_through(Marked::open(said.acknowledged));
        let is_trusted = said.is_clean && marked.is_ok();
        let open = if is_trusted { in_place } else { untouched };
        let (database, mut recovered) =
            open_checked(&path, open, |transaction| read(transaction, width, sealed))?;
        if said.acknowledged > recovered.last {
            let message = format!(
                "{}: damaged journal: it ends with change {}, and {} were acknowledged; restore the folder from a backup, or \
                 remove {} to go on without the others",
                path.display(),
                recovered.last,
                said.acknowledged,
                FILES[1],
            );
            return Err(Error::Io(std::io::Error::other(message)));
        }
        let is_good = is_trusted && !recovered.is_small_in(file_len(&path)?);
        let database = match is_good {
            true => Ok(database),
            false => {
                drop(database);
                let written = marked.and_then(|()| recovered.write(&path));
                recovered.generations.retain(|&(_, last)| last > sealed);
                written.and_then(|()| builder().open(&path).map_err(journal_error))
            }
        };
        let database = database.and_then(|database| {
            mark.write(Marked::open(recovered.last))?;
            Ok(Arc::new(database))
        });
        let shared = Arc::new(Shared::default());
        let mut queue = shared.lock();
        (queue.handed, queue.durable) = (recovered.last, recovered.last);
        let mut journal = Journal {
            shared: Arc::clone(&shared),
            database: Mutex::default(),
            mark,
            committer: Mutex::default(),
            len: Arc::new(AtomicU64::new(file_len(&path)?)),
            wakes: AtomicBool::new(false),
            sync: options.sync,
        };
        let database = match database {
            Ok(database) => database,
            Err(error) => {
                // Only the segments are known to be on disk.
                queue.durable = sealed;
                queue.failure = Some(format!("it cannot be written anew: {}", failure_of(error)));
                drop(queue);
                return Ok((journal, recovered));
            }
        };
        drop(queue);
        let committer = Committer {
            shared,
            database: Arc::clone(&database),
            mark: Arc::clone(&journal.mark),
            path,
            len: Arc::clone(&journal.len),
            sync: options.sync,
            interval: options.batch_interval,
        };
        let committer = std::thread::Builder::new()
            .name("simidx-journal".to_owned())
            .spawn(move || committer.run())?;
        journal.database = Mutex::new(Some(database));
        journal.committer = Mutex::new(Some(committer));
        Ok((journal, recovered))
    }

    /// Begins to read the current changes, as a recovery would find them.
    fn begin_read(&self) -> Result<Option<ReadTransaction>> {
        let database = lock(&self.database);
        let read = database.as_ref().map(|database| database.begin_read());
        read.transpose().map_err(journal_error)
    }

    /// Begins to read the current changes, for a copy of the journal. The changes up to `sealed` are in segments.
    ///
    /// # Errors
    /// A journal that cannot be written or read.
    pub(crate) fn view(&self, sealed: u64) -> Result<View> {
        self.sync()?;
        match self.begin_read()? {
            Some(transaction) => Ok(View {
                transaction,
                sealed,
            }),
            None => Err(Error::Journal("it is closed".to_owned())),
        }
    }

    /// Length of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Waits until the journal accepts changes. If changes arrive faster than they can be written, each is delayed a
    /// little.
    ///
    /// # Errors
    /// A journal that has failed.
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

    /// Queues a change; changes arrive in order. The caller must call [`Journal::wake`] soon, without holding a lock:
    /// waking a thread takes longer than a change.
    pub(crate) fn push(&self, entry: Entry) {
        if self.shared.lock().push(entry) {
            self.wakes.store(true, Ordering::Release);
        }
    }

    /// Wakes the committer if it may be asleep with a change in the queue.
    pub(crate) fn wake(&self) {
        if self.wakes.swap(false, Ordering::AcqRel) {
            self.shared.work.notify_one();
        }
    }

    /// Waits until a change may be acknowledged.
    ///
    /// # Errors
    /// A change that could not be written.
    pub(crate) fn acknowledge(&self, number: u64) -> Result<()> {
        match self.sync {
            Sync::Always => self.wait(self.shared.lock(), number),
            Sync::Batch | Sync::Never => Ok(()),
        }
    }

    /// Waits until all queued changes are on disk.
    ///
    /// # Errors
    /// A change that could not be written.
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

    /// Drops the deletions up to change `last` whose records are in none of the segments; `keep` selects deletions to
    /// keep.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub(crate) fn forget_deleted(&self, last: u64, keep: impl Fn(&str) -> bool) -> Result<()> {
        let mut forgotten = Vec::new();
        let Some(read) = self.begin_read()? else {
            return Ok(());
        };
        let Ok(table) = read.open_table(DELETED) else {
            return Ok(());
        };
        for row in table.range(..=last).map_err(journal_error)? {
            let (number, row) = row.map_err(journal_error)?;
            let id = checked(Rows::Deleted, number.value(), row.value());
            let id = id.and_then(|id| std::str::from_utf8(id).ok());
            let id = id.ok_or_else(|| Error::Journal("a deletion is damaged".to_owned()))?;
            if !keep(id) {
                forgotten.push(number.value());
            }
        }
        self.shared.lock().forgotten.append(&mut forgotten);
        self.shared.work.notify_one();
        Ok(())
    }

    /// The reason why the journal has failed, if it has.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }

    /// Writes everything to disk and ends the committer. Later changes fail.
    ///
    /// # Errors
    /// A change that could not be written.
    pub(crate) fn close(&self) -> Result<()> {
        let committer = lock(&self.committer).take();
        let Some(committer) = committer else {
            return Ok(());
        };
        let synced = self.sync();
        self.shared.lock().stops = true;
        self.shared.work.notify_one();
        let _ = committer.join();
        let mut queue = self.shared.lock();
        let has_failed = queue.failure.is_some();
        let closed = "the collection is closed".to_owned();
        queue.failure.get_or_insert(closed);
        let acknowledged = queue.durable;
        drop(queue);
        self.shared.done.notify_all();
        self.shared.room.notify_all();
        let database = lock(&self.database).take();
        if let Some(database) = database.and_then(Arc::into_inner)
            && database.close().is_ok()
            && !has_failed
        {
            // Without the mark, the journal is written anew at the next opening.
            let _ = self.mark.write_through(Marked::clean(acknowledged));
        }
        synced
    }
}

/// Returns the delay of a change when `waiting` changes wait for the committer.
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
    fn an_opening_that_fails_leaves_no_mark_of_a_clean_end() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        let [path, mark] = paths(folder.path());
        assert!(Marked::read(&mark).unwrap().is_clean);
        std::fs::write(&path, "damaged").unwrap();
        Journal::open(folder.path(), Width::W64, &Options::default(), 0).unwrap_err();
        assert!(!Marked::read(&mark).unwrap().is_clean);
    }

    #[test]
    fn a_writer_that_panics_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        let [path, mark] = paths(folder.path());
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
            database: Mutex::new(Some(Arc::new(Database::open(&path).unwrap()))),
            mark: Arc::new(Mark::open(&mark).unwrap()),
            len: Arc::default(),
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
