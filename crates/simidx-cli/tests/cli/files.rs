//! Files on a disk: compressed, of other kinds, empty, in folders, with unusual names, without an end.

use crate::formats::{TEXTS, expected, fingerprinted, kept};
use crate::support::{Ran, Sandbox, gzip};

/// The same line, compressed by the programs with these names.
const COMPRESSED: [(&str, &[u8]); 3] = [
    (
        "bz2",
        b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xfd\x9f\x98\x2d\x00\x00\x16\xd9\x80\x00\x10\x50\
          \x04\x00\x10\x2f\x23\x9e\xca\x20\x00\x22\x29\xea\x3d\x35\x1e\x9e\xa9\x89\xb4\x7a\xa1\x46\
          \x8c\x81\xa3\x4c\x8d\x0c\x64\x73\x01\xaa\x54\x4f\xa8\x99\xc5\xe6\x65\x03\xf6\xba\x5c\x5e\
          \x03\xed\xe9\x4a\x97\x2d\x05\xbf\x17\x72\x45\x38\x50\x90\xfd\x9f\x98\x2d",
    ),
    (
        "xz",
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\
          \xe5\xa3\x01\x00\x2e\x7b\x22\x69\x64\x22\x3a\x22\x61\x22\x2c\x22\x74\x65\x78\x74\x22\x3a\
          \x22\x6f\x6e\x65\x20\x64\x6f\x63\x75\x6d\x65\x6e\x74\x20\x6f\x66\x20\x73\x6f\x6d\x65\x20\
          \x77\x6f\x72\x64\x73\x22\x7d\x0a\x00\x00\x63\x55\x89\xbd\xab\x38\x6f\x89\x00\x01\x47\x2f\
          \xb0\x51\x6f\x34\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
    ),
    (
        "lz4",
        b"\x04\x22\x4d\x18\x64\x40\xa7\x2f\x00\x00\x80\x7b\x22\x69\x64\x22\x3a\x22\x61\x22\x2c\x22\
          \x74\x65\x78\x74\x22\x3a\x22\x6f\x6e\x65\x20\x64\x6f\x63\x75\x6d\x65\x6e\x74\x20\x6f\x66\
          \x20\x73\x6f\x6d\x65\x20\x77\x6f\x72\x64\x73\x22\x7d\x0a\x00\x00\x00\x00\xe9\xe0\xf9\x0e",
    ),
];

#[test]
fn compressed_inputs_are_read_through() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"id\":\"a\",\"text\":\"one document of some words\"}\n",
    );
    let expected = fingerprinted(&sandbox, &["a.jsonl"]);
    for (suffix, bytes) in COMPRESSED {
        let name = format!("a.jsonl.{suffix}");
        let data = if suffix == "bz2" { "bzip2" } else { suffix };
        sandbox.write(&name, bytes);
        sandbox.write("b", [bytes, bytes].concat());
        assert_eq!(fingerprinted(&sandbox, &[&name]), expected, "{name}");
        assert_eq!(
            fingerprinted(&sandbox, &["b"]),
            expected.repeat(2),
            "{name}"
        );
        sandbox.write(&name, &bytes[..bytes.len() - 3]);
        let ran = sandbox.run(&["fingerprint", &name, "--on-error", "skip"]);
        ran.refused(&format!("{name}: the {data} data are cut off"));
        sandbox.write(&name, [bytes, b"and more"].concat());
        let offset = bytes.len();
        let message = format!(
            "{name}: the {data} data end at offset {offset} of the file, and other bytes follow them"
        );
        sandbox.run(&["fingerprint", &name]).refused(&message);
    }
    let zipped = gzip(&sandbox.read("a.jsonl"));
    sandbox.write("c.jsonl.gz", [&zipped[..], b"rubbish"].concat());
    let offset = zipped.len();
    let message = format!(
        "c.jsonl.gz: the gzip data end at offset {offset} of the file, and other bytes follow them"
    );
    sandbox
        .run(&["fingerprint", "c.jsonl.gz"])
        .refused(&message);
}

