//! Files made wrong by hand, their checksums right: each rule of the stage "open" (V1 to V20) is noticed by
//! both readers, as the first one broken and in its class.

use simidx::Codec;
use simidx::design::TableDesign;
use simidx::format::FormatClass::{Damaged, NotSimidx, Unsupported};
use simidx_testkit::editor::{Editor, assemble, seal_footer};
use simidx_testkit::forged::{
    ByHand, grouped_numbers, numbers, plain, plain_in, refusal, small, strings, with_pipeline,
};
use simidx_testkit::reference::{
    self, BLOCK_COUNTS, BLOCKS, GROUPS, KEYS, NUMBERS, PIPELINE, STRING_BYTES, STRING_OFFSETS,
    elias_fano_layout, keys_section,
};
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::{build, build_numbers, build_strings, options};

#[test]
fn the_files_to_be_changed_are_good() {
    for editor in [
        plain(),
        plain_in(Codec::Gap),
        plain_in(Codec::EliasFano),
        with_pipeline(),
        numbers(),
        grouped_numbers(),
        strings(),
    ] {
        let mut sealed = editor.clone();
        sealed.seal_all_sections();
        let file = sealed.finish();
        assert!(file == editor.file, "sealing changes a good file");
        assert_eq!(common_verdict(&file), "sound");
    }
}

#[test]
fn v01_files_without_the_magic_never_were_an_index() {
    for file in [
        &b""[..],
        b"\x89",
        b"\x89SIMIDX",
        b"hello, world",
        &[0; 1000],
    ] {
        assert_eq!(refusal(file), (1, NotSimidx));
    }
    let mut editor = plain();
    editor.flip(0, 0x80);
    assert_eq!(refusal(&editor.finish()), (1, NotSimidx));
}

#[test]
fn v02_short_files_and_wrong_header_checksums_are_damaged() {
    let file = plain().file;
    for len in [8, 16, 47] {
        assert_eq!(refusal(&file[..len]), (2, Damaged));
    }
    for at in 8..16 {
        let mut file = file.clone();
        file[at] ^= 1;
        assert_eq!(refusal(&file), (2, Damaged));
    }
}

#[test]
fn v03_other_versions_are_unsupported() {
    for version in [0, 2, 256, 65_535] {
        let mut editor = plain();
        editor.put_number(8, version, 2);
        assert_eq!(refusal(&editor.finish()), (3, Unsupported));
    }
}

#[test]
fn v04_other_widths_and_reserved_bytes_are_unsupported() {
    for (at, value) in [(10, 0), (10, 16), (10, 63), (10, 255), (11, 1)] {
        let mut editor = plain();
        editor.put_number(at, value, 1);
        assert_eq!(refusal(&editor.finish()), (4, Unsupported));
    }
}

#[test]
fn v05_footers_that_are_wrong_or_not_at_the_end_are_damage() {
    let file = plain().file;
    let end = file.len();
    for at in [end - 1, end - 4, end - 5, end - 8, end - 9] {
        let mut file = file.clone();
        file[at] ^= 4;
        assert_eq!(refusal(&file), (5, Damaged), "{at}");
    }
    for len in [48, end - 64, end - 1] {
        assert_eq!(refusal(&file[..len]), (5, Damaged));
    }
    let mut long = file.clone();
    long[end - 16] += 1;
    seal_footer(&mut long);
    assert_eq!(refusal(&long), (5, Damaged));
    let mut twice = file.clone();
    twice.extend_from_slice(&file[end - 32..]);
    assert_eq!(refusal(&twice), (5, Damaged));
}

