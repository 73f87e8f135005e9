//! Distances at and above the width: every function that takes one answers as for the width, or refuses it in words.

use simidx::batch::{
    ClusterFinder, ClusterOptions, DedupOptions, Deduplicator, JoinOptions, JoinStrategy,
    PairFinder, PairOptions,
};
use simidx::design::{Costs, Coverage, MAX_DISTANCE, PlanRequest, TableDesign};
use simidx::{BuildOptions, Error, Fingerprint, Index, IndexBuilder, Set, Width};
use simidx_testkit::{build_numbers, open, options, random, rng};

const COUNT: usize = 70;

/// The width and distances above it, up to the end of the type.
fn distances<F: Fingerprint>() -> [u32; 6] {
    let width = F::WIDTH;
    [width, width + 1, 2 * width, 1 << 31, u32::MAX - 1, u32::MAX]
}

/// Fingerprints of which two differ in all bits.
fn fingerprints<F: Fingerprint>() -> Vec<F> {
    let mut rng = rng(5);
    let mut all: Vec<F> = (0..COUNT - 2).map(|_| random(&mut rng)).collect();
    all.extend([F::ZERO, F::MAX]);
    all
}

fn index<F: Fingerprint>() -> Index<F> {
    let all = fingerprints::<F>();
    let records: Vec<(F, u64)> = all.into_iter().zip(0..).collect();
    let halves = TableDesign::partition(Width::of::<F>(), 3, 2).unwrap();
    open(build_numbers(options(halves, 128), &records))
}

fn check_queries<F: Fingerprint>() {
    let index = index::<F>();
    let all = index.query(F::ZERO, F::WIDTH).unwrap();
    assert_eq!(all.len(), COUNT);
    let segments = Set::new(vec![self::index::<F>(), self::index::<F>()]).unwrap();
    for distance in distances::<F>() {
        assert_eq!(index.query(F::ZERO, distance).unwrap(), all);
        assert_eq!(index.nearest(F::ZERO, COUNT + 1, distance).unwrap(), all);
        assert_eq!(
            index.nearest(F::ZERO, usize::MAX, distance).unwrap().len(),
            COUNT
        );
        assert!(index.contains_near(F::from_u128(1), distance).unwrap());
        assert_eq!(segments.query(F::ZERO, distance).unwrap().len(), COUNT);
        assert_eq!(
            segments
                .nearest(F::ZERO, usize::MAX, distance)
                .unwrap()
                .len(),
            COUNT
        );
        assert!(segments.contains_near(F::from_u128(1), distance).unwrap());
        assert!(index.plan(distance).ns().is_finite());
        for strategy in JoinStrategy::ALL {
            let mut options = JoinOptions::default();
            (options.distance, options.strategy) = (distance, strategy);
            let mut found = 0;
            segments
                .join(&[F::ZERO, F::MAX], &options, |_, _| {
                    found += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, 2 * COUNT, "{distance} {strategy}");
        }
    }
}

fn check_sets<F: Fingerprint>() {
    let all = COUNT * (COUNT - 1) / 2;
    let segments = Set::from(index::<F>());
    for distance in distances::<F>() {
        for sorted in [false, true] {
            let mut options = PairOptions::default();
            (options.distance, options.sorted) = (distance, sorted);
            let mut finder = PairFinder::new(Width::of::<F>(), &options).unwrap();
            finder.extend_from_slice(&fingerprints::<F>()).unwrap();
            assert_eq!(finder.count().unwrap(), all as u64);
            let (mut found, mut of_records) = (0, 0);
            segments
                .pairs(&options, |_| {
                    found += 1;
                    Ok(())
                })
                .unwrap();
            segments
                .id_pairs(&options, |_| {
                    of_records += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!((found, of_records), (all, all), "{distance} {sorted}");
        }
        let mut options = ClusterOptions::default();
        options.distance = distance;
        let mut finder = ClusterFinder::new(Width::of::<F>(), &options).unwrap();
        finder.extend_from_slice(&fingerprints::<F>()).unwrap();
        let mut found = Vec::new();
        let report = finder.finish(|cluster| {
            found.push((cluster.fingerprints.len(), cluster.radius));
            Ok(())
        });
        assert_eq!(report.unwrap().chain_count, 0);
        assert_eq!(found, [(COUNT, F::WIDTH)]);
        let report = segments.clusters(&options, |_| Ok(())).unwrap();
        assert_eq!(
            (report.cluster_count, report.record_count),
            (1, COUNT as u64)
        );
        let mut options = DedupOptions::default();
        options.distance = distance;
        let mut dedup = Deduplicator::new(Width::of::<F>(), &options);
        dedup.extend_from_slice(&fingerprints::<F>()).unwrap();
        let decided = dedup.finish().unwrap();
        assert_eq!(decided.counts().kept, 1);
        assert_eq!(decided.chained_count(distance), 0);
    }
}

fn check_designs<F: Fingerprint>() {
    let halves = TableDesign::partition(Width::of::<F>(), 3, 2).unwrap();
    for distance in distances::<F>() {
        assert!(
            !halves
                .plan(distance, 1 << 20, &Costs::DIRECT)
                .probes()
                .is_empty()
        );
        assert_ne!(halves.coverage(distance), Coverage::Complete);
        assert!(TableDesign::available(Width::of::<F>(), distance).is_empty());
        let refused = [
            TableDesign::with_table_count(Width::of::<F>(), distance, 1),
            TableDesign::partition(Width::of::<F>(), distance, 1),
            TableDesign::choose_bands(Width::of::<F>(), distance, distance),
            TableDesign::two_level_bands(Width::of::<F>(), distance),
        ];
        let limit = format!("max_distance is at most {MAX_DISTANCE}, not {distance}");
        for refused in refused {
            assert_eq!(refused.unwrap_err().to_string(), limit);
        }
        let own = TableDesign::from_masks(distance, vec![F::MAX]);
        assert_eq!(own.is_ok(), distance == F::WIDTH);
        let mut request = PlanRequest::new(1000, distance);
        request.width = Width::of::<F>();
        assert_eq!(request.design().unwrap_err().to_string(), limit);
        let mut options = BuildOptions::default();
        options.max_distance = distance;
        match IndexBuilder::new(Width::of::<F>(), options) {
            Err(Error::Options(error)) => assert_eq!(error.to_string(), limit),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn queries_take_any_distance() {
    check_queries::<u32>();
    check_queries::<u64>();
    check_queries::<u128>();
}

#[test]
fn whole_sets_take_any_distance() {
    check_sets::<u32>();
    check_sets::<u64>();
    check_sets::<u128>();
}

#[test]
fn designs_refuse_distances_that_they_have_none_for() {
    check_designs::<u32>();
    check_designs::<u64>();
    check_designs::<u128>();
}