#[test]
fn files_that_hold_no_records_are_named() {
    let sandbox = Sandbox::new();
    let tar = [&[b'x'; 257][..], b"ustar\0", &[0; 300]].concat();
    let zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    for (name, bytes, words) in [
        ("a.zip", &zip, "is a zip archive; unpack it first"),
        ("b.jsonl", &zip, "is a zip archive; unpack it first"),
        ("c.parquet", &zip, "is a zip archive; unpack it first"),
        ("d.tar", &tar, "is a tar archive; unpack it first"),
        ("e.tar.gz", &gzip(&tar), "is a tar archive; unpack it first"),
    ] {
        sandbox.write(name, bytes);
        let ran = sandbox.run(&["fingerprint", name, "--on-error", "skip"]);
        ran.refused(&format!("{name}: {words}"));
    }
    for name in ["a.zip", "d.tar"] {
        let ran = sandbox.run(&["fingerprint", name, "--input", "lines"]);
        assert!(ran.refusal().ends_with("; unpack it first"));
    }
    sandbox.write("x.hex", "1f\n");
    sandbox.run(&["build", "x.hex", "-o", "x.simidx"]).done();
    let message = "x.simidx: is an index, not a file of fingerprints or documents";
    sandbox
        .run(&["build", "x.simidx", "-o", "no"])
        .refused(message);
    sandbox.write("h", [0, 1, 2, 0]);
    let message = "h:1: holds binary data of no known format; name it with --input";
    sandbox.run(&["build", "h", "-o", "no"]).refused(message);
    for url in ["s3://bucket/a.parquet", "https://example.org/a?x=*"] {
        let message = format!(
            "{url}: is a URL, and URLs are not read; fetch the file first, or pipe it in with - as the input"
        );
        sandbox.run(&["fingerprint", url]).refused(&message);
    }
}

#[test]
fn empty_files_say_so() {
    let sandbox = Sandbox::new();
    for name in ["a", "a.csv", "a.parquet", "a.arrow"] {
        sandbox.write(name, "");
        let ran = sandbox.run(&["fingerprint", name]);
        assert!(
            ran.refusal().starts_with(&format!("{name}: is empty")),
            "{ran:?}"
        );
    }
    sandbox
        .pipe(&["fingerprint", "-"], b"")
        .refused("-: is empty");
}

/// Creates a folder with a file of one document for each text.
fn shards(sandbox: &Sandbox, folder: &str) {
    std::fs::create_dir_all(sandbox.path(&format!("{folder}/more"))).unwrap();
    for (number, text) in TEXTS.iter().enumerate() {
        let row = format!("{{\"id\":\"u{number}\",\"text\":{text:?}}}\n");
        let inner = if number == 1 { "more/" } else { "" };
        sandbox.write(&format!("{folder}/{inner}part-{number}.jsonl"), row);
    }
}

#[test]
fn a_folder_of_shards_is_read_as_its_records() {
    let sandbox = Sandbox::new();
    let of_all = expected(&sandbox, ["u0", "u1", "u2"]);
    // In the order of the paths.
    let lines: Vec<&str> = of_all.lines().collect();
    let expected = format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]);
    shards(&sandbox, "shards");
    sandbox.write("shards/_SUCCESS", "");
    sandbox.write("shards/.part-0.jsonl.crc", "x");
    assert_eq!(fingerprinted(&sandbox, &["shards"]), expected);
    sandbox.write(
        "shards/part-0.jsonl.gz",
        gzip(&sandbox.read("shards/part-0.jsonl")),
    );
    std::fs::remove_file(sandbox.path("shards/part-0.jsonl")).unwrap();
    assert_eq!(fingerprinted(&sandbox, &["shards"]), expected);
    let records = |args: &[&str]| {
        let copy = kept(&sandbox, args);
        copy.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(records(&["shards"]).len(), 3);
    assert_eq!(records(&["shards", "--text-field", "text"]).len(), 3);
    assert_eq!(records(&["shards", "--input", "files"]).len(), 5);
    sandbox.run(&["build", "shards", "-o", "x.simidx"]).done();
    let ran = sandbox.run(&["query", "x.simidx", "--documents", "shards", "-k", "0"]);
    assert_eq!(ran.done().lines().len(), 3);
    let ran = sandbox.run(&["pairs", "shards", "--input", "auto", "-k", "64"]);
    assert_eq!(ran.done().lines().len(), 3);
}

