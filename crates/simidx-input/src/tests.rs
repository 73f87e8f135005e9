//! Opening, detection and all readers together.

use super::source::tests::{gzip, source, zstd};
use super::*;
use crate::Error;
use proptest::prelude::*;
use simidx::{Fingerprint, Width};
use std::fs::write;

/// All results of a reader.
pub(super) struct Read(Vec<Result<Record, String>>);

impl Read {
    pub(super) fn records(&self) -> Vec<Record> {
        self.0.iter().flatten().cloned().collect()
    }

    /// Returns the results with changed errors.
    #[cfg(feature = "parquet")]
    pub(super) fn map_errors(self, write: impl Fn(String) -> String) -> Self {
        let records = self.0.into_iter();
        Read(records.map(|record| record.map_err(&write)).collect())
    }

    pub(super) fn errors(&self) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|record| record.as_ref().err().cloned())
            .collect()
    }
}

pub(super) fn drain(reader: &mut dyn RecordReader) -> Read {
    Read(
        reader
            .map(|record| record.map_err(|e| e.to_string()))
            .collect(),
    )
}

/// Returns all results of a reader with their places. It uses bulk reads where possible, and `singles` single reads
/// after each.
pub(super) fn drain_in_bulk(
    reader: &mut dyn RecordReader,
    width: Width,
    singles: usize,
) -> (Read, Vec<Place>) {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for other in Width::ALL.into_iter().filter(|&other| other != width) {
        assert_eq!(reader.read_fingerprints(&mut Fingerprints::new(other)), 0);
    }
    let mut many = Fingerprints::new(width);
    loop {
        many.clear();
        let count = reader.read_fingerprints(&mut many);
        assert_eq!(count, many.len());
        all.extend(many.iter().map(|f| Ok(Record::fingerprint(f, None))));
        if count > 0 {
            places.push(reader.place().1);
        }
        for _ in 0..singles {
            match reader.next() {
                None => return (Read(all), places),
                Some(record) => all.push(record.map_err(|e| e.to_string())),
            }
            places.push(reader.place().1);
        }
    }
}

/// Returns all results of a reader, read one by one, with their places.
fn drain_with_places(reader: &mut dyn RecordReader) -> (Read, Vec<Place>) {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    while let Some(record) = reader.next() {
        all.push(record.map_err(|e| e.to_string()));
        places.push(reader.place().1);
    }
    (Read(all), places)
}

/// Reads all records of bytes in a format, from a source named `in`.
pub(super) fn read_all(bytes: &[u8], format: Format) -> Read {
    read_with(bytes, format, &Fields::default())
}

/// Reads all records with fields of these names.
pub(super) fn read_with(bytes: &[u8], format: Format, names: &Fields) -> Read {
    read_by(bytes, format, &names.clone().into())
}

/// Reads all records with other options.
pub(super) fn read_by(bytes: &[u8], format: Format, options: &ReadOptions) -> Read {
    drain(&mut *super::reader(source(bytes), format, options).unwrap())
}

/// Returns the reader of a source with the default fields.
fn reader(source: Source, format: Format) -> Result<Box<dyn RecordReader>> {
    super::reader(source, format, &ReadOptions::default())
}

/// Returns fields with these names; several texts are separated by commas, and an empty name is the default.
pub(super) fn fields(text: &str, id: &str) -> Fields {
    let texts = text.split(',').filter(|name| !name.is_empty());
    Fields {
        text: texts.map(str::to_owned).collect(),
        fingerprint: None,
        id: (!id.is_empty()).then(|| id.to_owned()),
        odd_ids: false,
    }
}

pub(super) fn fingerprint(fingerprint: u128, id: Option<&str>) -> Record {
    Record::fingerprint(fingerprint, id.map(|id| IdBuf::String(id.to_owned())))
}

pub(super) fn document(text: &str, id: Option<&str>) -> Record {
    Record::text(text.to_owned(), id.map(|id| IdBuf::String(id.to_owned())))
}

/// Writes a file and opens it as 64-bit records.
fn open_bytes(
    name: &str,
    bytes: &[u8],
    format: Option<Format>,
) -> Result<Box<dyn RecordReader>, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write(&path, bytes).unwrap();
    open(&path, format).map_err(|e| e.to_string())
}

