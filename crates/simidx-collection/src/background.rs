//! Sealing of recent records into segments, and merging of segments, in the background or on request.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use simidx::index::WarmOptions;
use simidx::merge::MergeOptions;
use simidx::{BuildOptions, IdKind, IndexBuilder, Set, Watch};

use crate::core::{Core, Work};
use crate::deleted::DeletedIds;
use crate::error::{Error, Result};
use crate::files;
use crate::recent::Lot;
use crate::state::{Deleted, Segment};

/// A segment is merged with all smaller ones when these have a quarter of its records.
const RATIO: u64 = 4;
/// The same ratio when nothing has been sealed for a while: a sixteenth. Fewer segments make queries faster, and there
/// is time to rewrite large ones more often.
const QUIET_RATIO: u64 = 16;
const QUIET: Duration = Duration::from_secs(5);
/// A segment is rewritten when a quarter of its records, and at least this many, are deleted.
const DELETED_SHARE: u64 = 4;
const LEAST_DELETED: u64 = 1000;
/// The time between retries of failed work, and between checks for work without a signal.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time between retries.
const MOST_PAUSE: Duration = Duration::from_secs(60);
/// Bytes of memory for a build or a merge.
const MEMORY: u64 = 256 << 20;

/// Returns the deleted ids of each of these segments.
fn deleted_of(deleted: &Deleted, segments: &[Arc<Segment>]) -> Vec<DeletedIds> {
    let of_segment = |segment: &Arc<Segment>| deleted.get(&segment.number).cloned();
    let all = segments.iter().map(of_segment);
    all.map(Option::unwrap_or_default).collect()
}

/// Returns the ids that were deleted from segments between two moments.
fn deleted_between(before: &[DeletedIds], now: &[DeletedIds]) -> impl Iterator<Item = Arc<str>> {
    let segments = before.iter().zip(now);
    segments.flat_map(|(before, now)| now.since(before))
}

impl Core {
    /// Seals the oldest frozen records. Returns whether there were any.
    ///
    /// # Errors
    /// A failure to write the segment or the manifest; the records stay in memory.
    fn seal_oldest(&self, watch: &Watch) -> Result<bool> {
        let _only = self.sealing.only.lock();
        let (lot, last) = {
            let mut state = self.write();
            let Some(oldest) = state.frozen.first_mut() else {
                return Ok(false);
            };
            // The folder may already belong to another process.
            if self.stops.load(Ordering::Relaxed) {
                return Err(closing().into());
            }
            // Records deleted by now are not written.
            oldest.killed.clear();
            (oldest.lot(), oldest.last)
        };
        // Deletions of older segments' records must be on disk before the manifest counts them as sealed.
        self.journal.sync()?;
        let segment = match lot.iter().next() {
            None => None,
            Some(_) => Some(self.build(&lot, last, watch)?),
        };
        let mut manifest = self.manifest();
        let mut next = manifest.clone();
        files::replace(&mut next, &[], segment.as_deref(), Some(last))?;
        next.publish(self.path())?;
        *manifest = next;
        let sealed = {
            let mut state = self.write();
            let oldest = state.frozen.remove(0);
            state.sealed_at = Instant::now();
            self.frozen_count
                .store(state.frozen.len(), Ordering::Relaxed);
            if let Some(segment) = segment {
                let mut segments = state.segments.to_vec();
                if !oldest.killed.is_empty() {
                    let killed = oldest.killed.iter().cloned();
                    Arc::make_mut(&mut state.deleted).insert(segment.number, killed.collect());
                }
                segments.push(segment);
                state.segments = Arc::new(segments);
            }
            oldest
        };
        drop(manifest);
        self.journal.drop_generations(&sealed.generations);
        self.sealing.count.fetch_add(1, Ordering::Relaxed);
        self.signal();
        Ok(true)
    }

    /// Seals records into a segment.
    fn build(&self, lot: &Lot, last: u64, watch: &Watch) -> Result<Arc<Segment>> {
        let mut options = BuildOptions::default()
            .max_distance(self.settings.max_distance)
            .ids(IdKind::String)
            .id_lookup(true)
            .memory(MEMORY)
            .temp_dir(self.path())
            .watch(watch.clone());
        options.pipeline = self.settings.pipeline.clone();
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.segment(number);
        let written = self.sealing.threads.install(|| {
            let mut builder = IndexBuilder::new(self.settings.width, options)?;
            for record in lot.iter() {
                builder.push_with_id(record.fingerprint, &*record.id)?;
            }
            builder.finish_to_path(&path)
        });
        written.map_err(|error| self.stopped(error))?;
        self.open_warm((&path, number, last), watch)
    }