#[test]
fn other_folders_are_documents_or_refused() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("texts")).unwrap();
    for (number, text) in TEXTS.iter().enumerate() {
        sandbox.write(&format!("texts/{number}.txt"), text);
    }
    let names = ["texts/0.txt", "texts/1.txt", "texts/2.txt"];
    assert_eq!(
        fingerprinted(&sandbox, &["texts"]),
        expected(&sandbox, names)
    );
    // As a shell expands texts/*.txt.
    let ran = sandbox.run(&[&["fingerprint"], &names[..]].concat());
    let message = "texts/0.txt:1: cannot tell the format from \"Near-duplicates of documents are everywh...\"; \
                   name it with --input, as files if the file is one document or as lines if each line is one";
    ran.refused(message);
    let args = [&["--input", "files"], &names[..]].concat();
    assert_eq!(fingerprinted(&sandbox, &args), expected(&sandbox, names));
    shards(&sandbox, "mixed");
    sandbox.write("mixed/a.csv", "id,text\n");
    sandbox.write("mixed/README.md", "# Data");
    let message = "mixed: holds files of several kinds: 3 jsonl, 1 csv, 1 other such as README.md; \
                   name those to read by a pattern such as 'mixed/**/*.jsonl', \
                   or read every file as a document with --input files";
    for command in ["fingerprint", "build", "dedup"] {
        let out = ["mixed", "-o", "no", "--on-error", "skip"];
        let args = if command == "fingerprint" {
            &out[..1]
        } else {
            &out
        };
        sandbox.run(&[&[command], args].concat()).refused(message);
    }
    let ran = sandbox.run(&["fingerprint", "mixed/**/*.jsonl"]).done();
    assert_eq!(ran.lines().len(), 3);
    assert_eq!(
        fingerprinted(&sandbox, &["mixed", "--input", "jsonl"])
            .lines()
            .count(),
        3
    );
}

#[cfg(unix)]
mod names {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn odd(name: &[u8]) -> &OsStr {
        OsStr::from_bytes(name)
    }

    #[test]
    fn names_that_are_not_utf8_are_read_and_shown() {
        let sandbox = Sandbox::new();
        let folder = sandbox.path("g");
        std::fs::create_dir(&folder).unwrap();
        sandbox.write("g/a.hex", "1f\n");
        std::fs::write(folder.join(odd(b"\xff.hex")), "ff\n").unwrap();
        std::fs::create_dir(folder.join(odd(b"\xfe"))).unwrap();
        std::fs::write(folder.join(odd(b"\xfe/b.hex")), "2f\n").unwrap();
        let dump = |input: &[u8]| {
            let build = [
                odd(b"build"),
                odd(input),
                odd(b"-o"),
                odd(b"x"),
                odd(b"--force"),
            ];
            sandbox.run(&build).done();
            sandbox.run(&["dump", "x"]).done().lines().len()
        };
        assert_eq!(dump(b"g/*.hex"), 2);
        assert_eq!(dump(b"g/**/*.hex"), 3);
        assert_eq!(dump(b"g"), 3);
        assert_eq!(dump(b"g/\xff.hex"), 1);
        std::fs::write(folder.join(odd(b"\xff.hex")), "oops\n").unwrap();
        let ran = sandbox.run(&["build", "g/*.hex", "-o", "no"]);
        ran.refused("g/\u{fffd}.hex:1: \"oops\" is not a hexadecimal number");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn endless_lines_are_given_up() {
    let sandbox = Sandbox::new();
    let build = |args: &[&str]| {
        let build = ["build", "/dev/zero", "-o", "no"];
        let ran: Ran = sandbox.run(&[&build, args].concat());
        ran.refusal().to_owned()
    };
    let long = "/dev/zero:1: line is longer than 268435456 bytes";
    assert_eq!(build(&["--input", "lines"]), long);
    assert_eq!(build(&["--input", "jsonl"]), long);
    assert_eq!(
        build(&["--input", "hex"]),
        "/dev/zero:1: line is longer than 131072 bytes"
    );
    let skip = [
        "build",
        "/dev/zero",
        "-o",
        "no",
        "--input",
        "hex",
        "--on-error",
        "skip",
    ];
    let ran = sandbox.run(&skip);
    let given_up = "simidx: /dev/zero: line 1 is longer than 4294967296 bytes; no more is read\n";
    assert!(
        ran.code == Some(2) && ran.stderr.ends_with(given_up),
        "{ran:?}"
    );
    assert_eq!(
        build(&["--input", "csv"]),
        "/dev/zero:1: row is longer than 16777216 bytes"
    );
    assert_eq!(build(&["--input", "json"]), "/dev/zero:1: not JSON");
    let binary = "/dev/zero:1: holds binary data of no known format; name it with --input";
    assert_eq!(build(&[]), binary);
}
