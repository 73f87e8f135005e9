//! Any bytes as an index file whose lengths and checksums are right: what lies behind those rules is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::ask::ask_repaired;

fuzz_target!(init: simidx_fuzz::start(), |file: &[u8]| {
    ask_repaired(file);
});
