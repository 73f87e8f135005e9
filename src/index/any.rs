//! An index whose width is known only when its header has been read.

use super::{Index, Storage};

/// An open index of one of the three widths.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::AnyIndex;
///
/// # let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// # builder.push(7)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = AnyIndex::from_bytes(file)?;
/// assert_eq!(index.width(), 64);
/// match &index {
///     AnyIndex::W64(index) => assert_eq!(index.len(), 1),
///     _ => println!("not for this program"),
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub enum AnyIndex {
    /// 32-bit fingerprints.
    W32(Index<u32>),
    /// 64-bit fingerprints.
    W64(Index<u64>),
    /// 128-bit fingerprints.
    W128(Index<u128>),
}

impl AnyIndex {
    /// Bits in a fingerprint.
    pub fn width(&self) -> u32 {
        match self {
            AnyIndex::W32(_) => 32,
            AnyIndex::W64(_) => 64,
            AnyIndex::W128(_) => 128,
        }
    }

    /// What holds the bytes of the file.
    pub fn storage(&self) -> &Storage {
        match self {
            AnyIndex::W32(index) => &index.data,
            AnyIndex::W64(index) => &index.data,
            AnyIndex::W128(index) => &index.data,
        }
    }
}