#[test]
fn v06_directories_that_do_not_fit_are_damage() {
    let good = plain();
    let footer = good.file.len() - 32;
    let (at, len) = (
        good.layout.directory_at as u128,
        good.layout.directory_len as u128,
    );
    for (offset, len) in [
        (at + 1, len - 1),
        (at + 64, len),
        (at - 64, len),
        (at, len - 1),
        (at, len + 64),
        (at - 64, len + 64),
        (at + 64, len - 64),
        (u64::MAX.into(), len),
        (u128::from(u64::MAX) - 63, 32),
        (0, u32::MAX.into()),
    ] {
        let mut file = good.file.clone();
        file[footer..footer + 8].copy_from_slice(&(offset as u64).to_le_bytes());
        file[footer + 8..footer + 12].copy_from_slice(&(len as u32).to_le_bytes());
        seal_footer(&mut file);
        assert_eq!(refusal(&file), (6, Damaged), "{offset} {len}");
    }
    for len in [0, 1, 39] {
        let file = assemble(&good.file[..64], &vec![0; len]);
        assert_eq!(refusal(&file), (6, Damaged), "{len}");
    }
    for (at, value, len) in [(28, 3, 2), (28, 5, 2), (30, 0, 1), (30, 1, 1), (30, 255, 1)] {
        let mut editor = plain();
        editor.put_directory(at, value, len);
        assert_eq!(refusal(&editor.finish()), (6, Damaged), "{at} {value}");
    }
}

#[test]
fn v07_a_wrong_directory_checksum_is_damage() {
    for at in [0, 20, 33, 60, 200] {
        let mut editor = plain();
        let at = editor.layout.directory_at + at;
        editor.flip(at, 0x10);
        assert_eq!(refusal(&editor.file), (7, Damaged));
    }
    let mut editor = plain();
    let footer = editor.file.len() - 32;
    editor.flip(footer + 12, 1);
    seal_footer(&mut editor.file);
    assert_eq!(refusal(&editor.file), (7, Damaged));
}

#[test]
fn v08_parameters_out_of_range_are_damage() {
    let fields = [
        (24, 0, 4),
        (24, 64, 4),
        (24, 100, 4),
        (24, 1000, 4),
        (24, 1 << 17, 4),
        (31, 65, 1),
        (31, 255, 1),
        (0, (1 << 48) + 1, 8),
        (8, (1 << 48) + 1, 8),
        (8, u128::from(u64::MAX), 8),
        (8, 59, 8),
        (0, 61, 8),
        (0, 0, 8),
    ];
    for (at, value, len) in fields {
        let mut editor = plain();
        editor.put_directory(at, value, len);
        assert_eq!(refusal(&editor.finish()), (8, Damaged), "{at} {value}");
    }
    let narrow = options(TableDesign::<u32>::choose_bands(1, 2).unwrap(), 128);
    let mut editor = Editor::new(build(narrow, &[1]));
    editor.put_directory(0, (1 << 32) + 1, 8);
    editor.put_directory(8, (1 << 32) + 1, 8);
    assert_eq!(refusal(&editor.finish()), (8, Damaged));
    let mut empty = Editor::new(build(small(), &[]));
    empty.put_directory(8, 1, 8);
    assert_eq!(refusal(&empty.finish()), (8, Damaged));
}

#[test]
fn v08_a_directory_without_tables_is_damage() {
    let good = plain();
    let at = good.layout.directory_at;
    let mut directory = good.file[at..at + 40].to_vec();
    directory[28..31].fill(0);
    assert_eq!(
        refusal(&assemble(&good.file[..64], &directory)),
        (8, Damaged)
    );
}

#[test]
fn v09_unknown_numbers_and_reserved_bytes_are_unsupported() {
    let good = plain();
    let in_directory = |at: usize| good.layout.directory_at + at;
    let table = good.layout.tables[1].record_at;
    let section = good.layout.sections[2].record_at;
    for (at, value) in [
        (in_directory(32), 3),
        (in_directory(32), 255),
        (in_directory(34), 1),
        (in_directory(39), 128),
        (table + 24, 0),
        (table + 24, 4),
        (table + 24, 255),
        (table + 25, 1),
        (table + 31, 1),
        (section, 0),
        (section, 9),
        (section + 1, 1),
    ] {
        let mut editor = good.clone();
        editor.put_number(at, value, 1);
        assert_eq!(refusal(&editor.finish()), (9, Unsupported), "{at} {value}");
    }
}

