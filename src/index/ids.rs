//! Reading the ids of a fingerprint (spec, section 9).

use std::iter::FusedIterator;

use super::paged::Paged;
use super::table::ValuePlace;
use crate::error::{FormatError, Result};
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, MAX_ID_LEN, STRINGS_PER_OFFSET};

/// The id of a record.
///
/// Numbers are ordered by value, strings by their bytes.
///
/// ```
/// use simidx::Id;
///
/// assert_eq!(Id::Number(7).to_string(), "7");
/// assert_eq!(Id::String("page-7").to_string(), "page-7");
/// assert!(Id::Number(7) < Id::Number(10) && Id::String("7") > Id::String("10"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id<'a> {
    /// A number.
    Number(u64),
    /// A string.
    String(&'a str),
}

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::String(string) => string.fmt(f),
        }
    }
}

/// Position of a fingerprint in table 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rank(pub(super) u64);

/// The id sections of an open index.
#[derive(Debug)]
pub(super) struct IdSections {
    /// Rank of the first value of each block of table 0.
    pub(super) block_ranks: Vec<u64>,
    pub(super) fingerprint_count: u64,
    pub(super) record_count: u64,
    /// Absent where each fingerprint has one id.
    pub(super) groups: Option<Paged>,
    pub(super) values: IdValues,
}

/// The ids themselves.
#[derive(Debug)]
pub(super) enum IdValues {
    Numbers {
        base: u64,
        bits: u32,
        packed: Paged,
    },
    Strings {
        bits: u32,
        offsets: Paged,
        bytes: Paged,
    },
}

impl IdSections {
    /// The rank of a value of table 0.
    pub(super) fn rank(&self, place: ValuePlace) -> Rank {
        Rank(self.block_ranks[place.block] + place.index as u64)
    }

    /// The sections with page checksums.
    pub(super) fn paged_sections(&self) -> Vec<&Paged> {
        let values: &[&Paged] = match &self.values {
            IdValues::Numbers { packed, .. } => &[packed],
            IdValues::Strings { offsets, bytes, .. } => &[offsets, bytes],
        };
        self.groups.iter().chain(values.iter().copied()).collect()
    }

    /// The ids of a rank, which must be less than the number of fingerprints.
    pub(super) fn of<'a>(&'a self, file: &'a [u8], rank: Rank) -> Result<Ids<'a>, FormatError> {
        let (first, end) = match &self.groups {
            None => (rank.0, rank.0 + 1),
            Some(groups) => self.group(groups, file, rank)?,
        };
        let at = match &self.values {
            IdValues::Numbers { .. } => 0,
            IdValues::Strings {
                bits,
                offsets,
                bytes,
            } => string_offset(file, offsets, bytes, *bits, first)?,
        };
        Ok(Ids {
            source: Some((self, file)),
            next: first,
            end,
            at,
        })
    }

    /// Whether an id is the first one of its fingerprint.
    pub(super) fn is_first(&self, file: &[u8], index: u64) -> Result<bool, FormatError> {
        let Some(groups) = &self.groups else {
            return Ok(true);
        };
        let chunk = Chunk::read(groups, file, index / GROUP_CHUNK_BITS)?;
        Ok(chunk.bit(index % GROUP_CHUNK_BITS))
    }

