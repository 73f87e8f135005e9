//! Outputs: complete or absent, and never over an input.

use super::done;
use crate::support::{Ran, Sandbox, gzip, hex};

/// While the program waits for its full output pipe, the second file is changed.
#[cfg(unix)]
#[test]
fn a_file_that_changes_between_passes_is_found() {
    use std::io::Read;
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    // The kept records exceed the pipe, so that the program is still copying when the second file has changed.
    let values: Vec<u64> = (0..200_000u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    sandbox.write("a.hex", hex(&values));
    sandbox.write("b.hex", "1\n");
    let mut command = sandbox.command(&["dedup", "a.hex", "b.hex", "-o", "-", "-k", "0"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    sandbox.write("b.hex", "1\n2\n");
    stdout.read_to_end(&mut Vec::new()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "simidx: b.hex: has changed while it was read\n");
}

#[test]
fn errors_are_told_and_leave_nothing() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&[1, 2])), &[]);
    sandbox.write("a.jsonl", "{\"text\":\"one\"}\n");
    sandbox.write("f.jsonl", "{\"fingerprint\":\"1\"}\n");
    sandbox.write("a.le", [0; 16]);
    sandbox.write("old", "old");
    sandbox
        .run(&[
            "build",
            "a.jsonl",
            "-o",
            "t.simidx",
            "--pipeline",
            "web,segment=chars:3",
        ])
        .done();
    sandbox
        .run(&["build", "a.hex", "-o", "w.simidx", "--width", "128"])
        .done();
    let before = sandbox.names();
    let refused = |args: &str, message: &str| {
        let args: Vec<&str> = ["dedup"].into_iter().chain(args.split(' ')).collect();
        sandbox.run(&args).refused(message);
        assert_eq!(sandbox.names(), before);
        assert_eq!(sandbox.read("old"), b"old");
    };
    refused(
        "a.le -o out",
        "a.le: records of the format le cannot be copied one by one",
    );
    refused(
        "a.hex a.jsonl -o out",
        "a.jsonl: is read as jsonl and cannot go into one output with inputs read as hex; use --output-dir",
    );
    refused(
        "a.hex -o old",
        "old: already exists; use --force to replace it",
    );
    refused(
        "a.hex -o out --report old",
        "old: already exists; use --force to replace it",
    );
    refused(
        "a.hex -o out --report out",
        "out: is named twice, by -o and --report",
    );
    refused(
        "a.hex -o out --report ./out --force",
        "./out: is named twice, by -o and --report",
    );
    refused(
        "a.hex -o - --json",
        "--json needs standard output; name a file with -o",
    );
    refused(
        "a.hex -o out --keep longest",
        "a.hex:1: has no text, which --keep longest needs",
    );
    refused(
        "a.hex -o out --against w.simidx",
        "w.simidx: holds 128-bit fingerprints; say --width 128",
    );
    refused(
        "a.jsonl -o out --against t.simidx",
        "a.jsonl:1: t.simidx was built with another pipeline; `simidx info` shows it",
    );
    let ran = sandbox.run(&["dedup", "a.hex", "-o", "out", "--memory", "1MiB"]);
    assert!(ran.refusal().contains("raise --memory"), "{ran:?}");
    let ran = sandbox.run(&["dedup", "a.hex"]);
    assert!(ran.refusal().contains("--output"), "{ran:?}");
    assert_eq!(sandbox.names(), before);
}