#[test]
fn v10_masks_with_bits_above_the_width_are_damage() {
    for (table, mask) in [
        (0, 1u128 << 64),
        (0, u128::MAX),
        (1, 1 << 64),
        (1, 1 << 127),
    ] {
        let mut editor = plain();
        let at = editor.layout.tables[table].record_at;
        editor.put_number(at, mask, 16);
        assert_eq!(refusal(&editor.finish()), (10, Damaged), "{table} {mask:x}");
    }
}

#[test]
fn v11_a_first_mask_that_is_not_of_the_highest_bits_is_damage() {
    for mask in [
        1u128,
        0x7fff_ffff_0000_0000,
        0xa000_0000_0000_0000,
        u64::MAX as u128 >> 1,
    ] {
        let mut editor = plain();
        let at = editor.layout.tables[0].record_at;
        editor.put_number(at, mask, 16);
        assert_eq!(refusal(&editor.finish()), (11, Damaged), "{mask:x}");
    }
}

#[test]
fn masks_and_distances_need_not_fit_each_other() {
    for distance in [0, 2, 3, 64] {
        let mut editor = plain();
        editor.put_directory(31, distance, 1);
        assert_eq!(common_verdict(&editor.finish()), "sound", "{distance}");
    }
    for mask in [0, 0xffff_0000_0000_0000, u64::MAX] {
        let mut editor = plain();
        let at = editor.layout.tables[0].record_at;
        editor.put_number(at, mask.into(), 16);
        assert_eq!(common_verdict(&editor.finish()), "sound", "{mask:x}");
    }
}

#[test]
fn v12_code_lengths_of_a_codec_without_a_code_are_damage() {
    let good = plain_in(Codec::EliasFano);
    for table in 0..2 {
        for (symbol, len) in [(0, 1), (63, 1), (5, 255)] {
            let mut editor = good.clone();
            let lengths = editor.layout.tables[table].record_at + 32;
            editor.put_number(lengths + symbol, len, 1);
            assert_eq!(refusal(&editor.finish()), (12, Damaged), "{symbol} {len}");
        }
    }
    // A complete code that was of another codec.
    let mut editor = plain();
    let at = editor.layout.tables[0].record_at;
    editor.put_number(at + 24, 3, 1);
    assert_eq!(refusal(&editor.finish()), (12, Damaged));
}

#[test]
fn of_masks_and_codes_the_first_rule_is_reported() {
    let mut editor = plain();
    let tables = editor.layout.tables.clone();
    let lengths = tables[0].record_at + 32;
    editor.put_number(lengths, 255, 1);
    assert_eq!(refusal(&editor.clone().finish()), (13, Damaged));
    editor.put_number(tables[1].record_at + 24, 3, 1);
    assert_eq!(refusal(&editor.clone().finish()), (12, Damaged));
    editor.put_number(tables[0].record_at, 1, 16);
    assert_eq!(refusal(&editor.clone().finish()), (11, Damaged));
    editor.put_number(tables[1].record_at, 1 << 64, 16);
    assert_eq!(refusal(&editor.finish()), (10, Damaged));
}

#[test]
fn v13_code_lengths_that_are_no_code_are_damage() {
    let good = plain();
    for table in 0..2 {
        let lengths = good.layout.tables[table].record_at + 32;
        let used = good.layout.tables[table]
            .lengths
            .iter()
            .position(|&l| l > 0)
            .unwrap();
        for (symbol, len) in [(0, 13), (0, 255), (0, 1), (used, 0), (used, 12)] {
            let mut editor = good.clone();
            editor.put_number(lengths + symbol, len, 1);
            assert_eq!(refusal(&editor.finish()), (13, Damaged), "{symbol} {len}");
        }
    }
    let mut lone = Editor::new(build(small(), &[0, 1]));
    let at = lone.layout.tables[0].record_at + 32;
    lone.put_number(at, 2, 1);
    assert_eq!(refusal(&lone.finish()), (13, Damaged));
}