    /// An id by its place among all, for callers that read one after the other: `at` is where the next string starts.
    pub(super) fn read_next<'a>(
        &self,
        file: &'a [u8],
        index: u64,
        at: &mut usize,
    ) -> Result<Id<'a>, FormatError> {
        match &self.values {
            IdValues::Numbers { base, bits, packed } => {
                let number = base.checked_add(packed.packed(file, index, *bits)?);
                let number = number.ok_or_else(|| packed.damaged(30, "an id passes 2^64"))?;
                Ok(Id::Number(number))
            }
            IdValues::Strings { bytes, .. } => {
                let string;
                (string, *at) = read_string(file, bytes, *at)?;
                Ok(Id::String(string))
            }
        }
    }

    /// Number of ids.
    pub(super) fn record_count(&self) -> u64 {
        self.record_count
    }

    /// The range of ids that belong to a rank: from set bit number `rank` to the next one.
    fn group(&self, groups: &Paged, file: &[u8], rank: Rank) -> Result<(u64, u64), FormatError> {
        let chunk_count = (groups.len() / GROUP_CHUNK_LEN) as u64;
        // The last chunk with no more set bits before it than the rank.
        let (mut low, mut high) = (0, chunk_count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if Chunk::read(groups, file, middle)?.ones_before <= rank.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let chunk = Chunk::read(groups, file, low)?;
        if low == 0 && (chunk.ones_before != 0 || !chunk.bit(0)) {
            return Err(groups.damaged(29, "the first group does not start at the first id"));
        }
        let first = rank
            .0
            .checked_sub(chunk.ones_before)
            .and_then(|nth| chunk.nth_one(nth));
        let Some(first) = first else {
            return Err(groups.damaged(29, "the counts of the groups are wrong"));
        };
        let start = low * GROUP_CHUNK_BITS + first;
        if start >= self.record_count {
            return Err(groups.damaged(29, "a bit behind the last id is set"));
        }
        let end = self.next_group(groups, file, start, rank)?;
        if (end == self.record_count) != (rank.0 + 1 == self.fingerprint_count) {
            return Err(groups.damaged(29, "the bits are not as many as the fingerprints"));
        }
        Ok((start, end))
    }

    /// The first set bit behind that of a rank at `start`; the record count if there is none.
    fn next_group(
        &self,
        groups: &Paged,
        file: &[u8],
        start: u64,
        rank: Rank,
    ) -> Result<u64, FormatError> {
        let mut from = start % GROUP_CHUNK_BITS + 1;
        let (own, chunk_count) = (start / GROUP_CHUNK_BITS, groups.len() / GROUP_CHUNK_LEN);
        for number in own..chunk_count as u64 {
            let chunk = Chunk::read(groups, file, number)?;
            if number > own && chunk.ones_before != rank.0 + 1 {
                return Err(groups.damaged(29, "a chunk counts the set bits before it wrongly"));
            }
            if let Some(next) = chunk.first_one_from(from) {
                let end = number * GROUP_CHUNK_BITS + next;
                return if end < self.record_count {
                    Ok(end)
                } else {
                    Err(groups.damaged(29, "a bit behind the last id is set"))
                };
            }
            from = 0;
        }
        Ok(self.record_count)
    }

    /// Checks the groups as a whole (V29).
    pub(super) fn check_groups(&self, file: &[u8]) -> Result<(), FormatError> {
        let Some(groups) = &self.groups else {
            return Ok(());
        };
        let mut ones = 0;
        for number in 0..(groups.len() / GROUP_CHUNK_LEN) as u64 {
            let chunk = Chunk::read(groups, file, number)?;
            if chunk.ones_before != ones {
                return Err(groups.damaged(29, "a chunk counts the set bits before it wrongly"));
            }
            let last = self.record_count - number * GROUP_CHUNK_BITS;
            if chunk.first_one_from(last).is_some() || number == 0 && !chunk.bit(0) {
                return Err(groups.damaged(29, "the first bit is clear or one behind the end set"));
            }
            ones += chunk.count_ones();
        }
        if ones != self.fingerprint_count {
            return Err(groups.damaged(29, "the bits are not as many as the fingerprints"));
        }
        Ok(())
    }

    /// Checks that the bits behind a packed array are zero (V34).
    pub(super) fn check_spare_bits(&self, file: &[u8]) -> Result<(), FormatError> {
        let (packed, count, bits) = match &self.values {
            IdValues::Numbers { packed, bits, .. } => (packed, self.record_count, *bits),
            IdValues::Strings { offsets, bits, .. } => (
                offsets,
                self.record_count.div_ceil(STRINGS_PER_OFFSET),
                *bits,
            ),
        };
        let used = count * u64::from(bits);
        let spare = (packed.len() as u64 * 8 - used) as u32;
        let last = packed.bytes(file, packed.len().saturating_sub(1)..packed.len())?;
        if last
            .first()
            .is_some_and(|byte| byte & ((1 << spare) - 1) != 0)
        {
            return Err(packed.damaged(34, "a bit behind the last number is set"));
        }
        Ok(())
    }

    /// Checks that the string offsets point to the strings that they should and that the last string ends
    /// the payload (V31, V32).
    pub(super) fn check_strings(&self, file: &[u8]) -> Result<(), FormatError> {
        let IdValues::Strings {
            bits,
            offsets,
            bytes,
        } = &self.values
        else {
            return Ok(());
        };
        let mut at = 0;
        for index in 0..self.record_count {
            let start = at;
            at = read_string(file, bytes, start)?.1;
            if index.is_multiple_of(STRINGS_PER_OFFSET)
                && offsets.packed(file, index / STRINGS_PER_OFFSET, *bits)? != start as u64
            {
                return Err(offsets.damaged(32, "an offset does not point to its string"));
            }
        }
        if at != bytes.len() {
            return Err(bytes.damaged(32, "bytes follow the last string"));
        }
        Ok(())
    }
}