#[test]
fn the_content_decides_where_the_name_does_not() {
    let mut reader = open_bytes("x.txt", b"1f\n2\tid\n", None).unwrap();
    let expected = [fingerprint(31, None), fingerprint(2, Some("id"))];
    assert_eq!(drain(&mut *reader).records(), expected);
    let mut reader = open_bytes("x", &gzip(b"{\"text\":\"a\"}"), None).unwrap();
    assert_eq!(drain(&mut *reader).records(), [document("a", None)]);
}

#[test]
fn content_longer_than_what_is_looked_at_is_read_in_full() {
    let text = "00000000000000ff\n".repeat(20_000);
    for bytes in [text.clone().into_bytes(), zstd(text.as_bytes())] {
        let mut reader = open_bytes("x", &bytes, None).unwrap();
        assert_eq!(
            drain(&mut *reader).records(),
            vec![fingerprint(255, None); 20_000]
        );
    }
}

#[test]
fn plain_text_is_never_taken_for_documents() {
    let error = open_bytes("x.txt", b"some text\n", None).err().unwrap();
    let message = "x.txt:1: cannot tell the format from \"some text\"; name it with --input, ";
    assert!(error.contains(message), "{error}");
    let mut reader = open_bytes("x.txt", b"some text\n", Some(Format::Lines)).unwrap();
    assert_eq!(drain(&mut *reader).records(), [document("some text", None)]);
}

#[test]
fn a_malformed_line_is_left_to_the_reader() {
    let mut reader = open_bytes("x", b"1f\noops\n2\n", None).unwrap();
    let read = drain(&mut *reader);
    assert_eq!(
        read.records(),
        [fingerprint(31, None), fingerprint(2, None)]
    );
    let errors = read.errors();
    let end = "x:2: \"oops\" is not a hexadecimal number";
    assert!(errors.len() == 1 && errors[0].ends_with(end), "{errors:?}");
}

#[test]
fn words_are_decompressed_by_the_name_alone() {
    for magic in [&b"\x1f\x8b\x08\0"[..], b"\x28\xb5\x2f\xfd"] {
        let bytes = [magic, &[0; 4]].concat();
        let expected = [fingerprint(
            u64::from_le_slice(&bytes).unwrap().into(),
            None,
        )];
        for (name, bytes, format) in [
            ("x.le", bytes.clone(), None),
            ("x", bytes.clone(), Some(Format::Le)),
            ("x.le.gz", gzip(&bytes), None),
            ("x.U64.ZST", zstd(&bytes), None),
            ("x.gz", gzip(&bytes), Some(Format::Le)),
        ] {
            let mut reader = open_bytes(name, &bytes, format).unwrap();
            let read = drain(&mut *reader);
            assert_eq!((read.records(), read.errors()), (expected.to_vec(), vec![]));
        }
        let mut reader = open_bytes("x.le.gz", &bytes, None).unwrap();
        let read = drain(&mut *reader);
        assert_eq!((read.records().len(), read.errors().len()), (0, 1));
    }
}

