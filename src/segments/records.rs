//! The records of several segments in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Segments;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{Id, IdBuf, Records};

/// The records of all segments: by fingerprint, those of one fingerprint by id, equal ones as often as there are. Made by
/// [`Segments::records`](super::Segments::records).
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::{Id, IdKind, Index};
/// use simidx::segments::Segments;
///
/// let segment = |fingerprint, id| {
///     let mut options = BuildOptions::default();
///     options.ids = IdKind::String;
///     let mut builder = IndexBuilder::<u64>::new(options)?;
///     builder.push_with_string(fingerprint, id)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(7, "b")?, segment(7, "a")?, segment(3, "c")?])?;
/// let mut records = segments.records()?;
/// assert_eq!(records.read()?, Some((3, Id::String("c"))));
/// assert_eq!(records.read()?, Some((7, Id::String("a"))));
/// assert_eq!(records.read()?, Some((7, Id::String("b"))));
/// assert_eq!(records.read()?, None);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentRecords<'a, F> {
    segments: &'a Segments<F>,
    sources: Vec<Records<'a, F>>,
    /// The next record of each segment, the first of them on top.
    next: BinaryHeap<Reverse<Head<F>>>,
    /// Whether that on top has been given already.
    is_given: bool,
}

/// The next record of a segment.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head<F> {
    fingerprint: F,
    id: IdBuf,
    segment: usize,
}

impl<'a, F: Fingerprint> SegmentRecords<'a, F> {
    #[inline(never)]
    pub(super) fn new(segments: &'a Segments<F>) -> Result<Self> {
        let mut records = SegmentRecords {
            sources: segments.indexes().map(crate::Index::records).collect(),
            next: BinaryHeap::with_capacity(segments.segment_count()),
            segments,
            is_given: false,
        };
        for (segment, source) in records.sources.iter_mut().enumerate() {
            if let Some((fingerprint, id)) = next_shown(segments, segment, source)? {
                records.next.push(Reverse(Head {
                    fingerprint,
                    id: id.into(),
                    segment,
                }));
            }
        }
        Ok(records)
    }

    /// The next record; the id is lent until the one after it is read. `None` at the end, and at once if the segments have
    /// no ids.
    ///
    /// # Errors
    /// A damaged block or page of a segment. Read nothing after an error.
    pub fn read(&mut self) -> Result<Option<(F, Id<'_>)>> {
        if self.is_given {
            self.read_on()?;
        }
        self.is_given = true;
        let top = self.next.peek();
        Ok(top.map(|Reverse(head)| (head.fingerprint, head.id.as_id())))
    }

    /// Replaces the record on top by the next one of its segment.
    #[inline(never)]
    fn read_on(&mut self) -> Result<()> {
        let Some(mut top) = self.next.peek_mut() else {
            return Ok(());
        };
        let Reverse(head) = &mut *top;
        match next_shown(self.segments, head.segment, &mut self.sources[head.segment])? {
            Some((fingerprint, id)) => {
                head.fingerprint = fingerprint;
                head.id.clone_from_id(id);
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Ok(())
    }
}

/// The next record of a segment that is not left out.
fn next_shown<'r, F: Fingerprint>(
    segments: &Segments<F>,
    segment: usize,
    records: &'r mut Records<'_, F>,
) -> Result<Option<(F, Id<'r>)>> {
    let blame = segments.blame(segment);
    if !segments.hides_some(segment) {
        return records.read().map_err(blame);
    }
    let keys = segments.hidden_keys(segment);
    let is_shown = |fingerprint: F, id: Id<'_>, slot: u64| {
        let key = match id {
            Id::Number(number) => number,
            Id::String(_) => slot,
        };
        let is_hidden = keys.is_some_and(|keys| keys.contains(key));
        !is_hidden && !segments.hides_fingerprint(segment, fingerprint)
    };
    records.read_where(is_shown).map_err(blame)
}
