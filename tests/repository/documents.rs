//! The documents for readers of the code name files that exist.

use std::collections::BTreeSet;
use std::process::Command;

use simidx::format::FORMAT_VERSION;
use simidx_testkit::document::root;
use simidx_testkit::manifest::{self, Expect};

/// The files that git tracks.
fn tracked() -> Vec<String> {
    let mut command = Command::new("git");
    command.args(["ls-files"]).current_dir(root());
    let output = command.output().expect("git is here");
    let names = String::from_utf8(output.stdout).expect("names are UTF-8");
    names.lines().map(str::to_owned).collect()
}

#[test]
fn the_top_of_the_repository_can_be_read_at_a_glance() {
    let tracked = tracked();
    let top: BTreeSet<&str> = tracked
        .iter()
        .filter_map(|file| file.split('/').next())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert!(top.len() <= 18, "{top:?}");
}

/// Returns everything in code marks in a document, outside of code blocks.
fn code_spans(text: &str) -> BTreeSet<&str> {
    let mut spans = BTreeSet::new();
    for block in text.split("```").step_by(2) {
        spans.extend(block.split('`').skip(1).step_by(2));
    }
    spans
}

#[test]
fn documents_count_the_test_files_right() {
    let entries = manifest::read(&manifest::folder(FORMAT_VERSION));
    let good = entries.iter().filter(|entry| entry.expect == Expect::Good);
    let (all, good) = (entries.len(), good.count());
    let others = all - good;
    for (document, sentence) in [
        ("README.md", format!(" {all} [test files]")),
        (
            "book/src/hardening.md",
            format!(" {good} valid files with their contents and {others} invalid"),
        ),
    ] {
        let text = std::fs::read_to_string(root().join(document)).expect(document);
        assert!(
            text.contains(&sentence),
            "{document} does not say{sentence}"
        );
    }
}

#[test]
fn files_named_in_documents_exist() {
    let root = root();
    let tracked = tracked();
    let mut checked = 0;
    for document in [
        "book/ARCHITECTURE.md",
        ".github/CONTRIBUTING.md",
        "book/src/hardening.md",
    ] {
        let text = std::fs::read_to_string(root.join(document)).expect(document);
        for span in code_spans(&text) {
            let is_path = [
                "src/",
                "crates/",
                "bindings/",
                "tests/",
                "tools/",
                "benches/",
                "examples/",
            ]
            .iter()
            .any(|folder| span.starts_with(folder));
            if is_path && !span.contains([' ', '*', '{']) {
                assert!(root.join(span).exists(), "{document}: {span}");
                checked += 1;
            } else if span.ends_with(".rs") && !span.contains([' ', '*', '{']) {
                let name = format!("/{span}");
                let is_there = tracked.iter().any(|file| file.ends_with(&name));
                assert!(is_there, "{document}: {span}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked} names");
}

#[test]
fn unsafe_code_is_in_the_table_of_the_book() {
    let text = std::fs::read_to_string(root().join("book/src/hardening.md")).unwrap();
    let table = text.split_once("## Unsafe code").unwrap().1;
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let places: BTreeSet<&str> = rows
        .flat_map(|row| code_spans(row.split(" | ").next().unwrap()))
        .collect();
    let mut files = tracked();
    files.retain(|file| {
        let is_product = ["src/", "crates/", "bindings/"]
            .iter()
            .any(|folder| file.starts_with(folder))
            && !file.starts_with("crates/simidx-testkit/")
            && file.ends_with(".rs");
        let has_some = |text: String| text.contains("unsafe {") || text.contains("unsafe impl");
        is_product && has_some(std::fs::read_to_string(root().join(file)).unwrap())
    });
    for file in &files {
        assert!(places.iter().any(|place| file.starts_with(place)), "{file}");
    }
    for place in places {
        assert!(files.iter().any(|file| file.starts_with(place)), "{place}");
    }
}

/// Beginnings of phrases that the style in `.github/CONTRIBUTING.md` replaces by plainer ones.
const AVOIDED: &str = "What |it is no |they are no |that is none|so many|beside|tells of|told of|stand in for|\
                       stands in|stands for|Whoever|whoever|lest |be it |Those of both|at the most|the day before";

#[test]
fn documents_avoid_phrases() {
    let excepted = ["book/src/reference/commands.md: stands for"];
    // The specifications define what a symbol stands for; the style itself shows the phrases.
    let left_out = ["book/spec/", "format-spec.md", ".github/CONTRIBUTING.md"];
    let is_read = |name: &&String| {
        name.ends_with(".md") && !left_out.iter().any(|start| name.starts_with(start))
    };
    let tracked = tracked();
    let documents: Vec<&String> = tracked.iter().filter(is_read).collect();
    assert!(documents.len() > 50, "{documents:?}");
    for document in documents {
        let text = std::fs::read_to_string(root().join(document)).expect(document);
        let lines = text.split("```").step_by(2).flat_map(str::lines);
        let prose: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
        let prose = format!(" {}", prose.join(" "));
        for phrase in AVOIDED.split('|') {
            let place = format!("{document}: {phrase}");
            let is_avoided = !prose.contains(&format!(" {phrase}"));
            assert!(is_avoided || excepted.contains(&place.as_str()), "{place}");
        }
    }
}
