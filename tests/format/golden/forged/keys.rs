//! Keys: V16 of their groups, and V17.

use super::*;

/// The bit stream of key group 0 of table 0, and how many of its bits are high bits.
fn stream(e: &Editor) -> (Bits, usize) {
    let (numbers, max) = numbers(e);
    let (_, buckets) = elias_fano_layout(numbers.len(), max);
    (elias_fano(&numbers, max), numbers.len() + buckets)
}

/// The keys of group 0 of table 0 but its last as numbers, and the largest that there can be.
fn numbers(e: &Editor) -> (Vec<u128>, u128) {
    let keys = e.keys(0);
    let (last, others) = keys.split_last().unwrap();
    (others.to_vec(), last - 1)
}

/// Replaces the bit stream of key group 0 of table 0, which must keep its length in bytes.
fn put_stream(e: &mut Editor, stream: Bits) {
    let section = e.section(KEY_GROUPS, 0);
    let bytes = encoding::filled(stream);
    assert_eq!(bytes.len(), section.len);
    e.put(section.offset, &bytes);
    e.seal_keys(0);
}

/// Changes the numbers of key group 0 of table 0; the largest that there can be stays the limit.
fn put_numbers(e: &mut Editor, change: fn(&mut [u128])) {
    let (mut numbers, max) = numbers(e);
    assert!(numbers.len() > 2);
    change(&mut numbers);
    put_stream(e, elias_fano(&numbers, max));
}

/// Writes the last key of a group of table 0.
fn put_last(e: &mut Editor, group: usize, key: u128) {
    let key_len = e.layout.width as usize / 8;
    let at = e.section(KEY_ENTRIES, 0).offset + group * (key_len + 12);
    e.put_number(at, key, key_len);
    e.seal_section(KEY_ENTRIES, 0);
}

/// Writes the end of a group of table 0.
fn put_end(e: &mut Editor, group: usize, end: u64) {
    let key_len = e.layout.width as usize / 8;
    let at = e.section(KEY_ENTRIES, 0).offset + group * (key_len + 12) + key_len;
    e.put_number(at, end.into(), 8);
    e.seal_section(KEY_ENTRIES, 0);
}

/// V16.
#[rustfmt::skip]
pub(super) fn key_groups() -> Vec<Forgery> {
    vec![
        edit(16, "key-group", Open, PLAIN, "a bit of the key groups of table 0 flipped", |e| {
            let at = e.section(KEY_GROUPS, 0).offset;
            e.flip(at, 1);
        }),
        edit(16, "last-key-group", Open, PLAIN, "a bit of the last byte of the key groups of table 1 flipped", |e| {
            let section = e.section(KEY_GROUPS, 1);
            e.flip(section.offset + section.len - 1, 0x80);
        }),
        edit(16, "key-group-checksum", Open, PLAIN, "a bit of the checksum in a key entry of table 1 flipped", |e| {
            let section = e.section(KEY_ENTRIES, 1);
            e.flip(section.offset + section.len - 1, 1);
            e.seal_section(KEY_ENTRIES, 1);
        }),
        edit(16, "key-group-not-bound", Open, PLAIN, "the checksum of a key group is the plain CRC-32 of its bytes", |e| {
            let checksum = encoding::crc32(e.layout.bytes(&e.file, KEY_GROUPS, 1));
            let section = e.section(KEY_ENTRIES, 1);
            e.put(section.offset + section.len - 4, &checksum.to_le_bytes());
            e.seal_section(KEY_ENTRIES, 1);
        }),
    ]
}

/// V17.
#[rustfmt::skip]
pub(super) fn keys() -> Vec<Forgery> {
    vec![
        parts(17, "a-byte-more", Open, PLAIN, "the key groups of table 0 have a zero byte more",
            |parts| parts.section(KEY_GROUPS, 0).push(0)),
        parts(17, "a-byte-less", Open, PLAIN, "the key groups of table 0 have a byte less",
            |parts| { parts.section(KEY_GROUPS, 0).pop(); }),
        parts(17, "keys-of-no-block", Open, "empty-one-table", "a table without blocks has a byte of key groups",
            |parts| parts.section(KEY_GROUPS, 0).push(0)),
        parts(17, "bytes-of-one-key", Open, "one", "the group of a single key has a byte", |parts| {
            parts.section(KEY_GROUPS, 0).push(0);
            let entries = parts.section(KEY_ENTRIES, 0);
            entries[8] = 1;
            let checksum = encoding::bound_checksum(&[0], KEY_GROUPS, 0, 0);
            entries[16..20].copy_from_slice(&checksum.to_le_bytes());
        }),
        edit(17, "end-too-large", Open, PLAIN, "the end of the key group is one more", |e| {
            let len = e.section(KEY_GROUPS, 0).len as u64;
            put_end(e, 0, len + 1);
        }),
        edit(17, "end-largest", Open, PLAIN, "the end of key group 0 is 2^64 - 1", |e| put_end(e, 0, u64::MAX)),
        edit(17, "no-room", Open, PLAIN, "the last key is one less than the number of the others", |e| {
            let others = e.keys(0).len() as u128 - 1;
            put_last(e, 0, others - 1);
        }),
        edit(17, "a-high-bit-more", Open, PLAIN, "one of the clear high bits is set", |e| {
            let (mut stream, high) = stream(e);
            let clear = stream[..high].first_zero().unwrap();
            stream.set(clear, true);
            put_stream(e, stream);
        }),
        edit(17, "a-high-bit-less", Open, PLAIN, "one of the set high bits is clear", |e| {
            let (mut stream, high) = stream(e);
            let set = stream[..high].last_one().unwrap();
            stream.set(set, false);
            put_stream(e, stream);
        }),
        edit(17, "equal-keys", Open, PLAIN, "the first key is there twice", |e| put_numbers(e, |n| n[1] = n[0])),
        edit(17, "descending-keys", Open, "near-keys", "two keys in the wrong order within their interval", |e| {
            let (mut n, max) = numbers(e);
            let (low_bits, _) = elias_fano_layout(n.len(), max);
            let same = |i: &usize| n[*i] >> low_bits == n[i + 1] >> low_bits;
            let place = (0..n.len() - 1).find(same).expect("two in an interval");
            n.swap(place, place + 1);
            put_stream(e, elias_fano(&n, max));
        }),
        edit(17, "the-last-key-twice", Open, "by-hand-ef", "the last key but one is the last key", |e| {
            let last = e.keys(0)[1];
            let (low_bits, buckets) = elias_fano_layout(1, last - 1);
            let bytes = encoding::filled(elias_fano(&[last], last - 1));
            assert!(last >> low_bits < buckets as u128);
            let at = e.section(KEY_GROUPS, 0).offset;
            e.put(at, &bytes);
            e.seal_keys(0);
        }),
        edit(17, "padding", Open, "near-keys", "a bit after the keys is set", |e| {
            let section = e.section(KEY_GROUPS, 0);
            e.flip(section.offset + section.len - 1, 1);
            e.seal_keys(0);
        }),
    ]
}
