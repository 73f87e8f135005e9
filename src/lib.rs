//! Exact near-duplicate search over simhash and MinHash fingerprints, in one compressed file.
//!
//! A fingerprint turns a document into 32, 64 or 128 bits, and near-duplicates differ in few of them. This crate stores a
//! set of fingerprints, with the ids of their documents, in a static file. It finds every fingerprint within a Hamming
//! distance k of a query by decoding a few small blocks of that file, in memory or mapped. Answers are exact.
//!
//! # Build a file with ids, search it
//!
//! ```
//! # #[cfg(feature = "mmap")] {
//! use simidx::{BuildOptions, IdKind, Index, IndexBuilder};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.simidx");
//! let mut options = BuildOptions::default();
//! options.ids = IdKind::String;
//! let mut builder = IndexBuilder::<u64>::new(options)?;
//! builder.push_with_string(0x1234_5678_9abc_def0, "https://example.org/a")?;
//! builder.push_with_string(0x1234_5678_9abc_def1, "https://example.org/b")?;
//! // Written beside `path`, and renamed when it is complete and on disk.
//! builder.finish_to_path(&path)?;
//!
//! let index = Index::<u64>::open(&path)?;
//! let mut names = Vec::new();
//! for found in index.query(0x1234_5678_9abc_def0, 3)? {
//!     for id in index.ids(&found)? {
//!         names.push(id?.to_string());
//!     }
//! }
//! assert_eq!(names, ["https://example.org/a", "https://example.org/b"]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Serve queries
//!
//! [`Index::query_with`] works in a [`Scratch`] that belongs to no index. Each thread keeps one and allocates nothing, even
//! while a new index takes the place of an old one:
//!
//! ```
//! use std::sync::Arc;
//! use simidx::{BuildOptions, Index, IndexBuilder, Scratch};
//!
//! let build = |fingerprints: &[u64]| {
//!     let mut builder = IndexBuilder::new(BuildOptions::default())?;
//!     builder.extend_from_slice(fingerprints)?;
//!     let mut file = Vec::new();
//!     builder.finish(&mut file)?;
//!     Index::<u64>::from_bytes(file)
//! };
//! let mut scratch = Scratch::new();
//! let mut current = Arc::new(build(&[7, 42])?);
//! assert_eq!(current.query_with(&mut scratch, 43, 3)?.len(), 2);
//! current = Arc::new(build(&[7, 42, 43])?);
//! assert_eq!(current.query_with(&mut scratch, 43, 3)?.len(), 3);
//! # Ok::<(), simidx::Error>(())
//! ```
//!
//! # Where things are
//!
//! - The root: [`IndexBuilder`] makes a file, [`Index`] opens and searches it, [`AnyIndex`] opens one of any width.
//! - [`segments`]: several files searched as one. [`merge`]: several files merged into one.
//! - [`batch`]: whole sets at once: all pairs, clusters, deduplication, joins, health checks.
//! - [`design`]: which tables a file holds, what they cost, how queries are planned.
//! - [`build`], [`mod@format`], [`index`], [`summary`], [`verify`]: options, limits, figures and reports that go with the
//!   types of the root.
//!
//! The crates `simidx-text` (documents to fingerprints) and `simidx-input` (record readers) go with this one. The file
//! format is specified in `format-spec.md`.
//!
//! # Processors
//!
//! On x86-64 the instructions of x86-64-v3 (AVX2, BMI2, POPCNT, LZCNT) are used where the processor has them, which is
//! found out at run time. Elsewhere, or with `SIMIDX_SIMD=off` in the environment, portable code gives the same answers.
//! The crate `crc32fast`, which computes the checksums, makes that choice by itself.
//!
//! # Features
//!
//! `mmap`, on by default, maps files. Without it, files are read into memory.

pub mod batch;
mod bit_set;
mod bound;
pub mod build;
mod codec;
mod cpu;
pub mod design;
mod error;
mod extsort;
mod fingerprint;
pub mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod id_kind;
pub mod index;
// The unit tests are a crate of their own, for which nobody else compiles.
#[cfg(not(test))]
#[doc(hidden)]
pub mod instances;
mod memory;
pub mod merge;
mod options_error;
pub mod segments;
pub mod summary;
pub mod verify;
mod width;

pub use build::{BuildOptions, IndexBuilder};
pub use codec::Codec;
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use id_kind::IdKind;
pub use index::{AnyIndex, Id, IdBuf, Index, Match, Scratch, Storage};
pub use width::{Fingerprints, Width};

/// The examples of the front page are examples of this crate.
#[cfg(all(doctest, feature = "mmap"))]
#[doc = include_str!("../README.md")]
struct Readme;
