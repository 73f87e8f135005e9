//! Inputs of every format: arrays, tables, patterns, mixtures, and files that change.
#![cfg(feature = "cli")]

mod cli_support;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use cli_support::{Sandbox, gzip, hex, sample};

/// A NumPy file of version 1 with these elements, shape and bytes.
fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{dict:<117}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
}

fn npy_of(values: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<u8", &format!("({},)", values.len()), &bytes)
}

/// The index that comes of inputs.
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
    // With ids the records come through another door.
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
    let message = "a.npy: offset 128: has no id; say --ids";
    let args = ["build", "a.npy", "-o", "out", "--ids", "string"];
    sandbox.run(&args).refused(message);
    sandbox.write("a.hex", "1\n2\n3\n4\tid\n5\n");
    let message = "a.hex:4: has an id, but the first record had none; say --ids";
    sandbox
        .run(&["build", "a.hex", "-o", "out"])
        .refused(message);
    let message = "a.npy: offset 128: holds a fingerprint; this command reads documents";
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
    // What has the name is meant, not what matches.
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
    // A line is there, so the file is open; and nobody reads on, so it cannot be read to its end.
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

#[cfg(feature = "parquet")]
mod tables {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A file of fingerprints with ids.
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
        for at in (0..whole.len()).step_by(3) {
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

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_tables_says_what_it_lacks() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "PAR1");
    let message = "a: Parquet files need a simidx built with its feature `parquet`";
    sandbox.run(&["build", "a", "-o", "out"]).refused(message);
}
