//! The bytes of a file as the readers of ids see them: all there, or those parts that have been fetched.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where the bytes of a file are.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileBytes<'a> {
    /// All of them in memory or mapped.
    Whole(&'a [u8]),
    /// Some of them.
    Fetched(&'a Fetched),
}

impl<'a> FileBytes<'a> {
    /// The bytes of a range; `None` where the file has none, or where they have not been fetched yet, which is noted.
    #[inline]
    pub(super) fn get(self, range: Range<usize>) -> Option<&'a [u8]> {
        match self {
            FileBytes::Whole(bytes) => bytes.get(range),
            FileBytes::Fetched(fetched) => fetched.get(range),
        }
    }
}

/// Parts of a file, and those that were asked for in vain.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// By their offsets. They neither overlap nor touch: there is one copy of each byte, and what has been checked is what
    /// is used.
    parts: BTreeMap<usize, Vec<u8>>,
    missing: RefCell<Vec<Range<u64>>>,
}

impl Fetched {
    fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        if range.is_empty() {
            return Some(&[]);
        }
        let before = self.parts.range(..=range.start).next_back();
        let found = before.and_then(|(start, bytes)| {
            bytes.get(range.start - start..range.end.checked_sub(*start)?)
        });
        if found.is_none() {
            let range = range.start as u64..range.end as u64;
            self.missing.borrow_mut().push(range);
        }
        found
    }

    /// The ranges that were asked for in vain since the last call.
    pub(super) fn take_missing(&mut self) -> Vec<Range<u64>> {
        std::mem::take(self.missing.get_mut())
    }

    /// Adds a part. Bytes that are there already stay what they are.
    pub(super) fn insert(&mut self, start: u64, bytes: Vec<u8>) {
        let mut part = (start as usize, bytes);
        while let Some(other) = self.take_neighbour(&part) {
            part = union(other, part);
        }
        self.parts.insert(part.0, part.1);
    }

    /// Takes a part out that overlaps or touches this one.
    fn take_neighbour(&mut self, (start, bytes): &(usize, Vec<u8>)) -> Option<(usize, Vec<u8>)> {
        let before = self.parts.range(..=start + bytes.len()).next_back();
        let (&other, of_other) = before?;
        if other + of_other.len() < *start {
            return None;
        }
        let of_other = self.parts.remove(&other)?;
        Some((other, of_other))
    }
}

/// Two parts that overlap or touch as one; where both have bytes those of the first one count.
fn union(first: (usize, Vec<u8>), second: (usize, Vec<u8>)) -> (usize, Vec<u8>) {
    let ends = [first.0 + first.1.len(), second.0 + second.1.len()];
    let start = first.0.min(second.0);
    let mut bytes = Vec::with_capacity(ends[0].max(ends[1]) - start);
    bytes.extend_from_slice(&second.1[..(first.0 - start).min(second.1.len())]);
    bytes.extend_from_slice(&first.1);
    if ends[1] > ends[0] {
        bytes.extend_from_slice(&second.1[ends[0] - second.0..]);
    }
    (start, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_is_noted_until_it_is_there() {
        let mut fetched = Fetched::default();
        let file = FileBytes::Fetched(&fetched);
        assert_eq!(file.get(5..5), Some(&[][..]));
        assert_eq!(file.get(5..7), None);
        assert_eq!(file.get(2..3), None);
        assert_eq!(fetched.take_missing(), [5..7, 2..3]);
        fetched.insert(4, vec![4, 5, 6, 7]);
        fetched.insert(4, vec![40]);
        let file = FileBytes::Fetched(&fetched);
        assert_eq!(file.get(5..7), Some(&[5, 6][..]));
        assert_eq!(file.get(5..9), None);
        assert_eq!(fetched.take_missing(), std::slice::from_ref(&(5..9)));
    }

    proptest! {
        #[test]
        fn parts_become_one_where_they_meet(
            parts in prop::collection::vec((0usize..60, 1usize..12), 1..12),
        ) {
            let mut fetched = Fetched::default();
            // The number of the part that came first, for each byte.
            let mut bytes = [None; 80];
            for (number, &(start, len)) in parts.iter().enumerate() {
                fetched.insert(start as u64, vec![number as u8; len]);
                for byte in &mut bytes[start..start + len] {
                    byte.get_or_insert(number as u8);
                }
            }
            for start in 0..80 {
                for end in start + 1..80 {
                    let expected: Option<Vec<u8>> = bytes[start..end].iter().copied().collect();
                    prop_assert_eq!(fetched.get(start..end), expected.as_deref());
                }
            }
        }
    }
}
