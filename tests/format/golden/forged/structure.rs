//! Masks, codes, sections and what is in the small ones: V10 to V20.

use super::*;

/// Gives a table another mask, made of its own.
fn change_mask(e: &mut Editor, table: usize, change: fn(u128) -> u128) {
    let record = &e.layout.tables[table];
    let (at, mask) = (record.record_at, change(record.mask));
    e.put_number(at, mask, 16);
}

/// Flips the lowest bit of a byte of a section of table 0 or of no table.
fn flip_in_section(e: &mut Editor, kind: u16, at: usize) {
    let offset = e.section(kind, 0).offset;
    e.flip(offset + at, 1);
}

/// Changes the first byte of the block counts.
fn change_block_count(e: &mut Editor, change: fn(u8) -> u8) {
    let at = e.section(BLOCK_COUNTS, 0).offset;
    let count = change(e.file[at]);
    put_in_section(e, BLOCK_COUNTS, 0, &[count]);
}

/// The file with the last section record twice.
fn with_last_record_twice(e: &Editor) -> Vec<u8> {
    let (front, mut directory) = halves(e);
    directory.extend_from_within(directory.len() - 24..);
    directory[28] += 1;
    assemble(&front, &directory)
}

/// V10 to V14.
#[rustfmt::skip]
pub(super) fn masks_and_codes() -> Vec<Forgery> {
    vec![
        edit(10, "bit-32", Open, PLAIN, "the mask of table 1 has bit 32",
            |e| change_mask(e, 1, |mask| mask | 1 << 32)),
        edit(10, "bit-127", Open, "xor-64", "the mask of table 0 has bit 127",
            |e| change_mask(e, 0, |mask| mask | 1 << 127)),
        edit(11, "low-bits", Open, PLAIN, "the mask of table 0 is 0000ffff", |e| change_mask(e, 0, |_| 0xffff)),
        edit(11, "a-gap", Open, PLAIN, "the mask of table 0 is a0000000",
            |e| change_mask(e, 0, |_| 0xa000_0000)),
        edit(11, "not-the-highest", Open, "xor-128", "the mask of table 0 lacks bit 127",
            |e| change_mask(e, 0, |mask| mask & !(1 << 127))),
        edit(12, "a-length", Open, "ef-32", "codec ef, and symbol 0 of table 0 has code length 1", |e| {
            put_lengths(e, 0, &[1]);
        }),
        edit(12, "last-length", Open, "ef-32", "codec ef, and symbol 31 of table 1 has code length 12", |e| {
            let mut lengths = [0; 32];
            lengths[31] = 12;
            put_lengths(e, 1, &lengths);
        }),
        edit(12, "another-codec", Open, PLAIN, "codec ef with the code of a table of codec xor",
            |e| put_codec(e, 0, 3)),
        edit(13, "length-13", Open, PLAIN, "two of the code lengths are 13, and the sum is 1", |e| {
            put_lengths(e, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13]);
        }),
        edit(13, "length-255", Open, PLAIN, "a code length is 255", |e| put_lengths(e, 1, &[1, 1, 255])),
        edit(13, "incomplete", Open, PLAIN, "the sum over the code is 3/4", |e| put_lengths(e, 0, &[1, 2])),
        edit(13, "oversubscribed", Open, PLAIN, "the sum over the code is 5/4", |e| put_lengths(e, 0, &[1, 1, 2])),
        edit(13, "lone-length-2", Open, PLAIN, "the lone code length is 2", |e| put_lengths(e, 1, &[0, 2])),
        edit(14, "no-block", Open, PLAIN, "table 1 has block_count 0", |e| put_block_count(e, 1, 0)),
        edit(14, "more-blocks-than-values", Open, PLAIN, "table 0 has more blocks than there are fingerprints", |e| {
            let count = e.layout.fingerprint_count as u128;
            put_block_count(e, 0, count + 1);
        }),
        edit(14, "most-blocks", Open, PLAIN, "table 1 has block_count 2^64 - 1",
            |e| put_block_count(e, 1, u64::MAX.into())),
        edit(14, "too-few-blocks", Open, PLAIN, "one more fingerprint than 65,536 for each block of table 0", |e| {
            let count = 65_536 * e.layout.tables[0].block_count as u128 + 1;
            put_counts(e, count, count);
        }),
    ]
}

fn put_block_count(e: &mut Editor, table: usize, count: u128) {
    let at = e.layout.tables[table].record_at;
    e.put_number(at + 16, count, 8);
}