#[test]
fn v14_block_counts_that_cannot_hold_the_values_are_damage() {
    for blocks in [0, 61, u64::MAX] {
        let mut editor = plain();
        let at = editor.layout.tables[1].record_at + 16;
        editor.put_number(at, blocks.into(), 8);
        assert_eq!(refusal(&editor.finish()), (14, Damaged), "{blocks}");
    }
    let mut editor = plain();
    let count = (editor.layout.tables[0].block_count as u128) * 65_536 + 1;
    editor.put_directory(0, count, 8);
    editor.put_directory(8, count, 8);
    assert_eq!(refusal(&editor.finish()), (14, Damaged));
}

#[test]
fn v15_sections_elsewhere_than_they_must_be_are_damage() {
    let good = numbers();
    for (i, section) in good.layout.sections.iter().enumerate() {
        let (at, offset, len) = (
            section.record_at,
            section.offset as u128,
            section.len as u128,
        );
        for (at, value, bytes) in [
            (at, u128::from(section.kind % 8 + 1), 2),
            (at + 2, u128::from(section.table) + 1, 2),
            (at + 8, offset + 64, 8),
            (at + 8, offset - 1, 8),
            (at + 8, u64::MAX.into(), 8),
            (at + 16, len + 1, 8),
            (at + 16, len - 1, 8),
            (at + 16, u64::MAX.into(), 8),
        ] {
            let mut editor = good.clone();
            editor.put_number(at, value, bytes);
            // Only the keys themselves tell how long they are.
            let a_length = section.kind == KEYS && at == section.record_at + 16;
            let rule = if a_length && value < 1 << 32 { 16 } else { 15 };
            assert_eq!(
                refusal(&editor.finish()),
                (rule, Damaged),
                "section {i}: {value:x}"
            );
        }
    }
}

#[test]
fn v15_checksums_in_records_of_sections_with_their_own_are_damage() {
    for (editor, kinds) in [
        (grouped_numbers(), &[BLOCKS, GROUPS, NUMBERS][..]),
        (strings(), &[STRING_OFFSETS, STRING_BYTES][..]),
    ] {
        for &kind in kinds {
            let mut editor = editor.clone();
            let at = editor.section(kind, 0).record_at + 4;
            editor.put_number(at, 1, 4);
            assert_eq!(refusal(&editor.finish()), (15, Damaged), "kind {kind}");
        }
    }
}

#[test]
fn v15_a_directory_away_from_the_sections_is_damage() {
    let good = plain();
    let at = good.layout.directory_at;
    let directory = &good.file[at..at + good.layout.directory_len];
    let mut front = good.file[..at].to_vec();
    assert_eq!(assemble(&front, directory), good.file);
    front.extend_from_slice(&[0; 64]);
    assert_eq!(refusal(&assemble(&front, directory)), (15, Damaged));
    assert_eq!(refusal(&assemble(&front[..64], directory)), (15, Damaged));
}

#[test]
fn v15_too_many_too_few_and_overflowing_sections_are_damage() {
    let good = plain();
    let at = good.layout.directory_at;
    let directory = &good.file[at..at + good.layout.directory_len];
    let mut fewer = directory[..directory.len() - 24].to_vec();
    fewer[28] -= 1;
    assert_eq!(refusal(&assemble(&good.file[..at], &fewer)), (15, Damaged));
    let mut more = directory.to_vec();
    more.extend_from_slice(&directory[directory.len() - 24..]);
    more[28] += 1;
    assert_eq!(refusal(&assemble(&good.file[..at], &more)), (15, Damaged));
    let mut editor = good;
    for at in [0, 8] {
        editor.put_directory(at, 1 << 48, 8);
    }
    editor.put_directory(24, 1 << 16, 4);
    for table in 0..2 {
        let at = editor.layout.tables[table].record_at + 16;
        editor.put_number(at, 1 << 48, 8);
    }
    assert_eq!(refusal(&editor.finish()), (15, Damaged));
}

