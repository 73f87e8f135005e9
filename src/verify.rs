//! The results of a full check of a file.

pub use crate::index::VerifyReport;
