//! Flipped bits, a failed fsync, a lost manifest: each is refused, or every record is right.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use simidx::{Watch, Width};
use simidx_collection::{Collection, Error, Options, Sync};
use simidx_testkit::thorough;

use crate::files::copy;

/// The name of a journal that is not complete.
#[cfg(unix)]
const UNFINISHED: &str = ".simidx-journal.tmp";

fn options(sync: Sync) -> Options {
    let mut options = Options::default();
    options.background = false;
    options.sync = sync;
    options
}

fn value(number: u64) -> u128 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).into()
}

type Records = BTreeMap<String, u128>;

/// A collection of a segment and recent changes, the last of which are acknowledged one by one, and its records.
fn filled(path: &Path) -> (Collection, Records) {
    let pages = Collection::create(path, Width::W64, options(Sync::Never)).unwrap();
    let mut records = Records::new();
    for number in 0..1200 {
        if number == 200 {
            pages.seal(&Watch::default()).unwrap();
        }
        pages.add(&number.to_string(), value(number)).unwrap();
        records.insert(number.to_string(), value(number));
        if number > 200 && number % 10 == 0 {
            let id = (number / 10).to_string();
            pages.delete(&id).unwrap();
            records.remove(&id);
        }
    }
    for id in ["7", "1000", "8"] {
        pages.delete(id).unwrap();
        pages.sync().unwrap();
        records.remove(id);
    }
    (pages, records)
}

/// Why a collection is refused, or whether its records are these.
fn opened(path: &Path, records: &Records) -> Result<bool, String> {
    let pages = Collection::open(path, options(Sync::Always));
    let pages = pages.map_err(|error| error.to_string())?;
    let is_right = (0..1200).all(|number: u64| {
        let id = number.to_string();
        pages.get(&id).unwrap() == records.get(&id).copied()
    });
    Ok(is_right && pages.len() == records.len() as u64)
}

/// Flips single bits of a journal. A refused collection is opened once more.
fn flip(folder: &Path, records: &Records, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let journal = fs::read(folder.join("journal.redb")).unwrap();
    let damaged = folder.with_extension("damaged");
    let mut refused = 0;
    for flip in 0..thorough(2000, 75) {
        copy(folder, &damaged);
        let bit = random.random_range(0..8 * journal.len());
        let mut image = journal.clone();
        image[bit / 8] ^= 1 << (bit % 8);
        fs::write(damaged.join("journal.redb"), image).unwrap();
        let mut outcome = opened(&damaged, records);
        if let Err(error) = outcome {
            let is_clear = error.contains("journal.redb: damaged journal: ")
                && error.contains("; restore the folder from a backup");
            assert!(is_clear, "flip {flip}, bit {bit}: {error}");
            refused += 1;
            // redb may have repaired the file.
            outcome = opened(&damaged, records);
        }
        assert_ne!(outcome, Ok(false), "flip {flip}, bit {bit}");
        fs::remove_dir_all(&damaged).unwrap();
    }
    assert!(refused > 0, "some flips strike what counts");
}

#[test]
fn a_flipped_bit_of_the_journal_makes_no_record_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let (pages, records) = filled(&path);
    let killed = folder.path().join("killed");
    copy(&path, &killed);
    pages.close().unwrap();
    flip(&path, &records, 1);
    flip(&killed, &records, 2);
}

#[test]
fn a_commit_that_was_acknowledged_does_not_vanish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let pages = Collection::create(&path, Width::W64, options(Sync::Always)).unwrap();
    pages.add("a", 1_u64).unwrap();
    let before = fs::read(path.join("journal.redb")).unwrap();
    pages.delete("a").unwrap();
    let killed = folder.path().join("killed");
    copy(&path, &killed);
    fs::write(killed.join("journal.redb"), before).unwrap();
    for _ in 0..2 {
        let refused = Collection::open(&killed, options(Sync::Always)).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("journal.redb: damaged journal: it ends with change 1, and 2 were"),
            "{refused}"
        );
    }
    // The way out that the message names.
    fs::remove_file(killed.join("journal.mark")).unwrap();
    assert_eq!(opened_ids(&killed), 1);
}

fn opened_ids(path: &Path) -> u64 {
    let pages = Collection::open(path, options(Sync::Always)).unwrap();
    pages.len()
}

#[cfg(unix)]
const PAGE: usize = 4096;

/// A collection after a commit whose fsync failed. It is in the memory of the system, but never comes to disk: its pages count
/// as clean.
#[cfg(unix)]
struct FailedFsync {
    path: PathBuf,
    on_disk: Vec<u8>,
    in_memory: Vec<u8>,
    inode: u64,
}

#[cfg(unix)]
fn inode(journal: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(journal).unwrap())
}

