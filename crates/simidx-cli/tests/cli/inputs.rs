//! Inputs of every format: arrays, tables, patterns, mixtures, and files that change.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use simidx_testkit::le_bytes;

use crate::support::{Sandbox, gzip, hex, sample};

/// Returns a NumPy file of version 1 with these elements, shape and bytes.
fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{dict:<117}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
}

fn npy_of(values: &[u64]) -> Vec<u8> {
    npy("<u8", &format!("({},)", values.len()), &le_bytes(values))
}

/// Returns the index that is built from inputs.
#[track_caller]
fn built(sandbox: &Sandbox, inputs: &[&str], more: &[&str]) -> Vec<u8> {
    let build = ["build", "-o", "out", "--force"];
    sandbox.run(&[&build, inputs, more].concat()).done();
    sandbox.read("out")
}

#[test]
fn arrays_give_the_index_that_lines_give() {
    let sandbox = Sandbox::new();
    let values = sample(3000);
    sandbox.write("a.hex", hex(&values));
    sandbox.write("a.npy", npy_of(&values));
    sandbox.write("a.npy.gz", gzip(&npy_of(&values)));
    sandbox.write("a", npy_of(&values));
    let expected = built(&sandbox, &["a.hex"], &[]);
    for name in ["a.npy", "a.npy.gz", "a"] {
        assert!(built(&sandbox, &[name], &[]) == expected, "{name}");
    }
    let ran = sandbox.pipe(&["build", "-", "-o", "out", "--force"], &npy_of(&values));
    ran.done();
    assert!(sandbox.read("out") == expected);
    // Records with ids are read by another code path.
    let numbered = built(&sandbox, &["a.hex"], &["--ids", "number"]);
    assert!(built(&sandbox, &["a.npy"], &["--ids", "number"]) == numbered);
}

#[test]
fn bad_arrays_are_refused() {
    let sandbox = Sandbox::new();
    for (bytes, message) in [
        (
            npy("<u4", "(2,)", &[0; 8]),
            "a.npy: offset 10: holds 32-bit numbers, not 64-bit fingerprints",
        ),
        (
            npy("<u8", "(2,)", &[0; 15]),
            "a.npy: offset 136: ends after 1 of 2 fingerprints of 64 bits",
        ),
        (
            npy("<u8", "(1,)", &[0; 9]),
            "a.npy: offset 136: more bytes follow the array of 1 fingerprints",
        ),
        (b"\x93NUMPY".to_vec(), "a.npy: ends within the NumPy header"),
    ] {
        sandbox.write("a.npy", bytes);
        sandbox
            .run(&["build", "a.npy", "-o", "out"])
            .refused(message);
        assert_eq!(sandbox.names(), ["a.npy"]);
    }
}

#[test]
fn records_without_ids_where_ids_are_wanted_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a.npy", npy_of(&[1, 2]));
    let message = "a.npy: offset 128: has no id; --ids number uses positions instead";
    let args = ["build", "a.npy", "-o", "out", "--ids", "string"];
    sandbox.run(&args).refused(message);
    sandbox.write("a.hex", "1\n2\n3\n4\tid\n5\n");
    let message = "a.hex:4: has an id, but the first record had none; choose with --ids";
    sandbox
        .run(&["build", "a.hex", "-o", "out"])
        .refused(message);
    let message = "a.npy: offset 128: is a fingerprint; this command reads documents";
    sandbox.run(&["fingerprint", "a.npy"]).refused(message);
}

