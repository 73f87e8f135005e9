//! The preset of another package against fingerprints that the package made.

use simidx::Fingerprint;
use simidx_text::{Pipeline, PipelineOptions};

/// Made by `tools/text_dedup_vectors.py`.
const TEXT_DEDUP: &str = include_str!("text_dedup.jsonl");

fn hex<F: Fingerprint>(spec: &str, text: &str) -> String {
    let options: PipelineOptions = spec.parse().unwrap();
    let fingerprint: F = Pipeline::new(options).unwrap().fingerprint(text).unwrap();
    let digits = F::WIDTH as usize / 4;
    format!("{:0digits$x}", fingerprint.to_u128())
}

#[test]
fn text_dedup_gives_the_same_fingerprints() {
    let mut count = 0;
    for line in TEXT_DEDUP.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str, default: u64| line[name].as_u64().unwrap_or(default);
        let mut spec = format!(
            "compat-text-dedup,segment=word-runs:{},shingle={},seed={}",
            number("min_length", 5),
            number("ngram_size", 3),
            number("seed", 42)
        );
        let text = line["text"].as_str().unwrap();
        let found = match number("f", 64) {
            32 => hex::<u32>(&spec, text),
            64 => hex::<u64>(&spec, text),
            _ => {
                spec.push_str(",hash=xxh3-128");
                hex::<u128>(&spec, text)
            }
        };
        assert_eq!(found, line["fingerprint"].as_str().unwrap(), "{line}");
        count += 1;
    }
    assert!(count > 100);
}
