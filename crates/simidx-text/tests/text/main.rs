//! The pipelines against their specification, and their quality on real documents.

#[cfg(feature = "compat")]
mod compat;
mod dedup;
mod quality;
mod specification;