#[test]
fn positions_go_on_across_bad_records_and_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", "1\n2\noops\n3\n");
    sandbox.write("b.npy", npy_of(&[4, 5]));
    let build = ["build", "a.hex", "b.npy", "-o", "out", "--ids", "number"];
    let ran = sandbox.run(&[&build[..], &["--on-error", "skip"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let dump = sandbox.run(&["dump", "out"]).done();
    let ids: Vec<_> = dump
        .lines()
        .iter()
        .map(|line| line.split('\t').next_back().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["0", "1", "3", "4", "5"]);
}

#[test]
fn patterns_stand_for_their_files_in_order() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("crawl")).unwrap();
    sandbox.write("crawl/b.tsv.gz", gzip(b"2\tb\n"));
    sandbox.write("crawl/a.tsv", "1\ta\n");
    sandbox.write(
        "crawl/c.tsv.zst",
        zstd::encode_all(&b"3\tc\n"[..], 3).unwrap(),
    );
    sandbox.write("d.tsv", "4\td\n");
    let (pattern, last) = ("crawl/*.tsv*", "d.tsv");
    let named = ["crawl/a.tsv", "crawl/b.tsv.gz", "crawl/c.tsv.zst", last];
    let expected = built(&sandbox, &named, &[]);
    assert!(built(&sandbox, &[pattern, last], &[]) == expected);
    let message = "crawl/*.hex: no file matches this pattern";
    sandbox
        .run(&["build", "crawl/*.hex", "-o", "no"])
        .refused(message);
    // A file with the name takes precedence over matches of the pattern.
    sandbox.write("[d].tsv", "5\te\n");
    let alone = built(&sandbox, &["[d].tsv"], &[]);
    sandbox.write("e.tsv", "5\te\n");
    assert!(built(&sandbox, &["e.tsv"], &[]) == alone);
}

#[test]
fn inputs_of_all_kinds_mix() {
    let sandbox = Sandbox::new();
    let values = sample(400);
    let parts: Vec<&[u64]> = values.chunks(values.len() / 4 + 1).collect();
    sandbox.write("all.hex", hex(&values));
    sandbox.write("a.hex", hex(parts[0]));
    sandbox.write("b.hex.gz", gzip(&hex(parts[1])));
    sandbox.write("c.hex", zstd::encode_all(&hex(parts[2])[..], 3).unwrap());
    let expected = built(&sandbox, &["all.hex"], &[]);
    let args = [
        "build", "a.hex", "b.hex.gz", "-", "c.hex", "-o", "out", "--force",
    ];
    sandbox.pipe(&args, &hex(parts[3])).done();
    assert!(sandbox.read("out") == expected);
}

#[test]
fn a_file_that_becomes_shorter_is_refused() {
    let sandbox = Sandbox::new();
    let text = "a document of some words\n".repeat(200_000);
    sandbox.write("a.txt", &text);
    let mut command = sandbox.command(&["fingerprint", "a.txt", "--input", "lines"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A line has arrived, so the file is open. Nothing reads further, so the file has not been read to its end.
    let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(sandbox.path("a.txt"))
        .unwrap();
    file.set_len(text.len() as u64 - 25).unwrap();
    out.read_to_end(&mut Vec::new()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let message = "simidx: a.txt: is shorter than when it was opened\n";
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), message);
}

#[test]
fn reading_shows_bytes_and_the_time_left_if_it_can_be_known() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&sample(1000)));
    let args = ["build", "-o", "out", "--force", "--progress", "always"];
    let known = sandbox.run(&[&args[..], &["a.hex"]].concat());
    assert!(known.stderr.contains(" of 17.43 KiB"), "{known:?}");
    assert!(known.stderr.contains(" left)"), "{known:?}");
    let unknown = sandbox.pipe(&args, &hex(&sample(1000)));
    assert!(unknown.stderr.contains("reading"), "{unknown:?}");
    let reading = unknown
        .stderr
        .lines()
        .filter(|line| line.contains("reading"));
    for line in reading {
        assert!(!line.contains(" left)"), "{line}");
    }
}

/// Texts of some sentences, in several languages.
const TEXTS: [&str; 3] = [
    "近年来，网络上重复的网页越来越多。搜索引擎必须找出内容几乎相同的文档，否则用户会看到许多一样的结果。",
    "近年來，網路上重複的網頁越來越多。搜尋引擎必須找出內容幾乎相同的文件，否則使用者會看到許多一樣的結果。",
    "Near-duplicates of documents are everywhere; whoever searches them wants to see one of each.",
];

