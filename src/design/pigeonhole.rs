//! Probes of tables with disjoint addresses: the flips follow from the pigeonhole principle.
//!
//! Each table with such an address is probed with r_t flips. If the sum of all r_t + 1 is more than k, nothing within
//! distance k is missed: a difference that escapes has at least r_t + 1 bits in each address, and no bit counts twice
//! (Qin et al., "GPH: Similarity Search in Hamming Space", ICDE 2018).

use super::costs::Offers;
use super::escape::top_bits;
use super::probes::TableProbes;
use crate::fingerprint::Fingerprint;

/// The most families of disjoint addresses that are tried for one length of address.
const FAMILY_LIMIT: usize = 8;

/// Addresses are shortened to the best lengths for up to this many flips, because overlapping masks may have disjoint
/// leading bits.
const MOST_CUT_FLIPS: u32 = 4;

/// Returns the cheapest known probes of tables with disjoint addresses. There is always an answer: a single table
/// probed with `distance` flips. Its address may be any leading bits, including those outside the mask.
pub(super) fn cheapest<F: Fingerprint>(
    masks: &[F],
    distance: u32,
    offers: &Offers,
) -> (Vec<TableProbes>, f64) {
    let single = offers.best(F::WIDTH, distance);
    let mut best = (vec![single.probes(0, distance, F::WIDTH)], single.ns);
    for length in lengths::<F>(distance, offers) {
        let addresses: Vec<F> = masks.iter().map(|&mask| top_bits(mask, length)).collect();
        for family in families(&addresses) {
            let shared = share(&addresses, &family, distance, offers);
            if let Some((probes, ns)) = shared.filter(|(_, ns)| *ns < best.1) {
                best = (probes, ns);
            }
        }
    }
    best
}

/// Returns the address lengths to try: all bits, or the best number for some flips.
fn lengths<F: Fingerprint>(distance: u32, offers: &Offers) -> Vec<u32> {
    let flips = 0..=distance.min(MOST_CUT_FLIPS);
    let mut lengths: Vec<u32> = flips
        .map(|flips| offers.best(F::WIDTH, flips).address_bits)
        .collect();
    lengths.dedup();
    lengths
}

/// Returns families of pairwise disjoint addresses, as numbers of tables. A greedy search from each table prefers long
/// addresses. Of several families with the same lengths it returns one, because they cost the same.
fn families<F: Fingerprint>(addresses: &[F]) -> Vec<Vec<usize>> {
    let mut by_length: Vec<usize> = (0..addresses.len())
        .filter(|&t| addresses[t] != F::ZERO)
        .collect();
    by_length.sort_by_key(|&t| std::cmp::Reverse(addresses[t].count_ones()));
    let mut lengths_seen: Vec<Vec<u32>> = Vec::new();
    let mut families = Vec::new();
    for &first in &by_length {
        let mut union = addresses[first];
        let mut family = vec![first];
        for &table in &by_length {
            if addresses[table] & union == F::ZERO {
                union = union | addresses[table];
                family.push(table);
            }
        }
        family.sort_unstable();
        let mut lengths: Vec<u32> = family.iter().map(|&t| addresses[t].count_ones()).collect();
        lengths.sort_unstable();
        if !lengths_seen.contains(&lengths) {
            lengths_seen.push(lengths);
            families.push(family);
        }
        if families.len() == FAMILY_LIMIT {
            break;
        }
    }
    families
}

