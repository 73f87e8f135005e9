//! The precision and recall of the presets on real documents with known near-duplicate pairs.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simidx::{Fingerprint, Width};
use simidx_input::{Content, Format};
use simidx_text::similar::{SketchFeatures, Sketcher};
use simidx_text::{Pipeline, PipelineOptions};

/// Documents, and their pairs with a Jaccard similarity of word triples of at least 0.8.
struct Set {
    texts: Vec<String>,
    pairs: HashSet<(usize, usize)>,
}

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../data", name]
        .iter()
        .collect()
}

fn read(name: &str) -> Set {
    let mut texts = Vec::new();
    let mut numbers = HashMap::new();
    let path = data(&format!("{name}.jsonl.gz"));
    for record in simidx_input::open(&path, None).unwrap() {
        let record = record.unwrap();
        let Content::Text(text) = record.content else {
            panic!("{name} holds documents");
        };
        numbers.insert(record.id.unwrap().to_string(), texts.len());
        texts.push(text);
    }
    let path = data(&format!("{name}.j80.tsv.gz"));
    let mut pairs = HashSet::new();
    for line in simidx_input::open(&path, Some(Format::Lines)).unwrap() {
        let Content::Text(line) = line.unwrap().content else {
            panic!("lines are documents");
        };
        let mut columns = line.split('\t');
        let [a, b] = [(); 2].map(|()| numbers.get(columns.next().unwrap()));
        // The header does not name documents.
        if let (Some(&a), Some(&b)) = (a, b) {
            pairs.insert((a.min(b), a.max(b)));
        }
    }
    Set { texts, pairs }
}

fn fingerprints(set: &Set, pipeline: &str) -> Vec<u128> {
    let options: PipelineOptions = pipeline.parse().unwrap();
    let pipeline = Pipeline::new(options).unwrap();
    let mut fingerprinter = pipeline.fingerprinter(Width::W64).unwrap();
    let texts = set.texts.iter();
    texts.map(|text| fingerprinter.fingerprint(text)).collect()
}

/// Returns the precision and recall of the pairs within a distance.
fn quality(set: &Set, fingerprints: &[u128], distance: u32) -> (f64, f64) {
    let (mut found, mut hits) = (0, 0);
    for (a, &x) in fingerprints.iter().enumerate() {
        for (b, &y) in fingerprints.iter().enumerate().skip(a + 1) {
            if x.distance(y) <= distance {
                found += 1;
                hits += usize::from(set.pairs.contains(&(a, b)));
            }
        }
    }
    let share = |whole: usize| hits as f64 / whole.max(1) as f64;
    (share(found), share(set.pairs.len()))
}

/// The figures in the readme, minus a hundredth or two for other versions of the tables of Unicode and jieba.
#[test]
fn presets_find_the_near_duplicates_of_real_documents() {
    let sets = [("en", read("en")), ("zh", read("zh"))];
    for (pipeline, floors) in [
        ("web", [(0.83, 0.55), (0.96, 0.76)]),
        ("news-zh", [(0.60, 0.72), (0.87, 0.88)]),
        ("news-zh,segment=auto", [(0.60, 0.72), (0.82, 0.89)]),
        ("news-zh,fingerprint=simhash", [(0.70, 0.28), (0.90, 0.68)]),
    ] {
        for ((name, set), (precision, recall)) in sets.iter().zip(floors) {
            let seen = quality(set, &fingerprints(set, pipeline), 3);
            println!(
                "{pipeline} on {name}: precision {:.3}, recall {:.3}",
                seen.0, seen.1
            );
            assert!(
                seen.0 >= precision && seen.1 >= recall,
                "{pipeline} {name} {seen:?}"
            );
        }
    }
}