/// Returns the lines that `fingerprint` prints: a fingerprint and an id each.
#[track_caller]
fn fingerprinted(sandbox: &Sandbox, args: &[&str]) -> Vec<(String, String)> {
    let ran = sandbox.run(&[&["fingerprint"], args].concat()).done();
    let columns = |line: &&str| {
        let (fingerprint, id) = line.split_once('\t').unwrap();
        (fingerprint.to_owned(), id.to_owned())
    };
    ran.lines().iter().map(columns).collect()
}

/// Returns the fingerprints of the texts, each with the id at its number.
fn expected(sandbox: &Sandbox, ids: [&str; 3]) -> Vec<(String, String)> {
    sandbox.write("texts", TEXTS.join("\n"));
    let lines = fingerprinted(sandbox, &["--input", "lines", "texts"]);
    let fingerprints = lines.into_iter().map(|(fingerprint, _)| fingerprint);
    fingerprints.zip(ids.map(str::to_owned)).collect()
}

#[test]
fn fields_may_have_any_names() {
    let sandbox = Sandbox::new();
    let objects = TEXTS.map(|text| {
        let number = TEXTS.iter().position(|other| *other == text);
        format!(
            "{{\"text\":\"no\",\"page\":{{\"body\":{text:?}}},\"url\":\"u{}\"}}\n",
            number.unwrap()
        )
    });
    sandbox.write("a.jsonl.gz", gzip(objects.concat().as_bytes()));
    let rows = TEXTS
        .iter()
        .enumerate()
        .map(|(number, text)| format!("u{number}\tno\t{text}\n"));
    let table = "url\tid\tpage.body\n".to_owned() + &rows.collect::<String>();
    sandbox.write("a.tsv", &table);
    let names = ["--text-field", "page.body", "--id-field", "url"];
    let expected = expected(&sandbox, ["u0", "u1", "u2"]);
    for file in ["a.jsonl.gz", "a.tsv"] {
        assert_eq!(
            fingerprinted(&sandbox, &[&[file], &names[..]].concat()),
            expected,
            "{file}"
        );
    }
    let piped = sandbox.pipe(
        &[&["fingerprint", "--input", "tsv"], &names[..]].concat(),
        table.as_bytes(),
    );
    assert_eq!(piped.done().lines().len(), 3);
    // The commands for indexes or records also support the fields, as do queries.
    let pairs = [
        "pairs",
        "--input",
        "auto",
        "-k",
        "0",
        "--by",
        "id",
        "a.tsv",
        "a.jsonl.gz",
    ];
    assert_eq!(
        sandbox
            .run(&[&pairs, &names[..]].concat())
            .done()
            .lines()
            .len(),
        3
    );
    sandbox
        .run(&[&["build", "a.tsv", "-o", "index"], &names[..]].concat())
        .done();
    let query = ["query", "index", "-k", "0", "--documents", "a.jsonl.gz"];
    assert_eq!(
        sandbox
            .run(&[&query, &names[..]].concat())
            .done()
            .lines()
            .len(),
        3
    );
    let refusal = "--text-field, --fingerprint-field, --id-field, --delimiter and --encoding require --documents";
    sandbox
        .run(&[&["query", "index", "ff"], &names[..]].concat())
        .refused(refusal);
}

#[test]
fn records_without_their_fields_are_named_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"text\":\"no\"}\n{\"body\":\"a text\"}\n{\"body\":7}\n",
    );
    let args = ["fingerprint", "a.jsonl", "--text-field", "body"];
    sandbox
        .run(&args)
        .refused("a.jsonl:1: no \"body\"; it has: text");
    let ran = sandbox.run(&[&args[..], &["--on-error", "skip"]].concat());
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1));
    for message in [
        "a.jsonl:1: no \"body\"",
        "a.jsonl:3: \"body\" is not a string",
        "skipped 2 records",
    ] {
        assert!(ran.stderr.contains(message), "{ran:?}");
    }
    sandbox.write("a.tsv", "id\ttext\n1\ta text\n");
    let ran = sandbox.run(&["fingerprint", "a.tsv", "--text-field", "body"]);
    ran.refused("a.tsv:1: has no column \"body\"; it has: id, text");
    sandbox.write("texts", "a text\n");
    let ran = sandbox.run(&[
        "fingerprint",
        "texts",
        "--input",
        "lines",
        "--text-field",
        "body",
    ]);
    ran.refused("texts: the format lines has no fields to name");
}

