//! A buffer of records with strings: string ids, alone, with fingerprints, or in pairs.

use std::cmp::Ordering;
use std::io::{self, BufRead, Write};

use rayon::prelude::*;

use super::record_buffer::{FixedRecord, PIECE_LEN, RecordBuffer, TASK_LEN};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::threads::{map_parts, map_parts_mut};

/// Fingerprints, each with a string id and a sketch, which may be empty.
pub(crate) type NamedRecords<F> = StringRecords<F, ()>;

/// Pairs of strings, each with a distance.
pub(crate) type NamePairs = StringRecords<(), u32>;

/// Strings, each with a number; the second string is empty.
pub(crate) type IndexedStrings = StringRecords<Prefix, u64>;

/// Records of a value, two strings of at most 65,535 bytes, and another value, sorted in this order.
#[derive(Debug)]
pub(crate) struct StringRecords<A, B> {
    records: Vec<Record<A, B>>,
    arena: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Record<A, B> {
    before: A,
    after: B,
    /// The place of the two strings in the arena, where they are adjacent.
    start: u64,
    lens: [u16; 2],
}

impl<A, B> Record<A, B> {
    /// Returns both strings as one.
    #[inline]
    fn bytes<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        let [first, second] = self.lens.map(usize::from);
        &arena[self.start as usize..][..first + second]
    }

    #[inline]
    fn first<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start as usize..][..usize::from(self.lens[0])]
    }

    #[inline]
    fn strings<'a>(&self, arena: &'a [u8]) -> [&'a [u8]; 2] {
        self.bytes(arena).split_at(self.lens[0].into()).into()
    }
}

/// The value before the strings of a record.
pub(crate) trait Before: FixedRecord {
    /// Whether the value is a [`Prefix`].
    const IS_PREFIX: bool = false;

    /// Returns the value by which a record is sorted, given its first string without the beginning that all share.
    fn of_string(self, _string: &[u8]) -> Self {
        self
    }
}

impl<F: Fingerprint> Before for F {}

impl Before for () {}

impl FixedRecord for () {
    const LEN: usize = 0;

    fn encode(self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Self {}
}

/// The first bytes of a string as a number, which is known only while records are sorted, and makes this faster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(u64);

impl Before for Prefix {
    const IS_PREFIX: bool = true;

    fn of_string(self, string: &[u8]) -> Self {
        // Shorter strings are padded with zeros, which keeps the order.
        let mut bytes = [0; 8];
        let len = string.len().min(bytes.len());
        bytes[..len].copy_from_slice(&string[..len]);
        Prefix(u64::from_be_bytes(bytes))
    }
}

impl FixedRecord for Prefix {
    const LEN: usize = 0;

    fn encode(self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Self {
        Prefix::default()
    }
}

impl<A, B> Default for StringRecords<A, B> {
    fn default() -> Self {
        StringRecords {
            records: Vec::new(),
            arena: Vec::new(),
        }
    }
}

impl<A: Before, B: FixedRecord> StringRecords<A, B> {
    /// Appends a record.
    pub(crate) fn push(&mut self, before: A, strings: [&[u8]; 2], after: B) {
        self.records.push(Record {
            before,
            after,
            start: self.arena.len() as u64,
            lens: strings.map(|string| string.len() as u16),
        });
        for string in strings {
            self.arena.extend_from_slice(string);
        }
    }

    /// Calls `visit` with each record, in order.
    pub(crate) fn for_each(
        &self,
        mut visit: impl FnMut(A, [&[u8]; 2], B) -> Result<()>,
    ) -> Result<()> {
        let mut records = self.records.iter();
        records
            .try_for_each(|record| visit(record.before, record.strings(&self.arena), record.after))
    }