    /// Merges segments that are due. Returns whether there were any.
    ///
    /// # Errors
    /// A failure to write the segment or the manifest; the segments stay unchanged.
    fn merge_due(&self, all: bool, watch: &Watch) -> Result<bool> {
        let _only = self.merging.only.lock();
        let (due, deleted) = {
            let state = self.read();
            let deleted = deleted_of(&state.deleted, &state.segments);
            let segments = state.segments.iter().zip(&deleted);
            let counts: Vec<(u64, u64)> = segments
                .map(|(segment, deleted)| (segment.set.record_count(), deleted.len() as u64))
                .collect();
            let due = match all {
                true if counts.len() > 1 || counts.iter().any(|&(_, deleted)| deleted > 0) => {
                    (0..counts.len()).collect()
                }
                true => Vec::new(),
                // A waiting lot may need the disk space of a large merge.
                false if !state.frozen.is_empty() => due(&counts, RATIO),
                false => due(&counts, ratio_after(state.sealed_at.elapsed())),
            };
            let of_segment = |i: usize| (Arc::clone(&state.segments[i]), deleted[i].clone());
            due.into_iter()
                .map(of_segment)
                .unzip::<_, _, Vec<_>, Vec<_>>()
        };
        if due.is_empty() {
            return Ok(false);
        }
        // The deletions of dropped records must be on disk before the records are removed.
        self.journal.sync()?;
        if let Some(failure) = self.journal.failure() {
            return Err(Error::Journal(failure));
        }
        let gone: Vec<u64> = due.iter().map(|segment| segment.number).collect();
        let segment = self.merge_segments(&due, &deleted, watch)?;
        // Many records may have been deleted meanwhile. These deletions are collected while changes go on, and only the
        // rest while changes wait.
        let now = deleted_of(&self.read().deleted, &due);
        let mut since: DeletedIds = deleted_between(&deleted, &now).collect();
        let deleted = now;
        let mut manifest = self.manifest();
        let mut next = manifest.clone();
        files::replace(&mut next, &gone, segment.as_deref(), None)?;
        next.publish(self.path())?;
        *manifest = next;
        {
            let mut state = self.write();
            let now = deleted_of(&state.deleted, &due);
            deleted_between(&deleted, &now).for_each(|id| since.insert(id));
            let mut now_deleted = Deleted::clone(&state.deleted);
            for number in &gone {
                now_deleted.remove(number);
            }
            let mut segments = state.segments.to_vec();
            let place = segments
                .iter()
                .position(|s| gone.contains(&s.number))
                .unwrap_or(0);
            segments.retain(|segment| !gone.contains(&segment.number));
            if let Some(segment) = segment {
                if since.len() > 0 {
                    now_deleted.insert(segment.number, since);
                }
                segments.insert(place, segment);
            }
            state.segments = Arc::new(segments);
            state.deleted = Arc::new(now_deleted);
        }
        drop(manifest);
        // Readers that have them open or mapped keep them. A file that cannot be removed is removed when the collection
        // is opened.
        for segment in &due {
            let _ = fs::remove_file(&segment.path);
        }
        self.merging.count.fetch_add(1, Ordering::Relaxed);
        self.forget_deleted()?;
        Ok(true)
    }

