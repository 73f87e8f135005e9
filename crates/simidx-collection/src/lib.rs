//! A collection of fingerprints that changes while it is searched, with exact answers at any time.
//!
//! [`Collection::add`] checks and adds in one step. It returns the earlier near-duplicates, and every later query finds
//! the new record. If two near-duplicates are added at the same time, the answer of the later one names the earlier one.
//! Acknowledged changes survive when the process is killed or the machine stops.
//!
//! ```
//! use simidx::Width;
//! use simidx_collection::{Collection, Options};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages");
//! let pages = Collection::create(&path, Width::W64, Options::default())?;
//! pages.add("https://example.org/a", 0x1234_5678_9abc_def0_u64)?;
//! let added = pages.add("https://example.org/b", 0x1234_5678_9abc_def1_u64)?;
//! assert_eq!(added.matches[0].ids, ["https://example.org/a"]);
//! pages.delete("https://example.org/a")?;
//! pages.close()?;
//!
//! let pages = Collection::open(&path, Options::default())?;
//! let near = pages.query(0x1234_5678_9abc_def0_u64, 3)?;
//! assert_eq!(near[0].ids, ["https://example.org/b"]);
//! # pages.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The folder
//!
//! Recent records are in memory and in a journal (`journal.redb`; `journal.mark` records how much of it is
//! acknowledged, so that damage is detected). Once there are enough, they are sealed into a segment, an index file that
//! the library builds. Segments are merged in the background, without deleted records. The file `manifest.simidx-set`
//! lists the segments and is replaced atomically; `set-spec.md` specifies it. Other programs can read the folder as a
//! set: they see the sealed records, including those that were deleted since.

mod answer;
mod background;
mod collection;
mod core;
mod deleted;
mod error;
mod files;
mod journal;
mod options;
mod reading;
mod recent;
mod state;
mod system;

pub use answer::{Added, CollectionStats, Near, Numbered, Outcome};
pub use collection::Collection;
pub use error::{Error, Result};
pub use options::{Options, Sync};
pub use system::give_way;
