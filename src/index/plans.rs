//! The probe plans of an index, computed on first use.

use std::sync::OnceLock;

use crate::codec::Codec;
use crate::codec::block::{MAX_BLOCK_VALUES, room_bits};
use crate::codec::lines::LINE_ADDRESSES;
use crate::design::{ProbePlan, TableProbes};
use crate::format::{Directory, TableRecord};

/// Nanoseconds that the first probes of a search take, even if they are few: their cache misses do not overlap with
/// others.
const START_NS: f64 = 200.0;

/// The largest factor on the cost of a search for which it goes through a smaller distance.
const DETOUR: f64 = 1.25;

/// A place for the plan of each distance from 0 to the width.
#[derive(Debug)]
pub(super) struct Plans {
    by_distance: Box<[OnceLock<ProbePlan>]>,
    steps: Box<[OnceLock<bool>]>,
}

impl Plans {
    pub(super) fn new(width: u32) -> Self {
        Plans {
            by_distance: (0..=width).map(|_| OnceLock::new()).collect(),
            steps: (0..=width).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns the plan for a distance of at most the width.
    #[inline]
    pub(super) fn get(&self, distance: u32, plan: impl FnOnce() -> ProbePlan) -> &ProbePlan {
        self.by_distance[distance as usize].get_or_init(plan)
    }

    /// Returns whether a search for the nearest that has completed a distance continues with the next one, not with one
    /// far beyond it.
    #[inline]
    pub(super) fn steps_from(&self, distance: u32, steps: impl FnOnce() -> bool) -> bool {
        *self.steps[distance as usize].get_or_init(steps)
    }
}

/// Returns whether a search within `small` before one within `large` costs little more, after the search `done`. It
/// often does, because probes are not repeated.
pub(super) fn is_on_the_way(done: &ProbePlan, small: &ProbePlan, large: &ProbePlan) -> bool {
    let by_steps = extra_ns(done, small) + START_NS + extra_ns(small, large);
    by_steps <= DETOUR * extra_ns(done, large)
}

/// Returns the cost of a search after one within a smaller distance, whose probes are not repeated.
fn extra_ns(done: &ProbePlan, next: &ProbePlan) -> f64 {
    let (Some(probed), Some(plan)) = (done.best(), next.best()) else {
        return next.ns();
    };
    let left = plan.iter().filter(|&probes| !include(probed, probes));
    let count: f64 = left.map(|probes| probes.probe_count() as f64).sum();
    next.ns() * count / next.probe_count()
}

/// Returns whether a plan includes the probes of a table.
#[inline(always)]
pub(super) fn include(plan: &[TableProbes], wanted: &TableProbes) -> bool {
    for probes in plan {
        let same_address = probes.table == wanted.table
            && probes.address_bits == wanted.address_bits
            && probes.range_bits == wanted.range_bits
            && probes.prefix_bits <= wanted.prefix_bits;
        if same_address && probes.flips >= wanted.flips {
            return true;
        }
    }
    false
}

/// Returns the number of fingerprints to plan queries for: the number in the file, but at most what its blocks can hold
/// at one bit each, with their keys. Only a full check finds the true number.
pub(super) fn plausible_count(directory: &Directory) -> u64 {
    let in_block = MAX_BLOCK_VALUES.min(room_bits(directory.block_size as usize) + 1) as u64;
    let most = |table: &TableRecord| match table.codec {
        Codec::Lines => table.block_count.saturating_mul(LINE_ADDRESSES as u64),
        _ => table.block_count.saturating_mul(in_block),
    };
    let least = directory.tables.iter().map(most).min().unwrap_or(0);
    directory.fingerprint_count.min(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Costs, TableDesign};
    use crate::fingerprint::Width;
    use crate::format::IdKind;

    #[test]
    fn counts_beyond_what_blocks_can_hold_are_not_reckoned_with() {
        let table = |block_count| TableRecord {
            prefix_mask: 0,
            block_count,
            codec: Codec::EliasFano,
            address_bits: 0,
            code_lengths: vec![0; 64],
        };
        let mut directory = Directory {
            content_id: 0,
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
        directory.block_size = 1 << 13;
        assert_eq!(plausible_count(&directory), 1 << 20);
        directory.tables[1].block_count = u64::MAX;
        assert_eq!(plausible_count(&directory), 1 << 20);
    }

    #[test]
    fn probes_include_those_of_the_same_address_with_fewer_flips() {
        let probes = |table, address_bits, flips| TableProbes {
            table,
            address_bits,
            flips,
            range_bits: 8,
            prefix_bits: 32,
        };
        let plan = [probes(0, 24, 1), probes(1, 24, 2)];
        assert!(include(&plan, &probes(1, 24, 2)) && include(&plan, &probes(1, 24, 1)));
        assert!(!include(&plan, &probes(0, 24, 2)) && !include(&plan, &probes(1, 23, 1)));
        let narrow = TableProbes {
            range_bits: 7,
            ..plan[0]
        };
        assert!(!include(&plan, &narrow) && !include(&[], &plan[0]));
        let of_fewer = TableProbes {
            prefix_bits: 31,
            ..plan[0]
        };
        assert!(!include(&plan, &of_fewer) && include(&[of_fewer], &plan[0]));
    }

    #[test]
    fn distances_that_share_probes_are_on_the_way() {
        let plans = |tables| {
            let design = TableDesign::with_table_count(Width::W64, 3, tables).unwrap();
            [1, 2, 3].map(|distance| design.plan(distance, 1_000_000, &Costs::DIRECT))
        };
        // The flips of one more table are included in those of both.
        let [one, two, three] = plans(2);
        assert!(is_on_the_way(&one, &two, &three));
        // Without flips, all probes together cost hardly more than their start.
        let [one, two, three] = plans(6);
        assert!(!is_on_the_way(&one, &two, &three));
    }
}
