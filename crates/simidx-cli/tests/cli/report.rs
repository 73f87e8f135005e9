//! HTML pages: `simidx report` and `simidx dedup --report`. They are valid and self-contained, escape hostile values,
//! stay within their size, and agree with other commands.

use std::collections::{BTreeMap, BTreeSet};

use html5gum::{Token, Tokenizer};
use serde_json::json;

use crate::support::{Sandbox, gzip, hex, sample};

/// Largest size of a page in bytes.
const MAX_LEN: usize = 2_000_000;

/// Elements without an end tag.
const VOID: [&str; 1] = ["meta"];

/// An id that would break out of any context without escapes.
const HOSTILE: &str = "\"'><script>alert(1)</script>&amp;\u{202e}<img src=x onerror=y>";

/// A page that has been read.
#[derive(Debug, Default)]
struct Page {
    /// Number of elements by their name.
    elements: BTreeMap<String, usize>,
    /// The visible text.
    text: String,
    /// The cells of each row of a table.
    rows: Vec<Vec<String>>,
}

impl Page {
    /// Reads a page by the rules of browsers, and asserts that it is valid: the tokenizer reports no errors, all
    /// elements are closed in order, ids are distinct, references are within the page, and nothing runs.
    #[track_caller]
    fn read(html: &[u8]) -> Self {
        assert!(html.len() <= MAX_LEN, "{} bytes", html.len());
        let html = std::str::from_utf8(html).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>"));
        let (mut page, mut open) = (Page::default(), Vec::<String>::new());
        let (mut ids, mut targets) = (BTreeSet::new(), BTreeSet::new());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        for token in Tokenizer::new(html) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => {
                    let name = text(&tag.name);
                    assert!(!tag.self_closing, "{name}");
                    *page.elements.entry(name.clone()).or_default() += 1;
                    for (attribute, value) in &tag.attributes {
                        let (attribute, value) = (text(attribute), text(value));
                        assert!(!attribute.starts_with("on"), "{attribute}={value}");
                        match &*attribute {
                            "id" => assert!(ids.insert(value.clone()), "{value} twice"),
                            "href" | "src" => {
                                targets.insert(value.strip_prefix('#').expect(&value).to_owned());
                            }
                            "fill" => {
                                let target = value.strip_prefix("url(#").expect(&value);
                                targets.insert(target.trim_end_matches(')').to_owned());
                            }
                            "aria-labelledby" => {
                                targets.extend(value.split(' ').map(str::to_owned));
                            }
                            _ => assert!(!value.contains("url("), "{attribute}={value}"),
                        }
                    }
                    match &*name {
                        "tr" => page.rows.push(Vec::new()),
                        "th" | "td" => page.rows.last_mut().unwrap().push(String::new()),
                        _ => {}
                    }
                    if !VOID.contains(&&*name) {
                        open.push(name);
                    }
                }
                Token::EndTag(tag) => assert_eq!(Some(text(&tag.name)), open.pop()),
                Token::String(string) => {
                    let string = text(&string);
                    if open.last().is_some_and(|name| name == "style") {
                        assert!(!string.contains("url(") && !string.contains("@import"));
                        continue;
                    }
                    page.text.push_str(&string);
                    if open.iter().any(|name| name == "td" || name == "th") {
                        page.rows
                            .last_mut()
                            .unwrap()
                            .last_mut()
                            .unwrap()
                            .push_str(&string);
                    }
                }
                Token::Doctype(_) => {}
                Token::Comment(_) | Token::Error(_) => panic!("{token:?}"),
            }
        }
        assert!(open.is_empty(), "{open:?}");
        let missing: Vec<_> = targets.difference(&ids).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for forbidden in ["script", "img", "link", "iframe", "object", "form"] {
            assert_eq!(page.count(forbidden), 0, "{forbidden}");
        }
        // Each table has a caption, each chart a title and a description.
        assert_eq!(page.count("caption"), page.count("table"));
        assert_eq!(page.count("desc"), html.matches("role=\"img\"").count());
        page
    }

    fn count(&self, element: &str) -> usize {
        self.elements.get(element).copied().unwrap_or_default()
    }

    /// Returns the value of the first row of two cells with this name, without commas.
    #[track_caller]
    fn figure(&self, name: &str) -> String {
        let row = self
            .rows
            .iter()
            .find(|row| row.len() == 2 && row[0] == name);
        row.unwrap_or_else(|| panic!("{name}: {:?}", self.rows))[1].replace(',', "")
    }

    #[track_caller]
    fn says(&self, text: &str) {
        assert!(self.text.contains(text), "{text}: {}", self.text);
    }
}

