//! The C library `libsimidx`: the libraries `simidx` and `simidx-text` for C and all that calls C.
//!
//! Nothing is decided here: pointers become slices, the libraries do the work, and their answers go to buffers of the caller.
//! `border` has the pointers, `handles` what C holds of indexes and searchers, `status` how a call ends. The header
//! `include/simidx.h` is made of the documentation of the public items.

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

// In the order in which the header has them.
pub mod version;

pub mod status;

pub mod fingerprint;

pub mod open;

pub mod search;

pub mod ids;

pub mod build;

pub mod text;

pub mod work;
