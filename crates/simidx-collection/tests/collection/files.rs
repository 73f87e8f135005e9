//! The folder of a collection: its lock, orphans, and damaged, torn or missing files.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use simidx::set::Manifest;
use simidx::{Set, Watch, Width};
use simidx_collection::{Collection, Error, Options, Sync};

fn options() -> Options {
    let mut options = Options::default();
    options.background = false;
    options
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn one_process_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for second in [
        Collection::open(&path, options()),
        Collection::create(&path, Width::W64, options()),
        Collection::open_or_create(&path, Width::W64, options()),
    ] {
        assert!(matches!(second, Err(Error::Locked(_))));
    }
    pages.close().unwrap();
    drop(Collection::open(&path, options()).unwrap());
    drop(Collection::open_or_create(&path, Width::W64, options()).unwrap());
}

#[test]
fn a_closed_collection_that_is_still_held_leaves_the_folder_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let closed = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..4_u64 {
        closed.add(&number.to_string(), number << 30).unwrap();
        if number < 2 {
            closed.seal(&Watch::default()).unwrap();
        }
    }
    closed.close().unwrap();
    let pages = Collection::open(&path, options()).unwrap();
    let manifest = Manifest::read(&path).unwrap();
    closed.seal(&Watch::default()).unwrap_err();
    closed.merge(&Watch::default()).unwrap_err();
    closed.delete("0").unwrap_err();
    let copied = closed.snapshot(folder.path().join("copy"), &Watch::default());
    copied.unwrap_err();
    assert_eq!(Manifest::read(&path).unwrap(), manifest);
    assert_eq!(closed.get("3").unwrap(), Some(3 << 30));
    // The second end of what was closed does not take the folder from who has it now.
    drop(closed);
    let second = Collection::open(&path, options());
    assert!(matches!(second, Err(Error::Locked(_))));
    pages.seal(&Watch::default()).unwrap();
    pages.merge(&Watch::default()).unwrap();
    assert_eq!(pages.len(), 4);
}

#[test]
fn a_folder_of_something_else_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Collection::open(folder.path(), options());
    assert!(matches!(refused, Err(Error::NotACollection { .. })));
    let missing = folder.path().join("missing");
    let refused = Collection::open(&missing, options());
    assert!(matches!(refused, Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound));
    assert!(!missing.exists());
    fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    let refused = Collection::create(folder.path(), Width::W64, options()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("is not empty: it has letter.txt"),
        "{refused}"
    );
    // A set that is not a collection.
    let set = folder.path().join("set");
    fs::create_dir(&set).unwrap();
    Manifest::default().publish(&set).unwrap();
    let refused = Collection::open(&set, options()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("its manifest has no collection"),
        "{refused}"
    );
    assert!(!set.join("journal.redb").exists());
}

#[test]
fn orphans_are_swept_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    pages.add("a", 1_u64).unwrap();
    pages.seal(&Watch::default()).unwrap();
    pages.close().unwrap();
    for name in ["segment-0000000099.simidx", ".simidx-abc.tmp", "notes.txt"] {
        fs::write(path.join(name), "x").unwrap();
    }
    let pages = Collection::open(&path, options()).unwrap();
    assert!(!path.join("segment-0000000099.simidx").exists());
    assert!(!path.join(".simidx-abc.tmp").exists());
    assert!(path.join("notes.txt").exists());
    assert_eq!(pages.len(), 1);
}

#[test]
fn the_folder_is_a_set_for_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..50_u64 {
        pages.add(&number.to_string(), number << 30).unwrap();
    }
    pages.seal(&Watch::default()).unwrap();
    let set = Set::open([&path]).unwrap();
    assert_eq!(set.record_count(), 50);
    assert_eq!(set.fingerprints_of_id("7").unwrap(), [7 << 30]);
}

#[test]
fn a_missing_or_other_segment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..3_u64 {
        pages.add(&number.to_string(), number << 30).unwrap();
        pages.seal(&Watch::default()).unwrap();
    }
    pages.close().unwrap();
    let names = ["segment-0000000001.simidx", "segment-0000000002.simidx"];
    let swapped = folder.path().join("swapped");
    copy(&path, &swapped);
    fs::copy(path.join(names[0]), swapped.join(names[1])).unwrap();
    let error = Collection::open(&swapped, options())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("segment-0000000002.simidx is not the file that is listed"),
        "{error}"
    );
    fs::remove_file(swapped.join(names[1])).unwrap();
    let error = Collection::open(&swapped, options())
        .unwrap_err()
        .to_string();
    assert!(error.contains(names[1]), "{error}");
}

/// The ids that there are of these.
fn present(pages: &Collection, ids: &[&str]) -> Vec<bool> {
    ids.iter()
        .map(|id| pages.get(id).unwrap().is_some())
        .collect()
}

