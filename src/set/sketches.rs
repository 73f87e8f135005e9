//! The sketches of all segments of a set, which must agree in their parameters.

use super::{Set, Typed, at_width, differ, no_segment};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, SketchParameters};
use crate::id::IdBuf;

impl Set {
    /// Returns the common parameters of the sketches; `None` if no segment has sketches.
    ///
    /// # Errors
    /// Segments with different sketches, sketches in only some of the segments with records, or a damaged section
    /// header.
    pub fn sketch_parameters(&self) -> Result<Option<&SketchParameters>> {
        let mut common: Option<(usize, Option<&SketchParameters>)> = None;
        for (number, segment) in self.segments().enumerate() {
            let parameters = segment.sketches()?.map(|sketches| sketches.parameters());
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

    /// Appends sketches of a segment to `words`, like `Sketches::read`.
    ///
    /// # Errors
    /// The errors of `Sketches::read`, with the name of the segment; a segment that does not exist or has no sketches.
    pub fn read_sketches(
        &self,
        segment: usize,
        numbers: std::ops::Range<u64>,
        words: &mut Vec<u64>,
    ) -> Result<()> {
        let of = self.segment(segment).ok_or_else(|| no_segment(segment))?;
        let sketches = of.sketches()?.ok_or_else(|| {
            let message = format!("{} has no sketches", of.name());
            Error::option("sketches", message)
        })?;
        let read = sketches.read(numbers, words);
        read.map_err(self.blame(segment))
    }

    /// Returns the fingerprint of a record of a segment, and its id if the file has ids. Records are numbered in the
    /// order of [`Index::records`](crate::Index::records). Takes two look-ups.
    ///
    /// # Errors
    /// A segment or record that does not exist, or a damaged block or page.
    pub fn record(&self, segment: usize, record: u64) -> Result<(u128, Option<IdBuf>)> {
        if segment >= self.segment_count() {
            return Err(no_segment(segment));
        }
        let found = at_width!(self, typed => typed.record(segment, record));
        found.map_err(self.blame(segment))
    }

    /// Returns the id of a record, like [`Set::record`], with one look-up.
    ///
    /// # Errors
    /// The errors of [`Set::record`].
    pub fn id_of_record(&self, segment: usize, record: u64) -> Result<Option<IdBuf>> {
        if segment >= self.segment_count() {
            return Err(no_segment(segment));
        }
        let id = at_width!(self, typed => typed.index(segment).id_of_record(record));
        id.map_err(self.blame(segment))
    }

    /// Returns whether a record of a segment is not excluded. Records are numbered in the order of
    /// [`Index::records`](crate::Index::records). Takes no time without exclusions, otherwise a look-up or two.
    ///
    /// # Errors
    /// A segment or record that does not exist, or a damaged block or page.
    pub fn shows_record(&self, segment: usize, record: u64) -> Result<bool> {
        if segment >= self.segment_count() {
            return Err(no_segment(segment));
        }
        let shows = at_width!(self, typed => typed.shows_record(segment, record));
        shows.map_err(self.blame(segment))
    }
}

impl<F: Fingerprint> Typed<'_, F> {
    fn record(self, segment: usize, record: u64) -> Result<(u128, Option<IdBuf>)> {
        let index = self.index(segment);
        let rank = index.rank_of_record(record)?;
        let fingerprint = index.fingerprint(rank)?.ok_or_else(|| {
            let message = format!("there is no fingerprint of rank {rank}");
            Error::option("record", message)
        })?;
        Ok((fingerprint.to_u128(), index.id_of_record(record)?))
    }

    fn shows_record(self, segment: usize, record: u64) -> Result<bool> {
        let index = self.index(segment);
        index.check_record(record)?;
        if !self.hides_some(segment) {
            return Ok(true);
        }
        let rank = index.rank_of_record(record)?;
        let fingerprint = index.fingerprint(rank)?;
        if fingerprint.is_some_and(|f| self.hides_fingerprint(segment, f.to_u128())) {
            return Ok(false);
        }
        let (Some(keys), true) = (self.hidden_keys(segment), index.id_kind() != IdKind::None)
        else {
            return Ok(true);
        };
        let key = index.key_of_record(record)?;
        Ok(!key.is_some_and(|key| keys.contains(key)))
    }
}
