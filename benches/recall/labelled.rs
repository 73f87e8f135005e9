//! The pairs of the labelled sets in `data`: all of a Jaccard similarity of 0.8 or more of their runs of three words.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use simidx::Width;
use simidx_input::Content;
use simidx_text::Pipeline;
use simidx_text::compare::FeatureSet;
use simidx_text::similar::{Banding, SimilarOptions, SimilarTexts};

use crate::made::pipeline;
use crate::{Point, model};

/// Ranges of the similarity.
const STEPS: [f64; 5] = [0.8, 0.85, 0.9, 0.95, 1.0];

/// Distances that are shown.
const DISTANCES: [u32; 4] = [3, 6, 9, 12];

/// Two texts by their numbers, and their similarity by runs of three words.
struct Pair {
    numbers: [usize; 2],
    jaccard: f64,
}

/// Recall by similarity of fingerprints of 64 bits and of the bands for 0.8.
pub(crate) fn points(name: &str) -> Vec<Point> {
    let (ids, texts) = texts(name);
    let pairs = pairs(name, &ids, &texts);
    let mut points = minhash(name, &texts, &pairs);
    points.extend(bands(name, &texts, &pairs));
    points
}

fn path(name: &str) -> String {
    format!("{}/../data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn texts(name: &str) -> (HashMap<String, usize>, Vec<String>) {
    let path = path(&format!("{name}.jsonl.gz"));
    let reader = simidx_input::open(path.as_ref(), None).expect("the set is there");
    let (mut ids, mut texts) = (HashMap::new(), Vec::new());
    for record in reader {
        let record = record.expect("the set is sound");
        if let (Content::Text(text), Some(id)) = (record.content, record.id) {
            ids.insert(id.to_string(), texts.len());
            texts.push(text);
        }
    }
    (ids, texts)
}

fn pairs(name: &str, ids: &HashMap<String, usize>, texts: &[String]) -> Vec<Pair> {
    let file =
        std::fs::File::open(path(&format!("{name}.j80.tsv.gz"))).expect("the pairs are there");
    let mut lines = String::new();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_string(&mut lines)
        .expect("the pairs are sound");
    let pair = |line: &str| {
        let mut columns = line.split('\t').map(|id| ids[id]);
        let numbers = [columns.next(), columns.next()].map(|number| number.expect("two ids"));
        let [a, b] = numbers.map(|number| FeatureSet::of_shingles(&texts[number], 3));
        Pair {
            numbers,
            jaccard: a.jaccard(&b),
        }
    };
    let lines = lines.lines().skip(1).map(|line| {
        let end = line.rfind('\t').expect("three columns");
        pair(&line[..end])
    });
    lines.filter(|pair| pair.jaccard >= STEPS[0]).collect()
}

/// One point for each range of similarities that has pairs; `found` says whether a pair was, and what the model expects.
fn by_step(
    (method, name, width, k): (&'static str, &str, u32, u32),
    pairs: &[(f64, bool, f64)],
) -> Vec<Point> {
    let next = |step: f64| {
        STEPS
            .into_iter()
            .find(|&next| next > step)
            .unwrap_or(f64::MAX)
    };
    let point = |step: f64| {
        let within: Vec<_> = pairs
            .iter()
            .filter(|(j, ..)| (step..next(step)).contains(j))
            .collect();
        let count = within.len();
        (count > 0).then(|| Point {
            method,
            texts: name.into(),
            width,
            k,
            similarity: within.iter().map(|(j, ..)| j).sum::<f64>() / count as f64,
            pairs: count,
            measured: within.iter().filter(|(_, found, _)| *found).count() as f64 / count as f64,
            predicted: within.iter().map(|(.., predicted)| predicted).sum::<f64>() / count as f64,
        })
    };
    STEPS.into_iter().filter_map(point).collect()
}

/// The fingerprints of runs of three words. Their own features count, which are not quite those of the labels.
fn minhash(name: &str, texts: &[String], pairs: &[Pair]) -> Vec<Point> {
    let mut fingerprinter = pipeline("web,shingle=3")
        .fingerprinter(Width::W64)
        .expect("64 bits");
    let mut measure = |pair: &Pair| {
        let sets = pair
            .numbers
            .map(|number| fingerprinter.feature_set(&texts[number]));
        let [a, b] = pair
            .numbers
            .map(|number| fingerprinter.fingerprint(&texts[number]));
        (sets[0].jaccard(&sets[1]), (a ^ b).count_ones())
    };
    let measured: Vec<(f64, u32)> = pairs.iter().map(&mut measure).collect();
    let at = |k: u32| {
        let pairs: Vec<_> = measured
            .iter()
            .map(|&(jaccard, distance)| {
                (
                    jaccard,
                    distance <= k,
                    model::within(64, model::minhash_bit(jaccard), k),
                )
            })
            .collect();
        by_step(("minhash", name, 64, k), &pairs)
    };
    DISTANCES.into_iter().flat_map(at).collect()
}

fn bands(name: &str, texts: &[String], pairs: &[Pair]) -> Vec<Point> {
    let options = SimilarOptions::default();
    let mut collected = SimilarTexts::new(&Pipeline::default(), &options).expect("a pipeline");
    collected.push_all(texts).expect("memory");
    let mut found = HashSet::new();
    let mut candidates = collected.candidates().expect("memory");
    let visited = candidates.for_each_pair::<simidx::Error>(|pair| {
        found.insert([pair.a, pair.b]);
        Ok(())
    });
    visited.expect("memory");
    let banding = Banding::for_similarity(STEPS[0]);
    let pairs: Vec<_> = pairs
        .iter()
        .map(|pair| {
            let [a, b] = pair.numbers;
            let is_found = found.contains(&[a.min(b), a.max(b)]);
            (pair.jaccard, is_found, banding.recall(pair.jaccard))
        })
        .collect();
    let (bands, rows) = (banding.band_count() as u32, banding.row_count() as u32);
    by_step(("bands", name, bands, rows), &pairs)
}
