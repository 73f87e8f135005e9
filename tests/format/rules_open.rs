//! Files made wrong by hand, their checksums right: each rule of the stages "open" and "key" (V1 to V20, V41, V42) is
//! noticed by both readers, as the first one broken and in its class.

use simidx::design::TableDesign;
use simidx::format::FormatClass::{Damaged, NotSimidx, Unsupported};
use simidx::{Codec, Width};
use simidx_testkit::editor::{Editor, assemble, seal_footer};
use simidx_testkit::forged::{
    ByHand, IN_BLOCKS, grouped_numbers, numbers, ordered_numbers, ordered_strings, plain, plain_in,
    refusal, small, strings, with_metadata, with_pipeline,
};
use simidx_testkit::parts::Parts;
use simidx_testkit::reference::{
    self, BLOCK_COUNTS, BLOCKS, BUCKET_OFFSETS, BUCKETS, GROUPS, ID_ORDER, KEY_ENTRIES, KEY_GROUPS,
    METADATA, NUMBERS, PIPELINE, PLACES, STRING_CODE, directory, elias_fano_layout, key_sections,
};
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::strings::bad_codes;
use simidx_testkit::{build, build_numbers, build_strings, options};

#[test]
fn the_files_to_be_changed_are_good() {
    for editor in [
        plain(),
        plain_in(Codec::Gap),
        plain_in(Codec::EliasFano),
        plain_in(Codec::Lines),
        with_pipeline(),
        with_metadata(),
        numbers(),
        ordered_numbers(),
        grouped_numbers(),
        strings(),
        ordered_strings(),
    ] {
        assert!(Parts::of(&editor.file).file() == editor.file);
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
    for len in [8, 12, 15] {
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
fn v04_other_widths_are_unsupported() {
    for width in [0, 16, 63, 255, 256, 64 + 256, 65_535] {
        let mut editor = plain();
        editor.put_number(10, width, 2);
        assert_eq!(refusal(&editor.finish()), (4, Unsupported));
    }
}

#[test]
fn v05_footers_that_are_wrong_or_not_at_the_end_are_damage() {
    let file = plain().file;
    let end = file.len();
    for at in end - 40..end {
        let mut file = file.clone();
        file[at] ^= 4;
        assert_eq!(refusal(&file), (5, Damaged), "{at}");
    }
    for len in [16, 55, 56, end - 64, end - 1] {
        assert_eq!(refusal(&file[..len]), (5, Damaged));
    }
    let mut long = file.clone();
    long[end - 24] += 1;
    seal_footer(&mut long);
    assert_eq!(refusal(&long), (5, Damaged));
    // Version, width and what is reserved, under a right checksum.
    for at in 24..32 {
        let mut other = plain();
        other.flip(other.footer_at(at), 0x40);
        assert_eq!(refusal(&other.finish()), (5, Damaged), "{at}");
    }
    let mut twice = file.clone();
    twice.extend_from_slice(&file[end - 40..]);
    assert_eq!(refusal(&twice), (5, Damaged));
}

#[test]
fn v06_directories_that_do_not_fit_are_damage() {
    let good = plain();
    let footer = good.footer_at(0);
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
    for len in [0, 1, 79] {
        let file = assemble(&good.file[..64], &vec![0; len]);
        assert_eq!(refusal(&file), (6, Damaged), "{len}");
    }
    let record_len = good.layout.table_record_len as u128;
    for (field, value) in [
        (directory::SECTION_COUNT, 6),
        (directory::SECTION_COUNT, 8),
        (directory::SECTION_COUNT, 65_535),
        (directory::TABLE_COUNT, 0),
        (directory::TABLE_COUNT, 1),
        (directory::TABLE_COUNT, 65_535),
        (directory::TABLE_RECORD_LEN, 0),
        (directory::TABLE_RECORD_LEN, record_len - 1),
        (directory::TABLE_RECORD_LEN, record_len + 1),
        (directory::TABLE_RECORD_LEN, 65_535),
    ] {
        let mut editor = plain();
        editor.put_directory(field, value);
        assert_eq!(refusal(&editor.finish()), (6, Damaged), "{field:?} {value}");
    }
    // All counts fit to each other, and the records are too short.
    let mut short = Parts::of(&good.file);
    for table in &mut short.tables {
        table.pop();
    }
    short.put(directory::TABLE_RECORD_LEN, record_len - 1);
    assert_eq!(refusal(&short.file()), (6, Damaged));
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
    editor.flip(editor.footer_at(12), 1);
    seal_footer(&mut editor.file);
    assert_eq!(refusal(&editor.file), (7, Damaged));
}

#[test]
fn v08_parameters_out_of_range_are_damage() {
    let fields = [
        (directory::BLOCK_SIZE, 0),
        (directory::BLOCK_SIZE, 64),
        (directory::BLOCK_SIZE, 100),
        (directory::BLOCK_SIZE, 1000),
        (directory::BLOCK_SIZE, 1 << 17),
        (directory::MAX_DISTANCE, 65),
        (directory::MAX_DISTANCE, 256),
        (directory::MAX_DISTANCE, 65_535),
        (directory::FINGERPRINT_COUNT, (1 << 48) + 1),
        (directory::RECORD_COUNT, (1 << 48) + 1),
        (directory::RECORD_COUNT, u128::from(u64::MAX)),
        (directory::RECORD_COUNT, 59),
        (directory::FINGERPRINT_COUNT, 61),
        (directory::FINGERPRINT_COUNT, 0),
    ];
    for (field, value) in fields {
        let mut editor = plain();
        editor.put_directory(field, value);
        assert_eq!(refusal(&editor.finish()), (8, Damaged), "{field:?} {value}");
    }
    let narrow = options(TableDesign::choose_bands(Width::W32, 1, 2).unwrap(), 128);
    let mut editor = Editor::new(build(narrow, &[1_u32]));
    editor.put_directory(directory::FINGERPRINT_COUNT, (1 << 32) + 1);
    editor.put_directory(directory::RECORD_COUNT, (1 << 32) + 1);
    assert_eq!(refusal(&editor.finish()), (8, Damaged));
    let mut empty = Editor::new(build::<u64>(small(), &[]));
    empty.put_directory(directory::RECORD_COUNT, 1);
    assert_eq!(refusal(&empty.finish()), (8, Damaged));
}

#[test]
fn v08_no_tables_and_too_many_are_damage() {
    let good = Parts::of(&plain().file);
    for count in [0, 256, 400] {
        let mut parts = good.clone();
        parts.tables = vec![good.tables[0].clone(); count];
        assert_eq!(refusal(&parts.file()), (8, Damaged), "{count}");
    }
}

#[test]
fn v09_unknown_numbers_and_reserved_bytes_are_unsupported() {
    let good = plain();
    let in_directory = |at: usize| good.layout.directory_at + at;
    let table = good.layout.tables[1].record_at;
    let section = good.layout.sections[2].record_at;
    for (at, value) in [
        (in_directory(directory::ID_KIND.0), 3),
        (in_directory(directory::ID_KIND.0), 255),
        (in_directory(directory::RESERVED.0), 1),
        (in_directory(directory::RESERVED.0 + 1), 128),
        (in_directory(directory::LAST_RESERVED.0), 1),
        (in_directory(directory::LAST_RESERVED.0 + 7), 128),
        (table + 8, 0),
        (table + 8, 5),
        (table + 8, 255),
        (table + 9, 1),
        (table + 15, 1),
        (section, 0),
        (section, 17),
        (section + 1, 1),
        (section + 1, 0x7f),
    ] {
        let mut editor = good.clone();
        editor.put_number(at, value, 1);
        assert_eq!(refusal(&editor.finish()), (9, Unsupported), "{at} {value}");
    }
    for bit in 0..64 {
        let mut editor = good.clone();
        editor.put_directory(directory::INCOMPATIBLE_FEATURES, 1 << bit);
        assert_eq!(refusal(&editor.finish()), (9, Unsupported), "{bit}");
    }
    for kind in [17, 100, 0x7fff] {
        let mut parts = Parts::of(&good.file);
        parts.add(kind, vec![1]);
        assert_eq!(refusal(&parts.file()), (9, Unsupported), "{kind}");
    }
}

#[test]
fn what_readers_may_ignore_is_ignored() {
    for editor in [
        plain(),
        ordered_numbers(),
        ordered_strings(),
        with_metadata(),
    ] {
        let good = Parts::of(&editor.file);
        for bit in 0..64 {
            let mut parts = good.clone();
            parts.put(directory::COMPATIBLE_FEATURES, 1 << bit);
            assert_eq!(common_verdict(&parts.file()), "sound", "{bit}");
        }
        for len in [1, 7, 1000] {
            let mut parts = good.clone();
            let records = parts.tables.iter_mut();
            records.for_each(|record| record.resize(record.len() + len, 0xa5));
            let record_len = parts.tables[0].len() as u128;
            parts.put(directory::TABLE_RECORD_LEN, record_len);
            assert_eq!(common_verdict(&parts.file()), "sound", "{len}");
        }
        for lengths in [&[0][..], &[1, 64, 65], &[5000, 0, 3]] {
            let mut parts = good.clone();
            for (&len, kind) in lengths.iter().zip([0xffff, 0x8000, 0xffff]) {
                parts.add(kind, vec![0xa5; len]);
            }
            assert_eq!(common_verdict(&parts.file()), "sound", "{lengths:?}");
        }
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
        let at = editor.layout.tables[0].mask_at;
        editor.put_number(at, mask, 8);
        assert_eq!(refusal(&editor.finish()), (11, Damaged), "{mask:x}");
    }
}

#[test]
fn masks_and_distances_need_not_fit_each_other() {
    for distance in [0, 2, 3, 64] {
        let mut editor = plain();
        editor.put_directory(directory::MAX_DISTANCE, distance);
        assert_eq!(common_verdict(&editor.finish()), "sound", "{distance}");
    }
    for mask in [0, 0xffff_0000_0000_0000, u64::MAX] {
        let mut editor = plain();
        let at = editor.layout.tables[0].mask_at;
        editor.put_number(at, mask.into(), 8);
        assert_eq!(common_verdict(&editor.finish()), "sound", "{mask:x}");
    }
}

#[test]
fn v12_code_lengths_of_a_codec_without_a_code_are_damage() {
    let good = plain_in(Codec::EliasFano);
    for table in 0..2 {
        for (symbol, len) in [(0, 1), (63, 1), (5, 255)] {
            let mut editor = good.clone();
            let lengths = editor.layout.tables[table].lengths_at;
            editor.put_number(lengths + symbol, len, 1);
            assert_eq!(refusal(&editor.finish()), (12, Damaged), "{symbol} {len}");
        }
    }
    // A complete code that was of another codec.
    let mut editor = plain();
    let at = editor.layout.tables[0].codec_at;
    editor.put_number(at, 3, 1);
    assert_eq!(refusal(&editor.finish()), (12, Damaged));
}

#[test]
fn of_masks_and_codes_the_first_rule_is_reported() {
    let mut editor = plain();
    let tables = editor.layout.tables.clone();
    editor.put_number(tables[0].lengths_at, 255, 1);
    assert_eq!(refusal(&editor.clone().finish()), (13, Damaged));
    editor.put_number(tables[1].codec_at, 3, 1);
    assert_eq!(refusal(&editor.clone().finish()), (12, Damaged));
    editor.put_number(tables[0].mask_at, 1, 8);
    assert_eq!(refusal(&editor.finish()), (11, Damaged));
}

#[test]
fn v13_code_lengths_that_are_no_code_are_damage() {
    let good = plain();
    for table in 0..2 {
        let lengths = good.layout.tables[table].lengths_at;
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
    let mut lone = Editor::new(build(small(), &[0_u64, 1]));
    let at = lone.layout.tables[0].lengths_at;
    lone.put_number(at, 2, 1);
    assert_eq!(refusal(&lone.finish()), (13, Damaged));
}

#[test]
fn v14_block_counts_that_cannot_hold_the_values_are_damage() {
    for blocks in [0, 61, u64::MAX] {
        let mut editor = plain();
        let at = editor.layout.tables[1].record_at;
        editor.put_number(at, blocks.into(), 8);
        assert_eq!(refusal(&editor.finish()), (14, Damaged), "{blocks}");
    }
    let mut editor = plain();
    let count = (editor.layout.tables[0].block_count as u128) * 65_536 + 1;
    editor.put_directory(directory::FINGERPRINT_COUNT, count);
    editor.put_directory(directory::RECORD_COUNT, count);
    assert_eq!(refusal(&editor.finish()), (14, Damaged));
}

#[test]
fn v15_sections_elsewhere_than_they_must_be_are_damage() {
    for good in [numbers(), ordered_strings(), with_metadata()] {
        for (i, section) in good.layout.sections.iter().enumerate() {
            let (at, offset, len) = (
                section.record_at,
                section.offset as u128,
                section.len as u128,
            );
            for (at, value, bytes) in [
                (
                    at,
                    if section.kind == GROUPS {
                        4
                    } else {
                        u128::from(section.kind % 14 + 1)
                    },
                    2,
                ),
                (at + 2, u128::from(section.table) + 1, 2),
                (at + 8, offset + 64, 8),
                (at + 8, offset.wrapping_sub(1), 8),
                (at + 8, u64::MAX.into(), 8),
                (at + 16, len + 1, 8),
                (at + 16, len.wrapping_sub(1), 8),
                (at + 16, u64::MAX.into(), 8),
            ] {
                let mut editor = good.clone();
                editor.put_number(at, value, bytes);
                // Of these lengths other rules know more.
                let is_free = [KEY_GROUPS, STRING_CODE, METADATA].contains(&section.kind);
                let a_length = is_free && at == section.record_at + 16;
                // Of the buckets any length will do until a page is read.
                let end = |len: u128| (offset + (len & u128::from(u64::MAX))).next_multiple_of(64);
                if section.kind == BUCKETS && at == section.record_at + 16 && end(value) == end(len)
                {
                    continue;
                }
                let rule = match section.kind {
                    _ if !a_length || end(value) != end(len) => 15,
                    KEY_GROUPS => 17,
                    _ => 16,
                };
                let what = format!("section {i}: {value:x}");
                assert_eq!(refusal(&editor.finish()), (rule, Damaged), "{what}");
            }
        }
    }
}

#[test]
fn v15_checksums_in_records_of_sections_with_their_own_are_damage() {
    for (editor, kinds) in [
        (
            grouped_numbers(),
            &[BLOCKS, GROUPS, NUMBERS, KEY_GROUPS][..],
        ),
        (
            ordered_strings(),
            &[PLACES, BUCKET_OFFSETS, BUCKETS, ID_ORDER],
        ),
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
    for good in [
        plain(),
        ordered_numbers(),
        ordered_strings(),
        with_metadata(),
    ] {
        let parts = Parts::of(&good.file);
        for i in 0..parts.sections.len() {
            let mut twice = parts.clone();
            twice.sections.insert(i, parts.sections[i].clone());
            assert_eq!(refusal(&twice.file()), (15, Damaged), "{i} twice");
            let kind = parts.sections[i].kind;
            if ![ID_ORDER, METADATA].contains(&kind) {
                let mut fewer = parts.clone();
                fewer.sections.remove(i);
                assert_eq!(refusal(&fewer.file()), (15, Damaged), "{i} missing");
            }
        }
        // Those that may be missing are no damage.
        let mut fewer = parts.clone();
        fewer
            .sections
            .retain(|s| ![ID_ORDER, METADATA].contains(&s.kind));
        assert_eq!(common_verdict(&fewer.file()), "sound");
    }
    let mut editor = plain();
    for field in [directory::FINGERPRINT_COUNT, directory::RECORD_COUNT] {
        editor.put_directory(field, 1 << 48);
    }
    editor.put_directory(directory::BLOCK_SIZE, 1 << 13);
    for table in 0..2 {
        let at = editor.layout.tables[table].record_at;
        editor.put_number(at, 1 << 48, 8);
    }
    assert_eq!(refusal(&editor.finish()), (15, Damaged));
}

#[test]
fn v15_ancillary_sections_out_of_place_are_damage() {
    let mut parts = Parts::of(&plain().file);
    parts.add(0x8000, vec![1; 10]);
    parts.add(0x9000, vec![2; 100]);
    let good = Editor::new(parts.file());
    for (kind, at, value, len) in [
        (0x8000, 2, 1, 2),
        (0x8000, 8, 0, 8),
        (0x9000, 8, u128::from(u64::MAX) - 63, 8),
        (0x8000, 16, 1000, 8),
        (0x9000, 16, u64::MAX.into(), 8),
        (0x9000, 16, 129, 8),
    ] {
        let mut editor = good.clone();
        let record = editor.section(kind, 0).record_at;
        editor.put_number(record + at, value, len);
        assert_eq!(refusal(&editor.finish()), (15, Damaged), "{kind:x} {at}");
    }
    let last = parts.sections.len() - 1;
    parts.sections.swap(last - 1, last);
    assert_eq!(common_verdict(&parts.file()), "sound", "in any order");
    parts.sections.swap(last - 2, last);
    assert_eq!(
        refusal(&parts.file()),
        (15, Damaged),
        "but after all others"
    );
}

#[test]
fn v15_paged_lengths_that_no_payload_has_are_damage() {
    let mut editor = strings();
    let section = editor.section(BUCKETS, 0);
    editor.put_number(section.record_at + 16, 3, 8);
    assert_eq!(refusal(&editor.finish()), (15, Damaged));
}

#[test]
fn v16_wrong_section_checksums_are_damage() {
    for (editor, kind, table) in [
        (plain(), KEY_ENTRIES, 0),
        (plain(), KEY_ENTRIES, 1),
        (plain(), BLOCK_COUNTS, 0),
        (numbers(), BLOCK_COUNTS, 0),
        (strings(), STRING_CODE, 0),
        (with_pipeline(), PIPELINE, 0),
        (with_metadata(), METADATA, 0),
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

#[test]
fn v16_wrong_checksums_of_key_groups_are_damage() {
    for table in 0..2 {
        let (good, key_len) = (plain(), 8);
        let groups = good.section(KEY_GROUPS, table);
        for at in [0, groups.len - 1] {
            let mut contents = good.clone();
            contents.flip(groups.offset + at, 1);
            assert_eq!(refusal(&contents.finish()), (16, Damaged), "{at}");
        }
        let entries = good.section(KEY_ENTRIES, table);
        for byte in 0..4 {
            let mut checksum = good.clone();
            checksum.flip(entries.offset + key_len + 8 + byte, 1);
            checksum.seal_section(KEY_ENTRIES, table);
            assert_eq!(refusal(&checksum.finish()), (16, Damaged), "{byte}");
        }
    }
}

/// A file of 512 blocks of one value each: two key groups of one length.
fn two_key_groups() -> Editor {
    let values: Vec<[u128; 1]> = (0..512u128).map(|i| [1000 * i + i * i % 997]).collect();
    let blocks: Vec<&[u128]> = values.iter().map(|value| &value[..]).collect();
    Editor::new(ByHand::new(Codec::EliasFano, &blocks).file())
}

#[test]
fn v16_a_key_group_in_the_place_of_another_is_damage() {
    let good = two_key_groups();
    assert_eq!(common_verdict(&good.file), "sound");
    let (groups, entries) = (good.section(KEY_GROUPS, 0), good.section(KEY_ENTRIES, 0));
    let half = groups.len / 2;
    let checksum = |group: usize| entries.offset + 20 * group + 16;
    let mut exchanged = good.clone();
    exchanged.swap(groups.offset, groups.offset + half, half);
    exchanged.swap(checksum(0), checksum(1), 4);
    exchanged.seal_section(KEY_ENTRIES, 0);
    assert_eq!(refusal(&exchanged.finish()), (16, Damaged));
    for (from, to) in [(0, 1), (1, 0)] {
        let mut repeated = good.clone();
        let at = |group| groups.offset + half * group;
        repeated.file.copy_within(at(from)..at(from) + half, at(to));
        repeated
            .file
            .copy_within(checksum(from)..checksum(from) + 4, checksum(to));
        repeated.seal_section(KEY_ENTRIES, 0);
        assert_eq!(refusal(&repeated.finish()), (16, Damaged));
    }
}

#[test]
fn v17_entries_that_do_not_ascend_or_end_elsewhere_are_damage() {
    let good = two_key_groups();
    let keys = good.keys(0);
    let len = good.section(KEY_GROUPS, 0).len as u128;
    let entries = good.section(KEY_ENTRIES, 0).offset;
    for (at, value) in [
        (0, keys[511]),
        (0, keys[511] + 1),
        (0, 0),
        (0, 254),
        (20, keys[255]),
        (20, keys[255] - 1),
        (20, keys[255] + 255),
        (20, 0),
        (8, 0),
        (8, len / 2 - 1),
        (8, len / 2 + 1),
        (8, len),
        (8, u64::MAX.into()),
        (28, 0),
        (28, len / 2),
        (28, len - 1),
        (28, len + 1),
        (28, u64::MAX.into()),
    ] {
        let mut editor = good.clone();
        editor.put_number(entries + at, value, 8);
        editor.seal_keys(0);
        assert_eq!(refusal(&editor.finish()), (17, Damaged), "{at} {value}");
    }
}

/// Refuses a file of one table with these bytes of its only key group, that many blocks, and that last key.
fn assert_bad_group(group: &[u8], block_count: usize, last: u128, what: &str) {
    for codec in IN_BLOCKS {
        let blocks: [&[u128]; 4] = [&[1, 1000], &[1003], &[1500, 1600], &[2100]];
        let mut file = ByHand::new(codec, &blocks[..block_count]);
        let mut entries = reference::key_entry(group, (last, group.len()), 64, (0, 0));
        if block_count == 0 {
            entries.clear();
        }
        assert_ne!(file.keys, (group.to_vec(), entries.clone()), "{what}");
        file.keys = (group.to_vec(), entries);
        assert_eq!(refusal(&file.file()), (17, Damaged), "{what}");
    }
}

const GOOD_KEYS: [u128; 4] = [1000, 1003, 1600, 2100];

fn good_group(count: usize) -> Vec<u8> {
    key_sections(&GOOD_KEYS[..count], 64, 0).0
}

#[test]
fn v17_key_groups_of_another_length_are_damage() {
    for count in 0..=4 {
        let good = good_group(count);
        let last = GOOD_KEYS[count.saturating_sub(1)];
        for more in [&[0][..], &[0; 8], &[1], &[0; 64]] {
            assert_bad_group(&[&good[..], more].concat(), count, last, "longer");
        }
        for len in 0..good.len() {
            assert_bad_group(&good[..len], count, last, "shorter");
        }
    }
    for other in 0..4 {
        assert_bad_group(&good_group(other), 4, GOOD_KEYS[3], "fewer keys");
        assert_bad_group(&good_group(4), other, GOOD_KEYS[3], "more keys");
    }
}

#[test]
fn v17_ends_that_leave_no_room_for_the_keys_are_damage() {
    for last in 0..3 {
        let (all_ones, many) = ([0b1111_0000], [0xff; 6]);
        for group in [&good_group(4)[..], &all_ones, &many, &[]] {
            assert_bad_group(group, 4, last, "no room");
        }
    }
    // Just as many numbers as there are.
    let mut dense = ByHand::new(Codec::Gap, &[&[0], &[1], &[2], &[3]]);
    assert_eq!(common_verdict(&dense.file()), "sound");
    assert_eq!(dense.keys.0, [0b1010_1000]);
    dense.keys.0[0] = 0b1100_1000;
    dense.keys.1 = reference::key_entry(&dense.keys.0, (3, 1), 64, (0, 0));
    assert_eq!(refusal(&dense.file()), (17, Damaged));
}

#[test]
fn v17_high_bits_that_do_not_count_the_keys_are_damage() {
    let good = good_group(4);
    let (low_bits, buckets) = elias_fano_layout(3, 2099);
    assert_eq!((low_bits, buckets), (9, 5));
    for bit in 0..3 + buckets {
        let mut group = good.clone();
        group[bit / 8] ^= 0x80 >> (bit % 8);
        assert_bad_group(&group, 4, 2100, "a high bit");
    }
}

#[test]
fn v17_keys_that_do_not_ascend_below_the_last_one_are_damage() {
    for numbers in [
        [3, 3, 1100],
        [4, 3, 1100],
        [0, 2099, 2099],
        [0, 3, 2100],
        [0, 3, 2101],
        [0, 3, 2559],
        [700, 1600, 1599],
    ] {
        let stream = reference::filled(reference::elias_fano(&numbers, 2099));
        assert_bad_group(&stream, 4, 2100, &format!("{numbers:?}"));
    }
}

#[test]
fn v17_a_one_in_the_last_high_bit_stands_for_no_key() {
    // One key as a one after the last bucket, where a zero must be: of two keys up to 2100, 2099 >> 11 is 1.
    let group = reference::filled(
        [false, false, true]
            .into_iter()
            .chain([false; 11])
            .collect(),
    );
    for codec in IN_BLOCKS {
        let mut file = ByHand::new(codec, &[&[1000], &[2100]]);
        assert_eq!(file.keys.0.len(), group.len());
        file.keys.1 = reference::key_entry(&group, (2100, group.len()), 64, (0, 0));
        file.keys.0.clone_from(&group);
        assert_eq!(refusal(&file.file()), (17, Damaged));
    }
}

#[test]
fn v17_bits_after_the_keys_are_damage() {
    // 3 + 5 + 3 * 9 bits.
    let good = good_group(4);
    assert_eq!(good.len(), 5);
    for bit in 0..5 {
        let mut group = good.clone();
        group[4] |= 1 << bit;
        assert_bad_group(&group, 4, 2100, "padding");
    }
}

#[test]
fn v17_keys_of_each_table_are_looked_at() {
    for table in 0..2 {
        let mut editor = plain();
        assert!(editor.keys(table).len() > 2);
        let at = editor.section(KEY_ENTRIES, table).offset;
        editor.put_number(at, 1, 8);
        editor.seal_section(KEY_ENTRIES, table);
        assert_eq!(refusal(&editor.finish()), (17, Damaged));
    }
}

#[test]
fn of_the_rules_of_opening_the_first_is_reported() {
    let mut parts = Parts::of(&plain().file);
    parts.add(METADATA, entry(1, 0, b"a"));
    let mut groups = Editor::new(parts.file());
    // From the last to the first, each on top of the others.
    let metadata = groups.section(METADATA, 0);
    groups.file[metadata.offset] = 0;
    groups.seal_section(METADATA, 0);
    assert_eq!(refusal(&groups.clone().finish()), (41, Damaged));
    let counts = groups.section(BLOCK_COUNTS, 0);
    groups.flip(counts.offset, 1);
    groups.seal_section(BLOCK_COUNTS, 0);
    assert_eq!(refusal(&groups.clone().finish()), (18, Damaged));
    let entries = groups.section(KEY_ENTRIES, 1);
    groups.flip(entries.offset + 8, 1);
    groups.seal_section(KEY_ENTRIES, 1);
    assert_eq!(refusal(&groups.clone().finish()), (17, Damaged));
    // A group of table 0 comes before the entries of table 1.
    groups.flip(groups.section(KEY_GROUPS, 0).offset, 1);
    assert_eq!(refusal(&groups.finish()), (16, Damaged));
}

#[test]
fn v18_block_counts_with_another_sum_are_damage() {
    for (good, bits) in [
        (plain(), 1),
        (numbers(), 1),
        (numbers(), 2),
        (strings(), 0x80),
    ] {
        let mut editor = good;
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
    // Cut within the character of two bytes.
    let mut parts = Parts::of(&with_pipeline().file);
    parts.section(PIPELINE, 0).truncate(3);
    assert_eq!(refusal(&parts.file()), (19, Damaged));
}

#[test]
fn v20_parameters_of_ids_that_do_not_fit_their_kind_are_damage() {
    for field in [directory::ID_BASE, directory::ID_BITS] {
        let mut editor = plain();
        editor.put_directory(field, 1);
        assert_eq!(
            refusal(&editor.finish()),
            (20, Damaged),
            "no ids, {field:?}"
        );
    }
    let mut empty = Editor::new(build_numbers::<u64>(small(), &[]));
    empty.put_directory(directory::ID_BITS, 65);
    assert_eq!(refusal(&empty.finish()), (20, Damaged));
    let mut editor = strings();
    editor.put_directory(directory::ID_BASE, 1);
    assert_eq!(refusal(&editor.finish()), (20, Damaged));
    let mut editor = Editor::new(build_strings(small(), &[(1_u64, "an id of several bytes")]));
    let bits = editor.layout.id_bits as u128;
    assert!(
        (2..8).contains(&bits),
        "the offset of the bucket takes a byte"
    );
    for other in [bits - 1, bits + 1] {
        editor.put_directory(directory::ID_BITS, other);
        assert_eq!(refusal(&editor.clone().finish()), (20, Damaged));
    }
}

/// An entry of metadata that says its key and value are so long.
fn entry(key_len: u8, value_len: u32, rest: &[u8]) -> Vec<u8> {
    [&[key_len][..], &value_len.to_le_bytes(), rest].concat()
}

#[test]
fn v41_metadata_that_are_not_well_formed_are_damage() {
    let good = Parts::of(&with_metadata().file);
    let verdict = |bytes: Vec<u8>| {
        let mut parts = good.clone();
        *parts.section(METADATA, 0) = bytes;
        common_verdict(&parts.file())
    };
    let entries = |entries: &[Vec<u8>]| verdict(entries.concat());
    assert_eq!(entries(&[entry(1, 0, b"a")]), "sound");
    assert_eq!(entries(&[entry(1, 2, b"abc"), entry(2, 0, b"aa")]), "sound");
    assert_eq!(
        entries(&[entry(1, 0, b"Z"), entry(2, 1, "é.".as_bytes())]),
        "sound"
    );
    let longest = entry(255, 1, &[b'x'; 256]);
    assert_eq!(verdict(longest.clone()), "sound");
    for len in 1..longest.len() {
        assert_eq!(
            verdict(longest[..len].to_vec()),
            "damaged V41",
            "{len} bytes"
        );
    }
    for wrong in [
        &[entry(0, 0, b"")][..],
        &[entry(0, 1, b"a")],
        &[entry(1, 0, b"a"), entry(1, 0, b"a")],
        &[entry(1, 0, b"b"), entry(1, 0, b"a")],
        &[entry(2, 0, b"aa"), entry(1, 0, b"a")],
        &[entry(1, u32::MAX, b"a")],
        &[entry(1, 0, b"\xff")],
        &[entry(1, 1, b"a\xc3")],
        &[entry(1, 0, b"a"), vec![0]],
    ] {
        assert_eq!(entries(wrong), "damaged V41", "{wrong:?}");
    }
}

#[test]
fn v42_string_codes_that_are_not_well_formed_are_damage() {
    let good = Parts::of(&strings().file);
    let section = good.clone().section(STRING_CODE, 0).clone();
    for (what, bytes) in bad_codes(&section) {
        let mut parts = good.clone();
        *parts.section(STRING_CODE, 0) = bytes;
        assert_eq!(refusal(&parts.file()), (42, Damaged), "{what}");
    }
}
