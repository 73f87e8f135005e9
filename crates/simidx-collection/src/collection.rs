//! The collection: its public type.

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

/// How often a search is done again because segments were replaced meanwhile, before it is done while nothing changes.
const MOST_TRIES: usize = 3;
/// Lots of recent records that wait to be sealed before additions are slowed down, and by how much at first.
const MANY_FROZEN: usize = 4;
const SLOWED: Duration = Duration::from_millis(2);
/// Additions that are slowed down wait no longer than this, at the most lots.
const MOST_SLOWED: Duration = Duration::from_millis(32);
/// Lots that wait at most: then additions wait too, or are refused if sealing fails.
const MOST_FROZEN: usize = 16;

/// Records that come and go, with exact answers at any time.
///
/// A record is a fingerprint with an id, a string; an id has one record at most. All methods take `&self`: threads share a
/// collection. Changes and queries are atomic: there is one order of all of them, in which each sees those before it.
///
/// An addition or a deletion that has returned is in every later answer, and, with [`Sync::Always`](crate::Sync::Always), on
/// disk. What a call that fails or is cut off has changed is unknown until the next query.
///
/// Cost of an addition: a query and a look-up of the id in each segment, some 10 to 50 microseconds together, and the share
/// of a commit. Memory: some 150 bytes and the id for each recent record, and the keys of the segments.
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
    /// Makes an empty collection of fingerprints of this width in a folder, which is made too, or is empty.
    ///
    /// # Errors
    /// Options out of their range, a folder that is not empty or open elsewhere, and what the operating system reports.
    pub fn create(path: impl AsRef<Path>, width: Width, options: Options) -> Result<Self> {
        options.check()?;
        let folder = Folder::create(path.as_ref(), width, &options)?;
        Self::start(folder, options)
    }

    /// Opens a collection. Its width, its distance and its pipeline are those that it was made with.
    ///
    /// # Errors
    /// A folder without a collection, or with one that is open elsewhere, a damaged file, and what the operating system reports.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.check()?;
        files::read_manifest(path.as_ref())?;
        Self::start(Folder::lock(path.as_ref())?, options)
    }

    /// Opens the collection of a folder, of whatever width, or makes one of this width where there is none.
    ///
    /// # Errors
    /// As for [`Collection::open`] and [`Collection::create`].
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

    /// Starts a thread of its own for work.
    fn keep(&self, name: &str, work: fn(&Core)) -> Result<()> {
        let core = Arc::clone(&self.core);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || work(&core))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Checks and adds a record in one step: answers what was near before, within [`Collection::max_distance`], and from
    /// then on every query finds it. Of two near-duplicates that are added at once, the answer of the later one names the
    /// earlier one.
    ///
    /// An id that has this very fingerprint already changes nothing. If it has another one, its record is replaced, or
    /// refused by [`Options::replace`].
    ///
    /// # Errors
    /// An id that is empty, too long or refused; a fingerprint of more bits than the collection has; a damaged segment; a journal
    /// that cannot be written: then the record may be there or not when the collection is opened again.
    pub fn add(&self, id: &str, fingerprint: impl Fingerprint) -> Result<Added> {
        let (added, number) = self.add_now(id, self.width().takes(fingerprint)?)?;
        self.core.journal.acknowledge(number)?;
        Ok(added)
    }

    /// Adds records one after the other, each checked against those before it, and waits for the disk once. Returns the
    /// answers to those that were added, and beside them what kept the next one from being added, if anything did.
    ///
    /// # Errors
    /// As for [`Collection::add`], at the first record that fails; those before it have been added, and have their answers.
    /// After [`Error::Journal`] they may be there or not when the collection is opened again.
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

    /// The same, but hands each answer to `take` before the next record is added, so that memory holds one. `take` may break
    /// the rest off. Nothing is acknowledged before this returns.
    ///
    /// # Errors
    /// As for [`Collection::add_many`].
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

    /// Adds a record, and returns the change that has to be on disk.
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
                    // Who reads that it is there shall find it after a crash.
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

    /// Deletes the record of an id; whether there was one.
    ///
    /// # Errors
    /// As for [`Collection::add`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        Ok(self.delete_numbered(id)?.value)
    }

    /// [`Collection::delete`] with the number of changes after it.
    ///
    /// # Errors
    /// As for [`Collection::add`].
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

    /// Slows changes down that come faster than they are sealed, the more the more wait, so that they never come to a stop.
    /// Refuses them when sealing fails for long.
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

    /// Why sealing fails, if so many lots wait for it that changes are refused.
    fn unsealed(&self) -> Option<String> {
        let core = &*self.core;
        let frozen = core.frozen_count.load(Ordering::Relaxed);
        let is_full = core.options.background && frozen >= MOST_FROZEN;
        core.sealing.error().filter(|_| is_full)
    }

    /// Searches the segments, then changes the state of which they are.
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

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> Width {
        self.core.settings.width
    }

    /// The distance within which additions look for near-duplicates.
    pub fn max_distance(&self) -> u32 {
        self.core.settings.max_distance
    }

    /// How documents become fingerprints, if the collection records it.
    pub fn pipeline(&self) -> Option<&str> {
        self.core.settings.pipeline.as_deref()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.core.path()
    }

    /// Number of changes since the collection was made. While the collection stays open, equal numbers mean equal records.
    /// Changes that were not acknowledged before a crash are lost, and others get their numbers then: see
    /// [`Collection::opening`].
    pub fn change_count(&self) -> u64 {
        self.core.read().last
    }

    /// A number for this opening of the collection, the time in nanoseconds since 1970 by the clock of the system. Answers of
    /// the same opening and the same [`Collection::change_count`] come from equal records. Two openings have two numbers
    /// unless the clock was set back between them, by just the time that had passed.
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

    /// The figures of the collection. Takes some microseconds.
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
    /// What keeps a segment or the manifest from being written, and [`simidx::Error::Interrupted`] if the watch stops the work.
    /// The records stay where they are.
    pub fn seal(&self, watch: &Watch) -> Result<()> {
        self.core.freeze(&mut self.core.write());
        while self.core.seal(watch)? {}
        Ok(())
    }

    /// Merges all segments into one, without what is deleted, while changes and queries go on. Recent records stay where they
    /// are.
    ///
    /// # Errors
    /// What keeps the segment or the manifest from being written, and [`simidx::Error::Interrupted`] if the watch stops the work.
    /// The segments stay as they are.
    pub fn merge(&self, watch: &Watch) -> Result<()> {
        self.core.merge(true, watch).map(|_| ())
    }

    /// Copies the collection as it is at one moment to a folder, which is made, while changes and queries go on. It has all
    /// changes that were acknowledged before, perhaps later ones, and each of these only with all before it. Returns their
    /// number. The copy is on disk, and is opened as any collection.
    ///
    /// Segments are linked where the file system can, and then take no room until they are merged; otherwise they are copied,
    /// as to another disk. Nothing is sealed or merged during such a copy, so changes are slowed down when it takes long.
    /// A copy that was broken off has no manifest, and is not opened.
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
    /// A folder that is there already, a journal that has failed, what the operating system reports, and
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
            // While it is held, neither segments nor their rows of the journal go.
            let manifest = core.manifest();
            files::copy_segments(&manifest, core.path(), path, watch)?;
            let sealed = files::sealed(&manifest, core.path())?;
            (manifest.clone(), core.journal.view(sealed)?)
        };
        let last = view.copy(core.settings.width, path)?;
        manifest.publish(path)?;
        Ok(last)
    }

    /// Brings all changes to disk, ends the threads and lets others have the folder. A merge that is under way is given up at
    /// the next of its steps; a snapshot that is under way is waited for. Threads that hold the collection still may ask for
    /// what was there; their changes fail from then on. Dropping the collection closes it too, and keeps errors to itself.
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
    /// Changes that could not be written.
    pub fn close(&self) -> Result<()> {
        let core = &*self.core;
        core.stops.store(true, Ordering::Relaxed);
        core.signal();
        // A merge may take long to see that it shall stop, and who waits may lose patience.
        let synced = core.journal.sync();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        let closed = core.journal.close();
        core.let_go();
        synced.and(closed)
    }
}

/// How long an addition waits where so many lots are to be sealed.
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
    /// Numbers a change and hands it to the journal. Returns its number.
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
