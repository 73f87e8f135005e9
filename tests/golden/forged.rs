//! The bad and unsupported files of the corpus: one table of edits, each of which breaks one rule of a good file.
//!
//! Unless the text says otherwise, every checksum above the edit is right, so that nothing but the rule is broken.
//! `rustfmt` leaves the tables alone: a row stays one line where it fits.

use simidx::FormatClass;

use super::common::editor::{Editor, assemble, seal_footer};
use super::common::manifest::{Broken, Entry, Expect, Stage};
use super::common::reference;
use super::common::reference::{
    BLOCK_COUNTS, BLOCKS, Bits, FOOTER_LEN, GROUPS, KEYS, NUMBERS, PIPELINE, STRING_BYTES,
    STRING_OFFSETS, Section, bits_of, elias_fano, elias_fano_layout,
};
use super::good::Good;
use Stage::{Open, Query, Verify};

/// A file made wrong.
#[derive(Debug, Clone)]
pub(crate) struct Forgery {
    /// The name of the file without what goes before `v`.
    name: String,
    rule: u8,
    stage: Stage,
    /// The name of the good file.
    from: &'static str,
    what: String,
    make: Make,
}

/// How the file is made of the good one.
#[derive(Debug, Clone, Copy)]
enum Make {
    /// The edit leaves checksums alone; those of header, directory and footer are made right behind it.
    Sealed(fn(&mut Editor)),
    /// Every byte as it is.
    Raw(fn(Editor) -> Vec<u8>),
    /// The first so many bytes.
    Cut(usize),
}

impl Forgery {
    fn class(&self) -> FormatClass {
        match self.rule {
            1 => FormatClass::NotSimidx,
            3 | 4 | 9 => FormatClass::Unsupported,
            _ => FormatClass::Damaged,
        }
    }

    fn expect(&self) -> Expect {
        match self.class() {
            FormatClass::Unsupported => Expect::Unsupported,
            _ => Expect::Bad,
        }
    }

    pub(crate) fn file_name(&self) -> String {
        let (expect, rule) = (self.expect().name(), self.rule);
        format!("{expect}-v{rule:02}-{}.simidx", self.name)
    }

    /// The good file among all of them.
    fn base<'a>(&self, good: &'a [Good]) -> &'a Good {
        let base = good.iter().find(|file| file.name == self.from);
        base.unwrap_or_else(|| panic!("there is no file {}", self.from))
    }

    /// The bytes of the file.
    pub(crate) fn file(&self, good: &[Good]) -> Vec<u8> {
        let base = self.base(good);
        let mut editor = Editor::new(base.file.clone());
        let made = match self.make {
            Make::Sealed(edit) => {
                edit(&mut editor);
                editor.finish()
            }
            Make::Raw(make) => make(editor),
            Make::Cut(len) => base.file[..len].to_vec(),
        };
        assert!(made != base.file, "{} changes nothing", self.name);
        made
    }

    /// The row of the manifest: the parameters are those of the good file.
    pub(crate) fn entry(&self, good: &[Good]) -> Entry {
        let base = self.base(good);
        Entry {
            file: self.file_name(),
            expect: self.expect(),
            broken: Some(Broken {
                class: self.class(),
                rule: self.rule,
                stage: self.stage,
            }),
            contents: None,
            contents_crc32: None,
            made_from: Some(base.file_name()),
            what: self.what.clone(),
            ..base.entry()
        }
    }
}

/// An edit behind which header, directory and footer get right checksums.
fn edit(
    rule: u8,
    name: &str,
    stage: Stage,
    from: &'static str,
    what: &str,
    edit: fn(&mut Editor),
) -> Forgery {
    Forgery {
        name: name.into(),
        rule,
        stage,
        from,
        what: what.into(),
        make: Make::Sealed(edit),
    }
}

/// Bytes that are used as they are. All of these break a rule of the stage "open".
fn raw(
    rule: u8,
    name: &str,
    from: &'static str,
    what: &str,
    make: fn(Editor) -> Vec<u8>,
) -> Forgery {
    Forgery {
        make: Make::Raw(make),
        ..edit(rule, name, Open, from, what, |_| ())
    }
}

