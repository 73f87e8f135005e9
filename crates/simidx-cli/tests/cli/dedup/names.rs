//! The extensions of outputs: contradictory formats are refused.

use super::done;
use crate::support::{Sandbox, gzip, hex, parquet};

#[test]
fn a_name_that_says_something_else_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\":\"one\"}\n");
    sandbox.write("a.hex", hex(&[1]));
    sandbox.write("a.jsonl.xz", "{\"text\":\"one\"}\n");
    sandbox.write("a.txt.gz", gzip(b"one\n"));
    sandbox.write("a.parquet", parquet("{\"text\":\"one\"}\n", &["text"]));
    let before = sandbox.names();
    for (args, message) in [
        (
            "a.parquet -o kept.jsonl",
            "kept.jsonl: its name says jsonl, but the records are parquet; name it .parquet, and convert it then, for example with DuckDB",
        ),
        (
            "a.jsonl -o kept.csv",
            "kept.csv: its name says csv, but the records are jsonl; name it .jsonl, and convert it then, for example with DuckDB",
        ),
        (
            "a.jsonl -o kept.CSV.gz",
            "kept.CSV.gz: its name says csv, but the records are jsonl; name it .jsonl, and convert it then, for example with DuckDB",
        ),
        (
            "a.jsonl -o kept.html",
            "kept.html: its name says html, but the records are jsonl; give it another extension",
        ),
        (
            "a.hex -o kept.jsonl",
            "kept.jsonl: its name says jsonl, but the records are hex; give it another extension",
        ),
        (
            "a.txt.gz --input lines -o kept.txt.xz",
            "kept.txt.xz: .xz cannot be written; use .gz, .zst or no compression",
        ),
        (
            "a.jsonl.xz --output-dir out",
            "out/a.jsonl.xz: .xz cannot be written; compress the input by gzip or zstd, or name one output with -o",
        ),
        (
            "a.parquet -o kept.parquet.gz",
            "kept.parquet.gz: a Parquet file is compressed inside and not as a whole",
        ),
        (
            "a.hex -o kept --report r.arrow",
            "r.arrow: a report ends in .html, .tsv, .csv, .jsonl, each also with .gz or .zst, or .parquet",
        ),
        (
            "a.hex -o kept --report r.tsv.xz",
            "r.tsv.xz: a report ends in .html, .tsv, .csv, .jsonl, each also with .gz or .zst, or .parquet",
        ),
        (
            "a.hex -o kept --report r.parquet.gz",
            "r.parquet.gz: a report ends in .html, .tsv, .csv, .jsonl, each also with .gz or .zst, or .parquet",
        ),
        (
            "a.parquet --dry-run -o kept.csv",
            "kept.csv: its name says csv, but the records are parquet; name it .parquet, and convert it then, for example with DuckDB",
        ),
    ] {
        let args: Vec<&str> = ["dedup"].into_iter().chain(args.split(' ')).collect();
        sandbox.run(&args).refused(message);
        assert_eq!(sandbox.names(), before);
    }
}

#[test]
fn other_names_say_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\":\"one\"}\n");
    sandbox.write("a.hex", hex(&[1]));
    sandbox.write("a.json", "{\"text\":\"one\"}\n");
    sandbox.write("a.csv", "one\n");
    for args in [
        "a.jsonl -o kept.lst",
        "a.jsonl -o kept.json",
        "a.jsonl -o kept",
        "a.jsonl -o kept.NDJSON.zst",
        "a.hex -o kept.tsv",
        "a.hex -o kept.txt",
        // The extension is that of the input, which may be read in any format.
        "--input lines a.csv -o kept.csv",
        "--input jsonl a.json -o kept.json",
    ] {
        let args: Vec<&str> = ["dedup", "--force"]
            .into_iter()
            .chain(args.split(' '))
            .collect();
        done(sandbox.run(&args));
    }
}
