//! The contents of the disk at any moment if nothing waits for it, and work that fails and succeeds later.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use simidx::watch::Stage;
use simidx::{Watch, Width};
use simidx_collection::{Collection, Error, Options, Sync};

use crate::files::copy;

/// Nothing comes to disk, nor is sealed or merged, unless it is asked for.
fn options(sync: Sync) -> Options {
    let mut options = Options::default();
    options.background = false;
    options.sync = sync;
    options.batch_interval = Duration::from_secs(3600);
    options
}

/// The collection as it would be found after the process has been killed now.
fn as_if_killed(path: &Path, check: impl FnOnce(&Collection)) {
    let folder = tempfile::tempdir().unwrap();
    let path_of_copy = folder.path().join("copy");
    copy(path, &path_of_copy);
    check(&Collection::open(&path_of_copy, options(Sync::Always)).unwrap());
}

fn old(number: u64) -> u128 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).into()
}

fn new(number: u64) -> u128 {
    old(!number)
}

/// Each id has its old or its new record, and nothing else is there.
fn has_old_or_new(path: &Path, ids: u64) {
    as_if_killed(path, |copy| {
        for number in 0..ids {
            let found = copy.get(&number.to_string()).unwrap();
            let expected = [Some(old(number)), Some(new(number))];
            assert!(expected.contains(&found), "{number}: {found:x?}");
            let ids = copy.query(found.unwrap(), 0).unwrap();
            assert_eq!(ids.len(), 1, "{number}");
        }
        assert_eq!(copy.len(), ids);
    });
}

#[test]
fn a_merge_leaves_out_only_what_is_replaced_on_disk() {
    for sync in [Sync::Batch, Sync::Never] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let pages = Collection::create(&path, Width::W64, options(sync)).unwrap();
        for number in 0..40 {
            pages.add(&number.to_string(), old(number)).unwrap();
            if number % 20 == 19 {
                pages.seal(&Watch::default()).unwrap();
            }
        }
        has_old_or_new(&path, 40);
        for number in (0..40).step_by(3) {
            pages.add(&number.to_string(), new(number)).unwrap();
        }
        has_old_or_new(&path, 40);
        pages.merge(&Watch::default()).unwrap();
        has_old_or_new(&path, 40);
        pages.seal(&Watch::default()).unwrap();
        has_old_or_new(&path, 40);
        for number in (0..40).step_by(5) {
            pages.add(&number.to_string(), new(number)).unwrap();
        }
        pages.merge(&Watch::default()).unwrap();
        has_old_or_new(&path, 40);
        pages.close().unwrap();
        has_old_or_new(&path, 40);
    }
}

#[test]
fn a_watch_stops_a_seal_a_merge_and_a_snapshot_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options(Sync::Never)).unwrap();
    let stop = Watch::new(|_| ControlFlow::Break(()));
    let is_stopped = |error: Error| {
        assert!(
            matches!(error, Error::Index(simidx::Error::Interrupted)),
            "{error}"
        )
    };
    for lot in 0..2 {
        for number in 10 * lot..10 * (lot + 1) {
            pages.add(&number.to_string(), old(number)).unwrap();
        }
        is_stopped(pages.seal(&stop).unwrap_err());
        assert_eq!(pages.stats().segment_count as u64, lot);
        pages.seal(&Watch::default()).unwrap();
    }
    is_stopped(pages.merge(&stop).unwrap_err());
    assert_eq!(pages.stats().segment_count, 2);
    let copy = folder.path().join("copy");
    is_stopped(pages.snapshot(&copy, &stop).unwrap_err());
    assert!(!copy.exists());
    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let note = Watch::new(move |progress| {
        seen.lock().unwrap().push(progress.stage);
        ControlFlow::Continue(())
    });
    pages.merge(&note).unwrap();
    pages.snapshot(&copy, &note).unwrap();
    let stages = stages.lock().unwrap();
    assert!(
        [Stage::MergeRecords, Stage::Warm, Stage::Copy]
            .iter()
            .all(|stage| stages.contains(stage))
    );
    assert_eq!(pages.stats().segment_count, 1);
    has_old_or_new(&path, 20);
}

