//! The lengths that the specification gives by formulas, against the files of the program.

use std::fs;

use simidx::Codec;
use simidx::design::TableDesign;
use simidx::format::{FORMAT_VERSION, MAX_BLOCK_SIZE, MIN_BLOCK_SIZE};

use simidx_testkit::document::{between, plain_number, specification, table_behind};
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{ByHand, found, small};
use simidx_testkit::manifest::{self, Expect};
use simidx_testkit::reference::{self, GROUPS, NUMBERS, STRING_BYTES, STRING_OFFSETS};
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::{build, build_numbers, build_strings, options};

/// The number between two phrases.
#[track_caller]
fn printed(before: &str, after: &str) -> usize {
    plain_number(between(&specification(), before, after)) as usize
}

/// The bits of the count in a block of so many bytes: `w = min(16, 3 + log2 B)`.
fn count_bits(block_size: usize) -> usize {
    let text = specification();
    let (most, more) = between(&text, "in w = min(", " + log2 B) bits: ")
        .split_once(", ")
        .unwrap();
    let bits = plain_number(more) + u128::from(block_size.ilog2());
    bits.min(plain_number(most)) as usize
}

/// The bits that a block has for its values: `8·(B − 4) − w`.
fn room(block_size: usize) -> usize {
    let text = specification();
    let formula = between(&text, "with\nno filling between; ", " bits are left for it");
    let rule = between(&text, "bits) end within the ", " bits behind the count");
    assert_eq!(formula, rule);
    let (bits, rest) = formula.split_once("·(B − ").unwrap();
    let checksum = rest.strip_suffix(") − w").unwrap();
    let rows = table_behind("### 7.1 Layout of a block");
    assert_eq!(rows[0][..2], ["0", checksum]);
    assert_eq!(
        rows[0][3],
        format!("checksum: CRC-32 of bytes [{checksum}, B) of the block")
    );
    assert_eq!(rows[1][..2], [checksum, &format!("B − {checksum}")]);
    let checksum = plain_number(checksum) as usize;
    plain_number(bits) as usize * (block_size - checksum) - count_bits(block_size)
}

/// The stream of the first block of a file as its keys tell it, behind a count of the bits printed.
fn first_block(file: &[u8], set: &[u128]) -> Vec<u8> {
    let layout = reference::Layout::parse(file);
    let key = layout.keys(file, 0)[0];
    let values: Vec<u128> = set.iter().copied().take_while(|v| *v <= key).collect();
    let count = count_bits(layout.block_size);
    let mut bits = reference::bits_of(values.len() as u128 - 1, count as u32);
    bits.extend_from_bitslice(&layout.coding(0).stream(None, &values));
    bits.resize(count + room(layout.block_size), false);
    reference::filled(bits)
}

