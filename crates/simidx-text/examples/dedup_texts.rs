//! Near-duplicate documents of a file: fingerprints find the candidates, and their texts decide.
//!
//! `cargo run --release -p simidx-text --example dedup_texts -- data/en.jsonl.gz`

use simidx::Width;
use simidx::batch::{Decision, DedupOptions, Deduplicator};
use simidx_input::Content;
use simidx_text::Pipeline;
use simidx_text::dedup::{TextVerifier, TextVerifierOptions, push_document};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file of documents")?;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    for record in simidx_input::open(path.as_ref(), None)? {
        let record = record?;
        if let Content::Text(text) = record.content {
            ids.push(record.id.map_or(String::new(), |id| id.to_string()));
            texts.push(text);
        }
    }

    let pipeline = Pipeline::default();
    let mut options = DedupOptions::default();
    options.distance = 6;
    let mut documents = Deduplicator::new(Width::W64, &options);
    let fingerprints = pipeline.parallel(Width::W64)?.fingerprints_if_any(&texts);
    for (fingerprint, text) in fingerprints.into_iter().zip(&texts) {
        push_document(&mut documents, fingerprint, text)?;
    }

    let mut options = TextVerifierOptions::default();
    options.similarity = "jaccard:0.8:3".parse()?;
    let mut verifier = TextVerifier::new(&pipeline, &options)?;
    for (number, is_candidate) in documents.candidates()?.into_iter().enumerate() {
        if is_candidate {
            verifier.push(number, texts[number].as_str())?;
        }
    }
    let mut found = documents.finish(Some(&mut verifier))?;
    found.keep_by(|number| texts[number].len() as u64);

    for number in 0..texts.len() {
        if let Decision::Duplicate { of, distance } = found.decision(number) {
            let similarity = verifier.jaccard(of, number)?;
            println!("{}\t{}\t{distance}\t{similarity:.4}", ids[number], ids[of]);
        }
    }
    let counts = found.counts();
    eprintln!("{} of {} documents are kept", counts.kept, counts.documents);
    Ok(())
}
