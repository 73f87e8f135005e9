//! Finds the records that later segments replace: those whose id one of these has too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Merger;
use super::records::REPORT_EVERY;
use crate::bit_set::BitSet;
use crate::error::{FormatError, Result};
use crate::extsort::{Numbered, Sorter};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::id::Id;
use crate::set::NumberedIndex;
use crate::watch::{Reporter, Stage};

impl<'a, F: Fingerprint> Merger<'a, F> {
    /// Marks the slots of the records that a later one of these segments replaces. Returns their number. Reads all ids
    /// in order: strings as they lie in the segments, numbers sorted within the budget.
    ///
    /// # Errors
    /// A damaged segment, or a failure to sort numbers.
    pub(super) fn mark_replaced(
        &self,
        segments: &[NumberedIndex<'a, F>],
        slots: &mut [BitSet],
        reporter: &mut Reporter,
    ) -> Result<u64> {
        let counts = segments.iter().map(|(_, segment)| segment.record_count());
        reporter.begin(Stage::CompareIds, counts.sum())?;
        match self.model().id_kind() {
            IdKind::String => self.mark_strings(segments, slots, reporter),
            _ => self.mark_numbers(segments, slots, reporter),
        }
    }

    fn mark_strings(
        &self,
        segments: &[NumberedIndex<'a, F>],
        slots: &mut [BitSet],
        reporter: &mut Reporter,
    ) -> Result<u64> {
        let mut sources = Vec::with_capacity(segments.len());
        let mut heads = BinaryHeap::with_capacity(segments.len());
        for (at, &(number, segment)) in segments.iter().enumerate() {
            let Some(mut strings) = segment.sorted_strings() else {
                continue;
            };
            let blame = self.segments.blame(number);
            if let Some((slot, string)) = strings.next().map_err(&blame)? {
                heads.push(Reverse(Head {
                    string: string.to_vec(),
                    segment: Reverse(at),
                    source: sources.len(),
                    slot,
                }));
                sources.push((strings, blame));
            }
        }
        let mut kept: Option<(Vec<u8>, usize)> = None;
        let (mut replaced, mut passed) = (0, 0);
        while let Some(mut top) = heads.peek_mut() {
            let Reverse(head) = &mut *top;
            let Reverse(segment) = head.segment;
            match &mut kept {
                Some((string, newest)) if *string == head.string => {
                    if *newest != segment {
                        slots[segment].insert(head.slot);
                        replaced += 1;
                    }
                }
                Some((string, newest)) => {
                    string.clone_from(&head.string);
                    *newest = segment;
                }
                None => kept = Some((head.string.clone(), segment)),
            }
            let (strings, blame) = &mut sources[head.source];
            match strings.next().map_err(&*blame)? {
                // Rule V38, on which the comparison relies.
                Some((_, string)) if string < head.string.as_slice() => {
                    let message = "the ids of the dictionary descend";
                    return Err(blame(FormatError::damaged(38, message).into()));
                }
                Some((slot, string)) => {
                    head.slot = slot;
                    head.string.clear();
                    head.string.extend_from_slice(string);
                }
                None => {
                    PeekMut::pop(top);
                }
            }
            passed += 1;
            if passed == REPORT_EVERY {
                reporter.advance(passed)?;
                passed = 0;
            }
        }
        reporter.advance(passed)?;
        Ok(replaced)
    }

    fn mark_numbers(
        &self,
        segments: &[NumberedIndex<'a, F>],
        slots: &mut [BitSet],
        reporter: &mut Reporter,
    ) -> Result<u64> {
        let mut sorter = Sorter::<Vec<Numbered<u128>>>::new(self.temp.clone(), self.budget);
        for (at, &(number, segment)) in segments.iter().enumerate() {
            let mut added = Ok(());
            let visited = segment.visit_ids(|slot, id| {
                if let (Id::Number(id), Ok(())) = (id, &added) {
                    added = sorter.add(|ids| ids.push(sort_key(id, at, slot)));
                }
            });
            visited.map_err(self.segments.blame(number))?;
            added?;
            reporter.advance(segment.record_count())?;
        }
        let mut kept: Option<(u64, usize)> = None;
        let mut replaced = 0;
        sorter.finish()?.for_each_round(|round| {
            for key in round {
                let (id, segment) = id_and_segment(key);
                let same = kept.filter(|(last, _)| *last == id);
                let (_, newest) = *kept.insert(same.unwrap_or((id, segment)));
                if newest != segment {
                    slots[segment].insert(key.id);
                    replaced += 1;
                }
            }
            Ok(())
        })?;
        Ok(replaced)
    }
}

/// The next string of a segment. The last segment with a string comes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    string: Vec<u8>,
    segment: Reverse<usize>,
    source: usize,
    slot: u64,
}

/// Bits of the number of a segment.
const SEGMENT_BITS: u32 = 32;

/// Returns the sort key of a number id. Equal ids are ordered by segment, last first.
fn sort_key(id: u64, segment: usize, slot: u64) -> Numbered<u128> {
    let reversed = u32::MAX - segment as u32;
    Numbered {
        fingerprint: u128::from(id) << SEGMENT_BITS | u128::from(reversed),
        id: slot,
    }
}

fn id_and_segment(key: &Numbered<u128>) -> (u64, usize) {
    let id = (key.fingerprint >> SEGMENT_BITS) as u64;
    (id, (u32::MAX - key.fingerprint as u32) as usize)
}
