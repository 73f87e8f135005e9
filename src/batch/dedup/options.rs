//! How documents are deduplicated.

use std::path::PathBuf;

use crate::setters;
use crate::watch::Watch;

/// Options of a deduplication by fingerprints.
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
    /// The most bytes of memory for the documents and the search, see [`Deduplicator`](super::Deduplicator). Unlimited
    /// by default.
    pub memory: Option<u64>,
    /// The folder for temporary files, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
    /// Called with the progress of the search of sets that exclude documents, see
    /// [`JoinOptions::watch`](super::JoinOptions::watch), then with that of the search for near fingerprints, see
    /// [`PairOptions::watch`](super::PairOptions::watch).
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
