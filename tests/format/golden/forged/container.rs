//! Header, footer, length, directory and parameters: V1 to V9.

use super::*;

/// V1 to V5 without the lengths.
#[rustfmt::skip]
pub(super) fn header_and_footer() -> Vec<Forgery> {
    vec![
        raw(1, "empty", PLAIN, "no bytes at all", |_| Vec::new()),
        raw(1, "one-byte", PLAIN, "the first byte alone", |e| e.file[..1].to_vec()),
        raw(1, "part-of-the-magic", PLAIN, "the first seven bytes", |e| e.file[..7].to_vec()),
        raw(1, "text", PLAIN, "a line of text in place of the file", |_| b"hello, world\n".to_vec()),
        raw(1, "zeros", PLAIN, "every byte is zero", |e| vec![0; e.file.len()]),
        edit(1, "seven-bits", Open, PLAIN, "bit 7 of the first byte lost, as by mail", |e| e.flip(0, 0x80)),
        raw(1, "line-ends", PLAIN, "each 0a became 0d 0a, as by a transfer of text", |e| {
            let with_cr = |&byte: &u8| {
                if byte == b'\n' {
                    vec![13, 10]
                } else {
                    vec![byte]
                }
            };
            e.file.iter().flat_map(with_cr).collect()
        }),
        edit(1, "backwards", Open, PLAIN, "the magic with its bytes in reverse", |e| e.file[..8].reverse()),
        raw(2, "checksum", PLAIN, "one bit of the header checksum flipped", |mut e| {
            e.flip(12, 1);
            e.file
        }),
        raw(2, "version", PLAIN, "format_version 2 under the checksum of version 1", |mut e| {
            e.file[8] = 2;
            e.file
        }),
        raw(2, "width", PLAIN, "width 64 under the checksum of width 32", |mut e| {
            e.file[10] = 64;
            e.file
        }),
        edit(3, "version-0", Open, PLAIN, "format_version 0", |e| e.put_number(8, 0, 2)),
        edit(3, "version-2", Open, PLAIN, "format_version 2", |e| e.put_number(8, 2, 2)),
        edit(3, "version-256", Open, PLAIN, "format_version 256: 1 in the other byte", |e| e.put_number(8, 256, 2)),
        edit(3, "version-65535", Open, PLAIN, "format_version 65,535", |e| e.put_number(8, 0xffff, 2)),
        raw(3, "version-2-all-new", PLAIN, "format_version 2, and other things after the header", |e| {
            let mut e = Editor {
                file: e.file[..64].to_vec(),
                ..e
            };
            e.put_number(8, 2, 2);
            e.file[16..].fill(0xa5);
            let checksum = encoding::crc32(&e.file[..12]);
            e.put_number(12, checksum.into(), 4);
            e.file
        }),
        edit(4, "width-0", Open, PLAIN, "width 0", |e| e.put_number(10, 0, 2)),
        edit(4, "width-16", Open, PLAIN, "width 16", |e| e.put_number(10, 16, 2)),
        edit(4, "width-63", Open, PLAIN, "width 63", |e| e.put_number(10, 63, 2)),
        edit(4, "width-256", Open, PLAIN, "width 256", |e| e.put_number(10, 256, 2)),
        edit(4, "width-288", Open, PLAIN, "width 32 + 256", |e| e.put_number(10, 288, 2)),
        edit(5, "another-version", Open, PLAIN, "the footer has format_version 2", |e| {
            e.put_number(e.footer_at(24), 2, 2);
        }),
        edit(5, "another-width", Open, PLAIN, "the footer has width 64, the header 32", |e| {
            e.put_number(e.footer_at(26), 64, 2);
        }),
        edit(5, "reserved", Open, PLAIN, "the last reserved byte of the footer is 1", |e| {
            e.put_number(e.footer_at(31), 1, 1);
        }),
        raw(5, "end-magic", PLAIN, "one bit of the end magic flipped", |mut e| {
            let end = e.file.len();
            e.flip(end - 1, 1);
            e.file
        }),
        raw(5, "checksum", PLAIN, "one bit of the footer checksum flipped", |mut e| {
            e.flip(e.footer_at(32), 1);
            e.file
        }),
        raw(5, "directory-offset", PLAIN, "directory_offset changed under the old footer checksum", |mut e| {
            e.flip(e.footer_at(0), 0x40);
            e.file
        }),
        edit(5, "file-len-too-large", Open, PLAIN, "file_len is one more than the file has", |e| {
            let end = e.file.len();
            e.put_number(e.footer_at(16), end as u128 + 1, 8);
        }),
        edit(5, "file-len-too-small", Open, PLAIN, "file_len is one less than the file has", |e| {
            let end = e.file.len();
            e.put_number(e.footer_at(16), end as u128 - 1, 8);
        }),
        edit(5, "file-len-largest", Open, PLAIN, "file_len is 2^64 - 1", |e| {
            e.put_number(e.footer_at(16), u64::MAX.into(), 8);
        }),
    ]
}