/// Returns the page on `x.simidx`.
#[track_caller]
fn report(sandbox: &Sandbox, args: &[&str]) -> Page {
    let report = ["report", "x.simidx", "-o", "-"];
    Page::read(&sandbox.run(&[&report, args].concat()).done().stdout)
}

/// Returns documents, alone and in three clusters, some with hostile ids and texts.
fn documents() -> String {
    let words = |from: usize| {
        (from..from + 60)
            .map(|word| format!("w{word}"))
            .collect::<Vec<_>>()
    };
    let mut lines = String::new();
    let mut add = |id: String, words: &[String]| {
        lines += &json!({ "id": id, "text": words.join(" ") }).to_string();
        lines.push('\n');
    };
    for group in 0..3 {
        for copy in 0..group + 2 {
            let mut words = words(group * 1000);
            words[30] = format!("<b onclick=\"x\">{copy}</b>\u{1b}[2J");
            add(format!("{group}-{copy} {HOSTILE}"), &words);
        }
    }
    for alone in 10..20 {
        add(format!("alone {alone}"), &words(alone * 1000));
    }
    lines
}

#[test]
fn figures_are_those_of_the_other_commands() {
    let input = hex(&sample(3000));
    let sandbox = Sandbox::with_index(("a.hex", &input), &["--tables", "4"]);
    let page = report(&sandbox, &[]);
    let info = sandbox.run(&["info", "x.simidx", "--json"]).done().json();
    for (name, key) in [
        ("records", "record_count"),
        ("distinct fingerprints", "fingerprint_count"),
        ("bytes of the files", "file_bytes"),
        ("bytes of fingerprints", "raw_bytes"),
        ("distance of near-duplicates", "max_distance"),
    ] {
        assert_eq!(page.figure(name), info[key].to_string(), "{name}");
    }
    let two_digits = |key: &str| format!("{:.2}", info[key].as_f64().unwrap());
    assert_eq!(
        page.figure("files to fingerprints"),
        two_digits("ratio_to_raw") + " times"
    );
    let bound = two_digits("bound_bits_per_fingerprint");
    assert_eq!(
        page.figure("bound of one table"),
        format!("{bound} bits per fingerprint")
    );
    // Pairs by distance, including those slightly beyond it.
    let pairs = sandbox.run(&["pairs", "x.simidx", "-k", "5"]).done();
    let mut counts = [0; 6];
    for line in pairs.lines() {
        counts[line.rsplit('\t').next().unwrap().parse::<usize>().unwrap()] += 1;
    }
    let within: usize = counts[..4].iter().sum();
    assert!(within > 100 && counts[5] > 100, "{counts:?}");
    assert_eq!(page.figure("pairs within the distance"), within.to_string());
    for (distance, count) in counts.iter().enumerate().skip(1) {
        assert_eq!(
            page.figure(&distance.to_string()),
            count.to_string(),
            "{distance}"
        );
    }
    page.says(&format!("Shown: 20 of {} pairs.", grouped(within)));
    // Clusters.
    let clusters = sandbox.run(&["clusters", "x.simidx", "--summary", "--json"]);
    let clusters = clusters.json_lines();
    assert_eq!(
        page.figure("clusters of near-duplicates"),
        clusters.len().to_string()
    );
    let sum = |key: &str| {
        clusters
            .iter()
            .map(|c| c[key].as_u64().unwrap())
            .sum::<u64>()
            .to_string()
    };
    assert_eq!(page.figure("records in clusters"), sum("size"));
    assert_eq!(page.figure("fingerprints in clusters"), sum("fingerprints"));
    assert_eq!(
        page.figure("records of the largest cluster"),
        clusters[0]["size"].to_string()
    );
    page.says(&format!(
        "Shown: 20 of {} clusters",
        grouped(clusters.len())
    ));
}

fn grouped(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

#[test]
fn bits_are_counted_and_dead_ones_named() {
    let values: Vec<u64> = sample(400).iter().map(|value| value >> 32).collect();
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &[]);
    let page = report(&sandbox, &[]);
    page.says("32 of the 64 bits, from bit 32 to bit 63, are the same in every fingerprint");
    let distinct: BTreeSet<u64> = values.into_iter().collect();
    let start = page
        .rows
        .iter()
        .rposition(|row| row[0] == "bit, 0 is the lowest");
    let rows = &page.rows[start.unwrap() + 1..];
    for (bit, row) in rows.iter().enumerate().take(64) {
        let count = distinct.iter().filter(|&&value| value >> bit & 1 == 1);
        assert_eq!(row[2], count.count().to_string(), "{bit}");
    }
}

