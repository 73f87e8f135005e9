//! Records that are copied unchanged.

use crate::tests::{fields, filter_records, read_all};
use crate::{Error, Format, InputFile, ReadOptions, Result};

/// Copies the wanted records of some files, and returns the copy.
fn copied(files: &[(&str, &str)], options: &ReadOptions, wanted: &[bool]) -> Result<String, Error> {
    let folder = tempfile::tempdir().unwrap();
    let open = |(name, text): &(&str, &str)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        InputFile::open_with(&path, None, options, None)
    };
    let inputs = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    assert!(inputs.iter().all(|input| input.goes_with(&inputs[0])));
    let (mut out, mut wanted) = (Vec::new(), wanted.iter());
    filter_records(&inputs, &mut out, &mut |_| *wanted.next().unwrap())?;
    assert!(wanted.next().is_none());
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn rows_are_copied_byte_for_byte_after_one_header() {
    let options = ReadOptions::default();
    let first = "\u{feff}id,\"text\"\r\n1,\"a\nb\"\r\n2,c\r\n\r\n3,d";
    let second = "id,\"text\"\n4,\"\"\"e\"\"\"\n5,f,g\n6,h\n";
    let files = [("a.csv", first), ("b.csv", second)];
    let copy = copied(&files, &options, &[true, false, true, true, true, true]).unwrap();
    assert_eq!(
        copy,
        "id,\"text\"\r\n1,\"a\nb\"\r\n3,d\n4,\"\"\"e\"\"\"\n5,f,g\n6,h\n"
    );
    let copy = copied(&files, &options, &[false; 6]).unwrap();
    assert_eq!(copy, "id,\"text\"\r\n");
    let marked = [("a.csv", "\r\n\u{feff}id,text\n1,a\n")];
    let copy = copied(&marked, &options, &[true]).unwrap();
    assert_eq!(read_all(copy.as_bytes(), Format::Csv).records()[0].id, None);
    let other = [("a.csv", "id;body\n1;a\n"), ("b.csv.gz", "id;body\n2;b")];
    let copy = copied(&other, &fields("body", "").into(), &[true; 2]).unwrap();
    assert_eq!(copy, "id;body\n1;a\n2;b");
}

#[test]
fn elements_are_copied_into_an_array() {
    let options = ReadOptions::default();
    let array = "[ {\"text\": \"a\",\n \"x\":  1}  , 7,{\"text\":\"b\"}]";
    let objects = "{\n  \"text\": \"c\"\n}\n{\"text\":\"d\"}";
    let both = [("a.json", array), ("b.json", objects)];
    let wanted = [true, true, false, true, false];
    let copy = copied(&both, &options, &wanted).unwrap();
    assert_eq!(
        copy,
        "[\n{\"text\": \"a\",\n \"x\":  1},\n7,\n{\n  \"text\": \"c\"\n}\n]\n"
    );
    assert_eq!(read_all(copy.as_bytes(), Format::Json).records().len(), 2);
    assert_eq!(copied(&both, &options, &[false; 5]).unwrap(), "[]\n");
    assert_eq!(copied(&[("a.json", "[]")], &options, &[]).unwrap(), "[]\n");
    let copy = copied(&[("b.json", objects)], &options, &[true, true]).unwrap();
    assert_eq!(copy, "{\n  \"text\": \"c\"\n}\n{\"text\":\"d\"}\n");
    let error = copied(&[("a.json", "[{\"text\":1}\n")], &options, &[true]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("a.json:2: the array has no end"),
        "{error}"
    );
}
