//! The lengths that the specification gives by formulas, against the files of the program.

use std::fs;

use simidx::design::TableDesign;
use simidx::format::{FORMAT_VERSION, MAX_BLOCK_SIZE, MIN_BLOCK_SIZE, SketchParameters};
use simidx::{Codec, Width};

use simidx_testkit::document::{named_formulas, named_table, plain_number, specification};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{
    self, BUCKET_OFFSETS, BUCKETS, GROUPS, NUMBERS, PLACES, bit_length,
};
use simidx_testkit::forged::{ByHand, IN_BLOCKS, found, small};
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::python_reader::common_verdict;
use simidx_testkit::sketches::{SketchSection, head_len};
use simidx_testkit::{build, build_numbers, build_sketched, build_strings, options};

/// A length by a formula of the specification.
#[track_caller]
fn length(block: &str, formula: &str, variables: &[(&str, usize)]) -> usize {
    named_formulas(&specification(), block).value(formula, variables)
}

/// The bits of the count in a block of this size.
fn count_bits(block_size: usize) -> usize {
    length("block-lengths", "w", &[("B", block_size)])
}

/// The bits that a block has for its values.
fn room(block_size: usize) -> usize {
    length("block-lengths", "s", &[("B", block_size)])
}

/// Returns the stream of the first block of a file according to its keys, after a count with the printed bits.
fn first_block(file: &[u8], set: &[u128]) -> Vec<u8> {
    let layout = encoding::Layout::parse(file);
    let key = Editor::new(file.to_vec()).keys(0)[0];
    let values: Vec<u128> = set.iter().copied().take_while(|v| *v <= key).collect();
    let count = count_bits(layout.block_size);
    let mut bits = encoding::bits_of(values.len() as u128 - 1, count as u32);
    bits.extend_from_bitslice(&layout.coding(0).stream(None, &values));
    bits.resize(count + room(layout.block_size), false);
    encoding::filled(bits)
}

#[test]
fn counts_in_blocks_have_the_bits_printed() {
    let set: Vec<u32> = (0..3000).map(|i| i * 1000).collect();
    let values: Vec<u128> = set.iter().map(|&value| value.into()).collect();
    for size in (MIN_BLOCK_SIZE.ilog2()..=MAX_BLOCK_SIZE.ilog2()).map(|bits| 1 << bits) {
        for codec in IN_BLOCKS {
            let mut options = options(TableDesign::partition(Width::W32, 0, 1).unwrap(), size);
            options.codec = Some(codec);
            let file = build(options, &set);
            let layout = encoding::Layout::parse(&file);
            let block = &file[layout.block_at(0, 0)..][..layout.block_size];
            assert!(
                block[4..] == first_block(&file, &values),
                "{codec:?} {size}"
            );
        }
    }
}

#[test]
fn the_examples_of_the_bits_of_a_count_follow_the_formula() {
    let rows = named_table(&specification(), "count-bits");
    let pairs = rows
        .iter()
        .map(|row| [0, 1].map(|cell| plain_number(&row[cell]) as usize));
    for [size, bits] in pairs {
        assert!(size.is_power_of_two(), "{size}");
        assert_eq!(bits, count_bits(size), "{size}");
    }
    // The fields of the table leave the room of the formula.
    let fields = named_table(&specification(), "block");
    let checksum = plain_number(&fields[1][0]) as usize;
    assert_eq!(fields[0][..2], ["0", &checksum.to_string()]);
    assert_eq!(fields[1][1], format!("B − {checksum}"));
    for size in [128, 8192] {
        assert_eq!(8 * (size - checksum), count_bits(size) + room(size));
    }
}

/// Returns values whose stream in the first block takes exactly `bits` bits if each position has a codeword of six
/// bits, and a key after them.
fn values_of(bits: usize) -> Vec<u128> {
    let mut values = vec![0u128];
    let mut left = bits - 64;
    while left > 0 {
        // Of what is left neither too much nor too little for one value.
        let len = match left {
            133.. => 66,
            70.. => left / 2,
            _ => left,
        };
        values.push(values[values.len() - 1] + (1 << (len - 6)));
        left -= len;
    }
    values.push(values[values.len() - 1] + 1);
    values
}

