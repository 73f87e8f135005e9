//! Fields of good files with many wrong values each: the library refuses every one by its rule. The corpus has a few of
//! each for readers in other languages.

use std::fs;

use simidx::Codec;
use simidx::format::FORMAT_VERSION;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{
    self, BUCKETS, GROUPS, KEY_ENTRIES, KEY_GROUPS, METADATA, STRING_CODE, directory,
    elias_fano_layout,
};
use simidx_testkit::forged::{ByHand, numbers, ordered_strings, plain, small, strings};
use simidx_testkit::manifest::folder;
use simidx_testkit::parts::Parts;
use simidx_testkit::python_reader::verdict;
use simidx_testkit::{build, build_strings, each_id, uniform};

#[test]
fn v05_reserved_bytes_of_the_footer_are_zero() {
    // Version, width and what is reserved.
    for byte in 24..32 {
        for bit in 0..8 {
            let mut editor = plain();
            editor.flip(editor.footer_at(byte), 1 << bit);
            assert_eq!(verdict(&editor.finish()), "damaged V5", "{byte} {bit}");
        }
    }
}

#[test]
fn v08_distances_are_at_most_the_width() {
    for (distance, expected) in [
        (64, "sound"),
        (65, "damaged V8"),
        (256, "damaged V8"),
        (65_535, "damaged V8"),
    ] {
        let mut editor = plain();
        editor.put_directory(directory::MAX_DISTANCE, distance);
        assert_eq!(verdict(&editor.finish()), expected, "{distance}");
    }
}

#[test]
fn v09_each_incompatible_feature_is_unsupported_and_each_compatible_one_ignored() {
    for bit in 0..64 {
        for (field, expected) in [
            (directory::INCOMPATIBLE_FEATURES, "unsupported V9"),
            (directory::COMPATIBLE_FEATURES, "sound"),
        ] {
            let mut editor = plain();
            editor.put_directory(field, 1 << bit);
            assert_eq!(verdict(&editor.finish()), expected, "{bit}");
        }
    }
}

/// A file with the metadata `key` = `value`.
fn with_metadata() -> Editor {
    let mut parts = Parts::of(&plain().file);
    parts.add(METADATA, entry(3, 5, b"keyvalue"));
    Editor::new(parts.file())
}

/// An entry of metadata that says its key and value have these lengths.
fn entry(key_len: u8, value_len: u32, rest: &[u8]) -> Vec<u8> {
    [&[key_len][..], &value_len.to_le_bytes(), rest].concat()
}

#[test]
fn v15_sections_are_where_they_must_be() {
    for good in [numbers(), ordered_strings(), with_metadata()] {
        assert_eq!(verdict(&good.file), "sound");
        for section in good.layout.sections.clone() {
            let (kind, at) = (section.kind, section.record_at);
            let (offset, len) = (section.offset as u128, section.len as u128);
            let other_kind = if kind == GROUPS { 4 } else { kind % 14 + 1 };
            let end = |len: u128| (offset + (len & u128::from(u64::MAX))).next_multiple_of(64);
            for (field, value, bytes) in [
                (0, other_kind.into(), 2),
                (2, u128::from(section.table) + 1, 2),
                (8, offset + 64, 8),
                (8, offset.wrapping_sub(1), 8),
                (8, u64::MAX.into(), 8),
                (16, len + 1, 8),
                (16, len.wrapping_sub(1), 8),
                (16, u64::MAX.into(), 8),
            ] {
                // A length that leaves the next section where it is breaks the rule of what is in these.
                let expected = match kind {
                    _ if field != 16 || end(value) != end(len) => "damaged V15",
                    KEY_GROUPS => "damaged V17",
                    STRING_CODE | METADATA => "damaged V16",
                    BUCKETS => continue,
                    _ => "damaged V15",
                };
                let mut editor = good.clone();
                editor.put_number(at + field, value, bytes);
                let found = verdict(&editor.finish());
                assert_eq!(found, expected, "kind {kind}, {field}: {value:x}");
            }
        }
    }
}

#[test]
fn v15_each_section_is_there_once() {
    for good in [numbers(), ordered_strings(), with_metadata()] {
        let parts = Parts::of(&good.file);
        for i in 0..parts.sections.len() {
            let mut twice = parts.clone();
            twice.sections.insert(i, parts.sections[i].clone());
            assert_eq!(verdict(&twice.file()), "damaged V15", "{i} twice");
            if ![encoding::ID_ORDER, METADATA].contains(&parts.sections[i].kind) {
                let mut fewer = parts.clone();
                fewer.sections.remove(i);
                assert_eq!(verdict(&fewer.file()), "damaged V15", "{i} missing");
            }
        }
    }
}

