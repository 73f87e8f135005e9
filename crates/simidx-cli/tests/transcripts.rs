//! Runs the transcripts in the README and the book command by command, and compares the output.
//!
//! A transcript is a fenced block of the language `console`. A line that starts with `$ ` is a command for `sh`; a line
//! that starts with `> ` continues a command that ends with `\`. The lines up to the next command are its output, both
//! streams together. A line `<!-- $ command -->` outside of a block is run and not shown. Every command must succeed.
//!
//! The commands of one document share a folder, which contains only `data` at the start. A line `...` matches any
//! lines, `[..]` any characters. Lines with times or memory are compared only by their labels.
//!
//! `SNAPSHOTS=overwrite` in the environment writes the current output into the documents.
#![cfg(unix)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::{Assert, Data};

/// Labels of lines whose figures differ from run to run.
const VOLATILE: [&str; 5] = [
    "latency in us ",
    "memory  ",
    "open  ",
    "queries a second ",
    "time  ",
];

/// Returns the folder with the README and the book.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().find(|folder| folder.join("book").is_dir());
    root.unwrap().to_owned()
}

/// Returns all documents for readers: these, and every page of the book.
fn documents() -> Vec<PathBuf> {
    let top = [
        "README.md",
        "book/README.zh.md",
        "book/ARCHITECTURE.md",
        ".github/CONTRIBUTING.md",
        ".github/SECURITY.md",
        "tools/release/RELEASE.md",
    ];
    let mut documents: Vec<PathBuf> = top.iter().map(|name| root().join(name)).collect();
    let mut folders = vec![root().join("book/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// A folder in which the commands of one document run.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root().join("data"), folder.path().join("data")).unwrap();
        Sandbox(folder)
    }

    /// Returns the output of a command.
    fn run(&self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_simidx"));
        let old = std::env::var("PATH").unwrap();
        let path = format!("{}:{old}", program.parent().unwrap().display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]);
        shell
            .current_dir(&self.0)
            .env("PATH", path)
            .env("LC_ALL", "C");
        let output = shell.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "$ {command}\n{text}");
        text
    }
}

/// Returns the label of a line whose figures are not compared.
fn volatile_label(line: &str) -> Option<&'static str> {
    VOLATILE.into_iter().find(|label| line.starts_with(label))
}

/// Adds the output of a command; figures of volatile lines are kept as the document shows them.
fn add_output(document: &mut String, output: &str, shown: &[&str]) {
    for (at, line) in output.lines().enumerate() {
        let label = volatile_label(line);
        let known = shown.iter().skip(at.saturating_sub(1)).copied();
        let same = |known: &&str| label.is_some() && volatile_label(known) == label;
        let line = known.take(3).find(same).unwrap_or(line);
        writeln!(document, "{line}").unwrap();
    }
}

/// Returns the document with the current output of its commands.
fn rerun(text: &str) -> String {
    let sandbox = Sandbox::new();
    let mut document = String::new();
    let mut lines = text.lines().peekable();
    let mut in_transcript = false;
    while let Some(line) = lines.next() {
        writeln!(document, "{line}").unwrap();
        if line.starts_with("```") {
            in_transcript = !in_transcript && line == "```console";
        } else if let Some(command) = line.strip_prefix("<!-- $ ") {
            sandbox.run(command.strip_suffix(" -->").unwrap());
        } else if in_transcript {
            let mut command = line.strip_prefix("$ ").unwrap().to_owned();
            while command.ends_with('\\') {
                let more = lines.next().unwrap();
                writeln!(document, "{more}").unwrap();
                write!(command, "\n{}", more.strip_prefix("> ").unwrap()).unwrap();
            }
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|l| !l.starts_with("$ ") && *l != "```") {
                shown.push(line);
            }
            add_output(&mut document, &sandbox.run(&command), &shown);
        }
    }
    document
}

#[test]
fn the_documents_show_what_the_program_prints() {
    let check = Assert::new()
        .action_env(DEFAULT_ACTION_ENV)
        .normalize_paths(false);
    let documents = documents();
    let with_transcripts = |path: &&PathBuf| {
        std::fs::read_to_string(path)
            .unwrap()
            .contains("\n```console\n")
    };
    let found: Vec<&PathBuf> = documents.iter().filter(with_transcripts).collect();
    assert!(found.len() > 8, "{found:?}");
    std::thread::scope(|scope| {
        for path in found {
            let check = &check;
            scope.spawn(move || {
                let text = std::fs::read_to_string(path).unwrap();
                check.eq(rerun(&text), Data::read_from(path, None));
            });
        }
    });
}

#[test]
fn other_output_is_noticed() {
    let text = "```console\n$ printf 'a\\nb\\n'\na\nc\ntime    1 s\n$ echo 'time    2 s'\ntime    1 s\n```\n";
    let now = "```console\n$ printf 'a\\nb\\n'\na\nb\n$ echo 'time    2 s'\ntime    1 s\n```\n";
    assert_eq!(rerun(text), now);
}

/// Returns the fragment of a link to a heading: letters, digits, hyphens and underscores.
fn fragment(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

/// Returns the headings of a document, as fragments.
fn fragments(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        in_block ^= line.starts_with("```");
        if !in_block && line.starts_with('#') {
            found.push(fragment(line.trim_start_matches('#')));
        }
    }
    found
}

#[test]
fn the_links_of_the_documents_lead_somewhere() {
    let mut count = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets.filter(|(target, _)| !target.contains("://")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() {
                path.clone()
            } else {
                path.parent().unwrap().join(file)
            };
            assert!(file.exists(), "{}: {target}", path.display());
            if !heading.is_empty() {
                let there = std::fs::read_to_string(&file).unwrap();
                let known = fragments(&there).iter().any(|known| known == heading);
                assert!(known, "{}: {target}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn every_page_is_in_the_summary() {
    let book = root().join("book/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    for path in documents() {
        let Ok(page) = path.strip_prefix(&book) else {
            continue;
        };
        let page = page.display().to_string();
        assert!(
            page == "SUMMARY.md" || summary.contains(&format!("]({page})")),
            "{page}"
        );
    }
}
