//! External sorting: any number of records into ascending order, in bounded memory.
//!
//! A [`Sorter`] collects records in a [`RecordBuffer`]. A full buffer is sorted and written to a temporary file as a
//! run, and a [`Merge`](merge::Merge) reads all runs at the end. This module does not depend on the meaning of the
//! records.

mod memory_limit;
mod merge;
mod record_buffer;
mod sorter;
mod string_records;
mod temp_space;
mod values;

pub use memory_limit::MIN_MEMORY;
pub(crate) use memory_limit::MemoryLimit;
pub(crate) use record_buffer::{FixedRecord, Numbered, RecordBuffer};
pub(crate) use sorter::{Sorted, Sorter};
pub(crate) use string_records::{IndexedStrings, NamePairs, NamedRecords, Prefix};
pub(crate) use temp_space::{Spool, TempSpace};
pub(crate) use values::{ValueCollector, ValueSpace, Values, add_all};
