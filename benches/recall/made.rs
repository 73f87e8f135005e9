//! Pairs of texts that are made with a known similarity.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use simidx::{Fingerprint, Width};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Banding, SimilarOptions, SimilarTexts};
use simidx_text::{Feature, Pipeline};

use crate::{Point, model};

/// Distinct words of the two texts of a pair together.
const WORDS: u32 = 400;

/// Similarities in steps of 0.05.
fn steps() -> impl Iterator<Item = f64> {
    (10..=20).map(|step| f64::from(step) / 20.0)
}

/// Words that no other pair has, each once.
fn words(random: &mut SmallRng, count: u32) -> Vec<String> {
    (0..count)
        .map(|_| format!("w{:x}", random.random::<u64>()))
        .collect()
}

/// Two texts that have this share of all their words in common.
fn pair(random: &mut SmallRng, jaccard: f64) -> [String; 2] {
    let words = words(random, WORDS);
    let common = (f64::from(WORDS) * jaccard).round() as usize;
    let middle = common + (words.len() - common) / 2;
    let own = [&words[common..middle], &words[middle..]];
    own.map(|own| [&words[..common], own].concat().join(" "))
}

/// Two texts of equally many words of which this share is common; a word occurs one to four times. The cosine of their
/// weighted features is near to the share.
fn weighted_pair(random: &mut SmallRng, share: f64) -> [String; 2] {
    let words: Vec<String> = words(random, WORDS);
    let words: Vec<String> = words
        .iter()
        .map(|word| vec![word.as_str(); random.random_range(1..=4)].join(" "))
        .collect();
    // Of u words, of which a share of each half is common.
    let each = f64::from(WORDS) / (2.0 - share);
    let common = (each * share).round() as usize;
    let middle = common + (words.len() - common) / 2;
    let own = [&words[common..middle], &words[middle..]];
    own.map(|own| [&words[..common], own].concat().join(" "))
}

/// The cosine of the angle between the weights of two texts.
fn cosine(a: &[Feature], b: &[Feature]) -> f64 {
    let of_b: std::collections::HashMap<u128, f64> = b.iter().map(|f| (f.hash, f.weight)).collect();
    let product: f64 = a
        .iter()
        .map(|f| f.weight * of_b.get(&f.hash).unwrap_or(&0.0))
        .sum();
    let length = |features: &[Feature]| {
        features
            .iter()
            .map(|f| f.weight.powi(2))
            .sum::<f64>()
            .sqrt()
    };
    product / (length(a) * length(b))
}

/// One-bit MinHash of 32, 64 and 128 bits, and simhash of 64, at all distances up to a quarter of the bits.
pub(crate) fn fingerprints(pairs: usize) -> Vec<Point> {
    let mut points = minhash(Width::W32, pairs);
    points.extend(minhash(Width::W64, pairs));
    points.extend(minhash(Width::W128, pairs));
    points.extend(simhash(pairs));
    points
}

fn minhash(width: Width, pairs: usize) -> Vec<Point> {
    let mut fingerprinter = pipeline("web,shingle=1")
        .fingerprinter(width)
        .expect("a width");
    let mut columns = Vec::new();
    for jaccard in steps() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut distance = || {
            let texts = pair(&mut random, jaccard);
            let sets = [0, 1].map(|i| fingerprinter.feature_set(&texts[i]));
            assert!(
                (sets[0].jaccard(&sets[1]) - jaccard).abs() < 1e-9,
                "as it was made"
            );
            let [a, b] = [0, 1].map(|i| fingerprinter.fingerprint(&texts[i]));
            (a.distance(b), model::minhash_bit(jaccard))
        };
        columns.push((jaccard, (0..pairs).map(|_| distance()).collect()));
    }
    by_distance("minhash", width.bits(), &columns)
}

fn simhash(pairs: usize) -> Vec<Point> {
    let pipeline = pipeline("web,shingle=1,fingerprint=simhash,weights=count");
    let mut fingerprinter = pipeline.fingerprinter(Width::W64).expect("64 bits");
    let mut columns = Vec::new();
    for share in steps() {
        let mut random = SmallRng::seed_from_u64(2);
        let (mut distances, mut sum) = (Vec::new(), 0.0);
        for _ in 0..pairs {
            let texts = weighted_pair(&mut random, share);
            let features = [0, 1].map(|i| fingerprinter.features(&texts[i]));
            let cosine = cosine(&features[0], &features[1]);
            let [a, b] = [0, 1].map(|i| fingerprinter.fingerprint(&texts[i]));
            distances.push((a.distance(b), model::simhash_bit(cosine)));
            sum += cosine;
        }
        columns.push((sum / pairs as f64, distances));
    }
    by_distance("simhash", 64, &columns)
}

/// For each distance the share of pairs within it, by similarity. A pair has its distance, and the probability with which
/// a bit of it differs.
fn by_distance(method: &'static str, width: u32, columns: &[(f64, Vec<(u32, f64)>)]) -> Vec<Point> {
    let point = |k: u32, similarity: f64, pairs: &[(u32, f64)]| Point {
        method,
        texts: "made".into(),
        width,
        k,
        similarity,
        pairs: pairs.len(),
        measured: pairs.iter().filter(|(distance, _)| *distance <= k).count() as f64
            / pairs.len() as f64,
        predicted: pairs
            .iter()
            .map(|&(_, bit)| model::within(width, bit, k))
            .sum::<f64>()
            / pairs.len() as f64,
    };
    let all = (0..=width / 4).flat_map(|k| columns.iter().map(move |column| (k, column)));
    all.map(|(k, (similarity, pairs))| point(k, *similarity, pairs))
        .collect()
}

/// The bands of several least similarities, for the pairs at and above them.
pub(crate) fn bands(pairs: usize) -> Vec<Point> {
    let least = [0.5, 0.6, 0.7, 0.8, 0.9];
    least
        .into_iter()
        .flat_map(|least| bands_of(least, pairs))
        .collect()
}

fn bands_of(least: f64, pairs: usize) -> Vec<Point> {
    let mut options = SimilarOptions::default();
    options.similarity = Similarity::of_words(least, 1).expect("a similarity");
    let banding = Banding::for_similarity(least);
    let mut random = SmallRng::seed_from_u64(3);
    let found_at = |jaccard: f64| {
        let mut texts = SimilarTexts::new(&Pipeline::default(), &options).expect("a pipeline");
        let all = (0..pairs).flat_map(|_| pair(&mut random, jaccard));
        texts.push_all(&all.collect::<Vec<_>>()).expect("memory");
        let mut count = 0;
        let mut candidates = texts.candidates().expect("memory");
        let visited = candidates.for_each_pair::<simidx::Error>(|_| {
            count += 1;
            Ok(())
        });
        visited.expect("memory");
        Point {
            method: "bands",
            texts: "made".into(),
            width: banding.band_count() as u32,
            k: banding.row_count() as u32,
            similarity: jaccard,
            pairs,
            measured: f64::from(count) / pairs as f64,
            predicted: banding.recall(jaccard),
        }
    };
    steps()
        .filter(|&jaccard| jaccard >= least - 1e-9)
        .map(found_at)
        .collect()
}

pub(crate) fn pipeline(spec: &str) -> Pipeline {
    Pipeline::new(spec.parse().expect("a pipeline")).expect("stages that fit together")
}
