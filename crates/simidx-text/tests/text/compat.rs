//! The preset for text-dedup against fingerprints that the package computed.

use simidx::Width;
use simidx_text::{Pipeline, PipelineOptions};

/// Made by `tools/text_dedup_vectors.py`.
const TEXT_DEDUP: &str = include_str!("text_dedup.jsonl");

fn hex(spec: &str, text: &str, width: Width) -> String {
    let options: PipelineOptions = spec.parse().unwrap();
    let pipeline = Pipeline::new(options).unwrap();
    width.to_hex(pipeline.fingerprint(text, width).unwrap())
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
            32 => hex(&spec, text, Width::W32),
            64 => hex(&spec, text, Width::W64),
            _ => {
                spec.push_str(",hash=xxh3-128");
                hex(&spec, text, Width::W128)
            }
        };
        assert_eq!(found, line["fingerprint"].as_str().unwrap(), "{line}");
        count += 1;
    }
    assert!(count > 100);
}
