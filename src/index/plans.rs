//! The probe plans of an index, worked out when they are first needed.

use std::sync::OnceLock;

use crate::codec::block::{MAX_BLOCK_VALUES, room_bits};
use crate::design::ProbePlan;
use crate::format::{Directory, TableRecord};

/// A place for the plan of each distance from 0 to the width.
#[derive(Debug)]
pub(super) struct Plans {
    by_distance: Box<[OnceLock<ProbePlan>]>,
}

impl Plans {
    pub(super) fn new(width: u32) -> Self {
        Plans {
            by_distance: (0..=width).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The plan for a distance of at most the width.
    #[inline]
    pub(super) fn get(&self, distance: u32, plan: impl FnOnce() -> ProbePlan) -> &ProbePlan {
        self.by_distance[distance as usize].get_or_init(plan)
    }
}

/// The number of fingerprints that queries are planned for: the one in the file, but no more than its blocks can hold at a
/// bit each, with their keys. Only a full check finds out how many there are.
pub(super) fn plausible_count(directory: &Directory) -> u64 {
    let in_block = MAX_BLOCK_VALUES.min(room_bits(directory.block_size as usize) + 1) as u64;
    let most = |table: &TableRecord| table.block_count.saturating_mul(in_block);
    let least = directory.tables.iter().map(most).min().unwrap_or(0);
    directory.fingerprint_count.min(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::format::IdKind;

    #[test]
    fn counts_beyond_what_blocks_can_hold_are_not_reckoned_with() {
        let table = |block_count| TableRecord {
            prefix_mask: 0,
            block_count,
            codec: Codec::EliasFano,
            code_lengths: vec![0; 64],
        };
        let mut directory = Directory {
            fingerprint_count: 1 << 20,
            record_count: 1 << 20,
            id_base: 0,
            block_size: 128,
            max_distance: 3,
            id_kind: IdKind::None,
            id_bits: 0,
            tables: vec![table(1 << 20), table(20)],
            sections: Vec::new(),
        };
        // 124 bytes, less 10 bits for the count, and the key.
        assert_eq!(plausible_count(&directory), 20 * (124 * 8 - 10 + 1));
        directory.fingerprint_count = 30;
        assert_eq!(plausible_count(&directory), 30);
        directory.fingerprint_count = 1 << 20;
        directory.block_size = 1 << 16;
        assert_eq!(plausible_count(&directory), 1 << 20);
        directory.tables[1].block_count = u64::MAX;
        assert_eq!(plausible_count(&directory), 1 << 20);
    }
}
