//! Files made wrong by hand, their checksums right: each rule of the stages "page", "id" and "verify" (V28 to
//! V36) is noticed by both readers, as the first one broken and in its class.

use simidx::format::FormatClass::Damaged;
use simidx::index::Strategy;
use simidx::{Error, Index};
use simidx_testkit::build_strings;
use simidx_testkit::each_id;
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{
    found, grouped_numbers, numbers, plain, put_stranger, read_ids, small, strings, values_of,
};
use simidx_testkit::reference::{self, GROUPS, NUMBERS, STRING_BYTES, STRING_OFFSETS, bits_of};
use simidx_testkit::reference_reader::common_verdict;

#[test]
fn v28_a_wrong_page_checksum_is_damage() {
    for (editor, kinds) in [
        (grouped_numbers(), &[GROUPS, NUMBERS][..]),
        (strings(), &[STRING_OFFSETS, STRING_BYTES][..]),
    ] {
        for &kind in kinds {
            let section = editor.section(kind, 0);
            for at in [section.offset, section.offset + section.len - 1] {
                let mut editor = editor.clone();
                editor.flip(at, 1);
                let file = editor.finish();
                assert_eq!(
                    read_ids(file.clone(), 1 << 50),
                    (28, Damaged),
                    "kind {kind}"
                );
                assert_eq!(found(file), (28, Damaged), "kind {kind}");
            }
        }
    }
}

/// Grouped numbers whose count and bitmap are replaced.
fn groups(ones_before: u128, bitmap: u16) -> Vec<u8> {
    let mut editor = grouped_numbers();
    let at = editor.section(GROUPS, 0).offset;
    editor.put_number(at, ones_before, 8);
    editor.put(at + 8, &bitmap.to_be_bytes());
    editor.seal_pages(GROUPS);
    editor.finish()
}

#[test]
fn v29_groups_that_cannot_be_are_found_by_a_full_check() {
    let good = 0b1010_1010_1000_0000;
    let sound = common_verdict(&groups(0, good));
    assert_eq!(sound, "sound", "the bitmap is the right one");
    for (ones_before, bitmap) in [
        (1, good),
        (u128::from(u64::MAX), good),
        (0, 0b0110_1010_1000_0000),
        (0, 0b1010_1010_0000_0000),
        (0, 0b1010_1010_1100_0000),
        (0, 0b1010_1010_0010_0000),
        (0, 0),
    ] {
        let file = groups(ones_before, bitmap);
        assert_eq!(found(file), (29, Damaged), "{ones_before} {bitmap:016b}");
    }
}

#[test]
fn v29_groups_that_cannot_be_are_found_by_a_reader() {
    let good = 0b1010_1010_1000_0000;
    for (ones_before, bitmap, rank) in [
        (1, good, 0u64),
        (u128::from(u64::MAX), good, 3),
        (0, 0b1010_1010_0000_0000, 4),
        (0, 0b1010_1010_0010_0000, 3),
        (0, 0, 0),
    ] {
        let file = groups(ones_before, bitmap);
        assert_eq!(
            read_ids(file, rank << 50),
            (29, Damaged),
            "{ones_before} {bitmap:016b}"
        );
    }
}

#[test]
fn v29_a_group_that_starts_behind_the_last_id_is_found_by_a_reader() {
    let file = groups(0, 0b1010_1010_0010_0000);
    assert_eq!(read_ids(file, 4 << 50), (29, Damaged));
}

#[test]
fn v29_a_bit_too_many_is_found_by_a_reader_of_the_last_rank() {
    for bitmap in [0b1010_1010_1100_0000, 0b1110_1010_1000_0000] {
        assert_eq!(read_ids(groups(0, bitmap), 4 << 50), (29, Damaged));
    }
}

#[test]
fn v29_a_first_group_that_does_not_start_at_the_first_id_is_found_by_a_reader() {
    let file = groups(0, 0b0110_1010_1000_0000);
    assert_eq!(read_ids(file, 0), (29, Damaged));
}

#[test]
fn v30_numbers_that_pass_the_largest_are_damage() {
    let mut editor = numbers();
    editor.put_directory(16, u64::MAX.into(), 8);
    let file = editor.finish();
    assert_eq!(read_ids(file.clone(), 1 << 50), (30, Damaged));
    assert_eq!(found(file), (30, Damaged));
}

#[test]
fn v31_strings_that_cannot_be_are_damage() {
    // The ids are `02 "00" 02 "01" …`; these bytes replace the second one.
    for bytes in [
        &[0x02, 0xff, 0x31][..],
        &[0x02, 0xc3, 0x28],
        &[0x82, 0x00, 0x30],
        &[0x80, 0x80, 0x00],
        &[0xff, 0xff, 0x04],
        &[0xff, 0xff, 0xff],
        &[0xff, 0xff, 0x03],
        &[0x7f, 0x30, 0x31],
    ] {
        let mut editor = strings();
        let at = editor.section(STRING_BYTES, 0).offset;
        editor.put(at + 3, bytes);
        editor.seal_pages(STRING_BYTES);
        let file = editor.finish();
        assert_eq!(read_ids(file.clone(), 1 << 50), (31, Damaged), "{bytes:x?}");
        assert_eq!(found(file), (31, Damaged), "{bytes:x?}");
    }
}

