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
        raw(2, "reserved", PLAIN, "the reserved byte is 1 under the checksum of 0", |mut e| {
            e.file[11] = 1;
            e.file
        }),
        edit(3, "version-0", Open, PLAIN, "format_version 0", |e| e.put_number(8, 0, 2)),
        edit(3, "version-2", Open, PLAIN, "format_version 2", |e| e.put_number(8, 2, 2)),
        edit(3, "version-256", Open, PLAIN, "format_version 256: 1 in the other byte", |e| e.put_number(8, 256, 2)),
        edit(3, "version-65535", Open, PLAIN, "format_version 65,535", |e| e.put_number(8, 0xffff, 2)),
        raw(3, "version-2-all-new", PLAIN, "format_version 2, and other things behind the header", |e| {
            let mut e = Editor {
                file: e.file[..64].to_vec(),
                ..e
            };
            e.put_number(8, 2, 2);
            e.file[16..].fill(0xa5);
            let checksum = reference::crc32(&e.file[..12]);
            e.put_number(12, checksum.into(), 4);
            e.file
        }),
        edit(4, "width-0", Open, PLAIN, "width 0", |e| e.put_number(10, 0, 1)),
        edit(4, "width-16", Open, PLAIN, "width 16", |e| e.put_number(10, 16, 1)),
        edit(4, "width-63", Open, PLAIN, "width 63", |e| e.put_number(10, 63, 1)),
        edit(4, "width-255", Open, PLAIN, "width 255", |e| e.put_number(10, 255, 1)),
        edit(4, "reserved", Open, PLAIN, "the reserved byte of the header is 1", |e| e.put_number(11, 1, 1)),
        raw(5, "end-magic", PLAIN, "one bit of the end magic flipped", |mut e| {
            let end = e.file.len();
            e.flip(end - 1, 1);
            e.file
        }),
        raw(5, "checksum", PLAIN, "one bit of the footer checksum flipped", |mut e| {
            let end = e.file.len();
            e.flip(end - 8, 1);
            e.file
        }),
        raw(5, "directory-offset", PLAIN, "directory_offset changed under the old footer checksum", |mut e| {
            let end = e.file.len();
            e.flip(end - 32, 0x40);
            e.file
        }),
        edit(5, "file-len-too-large", Open, PLAIN, "file_len is one more than the file has", |e| {
            let end = e.file.len();
            e.put_number(end - 16, end as u128 + 1, 8);
        }),
        edit(5, "file-len-too-small", Open, PLAIN, "file_len is one less than the file has", |e| {
            let end = e.file.len();
            e.put_number(end - 16, end as u128 - 1, 8);
        }),
        edit(5, "file-len-largest", Open, PLAIN, "file_len is 2^64 - 1", |e| {
            let end = e.file.len();
            e.put_number(end - 16, u64::MAX.into(), 8);
        }),
    ]
}

/// V2 and V5: the worked example cut at each boundary between its parts, and a byte before the end.
pub(super) fn truncated(good: &[Good]) -> Vec<Forgery> {
    let example = good.iter().find(|file| file.name == EXAMPLE).unwrap();
    let layout = reference::Layout::parse(&example.file);
    let end = example.file.len();
    let mut cuts = vec![
        (8, "behind the magic".to_owned()),
        (16, "behind the header".into()),
        (47, "a byte before the shortest file".into()),
        (48, "to the length of the shortest file".into()),
    ];
    for section in &layout.sections {
        let name = format!(
            "section of kind {} of table {}",
            section.kind, section.table
        );
        cuts.push((section.offset, format!("before the {name}")));
        cuts.push((section.offset + section.len, format!("behind the {name}")));
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
            if len < 48 { 2 } else { 5 },
            &format!("cut-{len:04}"),
            Open,
            EXAMPLE,
            &format!("cut to {len} bytes, {place}"),
            |_| (),
        )
    };
    cuts.into_iter().map(cut).collect()
}

