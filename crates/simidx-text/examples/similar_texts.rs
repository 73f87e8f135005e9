//! Similar documents of a file: which to drop, for which, and how similar the two are.
//!
//! `cargo run --release -p simidx-text --example similar_texts -- data/en.jsonl.gz`

use simidx_input::Content;
use simidx_text::Pipeline;
use simidx_text::similar::{Fate, SimilarOptions, SimilarTexts};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file of documents")?;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    let mut reader = simidx_input::open::<u64>(path.as_ref(), None)?;
    while let Some(record) = reader.next_record() {
        let record = record?;
        if let Content::Text(text) = record.content {
            ids.push(record.id.map_or(String::new(), |id| id.to_string()));
            texts.push(text);
        }
    }

    // Without a memory limit the texts are not needed again.
    let mut collected = SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default())?;
    for text in &texts {
        collected.push(text.as_str())?;
    }
    let found = collected.candidates()?.dedup()?;
    for number in 0..texts.len() {
        if let Fate::Dropped { kept, jaccard } = found.fate(number) {
            println!("{}\t{}\t{jaccard:.4}", ids[number], ids[kept]);
        }
    }
    eprintln!(
        "{} of {} dropped",
        found.dropped_count(),
        found.text_count()
    );
    Ok(())
}
