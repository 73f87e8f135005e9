//! The search against a comparison of all pairs.

use super::*;
use crate::Pipeline;
use crate::compare::FeatureSet;
use crate::dedup::Similarity;
use simidx::{Watch, Width};
use simidx_testkit::recording;

/// Returns the text of a number: sixty words, often an edit of another text, sometimes equal to one, or empty.
fn text(i: u64) -> String {
    let word = |seed: u64| {
        format!(
            "w{}",
            xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes()) % 5000
        )
    };
    let (family, edits) = (i * 7 % 50, i * 31 % 12);
    if i % 40 == 7 {
        return "?!".repeat((i % 3) as usize);
    }
    if i % 25 == 3 {
        // Equal to an earlier text, except for the characters between the words.
        return text(i / 2).replace(' ', " - ");
    }
    let mut words: Vec<String> = (0..60).map(|j| word(family * 1000 + j)).collect();
    for edit in 0..edits {
        words[((i + 1) * (edit + 3) * 7 % 60) as usize] = word(1_000_000 + i * 100 + edit);
    }
    words.join(" ")
}

fn texts(count: u64) -> Vec<String> {
    (0..count).map(text).collect()
}

fn collected(texts: &[String], options: &SimilarOptions) -> SimilarTexts {
    let mut collected = SimilarTexts::new(&Pipeline::default(), options).unwrap();
    collected.push_all(texts).unwrap();
    collected
}

/// Gives the needed texts, the last first.
fn given(mut candidates: SimilarCandidates, texts: &[String]) -> SimilarCandidates {
    for (number, text) in texts.iter().enumerate().rev() {
        if candidates.needs_text(number) {
            candidates.give(number, text.as_str()).unwrap();
        }
    }
    candidates
}

/// Returns all similar pairs, found by comparing all texts.
fn oracle(texts: &[String], least: f64) -> Vec<(usize, usize, f64)> {
    let similarity = Similarity::of_words(least, 3).unwrap();
    let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
    let sets: Vec<FeatureSet> = texts
        .iter()
        .map(|t| similarity.feature_set(&mut fingerprinter, t))
        .collect();
    let mut pairs = Vec::new();
    for b in 0..sets.len() {
        for a in 0..b {
            let jaccard = sets[a].jaccard(&sets[b]);
            if jaccard >= least {
                pairs.push((a, b, jaccard));
            }
        }
    }
    pairs
}

/// Returns which texts are dropped if they are decided on in this order.
fn dropped_in(order: &[usize], pairs: &[(usize, usize, f64)]) -> Vec<bool> {
    let mut dropped = vec![false; order.len()];
    let mut is_decided = vec![false; order.len()];
    for &text in order {
        dropped[text] = pairs.iter().any(|&(a, b, _)| {
            let other = if a == text { b } else { a };
            (a == text || b == text) && is_decided[other] && !dropped[other]
        });
        is_decided[text] = true;
    }
    dropped
}

fn options_of(least: f64) -> SimilarOptions {
    SimilarOptions {
        similarity: Similarity::of_words(least, 3).unwrap(),
        ..SimilarOptions::default()
    }
}

/// Memory that holds neither all keys nor all features, slightly above the minimum for 700 texts.
const LITTLE: u64 = 100_000;
const LEAST: u64 = 31_000;
/// Memory that holds all features in addition to everything else that is needed, and texts that are signed together.
const PLENTY: u64 = 1_000_000 + BATCH_LEN as u64 * 16 / 15;

#[test]
fn the_first_texts_are_kept_in_any_case() {
    let texts = texts(700);
    let kept_first = 250;
    let pairs = oracle(&texts, 0.5);
    let is_equal_pair = |text: usize| {
        pairs
            .iter()
            .any(|&(_, b, jaccard)| b == text && jaccard == 1.0)
    };
    let mut is_kept = vec![true; texts.len()];
    for text in kept_first..texts.len() {
        let mut earlier = pairs.iter().filter(|pair| pair.1 == text);
        is_kept[text] = earlier.all(|pair| !is_kept[pair.0]);
    }
    for memory in [None, Some(LEAST)] {
        let mut options = options_of(0.5);
        options.memory = memory;
        let mut candidates = collected(&texts, &options).candidates().unwrap();
        candidates.keep_first(kept_first);
        let found = given(candidates, &texts).dedup(&Watch::default()).unwrap();
        for (text, &is_kept) in is_kept.iter().enumerate() {
            let is_first_equal = text < kept_first && is_equal_pair(text);
            assert_eq!(found.is_kept(text), is_kept && !is_first_equal, "{text}");
        }
    }
}

