//! Every target on its seeds: what is fuzzed is sound to begin with, and most of it gets past the opening.

use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Unstructured};
use simidx_fuzz::ask::{ask_any, ask_repaired};
use simidx_fuzz::{blocks, inputs, oracle, requests, round_trip};
use simidx_testkit::python_reader::python_verdict;

/// The files of a folder of this package, by name.
fn files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("the file can be read");
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// The input that libFuzzer would make of these bytes.
fn arbitrary<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> T {
    let input = T::arbitrary_take_rest(Unstructured::new(bytes));
    input.expect("the seed has enough bytes")
}

#[test]
fn index_files_are_sound_before_and_after_their_repair() {
    let seeds = files("seeds/open");
    let corpus = files("../../tests/data/v1");
    let is_good = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("good-") && name.ends_with(".simidx"))
    };
    let good = corpus.iter().filter(|(path, _)| is_good(path));
    let mut count = 0;
    for (path, file) in seeds.iter().chain(good) {
        assert!(ask_any(file), "{}", path.display());
        assert!(ask_repaired(file), "{} repaired", path.display());
        count += 1;
    }
    assert!(count > seeds.len() && seeds.len() > 20);
}

#[test]
fn bad_files_are_asked_without_a_panic_and_some_are_good_once_repaired() {
    let corpus = files("../../tests/data/v1");
    let is_bad = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("bad-"))
    };
    let bad = corpus.iter().filter(|(path, _)| is_bad(path));
    let (mut count, mut mended) = (0, 0);
    for (path, file) in bad {
        assert!(!ask_any(file), "{} is sound", path.display());
        mended += usize::from(ask_repaired(file));
        count += 1;
    }
    println!("{count} bad files, {mended} of them sound once lengths and checksums are right");
    assert!(mended > 0 && mended < count / 2, "{mended} of {count}");
}

#[test]
fn structured_seeds_pass() {
    for (path, bytes) in files("seeds/blocks") {
        println!("{}", path.display());
        blocks::check(&arbitrary(&bytes));
    }
    for (path, bytes) in files("seeds/round_trip") {
        println!("{}", path.display());
        let file = round_trip::check(&arbitrary(&bytes));
        assert_eq!(python_verdict(&file), "sound");
    }
    for (path, bytes) in files("seeds/oracle") {
        println!("{}", path.display());
        oracle::check(&arbitrary(&bytes));
    }
}

#[test]
fn inputs_of_every_format_pass() {
    let seeds = files("seeds/inputs");
    for (path, bytes) in &seeds {
        println!("{}", path.display());
        inputs::check(bytes);
    }
    assert!(seeds.len() > 20);
}

#[test]
fn requests_of_every_kind_pass() {
    let seeds = files("seeds/requests");
    for (path, bytes) in &seeds {
        println!("{}", path.display());
        requests::check(bytes);
        // And with everything that follows the first byte cut off somewhere.
        (1..bytes.len()).for_each(|end| requests::check(&bytes[..end]));
    }
    assert!(seeds.len() > 10);
}
