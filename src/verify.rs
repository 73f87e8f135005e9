//! The full check of a file: what it looked at and what it found.

pub use crate::index::VerifyReport;
