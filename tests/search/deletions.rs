//! Deletions before a merge: segments without some records answer as the index of all others.

use proptest::prelude::*;
use simidx::batch::{
    ClusterOptions, DedupOptions, Deduplicator, JoinOptions, JoinStrategy, PairOptions,
};
use simidx::design::TableDesign;
use simidx::merge::MergeOptions;
use simidx::set::{Exclusions, SetScratch};
use simidx::{Fingerprint, IdKind, Set, Width};
use simidx_testkit::{hit, open_set};

use crate::updates::{
    Parameters, Part, build, exclusions, files, fingerprint, id_kind, left, many, name, parts,
    records,
};

/// Whether segments without some records answer as the index of all others.
fn check_hidden<F: Fingerprint>(live: &Set, expected: &Set, queries: &[F]) {
    let mut scratches = [SetScratch::new(), SetScratch::new()];
    let [scratch, other] = &mut scratches;
    for &query in queries {
        for distance in [0, 2, 6] {
            let found = live.query_with(scratch, query, distance).unwrap();
            let right = expected.query_with(other, query, distance).unwrap();
            assert_eq!(hit(found.iter()), hit(right.iter()));
            for (found, right) in found.iter().zip(right.iter()) {
                let ids: Vec<_> = found.ids().unwrap().map(Result::unwrap).collect();
                let right = right.ids().unwrap().map(Result::unwrap);
                assert!(ids.into_iter().eq(right));
            }
            let near = live.contains_near(query, distance).unwrap();
            assert_eq!(near, expected.contains_near(query, distance).unwrap());
            for count in [0, 1, 3, 100] {
                let found = live.nearest_with(scratch, query, count, distance).unwrap();
                let right = expected
                    .nearest_with(other, query, count, distance)
                    .unwrap();
                let (found, right) = (hit(found.iter()), hit(right.iter()));
                assert_eq!(found, right, "{count} within {distance}");
            }
        }
        assert_eq!(
            live.contains(query).unwrap(),
            expected.contains(query).unwrap()
        );
        let ids = live.ids_of(query).unwrap().map(Result::unwrap);
        let right: Vec<_> = expected
            .ids_of(query)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(ids.eq(right));
    }
    for id in 0..40 {
        let (string, number) = (name(id), live.id_kind() == IdKind::Number);
        let find = |segments: &Set| match number {
            true => segments.fingerprints_of_id(id).unwrap(),
            false => segments.fingerprints_of_id(&*string).unwrap(),
        };
        assert_eq!(find(live), find(expected));
    }
    let listed = |segments: &Set| {
        let mut listed = Vec::new();
        let mut fingerprints = segments.fingerprints(0).unwrap();
        while let Some(value) = fingerprints.next() {
            let ids = fingerprints.ids().unwrap().map(Result::unwrap);
            listed.push((value.unwrap(), ids.collect::<Vec<_>>()));
        }
        let mut recorded = Vec::new();
        let mut records = segments.records().unwrap();
        while let Some((fingerprint, id)) = records.read().unwrap() {
            recorded.push((fingerprint, id.to_string()));
        }
        (listed, recorded)
    };
    assert_eq!(listed(live), listed(expected));
}

