//! Answers in columns against single queries: one segment and several, with records left out, on any number of threads.

use rand::RngExt;
use simidx::Set;
use simidx::batch::{IdColumn, PairOptions, RowPair, positions_of_all, row_pairs};
use simidx::set::{Exclusions, Question};
use simidx::{BuildOptions, Error, Fingerprint, IdKind, Watch};
use simidx_testkit::{build_numbers, build_strings, clustered, flipped, open_set, recording, rng};

/// More than two rounds of queries would take too long; more than one piece of each will do.
const COUNT: usize = 900;

fn with_ids(kind: IdKind) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.ids = kind;
    options
}

/// Two segments that share some fingerprints, with numbers as ids, and one record of each left out.
fn live<F: Fingerprint>(values: &[F]) -> Set {
    let numbered = |start: usize, end: usize| {
        let records: Vec<(F, u64)> = (start..end).map(|i| (values[i], i as u64)).collect();
        build_numbers(with_ids(IdKind::Number), &records)
    };
    let half = values.len() / 2;
    let segments = open_set([numbered(0, half + 50), numbered(half, values.len())]);
    let mut left_out = Exclusions::default();
    left_out.add_number(3).unwrap();
    left_out.add_fingerprint(values[half]);
    segments.without(&left_out).unwrap()
}

fn queries<F: Fingerprint>(values: &[F]) -> Vec<F> {
    let mut rng = rng(71);
    let near = |_| {
        let value = values[rng.random_range(0..values.len())];
        flipped(value, rng.random_range(0..6), &mut rng)
    };
    (0..400).map(near).collect()
}

fn check_answers<F: Fingerprint>(segments: &Set, values: &[F]) {
    let queries = queries(values);
    let nearest = |count, max_distance| Question::Nearest {
        count,
        max_distance,
    };
    let questions = [
        Question::Within(0),
        Question::Within(4),
        nearest(3, F::WIDTH),
        nearest(2, 5),
    ];
    for question in questions {
        let (watch, calls) = recording(usize::MAX);
        let found = segments.answer_all(&queries, question, &watch).unwrap();
        let seen = calls.lock().unwrap().last().unwrap().done;
        assert_eq!(
            (seen as usize, found.query_count()),
            (queries.len(), queries.len())
        );
        for (number, &query) in queries.iter().enumerate() {
            let single = match question {
                Question::Within(distance) => segments.query(query, distance),
                Question::Nearest {
                    count,
                    max_distance,
                } => segments.nearest(query, count, max_distance),
            };
            let single = single.unwrap();
            let expected: Vec<F> = single.iter().map(|m| m.fingerprint).collect();
            let distances: Vec<u8> = single.iter().map(|m| m.distance as u8).collect();
            let place = found.offsets[number] as usize..found.offsets[number + 1] as usize;
            let fingerprints: &[F] = found.fingerprints.as_slice().unwrap();
            assert_eq!(fingerprints[place.clone()], expected);
            assert_eq!(found.distances[place], distances);
        }
        assert_eq!(found.offsets.last(), Some(&(found.distances.len() as u64)));
    }
    let near = segments
        .contains_all(&queries, 2, &Watch::default())
        .unwrap();
    let single = queries
        .iter()
        .map(|&q| segments.contains_near(q, 2).unwrap());
    assert_eq!(near, single.collect::<Vec<_>>());
}

fn check_width<F: Fingerprint>() {
    let values: Vec<F> = clustered(COUNT);
    let records: Vec<(F, u64)> = values.iter().copied().zip(0..).collect();
    let alone = build_numbers(with_ids(IdKind::Number), &records);
    check_answers(&open_set([alone]), &values);
    check_answers(&live(&values), &values);
}

#[test]
fn columns_are_the_answers_of_single_queries() {
    check_width::<u32>();
    check_width::<u64>();
    check_width::<u128>();
}

