//! Exact near-duplicate search over simhash fingerprints: a compressed, mappable index file, its
//! builder and its reader.
//!
//! A simhash maps a document to a fingerprint of 32, 64 or 128 bits such that near-duplicates differ in
//! few bits. This crate stores a set of fingerprints, and the ids of the documents behind them, so that
//! everything within a Hamming distance k of a query is found by decoding a few small blocks of a file
//! that lies in memory or is mapped into it. Answers are exact: nothing missed, nothing invented.
//!
//! # Example: build in memory, search
//!
//! ```
//! use simidx::{BuildOptions, Index, IndexBuilder};
//!
//! let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
//! for fingerprint in [0x0000_0000_0000_ffff, 0x0000_0000_0000_fffe, 0xdead_beef_dead_beef] {
//!     builder.push(fingerprint)?;
//! }
//! let mut file = Vec::new();
//! builder.finish(&mut file)?;
//!
//! let index = Index::<u64, _>::from_bytes(file)?;
//! let found = index.query(0x0000_0000_0000_fffc, 3)?;
//! let found: Vec<(u64, u32)> = found.iter().map(|m| (m.fingerprint, m.distance)).collect();
//! assert_eq!(found, [(0xfffe, 1), (0xffff, 2)]);
//! # Ok::<(), simidx::Error>(())
//! ```
//!
//! # Example: build a file with ids, map it, search without allocating
//!
//! ```
//! # #[cfg(feature = "mmap")] {
//! use std::io::BufWriter;
//! use simidx::{BuildOptions, IdKind, Index, IndexBuilder};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("pages.simidx");
//! let mut options = BuildOptions::default();
//! options.ids = IdKind::String;
//! let mut builder = IndexBuilder::<u64>::new(options)?;
//! builder.push_with_string(0x1234_5678_9abc_def0, "https://example.org/a")?;
//! builder.push_with_string(0x1234_5678_9abc_def1, "https://example.org/b")?;
//! // Under its name when it is complete: whoever has an older file open keeps that.
//! let file = tempfile::NamedTempFile::new_in(&directory)?;
//! builder.finish(BufWriter::new(file.as_file()))?;
//! file.persist(&path)?;
//!
//! let index = Index::<u64>::open(&path)?;
//! let mut searcher = index.searcher(); // one for each thread
//! let mut names = Vec::new();
//! for found in searcher.query(0x1234_5678_9abc_def0, index.max_distance())? {
//!     for id in index.ids(found)? {
//!         names.push(id?.to_string());
//!     }
//! }
//! assert_eq!(names, ["https://example.org/a", "https://example.org/b"]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! [`IndexBuilder`] makes a file from records, [`TableDesign`] says which tables it holds. [`Index`]
//! opens a file over any bytes, [`Searcher`] asks it, [`AnyIndex`] opens a file whose width is not known
//! beforehand. [`Segments`] searches several files as one. [`pairs`] and [`PairFinder`] find all pairs of a set,
//! [`clusters`] and [`ClusterFinder`] its clusters, [`Deduplicator`] keeps one document of each cluster, [`join`](batch::join) answers
//! many queries in one go, [`lint`] tells why a set will search badly. The file format is
//! specified in `format-spec.md`; how documents become fingerprints, in `pipeline-spec.md`.
//!
//! # Processors
//!
//! On x86-64 the instructions of x86-64-v3 (AVX2, BMI2, POPCNT, LZCNT) are used where the processor has them; that is
//! found out when the program runs. Elsewhere, or with `SIMIDX_SIMD=off` in the environment, portable code gives the
//! same answers. (The checksums come from the crate `crc32fast`, which chooses by itself.)
//!
//! # Features
//!
//! `mmap` maps files, `text` turns documents into fingerprints, with `html` those of HTML and with `jieba` by Chinese words,
//! `input` reads records from files, `parquet`
//! adds Parquet files to those, `cli` is the command-line program and needs the first three. `cli` and
//! `parquet` are on by default; a library user writes
//! `cargo add simidx --no-default-features --features mmap`.

pub mod batch;
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
pub mod index;
mod memory;
mod merge;
pub mod segments;
mod summary;
pub mod verify;

pub use build::{BuildOptions, IndexBuilder};
pub use codec::Codec;
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use format::IdKind;
pub use index::{AnyIndex, Id, Index, Match, Scratch, Storage};
