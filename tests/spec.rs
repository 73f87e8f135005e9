//! The specification against the program: its worked examples, its constants and its rules.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::editor::Editor;
use common::forged::{ByHand, codec_number};
use common::manifest::{self, Expect};
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

/// The rows of the table behind a heading, each as its cells.
fn table_behind(heading: &str) -> Vec<Vec<String>> {
    let text = specification();
    let (_, rest) = text.split_once(heading).expect(heading);
    let rows = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|');
        cells
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

/// A number as the specification prints it.
fn plain_number(text: &str) -> u128 {
    let text = text.replace(',', "");
    let number = |text: &str| -> u128 { text.parse().unwrap_or_else(|_| panic!("{text}")) };
    match (text.strip_prefix("0x"), text.split_once('^')) {
        (Some(digits), _) => u128::from_str_radix(digits, 16).unwrap(),
        (None, Some((base, exponent))) => number(base).pow(number(exponent) as u32),
        (None, None) => number(&text),
    }
}

#[test]
fn the_checksum_is_that_of_the_program_and_of_its_printed_parameters() {
    let text = specification();
    let reflected = plain_number(between(&text, "reflected\n(", ")")) as u32;
    let polynomial = plain_number(between(&text, "polynomial ", " reflected")) as u32;
    assert_eq!(polynomial.reverse_bits(), reflected);
    let initial = plain_number(between(&text, "initial value ", ",")) as u32;
    let last = plain_number(between(&text, "final exclusive-or with ", ".")) as u32;
    let printed = |bytes: &[u8]| {
        let step = |state: u32, _| state >> 1 ^ if state & 1 == 1 { reflected } else { 0 };
        let byte = |state: u32, &byte: &u8| (0..8).fold(state ^ u32::from(byte), step);
        bytes.iter().fold(initial, byte) ^ last
    };
    let check = plain_number(between(&text, "`123456789` is ", ";")) as u32;
    assert_eq!((printed(b"123456789"), printed(b"")), (check, 0));
    // The program writes and checks the same: a header has the checksum of its first twelve bytes.
    let file = worked_file();
    assert_eq!(file[12..16], printed(&file[..12]).to_le_bytes());
    assert_eq!(reference::crc32(&file), printed(&file));
}

#[test]
fn magic_version_and_lengths_are_those_of_the_files() {
    let text = specification();
    let file = worked_file();
    let header = table_behind("### 10.1 Header (16 bytes, at offset 0)");
    let footer = table_behind("### 10.2 Footer (the last 32 bytes)");
    let bytes = |printed: &str| -> Vec<u8> {
        let digits = printed.split('`').next().unwrap().split(' ');
        digits
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    };
    assert_eq!(bytes(&header[0][4]), file[..8]);
    assert_eq!(header[1][4], FORMAT_VERSION.to_string());
    assert_eq!(file[8..10], FORMAT_VERSION.to_le_bytes());
    assert_eq!(bytes(&footer[5][4]), file[file.len() - 4..]);
    for (rows, len) in [(&header, 16), (&footer, 32)] {
        let mut end = 0;
        for row in rows {
            assert_eq!(row[0], end.to_string(), "{row:?}");
            end += row[1].parse::<usize>().unwrap();
        }
        assert_eq!(end, len);
    }
    assert_eq!(reference::FOOTER_LEN, 32);
    assert!(text.contains("the file has at least 48 bytes"));
}

#[test]
fn the_records_of_the_directory_have_the_lengths_that_their_tables_tell() {
    let text = specification();
    let (_, directory) = text.split_once("### 10.3 Directory").unwrap();
    let (directory, _) = directory.split_once("### 10.4").unwrap();
    // Three tables: the fixed part, a table record with f code lengths behind it, a section record.
    let tables: Vec<&str> = directory
        .split("| offset | size | type | field |")
        .skip(1)
        .collect();
    let file = worked_file();
    let layout = reference::Layout::parse(&file);
    let record = layout.tables[1].record_at - layout.tables[0].record_at;
    let expected = [
        layout.tables[0].record_at - layout.directory_at,
        record - layout.width as usize,
        layout.sections[1].record_at - layout.sections[0].record_at,
    ];
    assert_eq!(tables.len(), expected.len());
    for (table, expected) in tables.into_iter().zip(expected) {
        let mut end = 0;
        for row in table.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            // What comes as often as a count says follows the fixed part.
            let Ok(size) = cells[2].parse::<usize>() else {
                break;
            };
            assert_eq!(cells[1], end.to_string(), "{row}");
            end += size;
        }
        assert_eq!(end, expected);
    }
}