/// V2 and V5: the worked example cut at each boundary between its parts, and a byte before the end.
pub(super) fn truncated(good: &[Good]) -> Vec<Forgery> {
    let example = good.iter().find(|file| file.name == EXAMPLE).unwrap();
    let layout = encoding::Layout::parse(&example.file);
    let end = example.file.len();
    let mut cuts = vec![
        (8, "after the magic".to_owned()),
        (15, "a byte before the end of the header".into()),
        (16, "after the header".into()),
        (55, "a byte before the shortest file".into()),
        (56, "to the length of the shortest file".into()),
    ];
    for section in &layout.sections {
        let name = format!(
            "section of kind {} of table {}",
            section.kind, section.table
        );
        cuts.push((section.offset, format!("before the {name}")));
        cuts.push((section.offset + section.len, format!("after the {name}")));
    }
    cuts.push((layout.directory_at, "before the directory".into()));
    cuts.push((end - FOOTER_LEN, "before the footer".into()));
    cuts.push((end - 4, "before the end magic".into()));
    cuts.push((end - 1, "a byte before its end".into()));
    cuts.sort_by_key(|(len, _)| *len);
    cuts.dedup_by_key(|(len, _)| *len);
    let cut = |(len, place): (usize, String)| Forgery {
        make: Make::Cut(len),
        ..edit(
            if len < 16 { 2 } else { 5 },
            &format!("cut-{len:04}"),
            Open,
            EXAMPLE,
            &format!("cut to {len} bytes, {place}"),
            |_| (),
        )
    };
    cuts.into_iter().map(cut).collect()
}

/// V5 and V1: bytes after the end, before the start and taken out.
#[rustfmt::skip]
pub(super) fn extended() -> Vec<Forgery> {
    fn with(mut e: Editor, more: &[u8]) -> Vec<u8> {
        e.file.extend_from_slice(more);
        e.file
    }
    vec![
        raw(5, "and-a-zero", EXAMPLE, "a zero byte after the end", |e| with(e, &[0])),
        raw(5, "and-a-line-feed", EXAMPLE, "a line feed after the end", |e| with(e, b"\n")),
        raw(5, "and-64-zeros", EXAMPLE, "64 zero bytes after the end", |e| with(e, &[0; 64])),
        raw(5, "and-the-end-magic", EXAMPLE, "the end magic once more", |e| with(e, b"XDIS")),
        raw(5, "and-the-footer", EXAMPLE, "the footer once more", |e| {
            let footer = e.file[e.file.len() - FOOTER_LEN..].to_vec();
            with(e, &footer)
        }),
        raw(5, "twice", EXAMPLE, "the whole file twice", |e| e.file.repeat(2)),
        raw(5, "a-hole", EXAMPLE, "the 64 bytes from offset 256 are missing", |mut e| {
            e.file.drain(256..320);
            e.file
        }),
        raw(1, "a-zero-before", EXAMPLE, "a zero byte before the start", |e| [&[0][..], &e.file].concat()),
    ]
}

/// Writes the place of the directory into the footer.
fn put_footer(e: &mut Editor, offset: u64, len: u32) {
    let footer = e.file.len() - FOOTER_LEN;
    e.put_number(footer, offset.into(), 8);
    e.put_number(footer + 8, len.into(), 4);
    seal_footer(&mut e.file);
}

/// The place and the length of the directory.
fn directory_place(e: &Editor) -> (u64, u32) {
    (e.layout.directory_at as u64, e.layout.directory_len as u32)
}