#[test]
fn nearest_neighbours_are_those_of_brute_force() {
    let mut values = sample(400);
    let sandbox = Sandbox::with_index(("a.hex", &hex(&values)), &[]);
    let page = report(&sandbox, &["--pairs", "0", "--clusters", "0"]);
    values.sort_unstable();
    values.dedup();
    page.says(&format!(
        "Distance to the nearest other fingerprint, for all {} fingerprints",
        values.len()
    ));
    let mut counts = BTreeMap::<u32, usize>::new();
    for value in &values {
        let others = values.iter().filter(|other| *other != value);
        *counts
            .entry(
                others
                    .map(|other| (other ^ value).count_ones())
                    .min()
                    .unwrap(),
            )
            .or_default() += 1;
    }
    // The table comes before the pairs.
    let start = page
        .rows
        .iter()
        .rposition(|row| row == &["bits that differ", "fingerprints"])
        .unwrap();
    let last = *counts.keys().last().unwrap();
    for distance in 1..=last {
        let row = &page.rows[start + distance as usize];
        let count = counts.get(&distance).copied().unwrap_or_default();
        assert_eq!(row[..], [distance.to_string(), count.to_string()]);
    }
    // Samples are declared, and reproducible.
    let args = ["--sample", "50"];
    let page = report(&sandbox, &args);
    page.says(&format!("for 50 of {} fingerprints", values.len()));
    assert_eq!(page.text, report(&sandbox, &args).text);
    assert_ne!(
        page.text,
        report(&sandbox, &[&args[..], &["--seed", "2"]].concat()).text
    );
}

#[test]
fn hostile_ids_and_texts_are_escaped() {
    let sandbox = Sandbox::with_index(("d.jsonl", documents().as_bytes()), &[]);
    let without = report(&sandbox, &[]);
    let page = report(&sandbox, &["--texts", "d.jsonl"]);
    let id = HOSTILE.replace('\u{202e}', "\\u{202e}");
    for page in [&without, &page] {
        page.says(&format!("2-0 {id}"));
        assert!(!page.text.contains(['\u{202e}', '\u{1b}']));
    }
    page.says("<b onclick=\"x\">0</b>\\u{1b}[2J");
    assert_eq!(without.count("del"), 0);
    assert!(
        page.count("del") > 3 && page.count("ins") > 3,
        "{:?}",
        page.elements
    );
    page.says("The documents have the texts of all");
    // Documents none of which are in the index.
    sandbox.write("other.jsonl", "{\"id\":\"none\",\"text\":\"a\"}\n");
    report(&sandbox, &["--texts", "other.jsonl"]).says("The documents have the texts of 0 of ");
}

#[test]
fn a_page_of_many_long_texts_keeps_its_size() {
    let mut lines = String::new();
    for group in 0..150 {
        for copy in 0..5 {
            let words = (0..1000).map(|word| format!("<&\"'{}>", group * 10_000 + word));
            let text = words
                .chain([format!("copy{copy}")])
                .collect::<Vec<_>>()
                .join("\u{7}");
            lines += &json!({ "id": format!("{group}-{copy}-{}", "<".repeat(900)), "text": text })
                .to_string();
            lines.push('\n');
        }
    }
    let sandbox = Sandbox::with_index(("d.jsonl.gz", &gzip(lines.as_bytes())), &[]);
    let args = [
        "--texts",
        "d.jsonl.gz",
        "--clusters",
        "1000",
        "--pairs",
        "1000",
        "-k",
        "6",
    ];
    report(&sandbox, &args).says(" of 150 clusters");
    let dedup = [
        "dedup",
        "d.jsonl.gz",
        "-o",
        "kept.jsonl",
        "-k",
        "6",
        "--report",
        "r.html",
    ];
    assert_eq!(sandbox.run(&dedup).code, Some(0));
    Page::read(&sandbox.read("r.html")).says(" of 150 clusters");
}

#[test]
fn empty_and_plain_indexes_have_a_page() {
    let sandbox = Sandbox::with_index(("a.hex", b""), &[]);
    let page = report(&sandbox, &[]);
    assert_eq!(page.figure("records"), "0");
    page.says("There is none.");
    for input in [
        &b"00000000000000ff\n"[..],
        b"0000000000000000\nffffffffffffffff\n",
    ] {
        let sandbox = Sandbox::with_index(("a.hex", input), &[]);
        report(&sandbox, &[]);
        report(&sandbox, &["-k", "64"]);
        let ran = sandbox.run(&["report", "x.simidx", "x.simidx", "-o", "p.html"]);
        ran.done();
        Page::read(&sandbox.read("p.html")).says("index files");
    }
    for width in ["32", "128"] {
        let digits = "f".repeat(width.parse::<usize>().unwrap() / 4);
        let sandbox = Sandbox::with_index(("a.hex", digits.as_bytes()), &["--width", width]);
        assert_eq!(
            report(&sandbox, &[]).figure("width"),
            format!("{width} bits")
        );
    }
}

