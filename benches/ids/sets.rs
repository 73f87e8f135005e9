//! The ids that are stored: those of a file, and such as programs make, from fixed seeds.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::common::environment::variable;

/// Makes ids.
type Make = Box<dyn FnOnce() -> Vec<String>>;

/// The kinds of ids by name. All ids of a kind are distinct.
pub(crate) fn all(count: usize) -> Vec<(&'static str, Make)> {
    let mut sets: Vec<(&'static str, Make)> = Vec::new();
    if let Some(path) = variable::<String>("IDS") {
        sets.push(("file", Box::new(move || of_file(&path, count))));
    }
    sets.push(("urls", Box::new(move || urls(count))));
    sets.push(("uuids", Box::new(move || uuids(count))));
    sets
}

/// The first lines of a file, each once.
fn of_file(path: &str, count: usize) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: BTreeSet<&str> = text.lines().take(count).collect();
    lines.into_iter().map(str::to_owned).collect()
}

/// Random UUIDs (version 4) as text.
fn uuids(count: usize) -> Vec<String> {
    let mut rng = SmallRng::seed_from_u64(41);
    let mut one = |_| {
        let (high, low): (u64, u64) = (rng.random(), rng.random());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    };
    (0..count).map(&mut one).collect()
}

/// Addresses of pages: few hosts have most pages, pages of a host share folders, and titles share words.
fn urls(count: usize) -> Vec<String> {
    let mut rng = SmallRng::seed_from_u64(42);
    let words: Vec<String> = (0..5000).map(|_| word(&mut rng)).collect();
    let endings = ["com", "org", "net", "de", "co.uk"];
    let hosts: Vec<String> = (0..(count / 200).max(1))
        .map(|i| {
            let ending = endings[rng.random_range(0..endings.len())];
            format!(
                "https://www.{}{}.{ending}",
                words[i % 5000],
                skewed(&words, &mut rng)
            )
        })
        .collect();
    let mut urls = BTreeSet::new();
    while urls.len() < count {
        let mut url = skewed(&hosts, &mut rng).to_owned();
        match rng.random_range(0..3) {
            0 => {
                let (year, month) = (rng.random_range(2010..2026), rng.random_range(1..=12));
                url += &format!("/{year}/{month:02}");
            }
            folders => {
                for _ in 0..folders {
                    url = url + "/" + skewed(&words[..50], &mut rng);
                }
            }
        }
        url += "/";
        for _ in 0..rng.random_range(2..6) {
            url = url + skewed(&words, &mut rng) + "-";
        }
        urls.insert(format!("{url}{}", rng.random_range(0..100_000)));
    }
    urls.into_iter().collect()
}

/// Two to four syllables.
fn word(rng: &mut SmallRng) -> String {
    let mut letter = |letters: &str| {
        let at = rng.random_range(0..letters.len());
        letters[at..=at].to_owned()
    };
    let syllables = 2 + usize::from(letter("ab") == "a") + usize::from(letter("ab") == "a");
    let mut word = String::new();
    for _ in 0..syllables {
        word += &letter("bcdfghklmnprstvw");
        word += &letter("aeiou");
    }
    word
}

/// One of the texts, the first ones far more often.
fn skewed<'a>(texts: &'a [String], rng: &mut SmallRng) -> &'a str {
    let uniform: f64 = rng.random();
    &texts[(uniform.powi(3) * texts.len() as f64) as usize]
}
