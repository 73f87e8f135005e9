//! The program on every file of the corpus: exit codes, rules, contents.

use std::collections::HashMap;
use std::process::{Command, Output};

use simidx::format::{FORMAT_VERSION, FormatClass};
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::crc32;
use simidx_testkit::forged::{put_stranger, small};
use simidx_testkit::manifest::{self, Stage};
use simidx_testkit::thorough;

use crate::support::PROGRAM;

fn run(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the numbers of the rules that a message names: `(rule V21, table 0)` or `(rule V2)`.
fn told_rules(message: &str) -> Vec<u8> {
    let rules = message.split("(rule V").skip(1);
    let number = |rest: &str| rest.split([',', ')']).next()?.parse().ok();
    rules
        .map(|rest| number(rest).expect("the number of a rule"))
        .collect()
}

/// `verify` returns 0, 1 or 2 and names the rule, as does a dump of the table that reveals it. Except before a release, two
/// files are enough of those that break the same rule at the same stage: one of them is mapped.
#[test]
fn the_program_says_about_every_file_what_the_manifest_says() {
    let folder = manifest::folder(FORMAT_VERSION);
    let mut met = HashMap::new();
    for entry in manifest::read(&folder) {
        let alike: &mut usize = met.entry(format!("{:?}", entry.broken)).or_default();
        *alike += 1;
        if entry.broken.is_some() && *alike > thorough(usize::MAX, 2) {
            continue;
        }
        let path = folder.join(&entry.file);
        let path = path.to_str().unwrap();
        let mapping = ["--no-mmap"];
        let how = &mapping[..*alike % 2];
        let checked = run(&[&["verify", path][..], how].concat());
        let what = format!("{}: {checked:?}", entry.file);
        let dumped = run(&[&["dump", path][..], how].concat());
        let Some(broken) = entry.broken else {
            assert_eq!(checked.status.code(), Some(0), "{what}");
            assert_eq!(dumped.status.code(), Some(0), "{what}");
            assert_eq!(Some(crc32(&dumped.stdout)), entry.contents_crc32, "{what}");
            continue;
        };
        let (status, message) = match broken.class {
            FormatClass::Damaged => (1, text(&checked.stdout)),
            _ => (2, text(&checked.stderr)),
        };
        assert_eq!(checked.status.code(), Some(status), "{what}");
        let first = message.lines().next().unwrap();
        assert_eq!(told_rules(first), [broken.rule], "{what}");
        let dump = |table: usize| run(&["dump", path, "--table", &table.to_string()]);
        let refused = |ran: &Output| {
            let message = text(&ran.stderr);
            let one_line = message.lines().count() == 1;
            ran.status.code() == Some(2) && one_line && told_rules(message) == [broken.rule]
        };
        match broken.stage {
            Stage::Open => assert!(refused(&dumped) && dumped.stdout.is_empty(), "{dumped:?}"),
            Stage::Query => {
                // The dump of table 0 is there already.
                let any =
                    refused(&dumped) || (1..entry.table_count).any(|table| refused(&dump(table)));
                // A dump reads the ids in their order, without a look-up of their groups.
                let lines = text(&dumped.stdout).lines();
                let words = lines.filter_map(|line| line.split('\t').next());
                let query: Vec<&str> = ["query", path, "-k", "0"]
                    .into_iter()
                    .chain(words)
                    .collect();
                let found = any || refused(&run(&query));
                assert!(found, "{}", entry.file);
            }
            Stage::Verify => assert_eq!(dumped.status.code(), Some(0), "{dumped:?}"),
        }
    }
}

#[test]
fn the_program_gives_no_answer_with_such_a_fingerprint() {
    let records: Vec<(u64, u64)> = simidx_testkit::uniform(3000).into_iter().zip(0..).collect();
    let mut editor = Editor::new(simidx_testkit::build_numbers(small(), &records));
    let forged = put_stranger(&mut editor);
    let file = editor.finish();
    let index = simidx_testkit::open::<u64>(file.clone());
    assert!(index.plan(1).best().is_some(), "so many are not scanned");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.simidx");
    std::fs::write(&path, &file).unwrap();
    for json in [&[][..], &["--json"]] {
        let ran = Command::new(PROGRAM)
            .arg("query")
            .arg(&path)
            .arg(format!("{forged:016x}"))
            .args(json)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let message = String::from_utf8(ran.stderr).unwrap();
        assert!(message.contains("V36"), "{message}");
        assert!(ran.stdout.is_empty());
    }
}
