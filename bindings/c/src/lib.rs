//! The C library `libsimidx`: the libraries `simidx` and `simidx-text` for C and languages that call C.
//!
//! This crate only converts: pointers become slices, the libraries do the work, and results go to buffers of the
//! caller. `border` contains the pointers, `handles` the handles of indexes and searchers, `status` the results of
//! calls. The header `include/simidx.h` is generated from the documentation of the public items.

#![allow(
    unsafe_code,
    reason = "C hands over pointers, and only the caller knows what they point to"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the rules for pointers are those of the header and the same for all functions"
)]
#![allow(
    non_camel_case_types,
    reason = "types have the names that they have in C"
)]

#[cfg(panic = "abort")]
compile_error!(
    "a panic must not end the program that calls the library: compile it with panic=unwind"
);

mod border;
mod handles;

// In the order of the header.
pub mod version;

pub mod status;

pub mod fingerprint;

pub mod open;

pub mod search;

pub mod ids;

pub mod build;

pub mod pairs;

pub mod text;

pub mod work;