#[test]
fn v17_entries_of_several_groups_ascend_and_end_with_their_groups() {
    let file = folder(FORMAT_VERSION).join("good-two-key-groups.simidx");
    let good = Editor::new(fs::read(file).unwrap());
    let keys = good.keys(0);
    assert_eq!((good.layout.width, keys.len()), (64, 512));
    let len = good.section(KEY_GROUPS, 0).len as u128;
    let entries = good.section(KEY_ENTRIES, 0);
    assert_eq!(entries.len, 40);
    let end = encoding::number(&good.file, entries.offset + 8, 8);
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
        (8, end - 1),
        (8, end + 1),
        (8, len),
        (8, u64::MAX.into()),
        (28, 0),
        (28, end),
        (28, len - 1),
        (28, len + 1),
        (28, u64::MAX.into()),
    ] {
        let mut editor = good.clone();
        editor.put_number(entries.offset + at, value, 8);
        editor.seal_keys(0);
        assert_eq!(verdict(&editor.finish()), "damaged V17", "{at} {value}");
    }
}

#[test]
fn v20_bits_of_strings_are_those_of_the_buckets() {
    let good = Editor::new(build_strings(small(), &[(1_u64, "an id of several bytes")]));
    let bits = good.layout.id_bits as u128;
    assert!((2..8).contains(&bits), "the offset takes a byte");
    for other in [bits - 1, bits + 1] {
        let mut editor = good.clone();
        editor.put_directory(directory::ID_BITS, other);
        assert_eq!(verdict(&editor.finish()), "damaged V20", "{other}");
    }
}

/// The key of the first block of two, and the values of the second.
const BEFORE: u128 = 1000;
const VALUES: [u128; 5] = [1003, 1010, 1011, 2000, 2100];

#[test]
fn v22_each_high_bit_counts_the_values() {
    let good = ByHand::new(Codec::EliasFano, &[&[1, BEFORE], &VALUES]);
    assert_eq!(verdict(&good.file()), "sound");
    let stream = good.coding().stream(Some(BEFORE), &VALUES);
    let (_, buckets) = elias_fano_layout(4, VALUES[4] - BEFORE - 2);
    for bit in 0..4 + buckets {
        let mut changed = stream.clone();
        let value = changed[bit];
        changed.set(bit, !value);
        let mut file = good.clone();
        file.replace(1, VALUES.len(), &changed);
        assert_eq!(verdict(&file.file()), "damaged V22", "{bit}");
    }
    // Counts that change the layout, up to the largest.
    for count in [2, 1 << 10] {
        let mut file = good.clone();
        file.replace(1, count, &stream);
        assert_eq!(verdict(&file.file()), "damaged V22", "{count} values");
    }
}

#[test]
fn v25_stored_values_are_below_the_key() {
    for codec in [Codec::Xor, Codec::Gap] {
        for last in [VALUES[4], VALUES[4] + 1, 1 << 40, u64::MAX.into()] {
            let mut second = ByHand::new(codec, &[&[1, BEFORE], &VALUES]);
            let stream = second
                .coding()
                .stream(Some(BEFORE), &[1003, last, VALUES[4]]);
            second.replace(1, 3, &stream);
            assert_eq!(verdict(&second.file()), "damaged V25", "{codec:?} {last}");
            // The first value of a table is stored in full.
            let mut first = ByHand::new(codec, &[&[5, 9]]);
            let stream = first.coding().stream(None, &[last, 9]);
            first.replace(0, 2, &stream);
            assert_eq!(verdict(&first.file()), "damaged V25", "{codec:?} {last}");
        }
    }
}

#[test]
fn v32_an_offset_below_the_one_before_is_met_by_those_who_read_its_ids() {
    let mut parts = Parts::of(&strings().file);
    let buckets = parts.buckets();
    assert_eq!(buckets.len(), 3);
    // The second bucket ends a byte before it begins.
    let start = buckets[0].len() as u128;
    parts.put_offsets(&[0, start, start - 1]);
    let index = simidx_testkit::open::<u64>(parts.file());
    let error = each_id(index.ids_of(20 << 50), |_| ()).unwrap_err();
    assert!(error.to_string().contains("rule V32"), "{error}");
}

#[test]
fn v35_another_table_with_a_value_more_or_less_is_noticed() {
    let good = Editor::new(build(small().codec(Codec::EliasFano), &uniform::<u64>(60)));
    let last = good.layout.tables[1].block_count - 1;
    let values = good.blocks(1).swap_remove(last);
    let gap = values.windows(2).position(|pair| pair[0] + 1 < pair[1]);
    let mut more = values.clone();
    more.insert(gap.unwrap() + 1, values[gap.unwrap()] + 1);
    for values in [&more[..], &values[1..]] {
        let mut editor = good.clone();
        editor.put_values(1, last, values);
        assert_eq!(verdict(&editor.finish()), "damaged V35");
    }
}

#[test]
fn v41_metadata_are_complete() {
    let good = Parts::of(&with_metadata().file);
    let longest = entry(255, 1, &[b'x'; 256]);
    for len in 1..=longest.len() {
        let mut parts = good.clone();
        *parts.section(METADATA, 0) = longest[..len].to_vec();
        let expected = if len < longest.len() {
            "damaged V41"
        } else {
            "sound"
        };
        assert_eq!(verdict(&parts.file()), expected, "{len} bytes");
    }
}