#[test]
fn values_fill_the_bits_printed_and_no_more() {
    let size = MIN_BLOCK_SIZE as usize;
    for (bits, fits) in [(room(size), true), (room(size) + 1, false)] {
        let values = values_of(bits);
        let mut file = ByHand::new(Codec::Gap, &[&values[values.len() - 1..]]);
        let stream = file.coding().stream(None, &values);
        assert_eq!(stream.len(), bits);
        file.replace(0, values.len(), &stream);
        file.count(&[&values]);
        if fits {
            assert_eq!(common_verdict(&file.file()), "sound");
        } else {
            assert_eq!(found(file.file()).0, 23);
        }
    }
}

/// Fingerprints with number ids of 64 bits each.
fn numbers(count: u64) -> Editor {
    let records: Vec<(u64, u64)> = (0..count)
        .map(|i| (i << 40, if i == 1 { u64::MAX } else { i }))
        .collect();
    Editor::new(build_numbers(small(), &records))
}

/// Section 3.5: returns the bytes of a section with a payload of this length, and checks the inverse.
fn paged_len(payload: usize) -> usize {
    length("paged-lengths", "L", &[("P", payload)])
}

fn payload_len(section: usize) -> usize {
    length("paged-lengths", "P", &[("L", section)])
}

/// The bytes of a page and of its checksum.
fn page_lengths() -> [usize; 2] {
    let pages = |payload| length("paged-lengths", "pages", &[("P", payload)]);
    let page = (1..).find(|&payload| pages(payload + 1) > 1).unwrap();
    [page, paged_len(page) - page]
}

#[test]
fn pages_have_the_lengths_and_checksums_printed() {
    let [page, checksum] = page_lengths();
    let in_page = page / 8;
    for count in [
        2,
        in_page - 1,
        in_page,
        in_page + 1,
        2 * in_page,
        2 * in_page + 1,
    ] {
        let editor = numbers(count as u64);
        assert_eq!(common_verdict(&editor.file), "sound");
        let (section, payload) = (editor.section(NUMBERS, 0), 8 * count);
        let pages = payload.div_ceil(page);
        assert_eq!(section.len, paged_len(payload), "{count} numbers");
        assert_eq!(payload, payload_len(section.len));
        let bytes = &editor.file[section.offset..section.offset + section.len];
        for i in 0..pages {
            let page_bytes = &bytes[page * i..payload.min(page * (i + 1))];
            let sum = encoding::bound_checksum(page_bytes, NUMBERS, 0, i);
            let stored = encoding::number(bytes, payload + checksum * i, checksum);
            assert_eq!(u128::from(sum), stored, "page {i} of {pages}");
        }
    }
}

