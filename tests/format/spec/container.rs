//! What the specification prints of checksums, header, footer, directory and sections.

use std::collections::BTreeSet;
use std::fs;

use simidx::Codec;
use simidx::format::FORMAT_VERSION;

use super::worked_file::worked_file;
use simidx_testkit::document::{named_table, named_values, plain_number, row, specification};
use simidx_testkit::forged::codec_number;
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::reference;

#[test]
fn the_checksum_is_that_of_the_program_and_of_its_printed_parameters() {
    let values = named_values(&specification(), "crc-32");
    let value = |name: &str| plain_number(&values[name]) as u32;
    let (polynomial, reflected) = (value("polynomial"), value("polynomial, reflected"));
    assert_eq!(polynomial.reverse_bits(), reflected);
    let (initial, last) = (value("initial value"), value("final exclusive-or"));
    let printed = |bytes: &[u8]| {
        let step = |state: u32, _| state >> 1 ^ if state & 1 == 1 { reflected } else { 0 };
        let byte = |state: u32, &byte: &u8| (0..8).fold(state ^ u32::from(byte), step);
        bytes.iter().fold(initial, byte) ^ last
    };
    assert_eq!(printed(b"123456789"), value("CRC-32 of `123456789`"));
    assert_eq!(printed(b""), value("CRC-32 of no bytes"));
    // The program writes and checks the same: a header has the checksum of its first twelve bytes.
    let file = worked_file();
    assert_eq!(file[12..16], printed(&file[..12]).to_le_bytes());
    assert_eq!(reference::crc32(&file), printed(&file));
}

#[test]
fn magic_version_and_lengths_are_those_of_the_files() {
    let text = specification();
    let file = worked_file();
    let (header, footer) = (named_table(&text, "header"), named_table(&text, "footer"));
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
    let rules = named_table(&text, "rules");
    assert!(row(&rules, "V1")[1].contains(&format!(" {} bytes ", header[0][1])));
    assert!(row(&rules, "V3")[1].contains(&format!("({FORMAT_VERSION})")));
    for (rows, len) in [(&header, 16), (&footer, 32)] {
        let mut end = 0;
        for row in rows {
            assert_eq!(row[0], end.to_string(), "{row:?}");
            end += row[1].parse::<usize>().unwrap();
        }
        assert_eq!(end, len);
    }
    assert_eq!(reference::FOOTER_LEN, 32);
    assert_eq!(super::limits::least("length of the file"), 16 + 32);
}

#[test]
fn the_records_of_the_directory_have_the_lengths_that_their_tables_tell() {
    let text = specification();
    let tables = ["directory", "table-record", "section-record"];
    let file = worked_file();
    let layout = reference::Layout::parse(&file);
    let record = layout.tables[1].record_at - layout.tables[0].record_at;
    let expected = [
        layout.tables[0].record_at - layout.directory_at,
        record - layout.width as usize,
        layout.sections[1].record_at - layout.sections[0].record_at,
    ];
    for (table, expected) in tables.into_iter().zip(expected) {
        let mut end = 0;
        for row in named_table(&text, table) {
            // What is repeated as a count or the width says follows the fixed part.
            let Ok(size) = row[1].parse::<usize>() else {
                break;
            };
            assert_eq!(row[0], end.to_string(), "{row:?}");
            end += size;
        }
        assert_eq!(end, expected, "{table}");
    }
}

#[test]
fn the_kinds_of_section_are_those_of_the_files_in_order_and_alignment() {
    let rows = named_table(&specification(), "sections");
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
    let rows = named_table(&specification(), "sections");
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
    let codecs = named_table(&text, "codecs");
    let printed = codecs.iter().map(|row| (&row[0][..], &row[1][..]));
    let known = Codec::ALL.map(|codec| (codec_number(codec).to_string(), codec.name()));
    assert!(printed.eq(known.iter().map(|(number, name)| (&number[..], *name))));
    let kinds = named_table(&text, "id-kinds");
    let folder = manifest::folder(FORMAT_VERSION);
    for entry in manifest::read(&folder) {
        if entry.expect == Expect::Good {
            let file = fs::read(folder.join(&entry.file)).unwrap();
            let at = reference::Layout::parse(&file).directory_at;
            let kind = &row(&kinds, &file[at + 32].to_string())[1];
            assert_eq!(kind.trim_end_matches('s'), entry.ids, "{}", entry.file);
        }
    }
}
