//! The printed values of lines in the specification: their fields, the example and the limits.

use simidx::Codec::Lines;
use simidx::Width;
use simidx::design::TableDesign;
use simidx_testkit::document::{named_table, named_values, numbers, specification};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{LINE_PAGES, LOW_BITS, Layout, directory};
use simidx_testkit::lines::{LINE_LEN, bits_of_field, field, is_crowded};
use simidx_testkit::python_reader::common_verdict;

use super::limits::{least, most, most_values_of_a_line};

/// The file of these fingerprints in one table in lines.
fn in_lines<F: simidx::Fingerprint>(fingerprints: &[F]) -> (Vec<u8>, Layout) {
    let mut options =
        simidx_testkit::options(TableDesign::partition(Width::of::<F>(), 0, 1).unwrap(), 128);
    options.codec = Some(Lines);
    let file = simidx_testkit::build(options, fingerprints);
    assert_eq!(common_verdict(&file), "sound");
    let layout = Layout::parse(&file);
    (file, layout)
}

#[test]
fn the_fields_of_lines_are_those_printed() {
    for (name, start, fields) in [
        (
            "line",
            0,
            &[field::HEAD, field::MARKS, field::ADDRESSES][..],
        ),
        (
            "crowded-line",
            field::ADDRESSES.0,
            &[field::FIRST, field::EXTRA_BITS, field::ZERO],
        ),
    ] {
        let rows = named_table(&specification(), name);
        let printed = rows.iter().map(|row| [&row[0], &row[1]]);
        let printed: Vec<[usize; 2]> = printed
            .map(|cells| cells.map(|cell| cell.parse().unwrap()))
            .collect();
        let known: Vec<[usize; 2]> = fields.iter().map(|&(at, len)| [at, len]).collect();
        assert_eq!(printed, known, "{name}");
        let mut end = start;
        for [at, len] in printed {
            assert_eq!(at, end, "{name}");
            end += len;
        }
        assert_eq!(end, LINE_LEN, "{name}");
    }
}

/// The bytes that a text prints in hexadecimal digits, of which some are counted, as in `(26 zero bytes)`.
fn printed_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, part) in text.split(['(', ')']).enumerate() {
        match part.strip_suffix(" zero bytes").filter(|_| i % 2 == 1) {
            Some(count) => bytes.resize(bytes.len() + count.parse::<usize>().unwrap(), 0),
            None => bytes.extend(
                part.split_whitespace()
                    .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
            ),
        }
    }
    bytes
}

#[test]
fn the_example_of_a_line_is_what_the_program_writes() {
    let printed = named_values(&specification(), "line-example");
    let values = numbers(&printed["values"]);
    let fingerprints: Vec<u32> = values.iter().map(|&value| value as u32).collect();
    let (file, layout) = in_lines(&fingerprints);
    assert_eq!(layout.tables[0].address_bits, 8);
    let lines = layout.payload(&file, LINE_PAGES);
    assert_eq!(lines, printed_bytes(&printed["line"]));
    assert_eq!(
        layout.payload(&file, LOW_BITS),
        printed_bytes(&printed["low bits"])
    );
    let marks = numbers(printed["marks"].strip_prefix("bits ").unwrap());
    let marked = bits_of_field(lines, field::MARKS);
    assert!(marked.iter().map(|&mark| mark as u128).eq(marks));
    let mut addresses = numbers(&printed["addresses"]);
    assert!(
        values
            .iter()
            .map(|value| value >> 24)
            .eq(addresses.iter().copied())
    );
    addresses.dedup();
    let listed = bits_of_field(lines, field::ADDRESSES);
    assert!(listed.iter().map(|&a| a as u128).eq(addresses));
}

#[test]
fn lines_hold_as_many_values_as_printed_and_no_more() {
    let [marked, dense] = most_values_of_a_line().map(|count| count as u32);
    let are_crowded = |fingerprints: &[u32]| {
        let (file, layout) = in_lines(fingerprints);
        is_crowded(layout.payload(&file, LINE_PAGES))
    };
    let spread = |count: u32| (0..count).map(|i| i << 20).collect::<Vec<u32>>();
    assert!(!are_crowded(&spread(marked)));
    assert!(are_crowded(&spread(marked + 1)));
    // Without bits below the addresses, all addresses of a line have values.
    let run: Vec<u32> = (0..4 * dense).collect();
    let (file, layout) = in_lines(&run);
    let lines = layout.payload(&file, LINE_PAGES).chunks(LINE_LEN);
    let full = lines.filter(|line| bits_of_field(line, field::ADDRESSES).len() == dense as usize);
    assert_eq!(full.count(), 4);
}

#[test]
fn tables_in_lines_have_the_address_bits_printed() {
    let most = most("address_bits");
    assert_eq!(most_values_of_a_line()[1], 1 << least("address_bits"));
    let (file, _) = in_lines::<u64>(&[7]);
    for (bits, verdict) in [
        (least("address_bits") - 1, "damaged V14"),
        (least("address_bits"), "sound"),
        // So many address bits need more lines.
        (most, "damaged V14"),
        (most + 1, "damaged V14"),
    ] {
        let mut editor = Editor::new(file.clone());
        let at = editor.layout.tables[0].record_at;
        editor.put_number(at + 9, bits, 1);
        assert_eq!(common_verdict(&editor.finish()), verdict, "{bits}");
    }
}

#[test]
fn tables_in_lines_have_as_many_values_as_printed_and_no_more() {
    let most = most("values of a table in lines");
    let (file, _) = in_lines::<u64>(&[7]);
    for (count, verdict) in [(most, "damaged V15"), (most + 1, "damaged V14")] {
        let mut editor = Editor::new(file.clone());
        let at = editor.layout.tables[0].record_at;
        editor.put_number(at, 1 << 40, 8);
        editor.put_directory(directory::FINGERPRINT_COUNT, count);
        editor.put_directory(directory::RECORD_COUNT, count);
        // The sections are not so long.
        assert_eq!(common_verdict(&editor.finish()), verdict, "{count}");
    }
}
