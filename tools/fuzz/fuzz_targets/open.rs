//! Any bytes as an index file: opening and asking it everything ends in answers or errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::ask::ask_any;

fuzz_target!(init: simidx_fuzz::start(), |file: &[u8]| {
    ask_any(file);
});
