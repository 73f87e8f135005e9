//! Damaged files: flipped bits, every other length, exchanged parts and random bytes under right checksums give an
//! error or the right answer, never a panic, in bounded memory and work, and a full check finds each accident.

mod batches;
mod blocks;
mod cost;
mod forgeries;
mod repairs;
mod sample;
mod samples;
mod sweep;

use simidx_testkit::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
