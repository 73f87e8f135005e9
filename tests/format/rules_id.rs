//! Files made wrong by hand, their checksums right: each rule of the stages "page", "id" and "verify" (V28 to
//! V40) is noticed by both readers, as the first one broken and in its class.

use simidx::format::FormatClass::{self, Damaged};
use simidx::index::Strategy;
use simidx::{Error, Id, Index, Scratch, Storage};
use simidx_testkit::each_id;
use simidx_testkit::editor::Editor;
use simidx_testkit::forged::{
    found, grouped_numbers, numbers, ordered_numbers, ordered_strings, plain, put_stranger,
    read_ids, small, strings, values_of,
};
use simidx_testkit::parts::Parts;
use simidx_testkit::reference::{
    self, BUCKET_OFFSETS, BUCKETS, GROUPS, ID_ORDER, NUMBERS, PLACES, SKETCHES, bits_of, directory,
};
use simidx_testkit::reference_reader::common_verdict;
use simidx_testkit::sketches::SketchSection;
use simidx_testkit::strings::BUCKET_LEN;
use simidx_testkit::{build_numbers, build_strings};

#[test]
fn v28_a_wrong_page_checksum_is_damage() {
    for (editor, kinds) in [
        (grouped_numbers(), &[GROUPS, NUMBERS][..]),
        (strings(), &[PLACES, BUCKET_OFFSETS, BUCKETS]),
        (
            ordered_strings(),
            &[GROUPS, PLACES, BUCKET_OFFSETS, BUCKETS],
        ),
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

/// What looking for an id gives as an error. Both readers judge the file alike.
fn find<'i>(file: Vec<u8>, id: impl Into<Id<'i>>) -> (u8, FormatClass) {
    common_verdict(&file);
    let index = simidx_testkit::open::<u64>(file);
    match index.ranks_of_id(id) {
        Err(Error::Format(error)) => (error.rule(), error.class()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn v28_a_damaged_page_of_the_order_is_met_by_those_who_look_for_an_id() {
    for good in [ordered_numbers(), ordered_strings()] {
        let section = good.section(ID_ORDER, 0);
        for at in section.offset..section.offset + section.len {
            let mut editor = good.clone();
            editor.flip(at, 1);
            let file = editor.finish();
            assert_eq!(found(file.clone()), (28, Damaged), "{at}");
            let wanted = if good.layout.id_kind == 1 {
                Id::Number(3)
            } else {
                Id::String("07")
            };
            assert_eq!(find(file, wanted), (28, Damaged), "{at}");
        }
    }
}

/// Numbers whose section has three pages.
fn three_pages() -> Editor {
    let records: Vec<(u64, u64)> = (0..1400).map(|i| (i << 40, i << 54)).collect();
    Editor::new(build_numbers(small(), &records))
}

#[test]
fn v28_a_page_in_the_place_of_another_is_damage() {
    let good = three_pages();
    let (at, payload) = (good.section(NUMBERS, 0).offset, good.payload_len(NUMBERS));
    assert!(payload > 2 * 4096);
    let checksum = |page: usize| at + payload + 4 * page;
    let mut exchanged = good.clone();
    exchanged.swap(at, at + 4096, 4096);
    exchanged.swap(checksum(0), checksum(1), 4);
    let file = exchanged.finish();
    assert_eq!(found(file.clone()), (28, Damaged));
    assert_eq!(read_ids(file.clone(), 0), (28, Damaged));
    assert_eq!(read_ids(file, 1000 << 40), (28, Damaged));
    let mut repeated = good.clone();
    repeated.file.copy_within(at..at + 4096, at + 4096);
    repeated
        .file
        .copy_within(checksum(0)..checksum(0) + 4, checksum(1));
    let file = repeated.finish();
    assert_eq!(found(file.clone()), (28, Damaged));
    assert_eq!(read_ids(file, 1000 << 40), (28, Damaged));
    // A section in the place of another of the same length.
    let mut sections = ordered_strings();
    let (places, order) = (sections.section(PLACES, 0), sections.section(ID_ORDER, 0));
    sections.swap(places.offset, order.offset, places.len);
    assert_eq!(found(sections.finish()), (28, Damaged));
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
    editor.put_directory(directory::ID_BASE, u64::MAX.into());
    let file = editor.finish();
    assert_eq!(read_ids(file.clone(), 1 << 50), (30, Damaged));
    assert_eq!(found(file), (30, Damaged));
}

#[test]
fn v29_counts_that_cannot_be_are_found_by_those_who_look_for_an_id() {
    for ones_before in [5, u64::MAX.into()] {
        let file = groups(ones_before, 0b1010_1010_1000_0000);
        assert_eq!(find(file, 900), (29, Damaged), "{ones_before}");
    }
}

/// The file of forty strings with another bucket.
fn with_bucket(number: usize, bytes: &[u8]) -> Vec<u8> {
    let mut parts = Parts::of(&strings().file);
    let mut buckets = parts.buckets();
    buckets[number] = bytes.to_vec();
    parts.put_buckets(&buckets);
    parts.file()
}

#[test]
fn v31_buckets_that_are_not_valid_are_damage() {
    let mut parts = Parts::of(&strings().file);
    let (code, ids) = (parts.string_code(), parts.dictionary());
    let second = &ids[BUCKET_LEN..2 * BUCKET_LEN];
    assert_eq!(
        common_verdict(&with_bucket(1, &code.encode(&ids[0], second))),
        "sound"
    );
    for bad in code.bad_buckets(&ids[0], second) {
        let file = with_bucket(1, &bad.bytes);
        assert_eq!(found(file.clone()), (31, Damaged), "{}", bad.name);
        if bad.is_met_by_readers {
            let last = 2 * BUCKET_LEN as u64 - 1;
            assert_eq!(read_ids(file, last << 50), (31, Damaged), "{}", bad.name);
        }
    }
}

#[test]
fn v31_ids_that_are_not_utf_8_are_damage() {
    for id in [
        &b"\xff"[..],
        b"a\xc3",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
    ] {
        for place in [0, 7, 15, 16, 39] {
            let mut parts = Parts::of(&strings().file);
            let mut ids = parts.dictionary();
            ids[place] = id.to_vec();
            parts.put_dictionary(&ids);
            let file = parts.file();
            assert_eq!(found(file.clone()), (31, Damaged), "{id:x?}");
            assert_eq!(
                read_ids(file, (place as u64) << 50),
                (31, Damaged),
                "{id:x?}"
            );
        }
    }
}

/// The file of forty strings, in three buckets, with other offsets of them.
fn with_offsets(change: impl FnOnce(&mut Vec<u128>, u128)) -> Vec<u8> {
    let mut parts = Parts::of(&strings().file);
    let buckets = parts.buckets();
    let mut offsets = vec![0];
    for bucket in &buckets[..2] {
        offsets.push(offsets[offsets.len() - 1] + bucket.len() as u128);
    }
    let len = parts.section(BUCKETS, 0).len() as u128;
    change(&mut offsets, len);
    parts.put_offsets(&offsets);
    parts.file()
}

#[test]
fn v32_offsets_that_point_elsewhere_are_damage() {
    assert_eq!(common_verdict(&with_offsets(|_, _| ())), "sound");
    let first = with_offsets(|offsets, _| offsets[0] = 1);
    assert_eq!(found(first.clone()), (32, Damaged));
    assert_eq!(read_ids(first, 0), (32, Damaged));
    let past = with_offsets(|offsets, len| offsets[2] = len + 1);
    assert_eq!(found(past.clone()), (32, Damaged));
    assert_eq!(read_ids(past.clone(), 39 << 50), (32, Damaged));
    assert_eq!(read_ids(past, 20 << 50), (32, Damaged));
    let descending = with_offsets(|offsets, _| offsets[2] = offsets[1] - 1);
    assert_eq!(read_ids(descending, 20 << 50), (32, Damaged));
    let all_ones = with_offsets(|offsets, len| offsets[1] = (1 << (128 - len.leading_zeros())) - 1);
    assert_eq!(read_ids(all_ones, 0), (32, Damaged));
}

#[test]
fn v32_empty_buckets_are_found_by_a_full_check() {
    for empty in 0..3 {
        let file = with_bucket(empty, &[]);
        assert_eq!(found(file), (32, Damaged), "{empty}");
    }
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
    // The places of the two ids of the first fingerprint.
    let mut parts = Parts::of(&ordered_strings().file);
    let places = parts.indexes(PLACES);
    parts.swap_places(places[0], places[1]);
    assert_eq!(found(parts.file()), (33, Damaged));
}

#[test]
fn v38_equal_strings_of_a_fingerprint_have_increasing_places() {
    let records = [(1_u64, "a"), (1, "a"), (2, "c")];
    let mut parts = Parts::of(&build_strings(small(), &records));
    parts.swap_places(0, 1);
    assert_eq!(found(parts.file()), (38, Damaged));
    let numbers = [(1_u64, 7), (1, 7), (2, 7)];
    assert_eq!(common_verdict(&build_numbers(small(), &numbers)), "sound");
}

#[test]
fn v34_bytes_between_sections_are_damage() {
    let good = ordered_strings();
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
fn v34_bits_after_a_packed_array_are_damage() {
    let ids = simidx_testkit::uniform::<u64>(37).into_iter().zip(0..);
    let records: Vec<(u64, String)> = ids.map(|(id, i)| (i / 2, id.to_string())).collect();
    let mut options = small();
    options.id_lookup = true;
    let strings = Editor::new(build_strings(options, &records));
    for (editor, kinds) in [
        (grouped_numbers(), &[NUMBERS][..]),
        (strings, &[PLACES, BUCKET_OFFSETS, ID_ORDER]),
    ] {
        for &kind in kinds {
            let mut editor = editor.clone();
            let last = editor.section(kind, 0).offset + editor.payload_len(kind) - 1;
            editor.flip(last, 1);
            editor.seal_pages(kind);
            assert_eq!(found(editor.finish()), (34, Damaged), "kind {kind}");
        }
    }
}

#[test]
fn v35_tables_with_another_number_of_values_are_damage() {
    for more in [false, true] {
        let editor = plain();
        let mut values = values_of(&editor, 1, 0);
        if more {
            let gap = values.windows(2).position(|pair| pair[0] + 1 < pair[1]);
            let at = gap.expect("there is room for a value") + 1;
            values.insert(at, values[at] - 1);
        } else {
            values.remove(0);
        }
        let Some(editor) = with_values(editor, &values) else {
            continue;
        };
        assert_eq!(found(editor.finish()), (35, Damaged), "{more}");
    }
}

/// Block 0 of table 1 with these values, if the code of the table has the codewords.
fn with_values(mut editor: Editor, values: &[u128]) -> Option<Editor> {
    let coding = editor.layout.coding(1);
    let lengths = &editor.layout.tables[1].lengths;
    let has_word = |pair: &[u128]| lengths[coding.split(pair[0], pair[1]).0 as usize] > 0;
    if !values.windows(2).all(has_word) {
        return None;
    }
    editor.put_values(1, 0, values);
    Some(editor)
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

        let index = simidx_testkit::open::<u64>(file);
        let mut scratch = Scratch::new();
        scratch.set_strategy(Strategy::Scan);
        assert_eq!(index.query_with(&mut scratch, forged, 0).unwrap(), []);
        let rule = |result: Result<(), Error>| match result {
            Err(Error::Format(error)) => error.rule(),
            other => panic!("{other:?}"),
        };
        let mut ids = 0;
        each_id(index.ids_of(forged), |_| ids += 1).unwrap();
        assert_eq!(ids, 0, "only a match must have ids");
        let near = index.query_with(&mut scratch, good, 0).unwrap()[0];
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

/// The parts of a file with the numbers of a section of places or indexes changed.
fn with_indexes(good: &Editor, kind: u16, change: impl FnOnce(&mut Vec<u128>)) -> Vec<u8> {
    let mut parts = Parts::of(&good.file);
    let mut indexes = parts.indexes(kind);
    change(&mut indexes);
    parts.put_indexes(kind, &indexes);
    parts.file()
}

#[test]
fn v37_places_that_are_no_permutation_are_damage() {
    let good = strings();
    for place in [40, 63] {
        let file = with_indexes(&good, PLACES, |places| places[7] = place);
        assert_eq!(found(file.clone()), (37, Damaged), "{place}");
        assert_eq!(read_ids(file, 7 << 50), (37, Damaged), "{place}");
    }
    let twice = with_indexes(&good, PLACES, |places| places[7] = places[8]);
    assert_eq!(found(twice), (37, Damaged));
}

#[test]
fn v37_orders_that_are_not_those_of_the_ids_are_damage() {
    for good in [ordered_numbers(), ordered_strings()] {
        let count = good.layout.record_count as u128;
        for at in [0, 4, count as usize - 1] {
            let beyond = with_indexes(&good, ID_ORDER, |order| order[at] = count);
            assert_eq!(found(beyond), (37, Damaged), "{at}");
        }
        let exchanged = with_indexes(&good, ID_ORDER, |order| order.swap(2, 5));
        assert_eq!(found(exchanged), (37, Damaged));
        let twice = with_indexes(&good, ID_ORDER, |order| order[2] = order[3]);
        assert_eq!(found(twice), (37, Damaged));
    }
}

#[test]
fn v37_an_order_of_wrong_indexes_is_found_by_those_who_look_for_an_id() {
    let numbers = with_indexes(&ordered_numbers(), ID_ORDER, |order| order.fill(15));
    assert_eq!(find(numbers, 3), (37, Damaged));
    let strings = ordered_strings();
    for index in [40, 63, 0] {
        let file = with_indexes(&strings, ID_ORDER, |order| order.fill(index));
        assert_eq!(find(file, "05"), (37, Damaged), "{index}");
    }
}

#[test]
fn v37_equal_numbers_are_in_the_order_of_their_indexes() {
    let records: Vec<(u64, u64)> = (0..10).map(|i| (i << 50, i / 3)).collect();
    let mut options = small();
    options.id_lookup = true;
    let good = Editor::new(build_numbers(options, &records));
    assert_eq!(common_verdict(&good.file), "sound");
    let file = with_indexes(&good, ID_ORDER, |order| order.swap(0, 2));
    assert_eq!(found(file), (37, Damaged));
}

#[test]
fn v38_dictionaries_out_of_order_are_damage() {
    for good in [strings(), ordered_strings()] {
        for (one, two) in [(0, 39), (14, 15), (15, 16), (17, 38)] {
            let mut parts = Parts::of(&good.file);
            let mut ids = parts.dictionary();
            if ids[one] == ids[two] {
                continue;
            }
            // The ids stay with their fingerprints.
            ids.swap(one, two);
            parts.put_dictionary(&ids);
            parts.swap_places(one as u128, two as u128);
            let file = parts.file();
            let rule = found(file.clone());
            // Two of one fingerprint may have changed their order, too.
            assert!(
                [(33, Damaged), (38, Damaged)].contains(&rule),
                "{one} {two}"
            );
            assert!(good.layout.find_section(ID_ORDER, 0).is_some() || rule.0 == 38);
        }
    }
}

#[test]
fn v38_equal_ids_are_in_the_order_of_their_indexes() {
    for id_lookup in [false, true] {
        let records: Vec<(u64, &str)> = (0..40).map(|i| (i << 50, "same")).collect();
        let mut options = small();
        options.id_lookup = id_lookup;
        let good = build_strings(options, &records);
        assert_eq!(common_verdict(&good), "sound");
        for (one, two) in [(0, 1), (15, 16), (3, 30), (38, 39)] {
            let mut parts = Parts::of(&good);
            parts.swap_places(one, two);
            assert_eq!(found(parts.file()), (38, Damaged), "{one} {two}");
        }
    }
}

#[test]
fn v39_other_content_identifiers_are_damage() {
    for good in [plain(), numbers(), grouped_numbers(), strings()] {
        for bit in (0..128).step_by(5) {
            let mut editor = good.clone();
            let at = editor.layout.directory_at + directory::CONTENT_ID.0;
            editor.flip(at + bit / 8, 1 << (bit % 8));
            assert_eq!(found(editor.finish()), (39, Damaged), "{bit}");
        }
    }
    // Other ids, and ids of other fingerprints.
    let mut base = numbers();
    base.put_directory(directory::ID_BASE, 1);
    assert_eq!(found(base.finish()), (39, Damaged));
    let mut parts = Parts::of(&strings().file);
    parts.swap_places(3, 30);
    assert_eq!(found(parts.file()), (39, Damaged));
}

#[test]
fn v40_damaged_ancillary_sections_are_found_by_a_full_check() {
    let mut parts = Parts::of(&grouped_numbers().file);
    parts.add(0x8000, vec![7; 5000]);
    parts.add(0xffff, Vec::new());
    let good = Editor::new(parts.file());
    let long = good.section(0x8000, 0);
    let record = good.section(0xffff, 0).record_at;
    for at in [
        long.offset,
        long.offset + 4999,
        long.record_at + 4,
        record + 7,
    ] {
        let mut editor = good.clone();
        editor.flip(at, 0x80);
        let file = editor.finish();
        let index = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
        assert_eq!(index.iter().filter(Result::is_ok).count(), 5);
        assert_eq!(found(file), (40, Damaged), "{at}");
    }
}

/// Five records with sketches of 512 bits.
fn sketched() -> Parts {
    let mut parts = Parts::of(&grouped_numbers().file);
    let count = parts.record_count() as u8;
    let sketches: Vec<Vec<u8>> = (0..count).map(|i| vec![i; 64]).collect();
    parts.add(SKETCHES, SketchSection::new("words:3", &sketches).bytes());
    parts
}

#[test]
fn v43_sketches_are_as_many_as_records_and_their_head_is_right() {
    let good = sketched();
    let file = good.file();
    let index = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
    let sketches = index.sketches().unwrap().unwrap();
    let mut words = Vec::new();
    sketches.read(0..sketches.len(), &mut words).unwrap();
    assert_eq!(words.len() as u64, 8 * index.record_count());
    assert_eq!(common_verdict(&file), "sound");
    let changes: [fn(&mut SketchSection); 7] = [
        |s| s.bits += 64,
        |s| s.bits -= 1,
        |s| s.count += 1,
        |s| s.features.clear(),
        |s| s.features[0] = 0xff,
        |s| s.padding[0] = 1,
        |s| s.payload.push(0),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut parts = good.clone();
        let bytes = parts.section(SKETCHES, 0);
        let mut section = SketchSection::parse(bytes);
        change(&mut section);
        *bytes = section.bytes();
        let file = parts.file();
        assert_eq!(found(file.clone()), (43, Damaged), "{number}");
        assert_eq!(common_verdict(&file), "damaged V43");
        // Whoever does not use the sketches is not affected.
        let index = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
        assert_eq!(index.iter().filter(Result::is_ok).count(), 5);
        let error = index.sketches().unwrap_err();
        assert!(error.to_string().contains("V43"), "{error}");
    }
    let mut parts = good.clone();
    let bytes = parts.section(SKETCHES, 0).clone();
    parts.add(SKETCHES, bytes);
    assert_eq!(common_verdict(&parts.file()), "damaged V43");
}

#[test]
fn sketches_of_another_method_are_skipped() {
    let mut parts = sketched();
    let bytes = parts.section(SKETCHES, 0);
    let mut section = SketchSection::parse(bytes);
    (section.method, section.bits, section.count) = (7, 1, 0);
    *bytes = section.bytes();
    let file = parts.file();
    assert_eq!(common_verdict(&file), "sound");
    let index = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
    assert!(index.sketches().unwrap().is_none());
}

#[test]
fn a_damaged_page_of_sketches_is_refused() {
    let mut parts = sketched();
    let bytes = parts.section(SKETCHES, 0);
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    let file = parts.file();
    assert_eq!(common_verdict(&file), "damaged V28");
    let index = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
    let sketches = index.sketches().unwrap().unwrap();
    let mut words = Vec::new();
    assert!(sketches.read(0..1, &mut words).is_err() && words.is_empty());
    assert!(sketches.read(0..sketches.len() + 1, &mut words).is_err());
    assert!(sketches.read(0..0, &mut words).is_ok());
}

/// Sets a byte between two sections and the last bit after the numbers, both against V34.
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
    base.put_directory(directory::ID_BASE, u64::MAX.into());
    assert_eq!(found(base.finish()), (30, Damaged));

    // The ids of the first fingerprint descend, and those of the last pass the largest number.
    let mut late_base = grouped_numbers();
    let at = late_base.section(NUMBERS, 0).offset;
    let mut numbers = reference::Bits::from_slice(&late_base.file[at..at + 13]);
    numbers[..10].copy_from_bitslice(&bits_of(101, 10));
    late_base.put(at, &numbers.into_vec());
    late_base.seal_pages(NUMBERS);
    assert_eq!(found(late_base.clone().finish()), (33, Damaged));
    late_base.put_directory(directory::ID_BASE, u128::from(u64::MAX) - 850);
    assert_eq!(found(late_base.finish()), (30, Damaged));

    // The first number becomes 1020, above the one after it.
    let mut order = grouped_numbers();
    order.put(order.section(NUMBERS, 0).offset, &[0xff]);
    set_unused_bits(&mut order);
    assert_eq!(found(order.finish()), (33, Damaged));
}

#[test]
fn of_the_rules_of_a_full_check_the_first_is_reported() {
    // From the last to the first, each on top of the others.
    let mut options = small();
    options.id_lookup = true;
    let records: Vec<(u64, &str)> = (0..40).map(|i| ((i / 2) << 50, "same")).collect();
    let mut parts = Parts::of(&build_strings(options, &records));
    parts.add(0x8000, vec![7; 10]);
    let mut editor = Editor::new(parts.file());
    editor.flip(editor.section(0x8000, 0).offset, 1);
    let first = |editor: &Editor| found(editor.clone().finish()).0;
    assert_eq!(first(&editor), 40);
    editor.put_directory(directory::CONTENT_ID, 1);
    assert_eq!(first(&editor), 39);
    put_stranger(&mut editor);
    assert_eq!(first(&editor), 36);
    editor.flip(editor.layout.directory_at - 1, 1);
    assert_eq!(first(&editor), 34);
    for (one, two) in [(1, 4), (0, 1)] {
        let mut changed = Parts::of(&editor.clone().finish());
        changed.swap_places(one, two);
        assert_eq!(found(changed.file()).0, 38);
    }
    let order = editor.section(ID_ORDER, 0);
    editor.flip(order.offset, 1);
    editor.seal_pages(ID_ORDER);
    assert_eq!(first(&editor), 37);
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
