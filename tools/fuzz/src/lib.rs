//! What the fuzz targets do; each target is a file in `fuzz_targets`.

#[path = "../../../tests/common/mod.rs"]
mod common;

pub mod ask;
pub mod blocks;
mod documents;
pub mod inputs;
pub mod oracle;
pub mod round_trip;
pub mod sets;
