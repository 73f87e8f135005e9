//! Near-duplicate texts against comparing every text with every other one.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simidx::batch::{DedupOptions, Deduplicated, Deduplicator};
use simidx::{Fingerprint, Width};
use simidx_text::Pipeline;
use simidx_text::dedup::{Similarity, TextDedupOptions, TextVerifier, TextVerifierOptions, dedup};

const DISTANCE: u32 = 16;

/// Texts of plain words, many of which are edits of an earlier one, and some without words.
fn texts() -> Vec<String> {
    let mut rng = StdRng::seed_from_u64(16);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for _ in 0..240 {
        let mut word = || format!("w{}", rng.random_range(0..900));
        let fresh: Vec<String> = (0..40).map(|_| word()).collect();
        let mut words = match rng.random_range(0..=texts.len()) {
            n if n < texts.len() && rng.random_bool(0.7) => texts[n].clone(),
            _ => fresh.clone(),
        };
        for edit in fresh.into_iter().take(rng.random_range(0..5)) {
            let at = rng.random_range(0..words.len());
            words[at] = edit;
        }
        texts.push(words);
    }
    let mut texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
    texts.extend(["…", "!", "…", "", ""].map(str::to_owned));
    texts
}

/// All runs of so many words.
fn runs(text: &str, length: usize) -> BTreeSet<Vec<&str>> {
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(length).map(<[&str]>::to_vec).collect()
}

fn has_words(text: &str) -> bool {
    text.contains('w')
}

/// For each text the first one of its cluster.
fn expected(texts: &[String], pipeline: &Pipeline, least: f64, length: usize) -> Vec<usize> {
    let fingerprint = |text: &String| pipeline.fingerprint(text, Width::W64).unwrap();
    let fingerprints: Vec<u128> = texts.iter().map(fingerprint).collect();
    let runs: Vec<BTreeSet<Vec<&str>>> = texts.iter().map(|text| runs(text, length)).collect();
    let is_near = |a: usize, b: usize| {
        if fingerprints[a].distance(fingerprints[b]) > DISTANCE {
            return false;
        }
        let both = runs[a].intersection(&runs[b]).count();
        let either = runs[a].union(&runs[b]).count();
        match has_words(&texts[a]) && has_words(&texts[b]) {
            true => both as f64 / either as f64 >= least,
            false => texts[a] == texts[b],
        }
    };
    firsts(texts.len(), is_near)
}

/// For each of so many the first one of its cluster, by comparing all.
fn firsts(count: usize, is_near: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    for a in 0..count {
        for b in a + 1..count {
            let (x, y) = (first[a].min(first[b]), first[a].max(first[b]));
            if x != y && is_near(a, b) {
                first.iter_mut().filter(|f| **f == y).for_each(|f| *f = x);
            }
        }
    }
    first
}

#[track_caller]
fn check(found: &Deduplicated, first: &[usize]) {
    let kept: Vec<bool> = (0..first.len()).map(|text| found.is_kept(text)).collect();
    let expected: Vec<bool> = first.iter().enumerate().map(|(n, &of)| n == of).collect();
    assert_eq!(kept, expected);
    let clusters: BTreeSet<usize> = first.iter().copied().collect();
    assert_eq!(found.counts().kept, clusters.len() as u64);
    let size = |of: &usize| first.iter().filter(|&first| first == of).count() as u64;
    assert_eq!(
        Some(found.counts().largest),
        clusters.iter().map(size).max()
    );
}