/// V6 and V7.
#[rustfmt::skip]
pub(super) fn directory() -> Vec<Forgery> {
    vec![
        raw(6, "offset-unaligned", PLAIN, "directory_offset one more, directory_len one less", |mut e| {
            let (at, len) = directory_place(&e);
            put_footer(&mut e, at + 1, len - 1);
            e.file
        }),
        raw(6, "offset-too-large", PLAIN, "directory_offset 64 more", |mut e| {
            let (at, len) = directory_place(&e);
            put_footer(&mut e, at + 64, len);
            e.file
        }),
        raw(6, "offset-too-small", PLAIN, "directory_offset 64 less", |mut e| {
            let (at, len) = directory_place(&e);
            put_footer(&mut e, at - 64, len);
            e.file
        }),
        raw(6, "offset-overflow", PLAIN, "directory_offset 2^64 - 64: the sum with the length passes 2^64", |mut e| {
            let (_, len) = directory_place(&e);
            put_footer(&mut e, u64::MAX - 63, len);
            e.file
        }),
        raw(6, "offset-wraps", PLAIN, "directory_offset and length whose sum is right modulo 2^64", |mut e| {
            let end = e.file.len() as u64;
            let at = 0u64.wrapping_sub(64);
            put_footer(&mut e, at, (end - FOOTER_LEN as u64 + 64) as u32);
            e.file
        }),
        raw(6, "begins-too-early", PLAIN, "directory_offset 64 less, directory_len 64 more", |mut e| {
            let (at, len) = directory_place(&e);
            put_footer(&mut e, at - 64, len + 64);
            e.file
        }),
        raw(6, "len-0", PLAIN, "a directory of no bytes", |e| assemble(&e.file[..64], &[])),
        raw(6, "len-79", PLAIN, "a directory of 79 zero bytes", |e| assemble(&e.file[..64], &[0; 79])),
        edit(6, "too-few-sections", Open, PLAIN, "section_count one less", |e| {
            let count = e.layout.sections.len() as u128;
            e.put_directory(directory::SECTION_COUNT, count - 1);
        }),
        edit(6, "most-sections", Open, PLAIN, "section_count 65,535", |e| e.put_directory(directory::SECTION_COUNT, 0xffff)),
        edit(6, "too-many-tables", Open, PLAIN, "table_count one more", |e| {
            let count = e.layout.tables.len() as u128;
            e.put_directory(directory::TABLE_COUNT, count + 1);
        }),
        parts(6, "table-records-a-byte-short", Open, PLAIN, "the table records are a byte shorter than the least", |parts| {
            for table in &mut parts.tables {
                table.pop();
            }
            let len = parts.tables[0].len() as u128;
            parts.put(directory::TABLE_RECORD_LEN, len);
        }),
        edit(6, "table-record-len", Open, PLAIN, "table_record_len one less", |e| {
            let len = e.layout.table_record_len as u128;
            e.put_directory(directory::TABLE_RECORD_LEN, len - 1);
        }),
        raw(6, "table-records-of-another-width", PLAIN, "the table records are those of 16 bits", |e| {
            let mut parts = Parts::of(&e.file);
            parts.tables.iter_mut().for_each(|table| table.truncate(34));
            parts.put(directory::TABLE_RECORD_LEN, 34);
            parts.file()
        }),
        edit(6, "table-records-too-long", Open, PLAIN, "table_record_len is 65,535", |e| {
            e.put_directory(directory::TABLE_RECORD_LEN, 0xffff);
        }),
        edit(6, "no-table", Open, PLAIN, "table_count 0 and both table records there", |e| e.put_directory(directory::TABLE_COUNT, 0)),
        raw(7, "first-byte", PLAIN, "a bit of the first byte of the directory flipped", |mut e| {
            let at = e.layout.directory_at;
            e.flip(at, 1);
            e.file
        }),
        raw(7, "code-length", PLAIN, "a bit of a code length flipped", |mut e| {
            let at = e.layout.tables[1].lengths_at;
            e.flip(at, 1);
            e.file
        }),
        raw(7, "last-byte", PLAIN, "a bit of the last byte of the directory flipped", |mut e| {
            let at = e.layout.directory_at + e.layout.directory_len - 1;
            e.flip(at, 0x80);
            e.file
        }),
        raw(7, "checksum", PLAIN, "a bit of directory_checksum flipped, the footer checksum right", |mut e| {
            let at = e.file.len() - FOOTER_LEN + 12;
            e.flip(at, 1);
            seal_footer(&mut e.file);
            e.file
        }),
    ]
}

