//! The bounds in the rules of the specification: a file at each breaks no such rule, one beyond it does.

use std::fs;

use simidx::format::FORMAT_VERSION;
use simidx::format::FormatClass::{Damaged, Unsupported};
use simidx::{Codec, Error, Fingerprint, Index, Set, Storage, Width};

use super::limits::{least, most};
use super::worked_file::worked_file;
use simidx_testkit::document::{named_table, numbers, row, specification};
use simidx_testkit::editor::{Editor, assemble};
use simidx_testkit::encoding::{directory, elias_fano, elias_fano_layout, filled, key_entry, room};
use simidx_testkit::forged::{ByHand, IN_BLOCKS, found, plain, refusal, small};
use simidx_testkit::manifest::folder;
use simidx_testkit::python_reader::common_verdict;
use simidx_testkit::{build, build_numbers, build_strings, forged, options};

/// The rule by which a file is refused when it is opened, if it is.
fn rule(file: &[u8]) -> Option<u8> {
    match Set::from_bytes(Storage::copy(file)) {
        Ok(_) => None,
        Err(Error::Format(error)) => Some(error.rule()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn v05_the_shortest_file_is_looked_at_beyond_its_length() {
    let least = least("length of the file") as usize;
    let mut file = assemble(&worked_file()[..16], &[]);
    assert_eq!(file.len(), least);
    assert_eq!(refusal(&file), (6, Damaged));
    file.remove(16);
    assert_eq!(refusal(&file), (5, Damaged));
}

#[test]
fn v04_the_widths_are_those_listed() {
    let header = named_table(&specification(), "header");
    let listed = header.iter().find(|field| field[3] == "width").unwrap();
    let widths = numbers(&listed[4].replace(" or ", ", "));
    assert_eq!(widths.len(), 3);
    let rules = named_table(&specification(), "rules");
    assert!(row(&rules, "V4")[1].contains(&listed[4]));
    for width in 0..=300u16 {
        let mut editor = plain();
        editor.put_number(10, width.into(), 2);
        let file = editor.finish();
        let is_known = rule(&file) != Some(4);
        assert_eq!(is_known, widths.contains(&width.into()), "{width}");
        assert!(is_known || refusal(&file) == (4, Unsupported));
    }
}

#[test]
fn v06_the_shortest_directory_is_judged_by_what_it_says() {
    let least = least("directory_len") as usize;
    let front = &plain().file[..64];
    let zeros = |len| assemble(front, &vec![0; len]);
    assert_eq!(refusal(&zeros(least - 1)), (6, Damaged));
    // With records of no table as long as they must be.
    let mut shortest = vec![0; least];
    shortest[directory::TABLE_RECORD_LEN.0] = 16 + 8 + 64;
    assert_eq!(refusal(&assemble(front, &shortest)), (8, Damaged));
}

fn check_counts<F: Fingerprint>(most: u128) {
    let design = simidx::design::TableDesign::partition(Width::of::<F>(), 0, 1).unwrap();
    let good = Editor::new(build(options(design, 128), &[F::MAX]));
    let all = 2u128.checked_pow(F::WIDTH).unwrap_or(u128::MAX);
    // So many values need more blocks than one; that is judged by a later rule.
    for (count, rule) in [(all.min(most), 14), (all.min(most) + 1, 8)] {
        let mut editor = good.clone();
        editor.put_directory(directory::FINGERPRINT_COUNT, count);
        editor.put_directory(directory::RECORD_COUNT, count);
        assert_eq!(refusal(&editor.finish()), (rule, Damaged), "{count}");
    }
}

#[test]
fn v08_counts_are_bounded_by_the_width_and_by_the_limit() {
    let most = most("fingerprint_count");
    check_counts::<u32>(most);
    check_counts::<u64>(most);
    check_counts::<u128>(most);
}

#[test]
fn v14_a_block_has_room_for_so_many_values() {
    let most = most("values in a block");
    for blocks in 1..4 {
        let keys: Vec<[u128; 1]> = (0..blocks).map(|key| [key]).collect();
        let keys: Vec<&[u128]> = keys.iter().map(|key| &key[..]).collect();
        let mut file = ByHand::new(Codec::Xor, &keys);
        file.fingerprint_count = (blocks * most) as usize;
        file.block_counts.fill(most as usize);
        assert_eq!(rule(&file.file()), None);
        file.fingerprint_count += 1;
        assert_eq!(refusal(&file.file()), (14, Damaged));
    }
}

#[test]
fn v20_numbers_have_so_many_bits_at_most() {
    let most = most("id_bits of numbers");
    for (bits, verdict) in [(most, "sound"), (most + 1, "damaged V20")] {
        let mut empty = Editor::new(build_numbers::<u64>(small(), &[]));
        empty.put_directory(directory::ID_BITS, bits);
        assert_eq!(common_verdict(&empty.finish()), verdict, "{bits}");
    }
    let widest = Editor::new(build_numbers(small(), &[(1_u64, 0), (2, u64::MAX)]));
    assert_eq!(widest.layout.id_bits as u128, most);
    assert_eq!(common_verdict(&widest.file), "sound");
}

#[test]
fn v30_ids_stay_below_the_number_printed() {
    let end = most("number id") + 1;
    for (base, verdict) in [(end - 10, "damaged V39"), (end - 9, "damaged V30")] {
        let mut editor = forged::numbers();
        editor.put_directory(directory::ID_BASE, base);
        assert_eq!(common_verdict(&editor.finish()), verdict, "{base}");
    }
}

#[test]
fn v31_strings_are_as_long_as_printed() {
    let what = "bytes of a string id";
    let (least, most) = (least(what) as usize, most(what) as usize);
    let ids = ["x".repeat(least.max(1)), "y".repeat(most), "z".repeat(9)];
    let records: Vec<(u64, &str)> = (0..3).map(|i| ((i as u64) << 50, &*ids[i])).collect();
    check_ids(&build_strings(small(), &records), &records);
    // The builder refuses the empty string; a file of others may have it.
    assert_eq!(least, 0);
    let stored = folder(FORMAT_VERSION).join("good-one-empty-string.simidx");
    check_ids(&fs::read(stored).unwrap(), &[(0xdead_beef_0bad_cafe, "")]);
}

#[track_caller]
fn check_ids(file: &[u8], records: &[(u64, &str)]) {
    assert_eq!(common_verdict(file), "sound");
    let index = Index::<u64>::from_bytes(Storage::copy(file)).unwrap();
    for (fingerprint, id) in records {
        let mut read = Vec::new();
        let push = |found: simidx::Id<'_>| read.push(found.to_string());
        simidx_testkit::each_id(index.ids_of(*fingerprint), push).unwrap();
        assert_eq!(read, [*id]);
    }
}

/// The key of the first block of two.
const BEFORE: u128 = 1000;

#[test]
fn v23_a_stream_may_end_with_the_block_and_not_a_bit_later() {
    let room = room(128);
    for (longest_last, verdict) in [(21, "damaged V27"), (22, "damaged V23")] {
        for codec in [Codec::Xor, Codec::Gap] {
            // Each value sets one bit more, for a codeword of 6 bits and a tail.
            let positions = (48..=62).rev().chain([34, longest_last]);
            let mut values = vec![BEFORE];
            values.extend(positions.scan(BEFORE, |value, position| {
                *value += 1 << position;
                Some(*value)
            }));
            values.push(u64::MAX.into());
            let mut file = ByHand::new(codec, &[&[1, BEFORE], &[u64::MAX.into()]]);
            let stream = file.coding().stream(Some(BEFORE), &values[1..]);
            assert_eq!(stream.len(), room + longest_last as usize - 21);
            file.replace(1, values.len() - 1, &stream);
            assert_eq!(common_verdict(&file.file()), verdict, "{codec:?}");
        }
    }
    for (buckets, verdict) in [(22, "damaged V27"), (23, "damaged V23")] {
        let max = (buckets - 1) << 47;
        let key = BEFORE + max + 2;
        let mut file = ByHand::new(Codec::EliasFano, &[&[1, BEFORE], &[key]]);
        let values: Vec<u128> = (1..=20).map(|i| BEFORE + i).chain([key]).collect();
        let stream = file.coding().stream(Some(BEFORE), &values);
        assert_eq!(stream.len(), room + buckets as usize - 22);
        file.replace(1, 21, &stream);
        assert_eq!(common_verdict(&file.file()), verdict);
    }
}

#[test]
fn v25_sums_that_pass_the_width_are_above_the_key() {
    let top = u128::from(u64::MAX);
    for key in [top, top - 1, top - 1000] {
        for step in [1u128 << 63, (1 << 64) - 1] {
            let mut gap = ByHand::new(Codec::Gap, &[&[1, BEFORE], &[2000, key]]);
            let values = [key - 5, key - 5 + step, key];
            let stream = gap.coding().stream(Some(BEFORE), &values);
            gap.replace(1, 3, &stream);
            assert_eq!(found(gap.file()), (25, Damaged));
            // And then on to values that seem to be right.
            let values = [key - 5, key - 5 + step, key - 5 + step + 2, key];
            let stream = gap.coding().stream(Some(BEFORE), &values);
            gap.replace(1, 4, &stream);
            assert_eq!(found(gap.file()), (25, Damaged));
        }
    }
    // Numbers up to 2^63 - 1 above a base above 2^63.
    let before = (1 << 63) + 3;
    let mut ef = ByHand::new(Codec::EliasFano, &[&[1, before], &[top - 9, top]]);
    let max = top - before - 2;
    for numbers in [&[(1u128 << 63) - 1][..], &[5, (1 << 63) - 2]] {
        let (low_bits, buckets) = elias_fano_layout(numbers.len(), max);
        let last = ((buckets as u128) << low_bits) - 1;
        assert!(before + 1 + last > top, "the sum passes the width");
        let stream = elias_fano(numbers, max);
        ef.replace(1, numbers.len() + 1, &stream);
        assert_eq!(found(ef.file()), (25, Damaged));
    }
}

#[test]
fn v17_a_one_in_the_last_high_bit_stands_for_no_key() {
    // One key as a one after the last bucket, where a zero must be: of two keys up to 2100, 2099 >> 11 is 1.
    let bits = [false, false, true].into_iter().chain([false; 11]);
    let group = filled(bits.collect());
    for codec in IN_BLOCKS {
        let mut file = ByHand::new(codec, &[&[1000], &[2100]]);
        assert_eq!(file.keys.0.len(), group.len());
        file.keys.1 = key_entry(&group, (2100, group.len()), 64, (0, 0));
        file.keys.0.clone_from(&group);
        assert_eq!(refusal(&file.file()), (17, Damaged));
    }
}
