//! An index whose width is known only when its header has been read.

use super::{Index, Storage};
use crate::error::Result;
use crate::format::Header;

/// An open index of one of the three widths.
#[derive(Debug)]
pub enum AnyIndex<D = Storage> {
    /// 32-bit fingerprints.
    W32(Index<u32, D>),
    /// 64-bit fingerprints.
    W64(Index<u64, D>),
    /// 128-bit fingerprints.
    W128(Index<u128, D>),
}

impl AnyIndex<Storage> {
    /// Opens an index file of any width by mapping it, as [`Index::open`] does.
    ///
    /// # Errors
    /// As for [`Index::open`].
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let index = AnyIndex::from_bytes(Storage::map(path)?)?;
        let storage = match &index {
            AnyIndex::W32(index) => index.storage(),
            AnyIndex::W64(index) => index.storage(),
            AnyIndex::W128(index) => index.storage(),
        };
        storage.check_len()?;
        storage.expect_random_access();
        Ok(index)
    }

    /// Opens an index file of any width by reading it into memory.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`].
    pub fn open_in_memory(path: impl AsRef<std::path::Path>) -> Result<Self> {
        AnyIndex::from_bytes(Storage::read(path)?)
    }
}

impl<D: AsRef<[u8]>> AnyIndex<D> {
    /// Opens the index that `data` holds, whatever its width.
    ///
    /// # Errors
    /// As for [`Index::from_bytes`].
    pub fn from_bytes(data: D) -> Result<Self> {
        Ok(match Header::decode(data.as_ref())?.width {
            32 => AnyIndex::W32(Index::from_bytes(data)?),
            64 => AnyIndex::W64(Index::from_bytes(data)?),
            _ => AnyIndex::W128(Index::from_bytes(data)?),
        })
    }

    /// Bits in a fingerprint.
    pub fn width(&self) -> u32 {
        match self {
            AnyIndex::W32(_) => 32,
            AnyIndex::W64(_) => 64,
            AnyIndex::W128(_) => 128,
        }
    }
}