#[test]
fn counts_in_blocks_have_the_bits_printed() {
    let set: Vec<u32> = (0..3000).map(|i| i * 1000).collect();
    let values: Vec<u128> = set.iter().map(|&value| value.into()).collect();
    for size in (MIN_BLOCK_SIZE.ilog2()..=MAX_BLOCK_SIZE.ilog2()).map(|bits| 1 << bits) {
        for codec in Codec::ALL {
            let mut options = options(TableDesign::partition(0, 1).unwrap(), size);
            options.codec = Some(codec);
            let file = build(options, &set);
            let layout = reference::Layout::parse(&file);
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
    let text = specification();
    let list = between(&text, "3 + log2 B) bits: ", ". The stream of the values");
    let list = list.replace(" bits for\nB = ", " for ");
    let (list, least) = list.split_once(" and ").unwrap();
    let mut examples: Vec<&str> = list.split(", ").collect();
    examples.push(least.strip_suffix(" and more").unwrap());
    assert_eq!(examples.len(), 4);
    for example in examples {
        let (bits, size) = example.split_once(" for ").unwrap();
        let size = plain_number(size) as usize;
        assert!(size.is_power_of_two(), "{example}");
        assert_eq!(plain_number(bits) as usize, count_bits(size), "{example}");
    }
    let most = plain_number(least.split(' ').nth(2).unwrap()) as usize;
    assert!(count_bits(most / 2) < count_bits(most));
    assert_eq!(count_bits(most), count_bits(MAX_BLOCK_SIZE as usize));
    assert_eq!(
        most,
        printed("in blocks above ", " bytes that the count can end")
    );
}

/// Values whose stream in the first block takes exactly so many bits where each position has a codeword of six bits,
/// and a key behind them.
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
        file.fingerprint_count = values.len();
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

/// Section 3.5: the bytes of a page, of its checksum and of both.
fn page_lengths() -> [usize; 3] {
    let text = specification();
    let formula = between(&text, "P = L − ", "⌉; a length for which");
    let (checksum, both) = formula.split_once("·⌈L / ").unwrap();
    let page = printed("is followed by ⌈P / ", "⌉ checksums");
    let formula = between(&text, "The section thus has P + ", "⌉ bytes");
    assert_eq!(formula, format!("{checksum}·⌈P / {page}"));
    let (checksum, both) = (plain_number(checksum) as usize, plain_number(both) as usize);
    // Of short sections another number would say the same.
    assert_eq!(both, page + checksum);
    [page, checksum, both]
}

#[test]
fn pages_have_the_lengths_and_checksums_printed() {
    let [page, checksum, both] = page_lengths();
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
        assert_eq!(section.len, payload + checksum * pages, "{count} numbers");
        assert_eq!(payload, section.len - checksum * section.len.div_ceil(both));
        let bytes = &editor.file[section.offset..section.offset + section.len];
        for i in 0..pages {
            let sum = reference::crc32(&bytes[page * i..payload.min(page * (i + 1))]);
            let stored = reference::number(bytes, payload + checksum * i, checksum);
            assert_eq!(u128::from(sum), stored, "page {i} of {pages}");
        }
    }
}

#[test]
fn lengths_that_no_payload_has_by_the_formulas_are_refused() {
    let [page, checksum, both] = page_lengths();
    // A string behind the two bytes of its length, a little more than a page. Whatever shorter length the record tells,
    // the directory stands where it must.
    let id = "x".repeat(page + 4);
    let good = Editor::new(build_strings(small(), &[(1, id)]));
    let section = good.section(STRING_BYTES, 0);
    let mut refused = 0;
    for len in page + 2..=section.len {
        let payload = len - checksum * len.div_ceil(both);
        let is_one = payload + checksum * payload.div_ceil(page) == len;
        let mut editor = good.clone();
        editor.put_number(section.record_at + 16, len as u128, 8);
        let verdict = common_verdict(&editor.finish());
        assert_eq!(verdict != "damaged V15", is_one, "{len}: {verdict}");
        refused += usize::from(!is_one);
    }
    assert_eq!(refused, checksum);
}

#[test]
fn groups_and_string_offsets_have_the_lengths_printed() {
    let ids = printed("the payload is ⌈record_count / ", "⌉ chunks");
    let chunk = printed("⌉ chunks of ", " bytes. Chunk c holds");
    let rows = table_behind("### 9.2 Groups");
    let sizes: Vec<usize> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert_eq!([&rows[0][0], &rows[1][0]], ["0", &rows[0][1]]);
    assert_eq!((sizes.iter().sum(), 8 * sizes[1]), (chunk, ids));
    let each = printed("packed array of ⌈record_count / ", "⌉ numbers");
    for count in [ids - 1, ids, ids + 1, 2 * ids + 1, 3 * each, 3 * each + 1] {
        let id = |i: usize| ((i as u64 / 2) << 40, format!("{i:05}"));
        let records: Vec<(u64, String)> = (0..count).map(id).collect();
        let editor = Editor::new(build_strings(small(), &records));
        assert_eq!(common_verdict(&editor.file), "sound");
        let groups = chunk * count.div_ceil(ids);
        assert_eq!(editor.payload_len(GROUPS), groups, "{count} records");
        // Each string has five bytes and the one of its length.
        let id_bits = (6 * count).ilog2() as usize + 1;
        let offsets = (id_bits * count.div_ceil(each)).div_ceil(8);
        assert_eq!(
            editor.payload_len(STRING_OFFSETS),
            offsets,
            "{count} records"
        );
    }
}

#[test]
fn string_offsets_have_the_bits_printed() {
    let text = specification();
    let examples = between(&text, "needs in binary (", "), and");
    let (empty, some) = examples.split_once(" for an empty payload, ").unwrap();
    let (bits, range) = some.split_once(" for ").unwrap();
    let (first, last) = range
        .strip_suffix(" bytes")
        .unwrap()
        .split_once(" to ")
        .unwrap();
    let range = plain_number(first) as usize..=plain_number(last) as usize;
    for len in 0..20 {
        // An empty string takes the byte of its length.
        let records: Vec<(u64, &str)> = (0..len).map(|i| ((i as u64) << 50, "")).collect();
        let editor = Editor::new(build_strings(small(), &records));
        let id_bits = editor.file[editor.layout.directory_at + 33].to_string();
        assert_eq!(id_bits == bits, range.contains(&len), "{len} bytes");
        assert_eq!(id_bits == empty, len == 0, "{len} bytes");
    }
}

#[test]
fn directories_have_the_length_printed() {
    let text = specification();
    let formula = between(&text, "The directory has exactly ", " bytes.");
    let parts: Vec<&str> = formula.split(" + ").collect();
    let &[fixed, tables, width, sections] = &parts[..] else {
        panic!("{formula}");
    };
    let table = plain_number(tables.strip_prefix("table_count · (").unwrap()) as usize;
    assert_eq!(width, "f)");
    let section = plain_number(sections.strip_prefix("section_count · ").unwrap()) as usize;
    let fixed = plain_number(fixed) as usize;
    for row in [
        format!("| {fixed} | ({table} + f) each |"),
        format!("| … | {section} each |"),
        format!("| {table} | f | bytes | code lengths "),
    ] {
        assert!(text.contains(&row), "{row}");
    }
    let alignment = printed("align(end of the last section, ", ")");
    assert_eq!(
        alignment,
        printed("directory_offset is a multiple of ", ",")
    );
    let folder = manifest::folder(FORMAT_VERSION);
    let mut seen = 0;
    for entry in manifest::read(&folder) {
        if entry.expect == Expect::Good {
            let file = fs::read(folder.join(&entry.file)).unwrap();
            let layout = reference::Layout::parse(&file);
            let tables = layout.tables.len() * (table + layout.width as usize);
            let expected = fixed + tables + layout.sections.len() * section;
            assert_eq!(layout.directory_len, expected, "{}", entry.file);
            let last = layout.sections[layout.sections.len() - 1];
            let end = (last.offset + last.len).next_multiple_of(alignment);
            assert_eq!(layout.directory_at, end, "{}", entry.file);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} files");
}
