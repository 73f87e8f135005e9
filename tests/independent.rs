//! The reader in Python, written from the specification alone, against this crate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proptest::prelude::*;
use simidx::{
    AnyIndex, BuildOptions, Error, Fingerprint, IdKind, Index, IndexBuilder, TableDesign,
};

/// Runs the reference reader. It needs Python 3.9 or newer on the path.
fn reference(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/simidx_ref.py");
    Command::new("python3")
        .arg(script)
        .args(arguments)
        .output()
        .expect("python3 must be installed for this test")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What `dump` prints for a table, by this crate.
fn dump<F: Fingerprint, D: AsRef<[u8]>>(index: &Index<F, D>, table: usize) -> String {
    let mut lines = String::new();
    let mut fingerprints = index.fingerprints(table).unwrap();
    while let Some(fingerprint) = fingerprints.next() {
        let fingerprint = fingerprint.unwrap().to_hex();
        if index.id_kind() == IdKind::None {
            lines += &format!("{fingerprint}\n");
        }
        fingerprints
            .for_each_id(|id| lines += &format!("{fingerprint}\t{id}\n"))
            .unwrap();
    }
    lines
}

/// What `query` prints, by this crate.
fn query<F: Fingerprint, D: AsRef<[u8]>>(index: &Index<F, D>, query: F, distance: u32) -> String {
    let mut lines = String::new();
    for found in index.query(query, distance).unwrap() {
        let line = format!(
            "{}\t{}\t{}",
            query.to_hex(),
            found.fingerprint.to_hex(),
            found.distance
        );
        if index.id_kind() == IdKind::None {
            lines += &format!("{line}\n");
        }
        index
            .for_each_id(found.fingerprint, |id| lines += &format!("{line}\t{id}\n"))
            .unwrap();
    }
    lines
}

/// Compares everything that both readers can say about a sound file.
fn compare<F: Fingerprint, D: AsRef<[u8]>>(path: &Path, index: &Index<F, D>) {
    let name = path.to_str().unwrap();
    assert_eq!(text(&reference(&["verify", name])), "sound\n");
    for table in [0, index.table_count() - 1] {
        let theirs = text(&reference(&["dump", name, "--table", &table.to_string()]));
        assert_eq!(theirs, dump(index, table), "{name}, table {table}");
    }
    for found in index.fingerprints(0).unwrap().step_by(1000) {
        let near = found.unwrap() ^ F::from_u128(0b101);
        for distance in [index.max_distance(), index.max_distance() + 2] {
            let arguments = ["query", name, &near.to_hex(), "-k", &distance.to_string()];
            assert_eq!(
                text(&reference(&arguments)),
                query(index, near, distance),
                "{name}"
            );
        }
    }
}

fn compare_any(path: &Path) {
    match AnyIndex::from_bytes(fs::read(path).unwrap()).unwrap() {
        AnyIndex::W32(index) => compare(path, &index),
        AnyIndex::W64(index) => compare(path, &index),
        AnyIndex::W128(index) => compare(path, &index),
    }
}

/// `class Vn` of the first rule that a file breaks, by this crate; `sound` for a sound one.
fn verdict(bytes: &[u8]) -> String {
    let error = match AnyIndex::from_bytes(bytes) {
        Err(Error::Format(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(index) => {
            let report = match index {
                AnyIndex::W32(index) => index.verify(),
                AnyIndex::W64(index) => index.verify(),
                AnyIndex::W128(index) => index.verify(),
            };
            match report.problems.into_iter().next() {
                None => return "sound".into(),
                Some(problem) => problem,
            }
        }
    };
    format!("{} V{}", error.class.name(), error.rule)
}

/// The same by the reference reader, which never prints a traceback.
fn reference_verdict(path: &Path) -> String {
    let output = reference(&["verify", path.to_str().unwrap()]);
    if output.status.success() {
        return "sound".into();
    }
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.split(':').next().unwrap().to_owned()
}

fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "simidx"))
        .collect();
    files.sort();
    assert!(files.len() > 8);
    files
}

#[test]
fn both_readers_agree_on_the_golden_files() {
    for path in golden_files() {
        compare_any(&path);
    }
}

#[test]
fn both_readers_agree_on_a_fresh_file_of_many_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fresh.simidx");
    let mut options = BuildOptions::<u64>::default();
    options.design = Some(TableDesign::choose_bands(3, 5).unwrap());
    options.ids = IdKind::String;
    let mut builder = IndexBuilder::new(options).unwrap();
    for i in 0..4000u64 {
        let fingerprint = (i % 3500).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        builder
            .push_with_string(fingerprint, &format!("record {i}"))
            .unwrap();
    }
    builder.finish(fs::File::create(&path).unwrap()).unwrap();
    compare_any(&path);
}

#[test]
fn both_readers_name_the_same_rule_for_a_damaged_file() {
    let original = fs::read(golden_files().pop().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.simidx");
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(60));
    let damage = (
        0..original.len() * 8,
        prop::option::weighted(0.2, 0..original.len()),
    );
    runner
        .run(&damage, |(bit, cut)| {
            let mut bytes = original.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes.truncate(cut.unwrap_or(original.len()));
            fs::write(&path, &bytes).unwrap();
            let ours = verdict(&bytes);
            prop_assert_ne!(&ours, "sound");
            prop_assert_eq!(reference_verdict(&path), ours);
            Ok(())
        })
        .unwrap();
}
