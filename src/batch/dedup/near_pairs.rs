//! The near pairs that one search has found, for the next step: in memory, beyond a share of it in a temporary file.

use crate::error::Result;
use crate::extsort::{MemoryLimit, Spool, TempSpace};

/// Bytes of a pair: the numbers of two documents.
const PAIR_LEN: usize = 8;

/// Pairs that are kept whatever the number of documents.
const LEAST_LIMIT: u64 = 1 << 20;

/// Pairs that are kept for each document. A crowd has a pair for every two of its members, for which no disk may have room.
const PAIRS_PER_DOCUMENT: u64 = 16;

/// The part of the memory that pairs may take.
const SHARE: u64 = 8;

/// Bytes of memory for pairs, of so many for them and the search together.
pub(super) fn memory_share(memory: Option<u64>) -> u64 {
    let Some(memory) = memory else {
        return u64::MAX;
    };
    let share = memory / SHARE;
    // A search that has only just enough memory keeps all of it.
    match MemoryLimit::new(Some(memory - share)) {
        Ok(_) => share,
        Err(_) => 0,
    }
}

/// Most pairs that are worth keeping, of so many documents.
pub(super) fn limit(document_count: usize) -> u64 {
    LEAST_LIMIT.max(document_count as u64 * PAIRS_PER_DOCUMENT)
}

/// Pairs of documents, in the order in which they came.
#[derive(Debug)]
pub(super) struct NearPairs {
    spool: Spool,
}

impl NearPairs {
    /// No pairs yet. `temp` says how many bytes of them stay in memory.
    pub(super) fn new(temp: &TempSpace) -> Self {
        NearPairs {
            spool: temp.spool(),
        }
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// What keeps it from being written to a temporary file.
    pub(super) fn push(&mut self, x: u32, y: u32) -> Result<()> {
        let mut bytes = [0; PAIR_LEN];
        bytes[..4].copy_from_slice(&x.to_ne_bytes());
        bytes[4..].copy_from_slice(&y.to_ne_bytes());
        Ok(self.spool.write(&bytes)?)
    }

    /// Calls `visit` with all pairs.
    ///
    /// # Errors
    /// What keeps them from being read, or `visit` returns.
    pub(super) fn for_each(&mut self, mut visit: impl FnMut(u32, u32) -> Result<()>) -> Result<()> {
        self.spool.read(PAIR_LEN, |bytes| {
            let (pairs, _) = bytes.as_chunks::<PAIR_LEN>();
            pairs.iter().try_for_each(|&[a, b, c, d, e, f, g, h]| {
                visit(
                    u32::from_ne_bytes([a, b, c, d]),
                    u32::from_ne_bytes([e, f, g, h]),
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn pairs_come_back_in_order_from_memory_and_from_a_file() {
        let pairs = |i: u32| (i, u32::MAX - i * 7);
        for in_memory in [0, 1000, usize::MAX] {
            let mut found = NearPairs::new(&TempSpace::new(None, in_memory));
            for i in 0..50_000 {
                let (x, y) = pairs(i);
                found.push(x, y).unwrap();
            }
            let mut next = 0;
            let result = found.for_each(|x, y| {
                assert_eq!((x, y), pairs(next));
                next += 1;
                Ok(())
            });
            assert!(result.is_ok());
            assert_eq!(next, 50_000);
        }
    }

    #[test]
    fn a_search_without_memory_to_spare_keeps_it() {
        let least = (0..)
            .map(|mib| mib << 20)
            .find(|&memory| MemoryLimit::new(Some(memory)).is_ok())
            .unwrap();
        assert_eq!(memory_share(Some(least)), 0);
        assert_eq!(memory_share(Some(2 * least)), least / 4);
        assert_eq!(memory_share(None), u64::MAX);
    }
}