#[cfg(unix)]
impl FailedFsync {
    /// Of records `a` and 0 to 19, which are acknowledged, and one whose commit failed.
    fn new(folder: &Path) -> Self {
        let running = folder.join("running");
        let pages = Collection::create(&running, Width::W64, options(Sync::Always)).unwrap();
        pages.add("a", 7_u64).unwrap();
        for number in 0..20 {
            pages.add(&number.to_string(), value(number)).unwrap();
        }
        let on_disk = fs::read(running.join("journal.redb")).unwrap();
        let mark = fs::read(running.join("journal.mark")).unwrap();
        pages.add("failed", 8_u64).unwrap();
        let path = folder.join("restarted");
        copy(&running, &path);
        fs::write(path.join("journal.mark"), mark).unwrap();
        let journal = path.join("journal.redb");
        FailedFsync {
            on_disk,
            in_memory: fs::read(&journal).unwrap(),
            inode: inode(&journal),
            path,
        }
    }

    /// The power fails. Of a file that was there at the failed fsync, pages that were not written since are as on disk.
    fn cut_power(&self) -> PathBuf {
        let failed = self.path.with_extension("failed");
        copy(&self.path, &failed);
        let journal = failed.join("journal.redb");
        let mut image = fs::read(&journal).unwrap();
        if inode(&self.path.join("journal.redb")) == self.inode {
            for start in (0..image.len()).step_by(PAGE) {
                let end = (start + PAGE).min(image.len());
                if self.in_memory.get(start..end) == Some(&image[start..end]) {
                    let page = self.on_disk.get(start..end);
                    image[start..end].copy_from_slice(page.unwrap_or(&[0; PAGE]));
                }
            }
        }
        fs::write(journal, image).unwrap();
        failed
    }
}

#[cfg(unix)]
#[track_caller]
fn has_first(path: &Path, count: u64) {
    let pages = Collection::open(path, options(Sync::Always)).unwrap();
    assert_eq!(pages.get("a").unwrap(), Some(7));
    for number in 0..count {
        let found = pages.get(&number.to_string()).unwrap();
        assert_eq!(found, Some(value(number)), "{number}");
    }
}

#[test]
#[cfg(unix)]
fn a_restart_after_a_failed_fsync_does_not_build_on_what_is_not_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let restarted = FailedFsync::new(folder.path());
    let pages = Collection::open(&restarted.path, options(Sync::Always)).unwrap();
    for number in 20..50 {
        pages.add(&number.to_string(), value(number)).unwrap();
    }
    has_first(&restarted.cut_power(), 50);
}

#[test]
#[cfg(unix)]
fn a_power_failure_loses_nothing_when_the_journal_could_not_be_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let restarted = FailedFsync::new(folder.path());
    let output = crate::crash::read_on_a_full_disk(&restarted.path, "trap '' XFSZ");
    assert!(output.status.success(), "{}", output.status);
    assert!(!restarted.path.join(UNFINISHED).exists());
    has_first(&restarted.cut_power(), 20);
}

#[test]
#[cfg(unix)]
fn a_power_failure_loses_nothing_while_the_journal_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let restarted = FailedFsync::new(folder.path());
    let output = crate::crash::read_on_a_full_disk(&restarted.path, ":");
    assert!(!output.status.success());
    assert!(restarted.path.join(UNFINISHED).exists());
    let failed = restarted.cut_power();
    has_first(&failed, 20);
    assert!(!failed.join(UNFINISHED).exists());
}

#[test]
fn a_journal_whose_manifest_is_gone_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let manifest = path.join("manifest.simidx-set");
    let always = || options(Sync::Always);
    Collection::create(&path, Width::W64, always())
        .unwrap()
        .close()
        .unwrap();
    // A creation that did not come to its end begins anew.
    fs::remove_file(&manifest).unwrap();
    let pages = Collection::open_or_create(&path, Width::W64, always()).unwrap();
    pages.add("a", 7_u64).unwrap();
    pages.close().unwrap();
    let kept: PathBuf = folder.path().join("kept");
    fs::rename(&manifest, &kept).unwrap();
    for refused in [
        Collection::create(&path, Width::W64, always()).unwrap_err(),
        Collection::open_or_create(&path, Width::W64, always()).unwrap_err(),
    ] {
        assert!(matches!(refused, Error::NotACollection { .. }));
        let refused = refused.to_string();
        assert!(
            refused.contains("a journal with changes and no manifest.simidx-set; restore that"),
            "{refused}"
        );
    }
    fs::rename(&kept, &manifest).unwrap();
    assert_eq!(opened_ids(&path), 1);
}

#[test]
fn a_journal_of_another_version_is_refused() {
    use redb::{Database, TableDefinition};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let always = || options(Sync::Always);
    Collection::create(&path, Width::W64, always())
        .unwrap()
        .close()
        .unwrap();
    let journal = Database::open(path.join("journal.redb")).unwrap();
    let write = journal.begin_write().unwrap();
    let table = TableDefinition::<u64, &[u8]>::new("changes-1");
    write
        .open_table(table)
        .unwrap()
        .insert(1, &b"-a"[..])
        .unwrap();
    write.commit().unwrap();
    drop(journal);
    let refused = Collection::open(&path, always()).unwrap_err().to_string();
    assert!(
        refused.contains("journal.redb: the journal is of another version of simidx"),
        "{refused}"
    );
}