/// V15.
#[rustfmt::skip]
pub(super) fn sections() -> Vec<Forgery> {
    vec![
        edit(15, "swapped-records", Open, PLAIN, "the records of the first two sections have changed places", |e| {
            let (a, b) = (e.section(BLOCKS, 0).record_at, e.section(KEYS, 0).record_at);
            let records = [&e.file[b..b + 24], &e.file[a..a + 24]].concat();
            e.put(a, &records);
        }),
        edit(15, "swapped-kinds", Open, PLAIN, "the kinds of the first two sections have changed places", |e| {
            let (a, b) = (e.section(BLOCKS, 0), e.section(KEYS, 0));
            put_record(e, a, Kind, KEYS.into());
            put_record(e, b, Kind, BLOCKS.into());
        }),
        edit(15, "swapped-tables", Open, PLAIN, "the records of table 1 stand before those of table 0", |e| {
            let (a, b) = (
                e.section(BLOCKS, 0).record_at,
                e.section(BLOCKS, 1).record_at,
            );
            let records = [&e.file[b..b + 48], &e.file[a..a + 48]].concat();
            e.put(a, &records);
        }),
        record(15, "another-table", PLAIN, "the keys of table 1 say that they are of table 2", (KEYS, 1), Table, |_| 2),
        record(15, "table-of-ids", NUMBERS_32, "the numbers say that they are of table 1", (NUMBERS, 0), Table, |_| 1),
        record(15, "kind-of-other-ids", NUMBERS_32, "the numbers have the kind of string bytes",
            (NUMBERS, 0), Kind, |_| STRING_BYTES.into()),
        edit(15, "other-ids", Open, NUMBERS_32, "id_kind says strings, the sections are those of numbers", |e| {
            e.put_directory(32, 2, 1);
        }),
        edit(15, "ids-not-told", Open, NUMBERS_32, "id_kind 0 and the sections of numbers there", |e| {
            e.put_directory(32, 0, 1);
        }),
        edit(15, "groups-missing", Open, NUMBERS_32, "more records than fingerprints and no groups", |e| {
            let count = e.layout.record_count as u128;
            e.put_directory(8, count + 1, 8);
        }),
        edit(15, "groups-not-needed", Open, GROUPED, "as many records as fingerprints, and groups", |e| {
            let count = e.layout.fingerprint_count as u128;
            e.put_directory(8, count, 8);
        }),
        record(15, "offset-later", PLAIN, "the offset of the keys of table 0 is 64 more",
            (KEYS, 0), Offset, |s| s.offset as u128 + 64),
        record(15, "offset-earlier", PLAIN, "the keys of table 1 overlap the blocks before them",
            (KEYS, 1), Offset, |s| s.offset as u128 - 64),
        record(15, "offset-0", PLAIN, "the offset of the first blocks is 0", (BLOCKS, 0), Offset, |_| 0),
        record(15, "offset-largest", PLAIN, "the offset of the keys of table 1 is 2^64 - 64",
            (KEYS, 1), Offset, |_| u128::from(u64::MAX) - 63),
        record(15, "length-of-blocks", PLAIN, "the length of the blocks of table 0 is one more",
            (BLOCKS, 0), Length, |s| s.len as u128 + 1),
        record(15, "length-of-keys", PLAIN, "the length of the keys of table 1 is 2^64 - 1",
            (KEYS, 1), Length, |_| u64::MAX.into()),
        edit(15, "length-of-numbers", Open, NUMBERS_32, "id_bits one more than the numbers have", |e| {
            let bits = u128::from(e.file[e.layout.directory_at + 33]);
            e.put_directory(33, bits + 1, 1);
        }),
        record(15, "length-of-block-counts", NUMBERS_32, "the length of the block counts is two less",
            (BLOCK_COUNTS, 0), Length, |s| s.len as u128 - 2),
        record(15, "length-of-strings", STRINGS, "3 string bytes: no paged section has that length",
            (STRING_BYTES, 0), Length, |_| 3),
        record(15, "length-of-the-pipeline", "pipeline", "a pipeline of no bytes", (PIPELINE, 0), Length, |_| 0),
        edit(15, "lengths-overflow", Open, "xor-64", "2^48 blocks of 2^16 bytes: their length passes 2^64", |e| {
            put_counts(e, 1 << 48, 1 << 48);
            e.put_directory(24, 1 << 16, 4);
            put_block_count(e, 0, 1 << 48);
            put_block_count(e, 1, 1 << 48);
        }),
        record(15, "checksum-of-blocks", PLAIN, "a checksum in the record of blocks", (BLOCKS, 1), Checksum, |_| 1),
        record(15, "checksum-of-groups", GROUPED, "a checksum in the record of the groups",
            (GROUPS, 0), Checksum, |_| 1),
        record(15, "checksum-of-numbers", GROUPED, "a checksum in the record of the numbers",
            (NUMBERS, 0), Checksum, |_| 1),
        record(15, "checksum-of-string-offsets", STRINGS, "a checksum in the record of the string offsets",
            (STRING_OFFSETS, 0), Checksum, |_| 1),
        record(15, "checksum-of-strings", STRINGS, "a checksum in the record of the string bytes",
            (STRING_BYTES, 0), Checksum, |_| 1),
        raw(15, "a-section-less", PLAIN, "the record of the last section is missing", |e| {
            let (front, mut directory) = halves(&e);
            directory.truncate(directory.len() - 24);
            directory[28] -= 1;
            assemble(&front, &directory)
        }),
        raw(15, "a-section-twice", PLAIN, "the record of the last section stands there twice",
            |e| with_last_record_twice(&e)),
        raw(15, "two-pipelines", "pipeline", "the record of the pipeline stands there twice",
            |e| with_last_record_twice(&e)),
        raw(15, "a-gap-before-the-directory", PLAIN, "64 zero bytes more before the directory", |e| {
            let (mut front, directory) = halves(&e);
            front.extend_from_slice(&[0; 64]);
            assemble(&front, &directory)
        }),
        raw(15, "sections-behind-the-end", PLAIN, "the directory stands at offset 64, before what it points to", |e| {
            let (front, directory) = halves(&e);
            assemble(&front[..64], &directory)
        }),
    ]
}

