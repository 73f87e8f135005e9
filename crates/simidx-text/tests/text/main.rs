//! The pipelines against their specification, and their quality on real documents.

mod dedup;
mod quality;
mod specification;
