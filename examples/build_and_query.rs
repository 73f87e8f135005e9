//! Builds an index of fingerprints in a file, maps it and finds what is near a query.
//!
//! `cargo run --release --example build_and_query`

use simidx::{BuildOptions, Index, IndexBuilder, Width};

fn main() -> simidx::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pages.simidx");

    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    // A million fingerprints that look random: steps of an odd constant.
    for i in 0..1_000_000u64 {
        builder.push(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
    }
    let summary = builder.finish_to_path(&path)?;
    println!(
        "{} fingerprints in {} tables and {} bytes",
        summary.fingerprint_count,
        summary.tables.len(),
        summary.file_len
    );

    let index = Index::<u64>::open(&path)?;
    // Two bits away from one that is there.
    let query = 123_456u64.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0b1001;
    for found in index.query(query, 3)? {
        println!("{:016x} at distance {}", found.fingerprint, found.distance);
    }
    Ok(())
}
