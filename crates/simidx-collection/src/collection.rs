//! The public type of the collection.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use simidx::format::MAX_ID_LEN;
use simidx::{Fingerprint, Watch, Width};

use crate::answer::{Added, CollectionStats, Gathered, Numbered, Outcome};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::files::{self, Folder};
use crate::journal::{Change, Entry};
use crate::options::Options;
use crate::state::{Place, SegmentList, State, gather_hit, places, visit_hits};
use crate::system::{self, lock};

/// The most times that a search is repeated because segments were replaced meanwhile; the next one blocks changes.
const MOST_TRIES: usize = 3;
/// The number of lots that wait to be sealed from which additions are slowed down, and the first delay.
const MANY_FROZEN: usize = 4;
const SLOWED: Duration = Duration::from_millis(2);
/// The longest delay of an addition, before the largest number of lots waits.
const MOST_SLOWED: Duration = Duration::from_millis(32);
/// The most lots that wait. Beyond it, additions wait too, or are refused if sealing fails.
const MOST_FROZEN: usize = 16;

/// A collection of records that change, with exact answers at any time.
///
/// A record is a fingerprint with a string id; an id has at most one record. All methods take `&self`, so threads share
/// a collection. Changes and queries are atomic: there is one order of all of them, in which each sees those before it.
///
/// An addition or a deletion that has returned is in every later answer and, with
/// [`Sync::Always`](crate::Sync::Always), on disk. After a call that failed or was interrupted, only a query shows what
/// it has changed.
///
/// An addition costs a query and a look-up of the id in each segment, 10 to 50 microseconds together, and a share of a
/// commit. Memory: about 150 bytes and the id for each recent record, plus the keys of the segments.
///
/// ```
/// use simidx::Width;
/// use simidx_collection::{Collection, Options};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages");
/// let pages = Collection::create(&path, Width::W64, Options::default())?;
/// std::thread::scope(|scope| {
///     for thread in 0..4 {
///         let pages = &pages;
///         scope.spawn(move || pages.add(&format!("page {thread}"), 7_u64 << (20 * thread)));
///     }
/// });
/// assert_eq!(pages.len(), 4);
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Collection {
    pub(crate) core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    opening: u64,
}

impl Collection {
    /// Creates an empty collection of fingerprints of this width in a folder, which must be empty or not exist.
    ///
    /// # Errors
    /// Options out of their range, a folder that is not empty or is open elsewhere, and any error of the operating
    /// system.
    pub fn create(path: impl AsRef<Path>, width: Width, options: Options) -> Result<Self> {
        options.check()?;
        let folder = Folder::create(path.as_ref(), width, &options)?;
        Self::start(folder, options)
    }

