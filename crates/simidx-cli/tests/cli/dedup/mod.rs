//! `simidx dedup`: the kept records, the figures, the outputs.

mod annotate;
mod kept;
mod names;
mod outputs;
mod parquet_files;
mod report;
pub(crate) mod similar;
mod unjudged;
mod weeks;

use serde_json::json;
use simidx::{Fingerprint, Width};
use simidx_text::{Pipeline, Preset};

use crate::support::Ran;

/// Returns the kept item for each item, found by brute force.
pub(super) fn clusters(count: usize, near: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    for a in 0..count {
        for b in a + 1..count {
            let (x, y) = (first[a], first[b]);
            if x != y && near(a, b) {
                first
                    .iter_mut()
                    .filter(|f| **f == x.max(y))
                    .for_each(|f| *f = x.min(y));
            }
        }
    }
    first
}

/// Returns whether two texts are near-duplicates; texts without words are only if they are equal.
pub(super) fn near(texts: &[String], k: u32) -> impl Fn(usize, usize) -> bool {
    let prints = prints(texts);
    let has_words = |text: &String| text.contains(char::is_alphanumeric);
    let has_words: Vec<bool> = texts.iter().map(has_words).collect();
    move |a, b| match has_words[a] && has_words[b] {
        true => prints[a].distance(prints[b]) <= k,
        false => texts[a] == texts[b],
    }
}

/// Returns the number of the cluster of each item in a cluster of several.
pub(super) fn numbers(first: &[usize], kept: impl Fn(usize) -> usize) -> Vec<Option<usize>> {
    let count = |of: usize| first.iter().filter(|&&other| other == of).count();
    let mut clusters: Vec<usize> = (0..first.len())
        .filter(|&i| first[i] == i && count(i) > 1)
        .collect();
    clusters.sort_by_key(|&of| kept(of));
    let number = |of: &usize| clusters.iter().position(|cluster| cluster == of);
    first.iter().map(number).collect()
}

/// Returns the lines of the kept items.
pub(super) fn kept_lines(lines: &[String], first: &[usize]) -> String {
    let kept = lines.iter().enumerate().filter(|(i, _)| first[*i] == *i);
    kept.map(|(_, line)| &**line).collect()
}

/// Asserts exit code 0; the figures are on stderr.
#[track_caller]
pub(super) fn done(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.starts_with("documents  "), "{ran:?}");
    ran
}

/// Returns texts, some of which are equal to others, near them, or have the same words in another order.
pub(crate) fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for i in 0..40 {
        let words: Vec<String> = (0..60)
            .map(|j| format!("word{}", (i * 61 + j * j) % 977))
            .collect();
        texts.push(words.join(" "));
        match i % 4 {
            0 => texts.push(format!("{} more", words.join(" "))),
            1 => texts.push(words.join("  ").to_uppercase()),
            2 => texts.push(words.iter().rev().cloned().collect::<Vec<_>>().join(" ")),
            _ => texts.push(words[..40].join(" ")),
        }
    }
    texts.push(texts[0].clone());
    texts.push(String::new());
    texts.push("?!".into());
    texts
}

pub(crate) fn jsonl(texts: &[String]) -> Vec<String> {
    let lines = texts.iter().enumerate();
    let line = |(i, text): (usize, &String)| {
        // Fields and spaces that a copy must not change.
        format!(
            "{{ \"z\":[{i}, 1.50], \"id\":\"d{i}\",\t\"text\":{} }}\n",
            json!(text)
        )
    };
    lines.map(line).collect()
}

/// Returns the default pipeline for documents.
pub(super) fn pipeline() -> Pipeline {
    Pipeline::new(Preset::default().options()).unwrap()
}

pub(super) fn prints(texts: &[String]) -> Vec<u64> {
    let mut fingerprinter = pipeline().fingerprinter(Width::W64).unwrap();
    let texts = texts.iter();
    let fingerprints = texts.map(|text| fingerprinter.fingerprint(text) as u64);
    fingerprints.collect()
}
