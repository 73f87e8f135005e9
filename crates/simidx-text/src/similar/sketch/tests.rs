//! The search by sketches against a comparison of all sketches.

use simidx::Set;

use simidx::set::Exclusions;
use simidx::{BuildOptions, Id, IdKind, Index, IndexBuilder, Storage, Width};

use super::*;
use crate::compare::FeatureSet;

/// Returns a set of a hundred features. Each family has variants: variant v lacks v of the features and has v others.
fn set(family: u64, variant: u64) -> FeatureSet {
    let hash = |seed: u64| xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes());
    let own = (0..variant).map(|i| hash(1 << 40 | family << 20 | variant << 10 | i));
    let common = (variant..100).map(|i| hash(family << 20 | i));
    FeatureSet::from_hashes(own.chain(common).collect())
}

fn sketcher(bits: u32) -> Sketcher {
    Sketcher::new(bits, SketchFeatures::default()).unwrap()
}

/// Returns a fingerprint of a family.
fn even(family: u64) -> u64 {
    family.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !1
}

/// Returns an index of some families, the variants 0 to 2 of each, with the ids 10 * family + variant.
fn index(families: std::ops::Range<u64>, bits: u32) -> Index<u64> {
    let sketcher = sketcher(bits);
    let mut options = BuildOptions::default();
    options.ids = IdKind::Number;
    options.sketches = Some(sketcher.parameters().clone());
    let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
    for family in families {
        for variant in 0..3 {
            let sketch = sketcher.sketch_of(&set(family, variant));
            // Two records for each fingerprint.
            let fingerprint = even(family) | (variant / 2);
            let id = 10 * family + variant;
            let pushed = builder.push_with_sketch(fingerprint, Some(id.into()), sketch.as_u64s());
            pushed.unwrap();
        }
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    Index::from_bytes(Storage::from(file)).unwrap()
}

fn queries(bits: u32) -> Vec<TextSketch> {
    let sketcher = sketcher(bits);
    let queries = (0..4000).map(|i| sketcher.sketch_of(&set(i / 2, 3 + i % 2 * 9)));
    queries.collect()
}

/// Returns all matches, found by comparing all sketches.
fn oracle(segments: &Set, queries: &[TextSketch], largest: u32) -> Vec<SketchMatch> {
    let mut all = Vec::new();
    for (segment, file) in segments.segments().enumerate() {
        let sketches = file.sketches().unwrap().unwrap();
        for record in 0..sketches.len() {
            let mut words = Vec::new();
            sketches.read(record..record + 1, &mut words).unwrap();
            for (query, sketch) in queries.iter().enumerate() {
                let differ = sketch.as_u64s().iter().zip(&words);
                let distance = differ.map(|(a, b)| (a ^ b).count_ones()).sum();
                if distance <= largest {
                    all.push(SketchMatch {
                        query,
                        segment,
                        record,
                        distance,
                    });
                }
            }
        }
    }
    all
}

fn found(search: &SketchSearch<'_>, queries: &[TextSketch]) -> Vec<SketchMatch> {
    let mut found = Vec::new();
    let visited = search.for_each_match::<simidx::Error>(queries, |one| {
        found.push(one);
        Ok(())
    });
    visited.unwrap();
    found
}

#[test]
fn matches_are_those_of_a_comparison_with_all() {
    for (bits, least, margin) in [(256, 0.8, 0.0), (128, 0.9, 0.0), (256, 0.8, 2.0)] {
        let segments = Set::new(vec![index(0..300, bits), index(200..500, bits)]).unwrap();
        let search = SketchSearch::new(&segments, least, margin).unwrap();
        let all = queries(bits);
        for queries in [&all[..], &all[..5]] {
            let banding = search.banding(queries.len());
            assert_eq!(banding.band_count() > 0, queries.len() > 5, "{banding:?}");
            let expected = oracle(&segments, queries, banding.largest_distance());
            let found = found(&search, queries);
            assert!(found.iter().all(|one| expected.contains(one)));
            assert!(found.is_sorted_by_key(|one| (one.segment, one.record, one.query)));
            // At the largest distance, one in two hundred may be missed, and fewer at smaller distances.
            let missed = expected.len() - found.len();
            assert!(
                missed * 200 <= expected.len() && expected.len() >= 5,
                "{missed} of {}",
                expected.len()
            );
            if banding.band_count() == 0 {
                assert_eq!(missed, 0);
            }
        }
    }
}

#[test]
fn little_memory_makes_small_batches() {
    let segments = Set::from(index(0..300, 256));
    let len = |margin, memory| {
        let search = SketchSearch::new(&segments, 0.8, margin).unwrap();
        search.batch_len(memory)
    };
    assert_eq!(len(0.0, u64::MAX), SketchSearch::BATCH);
    assert_eq!(len(0.0, 0), 256);
    let batches = [1 << 30, 1 << 26, 1 << 24, 1 << 22].map(|memory| len(0.0, memory));
    assert!(
        batches.is_sorted_by(|a, b| a >= b) && batches[3] < batches[1],
        "{batches:?}"
    );
    // A margin needs more bands, and so more memory for the same number of queries.
    assert!(len(2.0, 1 << 26) < len(0.0, 1 << 26));
}

#[test]
fn the_best_match_is_the_nearest_and_first() {
    let segments = Set::new(vec![index(0..300, 256), index(200..500, 256)]).unwrap();
    let search = SketchSearch::new(&segments, 0.8, 0.0).unwrap();
    let queries = queries(256);
    let all = found(&search, &queries);
    let best = search.best_matches(&queries).unwrap();
    for (query, best) in best.iter().enumerate() {
        let of_query = all.iter().filter(|one| one.query == query);
        let nearest = of_query.min_by_key(|one| (one.distance, one.segment, one.record));
        assert_eq!(best.as_ref(), nearest);
    }
    assert!(best[..600].iter().filter(|best| best.is_some()).count() > 250);
    assert!(best[1000..].iter().all(Option::is_none));
}

#[test]
fn the_outcome_does_not_depend_on_the_threads() {
    let segments = Set::from(index(0..500, 256));
    let queries = queries(256);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| found(&SketchSearch::new(&segments, 0.8, 0.0).unwrap(), &queries))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn ids_lead_back_to_the_sets() {
    let segments = Set::from(index(0..300, 256));
    let index = segments.index::<u64>(0).unwrap();
    let search = SketchSearch::new(&segments, 0.8, 0.0).unwrap();
    for one in found(&search, &queries(256)) {
        let Some(id) = index.id_of_record(one.record).unwrap() else {
            panic!("the index has ids");
        };
        let Id::Number(id) = id.as_id() else {
            panic!("the ids are numbers");
        };
        assert_eq!(id / 10, one.query as u64 / 2);
    }
}

#[test]
fn what_is_left_out_is_not_found() {
    let segments = Set::new(vec![index(0..300, 256)]).unwrap();
    let mut exclusions = Exclusions::default();
    exclusions.add_number(70).unwrap();
    exclusions.add_fingerprint(even(9));
    let shown = segments.clone().without(&exclusions).unwrap();
    let queries = queries(256);
    let ids = |segments: &Set| {
        let search = SketchSearch::new(segments, 0.8, 0.0).unwrap();
        let index = segments.index::<u64>(0).unwrap();
        let id = |one: SketchMatch| match index.id_of_record(one.record).unwrap().unwrap().as_id() {
            Id::Number(id) => id,
            Id::String(_) => panic!("the ids are numbers"),
        };
        let mut ids: Vec<u64> = found(&search, &queries).into_iter().map(id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let (all, some) = (ids(&segments), ids(&shown));
    let expected: Vec<u64> = all
        .iter()
        .copied()
        .filter(|id| ![70, 90, 91].contains(id))
        .collect();
    assert_eq!(some, expected);
    assert_eq!(all.len(), some.len() + 3);
}

#[test]
fn indexes_without_sketches_and_with_others_are_errors() {
    let plain = |sketches| {
        let mut options = BuildOptions::default();
        options.ids = IdKind::Number;
        options.sketches = sketches;
        let mut file = Vec::new();
        IndexBuilder::new(Width::W64, options)
            .unwrap()
            .finish(&mut file)
            .unwrap();
        Index::<u64>::from_bytes(Storage::from(file)).unwrap()
    };
    let error = SketchSearch::new(&plain(None).into(), 0.8, 0.0).unwrap_err();
    assert!(error.to_string().contains("--sketch 256"), "{error}");
    let unknown = simidx::format::SketchParameters::new(64, "letters").unwrap();
    let error = SketchSearch::new(&plain(Some(unknown)).into(), 0.8, 0.0).unwrap_err();
    assert!(error.to_string().contains("letters"), "{error}");
    let both = Set::new(vec![index(0..3, 256), index(0..3, 128)]).unwrap();
    let error = SketchSearch::new(&both, 0.8, 0.0).unwrap_err();
    assert!(error.to_string().contains("128 bits of words:3"), "{error}");
    let first = both.only(0).unwrap();
    let search = SketchSearch::new(&first, 0.8, 0.0).unwrap();
    assert!(search.best_matches(&queries(128)).is_err());
}