    /// Opens a collection. Its width, distance and pipeline are those that it was created with.
    ///
    /// # Errors
    /// A folder without a collection, or one that is open elsewhere, a damaged file, and any error of the operating
    /// system.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.check()?;
        files::read_manifest(path.as_ref())?;
        Self::start(Folder::lock(path.as_ref())?, options)
    }

    /// Opens the collection of a folder, of any width, or creates one of this width.
    ///
    /// # Errors
    /// The errors of [`Collection::open`] and [`Collection::create`].
    pub fn open_or_create(path: impl AsRef<Path>, width: Width, options: Options) -> Result<Self> {
        match files::has_manifest(path.as_ref())? {
            true => Self::open(path, options),
            false => Self::create(path, width, options),
        }
    }

    fn start(folder: Folder, options: Options) -> Result<Self> {
        let background = options.background;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let core = Arc::new(Core::open(folder, options)?);
        let collection = Collection {
            core,
            threads: Mutex::default(),
            opening: since_1970.map_or(0, |time| time.as_nanos() as u64),
        };
        collection.core.freeze_if_full(&mut collection.core.write());
        if background {
            collection.keep("simidx-sealer", |core| {
                core.keep(|core| core.seal(&Watch::default()), &core.sealing)
            })?;
            collection.keep("simidx-merger", |core| {
                system::give_way(system::MERGING);
                core.keep(|core| core.merge(false, &Watch::default()), &core.merging);
            })?;
        }
        Ok(collection)
    }

    /// Starts a thread for background work.
    fn keep(&self, name: &str, work: fn(&Core)) -> Result<()> {
        let core = Arc::clone(&self.core);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || work(&core))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Checks and adds a record in one step. Returns the earlier records within [`Collection::max_distance`]; every
    /// later query finds the new record. If two near-duplicates are added at the same time, the answer of the later one
    /// names the earlier one.
    ///
    /// If the id already has exactly this fingerprint, nothing changes. If it has another one, its record is replaced,
    /// or the addition is refused, as [`Options::replace`] says.
    ///
    /// # Errors
    /// An id that is empty, too long or refused; a fingerprint that does not fit the width; a damaged segment; a
    /// journal that cannot be written, after which the record may or may not exist when the collection is opened again.
    pub fn add(&self, id: &str, fingerprint: impl Fingerprint) -> Result<Added> {
        let (added, number) = self.add_now(id, self.width().takes(fingerprint)?)?;
        self.core.journal.acknowledge(number)?;
        Ok(added)
    }

    /// Adds records in order, each checked against those before it, and waits for the disk once. Returns the answers of
    /// the added records, and the error that kept the next one from being added, if there was one.
    ///
    /// # Errors
    /// The errors of [`Collection::add`] for the first record that fails; those before it have been added and have
    /// their answers. After [`Error::Journal`], they may or may not exist when the collection is opened again.
    pub fn add_many<I: AsRef<str>, F: Fingerprint>(
        &self,
        records: &[(I, F)],
    ) -> (Vec<Added>, Result<()>) {
        let mut all = Vec::new();
        let added = self.add_each(records, |added| {
            all.push(added);
            ControlFlow::Continue(())
        });
        (all, added)
    }

    /// [`Collection::add_many`], but passes each answer to `take` before the next record is added, so that memory holds
    /// only one. `take` may stop the additions. Nothing is acknowledged before this returns.
    ///
    /// # Errors
    /// The errors of [`Collection::add_many`].
    pub fn add_each<I: AsRef<str>, F: Fingerprint>(
        &self,
        records: &[(I, F)],
        mut take: impl FnMut(Added) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut last, mut outcome) = (0, Ok(()));
        for (id, fingerprint) in records {
            let fingerprint = self.width().takes(*fingerprint).map_err(Error::from);
            match fingerprint.and_then(|fingerprint| self.add_now(id.as_ref(), fingerprint)) {
                Ok((added, number)) => {
                    last = number;
                    if take(added).is_break() {
                        break;
                    }
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.core.journal.acknowledge(last)?;
        outcome
    }

    /// Adds a record. Returns the answer and the change that must be on disk.
    fn add_now(&self, id: &str, fingerprint: u128) -> Result<(Added, u64)> {
        if !(1..=MAX_ID_LEN).contains(&id.len()) {
            return Err(Error::BadId(id.len()));
        }
        let core = &*self.core;
        self.admit()?;
        let asked = (fingerprint, core.settings.max_distance);
        let search = |segments: &SegmentList| {
            let mut found = Vec::new();
            core.with_scratch(|scratch| {
                visit_hits(segments, scratch, asked, |hit| {
                    found.push(hit);
                    Ok(())
                })
            })?;
            Ok((found, places(segments, id)?))
        };
        self.change(search, |state, (found, places)| {
            let old = state.find(id, &places);
            let mut matches = Gathered::new(Some(usize::MAX));
            for hit in found {
                gather_hit(hit, &state.deleted, Some(id), &mut matches)?;
            }
            state.gather_recent(asked, Some(id), &mut matches)?;
            let (outcome, replaced) = match old {
                None => (Outcome::New, None),
                Some((_, old)) if old == fingerprint => {
                    // A caller that reads that the record exists must find it after a crash.
                    return Ok((Outcome::Unchanged, matches, state.last));
                }
                Some(_) if !core.options.replace => return Err(Error::IdExists(id.to_owned())),
                Some((place, old)) => (Outcome::Replaced(old), Some(place)),
            };
            let id: Arc<str> = Arc::from(id);
            if let Some(place) = replaced {
                state.kill(place, &id);
            }
            state.active.insert(Arc::clone(&id), fingerprint);
            let deletes_sealed = replaced.is_some_and(|place| place != Place::Active);
            let number = core.log(state, &Change::Add { id, fingerprint }, deletes_sealed);
            Ok((outcome, matches, number))
        })
        .map(|(outcome, matches, number)| {
            let added = Added {
                matches: matches.finish(),
                outcome,
                change_count: number,
            };
            (added, number)
        })
    }

    /// Deletes the record of an id. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`Collection::add`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        Ok(self.delete_numbered(id)?.value)
    }

    /// [`Collection::delete`], with the number of changes after it.
    ///
    /// # Errors
    /// The errors of [`Collection::add`].
    pub fn delete_numbered(&self, id: &str) -> Result<Numbered<bool>> {
        let core = &*self.core;
        self.admit()?;
        let search = |segments: &SegmentList| places(segments, id);
        let (was_there, number) = self.change(search, |state, places| {
            let Some((place, _)) = state.find(id, &places) else {
                return Ok((false, state.last));
            };
            state.kill(place, id);
            state.active.note_deletion(id);
            let change = Change::Delete { id: Arc::from(id) };
            Ok((true, core.log(state, &change, place != Place::Active)))
        })?;
        core.journal.acknowledge(number)?;
        Ok(Numbered::new(was_there, number))
    }

    /// Slows down changes that come faster than they are sealed, by more for more waiting lots, so that they rarely
    /// stop completely. Refuses them when sealing fails for long.
    fn admit(&self) -> Result<()> {
        let core = &*self.core;
        core.journal.admit()?;
        let frozen = core.frozen_count.load(Ordering::Relaxed);
        if !core.options.background || frozen <= MANY_FROZEN {
            return Ok(());
        }
        std::thread::sleep(slowed(frozen));
        while core.frozen_count.load(Ordering::Relaxed) >= MOST_FROZEN {
            if let Some(error) = self.unsealed() {
                return Err(Error::Unsealed(error));
            }
            std::thread::sleep(SLOWED);
        }
        Ok(())
    }

    /// Returns the error of sealing, if changes are refused because too many lots wait for it.
    fn unsealed(&self) -> Option<String> {
        let core = &*self.core;
        let frozen = core.frozen_count.load(Ordering::Relaxed);
        let is_full = core.options.background && frozen >= MOST_FROZEN;
        core.sealing.error().filter(|_| is_full)
    }

    /// Searches the segments, then changes the state that they belong to.
    fn change<S, T>(
        &self,
        search: impl Fn(&SegmentList) -> Result<S>,
        change: impl FnOnce(&mut State, S) -> Result<T>,
    ) -> Result<T> {
        let mut tries = 0;
        let (found, mut state) = loop {
            if tries == MOST_TRIES {
                let state = self.core.write();
                break (search(&state.segments)?, state);
            }
            tries += 1;
            let segments = Arc::clone(&self.core.read().segments);
            let found = search(&segments)?;
            let state = self.core.write();
            if Arc::ptr_eq(&segments, &state.segments) {
                break (found, state);
            }
        };
        let changed = change(&mut state, found);
        drop(state);
        self.core.journal.wake();
        changed
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.core.read().record_count()
    }

    /// Whether the collection is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of the fingerprints.
    pub fn width(&self) -> Width {
        self.core.settings.width
    }

    /// The distance within which additions search for near-duplicates.
    pub fn max_distance(&self) -> u32 {
        self.core.settings.max_distance
    }

    /// The text pipeline that produces the fingerprints, if the collection records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.core.settings.pipeline.as_deref()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.core.path()
    }

    /// Number of changes since the collection was created. While the collection is open, equal numbers mean equal
    /// records. Changes that were not acknowledged before a crash are lost, and later changes reuse their numbers: see
    /// [`Collection::opening`].
    pub fn change_count(&self) -> u64 {
        self.core.read().last
    }

    /// A number for this opening of the collection: the time in nanoseconds since 1970 by the system clock. Answers of
    /// the same opening and the same [`Collection::change_count`] come from equal records. Two openings have different
    /// numbers, unless the clock was set back between them by exactly the time that had passed.
    ///
    /// ```
    /// # use simidx::Width;
    /// # use simidx_collection::{Collection, Options};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages");
    /// let pages = Collection::create(&path, Width::W64, Options::default())?;
    /// let first = pages.opening();
    /// pages.close()?;
    /// assert_ne!(Collection::open(&path, Options::default())?.opening(), first);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn opening(&self) -> u64 {
        self.opening
    }

    /// Returns the figures of the collection. Takes a few microseconds.
    pub fn stats(&self) -> CollectionStats {
        let core = &*self.core;
        let journal_error = core.journal.failure();
        let state = core.read();
        let segments = state.segments.iter();
        CollectionStats {
            record_count: state.record_count(),
            recent_count: state.recent_count(),
            segment_count: state.segments.len(),
            segment_bytes: segments
                .map(|s| s.set.first().storage().as_ref().len() as u64)
                .sum(),
            deleted_count: state.deleted_count(),
            seal_count: core.sealing.count.load(Ordering::Relaxed),
            merge_count: core.merging.count.load(Ordering::Relaxed),
            journal_bytes: core.journal.len(),
            background_error: core.sealing.error().or_else(|| core.merging.error()),
            seal_error: core.sealing.error(),
            merge_error: core.merging.error(),
            refuses_changes: journal_error.is_some() || self.unsealed().is_some(),
            journal_error,
        }
    }

    /// Waits until all changes so far are on disk.
    ///
    /// # Errors
    /// They could not be written.
    pub fn sync(&self) -> Result<()> {
        self.core.journal.sync()
    }

    /// Seals all recent records into segments, while changes and queries go on.
    ///
    /// # Errors
    /// A failure to write a segment or the manifest, and [`simidx::Error::Interrupted`] if the watch stops the work.
    /// The records stay in memory.
    pub fn seal(&self, watch: &Watch) -> Result<()> {
        self.core.freeze(&mut self.core.write());
        while self.core.seal(watch)? {}
        Ok(())
    }

    /// Merges all segments into one, without deleted records, while changes and queries go on. Recent records stay in
    /// memory.
    ///
    /// # Errors
    /// A failure to write the segment or the manifest, and [`simidx::Error::Interrupted`] if the watch stops the work.
    /// The segments stay unchanged.
    pub fn merge(&self, watch: &Watch) -> Result<()> {
        self.core.merge(true, watch).map(|_| ())
    }

    /// Copies the collection, as it is at one moment, to a new folder, while changes and queries go on. The copy has
    /// all changes that were acknowledged before, and perhaps later ones, each only with all before it. Returns their
    /// number. The copy is on disk, and can be opened like any collection.
    ///
    /// Segments are linked if the file system supports it, and then take no space until they are merged; otherwise they
    /// are copied, as to another disk. Nothing is sealed or merged during such a copy, so changes are slowed down if it
    /// takes long. An interrupted copy has no manifest and cannot be opened.
    ///
    /// ```
    /// # use simidx::{Watch, Width};
    /// # use simidx_collection::{Collection, Options};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages");
    /// # let backup = folder.path().join("backup");
    /// let pages = Collection::create(&path, Width::W64, Options::default())?;
    /// pages.add("a", 0xff_u64)?;
    /// assert_eq!(pages.snapshot(&backup, &Watch::default())?, 1);
    /// pages.delete("a")?;
    /// let backup = Collection::open(&backup, Options::default())?;
    /// assert_eq!(backup.get("a")?, Some(0xff));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A folder that already exists, a journal that has failed, any error of the operating system, and
    /// [`simidx::Error::Interrupted`] if the watch stops the work, which it can between two segments.
    pub fn snapshot(&self, path: impl AsRef<Path>, watch: &Watch) -> Result<u64> {
        let path = path.as_ref();
        let _copying = self.core.copying.read();
        files::make_folder(path)?;
        let copied = self.copy_to(path, watch);
        if copied.is_err() {
            let _ = std::fs::remove_dir_all(path);
        }
        copied
    }

    fn copy_to(&self, path: &Path, watch: &Watch) -> Result<u64> {
        let core = &*self.core;
        let (manifest, view) = {
            // While this lock is held, segments and their rows of the journal are not removed.
            let manifest = core.manifest();
            files::copy_segments(&manifest, core.path(), path, watch)?;
            let sealed = files::sealed(&manifest, core.path())?;
            (manifest.clone(), core.journal.view(sealed)?)
        };
        let last = view.copy(core.settings.width, path)?;
        manifest.publish(path)?;
        Ok(last)
    }

    /// Syncs all changes to disk, ends the threads and releases the folder. A running merge is stopped at its next
    /// step; a running snapshot is waited for. Threads that still hold the collection may query it; their changes fail
    /// from then on. Dropping the collection also closes it, but ignores errors.
    ///
    /// ```
    /// # use simidx::Width;
    /// # use simidx_collection::{Collection, Options};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages");
    /// let pages = Arc::new(Collection::create(&path, Width::W64, Options::default())?);
    /// let shared = Arc::clone(&pages);
    /// pages.add("a", 0xff_u64)?;
    /// pages.close()?;
    /// assert!(shared.add("b", 0xfe_u64).is_err());
    /// assert_eq!(shared.get("a")?, Some(0xff));
    /// assert_eq!(Collection::open(&path, Options::default())?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A failure to write changes.
    pub fn close(&self) -> Result<()> {
        let core = &*self.core;
        core.stops.store(true, Ordering::Relaxed);
        core.signal();
        // Sync first: a merge may take long to notice that it must stop, and the caller may not wait for it.
        let synced = core.journal.sync();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        let closed = core.journal.close();
        core.let_go();
        synced.and(closed)
    }
}

/// Returns how long an addition waits when this many lots wait to be sealed.
fn slowed(frozen: usize) -> Duration {
    let steps = frozen.saturating_sub(MANY_FROZEN + 1) / 2;
    MOST_SLOWED.min(SLOWED * 2_u32.pow(steps.min(16) as u32))
}

impl Drop for Collection {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl Core {
    /// Numbers a change and passes it to the journal. Returns its number.
    fn log(&self, state: &mut State, change: &Change, deletes_sealed: bool) -> u64 {
        state.last += 1;
        state.active.last = state.last;
        let generation = state.active.generation();
        let width = self.settings.width;
        let entry = Entry::new(state.last, generation, width, change, deletes_sealed);
        self.journal.push(entry);
        self.freeze_if_full(state);
        state.last
    }

    fn freeze_if_full(&self, state: &mut State) {
        if state.active.is_full(&self.options) {
            self.freeze(state);
        }
    }
}