#[test]
fn a_named_format_overrides_the_extension() {
    let mut reader = open_bytes("x.hex", b"10\n", Some(Format::Dec)).unwrap();
    assert_eq!(drain(&mut *reader).records(), [fingerprint(10, None)]);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.hex");
    for format in [None, Some(Format::Hex), Some(Format::Files)] {
        let error = open(&missing, format).err().unwrap();
        let start = format!("{}: ", missing.display());
        assert!(matches!(&error, Error::Io(e) if e.kind() == std::io::ErrorKind::NotFound));
        assert!(error.to_string().starts_with(&start), "{error}");
    }
    let error = open(dir.path(), Some(Format::Hex)).err().unwrap();
    let message = format!("{}: holds no files to be read as hex", dir.path().display());
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_truncated_stream_is_an_error_of_the_file() {
    let text: String = (0..50_000u64)
        .map(|i| format!("{:x}\n", i.wrapping_mul(0x9e37_79b9_7f4a)))
        .collect();
    let whole = gzip(text.as_bytes());
    let mut reader = open_bytes("x.hex.gz", &whole[..whole.len() / 2], None).unwrap();
    let read = drain(&mut *reader);
    assert!(read.records().len() > 1000);
    let [error] = &read.errors()[..] else {
        panic!("{:?}", read.errors())
    };
    assert!(error.contains("x.hex.gz: "), "{error}");
    assert!(reader.next().is_none());
}

#[test]
fn the_place_is_that_of_the_record_returned_last() {
    let mut lines = reader(source(b"1\n\n2\n"), Format::Hex).unwrap();
    assert_eq!(lines.place(), ("in", Place::Line(0)));
    lines.next().unwrap().unwrap();
    lines.next().unwrap().unwrap();
    assert_eq!(lines.place(), ("in", Place::Line(3)));
    let files = reader(source(b""), Format::Files).unwrap();
    assert_eq!(files.place(), ("in", Place::File));
}

#[test]
fn formats_without_fields_have_none_to_name() {
    for format in [
        Format::Hex,
        Format::Npy,
        Format::Lines,
        Format::Files,
        Format::Warc,
    ] {
        let error = super::reader(source(b""), format, &fields("x", "").into());
        let message = format!("in: the format {format} has no fields to name");
        assert_eq!(error.err().unwrap().to_string(), message);
    }
    let error = super::reader(source(b""), Format::Tsv, &fields("", "x").into());
    let message = "in: tsv without a text field holds fingerprints, whose id has no name";
    assert_eq!(error.err().unwrap().to_string(), message);
}

#[test]
fn formats_without_text_have_no_encoding_to_name() {
    for format in [Format::Le, Format::Npy] {
        let error = super::reader(source(b""), format, &TextEncoding::AUTO.into());
        let message = format!("in: the format {format} has no encoding to name");
        assert_eq!(error.err().unwrap().to_string(), message);
    }
}

/// Returns options to read texts in an encoding.
fn encoded(name: &str) -> ReadOptions {
    name.parse::<TextEncoding>().unwrap().into()
}

#[test]
fn lines_in_other_encodings_are_those_of_utf8() {
    let text = "自由\t中文。\r\n\n{\"id\": \"人\", \"text\": \"ノ\"}\nff\t権利\n12\tи";
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [b"\xff\xfe", &utf16[..]].concat();
    let other = |encoding: &'static encoding_rs::Encoding| encoding.encode(text).0.into_owned();
    for (name, bytes) in [
        ("gb18030", other(encoding_rs::GB18030)),
        ("shift_jis", other(encoding_rs::SHIFT_JIS)),
        ("iso-2022-jp", other(encoding_rs::ISO_2022_JP)),
        ("utf-16le", utf16),
        ("big5", marked),
    ] {
        for format in [Format::Lines, Format::Jsonl, Format::Tsv, Format::Dec] {
            let expected = read_all(text.as_bytes(), format);
            let read = read_by(&bytes, format, &encoded(name));
            assert_eq!(read.records(), expected.records(), "{name} {format}");
            assert_eq!(read.errors(), expected.errors(), "{name} {format}");
            assert!(!read.records().is_empty());
            let zipped = read_by(&gzip(&bytes), format, &encoded(name));
            assert_eq!(zipped.records(), expected.records());
        }
        let mut table = encoded(name);
        table.fields = fields("中文。", "自由");
        let read = read_by(&bytes, Format::Tsv, &table);
        assert_eq!(read.records()[0], document("権利", Some("ff")));
        assert_eq!(read.errors().len(), 1, "{:?}", read.errors());
    }
}

#[test]
fn faults_are_replaced_and_told_by_their_lines() {
    let bytes = b"a\n\n\xff\xd6\xd0\n\xd6\nb\n";
    let read = read_by(bytes, Format::Lines, &encoded("gbk"));
    let texts = [
        ("a", false),
        ("\u{fffd}中", true),
        ("\u{fffd}", true),
        ("b", false),
    ];
    let expected = texts.map(|(text, has_faults)| Record {
        has_faults,
        ..document(text, None)
    });
    assert_eq!(read.records(), expected);
    let mut reader = super::reader(source(bytes), Format::Lines, &encoded("gbk")).unwrap();
    let mut faulty = Vec::new();
    while let Some(record) = reader.next() {
        if record.unwrap().has_faults {
            faulty.push(reader.place().1);
        }
    }
    assert_eq!(faulty, [Place::Line(3), Place::Line(4)]);
    // Invalid UTF-8 is replaced if the encoding is named, otherwise refused.
    let read = read_by(b"a\xff\n", Format::Lines, &encoded("utf-8"));
    assert!(read.records()[0].has_faults);
    let read = read_by(b"a\n\xff\n", Format::Lines, &encoded("auto"));
    assert_eq!(read.records().len(), 2);
    assert_eq!(
        read_all(b"a\n\xff\n", Format::Lines).errors(),
        ["in:2: not valid UTF-8"]
    );
}

#[test]
fn a_guess_by_the_first_lines_holds_for_all() {
    let line = "近年来，网络上重复的网页越来越多。搜索引擎必须找出内容几乎相同的文档。\n";
    let text = line.repeat(10_000);
    let (bytes, ..) = encoding_rs::GBK.encode(&text);
    let read = read_by(&bytes, Format::Lines, &encoded("auto"));
    assert_eq!(read.records().len(), 10_000);
    assert!(
        read.records()
            .iter()
            .all(|record| *record == document(line.trim(), None))
    );
    // An input that was detected as UTF-8 is not guessed again.
    let late = [&b"ascii\n".repeat(20_000)[..], &bytes[..100]].concat();
    let read = read_by(&late, Format::Lines, &encoded("auto"));
    assert!(read.errors()[0].starts_with("in:20001: not valid UTF-8"));
}

#[test]
fn formats_are_told_in_any_encoding() {
    let text = "{\"text\": \"自由\"}\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    write(&path, &bytes).unwrap();
    let mut reader = open_with(&path, None, &encoded("utf-16be")).unwrap();
    assert_eq!(drain(&mut *reader).records(), [document("自由", None)]);
    write(&path, [b"\xfe\xff", &bytes[..]].concat()).unwrap();
    let mut reader = open_with(&path, None, &encoded("auto")).unwrap();
    assert_eq!(drain(&mut *reader).records(), [document("自由", None)]);
}

#[test]
fn lines_are_copied_as_utf8() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tsv");
    let (bytes, ..) = encoding_rs::GBK.encode("名\t文\r\n一\t自由\n二\t平等\n");
    write(&path, &bytes).unwrap();
    let mut options = encoded("gbk");
    options.fields = fields("文", "名");
    let original = InputFile::open_with(&path, None, &options, None).unwrap();
    let read = drain(&mut *original.records().unwrap());
    assert_eq!(read.records()[0], document("自由", Some("一")));
    let (mut out, mut chosen) = (Vec::new(), [false, true].into_iter());
    filter_records(&[original], &mut out, &mut |_| chosen.next().unwrap()).unwrap();
    assert_eq!(out, "名\t文\r\n二\t平等\n".as_bytes());
}