#[test]
fn pairs_are_those_of_a_comparison_of_all() {
    let texts = texts(700);
    for (least, memory) in [
        (0.8, None),
        (0.8, Some(PLENTY)),
        (0.8, Some(LITTLE)),
        (0.8, Some(LEAST)),
        (0.5, None),
        (0.5, Some(LEAST)),
    ] {
        let mut options = options_of(least);
        options.memory = memory;
        let expected = oracle(&texts, least);
        let candidates = collected(&texts, &options).candidates().unwrap();
        let has_plenty = memory.is_none_or(|memory| memory >= PLENTY);
        assert_eq!(candidates.needs_texts(), !has_plenty);
        let mut candidates = given(candidates, &texts);
        let mut found = Vec::new();
        let visited = candidates.for_each_pair::<simidx::Error>(|pair| {
            found.push((pair.a, pair.b, pair.jaccard));
            Ok(())
        });
        visited.unwrap();
        let count = candidates.count_pairs(&Watch::default());
        assert_eq!(count.unwrap(), found.len() as u64);
        assert!(found.iter().all(|pair| expected.contains(pair)), "{least}");
        assert!(found.is_sorted_by_key(|&(a, b, _)| (b, a)));
        // The search is random, but reproducible: it misses one in 2,000 of the pairs at the least similarity.
        let missed = expected.len() - found.len();
        assert!(
            expected.len() > 400 && missed * 1000 <= expected.len(),
            "{missed} of {}",
            expected.len()
        );
        assert!(candidates.counts().compared_count < 700 * 699 / 4);
    }
}

#[test]
fn what_is_dropped_is_similar_to_what_is_kept() {
    let texts = texts(700);
    let expected = oracle(&texts, 0.8);
    let lengths: Vec<u64> = texts.iter().map(|text| text.len() as u64).collect();
    let mut longest_first: Vec<usize> = (0..texts.len()).collect();
    longest_first.sort_by_key(|&text| std::cmp::Reverse(lengths[text]));
    for memory in [None, Some(LITTLE), Some(LEAST)] {
        let mut options = options_of(0.8);
        options.memory = memory;
        for (order, by_length) in [((0..700).collect(), false), (longest_first.clone(), true)] {
            let collected = collected(&texts, &options);
            let candidates = match by_length {
                true => collected.candidates_by(|text| lengths[text]),
                false => collected.candidates(),
            };
            let found = given(candidates.unwrap(), &texts)
                .dedup(&Watch::default())
                .unwrap();
            let dropped = dropped_in(&order, &expected);
            for (text, &is_dropped) in dropped.iter().enumerate() {
                assert_eq!(!found.is_kept(text), is_dropped, "{text}");
                if let Fate::Dropped { kept, jaccard } = found.fate(text) {
                    let pair = (text.min(kept), text.max(kept), jaccard);
                    assert!(found.is_kept(kept) && expected.contains(&pair), "{pair:?}");
                }
            }
            assert_eq!(
                found.dropped_count(),
                dropped.iter().filter(|&&is| is).count()
            );
        }
    }
}

/// Returns form letters in random order, each of which resembles the one before it and the one after it in a sequence.
fn sliding(count: usize) -> Vec<String> {
    let words = |range: std::ops::Range<usize>| range.map(|i| format!("s{i} ")).collect::<String>();
    let text = |i: usize| {
        let start = 1000 + 2 * (i * 37 % count);
        words(0..75) + &words(start..start + 25)
    };
    (0..count).map(text).collect()
}

#[test]
fn chains_lead_to_clusters() {
    let texts = [texts(400), sliding(150), forms(60)].concat();
    let expected = oracle(&texts, 0.8);
    let mut first: Vec<usize> = (0..texts.len()).collect();
    // The longest possible chain.
    for _ in 0..texts.len() {
        for &(a, b, _) in &expected {
            let least = first[a].min(first[b]);
            (first[a], first[b]) = (least, least);
        }
    }
    for memory in [None, Some(LEAST)] {
        let mut options = options_of(0.8);
        options.memory = memory;
        // The texts of a form are in large groups, for which one of the cases has no memory.
        let candidates = || given(collected(&texts, &options).candidates().unwrap(), &texts);
        let mut chained = candidates();
        assert_eq!(chained.clusters(&Watch::default()).unwrap(), first);
        assert_eq!(chained.clusters(&Watch::default()).unwrap(), first);
        // Earlier searches do not affect later ones.
        let fates = |found: SimilarDedup| {
            let all = 0..texts.len();
            all.map(|text| found.fate(text)).collect::<Vec<_>>()
        };
        assert_eq!(
            fates(chained.dedup(&Watch::default()).unwrap()),
            fates(candidates().dedup(&Watch::default()).unwrap())
        );
        let found = candidates().dedup_by_chains(&Watch::default()).unwrap();
        for (text, &kept) in first.iter().enumerate() {
            match found.fate(text) {
                Fate::Kept => assert_eq!(kept, text),
                Fate::Dropped { kept: other, .. } => assert_eq!(kept, other),
            }
        }
        // Some texts were dropped for one that is not similar.
        let is_far =
            |text| matches!(found.fate(text), Fate::Dropped { jaccard, .. } if jaccard < 0.8);
        assert!((0..texts.len()).any(is_far));
    }
}

