//! The specification against the program: its worked examples, its constants and its rules.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::forged::{ByHand, codec_number};
use common::reference::{self, Bits, Coding};
use simidx::{Codec, FORMAT_VERSION, Index, MAX_BLOCK_SIZE, MAX_ID_LEN, MIN_BLOCK_SIZE};

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

/// The values that the program reads from a block of this stream, behind a block whose key is `before`, by the code
/// of section 6.
fn read_block(codec: Codec, before: Option<u128>, stream: &Bits, values: &[u128]) -> Vec<u128> {
    let first = before.map(|key| [key]);
    let mut blocks: Vec<&[u128]> = first.iter().map(|key| &key[..]).collect();
    blocks.push(&values[values.len() - 1..]);
    let mut file = ByHand::new(codec, &blocks);
    if codec != Codec::EliasFano {
        file.lengths = example_lengths(&specification());
        file.lengths.resize(64, 0);
    }
    file.replace(blocks.len() - 1, values.len(), stream);
    file.fingerprint_count = blocks.len() - 1 + values.len();
    let index = Index::<u64, _>::from_bytes(file.file()).unwrap();
    let report = index.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    let fingerprints = index.fingerprints(0).unwrap().skip(blocks.len() - 1);
    fingerprints.map(|f| f.unwrap().into()).collect()
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
    assert_eq!(packed, hex(&reference::filled(printed_bits(printed))));
    let words: Vec<Bits> = printed.split(' ').map(printed_bits).collect();
    assert_eq!(symbols, [4, 0, 2, 3]);
    for (&symbol, word) in symbols.iter().zip(&words) {
        assert_eq!(*word, codewords[usize::from(symbol)]);
    }
    // A block whose values differ in the bits 4, 0, 2, 3 from one to the next, with these tails, and then the key.
    let mut stream = Bits::new();
    for (word, tail) in words.iter().zip(["0000", "", "10", "111"]) {
        stream.extend_from_bitslice(word);
        stream.extend_from_bitslice(&printed_bits(tail));
    }
    let values = [0b10000, 0b10001, 0b10110, 0b11111, 0b11_0000].map(|low| 0x8000_0000 | low);
    let read = read_block(Codec::Xor, Some(0x8000_0000), &stream, &values);
    assert_eq!(read, values);
}

/// Bytes as the specification prints them.
fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// A list of numbers in words: `1, 5, 6 and 14`.
fn list(text: &str) -> Vec<u128> {
    let numbers = text.replace(" and ", ", ");
    numbers
        .split(", ")
        .map(|number| match number.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).unwrap(),
            None => number.parse().unwrap(),
        })
        .collect()
}

#[test]
fn the_block_examples_are_what_the_program_reads() {
    let text = specification();
    let sentence = between(
        &text,
        "block that holds the values ",
        " has the stream below",
    );
    let values = list(sentence);
    assert_eq!(values.len(), 4);
    for (marker, codec, before) in [
        ("block-example", Codec::Xor, None),
        ("block-example-xor", Codec::Xor, Some(0x8000_0000)),
        ("block-example-gap", Codec::Gap, Some(0x8000_0000)),
        ("block-example-ef", Codec::EliasFano, Some(0x8000_0000)),
    ] {
        let mut stream = printed_bits(&after_marker(marker).concat());
        let mut lengths = example_lengths(&text);
        if codec == Codec::EliasFano {
            lengths.fill(0);
        }
        let coding = Coding::new(codec_number(codec), &lengths, 32);
        assert_eq!(coding.stream(before, &values), stream, "{marker}");
        if before.is_none() {
            let printed = between(&text, "bytes of the block from 4 on are `", " …`");
            let block = reference::block(values.len(), &stream, 128);
            let bytes = hex(&block[4..]);
            assert!(bytes.starts_with(printed), "{bytes}");
            // The program reads it in a table of 64 bits, with a first value of so many.
            stream = printed_bits(&format!("{:032b}", 0))
                .into_iter()
                .chain(stream)
                .collect();
        }
        assert_eq!(
            read_block(codec, before, &stream, &values),
            values,
            "{marker}"
        );
    }
}

#[test]
fn the_elias_fano_example_is_right() {
    let text = specification();
    let sentence = between(&text, "*Worked example.* The four numbers ", ": c·2^l");
    let (numbers, max) = sentence.split_once(" with Z = ").unwrap();
    let stream = printed_bits(&after_marker("elias-fano-example").concat());
    let encoded = reference::elias_fano(&list(numbers), max.parse().unwrap());
    assert_eq!(stream, encoded);
}

#[test]
fn the_keys_example_is_what_the_program_reads() {
    let text = specification();
    let keys = list(between(
        &text,
        "(f = 32). The keys ",
        " are stored as the numbers",
    ));
    let printed = after_marker("keys-example").concat().replace("  ", " ");
    assert_eq!(printed, hex(&reference::keys_section(&keys, 32)));
    // A table of 64 bits has the same keys section, but for the zeros above the two ends.
    let file = ByHand::new(Codec::Gap, &[&keys[..1], &keys[1..2], &keys[2..]]);
    let index = Index::<u64, _>::from_bytes(file.file()).unwrap();
    let read: Vec<u128> = index
        .fingerprints(0)
        .unwrap()
        .map(|f| f.unwrap().into())
        .collect();
    assert_eq!(read, keys);
    assert_eq!(hex(&file.keys[16..]), printed[24..]);
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