/// V16, V18, V19 and V20.
#[rustfmt::skip]
pub(super) fn section_contents() -> Vec<Forgery> {
    vec![
        edit(16, "keys", Open, PLAIN, "a bit of the keys of table 0 flipped", |e| flip_in_section(e, KEYS, 0)),
        edit(16, "keys-of-table-1", Open, PLAIN, "a bit of the checksum of the keys of table 1 flipped", |e| {
            let at = e.section(KEYS, 1).record_at;
            e.flip(at + 4, 1);
        }),
        record(16, "keys-too-short", PLAIN, "a byte less of keys, under the old checksum",
            (KEYS, 0), Length, |s| s.len as u128 - 1),
        edit(16, "block-counts", Open, NUMBERS_32, "a bit of the block counts flipped",
            |e| flip_in_section(e, BLOCK_COUNTS, 0)),
        edit(16, "pipeline", Open, "pipeline", "a bit of the pipeline flipped", |e| flip_in_section(e, PIPELINE, 1)),
        edit(18, "sum-too-large", Open, NUMBERS_32, "the block counts sum to one more than there are",
            |e| change_block_count(e, |count| count + 1)),
        edit(18, "sum-too-small", Open, STRINGS, "the block counts sum to one less than there are",
            |e| change_block_count(e, |count| count - 1)),
        edit(19, "no-character", Open, "pipeline", "byte ff in the pipeline", |e| {
            put_in_section(e, PIPELINE, 0, &[0xff]);
        }),
        edit(19, "half-a-character", Open, "pipeline", "the pipeline ends within a character", |e| {
            let section = e.section(PIPELINE, 0);
            put_record(e, section, Length, 3);
            let last = e.layout.sections.len() - 1;
            e.layout.sections[last].len = 3;
            e.seal_section(PIPELINE, 0);
        }),
        edit(20, "bits-without-ids", Open, PLAIN, "id_bits 1 without ids", |e| e.put_directory(33, 1, 1)),
        edit(20, "base-without-ids", Open, PLAIN, "id_base 1 without ids", |e| e.put_directory(16, 1, 8)),
        edit(20, "numbers-of-65-bits", Open, "empty-numbers", "id_bits 65", |e| e.put_directory(33, 65, 1)),
        edit(20, "base-of-strings", Open, STRINGS, "id_base 1 of strings", |e| e.put_directory(16, 1, 8)),
        edit(20, "bits-of-strings", Open, "one-empty-string", "id_bits 2 where string bytes of length 1 need 1", |e| {
            e.put_directory(33, 2, 1);
        }),
    ]
}

/// Replaces the bit stream of the keys of table 0, which must keep its length in bytes.
fn put_keys_stream(e: &mut Editor, stream: Bits) {
    let section = e.section(KEYS, 0);
    let at = e.layout.width as usize / 4;
    let bytes = reference::filled(stream);
    assert_eq!(at + bytes.len(), section.len);
    put_in_section(e, KEYS, at, &bytes);
}

