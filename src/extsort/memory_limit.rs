//! How a memory limit is divided between records, values and spools.

use std::path::PathBuf;

use super::temp_space::TempSpace;
use super::values::ValueSpace;
use crate::error::{Error, Result};

/// The least memory limit of a build on up to eight threads, in bytes: 64 MiB. Each further thread takes 2 MiB.
pub const MIN_MEMORY: u64 = 64 << 20;

/// The number of threads whose memory [`MIN_MEMORY`] includes.
const FEW_THREADS: u64 = 8;

/// The memory of each further thread, for sorting and for its allocator.
const THREAD_LEN: u64 = 2 << 20;

/// The memory of a build in addition to records and spools: buffers, stacks, the program itself.
const RESERVED: u64 = 32 << 20;

/// Values that are being encoded get one part in this many of the limit.
const ENCODING_SHARE: u64 = 8;

/// One spool gets one part in this many of the limit; at most a handful of them are long at a time.
const SPOOL_SHARE: u64 = 64;

/// The number of such parts that are reserved for spools.
const SPOOLS: u64 = 5;

/// The memory that a build may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryLimit {
    bytes: Option<u64>,
}

impl MemoryLimit {
    /// Creates a limit of all memory.
    pub(crate) fn unlimited() -> Self {
        MemoryLimit { bytes: None }
    }

    /// # Errors
    /// A limit that is too small.
    pub(crate) fn new(bytes: Option<u64>) -> Result<Self> {
        let least = MIN_MEMORY + further_threads_len();
        match bytes {
            Some(bytes) if bytes < least => Err(Error::Budget {
                purpose: format!("sorting on {} threads", rayon::current_num_threads()),
                needed: least,
                given: bytes,
            }),
            _ => Ok(MemoryLimit { bytes }),
        }
    }

    /// Returns the budgets for sorting and merging, and for values in addition.
    pub(crate) fn value_space(self, temp_dir: Option<PathBuf>) -> ValueSpace {
        let budget = self.budget();
        ValueSpace {
            temp: self.temp(temp_dir),
            sort_budget: budget,
            // Values are gathered while a merge takes half of the budget, or next to records with ids that take half of
            // it.
            value_budget: budget / 2,
        }
    }

    /// Returns the space for temporary files, with the part of them that stays in memory.
    pub(crate) fn temp(self, temp_dir: Option<PathBuf>) -> TempSpace {
        let spool_len = self.bytes.map_or(u64::MAX, |bytes| bytes / SPOOL_SHARE);
        TempSpace::new(temp_dir, usize::try_from(spool_len).unwrap_or(usize::MAX))
    }

    /// Returns the number of parts with `part_len` bytes of values to encode at a time: enough for all threads, if the
    /// budget suffices for them and for their encoded bytes, which take the same again.
    pub(crate) fn parts_at_a_time(self, part_len: usize) -> usize {
        let threads = rayon::current_num_threads();
        let budget = self.bytes.map_or(u64::MAX, |bytes| bytes / ENCODING_SHARE);
        let parts = budget / (2 * part_len as u64);
        threads
            .min(usize::try_from(parts).unwrap_or(usize::MAX))
            .max(1)
    }

    /// Returns the bytes for records and values: the rest of the limit, but at least a quarter of it.
    pub(crate) fn budget(self) -> usize {
        let Some(bytes) = self.bytes else {
            return usize::MAX;
        };
        let kept = RESERVED
            + further_threads_len()
            + bytes / ENCODING_SHARE
            + bytes / SPOOL_SHARE * SPOOLS;
        let budget = bytes.saturating_sub(kept).max(bytes / 4);
        usize::try_from(budget).unwrap_or(usize::MAX)
    }
}

/// Returns the bytes for threads beyond the first few.
fn further_threads_len() -> u64 {
    let threads = rayon::current_num_threads() as u64;
    threads.saturating_sub(FEW_THREADS) * THREAD_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_leave_room_and_do_not_pass_the_limit() {
        let least = MIN_MEMORY + further_threads_len();
        for bytes in [least, least + 100_000_000, 1 << 40] {
            let limit = MemoryLimit::new(Some(bytes)).unwrap();
            for part_len in [1 << 20, 1 << 21, 1 << 22] {
                let parts = limit.parts_at_a_time(part_len);
                assert!(parts >= 1 && parts <= rayon::current_num_threads());
                let encoding = (2 * parts * part_len) as u64;
                let spools = bytes / SPOOL_SHARE * SPOOLS;
                let all =
                    RESERVED + further_threads_len() + encoding + spools + limit.budget() as u64;
                assert!(all <= bytes, "{all} of {bytes}");
            }
        }
        let unlimited = MemoryLimit::new(None).unwrap();
        assert_eq!(
            unlimited.parts_at_a_time(1 << 22),
            rayon::current_num_threads()
        );
        assert_eq!(unlimited.budget(), usize::MAX);
    }
}
