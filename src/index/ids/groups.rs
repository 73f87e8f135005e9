//! The groups of ids that belong to each fingerprint: bitmaps that mark its first id (spec, section 9.2).

use std::ops::Range;

use super::Rank;
use crate::error::FormatError;
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN};
use crate::index::paged::Paged;

/// The groups of ids in an index where some fingerprints have several.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) chunks: Paged,
    pub(super) fingerprint_count: u64,
    pub(super) record_count: u64,
}

impl Groups {
    fn chunk_count(&self) -> u64 {
        (self.chunks.len() / GROUP_CHUNK_LEN) as u64
    }

    fn chunk<'a>(&self, file: &'a [u8], number: u64) -> Result<Chunk<'a>, FormatError> {
        Chunk::read(&self.chunks, file, number)
    }

    /// Returns whether an id is the first of its fingerprint.
    pub(super) fn is_first(&self, file: &[u8], index: u64) -> Result<bool, FormatError> {
        let chunk = self.chunk(file, index / GROUP_CHUNK_BITS)?;
        Ok(chunk.bit(index % GROUP_CHUNK_BITS))
    }

    /// Returns the rank of the fingerprint that an id belongs to.
    pub(super) fn rank_of(&self, file: &[u8], index: u64) -> Result<Rank, FormatError> {
        let number = index / GROUP_CHUNK_BITS;
        let chunk = self.chunk(file, number)?;
        self.check_first(number, &chunk)?;
        let ones = chunk.ones_up_to(index % GROUP_CHUNK_BITS);
        let rank = chunk.ones_before.checked_add(ones);
        let rank = rank.and_then(|ones| ones.checked_sub(1));
        let rank = rank.filter(|&rank| rank < self.fingerprint_count);
        rank.map(Rank)
            .ok_or_else(|| self.damaged("a chunk counts the set bits before it wrongly"))
    }

    /// Checks that the first group starts at the first id.
    fn check_first(&self, number: u64, chunk: &Chunk<'_>) -> Result<(), FormatError> {
        if number == 0 && (chunk.ones_before != 0 || !chunk.bit(0)) {
            return Err(self.damaged("the first group does not start at the first id"));
        }
        Ok(())
    }

    /// Returns the ids of a rank: from its set bit to the next one.
    pub(super) fn of(&self, file: &[u8], rank: Rank) -> Result<Range<u64>, FormatError> {
        let (number, chunk) = self.chunk_of(file, rank)?;
        self.check_first(number, &chunk)?;
        let first = rank
            .0
            .checked_sub(chunk.ones_before)
            .and_then(|nth| chunk.nth_one(nth));
        let first = first.ok_or_else(|| self.damaged("the counts of the groups are wrong"))?;
        let start = number * GROUP_CHUNK_BITS + first;
        if start >= self.record_count {
            return Err(self.damaged("a bit after the last id is set"));
        }
        let end = self.next_first(file, start, rank)?;
        if (end == self.record_count) != (rank.0 + 1 == self.fingerprint_count) {
            return Err(self.damaged("the bits are not as many as the fingerprints"));
        }
        Ok(start..end)
    }

    /// Returns the last chunk whose number of earlier set bits is at most the rank: guessed, then searched from there
    /// in growing steps. Wrong numbers lead to a chunk without the bit.
    fn chunk_of<'a>(&self, file: &'a [u8], rank: Rank) -> Result<(u64, Chunk<'a>), FormatError> {
        let starts_after = |number| Ok(self.chunk(file, number)?.ones_before > rank.0);
        let guess = self.guess(rank);
        let (mut low, mut high, mut step) = (guess, guess + 1, 1);
        while low > 0 && starts_after(low)? {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high > guess && high < self.chunk_count() && !starts_after(high)? {
            low = high;
            high = self.chunk_count().min(high + step);
            step *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if starts_after(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok((low, self.chunk(file, low)?))
    }

    /// Returns the chunk of a rank if the fingerprints with several ids are evenly spread.
    fn guess(&self, rank: Rank) -> u64 {
        let chunk = u128::from(rank.0) * u128::from(self.chunk_count());
        let chunk = chunk / u128::from(self.fingerprint_count.max(1));
        (chunk as u64).min(self.chunk_count().saturating_sub(1))
    }

    /// Returns the first set bit after that of a rank at `start`; the record count if there is none.
    fn next_first(&self, file: &[u8], start: u64, rank: Rank) -> Result<u64, FormatError> {
        let mut from = start % GROUP_CHUNK_BITS + 1;
        let own = start / GROUP_CHUNK_BITS;
        for number in own..self.chunk_count() {
            let chunk = self.chunk(file, number)?;
            if number > own && chunk.ones_before != rank.0 + 1 {
                return Err(self.damaged("a chunk counts the set bits before it wrongly"));
            }
            if let Some(next) = chunk.first_one_from(from) {
                let end = number * GROUP_CHUNK_BITS + next;
                return if end < self.record_count {
                    Ok(end)
                } else {
                    Err(self.damaged("a bit after the last id is set"))
                };
            }
            from = 0;
        }
        Ok(self.record_count)
    }

    /// Checks the groups as a whole (V29).
    pub(super) fn check(&self, file: &[u8]) -> Result<(), FormatError> {
        let mut ones = 0;
        for number in 0..self.chunk_count() {
            let chunk = self.chunk(file, number)?;
            if chunk.ones_before != ones {
                return Err(self.damaged("a chunk counts the set bits before it wrongly"));
            }
            let last = self.record_count - number * GROUP_CHUNK_BITS;
            if chunk.first_one_from(last).is_some() || number == 0 && !chunk.bit(0) {
                return Err(self.damaged("the first bit is clear or one after the end set"));
            }
            ones += chunk.count_ones();
        }
        if ones != self.fingerprint_count {
            return Err(self.damaged("the bits are not as many as the fingerprints"));
        }
        Ok(())
    }

    fn damaged(&self, message: &str) -> FormatError {
        self.chunks.damaged(29, message)
    }
}

/// A chunk of the groups (spec, section 9.2).
struct Chunk<'a> {
    ones_before: u64,
    bitmap: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn read(groups: &Paged, file: &'a [u8], number: u64) -> Result<Self, FormatError> {
        let start = number as usize * GROUP_CHUNK_LEN;
        let bytes = groups.bytes(file, start..start + GROUP_CHUNK_LEN)?;
        match bytes.split_first_chunk::<8>() {
            Some((count, bitmap)) if bytes.len() == GROUP_CHUNK_LEN => Ok(Chunk {
                ones_before: u64::from_le_bytes(*count),
                bitmap,
            }),
            _ => Err(groups.damaged(29, "a chunk is missing")),
        }
    }

    fn count_ones(&self) -> u64 {
        self.bitmap.iter().map(|b| u64::from(b.count_ones())).sum()
    }

    /// Returns the number of set bits up to and including this one.
    fn ones_up_to(&self, bit: u64) -> u64 {
        let (whole, rest) = ((bit / 8) as usize, bit % 8);
        let before = self.bitmap[..whole].iter();
        let before: u64 = before.map(|b| u64::from(b.count_ones())).sum();
        before + u64::from((self.bitmap[whole] >> (7 - rest)).count_ones())
    }

    fn bit(&self, bit: u64) -> bool {
        self.bitmap[(bit / 8) as usize] & (0x80 >> (bit % 8)) != 0
    }

    /// Returns the position of set bit number `nth`.
    fn nth_one(&self, nth: u64) -> Option<u64> {
        let mut left = nth;
        for (i, byte) in self.bitmap.iter().enumerate() {
            let ones = u64::from(byte.count_ones());
            if left < ones {
                let base = i as u64 * 8;
                return (base..base + 8).filter(|&b| self.bit(b)).nth(left as usize);
            }
            left -= ones;
        }
        None
    }

    /// Returns the position of the first set bit from `from` on.
    fn first_one_from(&self, from: u64) -> Option<u64> {
        (from..GROUP_CHUNK_BITS).find(|&bit| self.bit(bit))
    }
}
