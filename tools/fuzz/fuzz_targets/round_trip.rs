//! Records become a file, and the file gives them back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::round_trip::{Input, check};

fuzz_target!(init: simidx_fuzz::start(), |input: Input| {
    check(&input);
});
