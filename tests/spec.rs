//! The specification against the program: its worked examples, its constants and its rules.

use std::fs;
use std::path::Path;

use simidx::{FORMAT_VERSION, Index, MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn specification() -> String {
    fs::read_to_string(root().join("format-spec.md")).unwrap()
}

/// The lines of the block or table that follows a marker comment.
fn after_marker(marker: &str) -> Vec<String> {
    let text = specification();
    let mut lines = text
        .lines()
        .skip_while(|line| *line != format!("<!-- {marker} -->"))
        .skip(1)
        .peekable();
    let fenced = lines.next_if_eq(&"```").is_some();
    lines
        .take_while(|line| {
            if fenced {
                *line != "```"
            } else {
                line.starts_with('|')
            }
        })
        .map(str::to_owned)
        .collect()
}

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
fn worked_file() -> Vec<u8> {
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

#[test]
fn the_huffman_example_follows_the_rule_of_the_text() {
    // The rule of section 6 as it stands there, from lengths to codewords.
    let lengths = [3u32, 0, 1, 3, 2];
    let mut expected = Vec::new();
    let mut next = 0u32;
    for len in 1..=12 {
        next *= 2;
        for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| **l == len) {
            expected.push(format!(
                "| {symbol} | {len} | `{next:0len$b}` |",
                len = len as usize
            ));
            next += 1;
        }
    }
    let rows: Vec<String> = after_marker("huffman-example")
        .into_iter()
        .skip(2)
        .collect();
    assert_eq!(rows, expected);
    let bits = "101100111".to_owned() + "0000000";
    let bytes: Vec<String> = (0..2)
        .map(|i| {
            format!(
                "{:02x}",
                u8::from_str_radix(&bits[i * 8..][..8], 2).unwrap()
            )
        })
        .collect();
    assert!(specification().contains(&format!("as the bytes `{}`", bytes.join(" "))));
}

#[test]
fn the_block_example_follows_the_rule_of_the_text() {
    // With the code of section 6: position 2 is `0`, position 3 is `111`.
    let (first, second, third) = (0x8000_0001u32, 0x8000_0005u32, 0x8000_000cu32);
    assert_eq!(31 - (first ^ second).leading_zeros(), 2);
    assert_eq!(31 - (second ^ third).leading_zeros(), 3);
    let stream = format!("{first:032b}0{:02b}111{:03b}", second & 3, third & 7);
    let printed: String = after_marker("block-example").concat().replace(' ', "");
    assert_eq!(printed, stream);
}

#[test]
fn the_limits_are_those_of_the_program() {
    let text = specification();
    for row in [
        format!("Status: normative for format version {FORMAT_VERSION}."),
        format!("| V3 | format_version is known ({FORMAT_VERSION}) |"),
        format!(
            "| block_size | {MIN_BLOCK_SIZE} to {}, power of two |",
            grouped(MAX_BLOCK_SIZE as usize)
        ),
        format!("| string id | {} bytes |", grouped(MAX_ID_LEN)),
        format!("| table_count | {} |", simidx::MAX_TABLE_COUNT),
    ] {
        assert!(text.contains(&row), "{row}");
    }
}

fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn every_rule_is_numbered_once_in_order_and_cited_by_a_test() {
    let text = specification();
    let rules: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| V")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(rules, (1..=36).collect::<Vec<_>>());
    let tests: String = fs::read_dir(root().join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .filter(|path| path.file_stem().is_some_and(|name| name != "spec"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for rule in rules {
        assert!(
            tests.contains(&format!("fn v{rule:02}_")),
            "no test cites V{rule}"
        );
    }
}
