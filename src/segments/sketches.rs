//! The sketches of several segments, which must be of the same kind to be read as one.

use super::{Segments, differ};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, SketchParameters};
use crate::index::Sketches;

impl<F: Fingerprint> Segments<F> {
    /// What the sketches of all segments that have records are; `None` if no segment has sketches.
    ///
    /// # Errors
    /// Segments whose sketches differ, or of which some have none; a damaged head of the sketches of a segment.
    #[inline(never)]
    pub fn sketch_parameters(&self) -> Result<Option<&SketchParameters>> {
        let mut common: Option<(usize, Option<&SketchParameters>)> = None;
        for (number, segment) in self.indexes().enumerate() {
            let parameters = self.sketches(number)?.map(|sketches| sketches.parameters());
            if segment.is_empty() && self.segment_count() > 1 {
                continue;
            }
            let (first, expected) = *common.get_or_insert((number, parameters));
            if parameters != expected {
                let names = [first, number].map(|number| self.name(number));
                let kinds = [expected, parameters];
                let kinds = kinds.map(|kind| kind.map_or("none".to_owned(), |k| k.to_string()));
                let way_out = "build one again with sketches like those of the other";
                return Err(differ(names, "their sketches", kinds, way_out));
            }
        }
        Ok(common.and_then(|(_, parameters)| parameters))
    }

    /// The sketches of a segment, as from [`Index::sketches`](crate::Index::sketches); `None` if it has none, or is not there.
    ///
    /// # Errors
    /// A damaged head of the sketches, with the name of the segment.
    pub fn sketches(&self, segment: usize) -> Result<Option<Sketches<'_>>> {
        let sketches = self.get(segment).map_or(Ok(None), |index| index.sketches());
        sketches.map_err(self.blame(segment))
    }

    /// Appends sketches of a segment to `words`, as [`Sketches::read`] does.
    ///
    /// # Errors
    /// As for [`Sketches::read`], with the name of the segment; none where it has no sketches.
    #[inline(never)]
    pub fn read_sketches(
        &self,
        segment: usize,
        numbers: std::ops::Range<u64>,
        words: &mut Vec<u64>,
    ) -> Result<()> {
        match self.sketches(segment)? {
            Some(sketches) => {
                let read = sketches.read(numbers, words);
                read.map_err(self.blame(segment))
            }
            None => Ok(()),
        }
    }

    /// Whether a record of a segment, by its number in the order of [`Index::records`](crate::Index::records), is not left out of the
    /// answers. At once where nothing is left out, otherwise a look-up or two.
    ///
    /// # Errors
    /// No such record, or a damaged block or page.
    #[inline(never)]
    pub fn shows_record(&self, segment: usize, record: u64) -> Result<bool> {
        let (true, Some(index)) = (self.hides_some(segment), self.get(segment)) else {
            return Ok(true);
        };
        let shows = || {
            let rank = index.rank_of_record(record)?;
            let fingerprint = index.fingerprint(rank)?;
            if fingerprint.is_some_and(|f| self.hides_fingerprint(segment, f)) {
                return Ok(false);
            }
            let (Some(keys), true) = (self.hidden_keys(segment), index.id_kind() != IdKind::None)
            else {
                return Ok(true);
            };
            let key = index.key_of_record(record)?;
            Ok(!key.is_some_and(|key| keys.contains(key)))
        };
        shows().map_err(self.blame(segment))
    }
}