#[test]
fn v32_offsets_that_point_elsewhere_are_damage() {
    let good = strings();
    let section = good.section(STRING_OFFSETS, 0);
    // Three offsets of 7 bits: 0, 48, 96 of 120 bytes.
    assert_eq!(good.payload_len(STRING_BYTES), 120);
    assert_eq!(
        good.file[section.offset..section.offset + 3],
        [0b0000_0000, 0b1100_0011, 0b0000_0000]
    );
    for (byte, bits) in [(0, 0b1000_0000), (1, 0b0010_0000), (1, 0b0000_0001)] {
        let mut editor = good.clone();
        editor.flip(section.offset + byte, bits);
        editor.seal_pages(STRING_OFFSETS);
        assert_eq!(found(editor.finish()), (32, Damaged), "{byte} {bits:b}");
    }
    let mut behind = good;
    behind.put(section.offset, &[0b1111_1110]);
    behind.seal_pages(STRING_OFFSETS);
    assert_eq!(read_ids(behind.finish(), 0), (32, Damaged));
}

#[test]
fn v32_an_offset_is_judged_behind_the_string_that_it_points_to() {
    // Offset 1 is that of string 16; each string has three bytes.
    for (string, rule) in [(15, 31), (16, 31), (17, 32)] {
        let mut editor = strings();
        let offsets = editor.section(STRING_OFFSETS, 0).offset;
        editor.flip(offsets + 1, 0b100);
        editor.seal_pages(STRING_OFFSETS);
        let bytes = editor.section(STRING_BYTES, 0).offset;
        editor.put(bytes + 3 * string + 1, &[0xff]);
        editor.seal_pages(STRING_BYTES);
        assert_eq!(found(editor.finish()), (rule, Damaged), "{string}");
    }
}

#[test]
fn v32_bytes_behind_the_last_string_are_damage() {
    let mut editor = strings();
    let at = editor.section(STRING_BYTES, 0).offset + 117;
    editor.put_number(at, 1, 1);
    editor.seal_pages(STRING_BYTES);
    assert_eq!(found(editor.finish()), (32, Damaged));
}

#[test]
fn v33_ids_that_do_not_ascend_are_damage() {
    // Numbers of 10 bits, those of the first fingerprint 0 and 100: both become 101 and 100.
    let mut editor = grouped_numbers();
    let at = editor.section(NUMBERS, 0).offset;
    let mut numbers = reference::Bits::from_slice(&editor.file[at..at + 13]);
    numbers[..10].copy_from_bitslice(&bits_of(101, 10));
    editor.put(at, &numbers.into_vec());
    editor.seal_pages(NUMBERS);
    assert_eq!(found(editor.finish()), (33, Damaged));
    let records = [(1, "a"), (1, "b"), (2, "c")];
    let mut editor = Editor::new(build_strings(small(), &records));
    let at = editor.section(STRING_BYTES, 0).offset;
    editor.put(at, b"\x01b\x01a");
    editor.seal_pages(STRING_BYTES);
    assert_eq!(found(editor.finish()), (33, Damaged));
}

#[test]
fn v34_bytes_between_sections_are_damage() {
    let good = numbers();
    let mut end = 16;
    let starts: Vec<(usize, usize)> = good
        .layout
        .sections
        .iter()
        .map(|s| (s.offset, s.offset + s.len))
        .collect();
    let mut gaps = 0;
    for (start, next) in starts.into_iter().chain([(good.layout.directory_at, 0)]) {
        for at in end..start {
            let mut editor = good.clone();
            editor.flip(at, 1);
            assert_eq!(found(editor.finish()), (34, Damaged), "{at}");
            gaps += 1;
        }
        end = next;
    }
    assert!(gaps > 100);
}

#[test]
fn v34_bits_behind_a_packed_array_are_damage() {
    for (editor, kind) in [(grouped_numbers(), NUMBERS), (strings(), STRING_OFFSETS)] {
        let mut editor = editor;
        let last = editor.section(kind, 0).offset + editor.payload_len(kind) - 1;
        editor.flip(last, 1);
        editor.seal_pages(kind);
        assert_eq!(found(editor.finish()), (34, Damaged), "kind {kind}");
    }
}

#[test]
fn v35_tables_with_another_number_of_values_are_damage() {
    for count in [59, 61, 1000] {
        let mut editor = plain();
        editor.put_directory(0, count, 8);
        editor.put_directory(8, count, 8);
        assert_eq!(found(editor.finish()), (35, Damaged), "{count}");
    }
}

