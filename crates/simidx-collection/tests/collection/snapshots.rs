//! Copies of open collections: the acknowledged changes of a moment.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use simidx::{Watch, Width};
use simidx_collection::{Collection, Options, Sync};
use simidx_testkit::thorough;

fn options() -> Options {
    let mut options = Options::default();
    options.seal_records = 100;
    options
}

fn value(number: u64) -> u128 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).into()
}

/// The number of changes of a copy, which are the first ones: number n adds the id n, and each fifth deletes the one before it.
fn check(path: &Path) -> u64 {
    let copy = Collection::open(path, options()).unwrap();
    let (count, mut live) = (copy.change_count(), 0);
    for number in 1..=count + 5 {
        let is_there = number <= count && number % 5 != 0 && (number % 5 != 4 || number == count);
        let found = copy.get(&number.to_string()).unwrap();
        assert_eq!(
            found,
            is_there.then(|| value(number)),
            "{number} of {count}"
        );
        live += u64::from(is_there);
    }
    assert_eq!(copy.len(), live);
    // The copy accepts changes, and the original does not see them.
    copy.add("further", 7_u64).unwrap();
    copy.close().unwrap();
    count
}

#[test]
fn a_copy_has_the_changes_of_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    for sync in [Sync::Always, Sync::Never] {
        let mut options = options();
        options.sync = sync;
        let pages = Collection::create(&path, Width::W64, options).unwrap();
        let (acknowledged, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        let add = || {
            for number in 1.. {
                if number % 5 == 0 {
                    assert!(pages.delete(&(number - 1).to_string()).unwrap());
                } else {
                    pages.add(&number.to_string(), value(number)).unwrap();
                }
                acknowledged.store(number, Ordering::SeqCst);
                if ends.load(Ordering::Relaxed) {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(add);
            let mut last = 0;
            for number in 0..8 {
                while acknowledged.load(Ordering::SeqCst) < last + 150 {
                    std::thread::yield_now();
                }
                let copy = folder.path().join(format!("copies/{number}"));
                let before = acknowledged.load(Ordering::SeqCst);
                last = pages.snapshot(&copy, &Watch::default()).unwrap();
                assert!(before <= last, "{before} {last}");
                assert_eq!(check(&copy), last);
            }
            ends.store(true, Ordering::Relaxed);
        });
        assert!(pages.stats().seal_count > 0);
        pages.close().unwrap();
        fs::remove_dir_all(folder.path().join("copies")).unwrap();
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_folder_that_is_there_gets_no_copy_and_half_a_copy_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    pages.add("a", 1_u64).unwrap();
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    pages.snapshot(&copy, &Watch::default()).unwrap_err();
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 0);
    fs::remove_dir(&copy).unwrap();
    assert_eq!(pages.snapshot(&copy, &Watch::default()).unwrap(), 1);
    fs::remove_file(copy.join("manifest.simidx-set")).unwrap();
    Collection::open(&copy, options()).unwrap_err();
    Collection::open_or_create(&copy, Width::W64, options()).unwrap_err();
}

#[test]
fn closing_waits_for_a_snapshot() {
    const RECORDS: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut options = Options::default();
    options.sync = Sync::Never;
    let pages = Collection::create(&path, Width::W64, options.clone()).unwrap();
    for number in 0..RECORDS {
        pages.add(&number.to_string(), value(number)).unwrap();
    }
    let copy = folder.path().join("copy");
    std::thread::scope(|scope| {
        let copying = scope.spawn(|| pages.snapshot(&copy, &Watch::default()));
        while !copy.exists() && !copying.is_finished() {
            std::thread::yield_now();
        }
        pages.close().unwrap();
        let is_whole = copy.join("manifest.simidx-set").exists();
        let again = Collection::open(&path, options.clone()).unwrap();
        assert_eq!(again.change_count(), RECORDS);
        assert_eq!(copying.join().unwrap().is_ok(), is_whole);
        assert_eq!(copy.exists(), is_whole);
    });
    if copy.exists() {
        let copy = Collection::open(&copy, options).unwrap();
        assert_eq!(copy.len(), RECORDS);
    }
}

#[test]
fn who_closes_a_collection_leaves_nothing_that_is_not_listed() {
    for pause in (0..200).step_by(thorough(10, 25)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let mut options = options();
        options.sync = Sync::Never;
        options.seal_records = 3000;
        let pages = Collection::create(&path, Width::W64, options).unwrap();
        for number in 0..6100 {
            pages.add(&number.to_string(), value(number)).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(pause));
        pages.close().unwrap();
        assert!(pages.add("late", 7_u64).is_err());
        let manifest = fs::read_to_string(path.join("manifest.simidx-set")).unwrap();
        for entry in fs::read_dir(&path).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_known = [
                "lock",
                "journal.redb",
                "journal.mark",
                "manifest.simidx-set",
            ];
            assert!(
                is_known.contains(&&*name) || manifest.contains(&name),
                "{name} after {pause} ms"
            );
        }
    }
}
