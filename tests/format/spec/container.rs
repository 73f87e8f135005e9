//! The printed values of checksums, header, footer, directory and sections in the specification.

use std::collections::BTreeSet;
use std::fs;

use simidx::Codec;
use simidx::format::FORMAT_VERSION;

use super::worked_file::worked_file;
use simidx_testkit::document::{
    named_table, named_values, numbers, plain_number, row, specification,
};
use simidx_testkit::encoding::{self, BLOCKS, LINE_PAGES, LINES, LOW_BITS, Section};
use simidx_testkit::forged::codec_number;
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::sketches::SketchSection;

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
    assert_eq!(encoding::crc32(&file), printed(&file));
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
    assert_eq!(bytes(&footer[8][4]), file[file.len() - 4..]);
    let sum = |row: &[String]| format!("CRC-32 of bytes [0, {})", row[0]);
    assert_eq!(header[3][4], sum(&header[3]));
    assert_eq!(footer[7][4], sum(&footer[7]) + " of the footer");
    let rules = named_table(&text, "rules");
    assert!(row(&rules, "V1")[1].contains(&format!(" {} bytes ", header[0][1])));
    assert!(row(&rules, "V3")[1].contains(&format!("({FORMAT_VERSION})")));
    for (rows, len) in [(&header, 16), (&footer, 40)] {
        let mut end = 0;
        for row in rows {
            assert_eq!(row[0], end.to_string(), "{row:?}");
            end += row[1].parse::<usize>().unwrap();
        }
        assert_eq!(end, len);
    }
    assert_eq!(encoding::FOOTER_LEN, 40);
    assert_eq!(super::limits::least("length of the file"), 16 + 40);
}