#[test]
fn the_kinds_of_section_are_those_of_the_files_in_order_and_alignment() {
    let rows = table_behind("### 10.4 Sections");
    let names = [
        "blocks",
        "keys",
        "block counts",
        "groups",
        "numbers",
        "string offsets",
        "string bytes",
        "pipeline",
    ];
    let listed: Vec<(&str, &str)> = rows.iter().map(|row| (&row[0][..], &row[1][..])).collect();
    let numbers: Vec<String> = (1..=8).map(|kind| kind.to_string()).collect();
    let expected: Vec<(&str, &str)> = numbers.iter().map(|n| &n[..]).zip(names).collect();
    assert_eq!(listed, expected);
    let mut seen = BTreeSet::new();
    let folder = manifest::folder(FORMAT_VERSION);
    let good = manifest::read(&folder).into_iter();
    for entry in good.filter(|entry| entry.expect == Expect::Good) {
        let file = fs::read(folder.join(&entry.file)).unwrap();
        let layout = reference::Layout::parse(&file);
        let places: Vec<(u16, u16)> = layout.sections.iter().map(|s| (s.table, s.kind)).collect();
        let (tables, others) = places.split_at(2 * layout.tables.len());
        assert!(tables.is_sorted() && tables.iter().all(|(_, kind)| [1, 2].contains(kind)));
        assert!(others.is_sorted() && others.iter().all(|(table, kind)| *table == 0 && *kind > 2));
        for section in &layout.sections {
            seen.insert(usize::from(section.kind));
            let row = &rows[usize::from(section.kind) - 1];
            let alignment = match &row[3][..] {
                "min(block_size, 4096)" => layout.block_size.min(4096),
                number => number.parse().unwrap(),
            };
            assert_eq!(section.offset % alignment, 0, "{}: {row:?}", entry.file);
            let in_record = row[5] == "section record";
            assert!(
                in_record || section.checksum == 0,
                "{}: {row:?}",
                entry.file
            );
        }
    }
    assert_eq!(seen, (1..=8).collect(), "the corpus has every kind");
}

#[test]
fn the_numbers_of_codecs_and_kinds_of_ids_are_those_of_the_program() {
    let text = specification();
    let codecs = between(&text, "| u8 | codec: ", " |");
    let printed = |codec: Codec| format!("{} `{}`", codec_number(codec), codec.name());
    assert_eq!(codecs, Codec::ALL.map(printed).join(", "));
    assert!(text.contains("| u8 | id_kind: 0 none, 1 numbers, 2 strings |"));
    let folder = manifest::folder(FORMAT_VERSION);
    for entry in manifest::read(&folder) {
        if entry.expect == Expect::Good {
            let file = fs::read(folder.join(&entry.file)).unwrap();
            let at = reference::Layout::parse(&file).directory_at;
            let kinds = ["none", "number", "string"];
            assert_eq!(
                kinds[usize::from(file[at + 32])],
                entry.ids,
                "{}",
                entry.file
            );
        }
    }
}

