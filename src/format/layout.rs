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

/// The number of the ancillary kind that holds sketches. Spec §10.4.
const SKETCHES: u16 = 0x8001;

/// The kinds of section. Spec §4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Blocks,
    Groups,
    Numbers,
    Places,
    BucketOffsets,
    Buckets,
    IdOrder,
    BlockCounts,
    KeyGroups,
    KeyEntries,
    StringCode,
    Pipeline,
    Metadata,
    Lines,
    LowBits,
    /// An ancillary kind, which readers skip if they do not know it.
    Ancillary(u16),
}

impl Kind {
    /// The ancillary kind of the sketches.
    pub(crate) const SKETCHES: Kind = Kind::Ancillary(SKETCHES);

    /// The kinds that have a meaning, ordered by number.
    const KNOWN: [Kind; 15] = [
        Kind::Blocks,
        Kind::Groups,
        Kind::Numbers,
        Kind::Places,
        Kind::BucketOffsets,
        Kind::Buckets,
        Kind::IdOrder,
        Kind::BlockCounts,
        Kind::KeyGroups,
        Kind::KeyEntries,
        Kind::StringCode,
        Kind::Pipeline,
        Kind::Metadata,
        Kind::Lines,
        Kind::LowBits,
    ];

    /// Returns the number in the file. Spec §4.5.
    pub(crate) fn code(self) -> u16 {
        match self {
            Kind::Blocks => 1,
            Kind::Groups => 2,
            Kind::Numbers => 4,
            Kind::Places => 5,
            Kind::BucketOffsets => 6,
            Kind::Buckets => 7,
            Kind::IdOrder => 8,
            Kind::BlockCounts => 9,
            Kind::KeyGroups => 10,
            Kind::KeyEntries => 11,
            Kind::StringCode => 12,
            Kind::Pipeline => 13,
            Kind::Metadata => 14,
            Kind::Lines => 15,
            Kind::LowBits => 16,
            Kind::Ancillary(code) => code,
        }
    }

    /// Returns the kind with this number; `None` if it is unknown and not ancillary.
    pub(crate) fn from_code(code: u16) -> Option<Self> {
        if code >= FIRST_ANCILLARY {
            return Some(Kind::Ancillary(code));
        }
        let mut kinds = Kind::KNOWN.into_iter();
        kinds.find(|kind| kind.code() == code)
    }

    /// Returns the alignment of a section. For a paged one of a table, `size` is the number of fingerprints, because the
    /// number of lines is not known when the section begins; for other paged ones, it is the length of the section.
    pub(crate) fn alignment(self, block_size: u32, size: u64) -> u64 {
        match self {
            Kind::Blocks => u64::from(block_size).min(MAX_BLOCK_ALIGNMENT),
            _ if self.is_paged() => paged_alignment(size),
            _ => SECTION_ALIGNMENT,
        }
    }

    /// Whether the section ends with checksums of its pages.
    pub(crate) fn is_paged(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Groups | Numbers | Places | BucketOffsets | Buckets | IdOrder | Lines | LowBits
        )
    }

    /// Whether the section record holds the checksum of the whole section.
    pub(crate) fn has_record_checksum(self) -> bool {
        !self.is_paged() && !matches!(self, Kind::Blocks | Kind::KeyGroups)
    }

    /// Whether the section holds ids.
    pub(crate) fn is_of_ids(self) -> bool {
        self.is_paged() && !self.is_of_table() || self == Kind::StringCode
    }

    /// Whether each table has such a section.
    pub(crate) fn is_of_table(self) -> bool {
        use Kind::*;
        matches!(self, Blocks | KeyGroups | KeyEntries | Lines | LowBits)
    }

    /// Returns the name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Blocks => "blocks",
            Kind::Groups => "id groups",
            Kind::Numbers => "number ids",
            Kind::Places => "places of the ids",
            Kind::BucketOffsets => "offsets of the id buckets",
            Kind::Buckets => "id buckets",
            Kind::IdOrder => "order of the ids",
            Kind::BlockCounts => "block counts",
            Kind::KeyGroups => "key groups",
            Kind::KeyEntries => "key entries",
            Kind::StringCode => "code of the ids",
            Kind::Pipeline => "pipeline",
            Kind::Metadata => "metadata",
            Kind::Lines => "lines",
            Kind::LowBits => "low bits",
            Kind::Ancillary(SKETCHES) => "sketches",
            Kind::Ancillary(_) => "ancillary section",
        }
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
            add(Kind::LowBits, t, Some(paged_len(row)?), false);
            add(Kind::Lines, t, Some(paged_len(lines)?), false);
            continue;
        }
        let blocks = table.block_count.checked_mul(directory.block_size.into())?;
        add(Kind::Blocks, t, Some(blocks), false);
    }
    let records = directory.record_count;
    if directory.id_kind != IdKind::None {
        if records > directory.fingerprint_count {
            let chunks = records.div_ceil(GROUP_CHUNK_BITS);
            let len = paged_len(chunks * GROUP_CHUNK_LEN as u64)?;
            add(Kind::Groups, 0, Some(len), false);
        }
        let indexes = paged_len(packed_len(records, index_bits(records))?)?;
        if directory.id_kind == IdKind::Number {
            let numbers = packed_len(records, directory.id_bits)?;
            add(Kind::Numbers, 0, Some(paged_len(numbers)?), false);
        } else {
            add(Kind::Places, 0, Some(indexes), false);
            let offsets = packed_len(
                records.div_ceil(strings::BUCKET_LEN as u64),
                directory.id_bits,
            )?;
            add(Kind::BucketOffsets, 0, Some(paged_len(offsets)?), false);
            add(Kind::Buckets, 0, None, false);
        }
        add(Kind::IdOrder, 0, Some(indexes), true);
    }
    let in_blocks = || {
        let tables = directory.tables.iter().enumerate();
        tables.filter(|(_, table)| table.codec != Codec::Lines)
    };
    if let Some((0, table)) = in_blocks().next() {
        let counts = table.block_count.checked_mul(2)?;
        add(Kind::BlockCounts, 0, Some(counts), false);
    }
    for (t, _) in in_blocks() {
        add(Kind::KeyGroups, t, None, false);
    }
    for (t, table) in in_blocks() {
        let entries = keys::group_count(table.block_count);
        let len = entries.checked_mul(keys::entry_len(width) as u64)?;
        add(Kind::KeyEntries, t, Some(len), false);
    }
    if directory.id_kind == IdKind::String {
        add(Kind::StringCode, 0, None, false);
    }
    add(Kind::Pipeline, 0, None, true);
    add(Kind::Metadata, 0, None, true);
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
