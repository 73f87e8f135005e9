//! Reads a table of all files of a set in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Set, SetIds, Typed, differ};
use crate::design::Permuted;
use crate::error::Result;
use crate::fingerprint::{ByWidth, Fingerprint, by_width, for_width};
use crate::index::Fingerprints;

/// The fingerprints of a table of all files of a set, each once, in the order of the table. Created by
/// [`Set::fingerprints`](super::Set::fingerprints).
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// use simidx::Set;
///
/// # let file = |fingerprint: u64| {
/// #     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// #     builder.push(fingerprint)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let set = Set::new([file(3)?, file(1)?, file(3)?])?;
/// let fingerprints = set.fingerprints(0)?.collect::<simidx::Result<Vec<_>>>()?;
/// assert_eq!(fingerprints, [1, 3]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SetFingerprints<'a>(AtWidth<'a>);

type AtWidth<'a> =
    ByWidth<TypedFingerprints<'a, u32>, TypedFingerprints<'a, u64>, TypedFingerprints<'a, u128>>;

impl<'a> SetFingerprints<'a> {
    pub(super) fn new(set: &'a Set, table: usize) -> Result<Self> {
        Ok(SetFingerprints(for_width!(
            set.width(),
            set.typed().fingerprints(table)?
        )))
    }

    /// Returns the value of a fingerprint in this table.
    pub fn permuted(&self, fingerprint: u128) -> u128 {
        by_width!(ByWidth, &self.0, fingerprints => {
            fingerprints.sources[0].permute(Fingerprint::from_u128(fingerprint)).0.to_u128()
        })
    }

    /// Returns the ids of the last fingerprint, in order, like [`Set::ids_of`]. Table 0 needs no look-up for this.
    ///
    /// # Errors
    /// A damaged block or page of a file, or a fingerprint that is not in table 0 of its file.
    pub fn ids(&self) -> Result<SetIds<'a>> {
        by_width!(ByWidth, &self.0, fingerprints => fingerprints.ids())
    }
}

/// A damaged block gives one error; the iteration then continues with the next block.
impl Iterator for SetFingerprints<'_> {
    type Item = Result<u128>;

    fn next(&mut self) -> Option<Result<u128>> {
        by_width!(ByWidth, &mut self.0, fingerprints => {
            fingerprints.next().map(|value| value.map(|value| value.to_u128()))
        })
    }
}

/// [`SetFingerprints`] in the type of its width.
#[derive(Debug)]
pub(crate) struct TypedFingerprints<'a, F> {
    set: Typed<'a, F>,
    sources: Vec<Fingerprints<'a, F>>,
    /// The next value of each segment that is not in `due`, smallest on top.
    next: BinaryHeap<Reverse<(Permuted<F>, usize)>>,
    /// The segments that hold the last value.
    given: Vec<usize>,
    /// The segments whose next value must be read.
    due: Vec<usize>,
}

impl<'a, F: Fingerprint> TypedFingerprints<'a, F> {
    pub(super) fn new(set: Typed<'a, F>, table: usize) -> Result<Self> {
        let mut sources = Vec::with_capacity(set.segment_count());
        let mut first = None;
        for (number, segment) in set.indexes().enumerate() {
            sources.push(segment.fingerprints(table).map_err(set.blame(number))?);
            let order = segment.permutation(table);
            let first = *first.get_or_insert(order);
            let identities = first.is_identity() && order.is_identity();
            if !identities && first.mask() != order.mask() {
                let names = [0, number].map(|number| set.name(number));
                let masks = [first, order].map(|order| format!("{:#x}", order.mask()));
                let what = format!("the prefix mask of table {table}");
                let way_out = "merge them to read such a table";
                return Err(differ(names, &what, masks, way_out));
            }
        }
        Ok(TypedFingerprints {
            set,
            due: (0..sources.len()).collect(),
            given: Vec::with_capacity(sources.len()),
            next: BinaryHeap::with_capacity(sources.len()),
            sources,
        })
    }

    /// Returns the next permuted value; [`Iterator::next`] returns the fingerprint itself.
    ///
    /// # Errors
    /// A damaged block, once; the iteration then continues with the next block.
    pub(crate) fn next_permuted(&mut self) -> Option<Result<Permuted<F>>> {
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

    /// Removes segments from `given` whose records of the value are all excluded.
    fn hide(&mut self, value: Permuted<F>) -> Result<()> {
        if self.set.hidden().is_none() {
            return Ok(());
        }
        let fingerprint = self.invert(value);
        let mut kept = Vec::with_capacity(self.given.len());
        for number in std::mem::take(&mut self.given) {
            let rank = self.sources[number].rank();
            let hides = self.set.hides(number, fingerprint, rank);
            match hides.map_err(self.set.blame(number))? {
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
                Some(Err(error)) => return Some(Err(self.set.blame(number)(error))),
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

    /// Returns the fingerprint of a permuted value of this table.
    pub(crate) fn invert(&self, value: Permuted<F>) -> F {
        self.sources[0].invert(value)
    }

    /// Returns the ids of the last fingerprint, in order, like [`Set::ids_of`]. Table 0 needs no look-up for this.
    ///
    /// # Errors
    /// A damaged block or page of a file, or a fingerprint that is not in table 0 of its file.
    pub(crate) fn ids(&self) -> Result<SetIds<'a>> {
        let given = self.given.iter();
        let ids = given.map(|&number| (number, self.sources[number].ids()));
        SetIds::merge(self.set.set(), ids)
    }
}

impl<F: Fingerprint> Iterator for TypedFingerprints<'_, F> {
    type Item = Result<F>;

    fn next(&mut self) -> Option<Result<F>> {
        let value = self.next_permuted()?;
        Some(value.map(|value| self.invert(value)))
    }
}
