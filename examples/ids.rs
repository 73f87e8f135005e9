//! Stores the ids of documents with their fingerprints and reads them from the matches of a query.
//!
//! `cargo run --release --example ids`

use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Scratch, Width};

fn main() -> simidx::Result<()> {
    let mut options = BuildOptions::default();
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, options)?;
    builder.push_with_id(0x1234_5678_9abc_def0_u64, "https://example.org/a")?;
    // The same fingerprint, with both documents as its ids.
    builder.push_with_id(0x1234_5678_9abc_def0_u64, "https://example.org/a?page=1")?;
    builder.push_with_id(0x1234_5678_9abc_def1_u64, "https://example.org/b")?;
    let mut file = Vec::new();
    builder.finish(&mut file)?;

    let index = Index::<u64>::from_bytes(file)?;
    // The scratch keeps its memory, so that later queries allocate nothing.
    let mut scratch = Scratch::new();
    for query in [0x1234_5678_9abc_def0, 0x1234_5678_9abc_fef1] {
        for found in index.query_with(&mut scratch, query, 3)? {
            for id in index.ids(found)? {
                println!("{query:016x}: {} at distance {}", id?, found.distance);
            }
        }
    }
    Ok(())
}
