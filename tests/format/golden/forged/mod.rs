//! The bad and unsupported files of the corpus: one table of edits, each of which breaks one rule of a good file.
//!
//! Unless the text says otherwise, every checksum above the edit is right, so that nothing but the rule is broken.
//! `rustfmt` leaves the tables alone: a row stays one line where it fits.

mod blocks;
mod container;
mod exchanges;
mod ids;
mod keys;
mod lines;
mod sketches;
mod structure;

use simidx::format::FormatClass;

use super::good::Good;
use Field::{Checksum, Kind, Length, Offset, Table};
use Stage::{Open, Query, Verify};
use simidx_testkit::editor::{Editor, assemble, seal_footer};
use simidx_testkit::encoding::{
    self, BLOCK_COUNTS, BLOCKS, BUCKET_OFFSETS, BUCKETS, Bits, FOOTER_LEN, GROUPS, ID_ORDER,
    KEY_ENTRIES, KEY_GROUPS, METADATA, NUMBERS, PIPELINE, PLACES, STRING_CODE, Section, bits_of,
    directory, elias_fano, elias_fano_layout,
};
use simidx_testkit::manifest::{Broken, Entry, Expect, Stage};
use simidx_testkit::parts::Parts;
use simidx_testkit::strings;

/// A file made wrong.
#[derive(Debug, Clone)]
pub(crate) struct Forgery {
    /// The name of the file without the rule, or all of it if it describes the original file.
    name: String,
    rule: u8,
    stage: Stage,
    /// The name of the good file.
    from: &'static str,
    what: String,
    make: Make,
}

/// How the file is made of the good one.
#[derive(Debug, Clone)]
enum Make {
    /// The edit leaves checksums alone; those of header, directory and footer are made right after it.
    Sealed(fn(&mut Editor)),
    /// The edit changes what is in sections and the directory; places, counts and checksums are made right after it.
    Parts(fn(&mut Parts)),
    /// The bytes of a section; all else as for parts.
    Section(u16, Vec<u8>),
    /// The file itself.
    Whole(Vec<u8>),
    /// One field of the record of the section of a kind and a table gets the value that is made of the section as it
    /// was; checksums as for an edit.
    Record((u16, usize), Field, fn(Section) -> u128),
    /// Every byte as it is.
    Raw(fn(Editor) -> Vec<u8>),
    /// Keeps only this many bytes.
    Cut(usize),
}

/// A field of a section record.
#[derive(Debug, Clone, Copy)]
enum Field {
    Kind,
    Table,
    Checksum,
    Offset,
    Length,
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
        if self.name.starts_with("unsupported-v") {
            return format!("{}.simidx", self.name);
        }
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
        let made = match &self.make {
            Make::Parts(edit) => {
                let mut parts = Parts::of(&base.file);
                edit(&mut parts);
                parts.file()
            }
            Make::Section(kind, bytes) => {
                let mut parts = Parts::of(&base.file);
                parts.section(*kind, 0).clone_from(bytes);
                parts.file()
            }
            Make::Sealed(edit) => {
                edit(&mut editor);
                editor.finish()
            }
            Make::Record((kind, table), field, value) => {
                let section = editor.section(*kind, *table);
                put_record(&mut editor, section, *field, value(section));
                editor.finish()
            }
            Make::Whole(file) => file.clone(),
            Make::Raw(make) => make(editor),
            Make::Cut(len) => base.file[..*len].to_vec(),
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
            pipeline_crc32: None,
            metadata_crc32: None,
            features_crc32: None,
            sketches_crc32: None,
            made_from: Some(base.file_name()),
            what: self.what.clone(),
            ..base.entry()
        }
    }
}

/// An edit after which header, directory and footer get right checksums.
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