    /// Merges the live records of segments into one segment; `None` if there are none.
    fn merge_segments(
        &self,
        due: &[Arc<Segment>],
        deleted: &[DeletedIds],
        watch: &Watch,
    ) -> Result<Option<Arc<Segment>>> {
        let mut options = MergeOptions::default()
            .max_distance(self.settings.max_distance)
            .memory(MEMORY)
            .temp_dir(self.path())
            .watch(watch.clone());
        for (number, deleted) in deleted.iter().enumerate() {
            if deleted.len() > 0 {
                let exclusions = options.segment_exclusions.entry(number).or_default();
                deleted
                    .iter()
                    .try_for_each(|id| exclusions.add_string(id))?;
            }
        }
        let set = Set::new(due.iter().map(|segment| segment.set.clone()))?;
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.segment(number);
        let merged = self
            .merging
            .threads
            .install(|| set.merge_to_path(&options, &path));
        let merged = merged.map_err(|error| self.stopped(error))?;
        if merged.summary.record_count == 0 {
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        let last = due.iter().map(|segment| segment.last).max().unwrap_or(0);
        Ok(Some(self.open_warm((&path, number, last), watch)?))
    }

    /// Opens a segment that was just written, and checks and loads all of it, so that the first queries are as fast as
    /// later ones. A segment that cannot be used is removed; no manifest lists it.
    fn open_warm(
        &self,
        (path, number, last): (&Path, u64, u64),
        watch: &Watch,
    ) -> Result<Arc<Segment>> {
        let options = WarmOptions::default().threads(1).watch(watch.clone());
        let opened = files::open_segment(path, number, last).and_then(|segment| {
            let warmed = segment.set.warm(&options);
            warmed.map_err(|error| self.stopped(error))?;
            Ok(segment)
        });
        opened.inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    /// Returns a watch that stops work when the collection is closed, or when the caller's watch does.
    fn watch(&self, of_caller: &Watch) -> Watch {
        let (stops, of_caller) = (Arc::clone(&self.stops), of_caller.clone());
        Watch::new(move |progress| {
            match stops.load(Ordering::Relaxed) || of_caller.forward(progress).is_err() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// Converts the error of work that failed or was stopped by closing the collection.
    fn stopped(&self, error: simidx::Error) -> Error {
        match error {
            simidx::Error::Interrupted if self.stops.load(Ordering::Relaxed) => closing().into(),
            error => error.into(),
        }
    }

    /// Seals the oldest records, and clears the error of sealing.
    ///
    /// # Errors
    /// The errors of [`Core::seal_oldest`].
    pub(crate) fn seal(&self, watch: &Watch) -> Result<bool> {
        let sealed = self.seal_oldest(&self.watch(watch))?;
        if sealed {
            self.sealing.note(None);
        }
        Ok(sealed)
    }

    /// Merges, and clears the error of merging.
    ///
    /// # Errors
    /// The errors of [`Core::merge_due`].
    pub(crate) fn merge(&self, all: bool, watch: &Watch) -> Result<bool> {
        let merged = self.merge_due(all, &self.watch(watch))?;
        self.merging.note(None);
        Ok(merged)
    }

    /// Repeats one kind of work until the collection is closed. Failed work is retried at growing intervals.
    pub(crate) fn keep(&self, work: impl Fn(&Self) -> Result<bool>, kind: &Work) {
        let (mut seen, mut failures) = (0, 0);
        while !self.stops.load(Ordering::Relaxed) {
            let done = catch_unwind(AssertUnwindSafe(|| work(self)));
            let error = match done {
                Ok(Ok(has_worked)) => {
                    failures = 0;
                    if !has_worked {
                        self.wait_for_signal(&mut seen, PAUSE);
                    }
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "a fault of the program".to_owned(),
            };
            kind.note(Some(error));
            let end = Instant::now() + pause_after(failures);
            failures += 1;
            // Each new lot gives a signal, but a full disk stays full for a while.
            while !self.stops.load(Ordering::Relaxed) {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                self.wait_for_signal(&mut seen, left);
            }
        }
    }
}

fn closing() -> io::Error {
    io::Error::other("the collection is being closed")
}

/// Returns the time before the next retry, after a number of failures.
fn pause_after(failures: u32) -> Duration {
    MOST_PAUSE.min(PAUSE * 2_u32.pow(failures.min(8)))
}

/// Returns the largest ratio at which a segment is merged with the smaller ones, after a time without sealing.
fn ratio_after(quiet: Duration) -> u64 {
    match quiet >= QUIET {
        true => QUIET_RATIO,
        false => RATIO,
    }
}

/// Selects the segments to merge, by their records and the number of deleted ones.
fn due(counts: &[(u64, u64)], ratio: u64) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..counts.len()).collect();
    by_size.sort_by_key(|&i| std::cmp::Reverse(counts[i].0));
    for place in 0..by_size.len() {
        let (largest, smaller) = (by_size[place], &by_size[place + 1..]);
        let sum: u64 = smaller.iter().map(|&j| counts[j].0).sum();
        if !smaller.is_empty() && sum * ratio >= counts[largest].0 {
            let mut due = by_size.split_off(place);
            due.sort_unstable();
            return due;
        }
    }
    let wasteful = by_size.iter().find(|&&i| {
        let (records, deleted) = counts[i];
        deleted >= LEAST_DELETED.min(records) && deleted * DELETED_SHARE >= records
    });
    wasteful.map(|&i| vec![i]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_ever_more_rarely() {
        let pauses: Vec<u64> = (0..9).map(|n| pause_after(n).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_after(u32::MAX), MOST_PAUSE);
    }

    #[test]
    fn segments_are_merged_when_the_smaller_ones_have_grown() {
        assert_eq!(due(&[], RATIO), []);
        assert_eq!(due(&[(100, 0)], RATIO), []);
        assert_eq!(due(&[(100, 0), (100, 0)], RATIO), [0, 1]);
        assert_eq!(due(&[(1000, 0), (100, 0)], RATIO), []);
        assert_eq!(due(&[(1000, 0), (100, 0), (100, 0)], RATIO), [1, 2]);
        assert_eq!(due(&[(100, 0), (1000, 0), (150, 0)], RATIO), [0, 1, 2]);
        assert_eq!(due(&[(10_000, 2500)], RATIO), [0]);
        assert_eq!(due(&[(10_000, 2499)], RATIO), []);
        assert_eq!(due(&[(10, 10)], RATIO), [0]);
        assert_eq!(due(&[(10, 9)], RATIO), []);
    }

    #[test]
    fn more_is_merged_in_quiet() {
        let due_after = |quiet, count| due(&[(count, 0), (100, 0)], ratio_after(quiet));
        assert_eq!(due_after(QUIET / 2, 400), [0, 1]);
        assert_eq!(due_after(QUIET / 2, 401), []);
        assert_eq!(due_after(QUIET, 1600), [0, 1]);
        assert_eq!(due_after(QUIET, 1601), []);
    }
}
