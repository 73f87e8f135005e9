//! Files, written with the libraries, read, damaged and read again.

mod arrow;
#[cfg(feature = "parquet")]
mod parquet;