/// The ids of one fingerprint, in order; made by [`Index::ids`](super::Index::ids) and
/// [`Index::ids_of`](super::Index::ids_of).
///
/// Each step reads one id. An error is that of a damaged page of ids, and the last item.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::{IdKind, Index};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::<u64>::new(options)?;
/// builder.push_with_number(0xff, 1)?;
/// builder.push_with_number(0xff, 2)?;
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
///
/// let index = Index::<u64, _>::from_bytes(file)?;
/// let ids = index.ids_of(0xff)?;
/// assert_eq!(ids.len(), 2);
/// let texts: Vec<String> = ids.map(|id| Ok(id?.to_string())).collect::<simidx::Result<_>>()?;
/// assert_eq!(texts, ["1", "2"]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ids<'a> {
    /// Absent where there is no id.
    source: Option<(&'a IdSections, &'a [u8])>,
    next: u64,
    end: u64,
    /// Where the next string starts.
    at: usize,
}

impl<'a> Ids<'a> {
    /// No ids.
    pub(super) fn none() -> Self {
        Ids {
            source: None,
            next: 0,
            end: 0,
            at: 0,
        }
    }

    /// Number of ids that are left, known without reading them.
    pub fn len(&self) -> u64 {
        self.end - self.next
    }

    /// Whether no id is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next id. After an error the rest means nothing.
    pub(super) fn read(&mut self) -> Result<Option<Id<'a>>, FormatError> {
        let Some((sections, file)) = self.source.filter(|_| self.next < self.end) else {
            return Ok(None);
        };
        let id = sections.read_next(file, self.next, &mut self.at)?;
        self.next += 1;
        if let IdValues::Strings { bytes, .. } = &sections.values
            && self.next == sections.record_count
            && self.at != bytes.len()
        {
            return Err(bytes.damaged(32, "bytes follow the last string"));
        }
        Ok(Some(id))
    }
}

impl<'a> Iterator for Ids<'a> {
    type Item = Result<Id<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Id<'a>>> {
        match self.read() {
            Ok(id) => id.map(Ok),
            Err(error) => {
                self.next = self.end;
                Some(Err(error.into()))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.len()) {
            // An error takes the place of all that were to come.
            Ok(len) => (len.min(1), Some(len)),
            Err(_) => (1, None),
        }
    }
}

impl FusedIterator for Ids<'_> {}

/// Where string `index` starts in the payload.
fn string_offset(
    file: &[u8],
    offsets: &Paged,
    bytes: &Paged,
    bits: u32,
    index: u64,
) -> Result<usize, FormatError> {
    let offset = offsets.packed(file, index / STRINGS_PER_OFFSET, bits)?;
    let mut at = usize::try_from(offset)
        .ok()
        .filter(|&at| at < bytes.len() && (at == 0 || index >= STRINGS_PER_OFFSET))
        .ok_or_else(|| offsets.damaged(32, "an offset does not point to its string"))?;
    for _ in 0..index % STRINGS_PER_OFFSET {
        let (len, start) = read_varint(file, bytes, at)?;
        at = start + len;
    }
    Ok(at)
}

/// The string at `at` of the payload and where the next one starts.
fn read_string<'a>(
    file: &'a [u8],
    bytes: &Paged,
    at: usize,
) -> Result<(&'a str, usize), FormatError> {
    let (len, start) = read_varint(file, bytes, at)?;
    let end = start + len;
    if end > bytes.len() {
        return Err(bytes.damaged(31, "a string runs past the end"));
    }
    let string = std::str::from_utf8(bytes.bytes(file, start..end)?)
        .map_err(|_| bytes.damaged(31, "a string is not UTF-8"))?;
    Ok((string, end))
}

/// The length at `at` of the payload and where its string starts.
fn read_varint(file: &[u8], bytes: &Paged, at: usize) -> Result<(usize, usize), FormatError> {
    let mut value = 0;
    for (i, &byte) in bytes.bytes(file, at..at + 3)?.iter().enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            let shortest = byte > 0 || i == 0;
            return if shortest && value <= MAX_ID_LEN {
                Ok((value, at + i + 1))
            } else {
                Err(bytes.damaged(
                    31,
                    "the length of a string is not in shortest form or too large",
                ))
            };
        }
    }
    Err(bytes.damaged(31, "the length of a string does not end"))
}

/// One chunk of the groups. Spec §9.2.
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

    fn bit(&self, bit: u64) -> bool {
        self.bitmap[(bit / 8) as usize] & (0x80 >> (bit % 8)) != 0
    }

    /// The position of set bit number `nth`.
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

    /// The position of the first set bit from `from` on.
    fn first_one_from(&self, from: u64) -> Option<u64> {
        (from..GROUP_CHUNK_BITS).find(|&bit| self.bit(bit))
    }
}
