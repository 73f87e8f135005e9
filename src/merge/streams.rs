//! The records of all segments in one order, which is checked on the way: the file that is written relies on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Merger;
use crate::bit_set::BitSet;
use crate::error::{Error, FormatError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::id::{Id, IdBuf};
use crate::index::{Fingerprints, Records, Sketches};
use crate::set::NumberedIndex;

/// A record of a segment. They are merged in the order of these fields.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head<F> {
    pub(super) fingerprint: F,
    /// Without ids the number 0.
    pub(super) id: IdBuf,
    /// Empty if sketches are not wanted.
    pub(super) sketch: Vec<u8>,
    /// The number of its stream.
    stream: usize,
    pub(super) is_left_out: bool,
}

/// The records of several segments.
pub(super) struct Streams<'m, 'a, F> {
    streams: Vec<RecordStream<'m, 'a, F>>,
    /// The next record of each stream, the first of them on top.
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

    /// Hands each record to `take` in order.
    ///
    /// # Errors
    /// A damaged segment, or what `take` returns.
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

    /// How many fingerprints that are to be left out of a segment alone it has.
    pub(super) fn own_matches(&self, segment: usize) -> u64 {
        let stream = self.streams.iter().find(|stream| stream.number == segment);
        stream.map_or(0, |stream| stream.own_matches)
    }
}

/// The records of one segment, in its order.
pub(super) struct RecordStream<'m, 'a, F> {
    merger: &'m Merger<'a, F>,
    number: usize,
    source: Source<'a, F>,
    sketches: Option<SketchReader<'a>>,
    /// Slots of records that are left out.
    excluded: BitSet,
    /// The fingerprint of the last record.
    fingerprint: Option<F>,
    /// Whether all its records are left out.
    hides_fingerprint: bool,
    /// Fingerprints that must still come.
    left: u64,
    own_matches: u64,
}

enum Source<'a, F> {
    Records(Box<Records<'a, F>>),
    /// Without ids.
    Fingerprints(Fingerprints<'a, F>),
}

impl<F: Fingerprint> Source<'_, F> {
    /// The next record with the slot of its id.
    fn read(&mut self) -> Result<Option<(F, Id<'_>, u64)>> {
        match self {
            Source::Records(records) => records.read_with_slot(),
            Source::Fingerprints(fingerprints) => {
                let fingerprint = fingerprints.next().transpose()?;
                Ok(fingerprint.map(|fingerprint| (fingerprint, Id::Number(0), 0)))
            }
        }
    }
}

impl<'m, 'a, F: Fingerprint> RecordStream<'m, 'a, F> {
    /// Reads a segment, its ids in about `budget` bytes of memory, and its sketches if they are wanted: then it must have them.
    ///
    /// # Errors
    /// The damaged head of the sketches.
    pub(super) fn new(
        merger: &'m Merger<'a, F>,
        (number, segment): NumberedIndex<'a, F>,
        excluded: BitSet,
        with_sketches: bool,
        budget: usize,
    ) -> Result<Self> {
        let sketches = with_sketches.then(|| SketchReader::new(segment.sketches()?));
        let sketches = sketches
            .transpose()
            .map_err(merger.segments.blame(number))?;
        Ok(RecordStream {
            merger,
            number,
            source: match segment.id_kind() {
                IdKind::None => Source::Fingerprints(segment.iter()),
                _ => Source::Records(Box::new(segment.records_within(budget))),
            },
            sketches,
            excluded,
            fingerprint: None,
            hides_fingerprint: false,
            left: segment.len(),
            own_matches: 0,
        })
    }

    /// Replaces the record before in `head` by the next one; false at the end.
    fn read(&mut self, head: &mut Head<F>) -> Result<bool> {
        let blame = self.merger.segments.blame(self.number);
        let has_ids = matches!(self.source, Source::Records(_));
        let Some((fingerprint, id, slot)) = self.source.read().map_err(&blame)? else {
            return match self.left {
                0 => Ok(false),
                _ => Err(blame(wrong_count())),
            };
        };
        // Rules V24 and V33, which are not checked each time that records are read. Blocks are checked when they are first
        // used, and a file may be overwritten while it is mapped.
        if self.fingerprint < Some(fingerprint) {
            // Rule V35: what an index says of its size must be true before it counts in another.
            let left = self.left.checked_sub(1);
            self.left = left.ok_or_else(|| blame(wrong_count()))?;
            self.fingerprint = Some(fingerprint);
            self.hides_fingerprint = self.merger.hides_fingerprint(self.number, fingerprint);
            self.own_matches += u64::from(self.merger.own_excludes(self.number, fingerprint));
        } else {
            let is_repeated = has_ids && self.fingerprint == Some(fingerprint);
            if !is_repeated || id < head.id.as_id() {
                return Err(blame(descending(is_repeated)));
            }
        }
        head.fingerprint = fingerprint;
        head.id.clone_from_id(id);
        head.is_left_out = self.hides_fingerprint || self.excluded.contains(slot);
        if let Some(sketches) = &mut self.sketches {
            sketches.read(&mut head.sketch).map_err(&blame)?;
        }
        Ok(true)
    }
}

/// The sketches of a segment one by one.
struct SketchReader<'a> {
    sketches: Sketches<'a>,
    next: u64,
    words: Vec<u64>,
}

impl<'a> SketchReader<'a> {
    fn new(sketches: Option<Sketches<'a>>) -> Result<Self> {
        // They were there a moment ago.
        let gone = || FormatError::damaged(43, "the sketches have gone");
        Ok(SketchReader {
            sketches: sketches.ok_or_else(gone)?,
            next: 0,
            words: Vec::new(),
        })
    }

    /// Replaces the sketch before by the next one.
    fn read(&mut self, sketch: &mut Vec<u8>) -> Result<()> {
        self.words.clear();
        let range = self.next..self.next + 1;
        self.sketches.read(range, &mut self.words)?;
        self.next += 1;
        sketch.clear();
        sketch.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        Ok(())
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
