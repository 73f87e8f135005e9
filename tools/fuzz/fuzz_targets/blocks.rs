//! Blocks and keys: every decoder against the plain one and the reference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::blocks::{Input, check};

fuzz_target!(init: simidx_fuzz::start(), |input: Input| check(&input));
