//! Measures the error of sketch estimates: `sketch_error DOCUMENTS.jsonl PAIRS.tsv` compares them with the true
//! similarities of all pairs above a limit, which PAIRS lists as `id_a`, `id_b`, similarity after a header line.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::time::Instant;

use simidx::{BuildOptions, Id, IdKind, Index, IndexBuilder, Set, Width};
use simidx_text::similar::{JaccardEstimate, SketchFeatures, SketchSearch, Sketcher};

/// The similarity threshold of the measurement.
const LEAST: f64 = 0.8;

fn main() -> Result<(), Box<dyn Error>> {
    let [documents, pairs] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: sketch_error DOCUMENTS.jsonl PAIRS.tsv".into());
    };
    let mut number_of = HashMap::new();
    let mut texts = Vec::new();
    for line in fs::read_to_string(documents)?.lines() {
        let document: serde_json::Value = serde_json::from_str(line)?;
        let id = document["id"].as_str().ok_or("a document has no id")?;
        number_of.insert(id.to_owned(), texts.len());
        texts.push(
            document["text"]
                .as_str()
                .ok_or("it has no text")?
                .to_owned(),
        );
    }
    let mut truth = HashMap::new();
    for line in fs::read_to_string(pairs)?.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [a, b] = [0, 1].map(|i| number_of.get(columns[i]).copied());
        let (Some(a), Some(b)) = (a, b) else {
            return Err(format!("{line}: no such document").into());
        };
        truth.insert((a.min(b), a.max(b)), columns[2].parse::<f64>()?);
    }
    println!(
        "{} documents, {} pairs of at least {LEAST}",
        texts.len(),
        truth.len()
    );
    println!("bits  bytes  error  stated  margin  found   recall  precision  bands     ms");
    for bits in [64, 128, 256, 512] {
        let sketcher = Sketcher::new(bits, SketchFeatures::default())?;
        let mut fingerprinter = sketcher.pipeline()?.fingerprinter(Width::W64)?;
        let sketches: Vec<_> = texts
            .iter()
            .map(|text| sketcher.sketch(&mut fingerprinter, text))
            .collect();
        let mut options = BuildOptions::default();
        options.ids = IdKind::Number;
        options.sketches = Some(sketcher.parameters().clone());
        let mut builder = IndexBuilder::new(Width::W64, options)?;
        for (number, (text, sketch)) in (0_u64..).zip(texts.iter().zip(&sketches)) {
            let fingerprint = fingerprinter.fingerprint(text) as u64;
            builder.push_with_sketch(fingerprint, Some(number.into()), sketch.as_u64s())?;
        }
        let mut file = Vec::new();
        let summary = builder.finish(&mut file)?;
        let segments = Set::from(Index::<u64>::from_bytes(file)?);
        let (mut squares, mut stated) = (0.0, 0.0);
        for (&(a, b), similarity) in &truth {
            let estimate = JaccardEstimate::of(&sketches[a], &sketches[b]);
            squares += (estimate.similarity - similarity).powi(2);
            let equal = (1.0 + similarity) / 2.0;
            stated += 4.0 * equal * (1.0 - equal) / f64::from(bits);
        }
        let root_mean = |sum: f64| (sum / truth.len() as f64).sqrt();
        for margin in [0.0, 2.0] {
            let search = SketchSearch::new(&segments, LEAST, margin)?;
            let (mut found, mut right) = (0u64, 0u64);
            let start = Instant::now();
            search.for_each_match::<simidx::Error>(&sketches, |one| {
                let (_, id) = segments.record(one.segment, one.record)?;
                if let Some(Id::Number(other)) = id.as_ref().map(|id| id.as_id())
                    && one.query < other as usize
                {
                    found += 1;
                    right += u64::from(truth.contains_key(&(one.query, other as usize)));
                }
                Ok(())
            })?;
            let banding = search.banding(sketches.len());
            let (bands, each) = (banding.band_count(), banding.band_bits());
            println!(
                "{bits:>4}  {:>5.2}  {:.4}  {:.4}  {margin:>6}  {found:>5}  {:>7.4}  {:>9.4}  {bands:>2} x {each:>2}  {:>4}",
                summary.sketches_len as f64 / summary.record_count as f64,
                root_mean(squares),
                root_mean(stated),
                right as f64 / truth.len() as f64,
                right as f64 / found as f64,
                start.elapsed().as_millis(),
            );
        }
    }
    Ok(())
}