    /// Returns the length of the common beginning of all first strings.
    fn common_len(&self) -> usize {
        let Some(first) = self.records.first() else {
            return 0;
        };
        let first = first.first(&self.arena);
        let common = |record: &Record<A, B>| {
            let pairs = first.iter().zip(record.first(&self.arena));
            pairs.take_while(|(a, b)| a == b).count()
        };
        let shortest = map_parts(&self.records, TASK_LEN, |_, part| {
            part.iter().map(common).min().unwrap_or(0)
        });
        shortest.into_iter().min().unwrap_or(0)
    }
}

impl<A: Before, B: FixedRecord> RecordBuffer for StringRecords<A, B> {
    type Key = (A, [Vec<u8>; 2], B);

    fn memory_len(&self) -> usize {
        size_of_val(self.records.as_slice()) + self.arena.len()
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.arena.clear();
    }

    fn sort(&mut self) {
        let mut skipped = 0;
        let arena = &self.arena;
        if A::IS_PREFIX {
            skipped = self.common_len();
            map_parts_mut(&mut self.records, TASK_LEN, |_, part| {
                for record in part {
                    let string = record.first(arena);
                    record.before = record.before.of_string(&string[skipped..]);
                }
            });
        }
        self.records
            .par_sort_unstable_by(|a, b| match a.before.cmp(&b.before) {
                Ordering::Equal => {
                    let by_first = a.first(arena)[skipped..].cmp(&b.first(arena)[skipped..]);
                    by_first
                        .then_with(|| a.strings(arena)[1].cmp(b.strings(arena)[1]))
                        .then_with(|| a.after.cmp(&b.after))
                }
                unequal => unequal,
            });
    }

    fn last_key(&self) -> Option<Self::Key> {
        let record = self.records.last()?;
        let strings = record.strings(&self.arena).map(<[u8]>::to_vec);
        Some((record.before, strings, record.after))
    }