/// An edit of what is in sections and the directory, after which all else is made right.
fn parts(
    rule: u8,
    name: &str,
    stage: Stage,
    from: &'static str,
    what: &str,
    change: fn(&mut Parts),
) -> Forgery {
    Forgery {
        make: Make::Parts(change),
        ..edit(rule, name, stage, from, what, |_| ())
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

/// Another value in a field of the record of a section, by its kind and table. All of these break a rule of the stage
/// "open".
fn record(
    rule: u8,
    name: &str,
    from: &'static str,
    what: &str,
    section: (u16, usize),
    field: Field,
    value: fn(Section) -> u128,
) -> Forgery {
    Forgery {
        make: Make::Record(section, field, value),
        ..edit(rule, name, Open, from, what, |_| ())
    }
}

/// Every bad and unsupported file, in the order of the manifest.
pub(crate) fn all(good: &[Good]) -> Vec<Forgery> {
    let mut files = container::header_and_footer();
    files.extend(container::truncated(good));
    files.extend(container::extended());
    files.extend(container::directory());
    files.extend(container::parameters());
    files.extend(structure::masks_and_codes());
    files.extend(structure::sections());
    files.extend(structure::section_contents());
    files.extend(structure::metadata());
    files.extend(structure::string_codes(good));
    files.extend(keys::key_groups());
    files.extend(keys::keys());
    files.extend(blocks::block_rules());
    files.extend(blocks::delta_blocks());
    files.extend(blocks::elias_fano_blocks());
    files.extend(exchanges::blocks());
    files.extend(exchanges::pages());
    files.extend(exchanges::key_groups());
    files.extend(ids::pages());
    files.extend(ids::groups());
    files.extend(ids::ids());
    files.extend(ids::buckets(good));
    files.extend(ids::places());
    files.extend(ids::dictionaries());
    files.extend(ids::whole_file());
    files.extend(sketches::sketches());
    files.extend(lines::records());
    files.extend(lines::sections());
    files.extend(lines::pages());
    files.extend(lines::orders());
    files.extend(lines::whole_tables());
    files.extend(lines::lines());
    files.extend(lines::crowded_lines());
    files.sort_by_key(|file| file.rule);
    files
}

const PLAIN: &str = "xor-32";
const NUMBERS_32: &str = "xor-32-numbers";
const GROUPED: &str = "gap-32-grouped-numbers";
const STRINGS: &str = "ef-32-strings";
const GROUPED_STRINGS: &str = "gap-32-grouped-strings";
const ORDERED: &str = "ordered-numbers";
const ORDERED_STRINGS: &str = "ordered-strings";
const TWO_KEY_GROUPS: &str = "two-key-groups";
/// Its buckets have several pages.
const LONG_STRINGS: &str = "long-strings";
const EXAMPLE: &str = "worked-example";

/// The encoding of U+D800, if UTF-8 had surrogates.
const SURROGATE: &[u8] = b"\xed\xa0\x80";
/// The encoding of `/` in two bytes, where UTF-8 requires one.
const OVERLONG: &[u8] = b"\xc0\xaf";

/// Sets both counts of the directory.
fn put_counts(e: &mut Editor, fingerprints: u128, records: u128) {
    e.put_directory(directory::FINGERPRINT_COUNT, fingerprints);
    e.put_directory(directory::RECORD_COUNT, records);
}

/// Gives all symbols of a table these code lengths, and the rest 0.
fn put_lengths(e: &mut Editor, table: usize, lengths: &[u8]) {
    let at = e.layout.tables[table].lengths_at;
    let mut all = vec![0; e.layout.width as usize];
    all[..lengths.len()].copy_from_slice(lengths);
    e.put(at, &all);
}

/// Writes a field of the record of a section.
fn put_record(e: &mut Editor, section: Section, field: Field, value: u128) {
    let (at, len) = match field {
        Kind => (0, 2),
        Table => (2, 2),
        Checksum => (4, 4),
        Offset => (8, 8),
        Length => (16, 8),
    };
    e.put_number(section.record_at + at, value, len);
}

/// The front of the file, before the directory, and the directory.
fn halves(e: &Editor) -> (Vec<u8>, Vec<u8>) {
    let at = e.layout.directory_at;
    let directory = &e.file[at..at + e.layout.directory_len];
    (e.file[..at].to_vec(), directory.to_vec())
}

/// Changes a number that a section holds and makes its checksum right.
fn put_in_section(e: &mut Editor, kind: u16, at: usize, bytes: &[u8]) {
    let offset = e.section(kind, 0).offset;
    e.put(offset + at, bytes);
    e.seal_section(kind, 0);
}

fn put_codec(e: &mut Editor, table: usize, codec: u128) {
    e.put_number(e.layout.tables[table].codec_at, codec, 1);
}