#[test]
fn files_may_be_in_any_encoding() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("tree")).unwrap();
    let (gbk, ..) = encoding_rs::GB18030.encode(TEXTS[0]);
    let (big5, ..) = encoding_rs::BIG5.encode(TEXTS[1]);
    let utf16: Vec<u8> = TEXTS[2].encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("tree/a", gbk);
    sandbox.write("tree/b.gz", gzip(&big5));
    sandbox.write("tree/c", [b"\xff\xfe", &utf16[..]].concat());
    let expected = expected(&sandbox, ["tree/a", "tree/b.gz", "tree/c"]);
    assert_eq!(fingerprinted(&sandbox, &["tree"]), expected);
    sandbox.write("tree/d", b"\x7fELF\x02\0\0");
    sandbox
        .run(&["fingerprint", "tree"])
        .refused("tree/d: holds binary data");
    let ran = sandbox.run(&["fingerprint", "tree", "--on-error", "skip"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 3));
}

/// Returns a record of a web archive with a response.
fn response(uri: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n");
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {uri}\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{head}",
        head.len() + body.len()
    );
    [record.as_bytes(), body, b"\r\n\r\n"].concat()
}

#[test]
fn pages_of_web_archives_are_documents() {
    let sandbox = Sandbox::new();
    let page = |text: &str| format!("<html><title>no</title><body><p>{text}</p></body></html>");
    let (gbk, ..) = encoding_rs::GBK.encode(TEXTS[0]);
    let records = [
        response(
            "http://a/",
            "Content-Type: text/plain; charset=gb2312\r\n",
            &gbk,
        ),
        response("http://i/", "Content-Type: image/png\r\n", b"\x89PNG\0"),
        response(
            "http://b/",
            "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n",
            &gzip(TEXTS[1].as_bytes()),
        ),
        response(
            "http://c/",
            "Content-Type: text/plain\r\n",
            TEXTS[2].as_bytes(),
        ),
    ];
    sandbox.write("a.warc", records.concat());
    let members = records.iter().flat_map(|record| gzip(record));
    sandbox.write("a.warc.gz", members.collect::<Vec<u8>>());
    sandbox.write("a", gzip(&records.concat()));
    let expected = expected(&sandbox, ["http://a/", "http://b/", "http://c/"]);
    for file in ["a.warc", "a.warc.gz", "a"] {
        assert_eq!(fingerprinted(&sandbox, &[file]), expected, "{file}");
    }
    // The pipeline handles HTML.
    let html = response(
        "http://h/",
        "Content-Type: text/html\r\n",
        page(TEXTS[2]).as_bytes(),
    );
    sandbox.write("h.warc", html);
    sandbox.write("h", page(TEXTS[2]));
    let of_file = fingerprinted(&sandbox, &["h", "--input", "files", "--pipeline", "web"]);
    let of_record = fingerprinted(&sandbox, &["h.warc", "--pipeline", "web"]);
    assert_eq!(of_record, [(of_file[0].0.clone(), "http://h/".to_owned())]);
    // The kept part of an archive is an archive.
    let twice = [&records[..], &records[..]].concat().concat();
    sandbox.write("b.warc", twice);
    let ran = sandbox.run(&["dedup", "b.warc", "-o", "kept.warc"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept = [&records[0], &records[2], &records[3]].map(Vec::as_slice);
    assert!(sandbox.read("kept.warc") == kept.concat());
    // Other readers seek to the members of records.
    let ran = sandbox.run(&["dedup", "b.warc", "-o", "kept.warc.gz"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let data = sandbox.read("kept.warc.gz");
    let mut rest = &data[..];
    for record in kept {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        let mut found = Vec::new();
        member.read_to_end(&mut found).unwrap();
        assert!(found == record);
        rest = member.into_inner();
    }
    assert!(rest.is_empty());
    let whole = sandbox.read("a.warc");
    sandbox.write("cut.warc", &whole[..whole.len() - 10]);
    let start = whole.len() - records[3].len();
    let message = format!("cut.warc: offset {start}: the record is cut off");
    sandbox
        .run(&["fingerprint", "cut.warc", "--on-error", "skip"])
        .refused(&message);
}

#[test]
fn what_is_kept_of_a_table_has_its_header() {
    let sandbox = Sandbox::new();
    let rows = format!("1\t{}\r\n2\t{}\r\n3\t{0}\r\n", TEXTS[0], TEXTS[2]);
    sandbox.write("a.tsv", format!("id\tbody\r\n{rows}"));
    sandbox.write("b.tsv", format!("id\tbody\r\n{rows}"));
    let dedup = [
        "dedup",
        "-o",
        "kept.tsv",
        "--force",
        "--text-field",
        "body",
        "a.tsv",
    ];
    let ran = sandbox.run(&[&dedup[..], &["b.tsv"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept = format!("id\tbody\r\n1\t{}\r\n2\t{}\r\n", TEXTS[0], TEXTS[2]);
    assert_eq!(String::from_utf8(sandbox.read("kept.tsv")).unwrap(), kept);
    sandbox.write("c.tsv", "body\tid\nx\t1\n");
    let ran = sandbox.run(&[&dedup[..], &["c.tsv"]].concat());
    ran.refused("c.tsv: has other columns than the inputs before it; use --output-dir");
}

mod tables {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use simidx_testkit::thorough;

    use super::*;

    /// Returns a file of fingerprints with ids.
    fn table(values: &[u64]) -> Vec<u8> {
        let schema = "message rows { required int64 fingerprint; required binary id (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut file = Vec::new();
        let properties = Arc::new(WriterProperties::default());
        let mut writer = SerializedFileWriter::new(&mut file, schema, properties).unwrap();
        for group in values.chunks(1000) {
            let numbers: Vec<i64> = group.iter().map(|v| v.cast_signed()).collect();
            let ids = group
                .iter()
                .map(|v| ByteArray::from(format!("n{v}").into_bytes()));
            let ids: Vec<ByteArray> = ids.collect();
            let mut rows = writer.next_row_group().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column
                .typed::<Int64Type>()
                .write_batch(&numbers, None, None)
                .unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column
                .typed::<ByteArrayType>()
                .write_batch(&ids, None, None)
                .unwrap();
            column.close().unwrap();
            rows.close().unwrap();
        }
        writer.close().unwrap();
        file
    }

    #[test]
    fn tables_give_the_index_that_lines_give() {
        let sandbox = Sandbox::new();
        let values = sample(2500);
        let lines: String = values.iter().map(|v| format!("{v:x}\tn{v}\n")).collect();
        sandbox.write("a.tsv", lines);
        sandbox.write("a.hex", hex(&values));
        sandbox.write("a.parquet", table(&values));
        sandbox.write("b", table(&values));
        let expected = built(&sandbox, &["a.tsv"], &[]);
        assert!(built(&sandbox, &["a.parquet"], &[]) == expected);
        assert!(built(&sandbox, &["b"], &[]) == expected);
        let plain = built(&sandbox, &["a.hex"], &[]);
        assert!(built(&sandbox, &["a.parquet"], &["--ids", "none"]) == plain);
    }

    #[test]
    fn damaged_tables_are_one_clear_line() {
        let sandbox = Sandbox::new();
        let whole = table(&sample(50));
        for at in (0..whole.len()).step_by(thorough(3, 11)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            sandbox.write("a.parquet", bytes);
            let ran = sandbox.run(&["build", "a.parquet", "-o", "out", "--force"]);
            match ran.code {
                Some(0) => drop(ran.done()),
                _ => assert!(ran.refusal().starts_with("a.parquet: "), "{ran:?}"),
            }
        }
        let ran = sandbox.pipe(&["build", "--input", "parquet", "-o", "no"], &whole);
        ran.refused("-: a Parquet file cannot be read from standard input");
    }
}