#[test]
fn the_first_of_an_order_stands_for_its_cluster() {
    let texts = texts(400);
    let by_number = collected(&texts, &options_of(0.8))
        .candidates()
        .unwrap()
        .clusters(&Watch::default());
    let mut backwards = collected(&texts, &options_of(0.8))
        .candidates_by(|text| text as u64)
        .unwrap();
    let backwards = backwards.clusters(&Watch::default()).unwrap();
    let mut last: Vec<usize> = (0..texts.len()).collect();
    let by_number = by_number.unwrap();
    (0..texts.len()).for_each(|text| last[by_number[text]] = text);
    assert!((0..texts.len()).all(|text| backwards[text] == last[by_number[text]]));
}

#[test]
fn the_outcome_depends_on_neither_threads_nor_memory() {
    let texts: Vec<String> = texts(700).into_iter().chain(forms(300)).collect();
    let dedup = |threads, memory| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut options = options_of(0.8);
        options.memory = memory;
        let work = || {
            let candidates = collected(&texts, &options).candidates().unwrap();
            given(candidates, &texts).dedup(&Watch::default()).unwrap()
        };
        let found = pool.install(work);
        let fates: Vec<_> = (0..texts.len()).map(|text| found.fate(text)).collect();
        (fates, found.templates().to_vec(), found.counts())
    };
    let expected = dedup(1, None);
    for memory in [
        None,
        Some(40_000),
        Some(60_000),
        Some(150_000),
        Some(1_000_000),
        Some(PLENTY),
    ] {
        assert_eq!(dedup(3, memory), expected, "{memory:?}");
    }
}

/// Returns form letters. Three quarters of each are equal in all, and the rest is unique.
fn forms(count: usize) -> Vec<String> {
    let words = |start: usize, count| {
        (start..start + count)
            .map(|i| format!("v{i} "))
            .collect::<String>()
    };
    (0..count)
        .map(|i| words(0, 75) + &words(1000 * (i + 1), 25))
        .collect()
}

#[test]
fn templates_are_texts_that_have_much_in_common() {
    // 300 of one form, 40 of another, 19 of a third, copies of some, and others.
    let shifted = |by: char, count| {
        forms(count)
            .into_iter()
            .map(move |text| text.replace('v', &by.to_string()))
    };
    let mut texts = texts(60);
    texts.extend(forms(300));
    texts.extend(shifted('x', 40));
    texts.extend(shifted('y', 19));
    texts.extend(forms(50));
    let found = collected(&texts, &options_of(0.8))
        .candidates()
        .unwrap()
        .dedup(&Watch::default())
        .unwrap();
    let templates: Vec<_> = found
        .templates()
        .iter()
        .map(|t| (t.count, t.example))
        .collect();
    assert_eq!(templates, [(300, 60), (40, 360)]);
    // In reverse order, the copies are kept instead of their originals.
    let found = collected(&texts, &options_of(0.8))
        .candidates_by(|text| text as u64)
        .unwrap();
    let templates = found.dedup(&Watch::default()).unwrap().templates().to_vec();
    assert_eq!(
        (templates[0].count, templates[0].example),
        (300, texts.len() - 1)
    );
    // At most ten.
    let many: Vec<String> = ('a'..'p').flat_map(|by| shifted(by, 20)).collect();
    let found = collected(&many, &options_of(0.8))
        .candidates()
        .unwrap()
        .dedup(&Watch::default())
        .unwrap();
    assert_eq!(found.templates().len(), 10);
    assert!(
        found
            .templates()
            .iter()
            .all(|template| template.count == 20)
    );
}

#[test]
fn among_many_of_one_form_each_edit_finds_its_own() {
    let forms = forms(200);
    let edited = |form: &String| form.replacen("v3 ", "changed ", 1);
    let texts: Vec<String> = forms
        .iter()
        .cloned()
        .chain(forms.iter().map(edited))
        .collect();
    for memory in [None, Some(20_000), Some(40_000)] {
        let mut options = options_of(0.8);
        options.memory = memory;
        let candidates = collected(&texts, &options).candidates().unwrap();
        let found = given(candidates, &texts).dedup(&Watch::default()).unwrap();
        for i in 0..forms.len() {
            assert_eq!(found.fate(i), Fate::Kept);
            let fate = found.fate(forms.len() + i);
            assert!(
                matches!(fate, Fate::Dropped { kept, .. } if kept == i),
                "{i}: {fate:?}"
            );
        }
    }
}

