//! The values of one table of a segment, and the records of a segment, as ordered streams that are checked on the way.

use std::cell::RefCell;

use super::sketches::{SketchReader, gone};
use crate::bit_set::BitSet;
use crate::error::{Error, FormatError, Result};
use crate::extsort::{NamedRecords, Numbered, RecordBuffer, Sorter, Stream};
use crate::fingerprint::Fingerprint;
use crate::index::{Fingerprints, Id, IdBuf, Records};
use crate::segments::{NumberedIndex, SegmentsView};

/// A table of a segment, from its first value to its last.
pub(super) struct TableStream<'a, F, D> {
    segments: SegmentsView<'a, F, D>,
    number: usize,
    table: usize,
    fingerprints: Fingerprints<'a, F, D>,
    /// Values that must still come.
    left: u64,
    /// The value before them.
    last: Option<F>,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]>> TableStream<'a, F, D> {
    /// Reads table `table` of segment number `number`.
    ///
    /// # Errors
    /// There is no such table.
    pub(super) fn new(
        segments: SegmentsView<'a, F, D>,
        (number, segment): NumberedIndex<'a, F, D>,
        table: usize,
    ) -> Result<Self> {
        Ok(TableStream {
            segments,
            number,
            table,
            fingerprints: segment.fingerprints(table)?,
            left: segment.len(),
            last: None,
        })
    }

    /// Rule V35: what an index says of its size must be true before it counts in another.
    fn check_count(&self, is_right: bool) -> Result<()> {
        if is_right {
            return Ok(());
        }
        let message = "the table does not hold as many values as there are fingerprints";
        Err(self.damaged(35, message))
    }

    /// Rule V24 once more: blocks are checked when they are first used, and a file may be overwritten while it is mapped.
    /// Merging and encoding rely on the order.
    fn check_order(&self, values: &[F]) -> Result<()> {
        let goes_on = self.last < values.first().copied();
        if values.is_empty() || goes_on && values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(self.damaged(24, "the values do not ascend"))
    }

    fn damaged(&self, rule: u8, message: &str) -> Error {
        let error = FormatError::damaged(rule, message).in_table(self.table);
        self.segments.blame(self.number)(error.into())
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Stream<Vec<F>> for TableStream<'_, F, D> {
    fn fill(&mut self, buffer: &mut Vec<F>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            let values = match self.fingerprints.next_chunk() {
                None => {
                    self.check_count(self.left == 0)?;
                    return Ok(false);
                }
                Some(Err(error)) => return Err(self.segments.blame(self.number)(error)),
                Some(Ok(values)) => values,
            };
            let (start, left) = (buffer.len(), self.left.checked_sub(values.len() as u64));
            buffer.extend(values.iter().map(|value| value.0));
            self.check_order(&buffer[start..])?;
            self.check_count(left.is_some())?;
            self.left = left.unwrap_or(0);
            self.last = buffer.last().copied();
        }
        Ok(true)
    }
}

/// The records of a segment in order, without those that are marked.
pub(super) struct RecordStream<'a, 't, F, D> {
    segments: SegmentsView<'a, F, D>,
    number: usize,
    records: Records<'a, F, D>,
    /// The sketches of the records, if they are wanted.
    sketches: Option<SketchReader<'a>>,
    /// The record given last.
    last: Option<(F, IdBuf)>,
    excluded: &'t BitSet,
    /// Takes the fingerprints of records that are left out.
    touched: &'t RefCell<Sorter<Vec<F>>>,
}

impl<'a, 't, F: Fingerprint, D: AsRef<[u8]>> RecordStream<'a, 't, F, D> {
    /// Reads the records of segment number `number`, their ids in about `budget` bytes of memory.
    pub(super) fn new(
        segments: SegmentsView<'a, F, D>,
        (number, segment): NumberedIndex<'a, F, D>,
        excluded: &'t BitSet,
        touched: &'t RefCell<Sorter<Vec<F>>>,
        budget: usize,
    ) -> Self {
        RecordStream {
            excluded,
            touched,
            segments,
            number,
            records: segment.records_within(budget),
            sketches: None,
            last: None,
        }
    }

    /// Lets the sketches of the records be read too; the segment must have them.
    ///
    /// # Errors
    /// The damaged head of the sketches.
    pub(super) fn add_sketches(&mut self) -> Result<()> {
        let segment = self.segments.get(self.number);
        let sketches = segment.and_then(|segment| segment.sketches().transpose());
        let sketches = sketches.unwrap_or_else(|| Err(gone()));
        let sketches = sketches.map_err(self.segments.blame(self.number))?;
        self.sketches = Some(SketchReader::new(sketches));
        Ok(())
    }

    /// Hands the next record to `take`, unless it is left out, with its sketch or no bits of one; false at the end.
    fn next(&mut self, take: impl FnOnce(F, Id<'_>, &[u64])) -> Result<bool> {
        let blame = self.segments.blame(self.number);
        let Some((fingerprint, id, slot)) = self.records.read_with_slot().map_err(&blame)? else {
            return Ok(false);
        };
        // Rules V24 and V33, which are not checked each time that records are read: merging relies on the order.
        match &mut self.last {
            Some((before, last)) if (*before, last.as_id()) > (fingerprint, id) => {
                return Err(blame(descending(*before == fingerprint).into()));
            }
            // The memory of the string is used again.
            Some((before, last)) => {
                *before = fingerprint;
                last.clone_from_id(id);
            }
            None => self.last = Some((fingerprint, id.into())),
        }
        let sketch = match &mut self.sketches {
            Some(sketches) => sketches.next().map_err(&blame)?,
            None => &[],
        };
        if self.excluded.contains(slot) {
            let mut touched = self.touched.borrow_mut();
            touched.add(|fingerprints| fingerprints.push(fingerprint))?;
            return Ok(true);
        }
        take(fingerprint, id, sketch);
        Ok(true)
    }
}

fn descending(same_fingerprint: bool) -> FormatError {
    match same_fingerprint {
        true => FormatError::damaged(33, "the ids of a fingerprint descend"),
        false => FormatError::damaged(24, "the values do not ascend").in_table(0),
    }
}

/// Records whose ids are numbers.
impl<F: Fingerprint, D: AsRef<[u8]>> Stream<Vec<Numbered<F>>> for RecordStream<'_, '_, F, D> {
    fn fill(&mut self, buffer: &mut Vec<Numbered<F>>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            let is_there = self.next(|fingerprint, id, _| {
                if let Id::Number(id) = id {
                    buffer.push(Numbered { fingerprint, id });
                }
            })?;
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Records whose ids are strings, or any records with sketches.
impl<F: Fingerprint, D: AsRef<[u8]>> Stream<NamedRecords<F>> for RecordStream<'_, '_, F, D> {
    fn fill(&mut self, buffer: &mut NamedRecords<F>, budget: usize) -> Result<bool> {
        while buffer.memory_len() < budget {
            let is_there = self.next(|fingerprint, id, sketch| match id {
                Id::String(id) => buffer.push_with_sketch(fingerprint, id.as_bytes(), sketch),
                // Their bytes have the order of the numbers.
                Id::Number(id) => buffer.push_with_sketch(fingerprint, &id.to_be_bytes(), sketch),
            })?;
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
