//! Building, searching and merging: every answer against a linear scan, under threads and over replaced files.

mod answers;
mod batch;
mod build_memory;
mod clusters;
mod concurrency;
mod contents;
mod coverage;
mod dedup;
mod deletions;
mod distances;
mod ids;
mod lookup;
mod manifest;
#[cfg(feature = "mmap")]
mod mapping;
mod merge;
mod nearest;
mod options;
mod oracle;
mod publish;
mod replacement;
mod set;
mod shared_damage;
mod sketches;
mod updates;
mod warm;

use simidx_testkit::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
