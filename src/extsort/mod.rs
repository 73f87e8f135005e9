//! External sorting: any number of records into ascending order, in a bounded amount of memory.
//!
//! A [`Sorter`] gathers records in a [`RecordBuffer`]. When the buffer is full it is sorted and written to a temporary file
//! as a run, and a [`Merge`](merge::Merge) reads all runs together in the end. Nothing here knows what the records are for.

mod indexed_strings;
mod memory_limit;
mod merge;
mod record_buffer;
mod sorter;
mod temp_space;
mod values;

pub(crate) use indexed_strings::IndexedStrings;
pub use memory_limit::MIN_MEMORY;
pub(crate) use memory_limit::MemoryLimit;
pub(crate) use record_buffer::{FixedRecord, NamedRecords, Numbered, RecordBuffer};
pub(crate) use sorter::{Sorted, Sorter};
pub(crate) use temp_space::{Spool, TempSpace};
pub(crate) use values::{RearrangeStep, ValueCollector, ValueSpace, Values, add_all};
