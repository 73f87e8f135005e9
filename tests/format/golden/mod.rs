//! The corpus of test files is what its rules say: building the good files and editing the bad ones gives the bytes,
//! the texts and the manifest of `tests/data`, and nothing else is there.

mod edges;
mod forged;
mod good;
mod lines;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;

use simidx::format::FORMAT_VERSION;
use simidx_testkit::manifest::{self, folder};

/// Every file of the folder of this version by its name.
fn corpus() -> BTreeMap<String, Vec<u8>> {
    let good = good::all();
    let bad = forged::all(&good);
    let mut files = BTreeMap::new();
    let mut add = |name: String, bytes: Vec<u8>| {
        if let Some(before) = files.insert(name.clone(), bytes.clone()) {
            // Files of the same records share a text.
            assert!(
                before == bytes && name.ends_with(".txt"),
                "{name} is there twice"
            );
        }
    };
    let mut entries = Vec::new();
    for file in &good {
        add(file.file_name(), file.file.clone());
        if let Some(contents) = &file.contents {
            add(contents.clone(), file.dump.clone().into_bytes());
        }
        entries.push(file.entry());
    }
    for file in &bad {
        add(file.file_name(), file.file(&good));
        entries.push(file.entry(&good));
    }
    for (name, text) in vectors::all(&good) {
        add(name.into(), text.into_bytes());
    }
    add(
        "manifest.tsv".into(),
        manifest::write(&entries).into_bytes(),
    );
    files
}

/// Returns the differences of a folder from these files; with `write`, missing files are written first.
///
/// A folder that is not there is always written, and told: so a new format version gets its files.
fn differences(folder: &Path, files: &BTreeMap<String, Vec<u8>>, write: bool) -> Vec<String> {
    let mut found = Vec::new();
    let is_new = !folder.exists();
    if is_new {
        fs::create_dir_all(folder).unwrap();
        found.push(format!(
            "{} is new: look at it and commit it",
            folder.display()
        ));
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        if (write || is_new) && !path.exists() {
            fs::write(&path, bytes).unwrap();
        }
        match fs::read(&path) {
            Ok(stored) if stored == *bytes => {}
            Ok(_) => found.push(format!("{name} has other bytes")),
            Err(error) => found.push(format!("{name}: {error}")),
        }
    }
    let names: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let strange = names.iter().filter(|name| !files.contains_key(*name));
    found.extend(strange.map(|name| format!("{name} is not of the corpus")));
    found
}

#[test]
fn every_file_of_this_version_is_byte_for_byte_what_its_rule_makes() {
    let write = env::var_os("SIMIDX_WRITE_GOLDEN").is_some();
    let found = differences(&folder(FORMAT_VERSION), &corpus(), write);
    assert!(
        found.is_empty(),
        "`SIMIDX_WRITE_GOLDEN=1 cargo test --test format golden` writes what is missing:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_new_format_version_gets_its_files_and_its_author_is_told() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join(format!("v{}", FORMAT_VERSION + 1));
    let files = corpus();
    let first = differences(&folder, &files, false);
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].contains("commit"), "{first:?}");
    assert!(differences(&folder, &files, false).is_empty());

    // From now on nothing is written unless it is asked for.
    let (name, bytes) = files.first_key_value().unwrap();
    fs::remove_file(folder.join(name)).unwrap();
    assert_eq!(differences(&folder, &files, false).len(), 1);
    assert!(differences(&folder, &files, true).is_empty());
    fs::write(folder.join(name), &bytes[1..]).unwrap();
    fs::write(folder.join("more"), b"").unwrap();
    assert_eq!(differences(&folder, &files, true).len(), 2);
}

#[test]
fn the_corpus_is_small_enough_to_be_carried_along() {
    let files = corpus();
    let total: usize = files.values().map(Vec::len).sum();
    assert!(total < 2_700_000, "{total} bytes");
    let small = files.values().filter(|bytes| bytes.len() < 8192).count();
    assert!(
        small * 10 > files.len() * 9,
        "{small} of {} below 8 KiB",
        files.len()
    );
}
