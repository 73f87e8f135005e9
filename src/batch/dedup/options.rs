//! How documents are deduplicated.

use std::path::PathBuf;

use crate::setters;
use crate::watch::Watch;

/// How near-duplicates are found.
///
/// ```
/// use simidx::batch::DedupOptions;
///
/// let options = DedupOptions::default().distance(6).memory(1 << 30);
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
    /// Called with the progress of the search for near fingerprints, see [`PairOptions::watch`](super::PairOptions::watch).
    pub watch: Watch,
}

setters!(DedupOptions {
    distance(u32)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for DedupOptions {
    fn default() -> Self {
        DedupOptions {
            distance: 3,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}