#[test]
fn the_records_of_the_directory_have_the_lengths_that_their_tables_tell() {
    let text = specification();
    let tables = ["directory", "table-record", "section-record"];
    let file = worked_file();
    let layout = encoding::Layout::parse(&file);
    let record = layout.tables[1].record_at - layout.tables[0].record_at;
    let expected = [
        layout.tables[0].record_at - layout.directory_at,
        // The mask is as long as the width says.
        record - layout.width as usize - layout.width as usize / 8,
        layout.sections[1].record_at - layout.sections[0].record_at,
    ];
    for (table, expected) in tables.into_iter().zip(expected) {
        let mut end = 0;
        for row in named_table(&text, table) {
            // Rows that the count or the width repeats follow the fixed part.
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
fn the_head_of_the_sketches_has_the_fields_that_its_table_tells() {
    let rows = named_table(&specification(), "sketches-head");
    let mut end = 0;
    for row in &rows[..5] {
        assert_eq!(row[0], end.to_string(), "{row:?}");
        end += row[1].parse::<usize>().unwrap();
    }
    assert_eq!(rows[5][0], end.to_string());
    // The plain encoder puts the features there.
    let bytes = SketchSection::new("features", &[]).bytes();
    assert_eq!(&bytes[end..end + 8], b"features");
}

#[test]
fn the_kinds_of_section_are_those_of_the_files_in_order_and_alignment() {
    let rows = named_table(&specification(), "sections");
    let names = [
        "blocks",
        "groups",
        "numbers",
        "places",
        "bucket offsets",
        "buckets",
        "id order",
        "block counts",
        "key groups",
        "key entries",
        "string code",
        "pipeline",
        "metadata",
        "lines",
        "low bits",
    ];
    let (ancillary, rows) = rows.split_last().unwrap();
    assert_eq!(ancillary[0], "0x8000 to 0xffff");
    let listed: Vec<(&str, &str)> = rows.iter().map(|row| (&row[0][..], &row[1][..])).collect();
    // Kind 3 is not used.
    let kinds = || (1..=16).filter(|kind| *kind != 3);
    let numbers: Vec<String> = kinds().map(|kind: usize| kind.to_string()).collect();
    let expected: Vec<(&str, &str)> = numbers.iter().map(|n| &n[..]).zip(names).collect();
    assert_eq!(listed, expected);
    let mut seen = BTreeSet::new();
    let folder = manifest::folder(FORMAT_VERSION);
    let good = manifest::read(&folder).into_iter();
    for entry in good.filter(|entry| entry.expect == Expect::Good) {
        let file = fs::read(folder.join(&entry.file)).unwrap();
        let layout = encoding::Layout::parse(&file);
        let kinds = layout.sections.iter().map(|s| (s.kind, s.table));
        let kinds = kinds.take_while(|(kind, _)| *kind < 0x8000);
        let places: Vec<(u16, u16, u16)> = kinds
            .map(|(kind, table)| match kind {
                BLOCKS | LOW_BITS => (0, table, 0),
                LINE_PAGES => (0, table, 1),
                _ => (kind, table, 0),
            })
            .collect();
        assert!(places.is_sorted(), "{}", entry.file);
        assert!(
            layout.sections[places.len()..]
                .iter()
                .all(|s| s.kind >= 0x8000 && s.table == 0)
        );
        let is_long = |section: &Section| match section.kind {
            LINE_PAGES | LOW_BITS => layout.fingerprint_count > 4100,
            _ => encoding::payload_len(section.len) > 4096,
        };
        for section in &layout.sections {
            seen.insert(usize::from(section.kind.min(0x8000)));
            let row = rows.iter().find(|row| row[0] == section.kind.to_string());
            let row = row.unwrap_or(ancillary);
            let alignment = match &row[3][..] {
                "min(block_size, 4096)" => layout.block_size.min(4096),
                "64 or 4096" if is_long(section) => 4096,
                "64 or 4096" => 64,
                number => number.parse().unwrap(),
            };
            assert_eq!(section.offset % alignment, 0, "{}: {row:?}", entry.file);
            let in_record = row[5] == "section record";
            assert_eq!(in_record, encoding::has_record_checksum(section.kind));
            assert_eq!(row[5] == "paged", encoding::is_paged(section.kind));
            assert!(
                in_record || section.checksum == 0,
                "{}: {row:?}",
                entry.file
            );
        }
    }
    let all = kinds().chain([0x8000]);
    assert_eq!(seen, all.collect(), "the corpus has every kind");
}

/// Whether `id_kind ≠ 0 and record_count > fingerprint_count` or the like holds for a file.
fn holds(condition: &str, layout: &encoding::Layout) -> bool {
    let value = |name: &str| match name {
        "id_kind" => layout.id_kind.into(),
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
        let layout = encoding::Layout::parse(&file);
        let in_lines = layout.tables.iter().filter(|t| t.codec == LINES).count();
        for row in rows.iter().filter(|row| row[2] != "any number") {
            let of_kind = layout
                .sections
                .iter()
                .filter(|s| s.kind.to_string() == row[0]);
            let count = of_kind.count();
            let expected = match &row[2][..] {
                "each table in blocks" => layout.tables.len() - in_lines,
                "each table in lines" => in_lines,
                "if table 0 is in blocks" => (layout.tables[0].codec != LINES).into(),
                "optional" => count.min(1),
                other => match other.strip_prefix("optional if ") {
                    Some(condition) if holds(condition, &layout) => count.min(1),
                    Some(_) => 0,
                    None => holds(other.strip_prefix("if ").unwrap(), &layout).into(),
                },
            };
            assert_eq!(count, expected, "{}: {row:?}", entry.file);
            seen.insert((row[0].clone(), count > 0));
        }
    }
    assert_eq!(
        seen.len(),
        15 * 2,
        "each kind is in some and not in others: {seen:?}"
    );
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
            let kind = encoding::Layout::parse(&file).id_kind.to_string();
            let kind = &row(&kinds, &kind)[1];
            assert_eq!(kind.trim_end_matches('s'), entry.ids, "{}", entry.file);
        }
    }
}

#[test]
fn checksums_are_bound_to_the_places_printed() {
    let text = specification();
    let rows = named_table(&text, "bound-checksums");
    let kinds: Vec<&str> = rows.iter().map(|row| &row[1][..]).collect();
    assert_eq!(kinds, ["1", "kind of the section", "10"]);
    for (place, value) in named_pairs(&text, "place-example") {
        let arguments = place
            .strip_prefix("place(")
            .unwrap()
            .strip_suffix(')')
            .unwrap();
        let [kind, table, number] = numbers(arguments)[..] else {
            panic!("{place}");
        };
        let place = encoding::place(kind as u16, table as usize, number as usize);
        assert_eq!(u128::from(place), value, "{arguments}");
    }
}

/// The lines of a block as names and numbers.
fn named_pairs(text: &str, name: &str) -> Vec<(String, u128)> {
    let values = named_values(text, name).into_iter();
    let pairs: Vec<_> = values
        .map(|(name, value)| (name, plain_number(&value)))
        .collect();
    assert!(pairs.len() > 2);
    pairs
}

#[test]
fn the_digests_printed_are_those_of_the_plain_encoder() {
    let mut seen = 0;
    for row in named_table(&specification(), "content-id-examples") {
        let words: Vec<u64> = numbers(&row[3])
            .into_iter()
            .map(|word| word as u64)
            .collect();
        let width = row[0].parse().unwrap();
        let mut expected = encoding::words_of_fingerprint(plain_number(&row[1]), width);
        match &row[2][..] {
            "none" => {}
            "the empty string" => expected.extend(encoding::words_of_string(b"")),
            id => match id.parse() {
                Ok(number) => expected.push(number),
                Err(_) => expected.extend(encoding::words_of_string(id.as_bytes())),
            },
        }
        assert_eq!(words, expected, "{row:?}");
        assert_eq!(encoding::digest(&words), plain_number(&row[4]), "{row:?}");
        seen += 1;
    }
    assert!(seen > 4);
}