/// Copies the records that `keep` accepts.
pub(super) fn filter_records(
    inputs: &[InputFile],
    out: &mut (dyn std::io::Write + Send),
    keep: &mut dyn FnMut(u64) -> bool,
) -> Result<u64> {
    rewrite_records(inputs, out, &[], &mut |_, bytes| {
        Ok(match keep(bytes) {
            true => Fate::Copied,
            false => Fate::Dropped,
        })
    })
}

/// Reads bytes in every format to the end, and checks that every reader remains at the end.
fn exercise(bytes: &[u8], width: Width) -> Result<(), TestCaseError> {
    for format in Format::ALL {
        let Ok(mut reader) = super::reader(source(bytes), format, &width.into()) else {
            continue;
        };
        for record in reader.by_ref() {
            if matches!(record, Err(Error::Io(_))) {
                break;
            }
        }
        prop_assert!(reader.next().is_none(), "{format}");
    }
    let told = [Told::Nothing, Told::Json(Format::Jsonl)];
    let mut options = ReadOptions::from(TextEncoding::AUTO);
    options.width = width;
    for told in told {
        let _ = detect::by_content(&mut source(bytes), told, &options);
    }
    Ok(())
}

/// Compares bulk reads with single reads: the same records, errors and places.
fn compare_bulk(bytes: &[u8], width: Width, singles: usize) -> Result<(), TestCaseError> {
    for format in [Format::Hex, Format::Dec, Format::Tsv, Format::Le] {
        let open = || super::reader(source(bytes), format, &width.into()).unwrap();
        let (expected, places) = drain_with_places(&mut *open());
        let (read, seen) = drain_in_bulk(&mut *open(), width, singles);
        prop_assert_eq!(&read.0, &expected.0, "{}", format);
        // After a bulk read, only the place of the last record is known.
        let mut all = places.iter();
        prop_assert!(
            seen.iter().all(|place| all.any(|p| p == place)),
            "{}: {:?} {:?}",
            format,
            seen,
            places
        );
    }
    Ok(())
}

