//! How documents are deduplicated.

use std::path::PathBuf;

/// How near-duplicates are found. Start from [`DedupOptions::default`] and set what differs.
///
/// ```
/// use simidx::batch::DedupOptions;
///
/// let mut options = DedupOptions::default();
/// options.distance = 6;
/// options.memory = Some(1 << 30);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DedupOptions {
    /// The largest distance of near-duplicates, in bits; any is exact. Default 3.
    pub distance: u32,
    /// Bytes of memory for the documents and the search, see [`Deduplicator`](super::Deduplicator). By default there is no limit.
    pub memory: Option<u64>,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
}

impl Default for DedupOptions {
    fn default() -> Self {
        DedupOptions {
            distance: 3,
            memory: None,
            temp_dir: None,
        }
    }
}