/// The bit stream of the keys of table 0, and how many of its bits are high bits.
fn keys_stream(e: &Editor) -> (Bits, usize) {
    let keys = e.keys(0);
    let max = keys[keys.len() - 1] - keys[0];
    let numbers: Vec<u128> = keys.iter().map(|key| key - keys[0]).collect();
    let (_, buckets) = elias_fano_layout(keys.len(), max);
    (elias_fano(&numbers, max), keys.len() + buckets)
}

/// Changes the keys of table 0 as numbers above the first one; the largest stays the limit.
fn put_key_numbers(e: &mut Editor, change: fn(&mut [u128])) {
    let keys = e.keys(0);
    let max = keys[keys.len() - 1] - keys[0];
    let mut numbers: Vec<u128> = keys.iter().map(|key| key - keys[0]).collect();
    assert!(numbers.len() > 3);
    change(&mut numbers);
    put_keys_stream(e, elias_fano(&numbers, max));
}

/// V17.
#[rustfmt::skip]
pub(super) fn keys() -> Vec<Forgery> {
    vec![
        edit(17, "a-byte-more", Open, PLAIN, "the keys of table 0 have a zero byte more", |e| {
            let len = e.section(KEYS, 0).len;
            put_keys_len(e, len + 1);
        }),
        edit(17, "a-byte-less", Open, PLAIN, "the keys of table 0 have a byte less", |e| {
            let len = e.section(KEYS, 0).len;
            put_keys_len(e, len - 1);
        }),
        edit(17, "one-key-cut", Open, PLAIN, "the keys of table 0 end within the first key", |e| put_keys_len(e, 3)),
        raw(17, "keys-of-no-block", "empty-one-table", "a table without blocks has a byte of keys", |e| {
            let (mut front, mut directory) = halves(&e);
            front.extend_from_slice(&[0; 64]);
            let record = directory.len() - 24;
            directory[record + 4..record + 8]
                .copy_from_slice(&reference::crc32(&[0]).to_le_bytes());
            directory[record + 16] = 1;
            assemble(&front, &directory)
        }),
        edit(17, "first-above-last", Open, PLAIN, "the first key is above the last", |e| {
            let len = e.layout.width as usize / 8;
            let at = e.section(KEYS, 0).offset;
            let ends = [&e.file[at + len..at + 2 * len], &e.file[at..at + len]].concat();
            put_in_section(e, KEYS, 0, &ends);
        }),
        edit(17, "no-room", Open, PLAIN, "the last key is the first one plus 1, with more than two keys", |e| {
            let first = e.keys(0)[0];
            put_in_section(e, KEYS, 4, &(first as u32 + 1).to_le_bytes());
        }),
        edit(17, "a-high-bit-more", Open, PLAIN, "one of the clear high bits is set", |e| {
            let (mut stream, high) = keys_stream(e);
            let clear = stream[..high].first_zero().unwrap();
            stream.set(clear, true);
            put_keys_stream(e, stream);
        }),
        edit(17, "a-high-bit-less", Open, PLAIN, "one of the set high bits is clear", |e| {
            let (mut stream, high) = keys_stream(e);
            let set = stream[..high].last_one().unwrap();
            stream.set(set, false);
            put_keys_stream(e, stream);
        }),
        edit(17, "equal-keys", Open, PLAIN, "the second key is there twice", |e| put_key_numbers(e, |n| n[2] = n[1])),
        edit(17, "descending-keys", Open, "xor-128", "two keys in the wrong order within their bucket", |e| {
            put_key_numbers(e, |n| {
                let max = n[n.len() - 1];
                let (low_bits, _) = elias_fano_layout(n.len(), max);
                let same = |i: &usize| n[*i] >> low_bits == n[i + 1] >> low_bits;
                let place = (1..n.len() - 2).find(same).expect("two in a bucket");
                n.swap(place, place + 1);
            });
        }),
        edit(17, "first-not-0", Open, PLAIN, "the number of the first key is 1", |e| put_key_numbers(e, |n| n[0] = 1)),
        edit(17, "last-too-small", Open, PLAIN, "the number of the last key is one less than the limit", |e| {
            put_key_numbers(e, |n| n[n.len() - 1] -= 1);
        }),
        edit(17, "padding", Open, "one", "a bit behind the keys is set", |e| {
            let section = e.section(KEYS, 0);
            let last = section.offset + section.len - 1;
            e.flip(last, 1);
            e.seal_section(KEYS, 0);
        }),
    ]
}
