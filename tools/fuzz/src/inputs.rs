//! Input files of every format, and documents through the text pipeline.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use simidx::{Fingerprints, Width};
use simidx_input::{
    Content, Fate, Format, InputFile, ReadOptions, Record, RecordReader, TextEncoding, open_with,
    rewrite_records,
};

use crate::documents;

/// Most records of an input: a small compressed file may hold millions.
const MOST_RECORDS: usize = 5_000;

/// Encodings that are chosen by name, in addition to those of a format.
const ENCODINGS: [&str; 7] = [
    "auto",
    "gb18030",
    "utf-16le",
    "utf-8",
    "shift_jis",
    "iso-2022-jp",
    "windows-1252",
];

/// The first byte says what the rest is and in which encoding, the second one how it is read.
pub fn check(data: &[u8]) {
    let [what, how, contents @ ..] = data else {
        return;
    };
    let formats = Format::ALL.len();
    let encoding = ENCODINGS.into_iter().rev().nth((15 - what / 16).into());
    let encoding = encoding.map(|name| name.parse().expect("the encoding is known"));
    match usize::from(what % 16) {
        format if format <= formats => {
            let mut options = read_options(*how);
            options.width = Width::ALL[usize::from(how % 3)];
            options.encoding = encoding.unwrap_or_default();
            check_input(Format::ALL.get(format).copied(), *how, &options, contents);
        }
        format if format == formats + 1 => documents::check_options(contents),
        _ => documents::check(*how, contents),
    }
}

fn read_options(how: u8) -> ReadOptions {
    let mut options = ReadOptions::default();
    if how & 128 != 0 {
        let path = if how & 32 != 0 { "a.*.text" } else { "text" };
        options.fields.text = vec![path.into()];
        options.fields.id = (how & 64 != 0).then(|| "a.id".into());
    }
    options
}

thread_local! {
    static FOLDER: RefCell<tempfile::TempDir> =
        RefCell::new(tempfile::tempdir().expect("there is a folder for temporary files"));
}

fn check_input(format: Option<Format>, how: u8, options: &ReadOptions, contents: &[u8]) {
    let suffix = ["", ".gz", ".zst", ".jsonl", ".npy", ".tsv.gz"][usize::from(how >> 2) % 6];
    let path = FOLDER.with_borrow(|folder| folder.path().join(format!("input{suffix}")));
    fs::write(&path, contents).expect("there is room for temporary files");
    check_records(&path, format, options);
    fs::remove_file(&path).expect("the file is there");
}

/// The records of an input, and the number of invalid ones.
#[derive(Debug, Clone, PartialEq)]
struct Records {
    records: Vec<Record>,
    errors: usize,
    is_complete: bool,
}

impl Records {
    fn new() -> Self {
        Records {
            records: Vec::new(),
            errors: 0,
            is_complete: false,
        }
    }

    /// How many more are taken.
    fn room(&self) -> usize {
        MOST_RECORDS.saturating_sub(self.records.len() + self.errors)
    }

    /// Takes the next record, if there is one.
    fn take_next(&mut self, reader: &mut dyn RecordReader) {
        let next = reader.next();
        reader.place();
        match next {
            Some(Ok(record)) => self.records.push(record),
            Some(Err(error)) => {
                self.errors += 1;
                let message = error.to_string();
                assert!(!message.contains('\n'), "{message}");
            }
            None => self.is_complete = true,
        }
    }
}

fn check_records(path: &Path, format: Option<Format>, options: &ReadOptions) {
    let Ok(mut reader) = open_with(path, format, options) else {
        return;
    };
    let records = read(&mut *reader);
    let mut again = open_with(path, format, options).expect("it has been opened before");
    assert_eq!(read_together(&mut *again, options.width), records);
    check_copy(path, format, options, &records);
}

fn read(reader: &mut dyn RecordReader) -> Records {
    let mut all = Records::new();
    while all.room() > 0 && !all.is_complete {
        all.take_next(reader);
    }
    all
}

/// Reads as many as possible at once; the same comes out.
fn read_together(reader: &mut dyn RecordReader, width: Width) -> Records {
    let mut all = Records::new();
    while all.room() > 0 && !all.is_complete {
        let mut many = Fingerprints::new(width);
        assert_eq!(reader.read_fingerprints(&mut many), many.len());
        let whole = many.iter().map(|fingerprint| Record {
            content: Content::Fingerprint(fingerprint),
            id: None,
            has_faults: false,
            odd_id: None,
        });
        let room = all.room();
        all.records.extend(whole.take(room));
        if all.room() > 0 {
            all.take_next(reader);
        }
    }
    all
}

/// A copy of all records holds the same records.
fn check_copy(path: &Path, format: Option<Format>, options: &ReadOptions, records: &Records) {
    let Ok(original) = InputFile::open_with(path, format, options, None) else {
        return;
    };
    if original.check_copyable().is_err() {
        return;
    }
    let format = original.format();
    let (mut out, mut asked) = (Vec::new(), 0);
    let mut fate = |_, _| {
        asked += 1;
        Ok(match asked <= MOST_RECORDS {
            true => Fate::Copied,
            false => Fate::Dropped,
        })
    };
    let copied = rewrite_records(&[original], &mut out, &[], &mut fate);
    let whole = records.is_complete && records.errors == 0;
    if !whole || records.records.is_empty() || format == Format::Files {
        return;
    }
    // A column that is not a field of the record was not read before.
    if matches!(format, Format::Parquet | Format::Arrow) && copied.is_err() {
        return;
    }
    copied.expect("an input without faults can be copied");
    assert_eq!(asked, records.records.len());
    let mut options = options.clone();
    if format != Format::Warc {
        // Decoded text is copied as UTF-8.
        options.encoding = TextEncoding::default();
    }
    let copy = path.with_file_name("copy");
    fs::write(&copy, &out).expect("there is room for temporary files");
    let mut reader = open_with(&copy, Some(format), &options).expect("the copy opens");
    let mut copied = read(&mut *reader);
    for (copy, record) in copied.records.iter_mut().zip(&records.records) {
        // A copy has no faults any more where bytes stood for nothing.
        assert!(record.has_faults || !copy.has_faults);
        copy.has_faults = record.has_faults;
    }
    assert_eq!(&copied, records);
    fs::remove_file(&copy).expect("the file is there");
}
