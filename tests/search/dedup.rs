//! One document of each cluster: every way against comparing all documents, memory limits, indexes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simidx::batch::{Decision, DedupOptions, Deduplicated, Deduplicator};
use simidx::builder::MIN_MEMORY;
use simidx::watch::{Stage, Watch};
use simidx::{BuildOptions, Error, Fingerprint, IndexBuilder, Set, Width};

/// For each document the first one of its cluster, by comparing all.
fn firsts(count: usize, near: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    for a in 0..count {
        for b in a + 1..count {
            let (x, y) = (first[a].min(first[b]), first[a].max(first[b]));
            if x != y && near(a, b) {
                first.iter_mut().filter(|f| **f == y).for_each(|f| *f = x);
            }
        }
    }
    first
}

fn options(distance: u32) -> DedupOptions {
    let mut options = DedupOptions::default();
    options.distance = distance;
    options
}

fn documents<F: Fingerprint>(values: &[F], options: &DedupOptions) -> Deduplicator {
    let mut documents = Deduplicator::new(Width::of::<F>(), options);
    let (one_by_one, together) = values.split_at(values.len() / 2);
    one_by_one
        .iter()
        .for_each(|&value| documents.push(value).unwrap());
    documents.extend_from_slice(together).unwrap();
    documents
}

