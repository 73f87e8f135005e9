//! Queries, pairs, clusters and scans against brute force.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::oracle::{Input, check};

fuzz_target!(init: simidx_fuzz::start(), |input: Input| check(&input));