#[test]
fn ids_and_positions_are_those_of_single_look_ups() {
    let values: Vec<u64> = clustered(COUNT);
    let live = live(&values);
    let mut asked = values.clone();
    asked.push(!values[0]);
    let lists = live.ids_of_all(&asked, &Watch::default()).unwrap();
    let IdColumn::Numbers(numbers) = &lists.ids else {
        panic!("the ids are numbers")
    };
    for (i, &value) in asked.iter().enumerate() {
        let bounds = lists.offsets[i] as usize..lists.offsets[i + 1] as usize;
        let single = live.ids_of(value).unwrap();
        let single: Vec<String> = single.map(|id| id.unwrap().to_string()).collect();
        let found: Vec<String> = numbers[bounds].iter().map(u64::to_string).collect();
        assert_eq!(found, single);
    }
    let positions = positions_of_all(&live, &asked, &Watch::default()).unwrap();
    for (&value, position) in asked.iter().zip(positions) {
        let mut start = 0;
        let expected = (0..live.segment_count()).find_map(|number| {
            let index = live.index::<u64>(number).unwrap();
            let rank = index.rank(value).unwrap().map(|rank| start + rank);
            start += index.len();
            rank
        });
        assert_eq!(position, expected);
    }
}

#[test]
fn strings_are_cut_where_they_end() {
    let values: Vec<u64> = clustered(COUNT);
    let names: Vec<String> = (0..COUNT)
        .map(|i| "ä".repeat(i % 7 + 1) + &i.to_string())
        .collect();
    let records: Vec<(u64, &str)> = values
        .iter()
        .copied()
        .zip(names.iter().map(String::as_str))
        .collect();
    let segments = open_set([build_strings(with_ids(IdKind::String), &records)]);
    let lists = segments.ids_of_all(&values, &Watch::default()).unwrap();
    for (i, &value) in values.iter().enumerate() {
        let found = (lists.offsets[i]..lists.offsets[i + 1])
            .map(|number| lists.ids.get(number as usize).unwrap().to_string());
        let single = segments
            .ids_of(value)
            .unwrap()
            .map(|id| id.unwrap().to_string());
        assert_eq!(found.collect::<Vec<_>>(), single.collect::<Vec<_>>());
    }
    // Fingerprints that come twice have all their ids twice.
    assert!(lists.ids.len() >= COUNT);
    assert!(lists.ids.get(lists.ids.len()).is_none());
}

#[test]
fn work_in_columns_can_be_broken_off() {
    let values: Vec<u64> = clustered(COUNT);
    let stop = || recording(1).0;
    let live = live(&values);
    let question = Question::Within(3);
    assert!(matches!(
        live.answer_all(&values, question, &stop()),
        Err(Error::Interrupted)
    ));
    assert!(matches!(
        live.contains_all(&values, 3, &stop()),
        Err(Error::Interrupted)
    ));
    assert!(matches!(
        live.ids_of_all(&values, &stop()),
        Err(Error::Interrupted)
    ));
    assert!(matches!(
        positions_of_all(&live, &values, &stop()),
        Err(Error::Interrupted)
    ));
    let stopped = row_pairs(&values, &PairOptions::default().watch(stop()));
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

fn check_rows<F: Fingerprint>(distance: u32) {
    let mut values: Vec<F> = clustered(300);
    values.extend_from_within(0..40);
    values.extend_from_within(0..20);
    let mut options = PairOptions::default();
    options.distance = distance;
    let found = row_pairs(&values, &options).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|p: &RowPair| (p.first, p.second, p.distance))
        .collect();
    let mut expected = Vec::new();
    for (i, x) in (0..).zip(&values) {
        for (j, y) in (0..i).zip(&values) {
            if x.distance(*y) <= distance {
                expected.push((j, i, x.distance(*y)));
            }
        }
    }
    expected.sort_unstable();
    assert_eq!(found, expected);
    options.max_pairs = Some(found.len() as u64);
    assert!(row_pairs(&values, &options).is_ok());
    options.max_pairs = Some(found.len() as u64 - 1);
    let refused = row_pairs(&values, &options);
    assert!(matches!(
        refused,
        Err(Error::LimitReached { what: "pairs", .. })
    ));
}

#[test]
fn pairs_of_rows_are_those_of_all_with_all() {
    for distance in [0, 3, 8] {
        check_rows::<u32>(distance);
        check_rows::<u64>(distance);
        check_rows::<u128>(distance);
    }
}
