//! Every rule of the specification is numbered in order and cited by a test.

use std::collections::BTreeSet;
use std::fs;

use simidx_testkit::document::{between, root, specification};

/// The numbers of the rules that the names of tests cite: `fn v07_…`.
fn cited_rules() -> BTreeSet<usize> {
    fs::read_dir(root().join("tests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let names = text
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix("fn v"));
            let numbers = names.filter_map(|name| name.split_once('_')?.0.parse().ok());
            numbers.collect::<Vec<usize>>()
        })
        .collect()
}

#[test]
fn every_rule_is_numbered_once_in_order_and_cited_by_a_test() {
    let text = specification();
    let table = between(&text, "\n## 12. Validation\n", "\n## ");
    let rules: Vec<usize> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| V")?.split(' ').next()?.parse().ok())
        .collect();
    assert!(!rules.is_empty());
    assert_eq!(rules, (1..=rules.len()).collect::<Vec<_>>());
    assert_eq!(cited_rules(), rules.into_iter().collect());
}
