//! A reopened collection: in lots that can be sealed, in a file without old space, under a new number.

use std::collections::BTreeMap;
use std::path::Path;

use simidx::{Watch, Width};
use simidx_collection::{Collection, Options, Sync};

use crate::files::copy;

fn options() -> Options {
    let mut options = Options::default();
    options.background = false;
    options.sync = Sync::Never;
    options
}

fn value(number: u64) -> u128 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).into()
}

#[track_caller]
fn has(pages: &Collection, records: &BTreeMap<String, u128>) {
    assert_eq!(pages.len(), records.len() as u64);
    for number in 0..1000_u64 {
        let id = number.to_string();
        assert_eq!(pages.get(&id).unwrap(), records.get(&id).copied(), "{id}");
    }
}

fn copy_of(path: &Path, name: &str) -> std::path::PathBuf {
    let copied = path.with_extension(name);
    copy(path, &copied);
    copied
}

#[test]
fn what_is_recovered_is_sealed_in_lots() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    let mut records = BTreeMap::new();
    for number in 0..1000_u64 {
        pages.add(&number.to_string(), value(number)).unwrap();
        records.insert(number.to_string(), value(number));
        // Changes of records in other lots.
        let old = (number / 3).to_string();
        match number % 4 {
            0 => {
                pages.add(&old, value(!number)).unwrap();
                records.insert(old, value(!number));
            }
            1 => {
                pages.delete(&old).unwrap();
                records.remove(&old);
            }
            _ => {}
        }
    }
    pages.sync().unwrap();
    let killed = copy_of(&path, "killed");
    pages.close().unwrap();
    let by_records = |options: &mut Options| options.seal_records = 100;
    let by_bytes = |options: &mut Options| options.seal_bytes = 10_000;
    for (path, limit) in [(&path, by_records as fn(&mut Options)), (&killed, by_bytes)] {
        let mut options = options();
        limit(&mut options);
        let pages = Collection::open(path, options.clone()).unwrap();
        has(&pages, &records);
        // One lot is sealed and the process ends, again and again: what is left to seal becomes less.
        pages.seal(&Watch::default()).unwrap();
        has(&pages, &records);
        let stats = pages.stats();
        assert!((10..20).contains(&stats.seal_count), "{stats:?}");
        assert_eq!(stats.recent_count, 0);
        let killed = copy_of(path, "sealed");
        pages.close().unwrap();
        for path in [path, &killed] {
            let pages = Collection::open(path, options.clone()).unwrap();
            has(&pages, &records);
            pages.merge(&Watch::default()).unwrap();
            has(&pages, &records);
        }
    }
}

#[test]
fn a_start_that_is_killed_while_it_seals_leaves_less_to_seal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..1000_u64 {
        pages.add(&number.to_string(), value(number)).unwrap();
    }
    pages.close().unwrap();
    let mut options = options();
    options.seal_records = 100;
    // The lot after the first cannot be written.
    let pages = Collection::open(&path, options.clone()).unwrap();
    std::fs::create_dir(path.join("segment-0000000002.simidx")).unwrap();
    pages.seal(&Watch::default()).unwrap_err();
    std::fs::remove_dir(path.join("segment-0000000002.simidx")).unwrap();
    let killed = copy_of(&path, "killed");
    drop(pages);
    let pages = Collection::open(&killed, options).unwrap();
    assert_eq!(pages.stats().recent_count, 900);
    assert_eq!(pages.len(), 1000);
}

#[test]
fn the_journal_gives_its_room_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..500_u64 {
        let id = format!("{number} {}", "i".repeat(20_000));
        pages.add(&id, value(number)).unwrap();
    }
    pages.sync().unwrap();
    let full = pages.stats().journal_bytes;
    assert!(full > 9 << 20, "{full}");
    pages.seal(&Watch::default()).unwrap();
    pages.close().unwrap();
    let pages = Collection::open(&path, options()).unwrap();
    let bytes = pages.stats().journal_bytes;
    assert_eq!(
        bytes,
        std::fs::metadata(path.join("journal.redb")).unwrap().len()
    );
    assert!(bytes < 8 << 20, "{bytes}");
    assert_eq!(pages.len(), 500);
}

#[test]
fn an_answer_from_before_a_crash_is_told_from_one_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    pages.add("a", 1_u64).unwrap();
    let before = pages.get_numbered("a").unwrap();
    assert_eq!((before.value, before.change_count), (Some(1), 1));
    // The change was seen, and is not on disk.
    let crashed = copy_of(&path, "crashed");
    let reopened = Collection::open(&crashed, options()).unwrap();
    reopened.add("b", 2_u64).unwrap();
    let after = reopened.get_numbered("a").unwrap();
    assert_eq!((after.value, after.change_count), (None, 1));
    assert_ne!(pages.opening(), reopened.opening());
}
