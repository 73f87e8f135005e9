//! The sections of a file, their order and alignment (spec §4.5), and the lengths of paged ones (§3.5).

use super::{Directory, GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, IdKind};
use crate::codec::bits::bit_length;
use crate::codec::{Codec, keys, lines, strings};

/// Alignment of sections that are read whole, and of short paged ones. Spec §4.5.
pub(crate) const SECTION_ALIGNMENT: u64 = 64;

/// The largest alignment of the blocks. Spec §4.5.
const MAX_BLOCK_ALIGNMENT: u64 = 4096;

/// The least number of an ancillary kind. Spec §4.6.
const FIRST_ANCILLARY: u16 = 0x8000;

/// The number of a kind of section in the file. Spec §4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(u16);

impl Kind {
    pub(crate) const BLOCKS: Kind = Kind(1);
    pub(crate) const GROUPS: Kind = Kind(2);
    pub(crate) const NUMBERS: Kind = Kind(4);
    pub(crate) const PLACES: Kind = Kind(5);
    pub(crate) const BUCKET_OFFSETS: Kind = Kind(6);
    pub(crate) const BUCKETS: Kind = Kind(7);
    pub(crate) const ID_ORDER: Kind = Kind(8);
    pub(crate) const BLOCK_COUNTS: Kind = Kind(9);
    pub(crate) const KEY_GROUPS: Kind = Kind(10);
    pub(crate) const KEY_ENTRIES: Kind = Kind(11);
    pub(crate) const STRING_CODE: Kind = Kind(12);
    pub(crate) const PIPELINE: Kind = Kind(13);
    pub(crate) const METADATA: Kind = Kind(14);
    pub(crate) const LINES: Kind = Kind(15);
    pub(crate) const LOW_BITS: Kind = Kind(16);
    /// The ancillary kind of the sketches. Spec §10.4.
    pub(crate) const SKETCHES: Kind = Kind(0x8001);

    /// The kinds that have a meaning, with their names in messages.
    const KNOWN: [(Kind, &str); 16] = [
        (Kind::BLOCKS, "blocks"),
        (Kind::GROUPS, "id groups"),
        (Kind::NUMBERS, "number ids"),
        (Kind::PLACES, "places of the ids"),
        (Kind::BUCKET_OFFSETS, "offsets of the id buckets"),
        (Kind::BUCKETS, "id buckets"),
        (Kind::ID_ORDER, "order of the ids"),
        (Kind::BLOCK_COUNTS, "block counts"),
        (Kind::KEY_GROUPS, "key groups"),
        (Kind::KEY_ENTRIES, "key entries"),
        (Kind::STRING_CODE, "code of the ids"),
        (Kind::PIPELINE, "pipeline"),
        (Kind::METADATA, "metadata"),
        (Kind::LINES, "lines"),
        (Kind::LOW_BITS, "low bits"),
        (Kind::SKETCHES, "sketches"),
    ];

    /// Returns the number in the file.
    pub(crate) fn code(self) -> u16 {
        self.0
    }

    /// Returns the kind with this number; `None` if it is unknown and not ancillary.
    pub(crate) fn from_code(code: u16) -> Option<Self> {
        let kind = Kind(code);
        (kind.is_ancillary() || kind.known_name().is_some()).then_some(kind)
    }

    /// Whether readers that do not know the kind skip the section.
    pub(crate) fn is_ancillary(self) -> bool {
        self.0 >= FIRST_ANCILLARY
    }

    fn known_name(self) -> Option<&'static str> {
        let mut known = Kind::KNOWN.iter();
        known.find(|(kind, _)| *kind == self).map(|(_, name)| *name)
    }

    /// Returns the name in messages.
    pub(crate) fn name(self) -> &'static str {
        self.known_name().unwrap_or("ancillary section")
    }

    /// Returns the alignment of a section. For a paged one of a table, `size` is the number of fingerprints, because the
    /// number of lines is not known when the section begins; for other paged ones, it is the length of the section.
    pub(crate) fn alignment(self, block_size: u32, size: u64) -> u64 {
        match self {
            Kind::BLOCKS => u64::from(block_size).min(MAX_BLOCK_ALIGNMENT),
            _ if self.is_paged() => paged_alignment(size),
            _ => SECTION_ALIGNMENT,
        }
    }

    /// Whether the section ends with checksums of its pages.
    pub(crate) fn is_paged(self) -> bool {
        matches!(
            self,
            Kind::GROUPS
                | Kind::NUMBERS
                | Kind::PLACES
                | Kind::BUCKET_OFFSETS
                | Kind::BUCKETS
                | Kind::ID_ORDER
                | Kind::LINES
                | Kind::LOW_BITS
        )
    }

    /// Whether the section record holds the checksum of the whole section.
    pub(crate) fn has_record_checksum(self) -> bool {
        !self.is_paged() && !matches!(self, Kind::BLOCKS | Kind::KEY_GROUPS)
    }

    /// Whether the section holds ids.
    pub(crate) fn is_of_ids(self) -> bool {
        self.is_paged() && !self.is_of_table() || self == Kind::STRING_CODE
    }

    /// Whether each table has such a section.
    pub(crate) fn is_of_table(self) -> bool {
        matches!(
            self,
            Kind::BLOCKS | Kind::KEY_GROUPS | Kind::KEY_ENTRIES | Kind::LINES | Kind::LOW_BITS
        )
    }
}