#[test]
fn no_text_is_lost_where_pieces_end() {
    let blank = " ".repeat(BATCH_LEN / 2);
    let mut texts = vec![String::new(); BATCH_TEXTS + 1];
    texts.extend([&blank; 4].map(String::clone));
    let collected = collected(&texts, &options_of(0.8));
    assert_eq!(collected.text_count(), texts.len());
    let candidates = collected.candidates().unwrap();
    let found = candidates.dedup(&Watch::default()).unwrap();
    assert_eq!(found.dropped_count(), texts.len() - 2);
    assert!(found.is_kept(0) && found.is_kept(BATCH_TEXTS + 1));
}

#[test]
fn equal_texts_are_compared_with_nothing() {
    let form = forms(1).remove(0);
    let texts: Vec<String> = (0..3000)
        .map(|i| {
            if i % 3 == 0 {
                "out of stock".into()
            } else {
                form.clone()
            }
        })
        .collect();
    let mut candidates = collected(&texts, &options_of(0.8)).candidates().unwrap();
    let firsts = candidates.clusters(&Watch::default()).unwrap();
    assert!(
        firsts
            .iter()
            .enumerate()
            .all(|(i, &first)| first == usize::from(i % 3 != 0))
    );
    let found = candidates.dedup(&Watch::default()).unwrap();
    assert_eq!(found.dropped_count(), 2998);
    assert_eq!(
        found.fate(2999),
        Fate::Dropped {
            kept: 1,
            jaccard: 1.0
        }
    );
    assert_eq!(found.counts().compared_count, 0);
}

#[test]
fn texts_without_features_are_similar_to_equal_ones_alone() {
    let texts: Vec<String> = ["👍👍👍", "???", "→ ← ↑", "???", ""]
        .map(String::from)
        .into();
    let found = collected(&texts, &options_of(0.5))
        .candidates()
        .unwrap()
        .dedup(&Watch::default())
        .unwrap();
    let kept: Vec<bool> = (0..5).map(|text| found.is_kept(text)).collect();
    assert_eq!(kept, [true, true, true, false, true]);
}

#[test]
fn too_little_memory_and_missing_texts_are_errors() {
    let texts = texts(300);
    let mut options = options_of(0.8);
    options.memory = Some(1000);
    let error = collected(&texts, &options).candidates().unwrap_err();
    let simidx::Error::Budget {
        needed,
        given: 1000,
        ..
    } = error
    else {
        panic!("{error}");
    };
    // The stated memory is sufficient, and anything less is not.
    options.memory = Some(needed - 1);
    assert!(collected(&texts, &options).candidates().is_err());
    options.memory = Some(needed);
    let candidates = collected(&texts, &options).candidates().unwrap();
    assert!(candidates.needs_texts());
    let error = candidates.dedup(&Watch::default()).unwrap_err();
    assert!(error.to_string().ends_with("was not given"), "{error}");
}

#[test]
fn decisions_and_clusters_say_how_far_they_are_and_stop() {
    let texts = texts(2000);
    let options = SimilarOptions::default();
    let candidates = || given(collected(&texts, &options).candidates().unwrap(), &texts);
    let (watch, seen) = recording(usize::MAX);
    let found = candidates().dedup(&watch).unwrap();
    let plain = candidates().dedup(&Watch::default()).unwrap();
    assert!((0..texts.len()).all(|text| found.fate(text) == plain.fate(text)));
    let (watch, seen_of_clusters) = recording(usize::MAX);
    let clusters = candidates().clusters(&watch).unwrap();
    assert_eq!(clusters, candidates().clusters(&Watch::default()).unwrap());
    for seen in [seen, seen_of_clusters] {
        let seen = seen.lock().unwrap();
        assert!(seen.len() > 1 && seen[0].done == 0 && seen.is_sorted_by_key(|p| p.done));
        assert!(seen.iter().all(|p| p.done < p.total && p.total == 2000));
    }
    for last in [1, 2] {
        let error = candidates().dedup(&recording(last).0).unwrap_err();
        assert!(matches!(error, simidx::Error::Interrupted), "{error}");
        let error = candidates().clusters(&recording(last).0).unwrap_err();
        assert!(matches!(error, simidx::Error::Interrupted), "{error}");
    }
}