    fn move_up_to(&mut self, bound: Option<&Self::Key>, to: &mut Self) {
        let arena = &self.arena;
        let count = match bound {
            Some((before, strings, after)) => {
                let bound = (*before, strings.each_ref().map(Vec::as_slice), *after);
                let key =
                    |record: &Record<A, B>| (record.before, record.strings(arena), record.after);
                self.records.partition_point(|record| key(record) <= bound)
            }
            None => self.records.len(),
        };
        // Strings were read in order, so those of the remaining records are at the end of the arena.
        let start = self.records.get(count).map(|record| record.start);
        let start = start.unwrap_or(self.arena.len() as u64);
        let shift = to.arena.len() as u64;
        to.arena.extend_from_slice(&self.arena[..start as usize]);
        self.arena.drain(..start as usize);
        let moved = self.records.drain(..count);
        to.records.extend(moved.map(|record| Record {
            start: record.start + shift,
            ..record
        }));
        self.records.iter_mut().for_each(|r| r.start -= start);
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(PIECE_LEN);
        for record in &self.records {
            record.before.encode(&mut bytes);
            record.after.encode(&mut bytes);
            bytes.extend_from_slice(record.lens.map(u16::to_le_bytes).as_flattened());
            bytes.extend_from_slice(record.bytes(&self.arena));
            if bytes.len() >= PIECE_LEN {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)
    }

    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool> {
        let mut head = vec![0; A::LEN + B::LEN + size_of::<[u16; 2]>()];
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            input.read_exact(&mut head)?;
            let (before, rest) = head.split_at(A::LEN);
            let (after, lens) = rest.split_at(B::LEN);
            let record = Record {
                before: A::decode(before),
                after: B::decode(after),
                start: self.arena.len() as u64,
                lens: [[lens[0], lens[1]], [lens[2], lens[3]]].map(u16::from_le_bytes),
            };
            self.arena.resize(
                self.arena.len() + record.lens.map(usize::from).iter().sum::<usize>(),
                0,
            );
            input.read_exact(&mut self.arena[record.start as usize..])?;
            self.records.push(record);
            if self.memory_len() >= budget {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record_buffer::tests::read_all;
    use super::super::{Sorter, TempSpace};
    use super::*;
    use proptest::prelude::*;

    type Contents<A, B> = Vec<(A, [String; 2], B)>;

    fn filled<A: Before, B: FixedRecord>(records: &Contents<A, B>) -> StringRecords<A, B> {
        let mut buffer = StringRecords::default();
        for (before, strings, after) in records {
            buffer.push(*before, strings.each_ref().map(String::as_bytes), *after);
        }
        buffer
    }

    fn contents<A: Before, B: FixedRecord>(buffer: &StringRecords<A, B>) -> Contents<A, B> {
        let mut records = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let push = |before, strings: [&[u8]; 2], after| {
            records.push((before, strings.map(text), after));
            Ok(())
        };
        buffer.for_each(push).unwrap();
        records
    }

    fn string_pair() -> impl Strategy<Value = [String; 2]> {
        ["[ab]{0,3}", "[ab]{0,2}"]
    }

    proptest! {
        #[test]
        fn records_are_sorted_written_and_read(
            records in prop::collection::vec((0u32..9, string_pair(), Just(())), 0..80), budget in 0usize..400,
        ) {
            let mut buffer = filled(&records);
            buffer.sort();
            let mut expected = records;
            expected.sort();
            prop_assert_eq!(contents(&buffer), expected.clone());
            let mut bytes = Vec::new();
            buffer.write_to(&mut bytes).unwrap();
            prop_assert_eq!(contents(&read_all::<NamedRecords<u32>>(&bytes, budget)), expected);
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn records_up_to_a_bound_are_moved(
            records in prop::collection::vec((0u32..9, string_pair(), Just(())), 0..80),
            bound in (0u32..9, string_pair(), Just(())),
        ) {
            let mut buffer = filled(&records);
            buffer.sort();
            // Ordered strings, as in a run.
            let mut buffer = filled(&contents(&buffer));
            let mut below = NamedRecords::default();
            let key = (bound.0, bound.1.clone().map(String::into_bytes), ());
            buffer.move_up_to(Some(&key), &mut below);
            let (mut low, mut high): (Vec<_>, Vec<_>) = records.into_iter().partition(|r| *r <= bound);
            low.sort();
            high.sort();
            prop_assert_eq!(contents(&below), low);
            prop_assert_eq!(contents(&buffer), high);
        }

        #[test]
        fn pairs_and_numbered_strings_are_sorted_outside(
            records in prop::collection::vec((string_pair(), 0u32..4), 0..120), budget in 60usize..3000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let temp = TempSpace::new(Some(folder.path().into()), 0);
            let mut pairs = Sorter::<NamePairs>::new(temp.clone(), budget);
            let mut strings = Sorter::<IndexedStrings>::new(temp, budget);
            for ([first, second], number) in &records {
                let [first, second] = [first, second].map(|string| string.as_bytes());
                pairs.add(|buffer| buffer.push((), [first, second], *number)).unwrap();
                // All strings begin alike, and many continue alike beyond the prefix.
                let long = [b"https://", first, b"/", first, b"/", second, first].concat();
                let number = u64::from(*number);
                strings.add(|buffer| buffer.push(Prefix::default(), [&long, b""], number)).unwrap();
            }
            let (mut sorted, mut sorted_strings) = (Vec::new(), Vec::new());
            pairs.finish().unwrap().for_each_round(|round| {
                sorted.extend(contents(round));
                Ok(())
            }).unwrap();
            strings.finish().unwrap().for_each_round(|round| {
                sorted_strings.extend(contents(round).into_iter().map(|(_, [string, _], number)| (string, number)));
                Ok(())
            }).unwrap();
            let long = |([first, second], number): &([String; 2], u32)| {
                (format!("https://{first}/{first}/{second}{first}"), u64::from(*number))
            };
            let mut expected: Vec<_> = records.iter().map(long).collect();
            expected.sort();
            prop_assert_eq!(sorted_strings, expected);
            let mut expected: Vec<_> = records.into_iter().map(|(pair, number)| ((), pair, number)).collect();
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
