//! Ids, and what only a full check looks at: V28 to V40.

use super::*;

/// Flips a bit of the first byte of a section.
fn flip_first<const KIND: u16>(e: &mut Editor) {
    let at = e.section(KIND, 0).offset;
    e.flip(at, 1);
}

/// Flips a bit of the last byte of a section.
fn flip_last<const KIND: u16>(e: &mut Editor) {
    let section = e.section(KIND, 0);
    e.flip(section.offset + section.len - 1, 1);
}

/// V28.
#[rustfmt::skip]
pub(super) fn pages() -> Vec<Forgery> {
    vec![
        edit(28, "groups", Query, GROUPED, "a bit of the groups flipped", flip_first::<GROUPS>),
        edit(28, "numbers", Query, GROUPED, "a bit of the numbers flipped", flip_first::<NUMBERS>),
        edit(
            28,
            "numbers-checksum",
            Query,
            NUMBERS_32,
            "a bit of the checksum of the page of numbers flipped",
            flip_last::<NUMBERS>,
        ),
        edit(28, "places", Query, STRINGS, "a bit of the places flipped", flip_first::<PLACES>),
        edit(28, "bucket-offsets", Query, STRINGS, "a bit of the bucket offsets flipped", flip_first::<BUCKET_OFFSETS>),
        edit(28, "buckets", Query, STRINGS, "a bit of the buckets flipped", flip_first::<BUCKETS>),
        edit(28, "second-page", Query, LONG_STRINGS, "a bit of the second page of the buckets flipped", |e| {
            let at = e.section(BUCKETS, 0).offset;
            e.flip(at + 4096, 1);
        }),
        edit(28, "order-of-numbers", Verify, ORDERED, "a bit of the id order flipped", flip_first::<ID_ORDER>),
        edit(28, "order-of-strings", Verify, ORDERED_STRINGS, "a bit of the id order flipped", flip_first::<ID_ORDER>),
        edit(28, "swapped-checksums", Query, LONG_STRINGS, "the checksums of two pages have changed places", |e| {
            let at = e.section(BUCKETS, 0).offset + e.payload_len(BUCKETS);
            let checksums = [&e.file[at + 4..at + 8], &e.file[at..at + 4]].concat();
            e.put(at, &checksums);
        }),
    ]
}

/// The bitmap of chunk 0 of the groups.
fn bitmap(e: &Editor) -> Bits {
    let at = e.section(GROUPS, 0).offset;
    Bits::from_slice(&e.file[at + 8..at + 64])
}

/// Changes the bitmap of chunk 0 of the groups.
fn put_bitmap(e: &mut Editor, change: impl FnOnce(&mut Bits)) {
    let mut bits = bitmap(e);
    change(&mut bits);
    let at = e.section(GROUPS, 0).offset;
    e.put(at + 8, &bits.into_vec());
    e.seal_pages(GROUPS);
}

/// Writes the number of set bits before a chunk of the groups.
fn put_ones_before(e: &mut Editor, chunk: usize, ones: u64) {
    let at = e.section(GROUPS, 0).offset;
    e.put(at + 64 * chunk, &ones.to_le_bytes());
    e.seal_pages(GROUPS);
}