#[test]
fn a_seal_and_a_merge_that_fail_are_done_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options(Sync::Never)).unwrap();
    // A folder in its place keeps the next segment from being written.
    let mut blocked = None;
    let mut block = |number: u64| {
        if let Some(blocked) = blocked.take() {
            fs::remove_dir(blocked).unwrap();
        }
        let place = path.join(format!("segment-{number:010}.simidx"));
        fs::create_dir(&place).unwrap();
        blocked = Some(place);
    };
    let add = |range: std::ops::Range<u64>| {
        for number in range {
            pages.add(&number.to_string(), old(number)).unwrap();
        }
    };
    add(0..10);
    block(1);
    pages.seal(&Watch::default()).unwrap_err();
    pages.add("0", new(0)).unwrap();
    assert_eq!(pages.len(), 10);
    pages.seal(&Watch::default()).unwrap();
    add(10..20);
    pages.seal(&Watch::default()).unwrap();
    assert_eq!(pages.stats().segment_count, 3);
    pages.add("1", new(1)).unwrap();
    block(5);
    pages.merge(&Watch::default()).unwrap_err();
    pages.add("2", new(2)).unwrap();
    assert_eq!(pages.stats().segment_count, 3);
    pages.merge(&Watch::default()).unwrap();
    assert_eq!(pages.stats().segment_count, 1);
    assert_eq!(pages.len(), 20);
    for number in 0..20 {
        let expected = if number < 3 { new(number) } else { old(number) };
        assert_eq!(pages.get(&number.to_string()).unwrap(), Some(expected));
    }
    block(99);
    fs::remove_dir(path.join("segment-0000000099.simidx")).unwrap();
    has_old_or_new(&path, 20);
    pages.close().unwrap();
    has_old_or_new(&path, 20);
}

#[test]
fn records_in_memory_are_bounded_when_sealing_keeps_failing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let mut options = options(Sync::Never);
    options.background = true;
    options.seal_records = 10;
    let pages = Collection::create(&path, Width::W64, options).unwrap();
    let places: Vec<_> = (1..100)
        .map(|number| path.join(format!("segment-{number:010}.simidx")))
        .collect();
    places
        .iter()
        .for_each(|place| fs::create_dir(place).unwrap());
    let refused = (0..10_000).find_map(|number| {
        let added = pages.add(&number.to_string(), old(number));
        added.err().map(|error| (number, error))
    });
    let (taken, error) = refused.unwrap();
    assert!(matches!(error, Error::Unsealed(_)), "{error}");
    assert!(taken <= 200, "{taken}");
    let failure = pages.stats().background_error.unwrap();
    assert!(error.to_string().ends_with(&failure), "{error}");
    assert!(pages.stats().refuses_changes);
    assert!(matches!(pages.delete("0"), Err(Error::Unsealed(_))));
    assert_eq!(pages.get("1").unwrap(), Some(old(1)));
    // There is room again.
    places.iter().for_each(|place| drop(fs::remove_dir(place)));
    pages.seal(&Watch::default()).unwrap();
    assert_eq!(pages.stats().background_error, None);
    assert!(!pages.stats().refuses_changes);
    pages.add("one more", 7_u64).unwrap();
    assert_eq!(pages.len(), taken + 1);
    pages.close().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn merged_segments_are_removed_from_a_folder_whose_name_is_no_text() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder
        .path()
        .join(std::ffi::OsStr::from_bytes(b"pages\xff"));
    let pages = Collection::create(&path, Width::W64, options(Sync::Always)).unwrap();
    for number in 0..2 {
        pages.add(&number.to_string(), old(number)).unwrap();
        pages.seal(&Watch::default()).unwrap();
    }
    pages.merge(&Watch::default()).unwrap();
    let names = fs::read_dir(&path).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    let segments = names.filter(|name| name.to_string_lossy().starts_with("segment-"));
    assert_eq!(segments.count(), 1);
    pages.close().unwrap();
}