#[test]
fn v15_paged_lengths_that_no_payload_has_are_damage() {
    let mut editor = strings();
    let section = editor.section(STRING_BYTES, 0);
    editor.put_number(section.record_at + 16, 3, 8);
    assert_eq!(refusal(&editor.finish()), (15, Damaged));
}

#[test]
fn v16_wrong_section_checksums_are_damage() {
    for (editor, kind, table) in [
        (plain(), KEYS, 0),
        (plain(), KEYS, 1),
        (numbers(), BLOCK_COUNTS, 0),
        (with_pipeline(), PIPELINE, 0),
    ] {
        let section = editor.section(kind, table);
        let mut contents = editor.clone();
        contents.flip(section.offset, 2);
        assert_eq!(refusal(&contents.finish()), (16, Damaged), "kind {kind}");
        let mut record = editor;
        record.flip(section.record_at + 4, 2);
        assert_eq!(refusal(&record.finish()), (16, Damaged), "kind {kind}");
    }
}

/// Refuses a file of one table with these keys.
fn assert_bad_keys(keys: Vec<u8>, block_count: usize, what: &str) {
    for codec in Codec::ALL {
        let blocks: [&[u128]; 4] = [&[1, 1000], &[1003], &[1500, 1600], &[2100]];
        let mut file = ByHand::new(codec, &blocks[..block_count]);
        assert_ne!(file.keys, keys, "{what}");
        file.keys.clone_from(&keys);
        assert_eq!(refusal(&file.file()), (17, Damaged), "{what}");
    }
}

const GOOD_KEYS: [u128; 4] = [1000, 1003, 1600, 2100];

fn good_keys(count: usize) -> Vec<u8> {
    keys_section(&GOOD_KEYS[..count], 64)
}

#[test]
fn v17_keys_of_another_length_are_damage() {
    for count in 0..=4 {
        let good = good_keys(count);
        for more in [&[0][..], &[0; 8], &[1], &[0; 64]] {
            assert_bad_keys([&good[..], more].concat(), count, "longer");
        }
        for len in 0..good.len() {
            assert_bad_keys(good[..len].to_vec(), count, "shorter");
        }
    }
    for other in 0..4 {
        assert_bad_keys(good_keys(other), 4, "fewer keys");
        assert_bad_keys(good_keys(4), other, "more keys");
    }
}

#[test]
fn v17_ends_that_leave_no_room_for_the_keys_are_damage() {
    for (first, last) in [
        (2100u64, 1000u64),
        (1000, 1000),
        (1000, 1002),
        (u64::MAX, 0),
    ] {
        let mut keys = good_keys(4);
        keys[..8].copy_from_slice(&first.to_le_bytes());
        keys[8..16].copy_from_slice(&last.to_le_bytes());
        assert_bad_keys(keys.clone(), 4, "ends");
        let all_ones = [&keys[..16], &[0b1111_0000]].concat();
        assert_bad_keys(all_ones, 4, "ends and a stream of ones");
    }
    let mut single = good_keys(1);
    single[8] += 1;
    assert_bad_keys(single, 1, "a single key with two ends");
}

#[test]
fn v17_high_bits_that_do_not_count_the_keys_are_damage() {
    let good = good_keys(4);
    let (low_bits, buckets) = elias_fano_layout(4, 1100);
    assert_eq!((low_bits, buckets), (8, 5));
    for bit in 0..4 + buckets {
        let mut keys = good.clone();
        keys[16 + bit / 8] ^= 0x80 >> (bit % 8);
        assert_bad_keys(keys, 4, "a high bit");
    }
}

#[test]
fn v17_a_one_in_the_last_high_bit_stands_for_no_key() {
    // Three keys as 0, 1 and a one behind the last bucket, where a zero must be.
    let mut keys = Vec::new();
    keys.extend_from_slice(&0u64.to_le_bytes());
    keys.extend_from_slice(&2u64.to_le_bytes());
    keys.push(0b1001_0100);
    assert_bad_keys(keys, 3, "a one behind the last bucket");
}