#[test]
fn counting_stops_where_it_is_told_to() {
    let sandbox = Sandbox::with_index(("a.hex", &hex(&sample(400))), &[]);
    let page = report(&sandbox, &["--max-pairs", "20"]);
    page.says("Counting stopped after 20 pairs");
    assert!(
        page.figure("pairs within the distance")
            .starts_with("at least ")
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let sandbox = Sandbox::with_index(("a.hex", b"00000000000000ff\n"), &[]);
    sandbox.write("d.jsonl", documents());
    sandbox.write("there.html", "");
    let refused = |args: &[&str], message: &str| {
        sandbox
            .run(&[&["report", "x.simidx"], args].concat())
            .refused(message)
    };
    refused(
        &["-o", "p.html", "--texts", "d.jsonl"],
        "the index has no ids, by which --texts are found; build it with --ids",
    );
    refused(
        &["-o", "p.html", "--text-field", "body"],
        "--text-field, --fingerprint-field, --id-field, --delimiter and --encoding require --texts",
    );
    refused(
        &["-o", "there.html"],
        "there.html: already exists; use --force to replace it",
    );
    refused(
        &["-o", "x.simidx", "--force"],
        "x.simidx: is an input, and no input is replaced; name another output",
    );
    assert_eq!(
        sandbox.names(),
        ["a.hex", "d.jsonl", "there.html", "x.simidx"]
    );
}

#[test]
fn a_page_on_a_deduplication_shows_what_was_dropped_for_what() {
    let sandbox = Sandbox::new();
    sandbox.write("d.jsonl", documents());
    let dedup = [
        "dedup",
        "d.jsonl",
        "-o",
        "kept.jsonl",
        "--report",
        "r.html",
        "--json",
    ];
    for args in [["-k", "6"], ["--similarity", "0.2"]] {
        let ran = sandbox
            .run(&[&dedup[..], &["--force"], &args].concat())
            .done();
        let summary = ran.json();
        let page = Page::read(&sandbox.read("r.html"));
        for (name, key) in [
            ("documents", "documents"),
            ("kept", "kept"),
            ("dropped", "dropped"),
            ("clusters", "clusters"),
            ("largest cluster", "largest_cluster"),
        ] {
            assert_eq!(page.figure(name), summary[key].to_string(), "{name}");
        }
        assert_eq!(summary["clusters"], 3);
        page.says("Cluster of 4 documents");
        page.says("Shown: all 6 dropped documents.");
        page.says("<b onclick=\"x\">0</b>\\u{1b}[2J");
        assert!(
            page.count("del") >= 6 && page.count("ins") >= 6,
            "{:?}",
            page.elements
        );
        assert_eq!(
            page.text.contains("similarity 0."),
            args[0] == "--similarity"
        );
    }
    // Records in an index, and inputs without texts.
    sandbox.run(&["build", "d.jsonl", "-o", "x.simidx"]).done();
    let against = sandbox.run(&[&dedup[..], &["--force", "--against", "x.simidx"]].concat());
    assert_eq!(against.done().json()["kept"], 0);
    Page::read(&sandbox.read("r.html"))
        .says("All documents that were dropped are near a member of the index.");
    sandbox.write("a.hex", hex(&sample(400)));
    let plain = ["dedup", "a.hex", "-o", "kept.hex", "--report", "p.html"];
    let ran = sandbox.run(&plain);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Page::read(&sandbox.read("p.html"));
}

#[test]
fn clusters_that_exceed_the_memory_are_left_out() {
    let sandbox = Sandbox::new();
    let many = (0..1_200_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    sandbox.write("many.hex", hex(&many.collect::<Vec<_>>()));
    let args = ["build", "many.hex", "-o", "many.simidx", "-k", "1"];
    sandbox.run(&args).done();
    let args = [
        "report",
        "many.simidx",
        "-o",
        "r.html",
        "--force",
        "-k",
        "1",
        "--sample",
        "1",
    ];
    let with = |memory| sandbox.run(&[&args[..], &["--memory", memory]].concat());
    with("64MiB").done();
    let page = Page::read(&sandbox.read("r.html"));
    let row = |page: &Page| {
        let is_count = |row: &&Vec<String>| row[0] == "clusters of near-duplicates";
        page.rows.iter().find(is_count).unwrap()[1].clone()
    };
    assert_eq!(row(&page), "not counted: too little memory");
    let words = "The clusters were not looked for: ";
    assert!(page.text.contains(words) && page.text.contains("; raise --memory."));
    with("1GiB").done();
    let page = Page::read(&sandbox.read("r.html"));
    assert!(row(&page).parse::<u64>().is_ok());
    assert!(!page.text.contains(words));
    // Less than any search needs.
    with("1MiB").refusal();
}
