//! Formats of other programs: CSV, JSON of any shape, Arrow, and their fields.

use crate::support::{Sandbox, gzip};

/// Texts that have little in common.
pub(crate) const TEXTS: [&str; 3] = [
    "Near-duplicates of documents are everywhere, and whoever searches them wants to see one of each.",
    "A table of all distinct fingerprints is sorted, cut into blocks, and compressed block by block.",
    "The quick brown fox jumps over the lazy dog while five boxing wizards look for another pangram.",
];

/// The advice in messages.
const CHOOSE: &str = "choose with --text-field or --fingerprint-field";

/// Returns the output of `fingerprint` for the texts, each with an id.
pub(crate) fn expected(sandbox: &Sandbox, ids: [&str; 3]) -> String {
    let row = |(text, id): (&str, &str)| format!("{{\"id\":{id:?},\"text\":{text:?}}}\n");
    let rows: String = TEXTS.into_iter().zip(ids).map(row).collect();
    sandbox.write("expected.jsonl", rows);
    let ran = sandbox.run(&["fingerprint", "expected.jsonl"]).done();
    ran.text().to_owned()
}

#[track_caller]
pub(crate) fn fingerprinted(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.run(&[&["fingerprint"], args].concat()).done();
    ran.text().to_owned()
}

/// Runs `dedup`, which writes `kept`, and returns that file.
#[track_caller]
pub(crate) fn kept(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.run(&[&["dedup", "-o", "kept", "--force"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    String::from_utf8(sandbox.read("kept")).unwrap()
}

/// Returns a table of the texts. The first is in quotation marks and contains a line end.
fn csv(delimiter: char) -> String {
    let first = TEXTS[0].replace("everywhere, and", "everywhere,\r\nand");
    let rows = [
        format!("\"{first}\""),
        format!("\"{}\"", TEXTS[1]),
        TEXTS[2].to_owned(),
    ];
    let rows = rows.iter().zip(["u0", "u1", "u2"]);
    let rows = rows.map(|(text, url)| format!("{url}{delimiter}{text}{delimiter}\"\"\r\n"));
    format!("url{delimiter}content{delimiter}kind\r\n") + &rows.collect::<String>()
}

#[test]
fn csv_is_read_by_its_name_by_its_content_and_on_request() {
    let sandbox = Sandbox::new();
    let expected = expected(&sandbox, ["u0", "u1", "u2"]);
    let names = ["--text-field", "content", "--id-field", "url"];
    sandbox.write("a.csv", csv(','));
    sandbox.write("b.csv.gz", gzip(format!("\u{feff}{}", csv(';')).as_bytes()));
    sandbox.write("c", csv(','));
    sandbox.write("d.txt", csv('|'));
    for name in ["a.csv", "b.csv.gz", "c", "d.txt"] {
        let found = fingerprinted(&sandbox, &[&[name], &names[..]].concat());
        assert_eq!(found, expected, "{name}");
    }
    for (delimiter, named) in [('\t', "tab"), (':', ":")] {
        sandbox.write("e", csv(delimiter).replace("--", ""));
        let args = ["e", "--input", "csv", "--delimiter", named];
        assert_eq!(
            fingerprinted(&sandbox, &[&args, &names[..]].concat()),
            expected
        );
    }
    let piped = ["fingerprint", "--input", "csv"];
    let ran = sandbox.pipe(&[&piped, &names[..]].concat(), csv(',').as_bytes());
    assert_eq!(ran.done().text(), expected);
    let ran = sandbox.run(&["fingerprint", "a.csv", "--delimiter", "ab"]);
    let refusal = ran.refusal();
    assert!(
        refusal.contains("a delimiter is one ASCII character, or tab"),
        "{refusal}"
    );
}

#[test]
fn errors_in_csv_name_the_file_the_line_and_what_there_is() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", csv(','));
    let refused = |args: &[&str], message: &str| {
        sandbox
            .run(&[&["fingerprint"], args].concat())
            .refused(message);
    };
    let there = format!(
        "a.csv:1: has no column \"text\" or \"fingerprint\"; it has: content, url, kind; {CHOOSE}"
    );
    refused(&["a.csv"], &there);
    refused(
        &["a.csv", "--text-field", "contents"],
        "a.csv:1: has no column \"contents\"; it has: content, kind, url",
    );
    sandbox.write("b.csv", "id,text\n1,\"a\nb\"\n2\n3,\"c\n");
    refused(&["b.csv"], "b.csv:4: has 1 columns, the first line has 2");
    let ran = sandbox.run(&["fingerprint", "b.csv", "--on-error", "skip"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1));
    let open = "b.csv:5: the quotation marks that open in this row never close";
    assert!(ran.stderr.contains(open), "{ran:?}");
    // A file that begins like a table without any of the columns is refused with advice.
    sandbox.write("c", csv(','));
    let ran = sandbox.run(&["fingerprint", "c"]);
    assert!(
        ran.refusal()
            .starts_with("c:1: cannot tell the format from \"url,content,kind\"; ")
    );
    sandbox.write("d.tsv", "id\ttext\n1\ta text\n");
    let message = format!(
        "d.tsv:1: \"id\" is not a hexadecimal number; if this line names columns, {CHOOSE}"
    );
    refused(&["d.tsv"], &message);
    assert_eq!(
        fingerprinted(&sandbox, &["d.tsv", "--text-field", "text"])
            .lines()
            .count(),
        1
    );
}

#[test]
fn what_is_kept_of_csv_has_one_header_and_its_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", csv(','));
    sandbox.write("b.csv", csv(','));
    let names = ["--text-field", "content", "a.csv", "b.csv"];
    assert_eq!(kept(&sandbox, &names), csv(','));
    sandbox.write("c.csv", csv(';'));
    let ran = sandbox.run(&[
        "dedup",
        "-o",
        "no",
        "--text-field",
        "content",
        "a.csv",
        "c.csv",
    ]);
    ran.refused("c.csv: has other columns than the inputs before it; use --output-dir");
}

/// Returns the texts as members of objects, and a copy of each.
fn objects() -> Vec<String> {
    let object = |(number, text): (usize, &&str)| {
        format!(
            "{{\n  \"id\": \"u{number}\",\n  \"text\": {text:?},\n  \"more\": [{{}}, \"]\"]\n}}"
        )
    };
    TEXTS.iter().enumerate().map(object).collect()
}

#[test]
fn json_is_read_in_any_shape() {
    let sandbox = Sandbox::new();
    let expected = expected(&sandbox, ["u0", "u1", "u2"]);
    let array = format!("[\n{}\n]\n", objects().join(",\n"));
    let narrow = array.replace('\n', "");
    for (name, bytes) in [
        ("a.json", array.clone()),
        ("b.jsonl", objects().concat()),
        ("c", narrow.clone()),
        ("d", objects().join("\n")),
        ("e.json", objects().map_lines()),
        ("f.ndjson", format!("\u{feff}{array}")),
    ] {
        sandbox.write(name, &bytes);
        assert_eq!(fingerprinted(&sandbox, &[name]), expected, "{name}");
        let packed = format!("{name}.gz");
        sandbox.write(&packed, gzip(bytes.as_bytes()));
        assert_eq!(fingerprinted(&sandbox, &[&packed]), expected, "{packed}");
    }
    let ran = sandbox.pipe(&["fingerprint", "--input", "json"], array.as_bytes());
    assert_eq!(ran.done().text(), expected);
    sandbox.write("g.json", array.replace("\"u1\"", "-1"));
    let message =
        "g.json:7: element 2: \"id\" is neither a string nor an unsigned integer below 2^64";
    sandbox.run(&["fingerprint", "g.json"]).refused(message);
    sandbox.write("g.json", &array[..array.len() - 10]);
    let ran = sandbox.run(&["fingerprint", "g.json", "--on-error", "skip"]);
    ran.refused("g.json:12: the value that begins here has no end");
}

/// Objects, one on each line.
trait Lines {
    fn map_lines(self) -> String;
}

impl Lines for Vec<String> {
    fn map_lines(self) -> String {
        self.iter()
            .map(|object| object.replace('\n', "") + "\n")
            .collect()
    }
}

#[test]
fn what_is_kept_of_json_is_json() {
    let sandbox = Sandbox::new();
    let objects = objects();
    let [a, b, c] = &objects[..] else { panic!() };
    sandbox.write("a.json", format!("[{a},{b}, {a},{c}]"));
    let copy = kept(&sandbox, &["a.json"]);
    assert_eq!(copy, format!("[\n{a},\n{b},\n{c}\n]\n"));
    let read: serde_json::Value = serde_json::from_str(&copy).unwrap();
    assert_eq!(read.as_array().map(Vec::len), Some(3));
    sandbox.write("b.json", format!("{a}{a}\n\n{c}"));
    assert_eq!(kept(&sandbox, &["b.json"]), format!("{a}\n{c}\n"));
}

#[test]
fn texts_come_out_of_lists_and_several_fields() {
    let sandbox = Sandbox::new();
    let joined = format!("A title\n{}\n{}", TEXTS[0], TEXTS[1]);
    let turns = format!(
        "[{{\"content\":{:?}}},{{\"content\":null}},{{\"content\":{:?}}}]",
        TEXTS[0], TEXTS[1]
    );
    sandbox.write(
        "a.jsonl",
        format!("{{\"id\":1,\"title\":\"A title\",\"messages\":{turns}}}\n"),
    );
    sandbox.write("b.jsonl", format!("{{\"id\":1,\"text\":{joined:?}}}\n"));
    let found = fingerprinted(
        &sandbox,
        &["a.jsonl", "--text-field", "title,messages.*.content"],
    );
    assert_eq!(found, fingerprinted(&sandbox, &["b.jsonl"]));
    for (name, message) in [
        (
            "messages",
            "\"messages\" is a list; \"messages.*\" names its elements",
        ),
        (
            "message.*.content",
            "no \"message.*.content\"; it has: messages.*.content, title, id",
        ),
    ] {
        let ran = sandbox.run(&["fingerprint", "a.jsonl", "--text-field", name]);
        ran.refused(&format!("a.jsonl:1: {message}"));
    }
}

#[test]
fn fingerprints_may_be_in_any_field() {
    let sandbox = Sandbox::new();
    let dump = |args: &[&str]| {
        let build = [&["build", "-o", "x", "--force"], args].concat();
        sandbox.run(&build).done();
        sandbox.run(&["dump", "x"]).done().text().to_owned()
    };
    let expected = "00000000000000ff\ta\n";
    let names = ["--fingerprint-field", "simhash", "--id-field", "url"];
    sandbox.write(
        "a.jsonl",
        "{\"url\":\"a\",\"simhash\":\"00ff\",\"text\":\"no\"}\n",
    );
    sandbox.write("a.csv", "text,simhash,url\nno,00ff,a\n");
    sandbox.write("a.tsv", "simhash\turl\n00ff\ta\n");
    for name in ["a.jsonl", "a.csv", "a.tsv"] {
        assert_eq!(dump(&[&[name], &names[..]].concat()), expected, "{name}");
    }
    // The user chooses the content of a record with both fields.
    sandbox.write(
        "b.jsonl",
        "{\"id\":\"a\",\"fingerprint\":\"ff\",\"text\":\"some text\"}\n",
    );
    let message = "b.jsonl:1: both \"text\" and \"fingerprint\"; \
                   choose with --text-field text or --fingerprint-field fingerprint";
    sandbox
        .run(&["build", "b.jsonl", "-o", "no"])
        .refused(message);
    assert_eq!(
        dump(&["b.jsonl", "--fingerprint-field", "fingerprint"]),
        expected
    );
    assert_ne!(dump(&["b.jsonl", "--text-field", "text"]), expected);
    let both = [
        "b.jsonl",
        "--text-field",
        "text",
        "--fingerprint-field",
        "fingerprint",
    ];
    let message = "b.jsonl: a record is a text or a fingerprint; name one of the two fields";
    sandbox
        .run(&[&["build", "-o", "no"], &both[..]].concat())
        .refused(message);
}

mod arrow {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use super::*;

    /// Returns the texts twice, with ids and numbers, in two batches.
    fn batches() -> Vec<RecordBatch> {
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["u0", "u1", "u2"]));
        let texts: ArrayRef = Arc::new(StringArray::from(TEXTS.to_vec()));
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
        let columns = [("id", ids), ("text", texts), ("number", numbers)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        vec![batch.clone(), batch]
    }

    fn file(batches: &[RecordBatch]) -> Vec<u8> {
        let codec = Some(CompressionType::LZ4_FRAME);
        let options = IpcWriteOptions::default()
            .try_with_compression(codec)
            .unwrap();
        let (mut out, schema) = (Vec::new(), batches[0].schema());
        let mut writer = FileWriter::try_new_with_options(&mut out, &schema, options).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        drop(writer);
        out
    }

    fn stream(batches: &[RecordBatch]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = StreamWriter::try_new(&mut out, &batches[0].schema()).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        drop(writer);
        out
    }

    #[test]
    fn files_and_streams_are_read() {
        let sandbox = Sandbox::new();
        let expected = expected(&sandbox, ["u0", "u1", "u2"]).repeat(2);
        sandbox.write("a.feather", file(&batches()));
        sandbox.write("b.arrow", stream(&batches()));
        sandbox.write("c", stream(&batches()));
        sandbox.write("d.arrow.gz", gzip(&file(&batches())));
        for name in ["a.feather", "b.arrow", "c", "d.arrow.gz"] {
            assert_eq!(fingerprinted(&sandbox, &[name]), expected, "{name}");
        }
        let ran = sandbox.pipe(&["fingerprint", "-"], &stream(&batches()));
        assert_eq!(ran.done().text(), expected);
        let whole = file(&batches());
        sandbox.write("e.feather", &whole[..whole.len() - 7]);
        let ran = sandbox.run(&["fingerprint", "e.feather"]);
        assert_eq!(
            (ran.code, &*ran.stderr),
            (Some(2), "simidx: e.feather: the Arrow file is cut off\n")
        );
    }

    #[test]
    fn what_is_kept_is_a_file_or_a_stream_as_before() {
        let sandbox = Sandbox::new();
        for bytes in [file(&batches()), stream(&batches())] {
            sandbox.write("a", bytes);
            let ran = sandbox.run(&["dedup", "a", "-o", "kept", "--force"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let is_file = sandbox.read("a").starts_with(b"ARROW1");
            let expected = match is_file {
                true => file(&batches()[..1]),
                false => stream(&batches()[..1]),
            };
            assert!(sandbox.read("kept") == expected, "{is_file}");
        }
    }
}
