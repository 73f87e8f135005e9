//! The reach of table designs and probe plans, by plain enumeration of the bit patterns that they might miss.

use simidx::design::{
    COVERING_6, COVERING_7, COVERING_8, COVERING_11, COVERING_14, Costs, Coverage, MAX_DISTANCE,
    TableDesign,
};
use simidx::{Fingerprint, Width};
use simidx_testkit::bit;
use simidx_testkit::patterns::{Probes, escaping, missed};

/// Most patterns that one enumeration looks at.
const PATTERN_LIMIT: u128 = 1_000_000;

/// Sizes of indexes for which plans differ.
const COUNTS: [u64; 4] = [1000, 1 << 20, 1 << 30, 1 << 45];

/// Number of ways to choose up to `most` of `from` things.
fn choices(from: u32, most: u32) -> u128 {
    let (mut product, mut sum) = (1u128, 0);
    for i in 0..=u128::from(most) {
        sum += product;
        product = product * u128::from(from).saturating_sub(i) / (i + 1);
    }
    sum
}

/// Returns one bit of each set of bits that belong to the same masks.
fn atoms<F: Fingerprint>(masks: &[F]) -> Vec<F> {
    let mut seen = std::collections::HashSet::new();
    (0..F::WIDTH)
        .map(bit::<F>)
        .filter(|&b| seen.insert(masks.iter().map(|&m| m & b != F::ZERO).collect::<Vec<_>>()))
        .collect()
}

/// Compares what the crate says with the enumeration over `bits`.
fn compare<F: Fingerprint>(design: &TableDesign, bits: &[F], distance: u32) {
    let what = format!(
        "{} bits, k {}, {} tables, distance {distance}",
        F::WIDTH,
        design.max_distance(),
        design.table_count()
    );
    let enumerated = missed(design.masks(), bits, distance);
    match design.coverage(distance) {
        Coverage::Complete => assert_eq!(enumerated, None, "{what}"),
        Coverage::Misses(pattern) => {
            assert!(enumerated.is_some(), "{what}");
            assert!(pattern.count_ones() <= distance, "{what}");
            assert!(
                design.masks().iter().all(|mask| mask & pattern != 0),
                "{what}"
            );
        }
        other => panic!("{what}: {other:?}"),
    }
    if distance <= design.max_distance() && needs_no_flips(design) {
        assert_eq!(enumerated, None, "{what}");
    }
}

/// Whether a design is one of those that have more tables than errors; the others are partitions.
fn needs_no_flips(design: &TableDesign) -> bool {
    design.table_count() > design.max_distance() as usize
}

/// Every design against every pattern of weight up to `weight`.
fn check_all_patterns<F: Fingerprint>(weight: u32) {
    assert!(choices(F::WIDTH, weight) <= PATTERN_LIMIT);
    let bits: Vec<F> = (0..F::WIDTH).map(bit).collect();
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::available(Width::of::<F>(), k) {
            for distance in 0..=weight.min(k + 1) {
                compare(&design, &bits, distance);
            }
        }
    }
}

#[test]
fn all_patterns_of_32_bits_and_weight_5_confirm_the_coverage() {
    check_all_patterns::<u32>(5);
}

#[test]
fn all_patterns_of_64_bits_and_weight_4_confirm_the_coverage() {
    check_all_patterns::<u64>(4);
}

#[test]
fn all_patterns_of_128_bits_and_weight_3_confirm_the_coverage() {
    check_all_patterns::<u128>(3);
}

