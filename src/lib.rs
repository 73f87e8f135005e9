//! Exact near-duplicate search over simhash and MinHash fingerprints, in one compressed file.
//!
//! A fingerprint represents a document by 32, 64 or 128 bits, and near-duplicates differ in few of them. This crate stores
//! a set of fingerprints, with the ids of their documents, in a static file. It finds every fingerprint within a
//! Hamming distance k of a query by reading a few cache lines of that file, in memory or mapped. Answers are exact.
//!
//! # Build a file with ids, search it
//!
//! ```
//! # #[cfg(feature = "mmap")] {
//! use simidx::{Index, Set};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.simidx");
//! let pages = [
//!     (0x1234_5678_9abc_def0_u64, "https://example.org/a"),
//!     (0x1234_5678_9abc_def1, "https://example.org/b"),
//! ];
//! // Written beside `path`, and renamed when it is complete and on disk.
//! Index::build(&path, pages)?;
//!
//! let set = Set::open([&path])?;
//! let mut names = Vec::new();
//! for hit in set.query(0x1234_5678_9abc_def0_u64, 3)? {
//!     for id in hit.ids()? {
//!         names.push(id?.to_string());
//!     }
//! }
//! assert_eq!(names, ["https://example.org/a", "https://example.org/b"]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`IndexBuilder`] has all options of a build. A [`Set`] is one file or several, of any width. An [`Index`] is one
//! file whose width is known at compile time.
//!
//! # Serve queries
//!
//! [`Set::query_with`] works in a [`SetScratch`](set::SetScratch), which is not tied to a set. Each thread keeps one
//! and allocates nothing, even when a new set replaces an old one:
//!
//! ```
//! use simidx::{BuildOptions, IndexBuilder, Set, Width};
//! use simidx::set::SetScratch;
//!
//! let build = |fingerprints: &[u64]| {
//!     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
//!     builder.extend_from_slice(fingerprints)?;
//!     let mut file = Vec::new();
//!     builder.finish(&mut file)?;
//!     Set::from_bytes(file)
//! };
//! let mut scratch = SetScratch::new();
//! let mut current = build(&[7, 42])?;
//! assert_eq!(current.query_with(&mut scratch, 43_u64, 3)?.len(), 2);
//! current = build(&[7, 42, 43])?;
//! assert_eq!(current.query_with(&mut scratch, 43_u64, 3)?.len(), 3);
//! # Ok::<(), simidx::Error>(())
//! ```
//!
//! # Where things are
//!
//! - The root: [`IndexBuilder`] makes a file, [`Index`] opens it, [`Set`] opens and searches files of any width.
//! - [`set`]: answers, excluded records, the manifest. [`merge`]: several files merged into one.
//! - [`batch`]: operations on whole sets: all pairs, clusters, deduplication, joins.
//! - [`design`]: which tables a file holds, what they cost, how queries are planned.
//! - [`builder`], [`mod@format`], [`index`], [`summary`]: options, limits, figures and reports for the
//!   types of the root. [`watch`]: progress and cancellation of long work.
//!
//! The crates `simidx-text` (documents to fingerprints) and `simidx-input` (record readers) complement this one. The
//! file format is specified in `format-spec.md`.
//!
//! # Processors
//!
//! On x86-64 the instructions of x86-64-v3 (AVX2, BMI2, POPCNT, LZCNT) are used if the processor has them, which is
//! detected at run time. Elsewhere, or with `SIMIDX_SIMD=off` in the environment, portable code gives the same answers.
//! The crate `crc32fast`, which computes the checksums, makes its own choice.
//!
//! # Features
//!
//! `mmap`, on by default, maps files. Without it, files are read into memory.
//!
//! # WebAssembly
//!
//! Without default features the crate compiles for `wasm32-unknown-unknown`. [`Set::from_bytes`] and [`Index::from_bytes`]
//! open a file there, and all searches work on it. Building one takes a file system, and is an error.

pub mod batch;
mod bit_set;
mod bound;
pub mod builder;
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
mod id;
mod id_kind;
pub mod index;
mod memory;
pub mod merge;
mod named;
mod options_error;
pub mod set;
mod setters;
pub mod summary;
#[doc(hidden)]
pub mod threads;
pub mod watch;

pub use builder::{BuildOptions, IndexBuilder};
pub use codec::Codec;
pub use error::{ByteSize, Error, Result};
pub use fingerprint::{Column, Fingerprint, Fingerprints, Width};
pub use id::{Id, IdBuf};
pub use id_kind::IdKind;
pub use index::{Index, Match, Scratch, Storage};
pub use set::Set;
pub use watch::Watch;

/// Runs the examples of the README as tests of this crate.
#[cfg(all(doctest, feature = "mmap"))]
#[doc = include_str!("../README.md")]
struct Readme;
