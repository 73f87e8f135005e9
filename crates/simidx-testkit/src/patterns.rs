//! Finds bit patterns that a design or a plan would miss, by plain enumeration.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use simidx::design::{Costs, Permutation, Permuted, TableDesign};
use simidx::{Fingerprint, Fingerprints};

use crate::bit;

/// Returns a pattern of at most `weight` of `bits` that touches all masks, by trying every one.
pub fn missed<F: Fingerprint>(masks: &Fingerprints, bits: &[F], weight: u32) -> Option<F> {
    let masks = masks.as_slice::<F>().unwrap();
    let is_found = |pattern: F| masks.iter().any(|&mask| mask & pattern == F::ZERO);
    not_found(&is_found, bits, F::ZERO, weight)
}

/// Returns a pattern of at most `weight` of `bits` that no probe finds, by trying every one.
pub fn escaping<F: Fingerprint>(probes: &Probes<F>, bits: &[F], weight: u32) -> Option<F> {
    not_found(&|pattern| probes.find(pattern), bits, F::ZERO, weight)
}

/// Returns this pattern, or one with at most `left` of `bits` more: the first that is not found.
fn not_found<F: Fingerprint>(
    is_found: &dyn Fn(F) -> bool,
    bits: &[F],
    pattern: F,
    left: u32,
) -> Option<F> {
    if !is_found(pattern) {
        return Some(pattern);
    }
    if left == 0 {
        return None;
    }
    bits.iter()
        .enumerate()
        .find_map(|(i, &bit)| not_found(is_found, &bits[i + 1..], pattern | bit, left - 1))
}

/// The probes of a plan: permutation, address bits and flips of each table.
pub struct Probes<F> {
    tables: Vec<(Permutation<F>, u32, u32)>,
}

impl<F: Fingerprint> Probes<F> {
    pub fn of(design: &TableDesign, distance: u32, count: u64, costs: &Costs) -> Self {
        let plan = design.plan(distance, count, costs);
        let masks = design.masks().as_slice::<F>().unwrap();
        let tables = plan.probes().iter().map(|p| {
            let mask = masks[p.table];
            assert!(p.address_bits <= mask.count_ones() || plan.probes().len() == 1);
            (Permutation::new(mask), p.address_bits, p.flips)
        });
        Probes {
            tables: tables.collect(),
        }
    }

    /// Returns the tables that are probed with the flips that a difference needs.
    fn finding(&self, difference: F) -> impl Iterator<Item = usize> {
        let tables = self.tables.iter().enumerate();
        tables
            .filter(move |(_, (permutation, address_bits, flips))| {
                let permuted = permutation.apply(difference).0;
                let address = match address_bits {
                    0 => F::ZERO,
                    bits => permuted >> (F::WIDTH - bits),
                };
                address.count_ones() <= *flips
            })
            .map(|(table, _)| table)
    }

    pub fn find(&self, difference: F) -> bool {
        self.finding(difference).next().is_some()
    }

    /// Returns a pattern of `weight` bits that tries to escape: each bit is drawn from the address of a table that
    /// would still find it.
    pub fn evasive(&self, weight: u32, rng: &mut StdRng) -> F {
        let mut pattern = F::ZERO;
        while pattern.count_ones() < weight {
            let finding: Vec<usize> = self.finding(pattern).collect();
            let Some(&table) = finding.choose(rng) else {
                break;
            };
            let (permutation, address_bits, _) = &self.tables[table];
            let free: Vec<F> = (0..*address_bits)
                .map(|i| permutation.invert(Permuted(bit(F::WIDTH - 1 - i))))
                .filter(|&b| b & pattern == F::ZERO)
                .collect();
            let Some(&more) = free.choose(rng) else { break };
            pattern = pattern | more;
        }
        pattern
    }
}
