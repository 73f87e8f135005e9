//! Every rule of the specification is numbered in order and cited by a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use simidx_testkit::document::{named_table, root, specification};

/// The sources of all tests of the library.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let sources = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    let is_source = |path: &PathBuf| path.extension().is_some_and(|e| e == "rs");
    sources.filter(is_source).collect()
}

/// The numbers of the rules that the names of tests cite: `fn v07_…`.
fn cited_rules() -> BTreeSet<usize> {
    let sources = sources(&root().join("tests")).into_iter();
    let numbers = sources.flat_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let names = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("fn v"));
        let numbers = names.filter_map(|name| name.split_once('_')?.0.parse().ok());
        numbers.collect::<Vec<usize>>()
    });
    numbers.collect()
}

#[test]
fn every_rule_is_numbered_once_in_order_and_cited_by_a_test() {
    let rows = named_table(&specification(), "rules");
    let rules: Vec<usize> = rows
        .iter()
        .map(|row| row[0].strip_prefix('V').unwrap().parse().unwrap())
        .collect();
    assert!(!rules.is_empty());
    assert_eq!(rules, (1..=rules.len()).collect::<Vec<_>>());
    let retired = |rule: &usize| rows[rule - 1][2] == "–";
    assert_eq!(
        cited_rules(),
        rules.into_iter().filter(|r| !retired(r)).collect()
    );
}
