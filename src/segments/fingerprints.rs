//! Reading a table of several segments in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{SegmentIds, Segments, differ};
use crate::design::Permuted;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::Fingerprints;

/// The fingerprints of a table of all segments in its order, each once; made by
/// [`Segments::fingerprints`](super::Segments::fingerprints).
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder};
/// use simidx::segments::Segments;
///
/// # let segment = |fingerprint| {
/// #     let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// #     builder.push(fingerprint)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let segments = Segments::new(vec![segment(3)?, segment(1)?, segment(3)?])?;
/// let fingerprints = segments.fingerprints(0)?.collect::<simidx::Result<Vec<_>>>()?;
/// assert_eq!(fingerprints, [1, 3]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentFingerprints<'a, F> {
    segments: &'a Segments<F>,
    sources: Vec<Fingerprints<'a, F>>,
    /// What comes next of each segment that is not due, the smallest value on top.
    next: BinaryHeap<Reverse<(Permuted<F>, usize)>>,
    /// Segments that gave the last value.
    given: Vec<usize>,
    /// Segments that have to be read on.
    due: Vec<usize>,
}

impl<'a, F: Fingerprint> SegmentFingerprints<'a, F> {
    #[inline(never)]
    pub(super) fn new(segments: &'a Segments<F>, table: usize) -> Result<Self> {
        let mut sources = Vec::with_capacity(segments.segment_count());
        let mut first = None;
        for (number, segment) in segments.indexes().enumerate() {
            sources.push(
                segment
                    .fingerprints(table)
                    .map_err(segments.blame(number))?,
            );
            let order = segment.permutation(table);
            let first = *first.get_or_insert(order);
            let identities = first.is_identity() && order.is_identity();
            if !identities && first.mask() != order.mask() {
                let names = [0, number].map(|number| segments.name(number));
                let masks = [first, order].map(|order| format!("{:#x}", order.mask()));
                let what = format!("the prefix mask of table {table}");
                let way_out = "merge them to read such a table";
                return Err(differ(names, &what, masks, way_out));
            }
        }
        Ok(SegmentFingerprints {
            segments,
            due: (0..sources.len()).collect(),
            given: Vec::with_capacity(sources.len()),
            next: BinaryHeap::with_capacity(sources.len()),
            sources,
        })
    }

    /// The next permuted value; see [`Iterator::next`] for the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration goes on with the next block.
    #[inline(never)]
    pub fn next_permuted(&mut self) -> Option<Result<Permuted<F>>> {
        loop {
            let value = match self.next_of_files()? {
                Ok(value) => value,
                Err(error) => return Some(Err(error)),
            };
            match self.hide(value) {
                Ok(()) if self.given.is_empty() => {}
                Ok(()) => return Some(Ok(value)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Forgets that segments gave a value of which all their records are left out.
    fn hide(&mut self, value: Permuted<F>) -> Result<()> {
        if self.segments.hidden().is_none() {
            return Ok(());
        }
        let fingerprint = self.invert(value);
        let mut kept = Vec::with_capacity(self.given.len());
        for number in std::mem::take(&mut self.given) {
            let rank = self.sources[number].rank();
            let hides = self.segments.hides(number, fingerprint, rank);
            match hides.map_err(self.segments.blame(number))? {
                true => self.due.push(number),
                false => kept.push(number),
            }
        }
        self.given = kept;
        Ok(())
    }

    fn next_of_files(&mut self) -> Option<Result<Permuted<F>>> {
        self.due.append(&mut self.given);
        while let Some(&number) = self.due.last() {
            match self.sources[number].next_permuted() {
                Some(Ok(value)) => self.next.push(Reverse((value, number))),
                Some(Err(error)) => return Some(Err(self.segments.blame(number)(error))),
                None => {}
            }
            self.due.pop();
        }
        let Reverse((value, number)) = self.next.pop()?;
        self.given.push(number);
        while let Some(&Reverse((same, number))) = self.next.peek()
            && same == value
        {
            self.next.pop();
            self.given.push(number);
        }
        Some(Ok(value))
    }

    /// The fingerprint that a permuted value of this table stands for.
    pub fn invert(&self, value: Permuted<F>) -> F {
        self.sources[0].invert(value)
    }

    /// The ids of the fingerprint given last, in order, as from [`Segments::ids_of`]. For table 0 this needs no look-up.
    ///
    /// # Errors
    /// A damaged block or page of a segment, or a fingerprint that its table 0 lacks.
    #[inline(never)]
    pub fn ids(&self) -> Result<SegmentIds<'a>> {
        let given = self.given.iter();
        let ids = given.map(|&number| (number, self.sources[number].ids()));
        SegmentIds::merge(self.segments, ids)
    }
}

impl<F: Fingerprint> Iterator for SegmentFingerprints<'_, F> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
