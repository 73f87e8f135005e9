//! Serves queries from several threads while the index is replaced: each thread keeps its scratch, no query waits.
//!
//! `cargo run --release --example hot_swap`

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;

use simidx::index::WarmOptions;
use simidx::{BuildOptions, Index, IndexBuilder, Scratch, Width};

const THREADS: usize = 2;
const GENERATIONS: u64 = 5;

/// The fingerprints of one generation; each has more than the one before.
fn fingerprints(generation: u64) -> impl Iterator<Item = u64> {
    (0..100_000 * generation).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Builds the next generation next to the old file and opens it. Threads that still search the old one keep it.
fn next_generation(path: &Path, generation: u64) -> simidx::Result<Arc<Index<u64>>> {
    let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    for fingerprint in fingerprints(generation) {
        builder.push(fingerprint)?;
    }
    builder.finish_to_path(path)?;
    let index = Index::open(path)?;
    // Reads and checks every block once, so that the first queries are as fast as the later ones.
    index.warm(&WarmOptions::default().threads(THREADS))?;
    Ok(Arc::new(index))
}

fn main() -> simidx::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pages.simidx");
    let current = RwLock::new(next_generation(&path, 1)?);
    let (done, answered) = (AtomicBool::new(false), AtomicU64::new(0));

    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // A scratch is not tied to an index: the same one serves every generation.
                let mut scratch = Scratch::new();
                while !done.load(Ordering::Relaxed) {
                    let index = Arc::clone(&current.read().expect("no thread panics"));
                    for query in fingerprints(1).take(1000) {
                        let found = index.query_with(&mut scratch, query ^ 1, 3);
                        assert!(!found.expect("the file is sound").is_empty());
                    }
                    answered.fetch_add(1000, Ordering::Relaxed);
                }
            });
        }
        let swapped: simidx::Result<()> = (2..=GENERATIONS).try_for_each(|generation| {
            let index = next_generation(&path, generation)?;
            println!("generation {generation}: {} fingerprints", index.len());
            *current.write().expect("no thread panics") = index;
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        swapped
    })?;
    println!("{} queries answered meanwhile", answered.into_inner());
    Ok(())
}