/// Asserts that each document has this fate, and the counts.
fn check<F: Fingerprint>(found: &Deduplicated, values: &[F], first: &[usize]) {
    for (document, &of) in first.iter().enumerate() {
        let distance = values[document].distance(values[of]);
        let expected = match of == document {
            true => Decision::Kept,
            false => Decision::Duplicate { of, distance },
        };
        assert_eq!(found.decision(document), expected);
        assert_eq!(found.is_kept(document), of == document);
    }
    assert!(!found.is_kept(values.len()));
    let sizes = |document: usize| first.iter().filter(|&&of| of == document).count() as u64;
    let sizes: Vec<u64> = (0..values.len())
        .map(sizes)
        .filter(|&size| size > 0)
        .collect();
    let counts = found.counts();
    assert_eq!(
        (counts.documents, counts.excluded),
        (values.len() as u64, 0)
    );
    assert_eq!(counts.kept, sizes.len() as u64);
    assert_eq!(
        counts.clusters,
        sizes.iter().filter(|&&size| size > 1).count() as u64
    );
    assert_eq!(counts.largest, sizes.iter().copied().max().unwrap_or(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_way_finds_the_clusters(
        values in prop::collection::vec(any::<u64>(), 0..150), kept in any::<[u64; 2]>(), distance in 0u32..6,
        lengths in prop::collection::vec(0u64..5, 150),
    ) {
        // Few bits vary, so that many are near each other or equal.
        let values: Vec<u64> = values.into_iter().map(|v| v & kept[0] & kept[1]).collect();
        let is_near = |a: usize, b: usize| values[a].distance(values[b]) <= distance;
        let first = firsts(values.len(), is_near);
        let mut found = documents(&values, &options(distance)).finish().unwrap();
        check(&found, &values, &first);

        found.keep_by(|document| lengths[document]);
        for (document, &of) in first.iter().enumerate() {
            let members = (0..values.len()).filter(|&member| first[member] == of);
            let best = members.max_by_key(|&member| (lengths[member], std::cmp::Reverse(member))).unwrap();
            let fate = found.decision(document);
            match best == document {
                true => prop_assert_eq!(fate, Decision::Kept),
                false => prop_assert!(matches!(fate, Decision::Duplicate { of, .. } if of == best), "{fate:?}"),
            }
        }

    }

    #[test]
    fn what_an_index_has_is_in_no_cluster(
        values in prop::collection::vec(any::<u32>(), 0..100), old in prop::collection::vec(any::<u32>(), 0..40),
        kept: u32, distance in 0u32..5,
    ) {
        let [values, old] = [values, old].map(|v| v.into_iter().map(|v| v & kept).collect::<Vec<u32>>());
        let mut builder = IndexBuilder::new(Width::W32, BuildOptions::default()).unwrap();
        builder.extend_from_slice(&old).unwrap();
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        let segments = Set::new(vec![simidx_testkit::open::<u32>(file)]).unwrap();

        let nearest = |v: u32| old.iter().map(|o| (v.distance(*o), *o)).min().filter(|near| near.0 <= distance);
        let first = firsts(values.len(), |a, b| {
            nearest(values[a]).or(nearest(values[b])).is_none() && values[a].distance(values[b]) <= distance
        });
        let (earlier, later) = values.split_at(values.len() / 2);
        let mut documents = documents(earlier, &options(distance));
        documents.exclude(&segments).unwrap();
        documents.extend_from_slice(later).unwrap();
        let found = documents.finish().unwrap();
        for (document, &value) in values.iter().enumerate() {
            let expected = match nearest(value) {
                Some((distance, fingerprint)) => Decision::Excluded { fingerprint: fingerprint.into(), distance },
                None if first[document] == document => Decision::Kept,
                None => Decision::Duplicate {
                    of: first[document],
                    distance: value.distance(values[first[document]]),
                },
            };
            prop_assert_eq!(found.decision(document), expected);
        }
        let known = values.iter().filter(|&&value| nearest(value).is_some()).count();
        prop_assert_eq!(found.counts().excluded, known as u64);
    }
}

#[test]
fn the_result_does_not_depend_on_memory() {
    // So many that a list of them does not fit what is left of the limit.
    let count = 700_000;
    let values: Vec<u128> = (0..count)
        .map(|i| u128::from(i * i) << (i % 3 * 40))
        .collect();
    let mut tight = options(2);
    tight.memory = Some(MIN_MEMORY + count * 36);
    let [free, tight] =
        [options(2), tight].map(|options| documents(&values, &options).finish().unwrap());
    assert!(free.counts().kept < values.len() as u64);
    assert!((0..values.len()).all(|document| free.decision(document) == tight.decision(document)));
}

#[test]
fn a_crowd_is_linked_without_going_through_its_pairs() {
    // Five billion pairs within eight bits, which would take minutes.
    let mut rng = StdRng::seed_from_u64(5);
    let crowd: Vec<u64> = (0..120_000)
        .map(|_| (0..4).fold(77, |value, _| value ^ 1 << rng.random_range(0..64)))
        .collect();
    let found = documents(&crowd, &options(8)).finish().unwrap();
    assert_eq!((found.counts().kept, found.counts().largest), (1, 120_000));
    assert_eq!(found.chained_count(8), 0);
}

#[test]
fn documents_dropped_by_chains_are_counted() {
    let chain: Vec<u64> = (0..10).map(|i| (1 << (2 * i)) - 1).collect();
    let found = documents(&chain, &options(2)).finish().unwrap();
    assert_eq!((found.counts().kept, found.chained_count(2)), (1, 8));
}

#[test]
fn more_documents_than_fit_the_memory_are_refused() {
    let mut tight = options(3);
    tight.memory = Some(MIN_MEMORY + 100 * 28);
    let mut documents = Deduplicator::new(Width::W64, &tight);
    documents.extend_from_slice(&[7_u64; 100]).unwrap();
    let error = documents.push(7_u64).unwrap_err();
    assert!(
        matches!(error, Error::Budget { needed, given, .. } if needed == MIN_MEMORY + 101 * 28 && Some(given) == tight.memory),
        "{error}"
    );
    assert_eq!(documents.finish().unwrap().counts().kept, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn documents_without_a_fingerprint_are_near_to_their_equals_only(
        values in prop::collection::vec((any::<u64>(), prop::option::weighted(0.4, 0u128..6)), 0..80),
        distance in 0u32..64,
    ) {
        // Few bits are set, so that fingerprints are near each other and near 0, which marks documents without one.
        let values: Vec<_> = values.into_iter().map(|(v, identity)| (v & v >> 7 & v >> 13, identity)).collect();
        let near = |a: usize, b: usize| match (values[a], values[b]) {
            ((_, Some(a)), (_, Some(b))) => a == b,
            ((a, None), (b, None)) => a.distance(b) <= distance,
            _ => false,
        };
        let fill = || {
            let mut documents = Deduplicator::new(Width::W64, &options(distance));
            for &(value, identity) in &values {
                match identity {
                    None => documents.push(value).unwrap(),
                    Some(identity) => documents.push_without_fingerprint(identity).unwrap(),
                }
            }
            documents
        };
        let without = values.iter().filter(|(_, identity)| identity.is_some()).count();
        let print = |&(value, identity): &(u64, Option<u128>)| identity.map_or(value, |_| 0);
        let prints: Vec<u64> = values.iter().map(print).collect();
        let first = firsts(values.len(), near);
        let found = fill().finish().unwrap();
        check(&found, &prints, &first);
        prop_assert_eq!(found.counts().without_fingerprint, without as u64);
        let numbers: BTreeSet<usize> = (0..values.len()).filter(|&d| first[d] != d).map(|d| first[d]).collect();
        for (document, &first) in first.iter().enumerate() {
            let number = numbers.iter().position(|&of| of == first);
            prop_assert_eq!(found.cluster_of(document), number.map(|number| number as u64));
        }

        // An index with the fingerprint 0, which marks documents without one, does not exclude them.
        let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default()).unwrap();
        builder.push(0_u64).unwrap();
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        let segments = Set::from(simidx_testkit::open::<u64>(file));
        let mut documents = fill();
        documents.exclude(&segments).unwrap();
        let excluded = documents.finish().unwrap();
        for (document, &(value, identity)) in values.iter().enumerate() {
            let is_excluded = matches!(excluded.decision(document), Decision::Excluded { .. });
            prop_assert_eq!(is_excluded, identity.is_none() && value.count_ones() <= distance);
        }
    }
}

#[test]
fn a_watch_stops_the_search_of_a_set_that_excludes_documents() {
    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default()).unwrap();
    builder.push(7_u64).unwrap();
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    let watch = Watch::new(|progress| match progress.stage {
        Stage::Search => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let mut documents = documents(&[8_u64], &options(1).watch(watch));
    documents.exclude(&Set::from_bytes(file).unwrap()).unwrap();
    assert!(matches!(documents.finish(), Err(Error::Interrupted)));
}

#[test]
fn documents_without_a_fingerprint_take_memory_too() {
    let mut options = options(3);
    options.memory = Some(MIN_MEMORY + 2800);
    let mut documents = Deduplicator::new(Width::W64, &options);
    let mut count = 0u32;
    let error = loop {
        match documents.push_without_fingerprint(count.into()) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(count, 50);
    assert!(matches!(error, Error::Budget { .. }));
    assert_eq!(documents.finish().unwrap().counts().kept, 50);
}