#[test]
fn long_inputs_are_read_in_bulk_as_one_by_one() {
    let mut text = String::from("\u{feff}ffff\n");
    for i in 0..100_000u64 {
        match i {
            7 | 50_007 => text += "12\tid\n",
            77 | 50_077 => text += "\n \r\n\r\n",
            777 | 50_777 => text += "g\n",
            7777 => text += &("1".repeat(150_000) + "\n"),
            17777 => text += &("0".repeat(100_000) + "\r\n"),
            _ => text += &format!("{:x}\n", i * i),
        }
    }
    text += "1";
    // A block of the reading ahead ends within the text.
    assert!(text.len() > 1 << 20);
    let packed = gzip(text.as_bytes());
    for bytes in [text.as_bytes(), &packed, &packed[..packed.len() / 2]] {
        compare_bulk(bytes, Width::W64, 1).unwrap();
    }
    let mut reader = reader(source(text.as_bytes()), Format::Hex).unwrap();
    reader.next().unwrap().unwrap();
    assert!(reader.read_fingerprints(&mut Fingerprints::new(Width::W64)) > 0);
}

/// Returns the documents in a copy of all lines except the first `passed` ones.
fn copied(text: &str, passed: usize) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("documents");
    write(&path, text).unwrap();
    let original = InputFile::open(&path, Some(Format::Lines), None).unwrap();
    let (mut copy, mut seen) = (Vec::new(), 0);
    let mut choose = |_| {
        seen += 1;
        seen > passed
    };
    filter_records(&[original], &mut copy, &mut choose).unwrap();
    read_all(&copy, Format::Lines).records()
}

#[test]
fn a_copy_gives_the_records_of_its_original() {
    let texts = [
        "a\n\u{feff}b\n\u{feff}\u{feff}c\nd",
        "\u{feff}\u{feff}a\r\n \nb",
        "\u{feff}\n\u{feff}a\n",
        "\n\u{feff}\n\u{feff}",
    ];
    for text in texts {
        let all = read_all(text.as_bytes(), Format::Lines).records();
        for passed in 0..=all.len() {
            assert_eq!(copied(text, passed), all[passed..], "{text:?}, {passed}");
        }
    }
}

proptest! {
    #[test]
    fn reading_in_bulk_is_reading_one_by_one(
        text in "([0-9a-fA-F]{1,9}|[0-9]{20}|0{30}|\\PC|é|\u{feff}|\t|[ \r\n]|\n|\n|\r\n){0,60}",
        singles in 1usize..4,
    ) {
        for width in Width::ALL {
            compare_bulk(text.as_bytes(), width, singles)?;
        }
    }

    #[test]
    fn no_bytes_tell_reading_in_bulk_apart(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        singles in 1usize..4,
    ) {
        compare_bulk(&bytes, Width::W64, singles)?;
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        head in prop::sample::select(vec![&b""[..], b"{\"id\":", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\x93NUMPY\x01\0\x09\0", b"WARC/1.0\r\nContent-Length: 9\r\n"]),
        tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [head, &tail].concat();
        exercise(&bytes, Width::W32)?;
        exercise(&bytes, Width::W128)?;
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "([0-9a-f{}:\",\t\r\n é]|\"id\"|\"text\"|\"fingerprint\"){0,40}") {
        exercise(text.as_bytes(), Width::W64)?;
    }

    #[test]
    fn what_is_written_is_read_back(values in prop::collection::vec(any::<u64>(), 0..50)) {
        let expected: Vec<_> = values.iter().map(|&value| fingerprint(value.into(), None)).collect();
        let hex: String = values.iter().map(|value| value.to_hex() + "\n").collect();
        let dec: String = values.iter().map(|value| format!("{value}\n")).collect();
        let le: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for (bytes, format) in [(hex.as_bytes(), Format::Hex), (dec.as_bytes(), Format::Dec), (&le, Format::Le)] {
            prop_assert_eq!(&read_all(bytes, format).records(), &expected);
            prop_assert_eq!(&read_all(&gzip(bytes), format).records(), &expected);
        }
    }
}

/// Returns the error of reading a file that begins like this.
#[cfg(not(all(
    feature = "arrow",
    feature = "bzip2",
    feature = "lz4",
    feature = "parquet",
    feature = "warc",
    feature = "xz"
)))]
fn refusal_of(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, bytes).unwrap();
    let Err(error) = crate::open(&path, None) else {
        panic!("it was read");
    };
    error.to_string()
}