/// V29.
#[rustfmt::skip]
pub(super) fn groups() -> Vec<Forgery> {
    vec![
        edit(29, "first-count", Query, GROUPED, "chunk 0 counts a set bit before it", |e| put_ones_before(e, 0, 1)),
        edit(29, "largest-count", Query, GROUPED, "chunk 0 counts 2^64 - 1 set bits before it", |e| {
            put_ones_before(e, 0, u64::MAX);
        }),
        edit(29, "later-count", Query, "one-group", "chunk 2 counts two set bits before it, one too many", |e| {
            put_ones_before(e, 2, 2);
        }),
        edit(29, "first-bit", Query, GROUPED, "the first bit is clear, the second set", |e| {
            put_bitmap(e, |bits| {
                bits.set(0, false);
                bits.set(1, true);
            });
        }),
        edit(29, "a-bit-less", Query, GROUPED, "the last set bit is clear", |e| {
            put_bitmap(e, |bits| {
                let last = bits.last_one().unwrap();
                bits.set(last, false);
            });
        }),
        edit(29, "a-bit-more", Query, GROUPED, "a group is cut in two", |e| {
            put_bitmap(e, |bits| {
                let within = bits.first_zero().unwrap();
                bits.set(within, true);
            });
        }),
        edit(29, "bit-after-the-last-id", Query, GROUPED, "a bit after the last id is set", |e| {
            let end = e.layout.record_count;
            put_bitmap(e, |bits| bits.set(end, true));
        }),
        edit(29, "last-bit-after-the-last-id", Query, GROUPED, "the last set bit stands after the last id", |e| {
            let end = e.layout.record_count;
            put_bitmap(e, |bits| {
                let last = bits.last_one().unwrap();
                bits.set(last, false);
                bits.set(end, true);
            });
        }),
        edit(29, "a-count-too-small", Query, "many-groups", "chunk 2 counts a set bit too few before it", |e| {
            change_ones_before(e, 2, -1);
        }),
        edit(29, "a-count-too-large", Query, "many-groups", "chunk 2 counts 1,000 set bits too many before it", |e| {
            change_ones_before(e, 2, 1000);
        }),
        edit(29, "a-count-of-none", Query, "many-groups", "chunk 3 counts no set bit before it", |e| {
            put_ones_before(e, 3, 0);
        }),
        edit(29, "no-bit", Query, GROUPED_STRINGS, "all bits are clear", |e| put_bitmap(e, |bits| bits.fill(false))),
    ]
}

/// Changes the number of set bits before a chunk of the groups.
fn change_ones_before(e: &mut Editor, chunk: usize, change: i64) {
    let at = e.section(GROUPS, 0).offset + 64 * chunk;
    let ones = encoding::number(&e.file, at, 8) as u64;
    put_ones_before(e, chunk, ones.checked_add_signed(change).unwrap());
}

/// Flips a bit of the packed numbers of a section.
fn flip_packed(e: &mut Editor, kind: u16, bit: usize) {
    let at = e.section(kind, 0).offset;
    e.flip(at + bit / 8, 0x80 >> (bit % 8));
    e.seal_pages(kind);
}

/// V30 to V33.
#[rustfmt::skip]
pub(super) fn ids() -> Vec<Forgery> {
    vec![
        edit(30, "base", Query, NUMBERS_32, "id_base 2^64 - 1, and not all numbers are 0", |e| {
            e.put_directory(directory::ID_BASE, u64::MAX.into());
        }),
        edit(30, "largest-number", Query, "numbers-128", "id_base 1, and one of the numbers is 2^64 - 1", |e| {
            e.put_directory(directory::ID_BASE, 1);
            let at = e.section(NUMBERS, 0).offset;
            e.put(at, &[0xff; 8]);
            e.seal_pages(NUMBERS);
        }),
        parts(31, "not-utf-8", Query, STRINGS, "an id with byte ff", |parts| {
            let mut ids = parts.dictionary();
            ids[1][0] = 0xff;
            parts.put_dictionary(&ids);
        }),
        parts(31, "half-a-character", Query, STRINGS, "an id that ends within a character", |parts| {
            let mut ids = parts.dictionary();
            *ids[20].last_mut().unwrap() = 0xc3;
            parts.put_dictionary(&ids);
        }),
        parts(31, "surrogate", Query, STRINGS, "a surrogate, in three bytes, as an id", |parts| {
            let mut ids = parts.dictionary();
            ids[20] = SURROGATE.to_vec();
            parts.put_dictionary(&ids);
        }),
        parts(31, "overlong", Query, STRINGS, "a slash in two bytes as an id", |parts| {
            let mut ids = parts.dictionary();
            ids[20] = OVERLONG.to_vec();
            parts.put_dictionary(&ids);
        }),
        parts(32, "first-offset", Query, STRINGS, "the first offset is 1", |parts| {
            put_offset(parts, 0, |_| 1);
        }),
        parts(32, "offset-past-the-end", Query, STRINGS, "the last offset is one more than there are bytes", |parts| {
            let len = parts.section(BUCKETS, 0).len() as u128;
            put_offset(parts, 2, |_| len + 1);
        }),
        parts(32, "offset-largest", Query, STRINGS, "the last offset is as large as its bits allow", |parts| {
            let bits = parts.field(directory::ID_BITS) as u32;
            put_offset(parts, 2, |_| (1 << bits) - 1);
        }),
        parts(31, "no-prefix-codeword", Query, "lone-prefix", "the lone codeword of a prefix is `0`, and the bucket has a 1", |parts| {
            parts.put_buckets(&[vec![0xff; 4]]);
        }),
        parts(32, "empty-bucket", Query, "one-group-strings", "bucket 2 starts where bucket 1 does, which so has no byte", |parts| {
            let start = offsets(parts)[1];
            put_offset(parts, 2, |_| start);
        }),
        edit(33, "numbers", Verify, GROUPED, "the ids of a fingerprint in the wrong order", |e| {
            let first = bitmap(e);
            let group = (0..e.layout.record_count - 1)
                .find(|&i| !first[i + 1])
                .unwrap();
            let bits = e.layout.id_bits;
            let at = e.section(NUMBERS, 0).offset;
            let mut packed = Bits::from_slice(&e.file[at..at + e.payload_len(NUMBERS)]);
            let number = |i: usize| packed[i * bits..(i + 1) * bits].to_bitvec();
            let (one, two) = (number(group), number(group + 1));
            packed[group * bits..(group + 1) * bits].copy_from_bitslice(&two);
            packed[(group + 1) * bits..(group + 2) * bits].copy_from_bitslice(&one);
            e.put(at, &packed.into_vec());
            e.seal_pages(NUMBERS);
        }),
        parts(33, "strings", Verify, GROUPED_STRINGS, "the places of two ids of a fingerprint have changed places", |parts| {
            let (one, two) = two_of_a_group(parts);
            parts.swap_places(one, two);
        }),
        parts(38, "equal-strings", Verify, "one-group-strings", "two equal ids of a fingerprint have each other's place", |parts| {
            let mut ids = parts.dictionary();
            ids[1] = ids[0].clone();
            parts.put_dictionary(&ids);
            parts.swap_places(0, 1);
        }),
    ]
}

