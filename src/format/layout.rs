//! Which sections a file has, in which order, at which alignment (spec §10.4), and how long paged ones are (§3.5).

use super::{Directory, GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, IdKind, STRINGS_PER_OFFSET};

/// Alignment of every section but the blocks. Spec §10.4.
pub(crate) const SECTION_ALIGNMENT: u64 = 64;

/// Largest alignment of the blocks. Spec §10.4.
const MAX_BLOCK_ALIGNMENT: u64 = 4096;

/// The kinds of section. Spec §10.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Blocks,
    Keys,
    BlockCounts,
    Groups,
    Numbers,
    StringOffsets,
    StringBytes,
    Pipeline,
}

impl Kind {
    /// The number in the file. Spec §10.4.
    pub(crate) fn code(self) -> u16 {
        self as u16 + 1
    }

    /// The kind with that number in the file.
    pub(crate) fn from_code(code: u16) -> Option<Self> {
        use Kind::*;
        [
            Blocks,
            Keys,
            BlockCounts,
            Groups,
            Numbers,
            StringOffsets,
            StringBytes,
            Pipeline,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }

    /// What the offset of the section is a multiple of.
    pub(crate) fn alignment(self, block_size: u32) -> u64 {
        match self {
            Kind::Blocks => u64::from(block_size).min(MAX_BLOCK_ALIGNMENT),
            _ => SECTION_ALIGNMENT,
        }
    }

    /// Whether the section record carries the checksum of the whole section.
    pub(crate) fn has_record_checksum(self) -> bool {
        matches!(self, Kind::Keys | Kind::BlockCounts | Kind::Pipeline)
    }

    /// The words for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Blocks => "blocks",
            Kind::Keys => "keys",
            Kind::BlockCounts => "block counts",
            Kind::Groups => "id groups",
            Kind::Numbers => "number ids",
            Kind::StringOffsets => "string offsets",
            Kind::StringBytes => "string ids",
            Kind::Pipeline => "pipeline",
        }
    }
}

/// A section that the parameters of a file call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedSection {
    pub(crate) kind: Kind,
    pub(crate) table: usize,
    /// `None` where the section record alone says it.
    pub(crate) len: Option<u64>,
}

/// The sections of a file in order, the optional pipeline left out. `None` if a length passes 2^64.
pub(crate) fn expected_sections(directory: &Directory) -> Option<Vec<ExpectedSection>> {
    let mut sections = Vec::new();
    let mut add = |kind, table, len| sections.push(ExpectedSection { kind, table, len });
    for (t, table) in directory.tables.iter().enumerate() {
        let blocks = table.block_count.checked_mul(directory.block_size.into())?;
        add(Kind::Blocks, t, Some(blocks));
        add(Kind::Keys, t, None);
    }
    if directory.id_kind == IdKind::None {
        return Some(sections);
    }
    let counts = directory.tables.first()?.block_count.checked_mul(2)?;
    add(Kind::BlockCounts, 0, Some(counts));
    let records = directory.record_count;
    if records > directory.fingerprint_count {
        let chunks = records.div_ceil(GROUP_CHUNK_BITS);
        add(
            Kind::Groups,
            0,
            Some(paged_len(chunks * GROUP_CHUNK_LEN as u64)?),
        );
    }
    if directory.id_kind == IdKind::Number {
        let numbers = packed_len(records, directory.id_bits)?;
        add(Kind::Numbers, 0, Some(paged_len(numbers)?));
    } else {
        let offsets = packed_len(records.div_ceil(STRINGS_PER_OFFSET), directory.id_bits)?;
        add(Kind::StringOffsets, 0, Some(paged_len(offsets)?));
        add(Kind::StringBytes, 0, None);
    }
    Some(sections)
}

/// Bytes of a packed array. Spec §3.3.
fn packed_len(count: u64, bits: u32) -> Option<u64> {
    Some(count.checked_mul(bits.into())?.div_ceil(8))
}

/// Bytes of a page of a paged section, a payload followed by a checksum for each page. Spec §3.5.
pub(crate) const PAGE_LEN: usize = 4096;

/// Bytes of one page checksum. Spec §3.5.
const CHECKSUM_LEN: u64 = 4;

/// Number of pages of a payload.
pub(crate) fn page_count(payload_len: u64) -> u64 {
    payload_len.div_ceil(PAGE_LEN as u64)
}

/// Length of the section that holds a payload; `None` past 2^64.
pub(crate) fn paged_len(payload_len: u64) -> Option<u64> {
    payload_len.checked_add(page_count(payload_len) * CHECKSUM_LEN)
}

/// Length of the payload of a section; `None` if no payload makes a section so long.
pub(crate) fn payload_len(section_len: u64) -> Option<u64> {
    let pages = section_len.div_ceil(PAGE_LEN as u64 + CHECKSUM_LEN);
    let payload = section_len.checked_sub(pages * CHECKSUM_LEN)?;
    (paged_len(payload) == Some(section_len)).then_some(payload)
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
