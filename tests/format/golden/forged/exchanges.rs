//! Parts in the place of others, whole and with their own checksums: V16, V21 and V28.

use super::*;

/// Where a page of a section starts, and where its checksum is.
fn page_at(e: &Editor, kind: u16, page: usize) -> (usize, usize) {
    let offset = e.section(kind, 0).offset;
    let checksums = offset + e.payload_len(kind);
    (offset + page * encoding::PAGE_LEN, checksums + 4 * page)
}

/// Where a key group of the file with two of one length starts, where its checksum is, and its length.
fn group_at(e: &Editor, group: usize) -> (usize, usize, usize) {
    let (groups, entries) = (e.section(KEY_GROUPS, 0), e.section(KEY_ENTRIES, 0));
    let len = groups.len / 2;
    (
        groups.offset + group * len,
        entries.offset + group * 20 + 16,
        len,
    )
}

/// V21.
#[rustfmt::skip]
pub(super) fn blocks() -> Vec<Forgery> {
    fn copy(e: &mut Editor, from: (usize, usize), to: (usize, usize)) {
        let block = e.block(from.0, from.1).to_vec();
        let at = e.layout.block_at(to.0, to.1);
        e.put(at, &block);
    }
    vec![
        edit(21, "exchanged-blocks", Query, "xor-64", "blocks 0 and 1 of table 0 have changed places", |e| {
            let (one, two) = (e.layout.block_at(0, 0), e.layout.block_at(0, 1));
            e.swap(one, two, e.layout.block_size);
        }),
        edit(21, "exchanged-single-keys", Query, "near-keys", "blocks 1 and 3 of table 0 have changed places", |e| {
            let (one, two) = (e.layout.block_at(0, 1), e.layout.block_at(0, 3));
            // Each holds its key alone, which is not in it: the blocks differ in their checksums only.
            assert_eq!(e.file[one + 4..one + 128], e.file[two + 4..two + 128]);
            e.swap(one, two, 128);
        }),
        edit(21, "repeated-block", Query, "gap-32", "block 0 of table 1 stands in the place of block 1, too",
            |e| copy(e, (1, 0), (1, 1))),
        edit(21, "block-of-another-table", Query, "ef-128", "block 0 of table 1 stands in the place of block 0 of table 0",
            |e| copy(e, (1, 0), (0, 0))),
        edit(21, "exchanged-with-another-table", Query, "ef-64", "blocks 1 of the tables 0 and 1 have changed places", |e| {
            let (one, two) = (e.layout.block_at(0, 1), e.layout.block_at(1, 1));
            e.swap(one, two, e.layout.block_size);
        }),
        edit(21, "not-bound", Query, PLAIN, "the checksum of a block is the plain CRC-32 of its bytes", |e| {
            let at = e.layout.block_at(1, 1);
            let checksum = encoding::crc32(&e.file[at + 4..at + e.layout.block_size]);
            e.put(at, &checksum.to_le_bytes());
        }),
    ]
}

/// V28.
#[rustfmt::skip]
pub(super) fn pages() -> Vec<Forgery> {
    vec![
        edit(28, "exchanged-pages", Query, LONG_STRINGS, "pages 0 and 1 of the buckets have changed places, with their checksums", |e| {
            let (one, two) = (page_at(e, BUCKETS, 0), page_at(e, BUCKETS, 1));
            assert!(e.payload_len(BUCKETS) >= 2 * encoding::PAGE_LEN);
            e.swap(one.0, two.0, encoding::PAGE_LEN);
            e.swap(one.1, two.1, 4);
        }),
        edit(28, "repeated-page", Query, "large-block-gap", "page 0 of the numbers stands in the place of page 1, too", |e| {
            let (one, two) = (page_at(e, NUMBERS, 0), page_at(e, NUMBERS, 1));
            assert!(e.payload_len(NUMBERS) >= 2 * encoding::PAGE_LEN);
            e.file.copy_within(one.0..one.0 + encoding::PAGE_LEN, two.0);
            e.file.copy_within(one.1..one.1 + 4, two.1);
        }),
        edit(28, "page-of-another-section", Query, ORDERED_STRINGS, "places and id order have changed places, with their checksums", |e| {
            let (places, order) = (e.section(PLACES, 0), e.section(ID_ORDER, 0));
            assert_eq!(places.len, order.len);
            e.swap(places.offset, order.offset, places.len);
        }),
        edit(28, "not-bound", Query, NUMBERS_32, "the checksum of a page is the plain CRC-32 of its bytes", |e| {
            let checksum = encoding::crc32(e.layout.payload(&e.file, NUMBERS));
            let (_, at) = page_at(e, NUMBERS, 0);
            e.put(at, &checksum.to_le_bytes());
        }),
    ]
}

/// V16.
#[rustfmt::skip]
pub(super) fn key_groups() -> Vec<Forgery> {
    vec![
        edit(16, "exchanged-key-groups", Open, TWO_KEY_GROUPS, "both key groups have changed places, with their checksums", |e| {
            let (one, two) = (group_at(e, 0), group_at(e, 1));
            e.swap(one.0, two.0, one.2);
            e.swap(one.1, two.1, 4);
            e.seal_section(KEY_ENTRIES, 0);
        }),
        edit(16, "repeated-key-group", Open, TWO_KEY_GROUPS, "key group 0 stands in the place of group 1, too, with its checksum", |e| {
            let (one, two) = (group_at(e, 0), group_at(e, 1));
            e.file.copy_within(one.0..one.0 + one.2, two.0);
            e.file.copy_within(one.1..one.1 + 4, two.1);
            e.seal_section(KEY_ENTRIES, 0);
        }),
        edit(16, "keys-of-another-table", Open, EXAMPLE, "the key entries of table 0 stand in the place of those of table 1, too", |e| {
            let (one, two) = (e.section(KEY_ENTRIES, 0), e.section(KEY_ENTRIES, 1));
            assert_eq!(one.len, two.len);
            e.file.copy_within(one.offset..one.offset + one.len, two.offset);
            e.seal_section(KEY_ENTRIES, 1);
        }),
    ]
}
