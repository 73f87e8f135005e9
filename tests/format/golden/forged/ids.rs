//! Ids, and what only a full check looks at: V28 to V36.

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
        edit(28, "string-offsets", Query, STRINGS, "a bit of the string offsets flipped", flip_first::<STRING_OFFSETS>),
        edit(28, "strings", Query, STRINGS, "a bit of the string bytes flipped", flip_first::<STRING_BYTES>),
        edit(28, "second-page", Query, "strings-pipeline", "a bit of the second page of the string bytes flipped", |e| {
            let at = e.section(STRING_BYTES, 0).offset;
            e.flip(at + 4096, 1);
        }),
        edit(28, "swapped-checksums", Query, "strings-pipeline", "the checksums of two pages have changed places", |e| {
            let at = e.section(STRING_BYTES, 0).offset + e.payload_len(STRING_BYTES);
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
        edit(29, "bit-behind-the-last-id", Query, GROUPED, "a bit behind the last id is set", |e| {
            let end = e.layout.record_count;
            put_bitmap(e, |bits| bits.set(end, true));
        }),
        edit(29, "no-bit", Query, GROUPED_STRINGS, "all bits are clear", |e| put_bitmap(e, |bits| bits.fill(false))),
    ]
}

/// The place of string `number` in the string bytes.
fn string_at(e: &Editor, number: usize) -> usize {
    let mut at = e.section(STRING_BYTES, 0).offset;
    for _ in 0..number {
        assert!(e.file[at] < 0x80);
        at += 1 + usize::from(e.file[at]);
    }
    at
}

/// Writes bytes in the place of string 1 and what is behind it.
fn put_string(e: &mut Editor, bytes: &[u8]) {
    let at = string_at(e, 1);
    e.put(at, bytes);
    e.seal_pages(STRING_BYTES);
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
            e.put_directory(16, u64::MAX.into(), 8);
        }),
        edit(30, "largest-number", Query, "numbers-128", "id_base 1, and one of the numbers is 2^64 - 1", |e| {
            e.put_directory(16, 1, 8);
            let at = e.section(NUMBERS, 0).offset;
            e.put(at, &[0xff; 8]);
            e.seal_pages(NUMBERS);
        }),
        edit(31, "not-utf-8", Query, STRINGS, "a string with byte ff", |e| put_string(e, &[4, 0xff])),
        edit(31, "half-a-character", Query, STRINGS, "a string with byte c3 before a digit", |e| {
            put_string(e, &[4, b'0', 0xc3, b'1', b'2']);
        }),
        edit(31, "not-shortest", Query, STRINGS, "the length 2 as 82 00", |e| put_string(e, &[0x82, 0, b'x', b'y'])),
        edit(31, "zero-not-shortest", Query, STRINGS, "the length 0 as 80 80 00", |e| put_string(e, &[0x80, 0x80, 0])),
        edit(31, "length-65536", Query, STRINGS, "the length 65,536", |e| put_string(e, &[0x80, 0x80, 4])),
        edit(31, "length-without-end", Query, STRINGS, "three bytes of a length with bit 7 set", |e| {
            put_string(e, &[0xff, 0xff, 0xff]);
        }),
        edit(31, "past-the-end", Query, "xor-32-strings", "the last string is longer than what is left", |e| {
            let at = string_at(e, e.layout.record_count - 1);
            e.put_number(at, 5, 1);
            e.seal_pages(STRING_BYTES);
        }),
        edit(32, "first-offset", Query, STRINGS, "the first offset is as large as its bits allow", |e| {
            let bits = usize::from(e.file[e.layout.directory_at + 33]);
            let at = e.section(STRING_OFFSETS, 0).offset;
            assert!(bits >= 8 && e.payload_len(STRING_BYTES) < (1 << bits) - 1);
            let mut packed = Bits::from_slice(&e.file[at..at + e.payload_len(STRING_OFFSETS)]);
            packed[..bits].fill(true);
            e.put(at, &packed.into_vec());
            e.seal_pages(STRING_OFFSETS);
        }),
        edit(32, "another-string", Verify, "gap-64-strings", "offset 1 points to string 17", |e| {
            let bits = usize::from(e.file[e.layout.directory_at + 33]);
            let at = e.section(STRING_OFFSETS, 0).offset;
            let wrong = string_at(e, 17) - e.section(STRING_BYTES, 0).offset;
            let mut packed = Bits::from_slice(&e.file[at..at + e.payload_len(STRING_OFFSETS)]);
            packed[bits..2 * bits].copy_from_bitslice(&bits_of(wrong as u128, bits as u32));
            e.put(at, &packed.into_vec());
            e.seal_pages(STRING_OFFSETS);
        }),
        edit(32, "bytes-behind", Query, STRINGS, "the last string is a byte shorter than what is left", |e| {
            let at = string_at(e, e.layout.record_count - 1);
            e.put_number(at, 3, 1);
            e.seal_pages(STRING_BYTES);
        }),
        edit(33, "numbers", Verify, GROUPED, "the ids of a fingerprint in the wrong order", |e| {
            let first = bitmap(e);
            let group = (0..e.layout.record_count - 1)
                .find(|&i| !first[i + 1])
                .unwrap();
            let bits = usize::from(e.file[e.layout.directory_at + 33]);
            let at = e.section(NUMBERS, 0).offset;
            let mut packed = Bits::from_slice(&e.file[at..at + e.payload_len(NUMBERS)]);
            let number = |i: usize| packed[i * bits..(i + 1) * bits].to_bitvec();
            let (one, two) = (number(group), number(group + 1));
            packed[group * bits..(group + 1) * bits].copy_from_bitslice(&two);
            packed[(group + 1) * bits..(group + 2) * bits].copy_from_bitslice(&one);
            e.put(at, &packed.into_vec());
            e.seal_pages(NUMBERS);
        }),
        edit(33, "strings", Verify, EXAMPLE, "`bee` before `ant`", |e| {
            let at = e.section(STRING_BYTES, 0).offset;
            e.put(at, b"\x03bee\x03ant");
            e.seal_pages(STRING_BYTES);
        }),
    ]
}

