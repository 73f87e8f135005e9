//! The state that the collection and its threads share, with the journal and the manifest.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Instant;

use simidx::set::{Manifest, SetScratch};

use crate::error::Result;
use crate::files::{self, Folder, Settings};
use crate::journal::{Change, Journal};
use crate::options::Options;
use crate::recent::Recent;
use crate::state::{Place, State, places};
use crate::system::{MERGING, give_way, lock};

/// An open collection, shared by all its threads.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) folder: Folder,
    pub(crate) settings: Settings,
    pub(crate) options: Options,
    state: RwLock<State>,
    pub(crate) journal: Journal,
    /// The published manifest. Its lock is needed to replace segments.
    manifest: Mutex<Manifest>,
    /// Sealing and merging have separate locks, so that a long merge does not block sealing.
    pub(crate) sealing: Work,
    pub(crate) merging: Work,
    /// Locked for reading by each snapshot that copies files of the folder.
    pub(crate) copying: RwLock<()>,
    /// The number of lots that wait to be sealed, as in the state.
    pub(crate) frozen_count: AtomicUsize,
    scratches: Mutex<Vec<SetScratch>>,
    pub(crate) next_segment: AtomicU64,
    pub(crate) stops: Arc<AtomicBool>,
    /// Counts events that may give the threads work.
    signals: Mutex<u64>,
    signalled: Condvar,
}

/// A kind of background work.
#[derive(Debug)]
pub(crate) struct Work {
    /// Locked by the thread that does the work.
    pub(crate) only: Mutex<()>,
    pub(crate) threads: rayon::ThreadPool,
    /// The number of times that it was done.
    pub(crate) count: AtomicU64,
    /// Its last error.
    error: Mutex<Option<String>>,
}

impl Work {
    /// Creates work on its own threads, each of which calls `start` first.
    fn new(name: &'static str, threads: usize, start: fn()) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |_| name.to_owned())
            .start_handler(move |_| start())
            .build();
        Ok(Work {
            only: Mutex::default(),
            threads: pool.map_err(std::io::Error::other)?,
            count: AtomicU64::new(0),
            error: Mutex::default(),
        })
    }

    pub(crate) fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }

    pub(crate) fn note(&self, error: Option<String>) {
        *lock(&self.error) = error;
    }
}

impl Core {
    /// Opens the collection in a folder that is locked: the segments, then the later changes in the journal.
    ///
    /// # Errors
    /// A damaged segment or journal.
    pub(crate) fn open(folder: Folder, options: Options) -> Result<Self> {
        let path = folder.path().to_owned();
        let (manifest, settings) = files::read_manifest(&path)?;
        folder.sweep(&manifest)?;
        let sealed = files::sealed(&manifest, &path)?;
        let segments = files::open_segments(&manifest, &path, settings.width)?;
        let (journal, recovered) = Journal::open(&path, settings.width, &options, sealed)?;
        let generation = recovered.generations.last().map_or(1, |last| last.0 + 1);
        let mut state = State {
            last: recovered.last,
            segments: Arc::new(segments),
            deleted: Default::default(),
            frozen: Vec::new(),
            active: Recent::new(settings.width, generation),
            next_generation: generation + 1,
            sealed_at: Instant::now(),
        };
        for (number, id) in recovered.deleted {
            let segments = Arc::clone(&state.segments);
            for segment in segments.iter().filter(|segment| segment.last < number) {
                for (segment, _) in places(std::slice::from_ref(segment), &id)? {
                    state.kill(Place::Segment(segment), &id);
                }
            }
        }
        replay(
            &mut state,
            &options,
            recovered.changes,
            recovered.generations,
        );
        let frozen = state.frozen.len();
        let core = Core {
            folder,
            settings,
            state: RwLock::new(state),
            journal,
            next_segment: AtomicU64::new(files::next_number(&manifest)),
            manifest: Mutex::new(manifest),
            sealing: Work::new("simidx-seal", options.threads, || ())?,
            merging: Work::new("simidx-merge", options.threads, || give_way(MERGING))?,
            copying: RwLock::default(),
            frozen_count: AtomicUsize::new(frozen),
            scratches: Mutex::default(),
            stops: Arc::default(),
            signals: Mutex::default(),
            signalled: Condvar::new(),
            options,
        };
        core.forget_deleted()?;
        Ok(core)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn manifest(&self) -> MutexGuard<'_, Manifest> {
        lock(&self.manifest)
    }

