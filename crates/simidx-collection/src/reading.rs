//! Queries of a collection. They search its state at one moment, while it is changed.

use std::ops::ControlFlow;

use simidx::index::WarmOptions;
use simidx::set::Question;
use simidx::{Fingerprint, Id};

use crate::answer::{Gathered, Near, Numbered};
use crate::collection::Collection;
use crate::error::Result;
use crate::recent::{Lot, Recent};
use crate::state::{find_sealed, gather_hit, is_deleted, nearest, places, visit_hits};

impl Collection {
    /// Returns all records within a distance, by distance, then by fingerprint. A distance beyond that of the
    /// collection is exact too, but slower.
    ///
    /// # Errors
    /// A damaged segment; a fingerprint that does not fit the width.
    pub fn query(&self, fingerprint: impl Fingerprint, distance: u32) -> Result<Vec<Near>> {
        let question = Question::Within(distance);
        Ok(self.answer(fingerprint, question, Some(usize::MAX))?.value)
    }

    /// Answers a question. Returns the number of changes that the answer reflects. The ids of the answer have at most
    /// `id_bytes` bytes together; without a limit, matches have no ids. For the nearest, the limit also applies to each
    /// segment before they are merged.
    ///
    /// ```
    /// # use simidx::Width;
    /// # use simidx_collection::{Collection, Options};
    /// use simidx::set::Question;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
    /// pages.add("abc", 0xff_u64)?;
    /// let asked = Question::Within(3);
    /// assert_eq!(pages.answer(0xff_u64, asked, Some(3))?.value[0].ids, ["abc"]);
    /// assert!(pages.answer(0xff_u64, asked, Some(2)).is_err());
    /// assert!(pages.answer(0xff_u64, asked, None)?.value[0].ids.is_empty());
    /// # pages.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Collection::query`]; [`simidx::Error::LimitReached`] if the ids exceed the limit.
    pub fn answer(
        &self,
        fingerprint: impl Fingerprint,
        question: Question,
        id_bytes: Option<usize>,
    ) -> Result<Numbered<Vec<Near>>> {
        let fingerprint = self.width().takes(fingerprint)?;
        let mut gathered = Gathered::new(id_bytes);
        let ((segments, deleted), last) = {
            let state = self.core.read();
            match question {
                Question::Within(distance) => {
                    state.gather_recent((fingerprint, distance), None, &mut gathered)?;
                }
                Question::Nearest {
                    count,
                    max_distance,
                } => state.gather_nearest((fingerprint, count, max_distance), &mut gathered)?,
            }
            (state.sealed(), state.last)
        };
        self.core.with_scratch(|scratch| match question {
            Question::Within(distance) => {
                visit_hits(&segments, scratch, (fingerprint, distance), |hit| {
                    gather_hit(hit, &deleted, None, &mut gathered)
                })
            }
            Question::Nearest {
                count,
                max_distance,
            } => {
                let asked = (fingerprint, count, max_distance);
                nearest(&segments, &deleted, scratch, asked, &mut gathered)
            }
        })?;
        let mut all = gathered.finish();
        if let Question::Nearest { count, .. } = question {
            all.truncate(count);
        }
        Ok(Numbered::new(all, last))
    }

    /// Returns the `count` fingerprints nearest to one within `max_distance`, by distance, then by value; of equally
    /// far ones the smallest.
    ///
    /// # Errors
    /// The errors of [`Collection::query`].
    pub fn nearest(
        &self,
        fingerprint: impl Fingerprint,
        count: usize,
        max_distance: u32,
    ) -> Result<Vec<Near>> {
        let question = Question::Nearest {
            count,
            max_distance,
        };
        Ok(self.answer(fingerprint, question, Some(usize::MAX))?.value)
    }

    /// Returns the fingerprint of the record with an id.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn get(&self, id: &str) -> Result<Option<u128>> {
        Ok(self.get_numbered(id)?.value)
    }

    /// [`Collection::get`], with the number of changes that the answer reflects.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn get_numbered(&self, id: &str) -> Result<Numbered<Option<u128>>> {
        let ((segments, deleted), last) = {
            let state = self.core.read();
            if let Some((_, fingerprint)) = state.find_recent(id) {
                return Ok(Numbered::new(Some(fingerprint), state.last));
            }
            (state.sealed(), state.last)
        };
        let found = find_sealed(&deleted, id, &places(&segments, id)?);
        let fingerprint = found.map(|(_, fingerprint)| fingerprint);
        Ok(Numbered::new(fingerprint, last))
    }

    /// Checks and loads all segments, as [`Set::warm`](simidx::Set::warm) does for files, so that the first queries are
    /// as fast as later ones. Segments that are written afterwards are warm from the start.
    ///
    /// ```
    /// # use simidx::Width;
    /// # use simidx_collection::{Collection, Options};
    /// use simidx::index::WarmOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let pages = Collection::create(folder.path().join("pages"), Width::W64, Options::default())?;
    /// pages.warm(&WarmOptions::default())?;
    /// # pages.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment, with the name of its file; [`simidx::Error::Interrupted`] if the watch stops the work.
    pub fn warm(&self, options: &WarmOptions) -> Result<()> {
        let (segments, _) = self.core.read().sealed();
        for segment in segments.iter() {
            segment.set.warm(options)?;
        }
        Ok(())
    }

    /// Calls `visit` with the id and the fingerprint of each record, in any order, until it stops. The records are
    /// those of one moment, while the collection is changed. Returns the number of changes before that moment.
    ///
    /// Memory: that of the recent records, and up to 32 MiB of ids of a segment.
    ///
    /// ```
    /// # use simidx::Width;
    /// # use simidx_collection::{Collection, Options};
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages");
    /// let pages = Collection::create(&path, Width::W64, Options::default())?;
    /// pages.add("a", 0xff_u64)?;
    /// pages.add("b", 0xfe_u64)?;
    /// let mut records = Vec::new();
    /// pages.visit_records(|id, fingerprint| {
    ///     records.push((id.to_owned(), fingerprint));
    ///     ControlFlow::Continue(())
    /// })?;
    /// records.sort();
    /// assert_eq!(records, [("a".to_owned(), 0xff), ("b".to_owned(), 0xfe)]);
    /// # pages.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment; some records may have been visited.
    pub fn visit_records(
        &self,
        mut visit: impl FnMut(&str, u128) -> ControlFlow<()>,
    ) -> Result<u64> {
        let (lots, (segments, deleted), last) = {
            let state = self.core.read();
            let lots: Vec<_> = state.recents().map(Recent::lot).collect();
            (lots, state.sealed(), state.last)
        };
        for record in lots.iter().flat_map(Lot::iter) {
            if visit(&record.id, record.fingerprint).is_break() {
                return Ok(last);
            }
        }
        for segment in segments.iter() {
            let mut records = segment.set.records()?;
            while let Some((fingerprint, id)) = records.read()? {
                let Id::String(id) = id else { continue };
                if !is_deleted(&deleted, segment.number, id) && visit(id, fingerprint).is_break() {
                    return Ok(last);
                }
            }
        }
        Ok(last)
    }
}
