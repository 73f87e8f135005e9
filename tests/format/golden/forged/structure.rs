//! Masks, codes, sections and what is in the small ones: V11 to V16, V18 to V20, V41, V42.

use super::*;

/// Gives a table another mask, made of its own.
fn change_mask(e: &mut Editor, table: usize, change: fn(u128) -> u128) {
    let record = &e.layout.tables[table];
    let (at, mask) = (record.mask_at, change(record.mask));
    e.put_number(at, mask, e.layout.width as usize / 8);
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

/// The file with the record of a section twice.
fn with_a_record_twice(e: &Editor, kind: u16) -> Vec<u8> {
    let mut directory = e.file[e.layout.directory_at..e.footer_at(0)].to_vec();
    let at = e.section(kind, 0).record_at - e.layout.directory_at;
    let record = directory[at..at + 24].to_vec();
    directory.splice(at..at, record);
    directory[directory::SECTION_COUNT.0] += 1;
    assemble(&e.file[..e.layout.directory_at], &directory)
}

/// V11 to V14.
#[rustfmt::skip]
pub(super) fn masks_and_codes() -> Vec<Forgery> {
    vec![
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
    e.put_number(at, count, 8);
}

/// V15.
#[rustfmt::skip]
pub(super) fn sections() -> Vec<Forgery> {
    vec![
        edit(15, "swapped-records", Open, PLAIN, "the records of the block counts and of the key groups of table 0 have changed places", |e| {
            let (a, b) = (e.section(BLOCK_COUNTS, 0).record_at, e.section(KEY_GROUPS, 0).record_at);
            e.swap(a, b, 24);
        }),
        edit(15, "swapped-kinds", Open, PLAIN, "the kinds of the first blocks and key groups have changed places", |e| {
            let (a, b) = (e.section(BLOCKS, 0), e.section(KEY_GROUPS, 0));
            put_record(e, a, Kind, KEY_GROUPS.into());
            put_record(e, b, Kind, BLOCKS.into());
        }),
        edit(15, "swapped-tables", Open, PLAIN, "the record of the blocks of table 1 stands before that of table 0", |e| {
            let (a, b) = (e.section(BLOCKS, 0).record_at, e.section(BLOCKS, 1).record_at);
            e.swap(a, b, 24);
        }),
        record(15, "another-table", PLAIN, "the key entries of table 1 say that they are of table 2",
            (KEY_ENTRIES, 1), Table, |_| 2),
        record(15, "table-of-ids", NUMBERS_32, "the numbers say that they are of table 1", (NUMBERS, 0), Table, |_| 1),
        record(15, "table-of-ancillary", "all-extensions", "the ancillary section says that it is of table 1",
            (0xc000, 0), Table, |_| 1),
        record(15, "kind-of-other-ids", NUMBERS_32, "the numbers have the kind of places",
            (NUMBERS, 0), Kind, |_| PLACES.into()),
        edit(15, "other-ids", Open, NUMBERS_32, "id_kind says strings, the sections are those of numbers", |e| {
            e.put_directory(directory::ID_KIND, 2);
        }),
        edit(15, "ids-not-told", Open, NUMBERS_32, "id_kind 0 and the sections of numbers there", |e| {
            e.put_directory(directory::ID_KIND, 0);
        }),
        parts(15, "order-without-ids", Open, PLAIN, "an id order without ids", |parts| parts.add(ID_ORDER, Vec::new())),
        edit(15, "groups-missing", Open, NUMBERS_32, "more records than fingerprints and no groups", |e| {
            let count = e.layout.record_count as u128;
            e.put_directory(directory::RECORD_COUNT, count + 1);
        }),
        edit(15, "groups-not-needed", Open, GROUPED, "as many records as fingerprints, and groups", |e| {
            let count = e.layout.fingerprint_count as u128;
            e.put_directory(directory::RECORD_COUNT, count);
        }),
        parts(15, "block-counts-missing", Open, PLAIN, "no block counts", |parts| parts.remove(BLOCK_COUNTS, 0)),
        parts(15, "string-code-missing", Open, STRINGS, "no string code", |parts| parts.remove(STRING_CODE, 0)),
        parts(15, "string-code-of-numbers", Open, NUMBERS_32, "a string code with numbers",
            |parts| parts.add(STRING_CODE, vec![1])),
        parts(15, "ancillary-first", Open, "ancillary", "an ancillary section before all others", |parts| {
            let last = parts.sections.pop().unwrap();
            parts.sections.insert(0, last);
        }),
        parts(15, "metadata-before-pipeline", Open, "all-sections", "the metadata stand before the pipeline", |parts| {
            let last = parts.sections.len() - 1;
            parts.sections.swap(last - 1, last);
        }),
        record(15, "offset-later", PLAIN, "the offset of the key entries of table 0 is 64 more",
            (KEY_ENTRIES, 0), Offset, |s| s.offset as u128 + 64),
        record(15, "offset-earlier", PLAIN, "the key groups of table 1 overlap the section before them",
            (KEY_GROUPS, 1), Offset, |s| s.offset as u128 - 64),
        record(15, "offset-0", PLAIN, "the offset of the first blocks is 0", (BLOCKS, 0), Offset, |_| 0),
        record(15, "offset-largest", PLAIN, "the offset of the key groups of table 1 is 2^64 - 64",
            (KEY_GROUPS, 1), Offset, |_| u128::from(u64::MAX) - 63),
        record(15, "offset-of-ancillary", "ancillary", "the offset of the first ancillary section is 64 more",
            (0xffff, 0), Offset, |s| s.offset as u128 + 64),
        raw(15, "long-pages-unaligned", LONG_STRINGS, "paged sections of several pages at multiples of 64, not of 4,096", |e| {
            // Without the padding before them all that follows moves up.
            let section = e.section(BUCKETS, 0);
            let at = e.layout.sections.iter().position(|s| s.record_at == section.record_at).unwrap();
            let before = e.layout.sections[at - 1];
            let gap = section.offset - (before.offset + before.len).next_multiple_of(64);
            assert!(gap > 0);
            let mut file = e.file.clone();
            for section in &e.layout.sections[at..] {
                let offset = (section.offset - gap) as u64;
                file[section.record_at + 8..section.record_at + 16].copy_from_slice(&offset.to_le_bytes());
            }
            let directory = file[e.layout.directory_at..e.footer_at(0)].to_vec();
            let mut front = file[..e.layout.directory_at].to_vec();
            front.drain(section.offset - gap..section.offset);
            assemble(&front, &directory)
        }),
        record(15, "length-of-blocks", PLAIN, "the length of the blocks of table 0 is one more",
            (BLOCKS, 0), Length, |s| s.len as u128 + 1),
        record(15, "length-of-key-entries", PLAIN, "the length of the key entries of table 1 is 2^64 - 1",
            (KEY_ENTRIES, 1), Length, |_| u64::MAX.into()),
        record(15, "length-of-key-groups", PLAIN, "the length of the key groups of table 1 is 2^64 - 1",
            (KEY_GROUPS, 1), Length, |_| u64::MAX.into()),
        edit(15, "length-of-numbers", Open, NUMBERS_32, "id_bits one more than the numbers have", |e| {
            let bits = e.layout.id_bits as u128;
            e.put_directory(directory::ID_BITS, bits + 1);
        }),
        parts(15, "length-of-places", Open, STRINGS, "a byte less of places", |parts| { parts.section(PLACES, 0).pop(); }),
        parts(15, "length-of-order", Open, ORDERED, "a byte more of the id order", |parts| parts.section(ID_ORDER, 0).push(0)),
        record(15, "length-of-block-counts", NUMBERS_32, "the length of the block counts is two less",
            (BLOCK_COUNTS, 0), Length, |s| s.len as u128 - 2),
        record(15, "length-of-buckets", STRINGS, "3 bytes of buckets: no paged section has that length",
            (BUCKETS, 0), Length, |_| 3),
        record(15, "length-of-the-pipeline", "pipeline", "a pipeline of no bytes", (PIPELINE, 0), Length, |_| 0),
        parts(15, "longest-pipeline-and-a-byte", Open, "pipeline", "a pipeline of 65,537 bytes",
            |parts| parts.section(PIPELINE, 0).resize(65_537, b'x')),
        record(15, "length-of-the-metadata", "metadata", "metadata of no bytes", (METADATA, 0), Length, |_| 0),
        record(15, "length-of-ancillary", "all-extensions", "the ancillary section ends after the directory starts",
            (0xc000, 0), Length, |_| 65),
        edit(15, "most-blocks", Open, "xor-64", "2^48 blocks of 2^13 bytes: the file has not as many", |e| {
            put_counts(e, 1 << 48, 1 << 48);
            e.put_directory(directory::BLOCK_SIZE, 1 << 13);
            put_block_count(e, 0, 1 << 48);
            put_block_count(e, 1, 1 << 48);
        }),
        record(15, "checksum-of-blocks", PLAIN, "a checksum in the record of blocks", (BLOCKS, 1), Checksum, |_| 1),
        record(15, "checksum-of-key-groups", PLAIN, "a checksum in the record of key groups", (KEY_GROUPS, 0), Checksum, |_| 1),
        record(15, "checksum-of-groups", GROUPED, "a checksum in the record of the groups",
            (GROUPS, 0), Checksum, |_| 1),
        record(15, "checksum-of-numbers", GROUPED, "a checksum in the record of the numbers",
            (NUMBERS, 0), Checksum, |_| 1),
        record(15, "checksum-of-places", STRINGS, "a checksum in the record of the places",
            (PLACES, 0), Checksum, |_| 1),
        record(15, "checksum-of-bucket-offsets", STRINGS, "a checksum in the record of the bucket offsets",
            (BUCKET_OFFSETS, 0), Checksum, |_| 1),
        record(15, "checksum-of-buckets", STRINGS, "a checksum in the record of the buckets",
            (BUCKETS, 0), Checksum, |_| 1),
        record(15, "checksum-of-order", ORDERED, "a checksum in the record of the id order",
            (ID_ORDER, 0), Checksum, |_| 1),
        parts(15, "a-section-less", Open, PLAIN, "the last section is missing", |parts| drop(parts.sections.pop())),
        raw(15, "a-section-twice", PLAIN, "the record of the block counts stands there twice",
            |e| with_a_record_twice(&e, BLOCK_COUNTS)),
        raw(15, "two-pipelines", "pipeline", "the record of the pipeline stands there twice",
            |e| with_a_record_twice(&e, PIPELINE)),
        raw(15, "a-gap-before-the-directory", PLAIN, "64 zero bytes more before the directory", |e| {
            let (mut front, directory) = halves(&e);
            front.extend_from_slice(&[0; 64]);
            assemble(&front, &directory)
        }),
        raw(15, "sections-after-the-end", PLAIN, "the directory stands at offset 64, before what it points to", |e| {
            let (front, directory) = halves(&e);
            assemble(&front[..64], &directory)
        }),
    ]
}

/// V16 without the key groups, V18, V19 and V20.
#[rustfmt::skip]
pub(super) fn section_contents() -> Vec<Forgery> {
    vec![
        edit(16, "key-entries", Open, PLAIN, "a bit of the key entries of table 0 flipped", |e| {
            flip_in_section(e, KEY_ENTRIES, 0);
        }),
        edit(16, "key-entries-of-table-1", Open, PLAIN, "a bit of the checksum of the key entries of table 1 flipped", |e| {
            let at = e.section(KEY_ENTRIES, 1).record_at;
            e.flip(at + 4, 1);
        }),
        edit(16, "block-counts", Open, NUMBERS_32, "a bit of the block counts flipped",
            |e| flip_in_section(e, BLOCK_COUNTS, 0)),
        edit(16, "string-code", Open, STRINGS, "a bit of the string code flipped", |e| flip_in_section(e, STRING_CODE, 0)),
        edit(16, "pipeline", Open, "pipeline", "a bit of the pipeline flipped", |e| flip_in_section(e, PIPELINE, 1)),
        edit(16, "metadata", Open, "metadata", "a bit of a value of the metadata flipped",
            |e| flip_in_section(e, METADATA, 12)),
        edit(18, "sum-too-large", Open, NUMBERS_32, "the block counts sum to one more than there are",
            |e| change_block_count(e, |count| count + 1)),
        edit(18, "sum-too-small", Open, STRINGS, "the block counts sum to one less than there are",
            |e| change_block_count(e, |count| count - 1)),
        edit(18, "without-ids", Open, PLAIN, "without ids, the block counts sum to one more than there are",
            |e| change_block_count(e, |count| count + 1)),
        edit(19, "no-character", Open, "pipeline", "byte ff in the pipeline", |e| {
            put_in_section(e, PIPELINE, 0, &[0xff]);
        }),
        parts(19, "half-a-character", Open, "pipeline", "the pipeline ends within a character",
            |parts| parts.section(PIPELINE, 0).truncate(3)),
        parts(19, "surrogate", Open, "pipeline", "a surrogate, in three bytes, before the pipeline",
            |parts| { parts.section(PIPELINE, 0).splice(..0, SURROGATE.iter().copied()); }),
        parts(19, "overlong", Open, "pipeline", "a slash in two bytes before the pipeline",
            |parts| { parts.section(PIPELINE, 0).splice(..0, OVERLONG.iter().copied()); }),
        edit(20, "bits-without-ids", Open, PLAIN, "id_bits 1 without ids", |e| e.put_directory(directory::ID_BITS, 1)),
        edit(20, "base-without-ids", Open, PLAIN, "id_base 1 without ids", |e| e.put_directory(directory::ID_BASE, 1)),
        edit(20, "numbers-of-65-bits", Open, "empty-numbers", "id_bits 65", |e| e.put_directory(directory::ID_BITS, 65)),
        edit(20, "base-of-strings", Open, STRINGS, "id_base 1 of strings", |e| e.put_directory(directory::ID_BASE, 1)),
        edit(20, "bits-of-strings", Open, "one-empty-string", "id_bits one more than the length of the buckets has", |e| {
            let bits = e.layout.id_bits as u128;
            assert_eq!(bits.div_ceil(8), (bits + 1).div_ceil(8));
            e.put_directory(directory::ID_BITS, bits + 1);
        }),
    ]
}

/// V41.
#[rustfmt::skip]
pub(super) fn metadata() -> Vec<Forgery> {
    /// An entry that says its key and value are so long.
    fn entry(key_len: u8, value_len: u32, rest: &[u8]) -> Vec<u8> {
        [&[key_len][..], &value_len.to_le_bytes(), rest].concat()
    }
    fn put(parts: &mut Parts, entries: &[Vec<u8>]) {
        *parts.section(METADATA, 0) = entries.concat();
    }
    const FROM: &str = "metadata";
    vec![
        parts(41, "part-of-an-entry", Open, FROM, "the metadata end within the length of a value",
            |parts| parts.section(METADATA, 0).truncate(4)),
        parts(41, "part-of-a-key", Open, FROM, "a key is longer than what is left", |p| put(p, &[entry(2, 0, b"a")])),
        parts(41, "part-of-a-value", Open, FROM, "a value is longer than what is left", |p| put(p, &[entry(1, 2, b"ab")])),
        parts(41, "longest-value", Open, FROM, "a value of 2^32 - 1 bytes", |p| put(p, &[entry(1, u32::MAX, b"a")])),
        parts(41, "a-byte-more", Open, FROM, "a byte follows the last entry",
            |parts| parts.section(METADATA, 0).push(0)),
        parts(41, "empty-key", Open, FROM, "a key of no bytes", |p| put(p, &[entry(0, 1, b"a")])),
        parts(41, "equal-keys", Open, FROM, "a key twice", |p| put(p, &[entry(1, 0, b"a"), entry(1, 1, b"ab")])),
        parts(41, "descending-keys", Open, FROM, "key `a` after key `aa`",
            |p| put(p, &[entry(2, 0, b"aa"), entry(1, 0, b"a")])),
        parts(41, "key-not-utf-8", Open, FROM, "byte ff in a key", |p| put(p, &[entry(1, 1, b"\xffa")])),
        parts(41, "value-not-utf-8", Open, FROM, "half a character in a value", |p| put(p, &[entry(1, 1, b"a\xc3")])),
        parts(41, "key-with-surrogate", Open, FROM, "a surrogate, in three bytes, as a key", |p| put(p, &[entry(3, 0, SURROGATE)])),
        parts(41, "value-overlong", Open, FROM, "a slash in two bytes as a value",
            |p| put(p, &[entry(1, 2, &[b"a", OVERLONG].concat())])),
    ]
}

/// V42.
pub(super) fn string_codes(good: &[Good]) -> Vec<Forgery> {
    let base = good.iter().find(|file| file.name == STRINGS).unwrap();
    let section = Parts::of(&base.file).section(STRING_CODE, 0).clone();
    let make = |(name, bytes)| Forgery {
        make: Make::Section(STRING_CODE, bytes),
        ..edit(42, name, Open, STRINGS, "another string code: ", |_| ())
    };
    let mut files: Vec<Forgery> = strings::bad_codes(&section).into_iter().map(make).collect();
    for file in &mut files {
        file.what += &file.name.replace('-', " ");
    }
    files
}
