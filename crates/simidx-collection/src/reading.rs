//! Queries of a collection. What is searched is its state at one moment, while others change it.

use simidx::Fingerprint;

use crate::answer::{Gathered, Near, Numbered};
use crate::collection::Collection;
use crate::error::Result;
use crate::state::{find_sealed, gather_sealed, nearest, places};

impl<F: Fingerprint> Collection<F> {
    /// All records within a distance, by distance, then by fingerprint. A distance beyond that of the collection is exact too,
    /// and slower.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Near<F>>> {
        Ok(self.query_numbered(fingerprint, distance)?.value)
    }

    /// [`Collection::query`] with the number of changes that the answer tells of.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn query_numbered(&self, fingerprint: F, distance: u32) -> Result<Numbered<Vec<Near<F>>>> {
        self.query_limited(fingerprint, distance, Some(usize::MAX))
    }

    /// [`Collection::query_numbered`] where the ids of the answer have at most `id_bytes` bytes together. Without that, matches
    /// have no ids.
    ///
    /// ```
    /// # use simidx_collection::{Collection, Options};
    /// # let folder = tempfile::tempdir()?;
    /// let pages = Collection::<u64>::create(folder.path().join("pages"), Options::default())?;
    /// pages.add("abc", 0xff)?;
    /// assert_eq!(pages.query_limited(0xff, 3, Some(3))?.value[0].ids, ["abc"]);
    /// assert!(pages.query_limited(0xff, 3, Some(2)).is_err());
    /// assert!(pages.query_limited(0xff, 3, None)?.value[0].ids.is_empty());
    /// # pages.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment, or [`simidx::Error::LimitReached`] for more bytes.
    pub fn query_limited(
        &self,
        fingerprint: F,
        distance: u32,
        id_bytes: Option<usize>,
    ) -> Result<Numbered<Vec<Near<F>>>> {
        let mut gathered = Gathered::new(id_bytes);
        let ((segments, deleted), last) = {
            let state = self.core.read();
            state.gather_recent(fingerprint, distance, None, &mut gathered)?;
            (state.sealed(), state.last)
        };
        let asked = (fingerprint, distance);
        self.core.with_scratch(|scratch| {
            gather_sealed(&segments, &deleted, scratch, asked, &mut gathered)
        })?;
        Ok(Numbered::new(gathered.finish(), last))
    }

    /// The answers to many queries, each as from [`Collection::query`]; changes may come between them.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn query_many(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Near<F>>>> {
        let queries = fingerprints.iter();
        queries
            .map(|&fingerprint| self.query(fingerprint, distance))
            .collect()
    }

    /// The `count` fingerprints nearest to one among those within `max_distance`, by distance, then by value; of equally far
    /// ones the smallest.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn nearest(&self, fingerprint: F, count: usize, max_distance: u32) -> Result<Vec<Near<F>>> {
        let found = self.nearest_numbered(fingerprint, count, max_distance)?;
        Ok(found.value)
    }

    /// [`Collection::nearest`] with the number of changes that the answer tells of.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn nearest_numbered(
        &self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<Numbered<Vec<Near<F>>>> {
        self.nearest_limited(fingerprint, count, max_distance, Some(usize::MAX))
    }

    /// [`Collection::nearest_numbered`] with the limit of [`Collection::query_limited`]. It holds for the nearest of each segment
    /// too, before they are put together.
    ///
    /// # Errors
    /// A damaged segment, or [`simidx::Error::LimitReached`] for more bytes.
    pub fn nearest_limited(
        &self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
        id_bytes: Option<usize>,
    ) -> Result<Numbered<Vec<Near<F>>>> {
        let mut gathered = Gathered::new(id_bytes);
        let asked = (fingerprint, count, max_distance);
        let ((segments, deleted), last) = {
            let state = self.core.read();
            state.gather_nearest(asked, &mut gathered)?;
            (state.sealed(), state.last)
        };
        self.core
            .with_scratch(|scratch| nearest(&segments, &deleted, scratch, asked, &mut gathered))?;
        let mut all = gathered.finish();
        all.truncate(count);
        Ok(Numbered::new(all, last))
    }

    /// The fingerprint of the record with an id.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn get(&self, id: &str) -> Result<Option<F>> {
        Ok(self.get_numbered(id)?.value)
    }

    /// [`Collection::get`] with the number of changes that the answer tells of.
    ///
    /// # Errors
    /// A damaged segment.
    pub fn get_numbered(&self, id: &str) -> Result<Numbered<Option<F>>> {
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
}
