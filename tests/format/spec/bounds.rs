//! The bounds in the rules of the specification: a file at each breaks no such rule, one beyond it does.

use std::fs;

use simidx::format::FORMAT_VERSION;
use simidx::format::FormatClass::{Damaged, Unsupported};
use simidx::{Codec, Error, Fingerprint, Index, Set, Storage, Width};

use super::limits::{least, most};
use super::worked_file::worked_file;
use simidx_testkit::document::{named_table, numbers, row, specification};
use simidx_testkit::editor::{Editor, assemble};
use simidx_testkit::forged::{ByHand, plain, refusal, small};
use simidx_testkit::manifest::folder;
use simidx_testkit::reference::directory;
use simidx_testkit::reference_reader::common_verdict;
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