fn write_shards(sandbox: &Sandbox) {
    for folder in ["in/y=1", "in/y=2"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("in/y=1/p.jsonl", "{\"text\":\"a b\"}\n{\"text\":\"c d\"}\n");
    let lines = "{\"text\":\"A b\"}\n{\"text\":\"e f\"}\n";
    sandbox.write("in/y=2/p.jsonl.gz", gzip(lines.as_bytes()));
    sandbox.write("in/y=2/q.jsonl", "{\"text\":\"c, d\"}\n");
}

/// Returns the contents of the folder `out`.
fn shards(sandbox: &Sandbox) -> [String; 3] {
    [
        "cat out/y=1/p.jsonl",
        "zcat out/y=2/p.jsonl.gz",
        "cat out/y=2/q.jsonl",
    ]
    .map(|script| {
        let ran = sandbox.shell(script, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.text().to_owned()
    })
}

#[test]
fn each_input_may_have_an_output() {
    let sandbox = Sandbox::new();
    write_shards(&sandbox);
    let args = ["dedup", "in/*/*", "--output-dir", "out", "--report", "r"];
    done(sandbox.run(&args));
    let kept = [
        "{\"text\":\"a b\"}\n{\"text\":\"c d\"}\n",
        "{\"text\":\"e f\"}\n",
        "",
    ];
    assert_eq!(shards(&sandbox), kept);
    assert_eq!(sandbox.names(), ["in", "out", "r"]);
    assert_eq!(
        sandbox.read("r"),
        b"2\t0\t\tinput\t0\t1.0000\n4\t1\t\tinput\t1\t1.0000\n"
    );
    let message = "out/y=1/p.jsonl: already exists; use --force to replace it";
    sandbox
        .run(&["dedup", "in/*/*", "--output-dir", "out"])
        .refused(message);
    // Into an existing folder, over existing files; files that are not outputs remain.
    sandbox.write("out/y=1/p.jsonl", "old");
    sandbox.write("out/other", "mine");
    std::fs::remove_file(sandbox.path("out/y=2/q.jsonl")).unwrap();
    let args = [
        "dedup",
        "in/*/*",
        "--output-dir",
        "out",
        "--force",
        "--annotate",
    ];
    done(sandbox.run(&args));
    let found = shards(&sandbox);
    assert!(
        found[2].ends_with(",\"duplicate_of\":1,\"cluster\":1,\"similarity\":1.0}\n"),
        "{found:?}"
    );
    assert_eq!(sandbox.read("out/other"), b"mine");
    let names = std::fs::read_dir(sandbox.path("out")).unwrap();
    assert_eq!(names.count(), 3);
    // Without a common folder of the inputs except their own.
    done(sandbox.run(&["dedup", "in/y=2/q.jsonl", "--output-dir", "flat"]));
    assert_eq!(sandbox.read("flat/q.jsonl"), b"{\"text\":\"c, d\"}\n");
}

#[test]
fn a_folder_of_outputs_appears_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    write_shards(&sandbox);
    // The last of the inputs cannot be read to its end.
    sandbox.write("in/y=2/q.jsonl", "no JSON\n");
    let args = ["dedup", "in/*/*", "--output-dir", "out"];
    sandbox
        .run(&args)
        .refused("in/y=2/q.jsonl:1: not JSON: expected ident at column 2");
    let all = [
        "in/*/*",
        "--output-dir",
        "out",
        "--annotate",
        "--on-error",
        "keep",
    ];
    // A record that already has a new field is detected only after the first files have been written.
    sandbox.write("in/y=2/q.jsonl", "{\"text\":\"x\",\"cluster\":1}\n");
    let ran = sandbox.run(&[&["dedup"][..], &all].concat());
    assert!(
        ran.refusal().starts_with("in/y=2/q.jsonl:1: has a field"),
        "{ran:?}"
    );
    assert_eq!(sandbox.names(), ["in"]);
    std::fs::create_dir(sandbox.path("out")).unwrap();
    sandbox.run(&[&["dedup"][..], &all].concat()).refusal();
    assert_eq!(std::fs::read_dir(sandbox.path("out")).unwrap().count(), 0);
}

#[test]
fn what_has_no_name_has_no_place_in_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&[1]));
    sandbox.write("b.tsv", hex(&[1]));
    sandbox.write("file", "");
    std::fs::create_dir(sandbox.path("d")).unwrap();
    sandbox.write("d/x", "one");
    for (args, message) in [
        (
            "- --output-dir out",
            "-: has no name for a file in --output-dir; use -o",
        ),
        (
            "d --output-dir out",
            "d: has no name for a file in --output-dir; use -o",
        ),
        ("a.hex ./a.hex --output-dir out", "./a.hex: is named twice"),
        ("a.hex --output-dir file", "file: is not a directory"),
        (
            "a.hex --output-dir no/out",
            "no/out: its directory does not exist",
        ),
        (
            "a.hex --output-dir . --force",
            "./a.hex: is an input, and no input is replaced; name another output",
        ),
        (
            "b.tsv --output-dir out --report out/b.tsv",
            "out/b.tsv: its directory does not exist",
        ),
        (
            "b.tsv --output-dir d --report d/b.tsv",
            "d/b.tsv: is named twice, by --output-dir and --report",
        ),
    ] {
        let args: Vec<&str> = ["dedup"].into_iter().chain(args.split(' ')).collect();
        sandbox.run(&args).refused(message);
        assert_eq!(sandbox.names(), ["a.hex", "b.tsv", "d", "file"]);
    }
    let ran = sandbox.run(&["dedup", "a.hex", "-o", "k", "--output-dir", "out"]);
    assert!(ran.refusal().contains("cannot be used with"), "{ran:?}");
}