/// V5 and V1: bytes behind the end, before the start and taken out.
#[rustfmt::skip]
pub(super) fn extended() -> Vec<Forgery> {
    fn with(mut e: Editor, more: &[u8]) -> Vec<u8> {
        e.file.extend_from_slice(more);
        e.file
    }
    vec![
        raw(5, "and-a-zero", EXAMPLE, "a zero byte behind the end", |e| with(e, &[0])),
        raw(5, "and-a-line-feed", EXAMPLE, "a line feed behind the end", |e| with(e, b"\n")),
        raw(5, "and-64-zeros", EXAMPLE, "64 zero bytes behind the end", |e| with(e, &[0; 64])),
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
            put_footer(&mut e, at, (end - 32 + 64) as u32);
            e.file
        }),
        raw(6, "begins-too-early", PLAIN, "directory_offset 64 less, directory_len 64 more", |mut e| {
            let (at, len) = directory_place(&e);
            put_footer(&mut e, at - 64, len + 64);
            e.file
        }),
        raw(6, "len-0", PLAIN, "a directory of no bytes", |e| assemble(&e.file[..64], &[])),
        raw(6, "len-39", PLAIN, "a directory of 39 zero bytes", |e| assemble(&e.file[..64], &[0; 39])),
        edit(6, "too-few-sections", Open, PLAIN, "section_count one less", |e| {
            let count = e.layout.sections.len() as u128;
            e.put_directory(28, count - 1, 2);
        }),
        edit(6, "most-sections", Open, PLAIN, "section_count 65,535", |e| e.put_directory(28, 0xffff, 2)),
        edit(6, "too-many-tables", Open, PLAIN, "table_count one more", |e| {
            let count = e.layout.tables.len() as u128;
            e.put_directory(30, count + 1, 1);
        }),
        edit(6, "no-table", Open, PLAIN, "table_count 0 and both table records there", |e| e.put_directory(30, 0, 1)),
        raw(7, "first-byte", PLAIN, "a bit of the first byte of the directory flipped", |mut e| {
            let at = e.layout.directory_at;
            e.flip(at, 1);
            e.file
        }),
        raw(7, "code-length", PLAIN, "a bit of a code length flipped", |mut e| {
            let at = e.layout.tables[1].record_at + 32;
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
        edit(8, "block-size-0", Open, PLAIN, "block_size 0", |e| e.put_directory(24, 0, 4)),
        edit(8, "block-size-64", Open, PLAIN, "block_size 64", |e| e.put_directory(24, 64, 4)),
        edit(8, "block-size-192", Open, PLAIN, "block_size 192", |e| e.put_directory(24, 192, 4)),
        edit(8, "block-size-131072", Open, PLAIN, "block_size 131,072", |e| e.put_directory(24, 1 << 17, 4)),
        edit(8, "block-size-2147483648", Open, PLAIN, "block_size 2^31", |e| e.put_directory(24, 1 << 31, 4)),
        raw(8, "no-table", PLAIN, "table_count 0 and no record", |e| {
            let at = e.layout.directory_at;
            let mut directory = e.file[at..at + 40].to_vec();
            directory[28..31].fill(0);
            assemble(&e.file[..64], &directory)
        }),
        edit(8, "distance-33", Open, PLAIN, "max_distance 33 of 32 bits", |e| e.put_directory(31, 33, 1)),
        edit(8, "distance-255", Open, PLAIN, "max_distance 255", |e| e.put_directory(31, 255, 1)),
        edit(8, "fingerprints-above-width", Open, PLAIN, "2^32 + 1 fingerprints of 32 bits", |e| {
            put_counts(e, (1 << 32) + 1, (1 << 32) + 1);
        }),
        edit(8, "fingerprints-above-limit", Open, "xor-64", "2^48 + 1 fingerprints", |e| {
            put_counts(e, (1 << 48) + 1, (1 << 48) + 1);
        }),
        edit(8, "records-above-limit", Open, PLAIN, "2^48 + 1 records", |e| e.put_directory(8, (1 << 48) + 1, 8)),
        edit(8, "records-largest", Open, PLAIN, "2^64 - 1 records", |e| e.put_directory(8, u64::MAX.into(), 8)),
        edit(8, "fewer-records-than-fingerprints", Open, PLAIN, "record_count one less than fingerprint_count", |e| {
            let count = e.layout.fingerprint_count as u128;
            e.put_directory(8, count - 1, 8);
        }),
        edit(8, "records-without-fingerprints", Open, "empty", "one record of no fingerprint", |e| {
            e.put_directory(8, 1, 8);
        }),
        edit(9, "id-kind-3", Open, PLAIN, "id_kind 3", |e| e.put_directory(32, 3, 1)),
        edit(9, "id-kind-255", Open, NUMBERS_32, "id_kind 255", |e| e.put_directory(32, 255, 1)),
        edit(9, "codec-0", Open, PLAIN, "codec 0 of table 0", |e| put_codec(e, 0, 0)),
        edit(9, "codec-4", Open, PLAIN, "codec 4 of table 1", |e| put_codec(e, 1, 4)),
        edit(9, "codec-255", Open, PLAIN, "codec 255 of table 1", |e| put_codec(e, 1, 255)),
        edit(9, "section-kind-0", Open, PLAIN, "the last section has kind 0", |e| put_kind(e, 0)),
        edit(9, "section-kind-9", Open, "pipeline", "the last section has kind 9", |e| put_kind(e, 9)),
        edit(9, "section-kind-264", Open, "pipeline", "the last section has kind 8 + 256", |e| put_kind(e, 264)),
        edit(9, "reserved-in-directory", Open, PLAIN, "the first reserved byte of the directory is 1", |e| {
            e.put_directory(34, 1, 1);
        }),
        edit(9, "last-reserved-in-directory", Open, PLAIN, "the last reserved byte of the directory is 128", |e| {
            e.put_directory(39, 128, 1);
        }),
        edit(9, "reserved-in-table", Open, PLAIN, "the first reserved byte of table record 1 is 1", |e| {
            let at = e.layout.tables[1].record_at;
            e.put_number(at + 25, 1, 1);
        }),
        edit(9, "last-reserved-in-table", Open, PLAIN, "the last reserved byte of table record 0 is 1", |e| {
            let at = e.layout.tables[0].record_at;
            e.put_number(at + 31, 1, 1);
        }),
    ]
}

/// Writes the kind of the last section record.
fn put_kind(e: &mut Editor, kind: u128) {
    let at = e.layout.sections.last().unwrap().record_at;
    e.put_number(at, kind, 2);
}
