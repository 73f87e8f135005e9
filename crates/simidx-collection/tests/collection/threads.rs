//! Many threads: one order of all changes, and no answer in between.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use simidx::Width;
use simidx::set::Question;
use simidx_collection::{Added, Collection, Options, Outcome, Sync};

const THREADS: u64 = 8;

fn options(sync: Sync) -> Options {
    let mut options = Options::default();
    options.sync = sync;
    options.seal_records = 100;
    options
}

/// The ids that an answer names.
fn named(added: &Added) -> HashSet<String> {
    added
        .matches
        .iter()
        .flat_map(|near| near.ids.iter().cloned())
        .collect()
}

/// Far from those of other rounds.
fn centre(round: u64) -> u64 {
    round.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn near_duplicates_name_each_other(sync: Sync, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let pages = Collection::create(folder.path().join("pages"), Width::W64, options(sync)).unwrap();
    let barrier = Barrier::new(THREADS as usize);
    let answers: Vec<Vec<HashSet<String>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (pages, barrier) = (&pages, &barrier);
                scope.spawn(move || {
                    let add = |round| {
                        barrier.wait();
                        let fingerprint = centre(round) ^ 1 << thread;
                        named(
                            &pages
                                .add(&format!("{thread} {round}"), fingerprint)
                                .unwrap(),
                        )
                    };
                    (0..rounds).map(add).collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for round in 0..rounds as usize {
        // In the order of the additions, each names all before it.
        let mut sizes: Vec<usize> = answers.iter().map(|answers| answers[round].len()).collect();
        sizes.sort_unstable();
        assert_eq!(
            sizes,
            (0..THREADS as usize).collect::<Vec<_>>(),
            "round {round}"
        );
        for a in 0..THREADS as usize {
            for b in 0..a {
                let names =
                    |a: usize, b: usize| answers[a][round].contains(&format!("{b} {round}"));
                assert!(names(a, b) != names(b, a), "round {round}: {a} and {b}");
            }
        }
    }
    assert_eq!(pages.len(), THREADS * rounds);
}

#[test]
fn of_two_near_duplicates_at_once_one_answer_names_the_other() {
    near_duplicates_name_each_other(Sync::Never, 300);
    near_duplicates_name_each_other(Sync::Always, 40);
}

#[test]
fn one_of_many_additions_of_an_id_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let pages = Collection::create(
        folder.path().join("pages"),
        Width::W64,
        options(Sync::Never),
    )
    .unwrap();
    for round in 0..100_u64 {
        let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
            let add = |_| {
                let pages = &pages;
                scope.spawn(move || pages.add(&round.to_string(), round).unwrap().outcome)
            };
            let threads: Vec<_> = (0..4).map(add).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let new = outcomes.iter().filter(|outcome| **outcome == Outcome::New);
        assert_eq!(new.count(), 1, "{outcomes:?}");
    }
}

#[test]
fn what_was_added_is_found_and_what_was_deleted_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let pages = Collection::create(
        folder.path().join("pages"),
        Width::W64,
        options(Sync::Never),
    )
    .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|thread| {
                let pages = &pages;
                scope.spawn(move || {
                    for number in 0..1500 {
                        let (id, value) =
                            (format!("{thread} {number}"), centre(number * 4 + thread));
                        pages.add(&id, value).unwrap();
                        let found = pages.query(value, 0).unwrap();
                        assert_eq!(found[0].ids, [&*id]);
                        if number % 3 == 0 {
                            assert!(pages.delete(&id).unwrap());
                            assert!(pages.query(value, 0).unwrap().is_empty());
                        }
                        if number % 100 == 7 {
                            // Its lot has been sealed meanwhile, or is being sealed.
                            let old = format!("{thread} {}", number - 5);
                            pages.delete(&old).unwrap();
                            assert_eq!(pages.get(&old).unwrap(), None);
                        }
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut largest = 0;
            while !done.load(Ordering::Relaxed) {
                largest = largest.max(pages.query(centre(5), 3).unwrap().len());
                pages.nearest(centre(5), 3, 64).unwrap();
            }
            largest
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().unwrap(), 1);
    });
    let deleted_old = (0..1500)
        .filter(|n| n % 100 == 7 && (n - 5) % 3 != 0)
        .count() as u64;
    assert_eq!(pages.len(), 4 * (1000 - deleted_old));
    let before = pages.stats();
    assert!(
        before.seal_count > 10 && before.merge_count > 0,
        "{before:?}"
    );
    assert_eq!(before.background_error, None);
    let path = pages.path().to_owned();
    pages.close().unwrap();
    let pages = Collection::open(&path, options(Sync::Never)).unwrap();
    assert_eq!(pages.len(), 4 * (1000 - deleted_old));
}

/// All records are near the query, so the answer has one match for each change.
#[test]
fn an_answer_is_numbered_as_what_it_tells_of() {
    const ADDITIONS: u64 = 400;
    let folder = tempfile::tempdir().unwrap();
    let pages = Collection::create(
        folder.path().join("pages"),
        Width::W64,
        options(Sync::Never),
    )
    .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let adders: Vec<_> = (0..4_u64)
            .map(|thread| {
                let pages = &pages;
                scope.spawn(move || {
                    for number in 0..ADDITIONS {
                        let added = pages.add(&format!("{thread} {number}"), 1_u64 << thread);
                        let added = added.unwrap();
                        assert_eq!(added.change_count, named(&added).len() as u64 + 1);
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let query = pages
                    .answer(0_u64, Question::Within(3), Some(usize::MAX))
                    .unwrap();
                let nearest = pages
                    .answer(
                        0_u64,
                        Question::Nearest {
                            count: 10,
                            max_distance: 3,
                        },
                        Some(usize::MAX),
                    )
                    .unwrap();
                for answer in [query, nearest] {
                    let ids = answer.value.iter().map(|near| near.ids.len() as u64);
                    assert_eq!(answer.change_count, ids.sum::<u64>());
                    assert!(answer.change_count >= last);
                    last = answer.change_count;
                }
                let get = pages.get_numbered("3 0").unwrap();
                assert!(get.change_count >= last);
                let mut visited = 0;
                let count = pages.visit_records(|_, _| {
                    visited += 1;
                    ControlFlow::Continue(())
                });
                assert_eq!(count.unwrap(), visited);
                assert!(visited >= last);
            }
        });
        for adder in adders {
            adder.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(pages.change_count(), 4 * ADDITIONS);
    assert_eq!(
        pages.delete_numbered("0 0").unwrap().change_count,
        4 * ADDITIONS + 1
    );
}
