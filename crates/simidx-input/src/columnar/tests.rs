//! Files written with the libraries, then read, damaged and read again.

mod arrow;
#[cfg(feature = "parquet")]
mod parquet;