#[test]
fn a_dry_run_writes_the_report_only() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hex", hex(&[0xff00, 0xff01, 1 << 40]));
    let args = ["dedup", "a.hex", "--dry-run", "--report", "r.tsv"];
    let ran = done(sandbox.run(&args));
    assert!(
        ran.stderr.contains("\ndropped                 1\n"),
        "{ran:?}"
    );
    assert_eq!(sandbox.names(), ["a.hex", "r.tsv"]);
    assert_eq!(sandbox.read("r.tsv"), b"1\t0\t1\tinput\t0\n");
    let ran = sandbox
        .run(&["dedup", "a.hex", "--dry-run", "-o", "kept", "--json"])
        .done();
    assert_eq!(ran.json()["kept"], 2);
    let ran = sandbox.run(&["dedup", "a.hex", "--dry-run", "--report", "-"]);
    assert_eq!(done(ran).text(), "1\t0\t1\tinput\t0\n");
    assert_eq!(sandbox.names(), ["a.hex", "r.tsv"]);
}

#[test]
fn an_output_in_the_input_folder_is_no_input() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("d/sub")).unwrap();
    sandbox.write("d/a", "one two");
    sandbox.write("d/sub/b", "three");
    let outside = "and would be an input of the next run; name a place outside";
    let message = format!("d/sub/kept: is in the input folder d, {outside}");
    sandbox
        .run(&["dedup", "d", "-o", "d/sub/kept"])
        .refused(&message);
    let message = format!("d/r: is in the input folder ./d/, {outside}");
    sandbox
        .run(&["dedup", "./d/", "-o", "kept", "--report", "d/r"])
        .refused(&message);
    let of = "where no file is replaced; name another output";
    let message = format!("d/sub/b: is in the input folder d, {of}");
    sandbox
        .run(&["dedup", "d", "-o", "d/sub/b", "--force"])
        .refused(&message);
    sandbox
        .run(&["build", "d", "-o", "d/sub/b", "--force"])
        .refused(&message);
    assert_eq!(sandbox.read("d/sub/b"), b"three");
    // The same in a folder that represents its shards.
    std::fs::create_dir_all(sandbox.path("shards/sub")).unwrap();
    sandbox.write("shards/sub/a.jsonl", "{\"text\":\"one\"}\n");
    let shards = |args: [&str; 2], name: &str, folder: &str| {
        let args = [&["dedup", folder], &args[..]].concat();
        let message = format!("{name}: is in the input folder {folder}, {outside}");
        sandbox.run(&args).refused(&message);
    };
    shards(["--output-dir", "shards/kept"], "shards/kept", "shards");
    shards(["--output-dir", "shards/sub"], "shards/sub", "./shards/");
    shards(["-o", "shards/kept.jsonl"], "shards/kept.jsonl", "shards");
    assert_eq!(sandbox.names(), ["d", "shards"]);
    done(sandbox.run(&["dedup", "shards", "--output-dir", "kept"]));
    assert_eq!(sandbox.names(), ["d", "kept", "shards"]);
}