/// The places of two ids of one fingerprint that follow each other.
fn two_of_a_group(parts: &mut Parts) -> (u128, u128) {
    let bitmap = Bits::from_slice(&parts.section(GROUPS, 0)[8..64]);
    let group = (0..parts.record_count() - 1)
        .find(|&i| !bitmap[i + 1])
        .unwrap();
    let places = parts.indexes(PLACES);
    (places[group], places[group + 1])
}

/// The offsets of the buckets.
fn offsets(parts: &mut Parts) -> Vec<u128> {
    let buckets = parts.buckets().into_iter();
    let starts = buckets.scan(0, |end, bucket| {
        let start = *end;
        *end += bucket.len() as u128;
        Some(start)
    });
    starts.collect()
}

/// Changes the offset of a bucket.
fn put_offset(parts: &mut Parts, bucket: usize, change: impl FnOnce(u128) -> u128) {
    let mut offsets = offsets(parts);
    offsets[bucket] = change(offsets[bucket]);
    parts.put_offsets(&offsets);
}

/// V31: buckets that are not valid, the second of a file of three.
pub(super) fn buckets(good: &[Good]) -> Vec<Forgery> {
    let base = good.iter().find(|file| file.name == STRINGS).unwrap();
    let mut parts = Parts::of(&base.file);
    let (code, ids) = (parts.string_code(), parts.dictionary());
    let make = |bad: strings::BadBucket| {
        let mut changed = parts.clone();
        let mut buckets = changed.buckets();
        buckets[1] = bad.bytes;
        changed.put_buckets(&buckets);
        let stage = if bad.is_met_by_readers { Query } else { Verify };
        let name = format!("bucket-{}", bad.name);
        Forgery {
            make: Make::Whole(changed.file()),
            ..edit(31, &name, stage, STRINGS, bad.what, |_| ())
        }
    };
    let second = &ids[strings::BUCKET_LEN..2 * strings::BUCKET_LEN];
    let bad = code.bad_buckets(&ids[0], second);
    bad.into_iter().map(make).collect()
}

