//! The records of all segments in one order, which is checked during reading, because the written file relies on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Merger;
use crate::bit_set::BitSet;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::id::IdBuf;
use crate::index::{Records, Sketches};
use crate::set::NumberedIndex;

/// A record of a segment. Records are merged in the order of these fields.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head<F> {
    pub(super) fingerprint: F,
    /// The id; the number 0 without ids.
    pub(super) id: IdBuf,
    /// The sketch; empty if sketches are not requested.
    pub(super) sketch: Vec<u8>,
    /// The number of its stream.
    stream: usize,
    pub(super) is_left_out: bool,
}

/// The records of several segments.
pub(super) struct Streams<'m, 'a, F> {
    streams: Vec<RecordStream<'m, 'a, F>>,
    /// The next record of each stream, smallest on top.
    heads: BinaryHeap<Reverse<Head<F>>>,
}

impl<'m, 'a, F: Fingerprint> Streams<'m, 'a, F> {
    /// Starts to read each of these streams.
    ///
    /// # Errors
    /// A damaged segment.
    pub(super) fn new(streams: Vec<RecordStream<'m, 'a, F>>) -> Result<Self> {
        let mut merged = Streams {
            heads: BinaryHeap::with_capacity(streams.len()),
            streams,
        };
        for (number, stream) in merged.streams.iter_mut().enumerate() {
            let mut head = Head {
                fingerprint: F::ZERO,
                id: IdBuf::Number(0),
                sketch: Vec::new(),
                stream: number,
                is_left_out: false,
            };
            if stream.read(&mut head)? {
                merged.heads.push(Reverse(head));
            }
        }
        Ok(merged)
    }

    /// Calls `take` with each record, in order.
    ///
    /// # Errors
    /// A damaged segment, or any error of `take`.
    pub(super) fn for_each(&mut self, mut take: impl FnMut(&Head<F>) -> Result<()>) -> Result<()> {
        while let Some(mut top) = self.heads.peek_mut() {
            let Reverse(head) = &mut *top;
            take(head)?;
            if !self.streams[head.stream].read(head)? {
                PeekMut::pop(top);
            }
        }
        Ok(())
    }

    /// Returns how many of the fingerprints excluded only from a segment it holds.
    pub(super) fn own_matches(&self, segment: usize) -> u64 {
        let stream = self.streams.iter().find(|stream| stream.number == segment);
        stream.map_or(0, |stream| stream.own_matches)
    }
}

/// The records of one segment, in its order.
pub(super) struct RecordStream<'m, 'a, F> {
    merger: &'m Merger<'a, F>,
    number: usize,
    records: Box<Records<'a, F>>,
    has_ids: bool,
    /// The sketches, if they are requested, and the number of the next one.
    sketches: Option<(Sketches<'a>, u64)>,
    /// The words of the last sketch.
    words: Vec<u64>,
    /// The slots of excluded records.
    excluded: BitSet,
    /// The fingerprint of the last record.
    fingerprint: Option<F>,
    /// Whether all records of that fingerprint are excluded.
    hides_fingerprint: bool,
    /// Number of fingerprints still to come.
    left: u64,
    own_matches: u64,
}

impl<'m, 'a, F: Fingerprint> RecordStream<'m, 'a, F> {
    /// Starts to read a segment, with its ids in about `budget` bytes of memory, and its sketches if requested: then it
    /// must have them.
    ///
    /// # Errors
    /// A damaged sketch section header.
    pub(super) fn new(
        merger: &'m Merger<'a, F>,
        (number, segment): NumberedIndex<'a, F>,
        excluded: BitSet,
        with_sketches: bool,
        budget: usize,
    ) -> Result<Self> {
        let read = || {
            // The sketches were there a moment ago.
            let gone = || FormatError::damaged(43, "the sketches have gone");
            Ok((segment.sketches()?.ok_or_else(gone)?, 0))
        };
        let sketches = with_sketches.then(read).transpose();
        let sketches = sketches.map_err(merger.segments.blame(number))?;
        Ok(RecordStream {
            merger,
            number,
            records: Box::new(segment.records_within(budget)),
            has_ids: segment.id_kind() != IdKind::None,
            sketches,
            words: Vec::new(),
            excluded,
            fingerprint: None,
            hides_fingerprint: false,
            left: segment.len(),
            own_matches: 0,
        })
    }

    /// Replaces the record in `head` by the next one; returns false at the end.
    fn read(&mut self, head: &mut Head<F>) -> Result<bool> {
        let blame = self.merger.segments.blame(self.number);
        let next = self.records.read_with_slot().map_err(&blame)?;
        let Some((fingerprint, id, slot)) = next else {
            return match self.left {
                0 => Ok(false),
                _ => Err(blame(wrong_count())),
            };
        };
        // Rules V24 and V33, which are not checked on every read of the records. Blocks are checked on first use only,
        // and a file may be overwritten while it is mapped.
        if self.fingerprint < Some(fingerprint) {
            // Rule V35: the counts of an index must be true before they are added to those of another.
            let left = self.left.checked_sub(1);
            self.left = left.ok_or_else(|| blame(wrong_count()))?;
            self.fingerprint = Some(fingerprint);
            self.hides_fingerprint = self.merger.hides_fingerprint(self.number, fingerprint);
            self.own_matches += u64::from(self.merger.own_excludes(self.number, fingerprint));
        } else {
            let is_repeated = self.has_ids && self.fingerprint == Some(fingerprint);
            if !is_repeated || id < head.id.as_id() {
                return Err(blame(descending(is_repeated)));
            }
        }
        head.fingerprint = fingerprint;
        head.id.clone_from_id(id);
        head.is_left_out = self.hides_fingerprint || self.excluded.contains(slot);
        if let Some((sketches, next)) = &mut self.sketches {
            self.words.clear();
            let read = sketches.read(*next..*next + 1, &mut self.words);
            read.map_err(&blame)?;
            *next += 1;
            head.sketch.clear();
            let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
            head.sketch.extend(bytes);
        }
        Ok(true)
    }
}

fn wrong_count() -> Error {
    let message = "the table does not hold as many values as there are fingerprints";
    FormatError::damaged(35, message).in_table(0).into()
}

fn descending(same_fingerprint: bool) -> Error {
    match same_fingerprint {
        true => FormatError::damaged(33, "the ids of a fingerprint descend").into(),
        false => FormatError::damaged(24, "the values do not ascend")
            .in_table(0)
            .into(),
    }
}