#[test]
fn each_limit_is_that_of_the_program_and_of_the_reference_reader() {
    let limits: std::collections::BTreeMap<String, String> = table_behind("## 13. Limits")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let python = fs::read_to_string(root().join("tools/simidx_ref.py")).unwrap();
    let constant = |name: &str| {
        let line = python
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        plain_number(&line.expect(name).replace("**", "^"))
    };
    let limit = |what: &str| {
        let text = limits
            .get(what)
            .unwrap_or_else(|| panic!("no limit of {what}"));
        plain_number(text.split(' ').next().unwrap())
    };
    assert_eq!(
        limit("fingerprint_count, record_count"),
        constant("MAX_COUNT")
    );
    assert_eq!(limit("table_count"), simidx::MAX_TABLE_COUNT as u128);
    assert_eq!(limit("block_size"), MIN_BLOCK_SIZE.into());
    assert_eq!(limit("values in a block"), constant("MAX_VALUES_IN_BLOCK"));
    assert_eq!(limit("codeword length"), constant("MAX_CODEWORD_LEN"));
    assert_eq!(limit("string id"), MAX_ID_LEN as u128);
    assert_eq!(limit("string id"), constant("MAX_STRING_LEN"));
    assert_eq!(limit("pipeline"), constant("MAX_PIPELINE_LEN"));
    assert_eq!(limits.len(), 7, "a limit that no test knows");
    for (name, phrase) in [
        ("PAGE_LEN", "[4096·i, min(4096·(i+1), P))"),
        ("CHUNK_LEN", "chunks of 64 bytes"),
        ("CHUNK_IDS", "⌈record_count / 448⌉"),
        ("STRINGS_PER_OFFSET", "⌈record_count / 16⌉"),
    ] {
        let number = constant(name).to_string();
        assert!(
            phrase.contains(&number) && specification().contains(phrase),
            "{name}"
        );
    }
}

#[test]
fn limits_are_reached_and_not_passed_by_the_program() {
    let design = || simidx::TableDesign::<u32>::partition(0, 1).unwrap();
    let open = |file: Vec<u8>| Index::<u32, _>::from_bytes(file).map(|_| ());
    // A pipeline of 65,536 bytes, a string of 65,535 bytes, 2^48 records, and one more of each.
    for (len, fits) in [(65_536, true), (65_537, false)] {
        let mut options = common::options(design(), 128);
        options.pipeline = Some(" ".repeat(len));
        let builder = simidx::IndexBuilder::new(options);
        let finished = builder.and_then(|builder| {
            let mut file = Vec::new();
            builder.finish(&mut file).map(|_| file)
        });
        assert_eq!(finished.and_then(open).is_ok(), fits, "{len}");
    }
    for (len, fits) in [(MAX_ID_LEN, true), (MAX_ID_LEN + 1, false)] {
        let mut options = common::options(design(), 128);
        options.ids = simidx::IdKind::String;
        let mut builder = simidx::IndexBuilder::new(options).unwrap();
        assert_eq!(builder.push_with_string(1, &"x".repeat(len)).is_ok(), fits);
    }
    for (records, refused) in [((1u128 << 48), None), ((1 << 48) + 1, Some(8))] {
        let mut editor = Editor::new(common::build(common::options(design(), 128), &[7]));
        editor.put_directory(8, records, 8);
        let rule = match open(editor.finish()) {
            Ok(()) => None,
            Err(simidx::Error::Format(error)) => Some(error.rule),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(rule, refused, "{records}");
    }
    // Codewords of twelve bits, and of thirteen.
    for (longest, fits) in [(12u8, true), (13, false)] {
        let mut file = ByHand::new(Codec::Xor, &[&[7]]);
        file.lengths.fill(0);
        for symbol in 0..=longest {
            file.lengths[usize::from(symbol)] = (symbol + 1).min(longest);
        }
        assert_eq!(Index::<u64, _>::from_bytes(file.file()).is_ok(), fits);
    }
}

#[test]
fn the_bits_of_a_count_are_as_printed() {
    let text = specification();
    for (bits, size) in [(10, 128), (12, 512), (13, 1024), (16, 8192), (16, 65_536)] {
        assert_eq!(reference::count_bits(size), bits);
    }
    assert!(
        text.contains("10 bits for\nB = 128, 12 for 512, 13 for 1,024 and 16 for 8,192 and more")
    );
}

/// The numbers of the rules that the names of tests cite: `fn v07_…`.
fn cited_rules() -> BTreeSet<usize> {
    fs::read_dir(root().join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let names = text
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix("fn v"));
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
