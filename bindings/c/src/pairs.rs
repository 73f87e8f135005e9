//! Pairs of near fingerprints.

use std::ffi::c_void;

use simidx::batch::{PairOptions, row_pairs};

use crate::fingerprint::{Many, known_width};
use crate::search::check_distance;
use crate::status::{Failure, guard, simidx_status};
use crate::work::{Work, simidx_work_options};

/// A function of the caller that receives a pair: the numbers of two fingerprints, from 0 and the smaller one first, and
/// the number of bits in which they differ. Return 0 to continue. Any other value stops: the call then fails with
/// `SIMIDX_ERROR_STOPPED`. The function must not throw or longjmp.
pub type simidx_pair_visit =
    Option<unsafe extern "C" fn(user: *mut c_void, first: u64, second: u64, distance: u32) -> i32>;

/// Calls a function with each pair of fingerprints within `distance` bits, inclusive and each once: by the first number,
/// then by the second. `n` equal fingerprints are `n (n - 1) / 2` pairs. Exact for every distance from 0 to 128; time
/// grows with it. Memory: about 40 bytes for each fingerprint, and 24 for each pair.
///
/// @param fingerprints  `count` values of `uint32_t`, `uint64_t` or `simidx_fingerprint`
/// @param width         their bits: 32, 64 or 128
/// @param max_pairs     the most pairs: if there are more, the call fails with `SIMIDX_ERROR_LIMIT` before it visits
///                      any; 0 for no limit
/// @param options       may be NULL
/// @param visit         receives the pairs, on this thread
/// @param user          passed to `visit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_pairs(
    fingerprints: *const c_void,
    width: u32,
    count: usize,
    distance: u32,
    max_pairs: u64,
    options: *const simidx_work_options,
    visit: simidx_pair_visit,
    user: *mut c_void,
) -> simidx_status {
    guard(|| {
        let visit = visit.ok_or_else(|| Failure::argument("visit is NULL"))?;
        // SAFETY: the caller's promises.
        let (work, fingerprints) =
            unsafe { (Work::read(options)?, Many::new(fingerprints, width, count)) };
        check_distance(distance)?;
        let mut search = PairOptions::default()
            .distance(distance)
            .watch(work.watch());
        search.max_pairs = Some(max_pairs).filter(|&most| most > 0);
        let pairs = fingerprints.with(known_width(width)?, |column| {
            work.run(|| Ok(row_pairs(column, &search)?))
        })?;
        for pair in pairs {
            // SAFETY: the caller provided the function for such calls.
            if unsafe { visit(user, pair.first, pair.second, pair.distance) } != 0 {
                return Err(simidx::Error::Interrupted.into());
            }
        }
        Ok(())
    })
}