#[test]
fn v36_tables_with_other_fingerprints_are_damage() {
    let mut editor = plain();
    let last = editor.layout.tables[1].block_count - 1;
    let mut values = values_of(&editor, 1, last);
    let end = values.len() - 1;
    values[end] ^= 1;
    editor.put_values(1, last, &values);
    assert_eq!(found(editor.finish()), (36, Damaged));
}

#[test]
fn v36_a_fingerprint_that_table_0_lacks_has_no_ids() {
    for mut editor in [numbers(), grouped_numbers(), strings()] {
        let forged = put_stranger(&mut editor);
        let good = forged ^ 1 << 32;
        let file = editor.finish();
        assert_eq!(found(file.clone()), (36, Damaged));

        let index = Index::<u64, _>::from_bytes(file).unwrap();
        let mut searcher = index.searcher();
        searcher.set_strategy(Strategy::Scan);
        assert_eq!(searcher.query(forged, 0).unwrap(), []);
        let rule = |result: Result<(), Error>| match result {
            Err(Error::Format(error)) => error.rule(),
            other => panic!("{other:?}"),
        };
        let mut ids = 0;
        each_id(index.ids_of(forged), |_| ids += 1).unwrap();
        assert_eq!(ids, 0, "only a match must have ids");
        let near = searcher.query(good, 0).unwrap()[0];
        each_id(index.ids(&near), |_| ids += 1).unwrap();
        assert!(ids > 0 && near.rank.is_some());
        let mut stranger = near;
        (stranger.fingerprint, stranger.rank) = (forged, None);
        assert_eq!(rule(index.ids(&stranger).map(|_| ())), 36);
        for table in 0..2 {
            let mut fingerprints = index.fingerprints(table).unwrap();
            while let Some(fingerprint) = fingerprints.next() {
                let read = each_id(fingerprints.ids(), |_| ());
                if fingerprint.unwrap() == forged {
                    assert_eq!((rule(read), table), (36, 1));
                } else {
                    read.unwrap();
                }
            }
        }
    }
}

/// Sets a byte between two sections and the last bit behind the numbers, both against V34.
fn set_unused_bits(editor: &mut Editor) {
    let numbers = editor.section(NUMBERS, 0);
    editor.flip(numbers.offset + numbers.len, 1);
    editor.flip(numbers.offset + editor.payload_len(NUMBERS) - 1, 1);
    editor.seal_pages(NUMBERS);
}

#[test]
fn of_several_broken_rules_the_first_is_reported() {
    let mut block = grouped_numbers();
    set_unused_bits(&mut block);
    block.flip(block.layout.block_at(1, 0) + 9, 1);
    assert_eq!(found(block.finish()), (21, Damaged));

    let mut groups = grouped_numbers();
    set_unused_bits(&mut groups);
    groups.flip(groups.section(GROUPS, 0).offset, 1);
    groups.seal_pages(GROUPS);
    assert_eq!(found(groups.finish()), (29, Damaged));

    let mut base = grouped_numbers();
    set_unused_bits(&mut base);
    base.put_directory(16, u64::MAX.into(), 8);
    assert_eq!(found(base.finish()), (30, Damaged));

    // The ids of the first fingerprint descend, and those of the last pass the largest number.
    let mut late_base = grouped_numbers();
    let at = late_base.section(NUMBERS, 0).offset;
    let mut numbers = reference::Bits::from_slice(&late_base.file[at..at + 13]);
    numbers[..10].copy_from_bitslice(&bits_of(101, 10));
    late_base.put(at, &numbers.into_vec());
    late_base.seal_pages(NUMBERS);
    assert_eq!(found(late_base.clone().finish()), (33, Damaged));
    late_base.put_directory(16, u128::from(u64::MAX) - 850, 8);
    assert_eq!(found(late_base.finish()), (30, Damaged));

    // The first number becomes 1020, above the one behind it.
    let mut order = grouped_numbers();
    order.put(order.section(NUMBERS, 0).offset, &[0xff]);
    set_unused_bits(&mut order);
    assert_eq!(found(order.finish()), (33, Damaged));
}

#[test]
fn a_table_that_lacks_a_value_is_reported_behind_the_ids() {
    let mut editor = grouped_numbers();
    let mut values = values_of(&editor, 1, 0);
    values.pop();
    editor.put_values(1, 0, &values);
    assert_eq!(found(editor.clone().finish()), (35, Damaged));
    let mut unused = editor.clone();
    set_unused_bits(&mut unused);
    assert_eq!(found(unused.finish()), (34, Damaged));
    let page = editor.section(NUMBERS, 0).offset;
    editor.flip(page, 1);
    assert_eq!(found(editor.finish()), (28, Damaged));
}
