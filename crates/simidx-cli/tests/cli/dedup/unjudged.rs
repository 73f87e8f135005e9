//! Records that cannot be judged: kept or dropped, and counted.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn they_are_kept_unless_they_are_to_be_dropped() {
    let sandbox = Sandbox::new();
    let lines = "ff00\nx\nff01\n\ny y\n1234567800\nff03\nz\n";
    sandbox.write("a.hex", lines);
    sandbox.run(&["dedup", "a.hex", "-o", "kept"]).refusal();
    assert_eq!(sandbox.names(), ["a.hex"]);
    let args = ["dedup", "a.hex", "-o", "kept", "--json", "--report", "r"];
    for (action, kept, count) in [
        ("keep", "ff00\nx\ny y\n1234567800\nz\n", 3),
        ("skip", "ff00\nx\ny y\n1234567800\nz\n", 3),
        ("drop", "ff00\n1234567800\n", 0),
    ] {
        let more = ["--on-error", action, "--force"];
        let ran = sandbox.run(&[&args[..], &more].concat());
        let found = ran.json();
        assert_eq!(
            (&found["skipped"], &found["skipped_kept"]),
            (&json!(3), &json!(count))
        );
        assert_eq!(
            (&found["documents"], &found["kept"]),
            (&json!(4), &json!(2))
        );
        assert_eq!(String::from_utf8(sandbox.read("kept")).unwrap(), kept);
        let words = match action {
            "drop" => "simidx: skipped 3 records\n",
            _ => "simidx: 3 records not judged\n",
        };
        assert!(ran.stderr.contains(words), "{ran:?}");
        assert_eq!(sandbox.read("r"), b"2\t0\t1\tinput\t0\n5\t0\t2\tinput\t0\n");
    }
    let ran = sandbox.run(&["dedup", "a.hex", "-o", "kept", "--on-error", "no"]);
    assert!(
        ran.refusal()
            .contains("[possible values: stop, keep, drop]"),
        "{ran:?}"
    );
}

#[test]
fn the_figures_say_what_became_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"text\":null}\n{\"text\":\"a b\"}\n{}\n{\"text\":\"a b\"}\n",
    );
    for (action, row) in [("keep", "2, kept"), ("drop", "2, left out")] {
        let args = [
            "dedup",
            "a.jsonl",
            "-o",
            "kept",
            "--force",
            "--on-error",
            action,
        ];
        let ran = sandbox.run(&args);
        let row = format!("\nnot judged              {row}\n");
        assert!(ran.code == Some(0) && ran.stderr.contains(&row), "{ran:?}");
    }
    // A row without an end cannot be copied either.
    sandbox.write("a.csv", "id,text\n1,a b\n2\n3,\"never");
    let ran = sandbox.run(&["dedup", "a.csv", "-o", "k.csv", "--on-error", "keep"]);
    assert!(
        ran.stderr
            .contains("\nnot judged              2, 1 of them kept\n"),
        "{ran:?}"
    );
    assert_eq!(sandbox.read("k.csv"), b"id,text\n1,a b\n2\n");
}

#[test]
fn rows_without_a_text_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("a.tsv", "id\ttext\n1\tone two\n\n2\n3\tone two\n");
    let args = ["dedup", "a.tsv", "--text-field", "text", "-o", "kept.tsv"];
    let more = ["--annotate", "--on-error", "keep"];
    let ran = sandbox.run(&[&args[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = "id\ttext\tduplicate_of\tcluster\tsimilarity\n1\tone two\t\t0\t\n2\n3\tone two\t1\t0\t1.0\n";
    assert_eq!(
        String::from_utf8(sandbox.read("kept.tsv")).unwrap(),
        expected
    );
}
