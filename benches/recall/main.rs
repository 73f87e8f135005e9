//! The number of pairs of texts that fingerprints and bands find, by similarity, compared with the model.
//!
//! Pairs are made with known similarities, and read from the labelled sets in `data`. Everything is drawn from fixed seeds,
//! so that each run gives the same figures.

#[path = "../common/mod.rs"]
mod common;
mod labelled;
mod made;
mod model;

use serde_json::{Value, json};

use common::environment;

/// The share of pairs that was found, and that which the model expects, at one similarity.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// The method that finds the pairs: `minhash`, `simhash` or `bands`.
    pub(crate) method: &'static str,
    /// The texts: `made`, or the name of a labelled set.
    pub(crate) texts: String,
    /// Bits of a fingerprint, or bands.
    pub(crate) width: u32,
    /// The largest distance, or MinHash values of a band.
    pub(crate) k: u32,
    /// The mean similarity of the pairs.
    pub(crate) similarity: f64,
    pub(crate) pairs: usize,
    pub(crate) measured: f64,
    pub(crate) predicted: f64,
}

impl Point {
    /// Returns the difference of the measured share from the predicted one, in standard deviations.
    fn deviations(&self) -> f64 {
        let variance = self.predicted * (1.0 - self.predicted) / self.pairs as f64;
        (self.measured - self.predicted).abs() / variance.sqrt().max(1e-9)
    }

    fn line(&self) -> Value {
        json!({
            "kind": "recall", "method": self.method, "texts": self.texts, "width": self.width, "k": self.k,
            "similarity": self.similarity, "pairs": self.pairs, "measured": self.measured,
            "predicted": self.predicted,
        })
    }
}

fn main() {
    let pairs = environment::variable("PAIRS").unwrap_or(if common::is_test() { 40 } else { 600 });
    let mut points = made::fingerprints(pairs);
    points.extend(made::bands(pairs.min(2000)));
    for name in ["en", "zh"] {
        points.extend(labelled::points(name));
    }
    print(&points);
    if let Some(path) = environment::output("recall.jsonl") {
        let lines: String = points
            .iter()
            .map(|point| format!("{}\n", point.line()))
            .collect();
        std::fs::write(&path, lines).expect("the output can be written");
    }
}

/// A line for each setting of made texts: measured and predicted at some similarities, and the largest difference of all.
fn print(points: &[Point]) {
    let same = |a: &Point, b: &Point| {
        (a.method, &a.texts, a.width, a.k) == (b.method, &b.texts, b.width, b.k)
    };
    for of_one in points.chunk_by(same) {
        let Point {
            method,
            texts,
            width,
            k,
            ..
        } = &of_one[0];
        let cell = |point: &Point| {
            format!(
                "{:.2}: {:.4}/{:.4}",
                point.similarity, point.measured, point.predicted
            )
        };
        let cells: Vec<String> = of_one.iter().map(cell).collect();
        println!("{method} {texts} {width} {k}  {}", cells.join("  "));
    }
    for method in ["minhash", "simhash", "bands"] {
        let made = || {
            points
                .iter()
                .filter(|p| p.method == method && p.texts == "made")
        };
        let largest = made()
            .map(|p| (p.measured - p.predicted).abs())
            .fold(0.0, f64::max);
        let mean = made().map(|p| p.measured - p.predicted).sum::<f64>() / made().count() as f64;
        let far = made().filter(|p| p.deviations() > 3.0 && p.predicted * p.pairs as f64 > 5.0);
        println!(
            "{method}: {} points of made texts, largest difference {largest:.4}, mean difference {mean:+.5}, \
             beyond three standard deviations {}",
            made().count(),
            far.count()
        );
    }
}
