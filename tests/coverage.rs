//! What table designs cover, by plain enumeration of the bit patterns that they might miss.

mod common;

use common::bit;
use simidx::{Coverage, Fingerprint, MAX_DISTANCE, TableDesign};

/// Most patterns that one enumeration looks at.
const PATTERN_LIMIT: u128 = 10_000_000;

/// Number of ways to choose up to `most` of `from` things.
fn choices(from: u32, most: u32) -> u128 {
    let (mut product, mut sum) = (1u128, 0);
    for i in 0..=u128::from(most) {
        sum += product;
        product = product * u128::from(from).saturating_sub(i) / (i + 1);
    }
    sum
}

/// A pattern of at most `left` more of `bits` that touches all masks, by trying every one.
fn missed<F: Fingerprint>(masks: &[F], bits: &[F], pattern: F, left: u32) -> Option<F> {
    if masks.iter().all(|&mask| mask & pattern != F::ZERO) {
        return Some(pattern);
    }
    if left == 0 {
        return None;
    }
    bits.iter()
        .enumerate()
        .find_map(|(i, &bit)| missed(masks, &bits[i + 1..], pattern | bit, left - 1))
}

/// One bit of each band-atom: a set of bits that no mask tells apart.
fn atoms<F: Fingerprint>(masks: &[F]) -> Vec<F> {
    let mut seen = std::collections::HashSet::new();
    (0..F::WIDTH)
        .map(bit::<F>)
        .filter(|&b| seen.insert(masks.iter().map(|&m| m & b != F::ZERO).collect::<Vec<_>>()))
        .collect()
}

/// Compares what the crate says with the enumeration over `bits`.
fn compare<F: Fingerprint>(design: &TableDesign<F>, bits: &[F], distance: u32) {
    let what = format!(
        "{} bits, k {}, {} tables, distance {distance}",
        F::WIDTH,
        design.max_distance(),
        design.table_count()
    );
    let enumerated = missed(design.masks(), bits, F::ZERO, distance);
    match design.coverage(distance) {
        Coverage::Complete => assert_eq!(enumerated, None, "{what}"),
        Coverage::Misses(pattern) => {
            assert!(enumerated.is_some(), "{what}");
            assert!(pattern.count_ones() <= distance, "{what}");
            assert!(
                design.masks().iter().all(|&m| m & pattern != F::ZERO),
                "{what}"
            );
        }
        Coverage::TooComplex => panic!("{what}: gave up"),
    }
    if distance <= design.max_distance() {
        assert_eq!(enumerated, None, "{what}");
    }
}

/// Every design against every pattern of weight up to `weight`.
fn check_all_patterns<F: Fingerprint>(weight: u32) {
    assert!(choices(F::WIDTH, weight) <= PATTERN_LIMIT);
    let bits: Vec<F> = (0..F::WIDTH).map(bit).collect();
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::<F>::available(k) {
            for distance in 0..=weight.min(k + 1) {
                compare(&design, &bits, distance);
            }
        }
    }
}

#[test]
fn all_patterns_of_32_bits_and_weight_6_confirm_the_coverage() {
    check_all_patterns::<u32>(6);
}

#[test]
fn all_patterns_of_64_bits_and_weight_5_confirm_the_coverage() {
    check_all_patterns::<u64>(5);
}

#[test]
fn all_patterns_of_128_bits_and_weight_3_confirm_the_coverage() {
    check_all_patterns::<u128>(3);
}

/// Every design against every pattern of atoms, of weight k always, of weight k + 1 where that is
/// feasible.
fn check_all_atoms<F: Fingerprint>() {
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::<F>::available(k) {
            let atoms = atoms(design.masks());
            assert!(
                choices(atoms.len() as u32, k) <= PATTERN_LIMIT,
                "{} atoms",
                atoms.len()
            );
            compare(&design, &atoms, k);
            if choices(atoms.len() as u32, k + 1) <= PATTERN_LIMIT {
                compare(&design, &atoms, k + 1);
            }
        }
    }
}

#[test]
fn all_patterns_of_atoms_confirm_the_coverage() {
    check_all_atoms::<u32>();
    check_all_atoms::<u64>();
    check_all_atoms::<u128>();
}

/// A minimal design needs each of its tables.
fn check_minimal<F: Fingerprint>() {
    for k in 1..=MAX_DISTANCE {
        let design = TableDesign::<F>::choose_bands(k, k + 1).unwrap();
        assert_eq!(design.table_count() as u32, k + 1);
        assert_eq!(design.coverage(k), Coverage::Complete);
        for removed in 0..design.table_count() {
            let mut masks = design.masks().to_vec();
            // Table 0 must have leading bits: a mask of all bits finds nothing but equal values.
            masks[removed] = F::MAX;
            if removed > 0 {
                masks.remove(removed);
            }
            let found = TableDesign::from_masks(0, masks.clone())
                .unwrap()
                .coverage(k);
            assert!(
                matches!(found, Coverage::Misses(_)),
                "k {k}, without {removed}: {found:?}"
            );
            assert!(TableDesign::from_masks(k, masks).is_err());
        }
    }
}

#[test]
fn removing_a_table_of_a_minimal_design_breaks_the_coverage() {
    check_minimal::<u32>();
    check_minimal::<u64>();
    check_minimal::<u128>();
}

#[test]
fn the_designs_of_the_paper_have_its_prefix_lengths() {
    for (tables, shortest, longest) in [(4, 16, 16), (10, 25, 26), (16, 28, 28), (20, 31, 33)] {
        let design = TableDesign::<u64>::with_table_count(3, tables).unwrap();
        let prefixes: Vec<u32> = design.masks().iter().map(|m| m.count_ones()).collect();
        assert_eq!(prefixes.iter().min(), Some(&shortest), "{tables} tables");
        assert_eq!(prefixes.iter().max(), Some(&longest), "{tables} tables");
        assert_eq!(design.min_prefix_bits(), shortest);
    }
}

#[test]
fn table_0_of_every_design_has_leading_bits() {
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::<u128>::available(k) {
            let mask = design.masks()[0];
            assert_eq!(mask.leading_ones(), mask.count_ones(), "k {k}");
        }
    }
}

#[test]
fn one_mask_without_bits_covers_every_distance() {
    let design = TableDesign::from_masks(MAX_DISTANCE, vec![0u32]).unwrap();
    assert_eq!(design.coverage(32), Coverage::Complete);
    assert_eq!(design.min_prefix_bits(), 0);
}