/// Every bad and unsupported file, in the order of the manifest.
pub(crate) fn all(good: &[Good]) -> Vec<Forgery> {
    let mut files = header_and_footer();
    files.extend(truncated(good));
    files.extend(extended());
    files.extend(directory());
    files.extend(parameters());
    files.extend(masks_and_codes());
    files.extend(sections());
    files.extend(section_contents());
    files.extend(keys());
    files.extend(block_rules());
    files.extend(delta_blocks());
    files.extend(elias_fano_blocks());
    files.extend(pages());
    files.extend(groups());
    files.extend(ids());
    files.extend(whole_file());
    files.sort_by_key(|file| file.rule);
    files
}

const PLAIN: &str = "xor-32";
const NUMBERS_32: &str = "xor-32-numbers";
const GROUPED: &str = "gap-32-grouped-numbers";
const STRINGS: &str = "ef-32-strings";
const GROUPED_STRINGS: &str = "gap-32-grouped-strings";
const EXAMPLE: &str = "worked-example";

/// V1 to V5 without the lengths.
#[rustfmt::skip]
fn header_and_footer() -> Vec<Forgery> {
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
fn truncated(good: &[Good]) -> Vec<Forgery> {
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
fn extended() -> Vec<Forgery> {
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
fn directory() -> Vec<Forgery> {
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

/// Sets both counts of the directory.
fn put_counts(e: &mut Editor, fingerprints: u128, records: u128) {
    e.put_directory(0, fingerprints, 8);
    e.put_directory(8, records, 8);
}

/// V8 and V9.
#[rustfmt::skip]
fn parameters() -> Vec<Forgery> {
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

fn put_codec(e: &mut Editor, table: usize, codec: u128) {
    let at = e.layout.tables[table].record_at;
    e.put_number(at + 24, codec, 1);
}

/// Writes the kind of the last section record.
fn put_kind(e: &mut Editor, kind: u128) {
    let at = e.layout.sections.last().unwrap().record_at;
    e.put_number(at, kind, 2);
}

fn put_mask(e: &mut Editor, table: usize, mask: u128) {
    let at = e.layout.tables[table].record_at;
    e.put_number(at, mask, 16);
}

/// Gives all symbols of a table these code lengths, and the rest 0.
fn put_lengths(e: &mut Editor, table: usize, lengths: &[u8]) {
    let at = e.layout.tables[table].record_at + 32;
    let mut all = vec![0; e.layout.width as usize];
    all[..lengths.len()].copy_from_slice(lengths);
    e.put(at, &all);
}

/// V10 to V14.
#[rustfmt::skip]
fn masks_and_codes() -> Vec<Forgery> {
    vec![
        edit(10, "bit-32", Open, PLAIN, "the mask of table 1 has bit 32", |e| {
            let mask = e.layout.tables[1].mask;
            put_mask(e, 1, mask | 1 << 32);
        }),
        edit(10, "bit-127", Open, "xor-64", "the mask of table 0 has bit 127", |e| {
            let mask = e.layout.tables[0].mask;
            put_mask(e, 0, mask | 1 << 127);
        }),
        edit(11, "low-bits", Open, PLAIN, "the mask of table 0 is 0000ffff", |e| put_mask(e, 0, 0xffff)),
        edit(11, "a-gap", Open, PLAIN, "the mask of table 0 is a0000000", |e| put_mask(e, 0, 0xa000_0000)),
        edit(11, "not-the-highest", Open, "xor-128", "the mask of table 0 lacks bit 127", |e| {
            let mask = e.layout.tables[0].mask;
            put_mask(e, 0, mask & !(1 << 127));
        }),
        edit(12, "a-length", Open, "ef-32", "codec ef, and symbol 0 of table 0 has code length 1", |e| {
            put_lengths(e, 0, &[1]);
        }),
        edit(12, "last-length", Open, "ef-32", "codec ef, and symbol 31 of table 1 has code length 12", |e| {
            let mut lengths = [0; 32];
            lengths[31] = 12;
            put_lengths(e, 1, &lengths);
        }),
        edit(
            12,
            "another-codec",
            Open,
            PLAIN,
            "codec ef with the code of a table of codec xor",
            |e| put_codec(e, 0, 3),
        ),
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
        edit(
            14,
            "most-blocks",
            Open,
            PLAIN,
            "table 1 has block_count 2^64 - 1",
            |e| put_block_count(e, 1, u64::MAX.into()),
        ),
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

/// Writes a field of the record of a section: `at` bytes behind its start, `len` bytes.
fn put_record(e: &mut Editor, section: Section, at: usize, value: u128, len: usize) {
    e.put_number(section.record_at + at, value, len);
}

/// The front of the file, before the directory, and the directory.
fn halves(e: &Editor) -> (Vec<u8>, Vec<u8>) {
    let at = e.layout.directory_at;
    let directory = &e.file[at..at + e.layout.directory_len];
    (e.file[..at].to_vec(), directory.to_vec())
}

/// V15.
#[rustfmt::skip]
fn sections() -> Vec<Forgery> {
    vec![
        edit(15, "swapped-records", Open, PLAIN, "the records of the first two sections have changed places", |e| {
            let (a, b) = (e.section(BLOCKS, 0).record_at, e.section(KEYS, 0).record_at);
            let records = [&e.file[b..b + 24], &e.file[a..a + 24]].concat();
            e.put(a, &records);
        }),
        edit(15, "swapped-kinds", Open, PLAIN, "the kinds of the first two sections have changed places", |e| {
            let (a, b) = (e.section(BLOCKS, 0), e.section(KEYS, 0));
            put_record(e, a, 0, KEYS.into(), 2);
            put_record(e, b, 0, BLOCKS.into(), 2);
        }),
        edit(15, "swapped-tables", Open, PLAIN, "the records of table 1 stand before those of table 0", |e| {
            let (a, b) = (
                e.section(BLOCKS, 0).record_at,
                e.section(BLOCKS, 1).record_at,
            );
            let records = [&e.file[b..b + 48], &e.file[a..a + 48]].concat();
            e.put(a, &records);
        }),
        edit(15, "another-table", Open, PLAIN, "the keys of table 1 say that they are of table 2", |e| {
            let section = e.section(KEYS, 1);
            put_record(e, section, 2, 2, 2);
        }),
        edit(15, "table-of-ids", Open, NUMBERS_32, "the numbers say that they are of table 1", |e| {
            let section = e.section(NUMBERS, 0);
            put_record(e, section, 2, 1, 2);
        }),
        edit(15, "kind-of-other-ids", Open, NUMBERS_32, "the numbers have the kind of string bytes", |e| {
            let section = e.section(NUMBERS, 0);
            put_record(e, section, 0, STRING_BYTES.into(), 2);
        }),
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
        edit(15, "offset-later", Open, PLAIN, "the offset of the keys of table 0 is 64 more", |e| {
            let section = e.section(KEYS, 0);
            put_record(e, section, 8, section.offset as u128 + 64, 8);
        }),
        edit(15, "offset-earlier", Open, PLAIN, "the keys of table 1 overlap the blocks before them", |e| {
            let section = e.section(KEYS, 1);
            put_record(e, section, 8, section.offset as u128 - 64, 8);
        }),
        edit(15, "offset-0", Open, PLAIN, "the offset of the first blocks is 0", |e| {
            let section = e.section(BLOCKS, 0);
            put_record(e, section, 8, 0, 8);
        }),
        edit(15, "offset-largest", Open, PLAIN, "the offset of the keys of table 1 is 2^64 - 64", |e| {
            let section = e.section(KEYS, 1);
            put_record(e, section, 8, u128::from(u64::MAX) - 63, 8);
        }),
        edit(15, "length-of-blocks", Open, PLAIN, "the length of the blocks of table 0 is one more", |e| {
            let section = e.section(BLOCKS, 0);
            put_record(e, section, 16, section.len as u128 + 1, 8);
        }),
        edit(15, "length-of-keys", Open, PLAIN, "the length of the keys of table 1 is 2^64 - 1", |e| {
            let section = e.section(KEYS, 1);
            put_record(e, section, 16, u64::MAX.into(), 8);
        }),
        edit(15, "length-of-numbers", Open, NUMBERS_32, "id_bits one more than the numbers have", |e| {
            let bits = u128::from(e.file[e.layout.directory_at + 33]);
            e.put_directory(33, bits + 1, 1);
        }),
        edit(15, "length-of-block-counts", Open, NUMBERS_32, "the length of the block counts is two less", |e| {
            let section = e.section(BLOCK_COUNTS, 0);
            put_record(e, section, 16, section.len as u128 - 2, 8);
        }),
        edit(15, "length-of-strings", Open, STRINGS, "3 string bytes: no paged section has that length", |e| {
            let section = e.section(STRING_BYTES, 0);
            put_record(e, section, 16, 3, 8);
        }),
        edit(15, "length-of-the-pipeline", Open, "pipeline", "a pipeline of no bytes", |e| {
            let section = e.section(PIPELINE, 0);
            put_record(e, section, 16, 0, 8);
        }),
        edit(15, "lengths-overflow", Open, "xor-64", "2^48 blocks of 2^16 bytes: their length passes 2^64", |e| {
            put_counts(e, 1 << 48, 1 << 48);
            e.put_directory(24, 1 << 16, 4);
            put_block_count(e, 0, 1 << 48);
            put_block_count(e, 1, 1 << 48);
        }),
        edit(15, "checksum-of-blocks", Open, PLAIN, "a checksum in the record of blocks", |e| {
            let section = e.section(BLOCKS, 1);
            put_record(e, section, 4, 1, 4);
        }),
        edit(15, "checksum-of-groups", Open, GROUPED, "a checksum in the record of the groups", |e| {
            let section = e.section(GROUPS, 0);
            put_record(e, section, 4, 1, 4);
        }),
        edit(15, "checksum-of-numbers", Open, GROUPED, "a checksum in the record of the numbers", |e| {
            let section = e.section(NUMBERS, 0);
            put_record(e, section, 4, 1, 4);
        }),
        edit(15, "checksum-of-string-offsets", Open, STRINGS, "a checksum in the record of the string offsets", |e| {
            let section = e.section(STRING_OFFSETS, 0);
            put_record(e, section, 4, 1, 4);
        }),
        edit(15, "checksum-of-strings", Open, STRINGS, "a checksum in the record of the string bytes", |e| {
            let section = e.section(STRING_BYTES, 0);
            put_record(e, section, 4, 1, 4);
        }),
        raw(15, "a-section-less", PLAIN, "the record of the last section is missing", |e| {
            let (front, mut directory) = halves(&e);
            directory.truncate(directory.len() - 24);
            directory[28] -= 1;
            assemble(&front, &directory)
        }),
        raw(15, "a-section-twice", PLAIN, "the record of the last section stands there twice", |e| {
            let (front, mut directory) = halves(&e);
            directory.extend_from_within(directory.len() - 24..);
            directory[28] += 1;
            assemble(&front, &directory)
        }),
        raw(15, "two-pipelines", "pipeline", "the record of the pipeline stands there twice", |e| {
            let (front, mut directory) = halves(&e);
            directory.extend_from_within(directory.len() - 24..);
            directory[28] += 1;
            assemble(&front, &directory)
        }),
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

/// Changes a number that a section holds and makes its checksum right.
fn put_in_section(e: &mut Editor, kind: u16, at: usize, bytes: &[u8]) {
    let offset = e.section(kind, 0).offset;
    e.put(offset + at, bytes);
    e.seal_section(kind, 0);
}

/// V16, V18, V19 and V20.
#[rustfmt::skip]
fn section_contents() -> Vec<Forgery> {
    vec![
        edit(16, "keys", Open, PLAIN, "a bit of the keys of table 0 flipped", |e| {
            let at = e.section(KEYS, 0).offset;
            e.flip(at, 1);
        }),
        edit(16, "keys-of-table-1", Open, PLAIN, "a bit of the checksum of the keys of table 1 flipped", |e| {
            let at = e.section(KEYS, 1).record_at;
            e.flip(at + 4, 1);
        }),
        edit(16, "keys-too-short", Open, PLAIN, "a byte less of keys, under the old checksum", |e| {
            let section = e.section(KEYS, 0);
            put_record(e, section, 16, section.len as u128 - 1, 8);
        }),
        edit(16, "block-counts", Open, NUMBERS_32, "a bit of the block counts flipped", |e| {
            let at = e.section(BLOCK_COUNTS, 0).offset;
            e.flip(at, 1);
        }),
        edit(16, "pipeline", Open, "pipeline", "a bit of the pipeline flipped", |e| {
            let at = e.section(PIPELINE, 0).offset;
            e.flip(at + 1, 1);
        }),
        edit(18, "sum-too-large", Open, NUMBERS_32, "the block counts sum to one more than there are", |e| {
            let at = e.section(BLOCK_COUNTS, 0).offset;
            let count = e.file[at] + 1;
            put_in_section(e, BLOCK_COUNTS, 0, &[count]);
        }),
        edit(18, "sum-too-small", Open, STRINGS, "the block counts sum to one less than there are", |e| {
            let at = e.section(BLOCK_COUNTS, 0).offset;
            let count = e.file[at] - 1;
            put_in_section(e, BLOCK_COUNTS, 0, &[count]);
        }),
        edit(19, "no-character", Open, "pipeline", "byte ff in the pipeline", |e| {
            put_in_section(e, PIPELINE, 0, &[0xff]);
        }),
        edit(19, "half-a-character", Open, "pipeline", "the pipeline ends within a character", |e| {
            let section = e.section(PIPELINE, 0);
            put_record(e, section, 16, 3, 8);
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

/// Gives the keys of table 0 another length, what follows staying where it is.
fn put_keys_len(e: &mut Editor, len: usize) {
    let section = e.section(KEYS, 0);
    put_record(e, section, 16, len as u128, 8);
    let place = e
        .layout
        .sections
        .iter_mut()
        .find(|s| s.record_at == section.record_at);
    place.unwrap().len = len;
    e.seal_section(KEYS, 0);
}

/// V17.
#[rustfmt::skip]
fn keys() -> Vec<Forgery> {
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

/// V21, V26 and V27.
#[rustfmt::skip]
fn block_rules() -> Vec<Forgery> {
    /// Sets the last bit of the last block of table 1.
    fn set_last_bit(e: &mut Editor) {
        let last = e.layout.tables[1].block_count - 1;
        let at = e.layout.block_at(1, last) + e.layout.block_size - 1;
        e.flip(at, 1);
        e.seal_block(1, last);
    }
    /// Moves a value from the first block count to the second.
    fn shift_counts(e: &mut Editor) {
        let at = e.section(BLOCK_COUNTS, 0).offset;
        let counts = [e.file[at] - 1, 0, e.file[at + 2] + 1];
        put_in_section(e, BLOCK_COUNTS, 0, &counts);
    }
    vec![
        edit(21, "checksum", Query, PLAIN, "a bit of the checksum of block 0 of table 0 flipped", |e| {
            let at = e.layout.block_at(0, 0);
            e.flip(at, 1);
        }),
        edit(21, "count", Query, "gap-32", "a bit of the count of block 1 of table 0 flipped", |e| {
            let at = e.layout.block_at(0, 1);
            e.flip(at + 4, 0x80);
        }),
        edit(21, "stream", Query, "ef-32", "a bit of block 1 of table 1 flipped", |e| {
            let at = e.layout.block_at(1, 1);
            e.flip(at + 40, 4);
        }),
        edit(21, "last-byte", Query, "xor-128", "a bit of the last byte of the last block of table 1 flipped", |e| {
            let last = e.layout.tables[1].block_count - 1;
            let at = e.layout.block_at(1, last);
            e.flip(at + 127, 1);
        }),
        edit(21, "swapped-blocks", Query, "xor-64", "blocks 0 and 1 of table 0, with the checksum of the other", |e| {
            let (first, second) = (e.layout.block_at(0, 0), e.layout.block_at(0, 1));
            let checksums = (
                e.file[first..first + 4].to_vec(),
                e.file[second..second + 4].to_vec(),
            );
            e.put(first, &checksums.1);
            e.put(second, &checksums.0);
        }),
        edit(26, "xor", Query, "xor-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "gap", Query, "gap-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "ef", Query, "ef-64", "the last bit of the last block is set", set_last_bit),
        edit(26, "behind-the-stream", Query, "by-hand-xor", "the first bit behind the values of block 1 is set", |e| {
            let mut stream = stream_of(e, &VALUES);
            stream.push(true);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(26, "key-alone", Query, "one", "a bit is set in a block that holds its key alone", |e| {
            let at = e.layout.block_at(0, 0);
            e.flip(at + 6, 1);
            e.seal_block(0, 0);
        }),
        edit(27, "xor", Query, NUMBERS_32, "a value is counted in the block behind its own", shift_counts),
        edit(27, "gap", Query, GROUPED, "a value is counted in the block behind its own", shift_counts),
        edit(27, "ef", Query, STRINGS, "a value is counted in the block behind its own", shift_counts),
    ]
}

/// The key of block 0 of the files made by hand.
const BEFORE: u128 = 1000;

/// The values of block 1 of the files made by hand.
const VALUES: [u128; 5] = [1003, 1010, 1011, 2000, 2100];

/// The stream of values behind the first key, the last of them the key.
fn stream_of(e: &Editor, values: &[u128]) -> Bits {
    e.layout.coding(0).stream(Some(BEFORE), values)
}

/// Writes block 1 of table 0.
fn put_block(e: &mut Editor, count: usize, stream: &Bits) {
    let bytes = reference::block(count, stream, e.layout.block_size);
    let at = e.layout.block_at(0, 1);
    e.put(at, &bytes);
}

/// Writes these values into block 1 of table 0, whatever the keys say.
fn put_values(e: &mut Editor, values: &[u128]) {
    let stream = stream_of(e, values);
    put_block(e, values.len(), &stream);
}

/// V22 to V25 in the codecs `xor` and `gap`.
#[rustfmt::skip]
fn delta_blocks() -> Vec<Forgery> {
    /// One codeword, `0`, and a stream that starts with a 1.
    fn no_codeword(e: &mut Editor) {
        put_lengths(e, 0, &[0, 0, 0, 0, 1]);
        put_block(e, 2, &bits_of(0b1_0000, 5));
    }
    /// No codeword, and a block that needs one.
    fn no_code(e: &mut Editor) {
        put_lengths(e, 0, &[]);
        put_block(e, 2, &bits_of(0, 8));
    }
    /// Thirty steps of more than thirty bits.
    fn overrun(e: &mut Editor) {
        let values: Vec<u128> = (1..=30).map(|i| BEFORE + (i << 40)).collect();
        put_values(e, &[&values[..], &[2100]].concat());
    }
    vec![
        edit(
            22,
            "xor-no-codeword",
            Query,
            "by-hand-xor",
            "the lone codeword is `0`, and the stream has a 1",
            no_codeword,
        ),
        edit(
            22,
            "gap-no-codeword",
            Query,
            "by-hand-gap",
            "the lone codeword is `0`, and the stream has a 1",
            no_codeword,
        ),
        edit(22, "xor-no-code", Query, "by-hand-xor", "a stored value in a table without a code", no_code),
        edit(22, "gap-no-code", Query, "by-hand-gap", "a stored value in a table without a code", no_code),
        edit(23, "xor", Query, "by-hand-xor", "the values run past the end of the block", overrun),
        edit(23, "gap", Query, "by-hand-gap", "the values run past the end of the block", overrun),
        edit(23, "count-too-large", Query, "by-hand-xor", "block 1 counts 1,024 values", |e| {
            let stream = stream_of(e, &VALUES);
            put_block(e, 1024, &stream);
        }),
        edit(24, "xor-descending", Query, "by-hand-xor", "1,010 behind 1,011", |e| put_values(e, &[1011, 1010, 2100])),
        edit(24, "xor-below-the-key-before", Query, "by-hand-xor", "the first value is 512, behind key 1,000", |e| {
            put_values(e, &[512, 1800, 2100]);
        }),
        edit(25, "xor-above", Query, "by-hand-xor", "2,101 behind 1,003, and the key is 2,100", |e| {
            put_values(e, &[1003, 2101, 2100]);
        }),
        edit(25, "gap-above", Query, "by-hand-gap", "2,101 behind 1,003, and the key is 2,100", |e| {
            put_values(e, &[1003, 2101, 2100]);
        }),
        edit(25, "gap-the-key", Query, "by-hand-gap", "the last stored value is the key", |e| {
            put_values(e, &[1003, 2100, 2100]);
        }),
        edit(25, "gap-overflow", Query, "by-hand-gap", "2^64 - 1 above 1,003: the sum passes 2^64", |e| {
            put_values(e, &[1003, 1003 + u128::from(u64::MAX), 2100]);
        }),
    ]
}

/// V22 to V25 in the codec `ef`.
#[rustfmt::skip]
fn elias_fano_blocks() -> Vec<Forgery> {
    const EF: &str = "by-hand-ef";
    /// The largest number that may be stored in block 1.
    const MAX: u128 = VALUES[4] - BEFORE - 2;
    vec![
        edit(22, "ef-a-high-bit-more", Query, EF, "one high bit too many", |e| {
            let mut stream = stream_of(e, &VALUES);
            let clear = stream.first_zero().unwrap();
            stream.set(clear, true);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(22, "ef-a-high-bit-less", Query, EF, "one high bit too few", |e| {
            let mut stream = stream_of(e, &VALUES);
            let set = stream.first_one().unwrap();
            stream.set(set, false);
            put_block(e, VALUES.len(), &stream);
        }),
        edit(22, "ef-no-room", Query, "ef-32", "block 0 counts more values than there are numbers up to its key", |e| {
            let keys = e.keys(0);
            let mut moved = keys.clone();
            moved[0] = 3;
            let stream = Bits::repeat(true, 5);
            let block = reference::block(6, &stream, e.layout.block_size);
            let at = e.layout.block_at(0, 0);
            e.put(at, &block);
            let bytes = reference::keys_section(&moved, e.layout.width);
            let offset = e.section(KEYS, 0).offset;
            e.put(offset, &bytes);
            put_keys_len(e, bytes.len());
        }),
        edit(23, "ef", Query, EF, "the numbers run past the end of the block", |e| {
            let values: Vec<u128> = (1..=300).map(|i| BEFORE + 3 * i).collect();
            put_values(e, &[&values[..], &[2100]].concat());
        }),
        edit(24, "ef-equal", Query, EF, "the number 5 is there twice", |e| {
            put_block(e, 4, &elias_fano(&[5, 5, 600], MAX));
        }),
        edit(24, "ef-descending", Query, EF, "4 behind 5 in one bucket", |e| {
            put_block(e, 4, &elias_fano(&[5, 4, 600], MAX));
        }),
        edit(25, "ef-above", Query, EF, "the last number is one more than there is room for below the key", |e| {
            put_block(e, 4, &elias_fano(&[1, 2, MAX + 1], MAX));
        }),
        edit(25, "ef-last-bucket", Query, EF, "the last high bit is 1", |e| {
            let (_, buckets) = elias_fano_layout(3, MAX);
            let mut stream = elias_fano(&[1, 2, MAX], MAX);
            stream.set(2 + buckets - 1, false);
            stream.set(2 + buckets, true);
            put_block(e, 4, &stream);
        }),
    ]
}

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
fn pages() -> Vec<Forgery> {
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
fn groups() -> Vec<Forgery> {
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
fn ids() -> Vec<Forgery> {
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
fn whole_file() -> Vec<Forgery> {
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
