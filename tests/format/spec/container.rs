//! What the specification prints of checksums, header, footer, directory and sections.

use std::collections::BTreeSet;
use std::fs;

use simidx::Codec;
use simidx::format::FORMAT_VERSION;

use super::worked_file::worked_file;
use simidx_testkit::document::{between, plain_number, specification, table_behind};
use simidx_testkit::forged::codec_number;
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::reference;

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
    let sum = |row: &[String]| format!("CRC-32 of bytes [0, {})", row[0]);
    assert_eq!(header[4][4], sum(&header[4]));
    assert_eq!(footer[4][4], sum(&footer[4]) + " of the footer");
    let magic = format!("starts with the {} bytes of the magic", header[0][1]);
    assert!(text.contains(&magic), "{magic}");
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

/// Whether `id_kind ≠ 0 and record_count > fingerprint_count` or the like holds for a file.
fn holds(condition: &str, file: &[u8], layout: &reference::Layout) -> bool {
    let value = |name: &str| match name {
        "id_kind" => file[layout.directory_at + 32].into(),
        "record_count" => layout.record_count as u128,
        "fingerprint_count" => layout.fingerprint_count as u128,
        number => plain_number(number),
    };
    let one = |comparison: &str| {
        let words: Vec<&str> = comparison.split(' ').collect();
        let (left, right) = (value(words[0]), value(words[2]));
        match words[1] {
            "=" => left == right,
            "≠" => left != right,
            ">" => left > right,
            other => panic!("{other}"),
        }
    };
    condition.split(" and ").all(one)
}

#[test]
fn the_sections_are_there_under_the_conditions_printed() {
    let rows = table_behind("### 10.4 Sections");
    let folder = manifest::folder(FORMAT_VERSION);
    let mut seen = BTreeSet::new();
    for entry in manifest::read(&folder) {
        if entry.expect != Expect::Good {
            continue;
        }
        let file = fs::read(folder.join(&entry.file)).unwrap();
        let layout = reference::Layout::parse(&file);
        for row in &rows {
            let of_kind = layout
                .sections
                .iter()
                .filter(|s| s.kind.to_string() == row[0]);
            let count = of_kind.count();
            let expected = match &row[2][..] {
                "each table" => layout.tables.len(),
                "optional" => count.min(1),
                other => holds(other.strip_prefix("if ").unwrap(), &file, &layout).into(),
            };
            assert_eq!(count, expected, "{}: {row:?}", entry.file);
            seen.insert((row[0].clone(), count > 0));
        }
    }
    // Two kinds are in all files, each of the others is in some and not in others.
    assert_eq!(seen.len(), 2 + 6 * 2, "{seen:?}");
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
