//! Deduplicates documents by their fingerprints: keeps one of each cluster, and reports what was dropped for what.
//!
//! `cargo run --release --example dedup`
//!
//! The fingerprints are given here. The crate `simidx-text` computes them from texts, and its own example checks the texts
//! of near-duplicates as well.

use simidx::batch::{Decision, DedupOptions, Deduplicator};
use simidx::{BuildOptions, Index, IndexBuilder, Set, Width};

fn main() -> simidx::Result<()> {
    let documents = [
        ("news/1", 0x00ff_00ff_00ff_00ff_u64),
        ("news/2", 0x1234_5678_9abc_def0),
        ("mirror/1", 0x00ff_00ff_00ff_00fe),
        ("news/1?print", 0x00ff_00ff_00ff_00ff),
        ("archive/7", 0x8888_7777_6666_5555),
    ];
    // Documents kept earlier, which must not be added again.
    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    builder.push(0x8888_7777_6666_5554_u64)?;
    let mut file = Vec::new();
    builder.finish(&mut file)?;
    let kept_before = Set::from(Index::<u64>::from_bytes(file)?);

    let mut deduplicator = Deduplicator::new(Width::W64, &DedupOptions::default());
    for (_, fingerprint) in documents {
        deduplicator.push(fingerprint)?;
    }
    deduplicator.exclude(&kept_before)?;
    let mut found = deduplicator.finish()?;
    // Of each cluster the document with the shortest name.
    found.keep_by(|document| u64::MAX - documents[document].0.len() as u64);

    for (number, (name, _)) in documents.iter().enumerate() {
        match found.decision(number) {
            Decision::Kept => println!("{name}: kept"),
            Decision::Duplicate { of, distance } => {
                println!(
                    "{name}: duplicate of {} at distance {distance}",
                    documents[of].0
                );
            }
            Decision::Excluded {
                fingerprint,
                distance,
            } => {
                println!("{name}: near {fingerprint:016x} of the index, at distance {distance}");
            }
        }
    }
    let counts = found.counts();
    println!("{counts:?}");
    Ok(())
}