/// V37.
#[rustfmt::skip]
pub(super) fn places() -> Vec<Forgery> {
    fn change(parts: &mut Parts, kind: u16, change: impl FnOnce(&mut Vec<u128>)) {
        let mut indexes = parts.indexes(kind);
        change(&mut indexes);
        parts.put_indexes(kind, &indexes);
    }
    vec![
        parts(37, "no-such-place", Query, STRINGS, "the place of id 7 is the number of records", |parts| {
            let count = parts.record_count() as u128;
            change(parts, PLACES, |places| places[7] = count);
        }),
        parts(37, "largest-place", Query, GROUPED_STRINGS, "the place of the last id is the largest of so many bits", |parts| {
            let last = parts.record_count() - 1;
            change(parts, PLACES, |places| places[last] = 127);
        }),
        parts(37, "a-place-twice", Verify, STRINGS, "the ids 7 and 8 have the same place", |parts| {
            change(parts, PLACES, |places| places[7] = places[8]);
        }),
        parts(37, "place-0-twice", Verify, STRINGS, "the id with place 1 has place 0", |parts| {
            change(parts, PLACES, |places| {
                let at = places.iter().position(|place| *place == 1).unwrap();
                places[at] = 0;
            });
        }),
        parts(37, "order-of-strings-at-the-count", Verify, ORDERED_STRINGS, "an index in the id order is the number of records", |parts| {
            let count = parts.record_count() as u128;
            change(parts, ID_ORDER, |order| order[7] = count);
        }),
        parts(37, "order-of-no-id", Verify, ORDERED, "an index in the id order is the number of records", |parts| {
            let count = parts.record_count() as u128;
            change(parts, ID_ORDER, |order| order[7] = count);
        }),
        parts(37, "order-descends", Verify, ORDERED, "two indexes of different numbers have changed places in the id order",
            |parts| change(parts, ID_ORDER, |order| order.swap(3, 50))),
        parts(37, "order-of-equal-numbers", Verify, ORDERED, "two indexes of equal numbers have changed places in the id order", |parts| {
            // Of the ids j and j + 41 of the 60 the numbers are equal: the smallest of them comes twice.
            change(parts, ID_ORDER, |order| order.swap(0, 1));
        }),
        parts(37, "an-index-twice", Verify, ORDERED, "an index is in the id order twice",
            |parts| change(parts, ID_ORDER, |order| order[1] = order[0])),
        parts(37, "order-of-strings", Verify, ORDERED_STRINGS, "the id order is not the inverse of the places", |parts| {
            change(parts, ID_ORDER, |order| order.swap(3, 50));
        }),
        parts(37, "order-of-strings-no-id", Verify, "ordered-groups-strings", "an index in the id order is 2^10 - 1", |parts| {
            change(parts, ID_ORDER, |order| order[0] = 1023);
        }),
    ]
}

/// V38.
#[rustfmt::skip]
pub(super) fn dictionaries() -> Vec<Forgery> {
    fn swap(parts: &mut Parts, one: usize, two: usize) {
        let mut ids = parts.dictionary();
        ids.swap(one, two);
        parts.put_dictionary(&ids);
        parts.swap_places(one as u128, two as u128);
    }
    vec![
        parts(38, "descends-in-a-bucket", Verify, STRINGS, "ids 3 and 4 of the dictionary, and their places, exchanged",
            |parts| swap(parts, 3, 4)),
        parts(38, "descends-between-buckets", Verify, STRINGS, "ids 15 and 16 of the dictionary, and their places, exchanged",
            |parts| swap(parts, 15, 16)),
        parts(38, "descends-with-order", Verify, ORDERED_STRINGS, "ids 0 and 59 of the dictionary, their places and indexes exchanged",
            |parts| swap(parts, 0, 59)),
        parts(38, "equal-ids", Verify, "equal-strings", "the places of two equal ids exchanged",
            |parts| parts.swap_places(20, 21)),
        parts(38, "equal-ids-between-buckets", Verify, "equal-strings", "the places of two equal ids of different buckets exchanged",
            |parts| parts.swap_places(15, 16)),
        parts(38, "equal-ids-with-order", Verify, ORDERED_STRINGS, "the places and indexes of two equal ids exchanged",
            |parts| parts.swap_places(0, 1)),
    ]
}

/// Puts another fingerprint into table 1: the last stored value of a block with another lowest bit.
fn put_another(e: &mut Editor) {
    for (block, mut values) in e.blocks(1).into_iter().enumerate() {
        let stored = values.len() - 2;
        values[stored] ^= 1;
        if values.is_sorted_by(|a, b| a < b) {
            return e.put_values(1, block, &values);
        }
    }
    panic!("no block has such a value");
}

/// Takes a value out of block 0 of table 1.
fn take_a_value(e: &mut Editor) {
    let mut values = e.blocks(1).swap_remove(0);
    values.remove(values.len() - 2);
    e.put_values(1, 0, &values);
}

