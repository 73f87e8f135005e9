//! Answers of collections.

use std::borrow::Cow;

use crate::error::Result;

/// A fingerprint within the distance of a query, with the ids of its records.
///
/// ```
/// # use simidx::Width;
/// # use simidx_collection::{Collection, Options};
/// # let folder = tempfile::tempdir()?;
/// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
/// pages.add("a", 0xff_u64)?;
/// let near = &pages.query(0xfe_u64, 3)?[0];
/// assert_eq!((near.distance, near.fingerprint), (1, 0xff));
/// assert_eq!(near.ids, ["a"]);
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Near {
    /// Number of bits in which the fingerprint differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: u128,
    /// The ids of the fingerprint's records, ordered by their bytes.
    pub ids: Vec<String>,
}

/// An answer, and the state of the collection that it reflects.
///
/// ```
/// # use simidx::Width;
/// # use simidx_collection::{Collection, Options};
/// use simidx::set::Question;
///
/// # let folder = tempfile::tempdir()?;
/// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
/// pages.add("a", 0xff_u64)?;
/// let answer = pages.answer(0xff_u64, Question::Within(3), None)?;
/// assert_eq!((answer.value.len(), answer.change_count), (1, 1));
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Numbered<T> {
    /// The answer.
    pub value: T,
    /// The number of changes before it, as in [`Collection::change_count`](crate::Collection::change_count): the answer
    /// reflects exactly these changes. They may not be on disk yet.
    pub change_count: u64,
}

impl<T> Numbered<T> {
    pub(crate) fn new(value: T, change_count: u64) -> Self {
        Numbered {
            value,
            change_count,
        }
    }

    /// Converts the answer and keeps the number.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Numbered<U> {
        Numbered::new(make(self.value), self.change_count)
    }
}

/// The effect of an addition on the records of its id.
///
/// ```
/// # use simidx::Width;
/// # use simidx_collection::{Collection, Options};
/// use simidx_collection::Outcome;
///
/// # let folder = tempfile::tempdir()?;
/// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
/// assert_eq!(pages.add("a", 0xff_u64)?.outcome, Outcome::New);
/// assert_eq!(pages.add("a", 0xff_u64)?.outcome, Outcome::Unchanged);
/// assert_eq!(pages.add("a", 0x0f_u64)?.outcome, Outcome::Replaced(0xff));
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The id is new.
    New,
    /// The id already had exactly this fingerprint, and nothing changed.
    Unchanged,
    /// The id had this other fingerprint, which was replaced.
    Replaced(u128),
}

/// The answer to an addition.
///
/// ```
/// # use simidx::Width;
/// # use simidx_collection::{Collection, Options};
/// # let folder = tempfile::tempdir()?;
/// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
/// assert!(pages.add("a", 0xff_u64)?.matches.is_empty());
/// let added = pages.add("b", 0xfe_u64)?;
/// assert_eq!(added.matches[0].ids, ["a"]);
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Added {
    /// The earlier records nearby, by distance, then by value, without the record of the same id.
    pub matches: Vec<Near>,
    /// The effect on the records of the id.
    pub outcome: Outcome,
    /// The number of changes of the collection, including this one.
    pub change_count: u64,
}

/// The figures of a collection.
///
/// ```
/// # use simidx::Width;
/// # use simidx_collection::{Collection, Options};
/// # let folder = tempfile::tempdir()?;
/// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
/// pages.add("a", 0xff_u64)?;
/// let stats = pages.stats();
/// assert_eq!((stats.record_count, stats.recent_count, stats.segment_count), (1, 1, 0));
/// # pages.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CollectionStats {
    /// Number of records.
    pub record_count: u64,
    /// Number of records that are only in memory and in the journal.
    pub recent_count: u64,
    /// Number of segments.
    pub segment_count: usize,
    /// Bytes of the segments.
    pub segment_bytes: u64,
    /// Deleted records that are still in segments.
    pub deleted_count: u64,
    /// Number of segments sealed since it was opened.
    pub seal_count: u64,
    /// Number of merges since it was opened.
    pub merge_count: u64,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// The error of sealing, or else of merging, until it succeeds. Failed work is retried at growing intervals of up
    /// to a minute.
    pub background_error: Option<String>,
    /// The error of sealing, if it fails.
    pub seal_error: Option<String>,
    /// The error of merging, if it fails.
    pub merge_error: Option<String>,
    /// The error of the journal, if it has failed.
    pub journal_error: Option<String>,
    /// Whether changes are refused: after the journal has failed, or while sealing fails and too many records wait for
    /// it.
    pub refuses_changes: bool,
}

/// Matches, grouped by fingerprint.
#[derive(Debug)]
pub(crate) struct Gathered {
    all: Vec<(u32, u128, String)>,
    /// Bytes of the ids, and the limit of these; without a limit, ids are left out.
    id_bytes: usize,
    most_id_bytes: Option<usize>,
}

impl Gathered {
    pub(crate) fn new(most_id_bytes: Option<usize>) -> Self {
        Gathered {
            all: Vec::new(),
            id_bytes: 0,
            most_id_bytes,
        }
    }

    /// Creates an empty list with the same limit.
    pub(crate) fn without_any(&self) -> Self {
        Gathered::new(self.most_id_bytes)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The ids exceed the limit.
    pub(crate) fn push(
        &mut self,
        distance: u32,
        fingerprint: u128,
        id: Cow<'_, str>,
    ) -> Result<()> {
        match self.most_id_bytes {
            Some(_) => {
                self.id_bytes += id.len();
                self.check()?;
                self.all.push((distance, fingerprint, id.into_owned()));
            }
            None if self.all.last().is_some_and(|last| last.1 == fingerprint) => {}
            None => self.all.push((distance, fingerprint, String::new())),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match self.most_id_bytes {
            Some(most) if self.id_bytes > most => Err(simidx::Error::LimitReached {
                what: "bytes in one answer; ask for fewer with limit or k",
                limit: most as u64,
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// Adds the matches of another part of the collection, and keeps the nearest `count` fingerprints.
    ///
    /// # Errors
    /// The ids exceed the limit.
    pub(crate) fn merge_nearest(&mut self, others: Self, count: usize) -> Result<()> {
        self.all.extend(others.all);
        self.all.sort_unstable();
        let groups = self.all.chunk_by(|a, b| a.1 == b.1);
        let kept = groups.take(count).map(<[_]>::len).sum();
        self.all.truncate(kept);
        self.id_bytes = self.all.iter().map(|(_, _, id)| id.len()).sum();
        self.check()
    }

    pub(crate) fn finish(mut self) -> Vec<Near> {
        self.all.sort_unstable();
        let has_ids = self.most_id_bytes.is_some();
        let mut all: Vec<Near> = Vec::new();
        for (distance, fingerprint, id) in self.all {
            if all
                .last()
                .is_none_or(|last| last.fingerprint != fingerprint)
            {
                all.push(Near {
                    distance,
                    fingerprint,
                    ids: Vec::new(),
                });
            }
            if let Some(last) = all.last_mut()
                && has_ids
            {
                last.ids.push(id);
            }
        }
        all
    }
}
