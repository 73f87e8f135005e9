//! Sorts pairs in bounded memory: of fingerprints, of number ids, and of string ids.

use std::io::{self, BufRead, Write};

use rayon::prelude::*;

use super::pairs::PairOf;
use crate::error::Result;
use crate::extsort::{FixedRecord, RecordBuffer, Sorted, Sorter, TempSpace};
use crate::fingerprint::Fingerprint;

/// The buffer size for reading and writing records, in bytes.
const PIECE_LEN: usize = 1 << 20;

impl<F: Fingerprint> FixedRecord for PairOf<F> {
    const LEN: usize = 2 * F::BYTES + 1;

    fn encode(self, out: &mut Vec<u8>) {
        self.smaller.extend_le(out);
        self.larger.extend_le(out);
        // Distances are at most 128.
        out.push(self.distance as u8);
    }

    fn decode(bytes: &[u8]) -> Self {
        let (smaller, rest) = bytes.split_at(F::BYTES);
        let (larger, distance) = rest.split_at(F::BYTES);
        PairOf {
            smaller: F::decode(smaller),
            larger: F::decode(larger),
            distance: distance[0].into(),
        }
    }

    fn sort(records: &mut Vec<Self>) {
        records.par_sort_unstable();
    }
}

/// Sorts pairs of fingerprints or numbers.
pub(super) type PairSorter<F> = Sorter<Vec<PairOf<F>>>;

/// Calls `visit` with each pair, in order.
///
/// # Errors
/// A failure to read pairs, and any error of `visit`.
pub(super) fn for_each_sorted<F: Fingerprint>(
    sorter: PairSorter<F>,
    mut visit: impl FnMut(PairOf<F>) -> Result<()>,
) -> Result<()> {
    match sorter.finish()? {
        Sorted::Memory(pairs) => pairs.into_iter().try_for_each(visit),
        Sorted::Runs(mut merge) => {
            while let Some(round) = merge.next_round()? {
                round.iter().try_for_each(|&pair| visit(pair))?;
            }
            Ok(())
        }
    }
}

/// Pairs of strings with a distance.
#[derive(Debug, Default)]
pub(super) struct NamePairs {
    pairs: Vec<NamePair>,
    arena: Vec<u8>,
}

/// The place of a pair's two strings in the arena, where they are adjacent.
#[derive(Debug, Clone, Copy)]
struct NamePair {
    start: u64,
    lens: [u16; 2],
    distance: u8,
}

/// The sort key of a pair of strings.
pub(super) type NameKey = (Vec<u8>, Vec<u8>, u8);

impl NamePair {
    fn key(self, arena: &[u8]) -> (&[u8], &[u8], u8) {
        let [smaller_len, larger_len] = self.lens.map(usize::from);
        let bytes = &arena[self.start as usize..][..smaller_len + larger_len];
        let (smaller, larger) = bytes.split_at(smaller_len);
        (smaller, larger, self.distance)
    }
}

impl NamePairs {
    /// Appends a pair of strings of at most 65,535 bytes.
    pub(super) fn push(&mut self, smaller: &[u8], larger: &[u8], distance: u8) {
        self.pairs.push(NamePair {
            start: self.arena.len() as u64,
            lens: [smaller.len() as u16, larger.len() as u16],
            distance,
        });
        self.arena.extend_from_slice(smaller);
        self.arena.extend_from_slice(larger);
    }

    /// Calls `visit` with each pair, in order.
    pub(super) fn for_each(
        &self,
        mut visit: impl FnMut(&[u8], &[u8], u32) -> Result<()>,
    ) -> Result<()> {
        self.pairs.iter().try_for_each(|pair| {
            let (smaller, larger, distance) = pair.key(&self.arena);
            visit(smaller, larger, distance.into())
        })
    }
}

impl RecordBuffer for NamePairs {
    type Key = NameKey;

    fn memory_len(&self) -> usize {
        size_of_val(self.pairs.as_slice()) + self.arena.len()
    }

    fn count(&self) -> usize {
        self.pairs.len()
    }

    fn clear(&mut self) {
        self.pairs.clear();
        self.arena.clear();
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        let order = |a: &NamePair, b: &NamePair| a.key(arena).cmp(&b.key(arena));
        self.pairs.par_sort_unstable_by(order);
    }

    fn last_key(&self) -> Option<NameKey> {
        let (smaller, larger, distance) = self.pairs.last()?.key(&self.arena);
        Some((smaller.to_vec(), larger.to_vec(), distance))
    }

    fn move_up_to(&mut self, bound: Option<&NameKey>, to: &mut Self) {
        let arena = &self.arena;
        let count = match bound {
            Some((smaller, larger, distance)) => self
                .pairs
                .partition_point(|pair| pair.key(arena) <= (&smaller[..], &larger[..], *distance)),
            None => self.pairs.len(),
        };
        for pair in &self.pairs[..count] {
            let (smaller, larger, distance) = pair.key(arena);
            to.push(smaller, larger, distance);
        }
        self.pairs.drain(..count);
        // Pairs are read in order, so the strings of the remaining ones are at the end of the arena.
        let start = self.pairs.first().map(|pair| pair.start);
        let start = start.unwrap_or(self.arena.len() as u64);
        self.arena.drain(..start as usize);
        self.pairs.iter_mut().for_each(|pair| pair.start -= start);
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(PIECE_LEN);
        for pair in &self.pairs {
            let (smaller, larger, distance) = pair.key(&self.arena);
            for len in pair.lens {
                bytes.extend_from_slice(&len.to_le_bytes());
            }
            bytes.push(distance);
            bytes.extend_from_slice(smaller);
            bytes.extend_from_slice(larger);
            if bytes.len() >= PIECE_LEN {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)
    }

    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool> {
        let mut strings = Vec::new();
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut head = [0; 5];
            input.read_exact(&mut head)?;
            let [smaller, larger] = [[head[0], head[1]], [head[2], head[3]]]
                .map(|len| usize::from(u16::from_le_bytes(len)));
            strings.resize(smaller + larger, 0);
            input.read_exact(&mut strings)?;
            let (smaller, larger) = strings.split_at(smaller);
            self.push(smaller, larger, head[4]);
            if self.memory_len() >= budget {
                return Ok(true);
            }
        }
    }
}

/// Sorts pairs of strings.
pub(super) type NamePairSorter = Sorter<NamePairs>;

/// Creates a sorter for pairs of strings.
pub(super) fn name_sorter(temp: TempSpace, budget: usize) -> NamePairSorter {
    Sorter::new(temp, budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pairs_of_strings_are_sorted_outside(
            pairs in prop::collection::vec(("[ab]{0,3}", "[ab]{0,3}", 0u8..4), 0..120), budget in 60usize..3000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let temp = TempSpace::new(Some(folder.path().into()), 0);
            let mut sorter = name_sorter(temp, budget);
            for (smaller, larger, distance) in &pairs {
                let add = |b: &mut NamePairs| b.push(smaller.as_bytes(), larger.as_bytes(), *distance);
                sorter.add(add).unwrap();
            }
            let mut sorted = Vec::new();
            let mut visit = |smaller: &[u8], larger: &[u8], distance: u32| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                sorted.push((text(smaller), text(larger), distance as u8));
                Ok(())
            };
            match sorter.finish().unwrap() {
                Sorted::Memory(pairs) => pairs.for_each(&mut visit).unwrap(),
                Sorted::Runs(mut merge) => {
                    while let Some(round) = merge.next_round().unwrap() {
                        round.for_each(&mut visit).unwrap();
                    }
                }
            }
            let mut expected = pairs;
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