/// V8 and V9.
#[rustfmt::skip]
pub(super) fn parameters() -> Vec<Forgery> {
    vec![
        edit(8, "block-size-0", Open, PLAIN, "block_size 0", |e| e.put_directory(directory::BLOCK_SIZE, 0)),
        edit(8, "block-size-64", Open, PLAIN, "block_size 64", |e| e.put_directory(directory::BLOCK_SIZE, 64)),
        edit(8, "block-size-192", Open, PLAIN, "block_size 192", |e| e.put_directory(directory::BLOCK_SIZE, 192)),
        edit(8, "block-size-131072", Open, PLAIN, "block_size 131,072", |e| e.put_directory(directory::BLOCK_SIZE, 1 << 17)),
        edit(8, "block-size-2147483648", Open, PLAIN, "block_size 2^31", |e| e.put_directory(directory::BLOCK_SIZE, 1 << 31)),
        raw(8, "no-table", PLAIN, "table_count 0 and no record", |e| {
            let mut parts = Parts::of(&e.file);
            parts.tables.clear();
            parts.sections.clear();
            parts.file()
        }),
        raw(8, "too-many-tables", PLAIN, "256 tables", |e| {
            let mut parts = Parts::of(&e.file);
            parts.tables = vec![parts.tables[0].clone(); 256];
            parts.file()
        }),
        edit(8, "distance-33", Open, PLAIN, "max_distance 33 of 32 bits", |e| e.put_directory(directory::MAX_DISTANCE, 33)),
        edit(8, "distance-255", Open, PLAIN, "max_distance 255", |e| e.put_directory(directory::MAX_DISTANCE, 255)),
        edit(8, "fingerprints-above-width", Open, PLAIN, "2^32 + 1 fingerprints of 32 bits", |e| {
            put_counts(e, (1 << 32) + 1, (1 << 32) + 1);
        }),
        edit(8, "fingerprints-above-limit", Open, "xor-64", "2^48 + 1 fingerprints", |e| {
            put_counts(e, (1 << 48) + 1, (1 << 48) + 1);
        }),
        edit(8, "records-above-limit", Open, PLAIN, "2^48 + 1 records", |e| e.put_directory(directory::RECORD_COUNT, (1 << 48) + 1)),
        edit(8, "records-largest", Open, PLAIN, "2^64 - 1 records", |e| e.put_directory(directory::RECORD_COUNT, u64::MAX.into())),
        edit(8, "fewer-records-than-fingerprints", Open, PLAIN, "record_count one less than fingerprint_count", |e| {
            let count = e.layout.fingerprint_count as u128;
            e.put_directory(directory::RECORD_COUNT, count - 1);
        }),
        edit(8, "records-without-fingerprints", Open, "empty", "one record of no fingerprint", |e| {
            e.put_directory(directory::RECORD_COUNT, 1);
        }),
        edit(9, "id-kind-3", Open, PLAIN, "id_kind 3", |e| e.put_directory(directory::ID_KIND, 3)),
        edit(9, "id-kind-255", Open, NUMBERS_32, "id_kind 255", |e| e.put_directory(directory::ID_KIND, 255)),
        edit(9, "codec-0", Open, PLAIN, "codec 0 of table 0", |e| put_codec(e, 0, 0)),
        edit(9, "codec-5", Open, PLAIN, "codec 5 of table 1", |e| put_codec(e, 1, 5)),
        edit(9, "codec-255", Open, PLAIN, "codec 255 of table 1", |e| put_codec(e, 1, 255)),
        edit(9, "section-kind-0", Open, PLAIN, "the last section has kind 0", |e| put_kind(e, 0)),
        parts(9, "section-kind-3", Open, GROUPED, "a section of kind 3, which has no meaning, after the groups",
            |parts| parts.add(3, vec![1, 0, 0, 0, 0])),
        parts(9, "section-kind-17", Open, "pipeline", "a section of kind 17 more", |parts| parts.add(17, vec![1])),
        parts(9, "section-kind-32767", Open, "ancillary", "a section of kind 0x7fff before the ancillary ones",
            |parts| parts.add(0x7fff, vec![1])),
        edit(9, "section-kind-269", Open, "pipeline", "the last section has kind 13 + 256", |e| put_kind(e, 269)),
        edit(9, "feature", Open, PLAIN, "bit 0 of incompatible_features is set", |e| {
            e.put_directory(directory::INCOMPATIBLE_FEATURES, 1);
        }),
        edit(9, "last-feature", Open, "all-extensions", "bit 63 of incompatible_features is set", |e| {
            e.put_directory(directory::INCOMPATIBLE_FEATURES, 1 << 63);
        }),
        edit(9, "reserved-in-directory", Open, PLAIN, "the first reserved byte of the directory is 1", |e| {
            e.put_directory(directory::RESERVED, 1);
        }),
        edit(9, "last-reserved-in-directory", Open, PLAIN, "the last reserved byte of the directory is 128", |e| {
            e.put_directory(directory::LAST_RESERVED, 1 << 63);
        }),
        edit(9, "reserved-in-table", Open, PLAIN, "the first reserved byte of table record 1 is 1", |e| {
            let at = e.layout.tables[1].record_at;
            e.put_number(at + 9, 1, 1);
        }),
        edit(9, "last-reserved-in-table", Open, PLAIN, "the last reserved byte of table record 0 is 1", |e| {
            let at = e.layout.tables[0].record_at;
            e.put_number(at + 15, 1, 1);
        }),
    ]
}

/// Writes the kind of the last section record.
fn put_kind(e: &mut Editor, kind: u128) {
    let at = e.layout.sections.last().unwrap().record_at;
    e.put_number(at, kind, 2);
}
