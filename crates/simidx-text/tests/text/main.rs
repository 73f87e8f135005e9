//! The pipelines against their specification, and their quality on real documents.

mod quality;
mod specification;