#[test]
fn a_torn_commit_is_there_whole_or_not_at_all() {
    const SECTOR: usize = 512;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    pages.add("sealed", 1_u64).unwrap();
    pages.seal(&Watch::default()).unwrap();
    for number in 0..30_u64 {
        pages
            .add(&format!("before {number}"), number << 20)
            .unwrap();
    }
    let journal = path.join("journal.redb");
    let before = fs::read(&journal).unwrap();
    let torn = folder.path().join("torn");
    copy(&path, &torn);
    // One commit: an addition and the deletion of a sealed record would be two.
    pages.add("sealed", 2_u64).unwrap();
    let after = fs::read(&journal).unwrap();
    let len = before.len().max(after.len());
    let sector = |image: &[u8], start: usize| {
        let end = (start + SECTOR).min(image.len());
        let mut sector = image.get(start..end).unwrap_or_default().to_vec();
        sector.resize(SECTOR.min(len - start), 0);
        sector
    };
    let starts: Vec<usize> = (0..len).step_by(SECTOR).collect();
    let changed: Vec<usize> = starts
        .iter()
        .copied()
        .filter(|&start| sector(&before, start) != sector(&after, start))
        .collect();
    assert!(changed.len() > 2, "{changed:?}");
    let mut seen = [false; 2];
    let mark = fs::read(torn.join("journal.mark")).unwrap();
    // Sectors reach the disk in any order: some first ones, some last ones, and every other one.
    let orders: Vec<Box<dyn Fn(usize) -> bool>> = (0..=changed.len())
        .flat_map(|count| {
            let last = changed.len() - count;
            let first: Box<dyn Fn(usize) -> bool> = Box::new(move |place| place < count);
            let last: Box<dyn Fn(usize) -> bool> = Box::new(move |place| place >= last);
            let mixed: Box<dyn Fn(usize) -> bool> =
                Box::new(move |place| place.wrapping_mul(0x9e37_79b9) >> (count % 24) & 1 == 1);
            [first, last, mixed]
        })
        .collect();
    for is_written in orders {
        let image = starts.iter().flat_map(|&start| {
            let place = changed.binary_search(&start);
            let source = match place.is_ok_and(&is_written) {
                true => &after,
                false => &before,
            };
            sector(source, start)
        });
        fs::write(torn.join("journal.redb"), image.collect::<Vec<u8>>()).unwrap();
        fs::write(torn.join("journal.mark"), &mark).unwrap();
        let reopened = Collection::open(&torn, options()).unwrap();
        let value = reopened.get("sealed").unwrap().unwrap();
        seen[value as usize - 1] = true;
        assert_eq!(
            reopened.query(1_u64, 0).unwrap().len(),
            usize::from(value == 1)
        );
        assert_eq!(present(&reopened, &["before 0", "before 29"]), [true, true]);
        assert_eq!(reopened.len(), 31);
    }
    assert_eq!(seen, [true, true], "both states occur");
}

#[test]
fn a_journal_that_is_cut_short_is_refused_or_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options()).unwrap();
    for number in 0..30_u64 {
        pages.add(&format!("{number}"), number << 20).unwrap();
    }
    let image = fs::read(path.join("journal.redb")).unwrap();
    let cut = folder.path().join("cut");
    copy(&path, &cut);
    let lens = (0..image.len())
        .step_by(4096)
        .chain([1, 100, image.len() - 1]);
    for len in lens {
        fs::write(cut.join("journal.redb"), &image[..len]).unwrap();
        let opened = std::panic::catch_unwind(|| Collection::open(&cut, options()));
        match opened {
            Ok(Ok(pages)) => assert_eq!(pages.len(), 30, "{len} of {}", image.len()),
            Ok(Err(error)) => assert!(error.to_string().contains("journal"), "{len}: {error}"),
            Err(_) => panic!("{len} of {}", image.len()),
        }
    }
    fs::remove_file(cut.join("journal.redb")).unwrap();
    assert!(Collection::open(&cut, options()).is_err());
}

#[test]
fn less_durable_changes_are_there_after_a_sync() {
    for sync in [Sync::Batch, Sync::Never] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let mut options = options();
        options.sync = sync;
        let pages = Collection::create(&path, Width::W64, options.clone()).unwrap();
        for number in 0..100_u64 {
            pages.add(&number.to_string(), number << 20).unwrap();
        }
        pages.sync().unwrap();
        let image = folder.path().join("image");
        copy(&path, &image);
        assert_eq!(Collection::open(&image, options).unwrap().len(), 100);
    }
}

#[test]
fn a_collection_of_any_width_is_opened_as_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    for width in Width::ALL {
        let path = folder.path().join(width.to_string());
        let made = Collection::open_or_create(&path, width, options()).unwrap();
        assert_eq!(made.width(), width);
        made.close().unwrap();
        // The width that is given is for a new one.
        let opened = Collection::open(&path, options()).unwrap();
        assert_eq!(opened.width(), width);
        opened.close().unwrap();
        let opened = Collection::open_or_create(&path, Width::W64, options()).unwrap();
        assert_eq!(opened.width(), width);
        opened.close().unwrap();
    }
    // Manifests of other versions.
    let mut manifest = Manifest::read(folder.path().join("64")).unwrap();
    manifest
        .notes
        .insert("collection.width".to_owned(), "48".to_owned());
    manifest.publish(folder.path().join("64")).unwrap();
    let refused = Collection::open(folder.path().join("64"), options()).unwrap_err();
    assert!(refused.to_string().contains("48 as its width"), "{refused}");
    manifest
        .notes
        .insert("collection".to_owned(), "1".to_owned());
    manifest.publish(folder.path().join("64")).unwrap();
    let refused = Collection::open(folder.path().join("64"), options()).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("64: is of another version of simidx: 1, and not 2; with the simidx that"),
        "{refused}"
    );
}
