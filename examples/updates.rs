//! A service whose index changes all day: a base that stays open, a small index of what is new or has changed, and a list of what
//! is deleted. Each night one merge makes a new base of them.
//!
//! `cargo run --release --example updates`

use std::path::Path;
use std::sync::Arc;

use simidx::merge::MergeOptions;
use simidx::set::Exclusions;
use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Set, Width};

/// A document as the service knows it: its name and its fingerprint.
type Document<'d> = (&'d str, u64);

/// Writes an index of some documents and opens it.
fn index(path: &Path, documents: &[Document<'_>]) -> simidx::Result<Arc<Index<u64>>> {
    let mut options = BuildOptions::default();
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(Width::W64, options)?;
    for &(name, fingerprint) in documents {
        builder.push_with_id(fingerprint, name)?;
    }
    builder.finish_to_path(path)?;
    Ok(Arc::new(Index::open(path)?))
}

/// A list of names.
fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> simidx::Result<Exclusions> {
    let mut exclusions = Exclusions::default();
    names
        .into_iter()
        .try_for_each(|name| exclusions.add_string(name))?;
    Ok(exclusions)
}

/// The names of all documents near a fingerprint.
fn near(set: &Set, fingerprint: u64) -> simidx::Result<Vec<String>> {
    let mut near = Vec::new();
    for found in set.query(fingerprint, 3)? {
        for id in found.ids()? {
            near.push(id?.to_string());
        }
    }
    Ok(near)
}

fn main() -> simidx::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let base = index(
        &path("base.simidx"),
        &[
            ("home", 0xff00),
            ("news", 0xff01),
            ("about", 0xff03),
            ("help", 1 << 60),
        ],
    )?;
    let mut live = Set::from(Arc::clone(&base));
    println!("at first: {:?}", near(&live, 0xff00)?);

    // Each hour what is new so far: the base stays open, and the blocks of it that have been checked stay so.
    let hours: [&[Document<'_>]; 2] = [
        &[("news", 0xffff_0000)],
        &[("news", 0xffff_0001), ("shop", 0xff00)],
    ];
    for documents in hours {
        let delta = index(&path("delta.simidx"), documents)?;
        // The base still has the old versions of these.
        let replaced = names(documents.iter().map(|&(name, _)| name))?;
        live = Set::new([Arc::clone(&base), delta])?.without_from(0, &replaced)?;
        println!(
            "with {} changes: {:?}",
            documents.len(),
            near(&live, 0xff00)?
        );
    }

    // Deletions take effect at once.
    live = live.without(&names(["home"])?)?;
    println!("without home: {:?}", near(&live, 0xff00)?);

    // At night: the last version of each document, without the deleted ones. Records excluded from segments stay
    // excluded.
    let mut options = MergeOptions::default();
    options.newest_wins = true;
    let merged = live.merge_to_path(&options, path("base.simidx"))?;
    let dropped = merged.dropped_record_count;
    println!(
        "{} records, {dropped} left out",
        merged.summary.record_count
    );
    let base = Set::map_file(path("base.simidx"))?;
    assert_eq!(near(&base, 0xff00)?, near(&live, 0xff00)?);
    Ok(())
}