/// A near-duplicate pair is almost always nearer than a random pair, usually by at least 16 bits.
#[test]
fn similar_texts_are_nearer_than_others() {
    let mut rng = StdRng::seed_from_u64(7);
    for name in ["en", "zh"] {
        let set = read(name);
        for pipeline in [
            "web",
            "news-zh",
            "news-zh,segment=auto",
            "news-zh,fingerprint=simhash",
        ] {
            let fingerprints = fingerprints(&set, pipeline);
            let mut nearer = 0;
            let mut much_nearer = 0;
            for &(a, b) in &set.pairs {
                let [c, d] = [(); 2].map(|()| rng.random_range(0..fingerprints.len()));
                let near = fingerprints[a].distance(fingerprints[b]);
                let far = fingerprints[c].distance(fingerprints[d]);
                nearer += usize::from(near < far);
                much_nearer += usize::from(near + 16 <= far);
            }
            let share = |count: usize| count as f64 / set.pairs.len() as f64;
            let (nearer, much_nearer) = (share(nearer), share(much_nearer));
            println!("{pipeline} on {name}: nearer {nearer:.3}, by 16 bits {much_nearer:.3}");
            assert!(nearer >= 0.99, "{pipeline} {name} {nearer}");
            assert!(much_nearer >= 0.8, "{pipeline} {name} {much_nearer}");
        }
    }
}

/// Returns a Chinese text without the line breaks between its characters, which its file format inserts anywhere.
fn unbroken(text: &str) -> String {
    let is_han = |c: Option<char>| c.is_some_and(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_between = is_han(out.chars().next_back()) && is_han(rest.peek().copied());
        if c != '\n' || !is_between {
            out.push(c);
        }
    }
    out
}

/// Line breaks in Chinese change neither fingerprints nor the features of words. English fingerprints are as in earlier
/// versions.
#[test]
fn white_space_in_chinese_changes_nothing() {
    let (zh, en) = (read("zh"), read("en"));
    let before = "controls+nfkc+case+space";
    let sketcher = Sketcher::new(128, SketchFeatures::default()).unwrap();
    let mut of_words = sketcher
        .pipeline()
        .unwrap()
        .fingerprinter(Width::W64)
        .unwrap();
    for text in &zh.texts {
        // The features of sketches are those of `--similarity`.
        let [a, b] = [text, &unbroken(text)].map(|t| sketcher.feature_set(&mut of_words, t));
        assert_eq!(a, b, "{text}");
    }
    for pipeline in ["web", "news-zh", "short,segment=auto"] {
        let parse = |spec: &str| Pipeline::new(spec.parse().unwrap()).unwrap();
        let mut now = parse(pipeline).fingerprinter(Width::W64).unwrap();
        let then = parse(&format!("{pipeline},normalise={before}"));
        let mut then = then.fingerprinter(Width::W64).unwrap();
        let mut broken = 0;
        for text in &zh.texts {
            let unbroken = unbroken(text);
            broken += usize::from(unbroken != *text);
            assert_eq!(now.fingerprint(text), now.fingerprint(&unbroken), "{text}");
        }
        assert!(broken > zh.texts.len() / 2, "{broken}");
        for text in &en.texts {
            assert_eq!(now.fingerprint(text), then.fingerprint(text), "{text}");
        }
    }
}

/// A line of ten megabytes is an ordinary document.
#[test]
fn a_document_of_ten_megabytes_has_a_fingerprint() {
    let sentence = "The quick brown fox jumps over the lazy dog, 敏捷的棕色狐狸跳过懒狗. ";
    let long = sentence.repeat(10_000_000 / sentence.len() + 1);
    for pipeline in ["web", "news-zh,segment=auto", "short"] {
        let options: PipelineOptions = pipeline.parse().unwrap();
        let pipeline = Pipeline::new(options).unwrap();
        let mut fingerprinter = pipeline.fingerprinter(Width::W64).unwrap();
        let twice = fingerprinter.fingerprint(&sentence.repeat(2));
        let distance = fingerprinter.fingerprint(&long).distance(twice);
        // MinHash uses the set of features, and two repetitions contain all of them.
        assert_eq!(distance, 0);
    }
}
