//! Works on a whole set at once: all pairs within a distance, the clusters that they make, a batch of queries.
//!
//! `cargo run --release --example batch`

use simidx::Set;
use simidx::batch::{ClusterOptions, JoinOptions, PairOptions};
use simidx::{BuildOptions, Fingerprints, IndexBuilder, Width};

fn main() -> simidx::Result<()> {
    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    for i in 0..1000u64 {
        let fingerprint = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        builder.push(fingerprint)?;
        // Every hundredth has a near-duplicate.
        if i % 100 == 0 {
            builder.push(fingerprint ^ 0b101)?;
        }
    }
    let mut file = Vec::new();
    builder.finish(&mut file)?;
    let segments = Set::from_bytes(file)?;

    let mut count = 0;
    segments.pairs(&PairOptions::default(), |_pair| {
        count += 1;
        Ok(())
    })?;
    println!("{count} pairs within distance 3");

    segments.clusters(&ClusterOptions::default(), |cluster| {
        println!(
            "cluster {} has {} fingerprints, radius {}",
            cluster.number,
            cluster.fingerprints.len(),
            cluster.radius
        );
        Ok(())
    })?;

    let mut queries = Fingerprints::new(segments.width());
    for fingerprint in segments.fingerprints(0)?.take(100) {
        queries.push(fingerprint?);
    }
    let mut matches = 0;
    segments.join(&queries, &JoinOptions::default(), |_query, _match| {
        matches += 1;
        Ok(())
    })?;
    println!("{} queries have {matches} matches", queries.len());
    Ok(())
}
