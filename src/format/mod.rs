//! The plain structures of `format-spec.md`, shared by the writer and the reader.

mod content_id;
mod directory;
mod footer;
mod header;
mod layout;
mod metadata;
mod place;
mod sketches;

use std::fmt;
use std::str::FromStr;

use crate::error::OptionsError;

pub use crate::codec::{MAX_BLOCK_SIZE, MIN_BLOCK_SIZE};
pub use crate::error::{FormatClass, FormatError};
pub use crate::summary::{Summary, TableSummary};
pub use content_id::ContentId;
pub(crate) use content_id::ItemDigest;
pub(crate) use directory::{Directory, SectionRecord, TableRecord};
pub(crate) use footer::{FOOTER_LEN, Footer};
pub use header::MAGIC;
pub(crate) use header::{HEADER_LEN, Header};
pub(crate) use layout::{
    Kind, PAGE_LEN, SECTION_ALIGNMENT, expected_sections, index_bits, page_count, paged_len,
    payload_len,
};
pub use metadata::Metadata;
pub(crate) use place::{checksum_at, place_checksum};
pub use sketches::{MAX_SKETCH_BITS, SketchParameters};

/// The version that this crate reads and writes. Spec §14.
pub const FORMAT_VERSION: u16 = 1;

/// The largest number of fingerprints and of records. Spec §13.
pub(crate) const MAX_COUNT: u64 = 1 << 48;

/// Longest pipeline description in bytes. Spec §13.
pub(crate) const MAX_PIPELINE_LEN: usize = 1 << 16;

/// Longest string id in bytes. Spec §9.4.
pub const MAX_ID_LEN: usize = u16::MAX as usize;

/// Bytes of a chunk of the groups. Spec §9.2.
pub(crate) const GROUP_CHUNK_LEN: usize = 64;

/// Bits of the bitmap of a chunk of the groups. Spec §9.2.
pub(crate) const GROUP_CHUNK_BITS: u64 = 448;

/// Ranks from one sample of the groups to the next. Spec §9.2.
pub(crate) const RANKS_PER_SAMPLE: u64 = 512;

/// Most bytes of the metadata. Spec §13.
pub(crate) const MAX_METADATA_LEN: usize = 1 << 20;

/// What the ids of an index are. Spec §9.
///
/// ```
/// use simidx::IdKind;
///
/// let kind: IdKind = "number".parse()?;
/// assert_eq!((kind, kind.to_string()), (IdKind::Number, "number".to_owned()));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdKind {
    /// The file is a pure set of fingerprints.
    #[default]
    None,
    /// Unsigned 64-bit numbers.
    Number,
    /// UTF-8 strings of at most 65,535 bytes.
    String,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [IdKind; 3] = [IdKind::None, IdKind::Number, IdKind::String];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            IdKind::None => "none",
            IdKind::Number => "number",
            IdKind::String => "string",
        }
    }

    /// What the ids are, in the plural.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            IdKind::None => "nothing",
            IdKind::Number => "numbers",
            IdKind::String => "strings",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            IdKind::None => 0,
            IdKind::Number => 1,
            IdKind::String => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        IdKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for IdKind {
    type Err = OptionsError;

    /// Reads a name as [`IdKind::name`] gives it.
    fn from_str(name: &str) -> Result<Self, OptionsError> {
        let found = IdKind::ALL.into_iter().find(|value| value.name() == name);
        found.ok_or_else(|| {
            OptionsError::new(
                "ids",
                format!("{name:?} is not a kind of ids: none, number or string"),
            )
        })
    }
}

/// The smallest multiple of `alignment` that is not below `value`; `None` past 2^64.
pub(crate) fn align(value: u64, alignment: u64) -> Option<u64> {
    value.div_ceil(alignment).checked_mul(alignment)
}