    /// Calls `search` with a scratch.
    pub(crate) fn with_scratch<T>(&self, search: impl FnOnce(&mut SetScratch) -> T) -> T {
        let free = lock(&self.scratches).pop();
        let mut scratch = free.unwrap_or_default();
        let result = search(&mut scratch);
        lock(&self.scratches).push(scratch);
        result
    }

    /// Releases the folder, once nothing is being sealed, merged or copied.
    pub(crate) fn let_go(&self) {
        let _sealing = self.sealing.only.lock();
        let _merging = self.merging.only.lock();
        let _copying = self.copying.write();
        let _manifest = self.manifest();
        self.folder.unlock();
    }

    /// Tells the background threads to look for work.
    pub(crate) fn signal(&self) {
        *lock(&self.signals) += 1;
        self.signalled.notify_all();
    }

    /// Waits for a signal after `seen`, for at most this time.
    pub(crate) fn wait_for_signal(&self, seen: &mut u64, at_most: std::time::Duration) {
        let signals = lock(&self.signals);
        let waited = self
            .signalled
            .wait_timeout_while(signals, at_most, |signals| {
                *signals == *seen && !self.stops.load(Ordering::Relaxed)
            });
        *seen = *waited.unwrap_or_else(PoisonError::into_inner).0;
    }

    /// Freezes the active records so that they can be sealed, if there are any changes.
    pub(crate) fn freeze(&self, state: &mut State) {
        if state.freeze() {
            self.frozen_count
                .store(state.frozen.len(), Ordering::Relaxed);
            self.signal();
        }
    }

    /// Drops deletions whose records are no longer in any segment.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn forget_deleted(&self) -> Result<()> {
        let (last, deleted, killed) = {
            let state = self.read();
            let killed = state
                .frozen
                .iter()
                .flat_map(|frozen| frozen.killed.iter().cloned());
            let killed: std::collections::HashSet<Arc<str>> = killed.collect();
            let deleted: Vec<_> = state.deleted.values().cloned().collect();
            (state.last, deleted, killed)
        };
        self.journal.forget_deleted(last, |id| {
            killed.contains(id) || deleted.iter().any(|deleted| deleted.contains(id))
        })
    }
}

/// Repeats the changes of the journal, in lots as they would be sealed. Deletions of records in segments have been
/// applied.
fn replay(
    state: &mut State,
    options: &Options,
    changes: Vec<(u64, Change)>,
    generations: Vec<(u64, u64)>,
) {
    let mut generations = generations.into_iter().peekable();
    // The table of the journal is dropped when the lot with its last change is sealed.
    let mut take_up_to = |recent: &mut Recent, number| {
        while let Some((generation, _)) = generations.next_if(|&(_, last)| last <= number) {
            let own = recent.generations.len() - 1;
            recent.generations.insert(own, generation);
        }
    };
    for (number, change) in changes {
        if let Some((place, _)) = state.find_recent(change.id()) {
            state.kill(place, change.id());
        }
        match change {
            Change::Add { id, fingerprint } => state.active.insert(id, fingerprint),
            Change::Delete { id } => state.active.note_deletion(&id),
        }
        state.active.last = number;
        take_up_to(&mut state.active, number);
        if state.active.is_full(options) {
            state.freeze();
        }
    }
    take_up_to(&mut state.active, u64::MAX);
}
