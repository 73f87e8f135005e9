//! Files that change while they are mapped: what is caught, what is not, and that nothing panics.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use simidx::design::TableDesign;
use simidx::format::FormatClass;
use simidx::{Codec, Error, Index, Set, Storage, Width};
use simidx_testkit::encoding::{BUCKETS, KEY_ENTRIES, KEY_GROUPS, Layout};
use simidx_testkit::forged::IN_BLOCKS;
use simidx_testkit::{build, each_id, options, scan, sorted_set};

/// A set and its index: two tables of blocks of 512 bytes.
fn sample(codec: Codec, seed: u64) -> (Vec<u64>, Vec<u8>) {
    let mut rng = simidx_testkit::rng(seed);
    let fingerprints: Vec<u64> = (0..2000)
        .map(|_| simidx_testkit::random(&mut rng))
        .collect();
    let mut options = options(TableDesign::choose_bands(Width::W64, 1, 2).unwrap(), 512);
    options.codec = Some(codec);
    let file = build(options, &fingerprints);
    (sorted_set(&fingerprints), file)
}

#[test]
fn a_mapping_holds_what_reading_gives_and_again_after_its_pages_are_released() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut rng = simidx_testkit::rng(3);
    for len in [0, 1, 4095, 4096, 4097, 300_000] {
        let bytes: Vec<u8> = (0..len).map(|_| rand::RngExt::random(&mut rng)).collect();
        fs::write(&path, &bytes).unwrap();
        let (mapped, read) = (Storage::map(&path).unwrap(), Storage::read(&path).unwrap());
        assert!(mapped.as_ref() == bytes && read.as_ref() == bytes, "{len}");
        assert!(Storage::copy(&bytes).as_ref() == bytes, "{len}");
        for storage in [&mapped, &read] {
            storage.advise_random();
            assert!(storage.as_ref() == bytes, "{len}");
            #[cfg(unix)]
            storage.evict().unwrap();
            assert!(storage.as_ref() == bytes, "{len}");
        }
    }
}

#[test]
fn an_index_that_is_mapped_answers_as_one_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    for codec in Codec::ALL {
        let (set, file) = sample(codec, 1);
        fs::write(&path, file).unwrap();
        let mapped = Index::<u64>::open(&path).unwrap();
        let read = Index::<u64>::open_in_memory(&path).unwrap();
        for &member in set.iter().step_by(5) {
            let near = member ^ 1 << (member % 64);
            assert_eq!(ask(&mapped, near), Ok(scan(&set, near, 1)));
            assert_eq!(ask(&read, near), Ok(scan(&set, near, 1)));
            // Between the queries, so that blocks are read again that have been checked.
            #[cfg(unix)]
            mapped.storage().evict().unwrap();
        }
        assert!(
            mapped.verify(&Default::default()).unwrap().is_sound()
                && read.verify(&Default::default()).unwrap().is_sound()
        );
    }
}

