//! What other simhash libraries do, bit for bit: their feature hashes and their tokens.

pub(crate) mod hashes;
pub(crate) mod tokenizers;
