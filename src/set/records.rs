//! The records of a set in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Set;
use crate::error::Result;
use crate::fingerprint::{ByWidth, Fingerprint, by_width, for_width};
use crate::id::{Id, IdBuf};
use crate::index::Records;

/// The records of all files of a set, ordered by fingerprint, then by id; equal records are repeated. Created by
/// [`Set::records`](super::Set::records).
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::{Id, IdKind, Index, Set};
///
/// let file = |fingerprint: u64, id| {
///     let mut options = BuildOptions::default();
///     options.ids = IdKind::String;
///     let mut builder = IndexBuilder::new(Width::W64, options)?;
///     builder.push_with_id(fingerprint, id)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let set = Set::new([file(7, "b")?, file(7, "a")?, file(3, "c")?])?;
/// let mut records = set.records()?;
/// assert_eq!(records.read()?, Some((3, Id::String("c"))));
/// assert_eq!(records.read()?, Some((7, Id::String("a"))));
/// assert_eq!(records.read()?, Some((7, Id::String("b"))));
/// assert_eq!(records.read()?, None);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SetRecords<'a> {
    set: &'a Set,
    sources: Vec<Source<'a>>,
    /// The next record of each file, smallest on top.
    next: BinaryHeap<Reverse<Head>>,
    /// Whether the record on top has already been returned.
    is_given: bool,
}

/// The records of one file.
type Source<'a> = ByWidth<Records<'a, u32>, Records<'a, u64>, Records<'a, u128>>;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    fingerprint: u128,
    id: IdBuf,
    segment: usize,
}

impl<'a> SetRecords<'a> {
    pub(super) fn new(set: &'a Set) -> Result<Self> {
        let mut records = SetRecords {
            sources: (0..set.segment_count())
                .map(|number| for_width!(set.width(), set.typed().index(number).records()))
                .collect(),
            next: BinaryHeap::with_capacity(set.segment_count()),
            set,
            is_given: false,
        };
        for (segment, source) in records.sources.iter_mut().enumerate() {
            if let Some((fingerprint, id)) = next_shown(set, segment, source)? {
                records.next.push(Reverse(Head {
                    fingerprint,
                    id: id.into(),
                    segment,
                }));
            }
        }
        Ok(records)
    }

    /// Returns the next record; the id is valid until the following record is read. Returns `None` at the end, and at
    /// once if the files have no ids.
    ///
    /// # Errors
    /// A damaged block or page of a file. Do not read on after an error.
    pub fn read(&mut self) -> Result<Option<(u128, Id<'_>)>> {
        if self.is_given {
            self.read_on()?;
        }
        self.is_given = true;
        let top = self.next.peek();
        Ok(top.map(|Reverse(head)| (head.fingerprint, head.id.as_id())))
    }

    /// Replaces the record on top by the next one of its file.
    fn read_on(&mut self) -> Result<()> {
        let Some(mut top) = self.next.peek_mut() else {
            return Ok(());
        };
        let Reverse(head) = &mut *top;
        match next_shown(self.set, head.segment, &mut self.sources[head.segment])? {
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

/// Returns the next record of a file that is not excluded.
fn next_shown<'r>(
    set: &Set,
    segment: usize,
    source: &'r mut Source<'_>,
) -> Result<Option<(u128, Id<'r>)>> {
    by_width!(ByWidth, source, records => {
        let read = match set.hides_some(segment) {
            false => records.read(),
            true => records.read_where(|fingerprint, id, slot| {
                let key = match id {
                    Id::Number(number) => number,
                    Id::String(_) => slot,
                };
                let keys = set.hidden_keys(segment);
                let is_hidden = keys.is_some_and(|keys| keys.contains(key));
                !is_hidden && !set.hides_fingerprint(segment, fingerprint.to_u128())
            }),
        };
        let record = read.map_err(set.blame(segment))?;
        Ok(record.map(|(fingerprint, id)| (fingerprint.to_u128(), id)))
    })
}