/// Checks the operations on whole sets in the same way.
fn check_hidden_sets<F: Fingerprint>(live: &Set, expected: &Set, queries: &[F]) {
    let mut options = PairOptions::default();
    options.sorted = true;
    let all_pairs = |segments: &Set| {
        let mut found = Vec::new();
        let visit = |pair| {
            found.push(pair);
            Ok(())
        };
        segments.pairs(&options, visit).unwrap();
        found
    };
    assert_eq!(all_pairs(live), all_pairs(expected));
    if live.id_kind() != IdKind::None {
        let all_pairs = |segments: &Set| {
            let mut found = Vec::new();
            segments
                .id_pairs(&options, |pair| {
                    found.push((
                        pair.smaller.to_string(),
                        pair.larger.to_string(),
                        pair.distance,
                    ));
                    Ok(())
                })
                .unwrap();
            found
        };
        assert_eq!(all_pairs(live), all_pairs(expected));
    }
    let all_clusters = |segments: &Set| {
        let mut found = Vec::new();
        segments
            .clusters(&ClusterOptions::default(), |cluster| {
                let representative = cluster.representative;
                found.push((
                    cluster.fingerprints.to_vec(),
                    cluster.record_count,
                    representative,
                ));
                Ok(())
            })
            .unwrap();
        found
    };
    assert_eq!(all_clusters(live), all_clusters(expected));
    for strategy in [JoinStrategy::Probe, JoinStrategy::Stream] {
        let all_matches = |segments: &Set| {
            let mut options = JoinOptions::default();
            options.strategy = strategy;
            let mut found = Vec::new();
            segments
                .join(queries, &options, |query, near| {
                    found.push((query, near.distance, near.fingerprint));
                    Ok(())
                })
                .unwrap();
            found
        };
        assert_eq!(all_matches(live), all_matches(expected));
    }
    let not_excluded = |segments: &Set| {
        let mut dedup = Deduplicator::new(Width::of::<F>(), &DedupOptions::default());
        queries.iter().for_each(|&query| dedup.push(query).unwrap());
        dedup.exclude(segments).unwrap();
        let decided = dedup.finish().unwrap();
        (0..queries.len())
            .map(|number| decided.is_kept(number))
            .collect::<Vec<_>>()
    };
    assert_eq!(not_excluded(live), not_excluded(expected));
    let written = |segments: &Set| {
        let mut options = MergeOptions::default();
        options.design = Some(TableDesign::with_table_count(Width::of::<F>(), 3, 2).unwrap());
        options.block_size = Some(128);
        let mut file = Vec::new();
        segments.merge(&options, &mut file).unwrap();
        simidx_testkit::open::<F>(file).content_id()
    };
    assert_eq!(written(live), written(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_left_out_before_a_merge_is_in_no_answer(
        parts in parts(),
        left in left(),
        more in left(),
        left_of in prop::collection::btree_map(0usize..4, left(), 0..3),
        ids in id_kind(),
        queries in prop::collection::vec(prop_oneof![3 => 0u64..40, 1 => any::<u64>()], 1..12),
    ) {
        let live = open_set(files::<u64>(&parts, ids));
        let live = live.without(&exclusions::<u64>(&left, ids)).unwrap();
        // Later exclusions are added to earlier ones.
        let mut live = live.clone().without(&exclusions::<u64>(&more, ids)).unwrap();
        let mut kept = Part::new();
        for (number, (part, _)) in parts.iter().enumerate() {
            let own = left_of.get(&number).cloned().unwrap_or_default();
            live = live.without_from(number, &exclusions::<u64>(&own, ids)).unwrap();
            let lists = [&left, &more, &own];
            kept.extend(part.iter().filter(|r| lists.iter().all(|list| !list.has(r, ids))));
        }
        let expected = open_set([build(&records::<u64>(&kept), parts[0].1.options::<u64>(), ids)]);
        let queries: Vec<u64> = queries.into_iter().map(fingerprint).collect();
        check_hidden(&live, &expected, &queries);
        check_hidden_sets(&live, &expected, &queries);
    }
}

#[test]
fn other_segments_are_searched_as_before() {
    let parameters = Parameters {
        distance: 3,
        tables: 1,
        block_size: 128,
        codec: None,
    };
    let parts = [many(500, 1), many(500, 2)];
    let files = parts
        .each_ref()
        .map(|records| build(records, parameters.options::<u64>(), IdKind::String));
    let all = open_set(files);
    let mut deleted = Exclusions::default();
    (0..100).for_each(|id| deleted.add_string(&name(id)).unwrap());
    let live = all.clone().without(&deleted).unwrap();
    assert!(all.contains(parts[0][5].0).unwrap() && !live.contains(parts[0][5].0).unwrap());
    // The files are open once, and the figures are theirs.
    for number in 0..2 {
        let [segment, same] = [&all, &live].map(|set| set.index::<u64>(number).unwrap());
        assert!(std::sync::Arc::ptr_eq(segment, same));
    }
    assert_eq!(live.record_count(), all.record_count());
    let mut wrong = Exclusions::default();
    wrong.add_number(1).unwrap();
    let message = "records cannot be left out by such ids: the ids are string";
    assert_eq!(
        all.clone().without(&wrong).unwrap_err().to_string(),
        message
    );
    // An empty set has no records of any kind, and no ids are not used up.
    let empty = open_set([build::<u64>(&[], parameters.options::<u64>(), IdKind::None)]);
    let mut later = Exclusions::default();
    for set in [&empty, &all] {
        set.clone().without(&later).unwrap();
    }
    later.add_string("x").unwrap();
    let mut merged = Vec::new();
    let options = MergeOptions::default().exclusions(later);
    empty.merge(&options, &mut merged).unwrap();
    let mut later = options.exclusions;
    all.clone().without(&later).unwrap();
    assert_eq!(
        later.add_string("y").unwrap_err().to_string(),
        "ids to be left out are added before they are used"
    );
    let message = "there is no segment 2 to leave records out of";
    let refused = all.without_from(2, &Exclusions::default());
    assert_eq!(refused.unwrap_err().to_string(), message);
}