/// A section that the parameters of a file require or allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedSection {
    pub(crate) kind: Kind,
    pub(crate) table: usize,
    /// The length; `None` if only the section record has it.
    pub(crate) len: Option<u64>,
    /// Whether the section may be missing.
    pub(crate) is_optional: bool,
}

/// Returns the sections of a file in order, without ancillary ones. `None` if a length exceeds 64 bits.
pub(crate) fn expected_sections(directory: &Directory, width: u32) -> Option<Vec<ExpectedSection>> {
    let mut sections = Vec::new();
    let mut add = |kind, table, len, is_optional| {
        sections.push(ExpectedSection {
            kind,
            table,
            len,
            is_optional,
        })
    };
    for (t, table) in directory.tables.iter().enumerate() {
        if table.codec == Codec::Lines {
            let lines = table.block_count.checked_mul(lines::LINE_LEN as u64)?;
            let low_bits = width.checked_sub(table.address_bits)?;
            let row = packed_len(directory.fingerprint_count, low_bits)?;
            add(Kind::LOW_BITS, t, Some(paged_len(row)?), false);
            add(Kind::LINES, t, Some(paged_len(lines)?), false);
            continue;
        }
        let blocks = table.block_count.checked_mul(directory.block_size.into())?;
        add(Kind::BLOCKS, t, Some(blocks), false);
    }
    let records = directory.record_count;
    if directory.id_kind != IdKind::None {
        if records > directory.fingerprint_count {
            let chunks = records.div_ceil(GROUP_CHUNK_BITS);
            let len = paged_len(chunks * GROUP_CHUNK_LEN as u64)?;
            add(Kind::GROUPS, 0, Some(len), false);
        }
        let indexes = paged_len(packed_len(records, index_bits(records))?)?;
        if directory.id_kind == IdKind::Number {
            let numbers = packed_len(records, directory.id_bits)?;
            add(Kind::NUMBERS, 0, Some(paged_len(numbers)?), false);
        } else {
            add(Kind::PLACES, 0, Some(indexes), false);
            let offsets = packed_len(
                records.div_ceil(strings::BUCKET_LEN as u64),
                directory.id_bits,
            )?;
            add(Kind::BUCKET_OFFSETS, 0, Some(paged_len(offsets)?), false);
            add(Kind::BUCKETS, 0, None, false);
        }
        add(Kind::ID_ORDER, 0, Some(indexes), true);
    }
    let in_blocks = || {
        let tables = directory.tables.iter().enumerate();
        tables.filter(|(_, table)| table.codec != Codec::Lines)
    };
    if let Some((0, table)) = in_blocks().next() {
        let counts = table.block_count.checked_mul(2)?;
        add(Kind::BLOCK_COUNTS, 0, Some(counts), false);
    }
    for (t, _) in in_blocks() {
        add(Kind::KEY_GROUPS, t, None, false);
    }
    for (t, table) in in_blocks() {
        let entries = keys::group_count(table.block_count);
        let len = entries.checked_mul(keys::entry_len(width) as u64)?;
        add(Kind::KEY_ENTRIES, t, Some(len), false);
    }
    if directory.id_kind == IdKind::String {
        add(Kind::STRING_CODE, 0, None, false);
    }
    add(Kind::PIPELINE, 0, None, true);
    add(Kind::METADATA, 0, None, true);
    Some(sections)
}

/// Returns the bits of an index into `count` items.
pub(crate) fn index_bits(count: u64) -> u32 {
    bit_length(count.saturating_sub(1))
}

/// Returns the bytes of a packed array. Spec §3.3.
fn packed_len(count: u64, bits: u32) -> Option<u64> {
    Some(count.checked_mul(bits.into())?.div_ceil(8))
}

/// Bytes of a page of a paged section, which is a payload followed by a checksum for each page. Spec §3.5.
pub(crate) const PAGE_LEN: usize = 4096;

/// Bytes of one page checksum. Spec §3.5.
const CHECKSUM_LEN: u64 = 4;

/// Returns the number of pages of a payload.
pub(crate) fn page_count(payload_len: u64) -> u64 {
    payload_len.div_ceil(PAGE_LEN as u64)
}

/// Returns the length of the section that holds a payload; `None` beyond 64 bits.
pub(crate) fn paged_len(payload_len: u64) -> Option<u64> {
    payload_len.checked_add(page_count(payload_len) * CHECKSUM_LEN)
}

/// Returns the length of the payload of a section; `None` if no payload gives a section of this length.
pub(crate) fn payload_len(section_len: u64) -> Option<u64> {
    let pages = section_len.div_ceil(PAGE_LEN as u64 + CHECKSUM_LEN);
    let payload = section_len.checked_sub(pages * CHECKSUM_LEN)?;
    (paged_len(payload) == Some(section_len)).then_some(payload)
}

/// Returns the alignment of a paged section: with several pages, it starts at a page of memory.
fn paged_alignment(size: u64) -> u64 {
    if size > PAGE_LEN as u64 + CHECKSUM_LEN {
        PAGE_LEN as u64
    } else {
        SECTION_ALIGNMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn payload_length_inverts_section_length() {
        let mut valid = std::collections::HashSet::new();
        for payload in 0..13_000 {
            let section = paged_len(payload).unwrap();
            assert_eq!(payload_len(section), Some(payload));
            valid.insert(section);
        }
        for section in (0..13_000).filter(|s| !valid.contains(s)) {
            assert_eq!(payload_len(section), None, "{section}");
        }
    }
}
