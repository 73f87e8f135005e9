//! The data structures of `format-spec.md`, shared by the writer and the reader.

mod content_id;
mod directory;
mod footer;
mod header;
mod layout;
mod metadata;
mod place;
mod sketches;

pub use crate::error::{FormatClass, FormatError};
pub(crate) use crate::id_kind::IdKind;
pub use content_id::ContentId;
pub(crate) use content_id::ItemDigest;
pub(crate) use directory::{Directory, SectionRecord, TableRecord};
pub(crate) use footer::{FOOTER_LEN, Footer};
pub(crate) use header::{HEADER_LEN, Header};
pub(crate) use layout::{
    Kind, PAGE_LEN, SECTION_ALIGNMENT, expected_sections, index_bits, page_count, paged_len,
    payload_len,
};
pub use metadata::Metadata;
pub(crate) use place::{checksum_at, place_checksum};
pub use sketches::SketchParameters;

// For the program and the tests: no interface to rely on.
#[doc(hidden)]
pub use crate::codec::{MAX_BLOCK_SIZE, MIN_BLOCK_SIZE};
#[doc(hidden)]
pub use header::MAGIC;
#[doc(hidden)]
pub use sketches::MAX_SKETCH_BITS;

/// The format version that this crate reads and writes. Spec §14.
#[doc(hidden)]
pub const FORMAT_VERSION: u16 = 1;

/// The largest number of fingerprints and of records. Spec §13.
pub(crate) const MAX_COUNT: u64 = 1 << 48;

/// The most bytes of a pipeline description. Spec §13.
pub(crate) const MAX_PIPELINE_LEN: usize = 1 << 16;

/// The most bytes of a string id. Spec §9.4.
#[doc(hidden)]
pub const MAX_ID_LEN: usize = u16::MAX as usize;

/// Bytes of a chunk of the groups. Spec §9.2.
pub(crate) const GROUP_CHUNK_LEN: usize = 64;

/// Bits of the bitmap of a chunk of the groups. Spec §9.2.
pub(crate) const GROUP_CHUNK_BITS: u64 = 448;

/// The most bytes of the metadata. Spec §13.
pub(crate) const MAX_METADATA_LEN: usize = 1 << 20;

/// Returns the smallest multiple of `alignment` that is at least `value`; `None` beyond 64 bits.
pub(crate) fn align(value: u64, alignment: u64) -> Option<u64> {
    value.div_ceil(alignment).checked_mul(alignment)
}
