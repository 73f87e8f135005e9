//! Any bytes as an input file of any format, or as a document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simidx_fuzz::inputs::check;

fuzz_target!(init: simidx_fuzz::start(), |data: &[u8]| check(data));