#[test]
fn inputs_of_several_formats_need_no_common_output() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "id,text\nx,one two\ny,three\n");
    sandbox.write(
        "b.jsonl",
        "{\"id\": \"z\", \"text\": \"one two\"}\n{\"id\":7, \"text\":\"four\"}",
    );
    sandbox.write("c.csv", "text;id\nThree;u\nfive;v\n");
    let inputs = ["dedup", "a.csv", "b.jsonl", "c.csv"];
    let run = |more: &[&str]| sandbox.run(&[&inputs[..], more].concat());
    run(&["-o", "kept.csv"]).refused(
        "b.jsonl: is read as jsonl and cannot go into one output with inputs read as csv; use --output-dir",
    );
    done(run(&["--dry-run", "--report", "r.tsv"]));
    assert_eq!(
        sandbox.read("r.tsv"),
        b"z\tx\t\tinput\t0\t1.0000\nu\ty\t\tinput\t1\t1.0000\n"
    );
    // Each is unchanged, except for the end of its last line.
    done(run(&["--output-dir", "out"]));
    let kept = ["a.csv", "b.jsonl", "c.csv"].map(|name| sandbox.read(&format!("out/{name}")));
    assert_eq!(kept[0], b"id,text\nx,one two\ny,three\n");
    assert_eq!(kept[1], b"{\"id\":7, \"text\":\"four\"}");
    assert_eq!(kept[2], b"text;id\nfive;v\n");
    done(run(&["--output-dir", "notes", "--annotate"]));
    let noted = |name: &str| String::from_utf8(sandbox.read(&format!("notes/{name}"))).unwrap();
    assert_eq!(
        noted("a.csv"),
        "id,text,duplicate_of,cluster,similarity\nx,one two,,0,\ny,three,,1,\n"
    );
    assert_eq!(
        noted("b.jsonl"),
        "{\"id\": \"z\", \"text\": \"one two\",\"duplicate_of\":\"x\",\"cluster\":0,\"similarity\":1.0}\n\
         {\"id\":7, \"text\":\"four\",\"duplicate_of\":null,\"cluster\":null,\"similarity\":null}"
    );
    assert_eq!(
        noted("c.csv"),
        "text;id;duplicate_of;cluster;similarity\nThree;u;y;1;1.0\nfive;v;;;\n"
    );
}

#[test]
fn ids_that_are_none_leave_their_documents_in() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"id\":-5,\"text\":\"one two\"}\n{\"id\":null,\"text\":\"One two\"}\n{\"id\":\"x\",\"text\":\"one, two\"}\n",
    );
    let ran = sandbox.run(&["dedup", "a.jsonl", "-o", "kept", "--report", "r.tsv"]);
    let warning = "simidx: 2 records have unusable ids; their positions are used instead (first: a.jsonl:1: \
                   \"id\" is neither a string nor an unsigned integer below 2^64)\n";
    assert!(
        ran.code == Some(0) && ran.stderr.contains(warning),
        "{ran:?}"
    );
    assert_eq!(sandbox.read("kept"), b"{\"id\":-5,\"text\":\"one two\"}\n");
    assert_eq!(
        sandbox.read("r.tsv"),
        b"1\t0\t\tinput\t0\t1.0000\nx\t0\t\tinput\t0\t1.0000\n"
    );
    // If ids are requested, they must still be correct.
    sandbox
        .run(&["build", "a.jsonl", "-o", "a.simidx"])
        .refusal();
}

#[test]
fn the_folder_of_temporary_files_must_be_there() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"id\":1,\"text\":\"one two\"}\n");
    let build = ["build", "a.jsonl", "-o", "a.simidx"];
    sandbox.run(&build).done();
    let message = "invalid value 'nowhere' for '--temp-dir <DIR>': No such file or directory (os error 2); see --help";
    for args in [
        "dedup a.jsonl --dry-run",
        "pairs a.jsonl --similarity 0.8",
        "clusters a.jsonl --similarity 0.8",
        "join a.simidx a.jsonl",
        "report a.simidx -o a.html",
        "merge a.simidx -o b.simidx",
    ] {
        let args: Vec<&str> = args.split(' ').chain(["--temp-dir", "nowhere"]).collect();
        sandbox.run(&args).refused(message);
    }
    // None is needed for data that fits.
    let mut command = sandbox.command(&["dedup", "a.jsonl", "-o", "kept"]);
    command.env("TMPDIR", "/nowhere");
    done(crate::support::Ran::of(command.output().unwrap()));
}

#[test]
fn an_input_that_stands_after_against_is_told_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"id\":1,\"text\":\"one two\"}\n");
    sandbox.write("cut.simidx", "SIM");
    sandbox
        .run(&["build", "a.jsonl", "-o", "not a simidx file"])
        .done();
    let dedup = |against: &[&str]| {
        let args = ["dedup", "a.jsonl", "--dry-run", "-k", "3", "--against"];
        sandbox.run(&[&args, against].concat())
    };
    dedup(&["not a simidx file", "a.jsonl"])
        .refused("a.jsonl: not a simidx file; inputs stand before --against");
    // The user means these as indexes, whatever their names are.
    for index in ["cut.simidx", "no not a simidx file"] {
        let ran = dedup(&["not a simidx file", index]);
        let refusal = ran.refusal();
        assert!(refusal.starts_with(index), "{ran:?}");
        assert!(!refusal.contains("--against"), "{ran:?}");
    }
}