#[test]
fn lengths_that_no_payload_has_by_the_formulas_are_refused() {
    let [page, checksum] = page_lengths();
    // Buckets of a little more than a page.
    let mut records: Vec<(u64, String)> = Vec::new();
    let good = loop {
        let id = |n: u64| {
            format!(
                "{:x}",
                u128::from(n).pow(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            )
        };
        records.push((records.len() as u64, id(records.len() as u64)));
        let editor = Editor::new(build_strings(small(), &records));
        if editor.payload_len(BUCKETS) > page + 4 {
            break editor;
        }
    };
    let section = good.section(BUCKETS, 0);
    let mut refused = 0;
    // The following sections stay in their places.
    assert_eq!(section.len.next_multiple_of(64), page + 64);
    for len in page + checksum + 1..=section.len {
        let is_one = paged_len(payload_len(len)) == len;
        let mut editor = good.clone();
        editor.put_number(section.record_at + 16, len as u128, 8);
        let verdict = common_verdict(&editor.finish());
        assert_eq!(verdict != "damaged V15", is_one, "{len}: {verdict}");
        refused += usize::from(!is_one);
    }
    assert_eq!(refused, checksum);
}

#[test]
fn groups_places_and_offsets_have_the_lengths_printed() {
    let text = specification();
    let (groups, strings) = ("groups-lengths", "string-lengths");
    let chunk = length(groups, "P", &[("chunks", 1)]);
    let fields = named_table(&text, "chunk");
    let sizes: Vec<usize> = fields.iter().map(|row| row[1].parse().unwrap()).collect();
    assert_eq!([&fields[0][0], &fields[1][0]], ["0", &fields[0][1]]);
    assert_eq!(sizes.iter().sum::<usize>(), chunk);
    let ids = 8 * sizes[1];
    for count in [ids - 1, ids, ids + 1, 2 * ids + 1, 5 * ids + 1, 48, 49] {
        let id = |i: usize| ((i as u64 / 2) << 40, format!("{i:05}"));
        let records: Vec<(u64, String)> = (0..count).map(id).collect();
        let editor = Editor::new(build_strings(small(), &records));
        assert_eq!(common_verdict(&editor.file), "sound");
        let records = ("record_count", count);
        let expected = length(groups, "P", &[records]);
        assert_eq!(editor.payload_len(GROUPS), expected, "{count} records");
        let variables = [records, ("n", bit_length(count - 1))];
        let expected = length(strings, "P_places", &variables);
        assert_eq!(editor.payload_len(PLACES), expected, "{count} records");
        let variables = [records, ("id_bits", editor.layout.id_bits)];
        let expected = length(strings, "P_offsets", &variables);
        assert_eq!(
            editor.payload_len(BUCKET_OFFSETS),
            expected,
            "{count} records"
        );
        assert_eq!(
            editor.layout.id_bits,
            bit_length(editor.payload_len(BUCKETS))
        );
    }
}

#[test]
fn numbers_have_the_bit_lengths_printed() {
    let mut next = 0;
    for row in named_table(&specification(), "bit-length") {
        let (first, last) = row[0].split_once(" to ").unwrap_or((&row[0], &row[0]));
        let range = plain_number(first) as usize..=plain_number(last) as usize;
        assert_eq!(*range.start(), next, "{row:?}");
        next = range.end() + 1;
        for number in range {
            assert_eq!(bit_length(number).to_string(), row[1], "{number}");
        }
    }
}

#[test]
fn directories_have_the_length_printed() {
    let text = specification();
    let formulas = named_formulas(&text, "directory-lengths");
    let folder = manifest::folder(FORMAT_VERSION);
    let mut seen = 0;
    for entry in manifest::read(&folder) {
        if entry.expect == Expect::Good {
            let file = fs::read(folder.join(&entry.file)).unwrap();
            let layout = encoding::Layout::parse(&file);
            let variables = [
                ("f", layout.width as usize),
                ("table_count", layout.tables.len()),
                ("section_count", layout.sections.len()),
                ("table_record_len", layout.table_record_len),
            ];
            let expected = formulas.value("directory_len", &variables);
            assert_eq!(layout.directory_len, expected, "{}", entry.file);
            let last = layout.sections[layout.sections.len() - 1];
            let variables = [("last_section_end", last.offset + last.len)];
            let start = formulas.value("directory_offset", &variables);
            assert_eq!(layout.directory_at, start, "{}", entry.file);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} files");
}

#[test]
fn sections_of_sketches_have_the_lengths_printed() {
    for (features, bits, count) in [(1, 64, 0), (46, 64, 1), (47, 128, 256), (1000, 512, 65)] {
        let mut options = options(TableDesign::partition(Width::W64, 0, 1).unwrap(), 128);
        let name = "f".repeat(features);
        options.sketches = Some(SketchParameters::new(bits, &name).unwrap());
        let records: Vec<(u64, _)> = (0..count).map(|i| (i << 40, None)).collect();
        let file = build_sketched(options, &records);
        assert_eq!(common_verdict(&file), "sound");
        let layout = encoding::Layout::parse(&file);
        let section = layout.bytes(&file, encoding::SKETCHES, 0);
        let of = |formula, variables: &[_]| length("sketches-lengths", formula, variables);
        let head = of("H", &[("features_len", features)]);
        assert_eq!(head_len(section), head);
        let payload = of(
            "P",
            &[
                ("sketch_count", count as usize),
                ("sketch_bits", bits as usize),
            ],
        );
        assert_eq!(SketchSection::parse(section).payload.len(), payload);
        let pages = of("pages", &[("P", payload)]);
        let len = of("L", &[("H", head), ("P", payload), ("pages", pages)]);
        assert_eq!(section.len(), len);
    }
}
