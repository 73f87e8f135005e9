//! Input files of every format, and documents through the text pipeline.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use simidx::Fingerprint;
use simidx::input::{
    Fields, Format, Original, Record, RecordReader, copy_records, expected_records_with, open_with,
};

use crate::documents;

/// Most records of an input: a small compressed file may hold millions.
const MOST_RECORDS: usize = 5_000;

/// The first byte says what the rest is, the second one how it is read.
pub fn check(data: &[u8]) {
    let [what, how, contents @ ..] = data else {
        return;
    };
    let formats = Format::ALL.len();
    match usize::from(what % 16) {
        format if format < formats => check_input(Some(Format::ALL[format]), *how, contents),
        format if format == formats => check_input(None, *how, contents),
        format if format == formats + 1 => documents::check_options(contents),
        _ => documents::check(*how, contents),
    }
}

thread_local! {
    static FOLDER: RefCell<tempfile::TempDir> =
        RefCell::new(tempfile::tempdir().expect("there is a folder for temporary files"));
}

fn check_input(format: Option<Format>, how: u8, contents: &[u8]) {
    let suffix = ["", ".gz", ".zst", ".jsonl", ".npy", ".tsv.gz"][usize::from(how >> 2) % 6];
    let path = FOLDER.with_borrow(|folder| folder.path().join(format!("input{suffix}")));
    fs::write(&path, contents).expect("there is room for temporary files");
    let mut fields = Fields::default();
    if how & 128 != 0 {
        fields.text = Some("text".into());
        fields.id = (how & 64 != 0).then(|| "a.id".into());
    }
    match how % 3 {
        0 => check_width::<u32>(&path, format, &fields),
        1 => check_width::<u64>(&path, format, &fields),
        _ => check_width::<u128>(&path, format, &fields),
    }
    fs::remove_file(&path).expect("the file is there");
}

/// What the records of an input are, and whether one of them could not be used.
#[derive(Debug, PartialEq)]
struct Records<F> {
    records: Vec<Record<F>>,
    has_errors: bool,
    is_complete: bool,
}

fn check_width<F: Fingerprint>(path: &Path, format: Option<Format>, fields: &Fields) {
    let Ok(mut reader) = open_with::<F>(path, format, fields) else {
        return;
    };
    let expected = expected_records_with::<F>(&[PathBuf::from(path)], format, fields);
    let records = read(&mut *reader);
    if let (Some(expected), true, false) = (expected, records.is_complete, records.has_errors) {
        assert_eq!(records.records.len() as u64, expected);
    }
    let mut again = open_with::<F>(path, format, fields).expect("it has been opened before");
    assert_eq!(read_together(&mut *again), records);
    check_copy(path, format, fields, &records);
}

fn read<F: Fingerprint>(reader: &mut dyn RecordReader<F>) -> Records<F> {
    let (mut records, mut has_errors) = (Vec::new(), false);
    let mut errors = 0;
    while let Some(record) = reader.next_record() {
        reader.place();
        match record {
            Ok(record) => records.push(record),
            Err(error) => {
                has_errors = true;
                errors += 1;
                let message = error.to_string();
                assert!(!message.contains('\n'), "{message}");
            }
        }
        if records.len() + errors >= MOST_RECORDS {
            let is_complete = false;
            return Records {
                records,
                has_errors,
                is_complete,
            };
        }
    }
    Records {
        records,
        has_errors,
        is_complete: true,
    }
}

/// Reads as many as possible at once; the same comes out.
fn read_together<F: Fingerprint>(reader: &mut dyn RecordReader<F>) -> Records<F> {
    use simidx::input::Content;
    let (mut records, mut has_errors) = (Vec::new(), false);
    let mut errors = 0;
    loop {
        let mut many = Vec::new();
        assert_eq!(reader.read_fingerprints(&mut many), many.len());
        let whole = many.into_iter().map(|fingerprint| Record {
            content: Content::Fingerprint(fingerprint),
            id: None,
        });
        records.extend(whole.take(MOST_RECORDS.saturating_sub(records.len() + errors)));
        if records.len() + errors < MOST_RECORDS {
            match reader.next_record() {
                Some(Ok(record)) => records.push(record),
                Some(Err(_)) => {
                    has_errors = true;
                    errors += 1;
                }
                None => {
                    return Records {
                        records,
                        has_errors,
                        is_complete: true,
                    };
                }
            }
        }
        if records.len() + errors >= MOST_RECORDS {
            let is_complete = false;
            return Records {
                records,
                has_errors,
                is_complete,
            };
        }
    }
}

/// A copy of all records holds the same records.
fn check_copy<F: Fingerprint>(
    path: &Path,
    format: Option<Format>,
    fields: &Fields,
    records: &Records<F>,
) {
    let Ok(original) = Original::open_with::<F>(path, format, fields, None) else {
        return;
    };
    let format = original.format();
    let (mut out, mut asked) = (Vec::new(), 0);
    let mut choose = |_| {
        asked += 1;
        asked <= MOST_RECORDS
    };
    let copied = copy_records::<F>(&[original], &mut out, &mut choose);
    let whole = records.is_complete && !records.has_errors;
    if !whole || records.records.is_empty() || format == Format::Files {
        return;
    }
    copied.expect("an input without faults can be copied");
    assert_eq!(asked, records.records.len());
    let copy = path.with_file_name("copy");
    fs::write(&copy, &out).expect("there is room for temporary files");
    let mut reader = open_with::<F>(&copy, Some(format), fields).expect("the copy opens");
    assert_eq!(&read(&mut *reader), records);
    fs::remove_file(&copy).expect("the file is there");
}
