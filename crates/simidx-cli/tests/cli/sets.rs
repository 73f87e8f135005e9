//! Sets of index files: a folder with a manifest instead of the listed files.

use simidx::set::Manifest;

use crate::support::{Sandbox, hex, sample};

/// Returns a sandbox with two index files and a manifest in `set`, and one file with all their records.
fn published() -> Sandbox {
    let sandbox = Sandbox::new();
    let values = sample(400);
    let folder = sandbox.path("set");
    std::fs::create_dir(&folder).unwrap();
    let mut manifest = Manifest::default();
    for (name, part) in [
        ("set/a.simidx", &values[..250]),
        ("set/b.simidx", &values[150..]),
    ] {
        sandbox.write("input", hex(part));
        sandbox.run(&["build", "input", "-o", name]).done();
        manifest.add_file(&folder, &name[4..]).unwrap();
    }
    manifest.publish(&folder).unwrap();
    sandbox
}

#[test]
fn commands_take_a_set_as_its_files() {
    let sandbox = published();
    let queries = hex(&sample(400)[..50]);
    for command in [
        &["query"][..],
        &["query", "--no-mmap", "--json"],
        &["dump"],
        &["dump", "--json"],
        &["pairs", "-k", "9"],
        &["clusters", "-k", "9"],
        &["info"],
        &["verify"],
    ] {
        let answer = |files: &[&str]| {
            let (name, rest) = command.split_first().unwrap();
            let run = sandbox.pipe(&[&[*name], files, rest].concat(), &queries);
            (run.code, run.stdout)
        };
        let expected = answer(&["set/a.simidx", "set/b.simidx"]);
        assert!(!expected.1.is_empty(), "{command:?}");
        assert_eq!(answer(&["set"]), expected, "{command:?}");
        assert_eq!(
            answer(&["set/manifest.simidx-set"]),
            expected,
            "{command:?}"
        );
    }
    sandbox.write("queries", &queries);
    let join = |files: &[&str]| {
        sandbox
            .run(&[&["join"], files, &["queries"]].concat())
            .done()
            .stdout
    };
    assert_eq!(join(&["set"]), join(&["set/a.simidx", "set/b.simidx"]));
    sandbox.run(&["merge", "set", "-o", "one.simidx"]).done();
    sandbox.run(&["bench", "set", "--count", "100"]).done();
    sandbox.run(&["report", "set", "-o", "page.html"]).done();
    let found = sandbox
        .pipe(&["query", "one.simidx", "set"], &queries)
        .done();
    let expected = sandbox.pipe(&["query", "one.simidx"], &queries).done();
    assert_eq!(found.stdout, expected.stdout);
}

#[test]
fn no_file_of_a_set_is_replaced() {
    let sandbox = published();
    for output in ["set/a.simidx", "set/manifest.simidx-set"] {
        let run = sandbox.run(&["merge", "set", "-o", output, "--force"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("is an input"), "{}", run.stderr);
    }
}

#[test]
fn damaged_sets_are_refused() {
    let sandbox = published();
    let path = sandbox.path("set/manifest.simidx-set");
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replace("a.simidx", "c.simidx")).unwrap();
    let run = sandbox.run(&["query", "set", "beef"]);
    assert_eq!(run.code, Some(2));
    let message = "set/manifest.simidx-set: damaged set: its checksum is wrong, or it is cut short";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    let run = sandbox.run(&["verify", "set", "--json"]);
    assert_eq!(run.code, Some(1));
    let verdict = run.json();
    assert_eq!(verdict["sound"], false, "{verdict}");
    let segment = verdict["segments"][0].as_object().unwrap();
    assert_eq!(segment["path"], "set", "{verdict}");
    assert!(segment["error"].is_string() && segment.len() == 2);

    std::fs::write(&path, good).unwrap();
    sandbox.write("input", "beef\n");
    sandbox
        .run(&["build", "input", "-o", "set/b.simidx", "--force"])
        .done();
    let run = sandbox.run(&["dump", "set"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("b.simidx is not the file that is listed"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["verify", "set"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .contains("b.simidx is not the file that is listed"),
        "{}",
        run.stderr
    );
}
