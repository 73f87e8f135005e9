//! The file that the specification prints byte by byte.

use std::fs;

use simidx::Index;

use super::common::document::{after_marker, root, specification};

/// The bytes of one line of the hex dump: `offset  bytes  text`.
fn hex_line(line: &str) -> (usize, Vec<u8>) {
    let (offset, rest) = line.split_once("  ").unwrap();
    let bytes = rest.split("  ").next().unwrap().trim();
    let bytes = match bytes.strip_prefix("00 * ") {
        Some(count) => vec![0; count.parse().unwrap()],
        None => bytes
            .split(' ')
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect(),
    };
    (usize::from_str_radix(offset, 16).unwrap(), bytes)
}

/// The file that section 16.1 prints.
pub(crate) fn worked_file() -> Vec<u8> {
    let mut file = Vec::new();
    for line in after_marker("worked-example") {
        if !line.trim_start().starts_with('#') {
            let (offset, bytes) = hex_line(&line);
            assert_eq!(offset, file.len(), "{line}");
            file.extend(bytes);
        }
    }
    file
}

#[test]
fn the_worked_hex_is_the_golden_file_without_a_gap() {
    let golden = fs::read(root().join("tests/data/v1/good-worked-example.simidx")).unwrap();
    assert_eq!(worked_file(), golden);
}

#[test]
fn the_worked_hex_decodes_to_the_records_that_the_text_names() {
    let index = Index::<u32, _>::from_bytes(worked_file()).unwrap();
    let mut records = Vec::new();
    for fingerprint in index.fingerprints(0).unwrap() {
        let fingerprint = fingerprint.unwrap();
        let push = |id: simidx::Id<'_>| records.push(format!("| {fingerprint:#010x} | `{id}` |"));
        index.for_each_id(fingerprint, push).unwrap();
    }
    assert_eq!(records.len(), 4);
    let text = specification();
    for record in records {
        assert!(text.contains(&record), "{record}");
    }
}

#[test]
fn every_line_of_the_worked_hex_says_what_its_bytes_are() {
    for line in after_marker("worked-example") {
        let heading = line.trim_start().starts_with('#');
        let continued = line
            .split("  ")
            .filter(|part| !part.trim().is_empty())
            .count()
            >= 3;
        assert!(heading || continued || line.len() <= 57, "{line}");
    }
}