/// V34 to V36, V39 and V40.
#[rustfmt::skip]
pub(super) fn whole_file() -> Vec<Forgery> {
    vec![
        edit(34, "before-the-first-section", Verify, PLAIN, "a byte between the header and the first section", |e| {
            e.put_number(16, 1, 1);
        }),
        edit(34, "between-sections", Verify, PLAIN, "the byte before the key entries of table 1", |e| {
            let section = e.section(KEY_ENTRIES, 1);
            e.put_number(section.offset - 1, 0x80, 1);
        }),
        edit(34, "before-the-directory", Verify, PLAIN, "the byte before the directory", |e| {
            let at = e.layout.directory_at;
            e.put_number(at - 1, 1, 1);
        }),
        edit(34, "after-the-numbers", Verify, "numbers-spare-bits", "the last bit after the numbers", |e| {
            let last = 8 * e.payload_len(NUMBERS) - 1;
            flip_packed(e, NUMBERS, last);
        }),
        edit(34, "after-the-places", Verify, "one-group-strings", "the last bit after the places", |e| {
            let last = 8 * e.payload_len(PLACES) - 1;
            flip_packed(e, PLACES, last);
        }),
        edit(34, "after-the-offsets", Verify, STRINGS, "the last bit after the bucket offsets", |e| {
            let last = 8 * e.payload_len(BUCKET_OFFSETS) - 1;
            flip_packed(e, BUCKET_OFFSETS, last);
        }),
        edit(34, "after-the-order", Verify, "ordered-groups", "the last bit after the id order", |e| {
            let last = 8 * e.payload_len(ID_ORDER) - 1;
            assert!(!(10 * e.layout.record_count).is_multiple_of(8));
            flip_packed(e, ID_ORDER, last);
        }),
        edit(34, "before-ancillary", Verify, "all-extensions", "the byte before the ancillary section", |e| {
            let at = e.section(0xc000, 0).offset;
            e.put_number(at - 1, 1, 1);
        }),
        edit(35, "a-value-less", Verify, PLAIN, "table 1 lacks a value", take_a_value),
        edit(35, "a-value-less-with-ids", Verify, GROUPED, "table 1 lacks a value of a file with ids", take_a_value),
        edit(35, "ef", Verify, "ef-64", "table 1 lacks a value", take_a_value),
        edit(36, "another-fingerprint", Verify, PLAIN, "table 1 holds a fingerprint that table 0 lacks", put_another),
        edit(
            36,
            "with-numbers",
            Query,
            NUMBERS_32,
            "table 1 holds a fingerprint that table 0 lacks, so without ids",
            put_another,
        ),
        edit(
            36,
            "with-strings",
            Query,
            GROUPED_STRINGS,
            "table 1 holds a fingerprint that table 0 lacks, so without ids",
            put_another,
        ),
        edit(36, "128", Verify, "gap-128", "table 1 holds a fingerprint that table 0 lacks", put_another),
        edit(39, "one-bit", Verify, PLAIN, "a bit of content_id flipped", |e| {
            e.flip(e.layout.directory_at + directory::CONTENT_ID.0, 1);
        }),
        edit(39, "last-bit", Verify, "xor-128", "the last bit of content_id flipped", |e| {
            e.flip(e.layout.directory_at + directory::CONTENT_ID.0 + 15, 0x80);
        }),
        edit(39, "of-fingerprints", Verify, NUMBERS_32, "content_id is that of the fingerprints without their ids", |e| {
            let values = e.blocks(0).concat();
            let content_id = encoding::content_id_of_fingerprints(&values, 32);
            e.put_directory(directory::CONTENT_ID, content_id);
        }),
        edit(39, "another-number", Verify, NUMBERS_32, "id_base one more: all ids are others", |e| {
            let base = u128::from(e.layout.id_base) + 1;
            e.put_directory(directory::ID_BASE, base);
        }),
        parts(39, "exchanged-ids", Verify, STRINGS, "two fingerprints have each other's id", |parts| parts.swap_places(5, 30)),
        edit(39, "empty", Verify, "empty", "content_id 1 of no fingerprint", |e| e.put_directory(directory::CONTENT_ID, 1)),
        edit(40, "contents", Verify, "all-extensions", "a bit of an ancillary section flipped", flip_first::<0xc000>),
        edit(40, "checksum", Verify, "ancillary", "a bit of the checksum of an ancillary section without bytes flipped", |e| {
            let at = e.section(0x8000, 0).record_at;
            e.flip(at + 4, 1);
        }),
    ]
}
