//! The specification against the program: its worked examples, its constants and its rules.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::editor::Editor;
use common::reference::{self, Bits};
use common::{build, options};
use simidx::{FORMAT_VERSION, Index, MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE, TableDesign};

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

/// What stands in the text between two phrases.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

fn numbers(list: &str) -> Vec<u8> {
    list.split(", ").map(|n| n.parse().unwrap()).collect()
}

/// The bits that a text of `0` and `1` prints, spaces left out.
fn printed_bits(text: &str) -> Bits {
    let digits = text.chars().filter(|c| *c != ' ');
    digits.map(|c| c.to_digit(2).unwrap() == 1).collect()
}

/// The code lengths of the example of section 6.
fn example_lengths(text: &str) -> Vec<u8> {
    let lengths = numbers(between(text, "Lengths of the symbols 0 … 4: ", ". "));
    assert_eq!(lengths.len(), 5);
    lengths
}

/// The values that the program reads from a block of the given stream, by the code of section 6.
fn read_block(stream: &Bits, values: &[u32]) -> Vec<u32> {
    let design = TableDesign::<u32>::choose_bands(0, 1).unwrap();
    let mut editor = Editor::new(build(options(design, 128), values));
    let mut lengths = example_lengths(&specification());
    lengths.resize(32, 0);
    let lengths_at = editor.layout.tables[0].record_at + 32;
    editor.put(lengths_at, &lengths);
    let block_at = editor.layout.block_at(0, 0);
    editor.put(block_at, &reference::block(values.len(), stream, 128));
    let index = Index::<u32, _>::from_bytes(editor.finish()).unwrap();
    let report = index.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    index.fingerprints(0).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_huffman_example_is_what_the_program_reads() {
    let text = specification();
    let mut codewords = vec![Bits::new(); 5];
    for row in after_marker("huffman-example").iter().skip(2) {
        let cells: Vec<&str> = row.split('|').map(|c| c.trim().trim_matches('`')).collect();
        let codeword = printed_bits(cells[3]);
        assert_eq!(cells[2], codeword.len().to_string(), "{row}");
        codewords[cells[1].parse::<usize>().unwrap()] = codeword;
    }
    assert_eq!(codewords, reference::codewords(&example_lengths(&text)));

    let symbols = numbers(between(&text, "The symbols ", " are written as `"));
    let printed = between(&text, " are written as `", "`");
    let packed = between(&text, "filled with zero bits as the bytes `", "`");
    let bytes = printed_bits(printed).into_vec();
    assert_eq!(packed, format!("{:02x} {:02x}", bytes[0], bytes[1]));
    assert_eq!(bytes.len(), 2);
    let words: Vec<Bits> = printed.split(' ').map(printed_bits).collect();
    assert_eq!(symbols, [4, 0, 2, 3]);
    for (&symbol, word) in symbols.iter().zip(&words) {
        assert_eq!(*word, codewords[usize::from(symbol)]);
    }
    // A block whose values differ in the bits 4, 0, 2, 3 from one to the next, with these tails.
    let mut stream = printed_bits(&format!("{:032b}", 0x8000_0000u32));
    for (word, tail) in words.iter().zip(["0000", "", "10", "111"]) {
        stream.extend_from_bitslice(word);
        stream.extend_from_bitslice(&printed_bits(tail));
    }
    let values = [0, 0b10000, 0b10001, 0b10110, 0b11111].map(|low| 0x8000_0000 | low);
    assert_eq!(read_block(&stream, &values), values);
}

#[test]
fn the_block_example_is_what_the_program_reads() {
    let text = specification();
    let sentence = between(
        &text,
        "block that holds the values ",
        " has the stream below",
    );
    let values: Vec<u32> = sentence
        .replace(" and ", ", ")
        .split(", ")
        .map(|value| u32::from_str_radix(value.strip_prefix("0x").unwrap(), 16).unwrap())
        .collect();
    assert_eq!(values.len(), 3);
    let stream = printed_bits(&after_marker("block-example").concat());
    assert_eq!(read_block(&stream, &values), values);
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

/// The numbers of the rules that the names of tests cite: `fn v07_…`.
fn cited_rules() -> BTreeSet<usize> {
    fs::read_dir(root().join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let names = text.lines().filter_map(|line| line.strip_prefix("fn v"));
            let numbers = names.filter_map(|name| name.split_once('_')?.0.parse().ok());
            numbers.collect::<Vec<usize>>()
        })
        .collect()
}

#[test]
fn every_rule_is_numbered_once_in_order_and_cited_by_a_test() {
    let text = specification();
    let table = between(&text, "\n## 12. Validation\n", "\n## ");
    let rules: Vec<usize> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| V")?.split(' ').next()?.parse().ok())
        .collect();
    assert!(!rules.is_empty());
    assert_eq!(rules, (1..=rules.len()).collect::<Vec<_>>());
    assert_eq!(cited_rules(), rules.into_iter().collect());
}