/// The values of a block of table 1, the key the last of them.
fn values_of(e: &Editor, block: usize) -> Vec<u128> {
    e.layout.blocks(&e.file, 1)[block].1.clone()
}

/// Puts another fingerprint into table 1: the last stored value of a block with another lowest bit.
fn put_another(e: &mut Editor) {
    for block in 0..e.layout.tables[1].block_count {
        let mut values = values_of(e, block);
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
    let mut values = values_of(e, 0);
    values.remove(values.len() - 2);
    e.put_values(1, 0, &values);
}

/// V34 to V36.
#[rustfmt::skip]
pub(super) fn whole_file() -> Vec<Forgery> {
    vec![
        edit(34, "before-the-first-section", Verify, PLAIN, "a byte between the header and the first section", |e| {
            e.put_number(16, 1, 1);
        }),
        edit(34, "between-sections", Verify, PLAIN, "the byte before the blocks of table 1", |e| {
            let section = e.section(BLOCKS, 1);
            e.put_number(section.offset - 1, 0x80, 1);
        }),
        edit(34, "before-the-directory", Verify, PLAIN, "the byte before the directory", |e| {
            let at = e.layout.directory_at;
            e.put_number(at - 1, 1, 1);
        }),
        edit(34, "behind-the-numbers", Verify, "numbers-spare-bits", "the last bit behind the numbers", |e| {
            let last = 8 * e.payload_len(NUMBERS) - 1;
            flip_packed(e, NUMBERS, last);
        }),
        edit(34, "behind-the-offsets", Verify, EXAMPLE, "the last bit behind the string offsets", |e| {
            let last = 8 * e.payload_len(STRING_OFFSETS) - 1;
            flip_packed(e, STRING_OFFSETS, last);
        }),
        edit(35, "a-value-less", Verify, PLAIN, "table 1 lacks a value", take_a_value),
        edit(35, "a-value-less-with-ids", Verify, GROUPED, "table 1 lacks a value of a file with ids", take_a_value),
        edit(35, "count", Verify, "ef-64", "fingerprint_count and record_count are one more", |e| {
            let count = e.layout.fingerprint_count as u128 + 1;
            put_counts(e, count, count);
        }),
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
    ]
}