#[test]
#[cfg(not(feature = "arrow"))]
fn arrow_files_need_their_feature() {
    let message = "Arrow files need a simidx-input with its feature `arrow`";
    assert!(refusal_of(b"ARROW1\0\0").ends_with(message));
}

#[test]
#[cfg(not(feature = "parquet"))]
fn parquet_files_need_their_feature() {
    let message = "Parquet files need a simidx-input with its feature `parquet`";
    assert!(refusal_of(b"PAR1").ends_with(message));
}

#[test]
#[cfg(not(feature = "warc"))]
fn web_archives_need_their_feature() {
    let message = "web archives need a simidx-input with its feature `warc`";
    assert!(refusal_of(b"WARC/1.0\r\n").ends_with(message));
}

#[test]
#[cfg(not(all(feature = "bzip2", feature = "lz4", feature = "xz")))]
fn compressed_files_need_their_features() {
    for (name, head) in [
        ("bzip2", &b"BZh91AY&SY"[..]),
        ("lz4", b"\x04\x22\x4d\x18"),
        ("xz", b"\xfd7zXZ\0"),
    ] {
        let message = format!(
            "is compressed by {name}, which needs a simidx-input with its feature `{name}`"
        );
        let refusal = refusal_of(head);
        assert!(refusal.ends_with(&message), "{refusal}");
    }
}

#[test]
fn odd_ids_are_passed_over_if_that_is_wanted() {
    let lines = "{\"id\": -1, \"text\": \"a\"}\n{\"id\": null, \"text\": \"b\"}\n{\"id\": 2.5, \"text\": \"c\"}\n\
                 {\"id\": \"\", \"text\": \"d\"}\n{\"id\": [], \"text\": \"e\"}\n{\"id\": \"x\", \"text\": \"f\"}\n";
    let strict = read_all(lines.as_bytes(), Format::Jsonl);
    assert_eq!(strict.records().len(), 1);
    let mut options = ReadOptions::default();
    options.fields.odd_ids = true;
    let read = read_by(lines.as_bytes(), Format::Jsonl, &options);
    assert_eq!(read.errors(), [""; 0]);
    let records = read.records();
    assert_eq!(records[5], document("f", Some("x")));
    for record in &records[..5] {
        assert_eq!(record.id, None);
    }
    let no_id = "\"id\" is neither a string nor an unsigned integer below 2^64";
    let odd: Vec<_> = records.iter().map(|r| r.odd_id.as_deref()).collect();
    assert_eq!(
        odd,
        [
            Some(no_id),
            Some(no_id),
            Some(no_id),
            Some("id is empty"),
            Some(no_id),
            None
        ]
    );
    let read = read_by(b"id,text\n,a\n7,b\n", Format::Csv, &options);
    let odd: Vec<_> = read.records().into_iter().map(|r| r.odd_id).collect();
    assert_eq!(odd, [Some("id is empty".to_owned()), None]);
    // A name that a record lacks is still an error.
    options.fields.id = Some("key".to_owned());
    let read = read_by(lines.as_bytes(), Format::Jsonl, &options);
    assert!(read.records().is_empty());
}

impl From<Fields> for ReadOptions {
    fn from(fields: Fields) -> Self {
        ReadOptions::default().fields(fields)
    }
}

impl From<Width> for ReadOptions {
    fn from(width: Width) -> Self {
        ReadOptions::default().width(width)
    }
}

impl From<TextEncoding> for ReadOptions {
    fn from(encoding: TextEncoding) -> Self {
        ReadOptions::default().encoding(encoding)
    }
}