#[test]
fn v17_keys_that_do_not_ascend_from_the_first_to_the_last_are_damage() {
    for numbers in [
        [0, 3, 3, 1100],
        [0, 4, 3, 1100],
        [0, 0, 600, 1100],
        [0, 1100, 1100, 1100],
        [0, 3, 1100, 1100],
        [1, 3, 600, 1100],
        [0, 3, 600, 1099],
        [0, 3, 600, 1101],
        [0, 3, 600, 1279],
        [0, 3, 600, 601],
        [700, 800, 900, 1100],
    ] {
        let ends = &good_keys(4)[..16];
        let stream = reference::filled(reference::elias_fano(&numbers, 1100));
        assert_bad_keys([ends, &stream].concat(), 4, &format!("{numbers:?}"));
    }
}

#[test]
fn v17_bits_behind_the_keys_are_damage() {
    // 4 + 5 + 4 * 8 bits.
    let good = good_keys(4);
    assert_eq!(good.len(), 16 + 6);
    for bit in 0..7 {
        let mut keys = good.clone();
        keys[21] |= 1 << bit;
        assert_bad_keys(keys, 4, "padding");
    }
    let mut single = good_keys(1);
    assert_eq!(single[16], 0b1000_0000);
    single[16] |= 1;
    assert_bad_keys(single, 1, "padding of a single key");
}

#[test]
fn v17_keys_of_each_table_are_looked_at() {
    for table in 0..2 {
        let mut editor = plain();
        assert!(editor.keys(table).len() > 2);
        let at = editor.section(KEYS, table).offset;
        editor.put_number(at, 1 << 63, 8);
        editor.put_number(at + 8, 5, 8);
        editor.seal_section(KEYS, table);
        assert_eq!(refusal(&editor.finish()), (17, Damaged));
    }
}

#[test]
fn v18_block_counts_with_another_sum_are_damage() {
    for bits in [1, 2, 0x80] {
        let mut editor = numbers();
        let at = editor.section(BLOCK_COUNTS, 0).offset;
        editor.flip(at, bits);
        editor.seal_section(BLOCK_COUNTS, 0);
        assert_eq!(refusal(&editor.finish()), (18, Damaged));
    }
}

#[test]
fn v19_a_pipeline_that_is_no_text_is_damage() {
    let mut editor = with_pipeline();
    let section = editor.section(PIPELINE, 0);
    editor.put_number(section.offset, 0xff, 1);
    editor.seal_section(PIPELINE, 0);
    assert_eq!(refusal(&editor.finish()), (19, Damaged));
    let mut editor = with_pipeline();
    // Cut within the character of two bytes.
    editor.put_number(section.record_at + 16, 3, 8);
    editor.layout.sections.last_mut().unwrap().len = 3;
    editor.seal_section(PIPELINE, 0);
    assert_eq!(refusal(&editor.finish()), (19, Damaged));
}

#[test]
fn v20_parameters_of_ids_that_do_not_fit_their_kind_are_damage() {
    for (at, len) in [(16, 8), (33, 1)] {
        let mut editor = plain();
        editor.put_directory(at, 1, len);
        assert_eq!(refusal(&editor.finish()), (20, Damaged), "no ids, {at}");
    }
    let mut empty = Editor::new(build_numbers(small(), &[]));
    empty.put_directory(33, 65, 1);
    assert_eq!(refusal(&empty.finish()), (20, Damaged));
    let mut editor = strings();
    editor.put_directory(16, 1, 8);
    assert_eq!(refusal(&editor.finish()), (20, Damaged));
    let mut editor = Editor::new(build_strings(small(), &[(1, "a")]));
    editor.put_directory(33, 3, 1);
    assert_eq!(refusal(&editor.finish()), (20, Damaged));
}
