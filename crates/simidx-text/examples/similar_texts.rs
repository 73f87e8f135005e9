//! Lists the near-duplicates in a file: each dropped document with the kept one and their similarity.
//!
//! `cargo run --release -p simidx-text --example similar_texts -- data/en.jsonl.gz`
//!
//! A number after the file limits the memory, in mebibytes; the file is then read twice. In a `.txt` file, each line is
//! a document.

use simidx::Watch;
use simidx_input::{Content, Format};
use simidx_text::Pipeline;
use simidx_text::similar::{Fate, SimilarOptions, SimilarTexts};

type Failure = Box<dyn std::error::Error>;

/// Number of texts that are added together, which makes use of all threads.
const TOGETHER: usize = 1000;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a file of documents")?;
    let mut options = SimilarOptions::default();
    if let Some(mebibytes) = arguments.next() {
        options.memory = Some(mebibytes.parse::<u64>()? << 20);
    }

    let mut collected = SimilarTexts::new(&Pipeline::default(), &options)?;
    let mut waiting = Vec::new();
    for_each_text(&path, |_, text| {
        waiting.push(text);
        if waiting.len() == TOGETHER {
            collected.push_all(&waiting)?;
            waiting.clear();
        }
        Ok(())
    })?;
    collected.push_all(&waiting)?;
    let mut candidates = collected.candidates()?;
    // Without a memory limit, the texts are not needed again.
    if candidates.needs_texts() {
        for_each_text(&path, |number, text| {
            if candidates.needs_text(number) {
                candidates.give(number, text)?;
            }
            Ok(())
        })?;
    }
    let found = candidates.dedup(&Watch::default())?;

    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for number in 0..found.text_count() {
        if let Fate::Dropped { kept, jaccard } = found.fate(number) {
            std::io::Write::write_fmt(&mut out, format_args!("{number}\t{kept}\t{jaccard:.4}\n"))?;
        }
    }
    for template in found.templates() {
        let (count, example) = (template.count, template.example);
        eprintln!("{count} documents share one template, such as {example}");
    }
    let (dropped, all) = (found.dropped_count(), found.text_count());
    eprintln!("{dropped} of {all} dropped; {:?}", found.counts());
    Ok(())
}

/// Calls `visit` with the number and the text of each document.
fn for_each_text(
    path: &str,
    mut visit: impl FnMut(usize, String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let format = path.ends_with(".txt").then_some(Format::Lines);
    let mut number = 0;
    for record in simidx_input::open(path.as_ref(), format)? {
        if let Content::Text(text) = record?.content {
            visit(number, text)?;
            number += 1;
        }
    }
    Ok(())
}