/// Writes into a file that stays the same file.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// The members near a fingerprint, or the rule that is broken.
fn ask(index: &Index<u64>, query: u64) -> Result<Vec<(u32, u64)>, u8> {
    match index.query(query, 1) {
        Ok(found) => Ok(found.iter().map(|m| (m.distance, m.fingerprint)).collect()),
        Err(Error::Format(error)) => {
            assert_eq!(error.class(), FormatClass::Damaged);
            Err(error.rule())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_file_that_is_replaced_or_removed_goes_on_to_be_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let (old_set, old) = sample(Codec::Gap, 1);
    let (new_set, new) = sample(Codec::Gap, 2);
    fs::write(&path, old).unwrap();
    let index = Index::<u64>::open(&path).unwrap();
    fs::write(folder.path().join("y"), new).unwrap();
    fs::rename(folder.path().join("y"), &path).unwrap();
    let renewed = Index::<u64>::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    for (index, set) in [(&index, &old_set), (&renewed, &new_set)] {
        for &member in set.iter().step_by(7) {
            assert_eq!(ask(index, member), Ok(scan(set, member, 1)));
        }
        assert!(index.verify(&Default::default()).unwrap().is_sound());
        index.storage().check_len().unwrap();
    }
}

#[test]
fn a_file_that_became_shorter_or_longer_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let (_, file) = sample(Codec::Xor, 1);
    for len in [0, 100, file.len() - 1, file.len() + 1] {
        fs::write(&path, &file).unwrap();
        let set = Set::map_file(&path).unwrap();
        let index = set.segment(0).unwrap();
        index.storage().check_len().unwrap();
        let in_memory = Index::<u64>::open_in_memory(&path).unwrap();
        let writer = File::options().write(true).open(&path).unwrap();
        writer.set_len(len as u64).unwrap();
        let error = index.storage().check_len().unwrap_err().to_string();
        let (now, before) = (format!("{len} bytes now"), format!("had {}", file.len()));
        assert!(
            error.contains("x.simidx: ") && error.contains(&now) && error.contains(&before),
            "{error}"
        );
        in_memory.storage().check_len().unwrap();
        assert!(in_memory.verify(&Default::default()).unwrap().is_sound());
    }
}

#[test]
fn blocks_that_are_overwritten_before_they_are_used_are_damage() {
    for codec in IN_BLOCKS {
        for garbage in [0, 0xff, 0x55] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.simidx");
            let (set, file) = sample(codec, 1);
            fs::write(&path, &file).unwrap();
            let index = Index::<u64>::open(&path).unwrap();
            let layout = Layout::parse(&file);
            let blocks = layout.tables[0].block_count;
            assert!(blocks > 8);
            // The upper half of table 0, and all of table 1.
            let from = layout.block_at(0, blocks / 2);
            let end = layout.block_at(0, 0) + blocks * layout.block_size;
            overwrite(&path, from as u64, &vec![garbage; end - from]);
            let second = layout.block_at(1, 0);
            let len = layout.tables[1].block_count * layout.block_size;
            overwrite(&path, second as u64, &vec![garbage; len]);
            let (mut right, mut told) = (0, 0);
            for &member in &set {
                match index.contains(member) {
                    Ok(found) => {
                        assert!(found, "{member:x} is gone");
                        right += 1;
                    }
                    Err(Error::Format(error)) => {
                        assert_eq!(error.rule(), 21, "{error}");
                        told += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
                // All blocks of table 1 are gone, and this needs one of them.
                assert_eq!(ask(&index, member), Err(21));
            }
            assert!(right > 0 && told > 500, "{right} right, {told} told");
            let report = index.verify(&Default::default()).unwrap();
            assert_eq!(report.problems[0].rule(), 21);
        }
    }
}

#[test]
fn blocks_that_are_overwritten_after_they_were_used_are_used_on_without_panic_until_a_full_check() {
    for codec in IN_BLOCKS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.simidx");
        let (set, file) = sample(codec, 1);
        fs::write(&path, &file).unwrap();
        let index = Index::<u64>::open(&path).unwrap();
        assert!(
            index.verify(&Default::default()).unwrap().is_sound(),
            "every block has been checked"
        );
        let layout = Layout::parse(&file);
        let mut rng = simidx_testkit::rng(9);
        let len = layout.tables[0].block_count * layout.block_size;
        let garbage: Vec<u8> = (0..len).map(|_| rand::RngExt::random(&mut rng)).collect();
        overwrite(&path, layout.block_at(0, 0) as u64, &garbage);
        // Right or wrong, it ends.
        for &member in set.iter().step_by(11) {
            let _ = ask(&index, member);
            let _ = index.contains(member);
        }
        assert_eq!(
            index
                .fingerprints(0)
                .unwrap()
                .filter(Result::is_err)
                .count(),
            0
        );
        // A full check looks at everything again.
        let anew = Index::<u64>::open(&path).unwrap();
        for index in [&index, &anew] {
            let report = index.verify(&Default::default()).unwrap();
            assert_eq!(report.problems[0].rule(), 21);
            assert_eq!(report.problem_count, layout.tables[0].block_count as u64);
        }
        // The damaged blocks and pages that it found are no longer used.
        for &member in &set {
            assert_eq!(ask(&index, member), Err(21));
            assert!(index.contains(member).is_err());
        }
    }
}

#[test]
fn ids_that_are_overwritten_after_they_were_used_are_refused_after_a_full_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let records: Vec<(u64, String)> = (0..2000)
        .map(|i| {
            (
                simidx_testkit::random(&mut simidx_testkit::rng(i)),
                format!("record {i:05}"),
            )
        })
        .collect();
    let options = options(TableDesign::choose_bands(Width::W64, 1, 2).unwrap(), 512);
    let file = simidx_testkit::build_strings(options, &records);
    fs::write(&path, &file).unwrap();
    let index = Index::<u64>::open(&path).unwrap();
    let ids_of = |fingerprint| -> Result<String, u8> {
        let mut found = String::new();
        match each_id(index.ids_of(fingerprint), |id| found += &id.to_string()) {
            Ok(()) => Ok(found),
            Err(Error::Format(error)) => Err(error.rule()),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(
        index.verify(&Default::default()).unwrap().is_sound(),
        "every page has been checked"
    );
    // All buckets, on pages that have been checked.
    let layout = Layout::parse(&file);
    let buckets = layout.payload(&file, BUCKETS).len();
    overwrite(
        &path,
        layout.section(BUCKETS, 0).offset as u64,
        &vec![b'x'; buckets],
    );
    for (fingerprint, id) in &records {
        assert_ne!(ids_of(*fingerprint).as_ref(), Ok(id), "it is overwritten");
    }
    assert_eq!(
        index.verify(&Default::default()).unwrap().problems[0].rule(),
        28
    );
    for (fingerprint, _) in &records {
        assert_eq!(ids_of(*fingerprint), Err(28));
    }
}

#[test]
fn what_opening_has_read_is_checked_again_by_a_full_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let (set, file) = sample(Codec::EliasFano, 1);
    let layout = Layout::parse(&file);
    let (groups, entries) = (
        layout.section(KEY_GROUPS, 1),
        layout.section(KEY_ENTRIES, 1),
    );
    for (at, rule) in [
        (0, 1),
        (file.len() - 20, 5),
        (layout.directory_at, 7),
        (groups.offset, 16),
        (entries.offset, 16),
    ] {
        fs::write(&path, &file).unwrap();
        let index = Index::<u64>::open(&path).unwrap();
        overwrite(&path, at as u64, &[!file[at]]);
        for &member in set.iter().step_by(50) {
            assert_eq!(ask(&index, member), Ok(scan(&set, member, 1)));
        }
        let rules: Vec<u8> = index
            .verify(&Default::default())
            .unwrap()
            .problems
            .iter()
            .map(|p| p.rule())
            .collect();
        assert_eq!(rules, [rule], "byte {at}");
    }
}

#[test]
fn another_index_written_over_a_mapped_one_never_panics_and_is_right_when_opened_anew() {
    for codec in Codec::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.simidx");
        let (old_set, old) = sample(codec, 1);
        // The new file has the same length, so that nothing raises a signal.
        let (new_set, new) = (2..200)
            .map(|seed| sample(codec, seed))
            .find(|(_, file)| file.len() == old.len())
            .expect("some other set takes as many bytes");
        fs::write(&path, &old).unwrap();
        let index = Index::<u64>::open(&path).unwrap();
        overwrite(&path, 0, &new);
        let (mut told, mut as_before, mut as_after, mut mixed) = (0, 0, 0, 0);
        for &query in old_set.iter().chain(&new_set) {
            match ask(&index, query) {
                Err(_) => told += 1,
                Ok(found) if found == scan(&old_set, query, 1) => as_before += 1,
                Ok(found) if found == scan(&new_set, query, 1) => as_after += 1,
                Ok(_) => mixed += 1,
            }
        }
        println!(
            "{}: {told} errors, {as_before} old answers, {as_after} new ones, {mixed} others",
            codec.name()
        );
        // The lines of the other index are lines, at the same places.
        if codec != Codec::Lines {
            assert!(
                told * 2 > old_set.len() + new_set.len(),
                "most blocks do not fit the keys"
            );
        }
        let report = index.verify(&Default::default()).unwrap();
        assert_eq!(report.problems[0].rule(), 7, "another directory");
        let anew = Index::<u64>::open(&path).unwrap();
        assert!(anew.verify(&Default::default()).unwrap().is_sound());
        for &member in new_set.iter().step_by(13) {
            assert_eq!(ask(&anew, member), Ok(scan(&new_set, member, 1)));
        }
    }
}

#[test]
fn an_error_of_a_file_names_it_and_an_open_file_is_shown_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    let (_, mut file) = sample(Codec::EliasFano, 5);
    fs::write(&path, &file).unwrap();
    let index = Index::<u64>::open(&path).unwrap();
    assert_eq!(
        format!("{index:?}"),
        format!(
            "Index {{ width: 64, fingerprint_count: 2000, record_count: 2000, table_count: 2, file_len: {}, .. }}",
            file.len()
        )
    );
    let set = Set::open([&path]).unwrap();
    assert!(format!("{set:?}").len() < 500, "{set:?}");

    let name = path.display().to_string();
    let wrong_width = Index::<u32>::open(&path).unwrap_err();
    assert!(wrong_width.to_string().starts_with(&name), "{wrong_width}");
    file[0] ^= 1;
    fs::write(&path, &file).unwrap();
    for opened in [Index::<u64>::open(&path), Index::open_in_memory(&path)] {
        let error = opened.unwrap_err();
        assert!(error.to_string().starts_with(&name), "{error}");
    }
}