/// Every design against every pattern of atoms, of weight k and k + 1 where that is feasible.
fn check_all_atoms<F: Fingerprint>() {
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::available(Width::of::<F>(), k) {
            let atoms = atoms::<F>(design.masks().as_slice().unwrap());
            if choices(atoms.len() as u32, k) <= PATTERN_LIMIT {
                compare(&design, &atoms, k);
            }
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
        let design = TableDesign::choose_bands(Width::of::<F>(), k, k + 1).unwrap();
        assert_eq!(design.table_count() as u32, k + 1);
        assert_eq!(design.coverage(k), Coverage::Complete);
        for removed in 0..design.table_count() {
            let mut masks = design.masks().as_slice::<F>().unwrap().to_vec();
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
        let design = TableDesign::with_table_count(Width::W64, 3, tables).unwrap();
        let prefixes: Vec<u32> = design.masks().iter().map(|m| m.count_ones()).collect();
        assert_eq!(prefixes.iter().min(), Some(&shortest), "{tables} tables");
        assert_eq!(prefixes.iter().max(), Some(&longest), "{tables} tables");
        assert_eq!(design.min_prefix_bits(), shortest);
    }
}

#[test]
fn table_0_of_every_design_has_leading_bits() {
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::available(Width::W128, k) {
            let mask = design.masks().get(0).unwrap();
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

#[test]
fn the_covering_designs_miss_none_of_the_patterns_of_their_weight() {
    let bits: Vec<u64> = (0..64).map(bit).collect();
    for (covering, tables, prefix) in [
        (COVERING_6, 6, 21),
        (COVERING_7, 7, 36),
        (COVERING_8, 8, 24),
        (COVERING_11, 11, 28),
        (COVERING_14, 14, 32),
    ] {
        let design = TableDesign::covering(Width::W64, &covering).unwrap();
        assert_eq!(design.table_count(), tables);
        assert_eq!(design.min_prefix_bits(), prefix);
        let k = covering.max_distance;
        assert_eq!(missed(design.masks(), &bits, k), None, "{tables} tables");
        assert!(missed(design.masks(), &bits, k + 1).is_some());
    }
    assert_eq!(choices(64, 3), 43_745);
}

/// The plans of every design for one distance against every pattern.
fn check_plans<F: Fingerprint>(distance: u32, counts: &[u64]) {
    assert!(choices(F::WIDTH, distance) <= PATTERN_LIMIT);
    let bits: Vec<F> = (0..F::WIDTH).map(bit).collect();
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::available(Width::of::<F>(), k) {
            let mut seen = Vec::new();
            for (&count, costs) in counts
                .iter()
                .zip([Costs::DIRECT, Costs::SEQUENTIAL].iter().cycle())
            {
                let plan = design.plan(distance, count, costs);
                if seen.contains(&plan.probes().to_vec()) {
                    continue;
                }
                seen.push(plan.probes().to_vec());
                let probes = Probes::of(&design, distance, count, costs);
                let escaped = escaping(&probes, &bits, distance);
                assert_eq!(escaped, None, "k {k}, {} tables", design.table_count());
            }
        }
    }
}

#[test]
fn none_of_the_patterns_of_64_bits_and_weight_3_escapes_a_plan() {
    for distance in 0..=3 {
        check_plans::<u64>(distance, &COUNTS);
    }
}

#[test]
fn none_of_the_patterns_of_32_bits_and_weight_5_escapes_a_plan() {
    for distance in 0..=4 {
        check_plans::<u32>(distance, &COUNTS);
    }
    check_plans::<u32>(5, &COUNTS[1..3]);
}

#[test]
fn none_of_the_patterns_of_128_bits_and_weight_2_escapes_a_plan() {
    for distance in 0..=2 {
        check_plans::<u128>(distance, &COUNTS);
    }
}

/// Plans for the distance of a design and beyond against patterns of the full weight.
fn check_large_distances<F: Fingerprint>() {
    let mut rng = simidx_testkit::rng(5);
    for k in 0..=MAX_DISTANCE {
        for design in TableDesign::available(Width::of::<F>(), k) {
            for (distance, count) in [
                (k, 1 << 20),
                (k, 1 << 30),
                (k + 1, 1 << 27),
                (k + 2, 1 << 33),
            ] {
                let probes = Probes::of(&design, distance, count, &Costs::DIRECT);
                for _ in 0..200 {
                    let patterns = [
                        simidx_testkit::flipped(F::ZERO, distance, &mut rng),
                        probes.evasive(distance, &mut rng),
                    ];
                    for pattern in patterns {
                        assert!(
                            probes.find(pattern),
                            "k {k}, {} tables, distance {distance}: {pattern:x}",
                            design.table_count()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn patterns_of_the_full_weight_do_not_escape_the_plans_for_large_distances() {
    check_large_distances::<u32>();
    check_large_distances::<u64>();
    check_large_distances::<u128>();
}

#[test]
fn patterns_of_one_bit_more_do_escape() {
    let mut rng = simidx_testkit::rng(6);
    let design = TableDesign::partition(Width::W64, 3, 2).unwrap();
    let probes = Probes::<u64>::of(&design, 3, 1 << 27, &Costs::DIRECT);
    let escaped = (0..200).filter(|_| !probes.find(probes.evasive(4, &mut rng)));
    assert!(escaped.count() > 100);
}

#[test]
fn designs_with_more_tables_than_errors_are_probed_without_flips_at_their_size() {
    for k in 0..=3 {
        for design in TableDesign::available(Width::W64, k) {
            if !needs_no_flips(&design) {
                continue;
            }
            let count = 1 << design.min_prefix_bits().min(40);
            let plan = design.plan(k, count, &Costs::DIRECT);
            assert!(plan.probes().iter().all(|p| p.flips == 0), "{k} {plan:?}");
        }
    }
}

#[test]
fn any_masks_answer_any_distance() {
    let mut rng = simidx_testkit::rng(7);
    for tables in [1, 2, 3, 7, 30, 255] {
        let mut masks: Vec<u64> = (0..tables)
            .map(|_| {
                simidx_testkit::random::<u64>(&mut rng) & simidx_testkit::random::<u64>(&mut rng)
            })
            .collect();
        masks[0] = u64::MAX << 40;
        let design = TableDesign::from_masks(3, masks).unwrap();
        for distance in [0, 1, 2, 3, 5, 9, 20, 64] {
            for count in COUNTS {
                let probes = Probes::<u64>::of(&design, distance, count, &Costs::SEQUENTIAL);
                for _ in 0..50 {
                    let evasive = probes.evasive(distance, &mut rng);
                    assert!(probes.find(evasive), "{tables} tables, distance {distance}");
                }
            }
        }
    }
}
