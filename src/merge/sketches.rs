//! The sketches of a merged file: carried along where those of all segments are alike.

use super::passes::Merger;
use crate::build::SketchSpool;
use crate::error::{FormatError, Result};
use crate::extsort::{Merge, NamedRecords, RecordBuffer, Stream};
use crate::fingerprint::Fingerprint;
use crate::format::SketchParameters;
use crate::index::{Fingerprints, Sketches};
use crate::segments::{NumberedIndex, SegmentsView};

impl<'a, F: Fingerprint, D: AsRef<[u8]> + Send + Sync> Merger<'a, F, D> {
    /// What the sketches of the result are: those of the segments, if all that have records have the same.
    ///
    /// # Errors
    /// The damaged head of the sketches of a segment.
    pub(super) fn sketches(&self) -> Result<Option<SketchParameters>> {
        let of = |(number, segment): NumberedIndex<'a, F, D>| -> Result<_> {
            let sketches = segment.sketches().map_err(self.segments.blame(number))?;
            Ok(sketches.map(|sketches| sketches.parameters()))
        };
        let mut all = self.segments().map(of);
        let Some(first) = all.next() else {
            let sketches = self.model()?.sketches()?;
            return Ok(sketches.map(|sketches| sketches.parameters().clone()));
        };
        let first = first?;
        for other in all {
            if other? != first {
                return Ok(None);
            }
        }
        Ok(first.cloned())
    }

    /// The sketches of records without ids: of each fingerprint that stays the smallest.
    pub(super) fn sketches_of_fingerprints(
        &self,
        parameters: SketchParameters,
    ) -> Result<SketchSpool> {
        let streams: Result<Vec<_>> = self
            .segments()
            .map(|segment| SketchStream::new(self, segment))
            .collect();
        let mut merge = Merge::<NamedRecords<F>, _>::new(streams?, self.budget / 2);
        let mut spool = SketchSpool::new(parameters, &self.temp);
        let mut last = None;
        while let Some(round) = merge.next_round()? {
            round.for_each_with_sketch(|fingerprint, _, sketch| {
                if last.replace(fingerprint) != Some(fingerprint) {
                    spool.push(sketch)?;
                }
                Ok(())
            })?;
        }
        Ok(spool)
    }
}

/// The sketches of a segment one by one.
pub(super) struct SketchReader<'a> {
    sketches: Sketches<'a>,
    next: u64,
    words: Vec<u64>,
}

impl<'a> SketchReader<'a> {
    /// The sketches of a segment that has some.
    pub(super) fn new(sketches: Sketches<'a>) -> Self {
        SketchReader {
            sketches,
            next: 0,
            words: Vec::new(),
        }
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Result<&[u64]> {
        self.words.clear();
        self.sketches
            .read(self.next..self.next + 1, &mut self.words)?;
        self.next += 1;
        Ok(&self.words)
    }
}

/// The fingerprints of a segment without ids with their sketches, but those that are left out.
struct SketchStream<'m, 'a, F, D> {
    merger: &'m Merger<'a, F, D>,
    number: usize,
    fingerprints: Fingerprints<'a, F, D>,
    sketches: SketchReader<'a>,
}

impl<'m, 'a, F: Fingerprint, D: AsRef<[u8]> + Send + Sync> SketchStream<'m, 'a, F, D> {
    fn new(
        merger: &'m Merger<'a, F, D>,
        (number, segment): NumberedIndex<'a, F, D>,
    ) -> Result<Self> {
        let sketches = segment.sketches().map_err(merger.segments.blame(number))?;
        Ok(SketchStream {
            merger,
            number,
            fingerprints: segment.iter(),
            sketches: SketchReader::new(sketches.ok_or_else(gone)?),
        })
    }

    fn is_left_out(&self, fingerprint: F) -> bool {
        let options = self.merger.options;
        let own = options.segment_exclusions.get(&self.number);
        let segments: SegmentsView<'a, F, D> = self.merger.segments;
        options.exclusions.has_fingerprint(fingerprint)
            || own.is_some_and(|own| own.has_fingerprint(fingerprint))
            || segments.hides_fingerprint(self.number, fingerprint)
    }
}

impl<F: Fingerprint, D: AsRef<[u8]> + Send + Sync> Stream<NamedRecords<F>>
    for SketchStream<'_, '_, F, D>
{
    fn fill(&mut self, buffer: &mut NamedRecords<F>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            let Some(fingerprint) = self.fingerprints.next() else {
                return Ok(false);
            };
            let blame = self.merger.segments.blame(self.number);
            let fingerprint = fingerprint.map_err(&blame)?;
            let is_left_out = self.is_left_out(fingerprint);
            let sketch = self.sketches.next().map_err(&blame)?;
            if !is_left_out {
                buffer.push_with_sketch(fingerprint, &[], sketch);
            }
        }
        Ok(true)
    }
}

/// The sketches were there a moment ago.
pub(super) fn gone() -> crate::Error {
    FormatError::damaged(43, "the sketches have gone").into()
}
