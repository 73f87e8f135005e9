//! Several files searched as one, and merged into one.

pub use crate::index::{AnySegments, SegmentFingerprints, SegmentSearcher, Segments};
pub use crate::merge::{Exclusions, MergeCodec, MergeOptions, Merged, merge, merge_to_path};