/// Distributes `distance` + 1 to the tables of a family at the least cost, by dynamic programming: each probed table
/// gets r_t + 1. Returns `None` if the family has too few bits.
fn share<F: Fingerprint>(
    addresses: &[F],
    family: &[usize],
    distance: u32,
    offers: &Offers,
) -> Option<(Vec<TableProbes>, f64)> {
    let goal = distance as usize + 1;
    // least[s] is the least cost of the tables so far whose shares sum to s or more. chosen[i][s] is the share of
    // table i in it.
    let mut least = vec![f64::INFINITY; goal + 1];
    least[0] = 0.0;
    let mut chosen = vec![vec![0; goal + 1]; family.len()];
    for (i, &table) in family.iter().enumerate() {
        let bits = addresses[table].count_ones();
        for sum in (1..=goal).rev() {
            // Flipping all bits would read the whole table.
            for share in 1..=sum.min(bits as usize) {
                let ns = least[sum - share] + offers.best(bits, share as u32 - 1).ns;
                if ns < least[sum] {
                    least[sum] = ns;
                    chosen[i][sum] = share;
                }
            }
        }
    }
    let mut probes = Vec::new();
    let mut left = goal;
    for (i, &table) in family.iter().enumerate().rev() {
        let Some(flips) = chosen[i][left].checked_sub(1) else {
            continue;
        };
        left -= flips + 1;
        let flips = flips as u32;
        let bits = addresses[table].count_ones();
        probes.push(offers.best(bits, flips).probes(table, flips, bits));
    }
    probes.reverse();
    (left == 0).then_some((probes, least[goal]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Costs;

    /// Returns the sum of r_t + 1 after checking the conditions of the principle.
    fn shares(masks: &[u64], distance: u32, count: u64) -> u32 {
        let offers = Offers::new(64, distance, count, &Costs::DIRECT);
        let (probes, _) = cheapest(masks, distance, &offers);
        let mut union = 0;
        for p in &probes {
            let address = top_bits(masks[p.table], p.address_bits);
            assert_eq!(address & union, 0);
            assert!(probes.len() == 1 || address.count_ones() == p.address_bits);
            union |= address;
        }
        probes.iter().map(|p| p.flips + 1).sum()
    }

    #[test]
    fn shares_are_one_more_than_the_distance_and_addresses_disjoint() {
        let lists = [
            vec![u64::MAX],
            vec![0, u64::MAX],
            vec![0xffff_ffff_0000_0000, 0xffff_ffff],
            vec![0xf000_0000_0000_0000, 0xff, 0xff00, 0xf_ff00],
            (0..64).map(|i| 1 << (63 - i)).collect(),
            (0..64).map(|i| u64::MAX >> i).collect(),
        ];
        for masks in lists {
            for distance in 0..=64 {
                for count in [0, 1000, 1 << 30, 1 << 60] {
                    assert_eq!(shares(&masks, distance, count), distance + 1);
                }
            }
        }
    }

    #[test]
    fn masks_that_overlap_below_their_leading_bits_are_disjoint_when_cut() {
        let offers = Offers::new(64, 3, 1 << 20, &Costs::DIRECT);
        let tables = |masks: &[u64]| cheapest(masks, 3, &offers).0.len();
        assert_eq!(tables(&[0xffff_ffff_ff00_0000, 0x0000_00ff_ffff_ffff]), 2);
        assert_eq!(tables(&[0xffff_ffff_ff00_0000, 0x00ff_ffff_ff00_00ff]), 1);
    }

    #[test]
    fn sharing_finds_the_least_cost_of_all_ways() {
        let masks = [0xff_ffff << 40, 0xf_ffff << 20, 0xf_ffffu64];
        let offers = Offers::new(64, 6, 1 << 24, &Costs::DIRECT);
        let least = (0..5 * 5 * 5)
            .map(|i| [i % 5, i / 5 % 5, i / 25])
            .filter(|shares| shares.iter().sum::<u32>() == 4)
            .map(|shares| {
                let tables = shares.iter().zip(masks);
                tables
                    .filter(|(share, _)| **share > 0)
                    .map(|(share, mask)| offers.best(mask.count_ones(), share - 1).ns)
                    .sum::<f64>()
            })
            .reduce(f64::min);
        let (_, ns) = share(&masks, &[0, 1, 2], 3, &offers).unwrap();
        assert_eq!(Some(ns), least);
        assert!(share(&[1u64, 2], &[0, 1], 3, &offers).is_none());
    }
}