#[test]
fn verified_clusters_are_those_of_all_comparisons() {
    let texts = texts();
    let pipeline = Pipeline::new("short".parse().unwrap()).unwrap();
    let mut counts = BTreeSet::new();
    for (least, length) in [(0.8, 3), (0.5, 2), (0.9, 1)] {
        let first = expected(&texts, &pipeline, least, length);
        let similarity = Similarity::of_words(least, length).unwrap();
        let mut options = TextDedupOptions::default();
        options.search.distance = DISTANCE;
        options.similarity = Some(similarity);
        let mut found = dedup(&texts, &pipeline, &options).unwrap();
        check(&found, &first);
        counts.insert(found.counts().kept);

        // The longest of each, of several the first.
        found.keep_by(|text| texts[text].len() as u64);
        for text in 0..texts.len() {
            let members = (0..texts.len()).filter(|&other| first[other] == first[text]);
            let longest = members.max_by_key(|&n| (texts[n].len(), std::cmp::Reverse(n)));
            assert_eq!(found.is_kept(text), longest == Some(text));
        }

        // Step by step, with all sets in a file.
        let mut options = DedupOptions::default();
        options.distance = DISTANCE;
        let mut documents = Deduplicator::new(Width::W64, &options);
        let fingerprints = pipeline.fingerprints(&texts, Width::W64).unwrap();
        documents.extend_from_slice(&fingerprints).unwrap();
        let mut options = TextVerifierOptions::default();
        options.similarity = similarity;
        options.memory = Some(0);
        let mut verifier = TextVerifier::new(&pipeline, &options).unwrap();
        for (number, text) in texts.iter().enumerate().rev() {
            verifier.push(number, text.as_str()).unwrap();
        }
        check(&documents.finish(Some(&mut verifier)).unwrap(), &first);
    }
    // Neither all nor none are duplicates, and the similarities differ.
    assert!(counts.len() > 1 && counts.iter().all(|&kept| 10 < kept && kept < 240));
}

#[test]
fn without_a_similarity_the_fingerprints_decide() {
    let texts = texts();
    let pipeline = Pipeline::default();
    let mut options = TextDedupOptions::default();
    options.search.distance = DISTANCE;
    let found = dedup(&texts, &pipeline, &options).unwrap();
    let fingerprints = pipeline.fingerprints(&texts, Width::W64).unwrap();
    let fingerprints: Vec<u128> = fingerprints.iter().collect();
    let first = firsts(texts.len(), |a, b| match has_words(&texts[a]) {
        true => has_words(&texts[b]) && fingerprints[a].distance(fingerprints[b]) <= DISTANCE,
        false => texts[a] == texts[b],
    });
    check(&found, &first);
    assert!(found.counts().kept < texts.len() as u64);
    assert_eq!(found.counts().without_fingerprint, 5);
}

#[test]
fn a_fingerprint_is_there_if_a_feature_counts() {
    let pipelines = [
        "web",
        "short",
        "web,fingerprint=simhash,ties=set",
        "web,fingerprint=simhash,weights=log2,select=top:3",
        "news-zh",
    ];
    let texts = [
        "",
        "👍👍",
        "?! …",
        "<p>→</p>",
        "word",
        "汉字 汉字",
        "a b c d",
    ];
    for pipeline in pipelines {
        let pipeline = Pipeline::new(pipeline.parse().unwrap()).unwrap();
        let mut one = pipeline.fingerprinter(Width::W64).unwrap();
        let many = pipeline.parallel(Width::W64).unwrap();
        for (text, found) in texts.into_iter().zip(many.fingerprints_if_any(&texts)) {
            let (fingerprint, count) = one.fingerprint_with_count(text);
            let expected = (count > 0).then_some(fingerprint);
            assert_eq!((one.fingerprint_if_any(text), found), (expected, expected));
            assert_eq!(one.fingerprint(text), fingerprint);
            if count == 0 {
                assert_eq!(fingerprint, pipeline.empty_fingerprint(Width::W64));
            }
        }
        assert!(one.fingerprint_if_any("a b c").is_some());
        assert!(one.fingerprint_if_any("👍").is_none());
    }
}

#[test]
fn without_features_only_bytes_count() {
    let mut fingerprinter = Pipeline::default().fingerprinter(Width::W64).unwrap();
    let texts = ["👍 👍", "👍  👍", "👍 👍"];
    for similarity in ["jaccard:0.1", "jaccard:0.1:3"] {
        let similarity: Similarity = similarity.parse().unwrap();
        let sets = texts.map(|text| similarity.feature_set(&mut fingerprinter, text));
        assert!(similarity.is_met(&sets[0], &sets[2]));
        assert!(!similarity.is_met(&sets[0], &sets[1]));
    }
}
