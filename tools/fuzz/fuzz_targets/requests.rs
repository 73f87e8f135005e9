//! Any bytes as an address, a parameter or a body of a request to the server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::requests::check;

fuzz_target!(init: simidx_fuzz::start(), |data: &[u8]| check(data));
