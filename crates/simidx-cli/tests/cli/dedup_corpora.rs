//! Precision and recall of `simidx dedup` on corpora of real documents.
//!
//! A corpus is a file NAME.jsonl.gz of documents with NAME.j80.tsv.gz, all pairs of them whose Jaccard similarity of
//! three-word shingles is at least 0.8. The corpora in `data/` are always tested; further ones are in the folder that
//! the environment variable SIMIDX_CORPORA names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;
use simidx_text::compare::FeatureSet;

/// The settings that are measured.
const SETTINGS: [&[&str]; 2] = [&["-k", "3"], &["--similarity", "0.8", "--chains"]];

/// For each setting the smallest permitted recall and precision, slightly below the current values.
const FLOORS: [(&str, [[f64; 2]; 2]); 2] = [
    ("en", [[0.74, 0.77], [1.0, 0.80]]),
    ("zh", [[0.80, 0.90], [1.0, 0.90]]),
];

type Pairs = BTreeSet<(usize, usize)>;

/// Documents and their near-duplicates.
struct Corpus {
    name: String,
    path: PathBuf,
    ids: HashMap<String, usize>,
    texts: Vec<String>,
    pairs: Pairs,
}

impl Corpus {
    /// Loads the corpus with this name from a folder.
    fn load(folder: &Path, name: &str) -> Self {
        let path = folder.join(format!("{name}.jsonl.gz"));
        let (mut ids, mut texts) = (HashMap::new(), Vec::new());
        for line in unzipped(&path).lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            let member = |name: &str| object[name].as_str().unwrap().to_owned();
            assert_eq!(ids.insert(member("id"), texts.len()), None);
            texts.push(member("text"));
        }
        let truth = unzipped(&folder.join(format!("{name}.j80.tsv.gz")));
        let lines = truth.lines().skip(1);
        let pairs = lines.map(|line| {
            let mut members = line.split('\t').map(|id| ids.get(id).copied());
            let [a, b] = [0; 2].map(|_| members.next().unwrap().unwrap());
            (a.min(b), a.max(b))
        });
        let pairs = pairs.collect();
        Corpus {
            name: name.to_owned(),
            path,
            ids,
            texts,
            pairs,
        }
    }

    /// Returns, for each document, the kept document of its cluster.
    fn kept(&self, setting: &[&str]) -> Vec<usize> {
        let sandbox = Sandbox::new();
        let path = self.path.canonicalize().unwrap();
        let args = [
            "dedup",
            path.to_str().unwrap(),
            "-o",
            "kept",
            "--report",
            "report.tsv",
        ];
        let ran = sandbox.run(&[&args, setting].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut kept: Vec<usize> = (0..self.texts.len()).collect();
        let report = String::from_utf8(sandbox.read("report.tsv")).unwrap();
        for line in report.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            kept[self.ids[columns[0]]] = self.ids[columns[1]];
        }
        kept
    }

    /// Prints and returns recall and precision of each setting.
    ///
    /// A pair of documents is found if they are in the same cluster. Precision counts a found pair as correct if it is
    /// one of the true pairs; the figure in parentheses counts it if a chain of true pairs connects the two.
    fn measure(&self) -> Vec<[f64; 2]> {
        let closed = all_pairs(&components(self.texts.len(), &self.pairs));
        let mut measured = Vec::new();
        for setting in SETTINGS {
            let found = all_pairs(&self.kept(setting));
            let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
            let right = found.intersection(&self.pairs).count();
            let right_closed = found.intersection(&closed).count();
            let figures = [share(right, self.pairs.len()), share(right, found.len())];
            println!(
                "{:<22} {:<28} recall {:.3}  precision {:.3} ({:.3})  {} documents, {} pairs, {} found",
                self.name,
                setting.join(" "),
                figures[0],
                figures[1],
                share(right_closed, found.len()),
                self.texts.len(),
                self.pairs.len(),
                found.len(),
            );
            measured.push(figures);
        }
        let floors = FLOORS.iter().find(|(name, _)| *name == self.name);
        for (measured, floors) in measured
            .iter()
            .zip(floors.iter().flat_map(|floors| floors.1))
        {
            assert!(
                measured[0] >= floors[0] && measured[1] >= floors[1],
                "{measured:?} {floors:?}"
            );
        }
        measured
    }
}

fn unzipped(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// Returns, for each number, the smallest one that it is connected with.
fn components(count: usize, pairs: &Pairs) -> Vec<usize> {
    let mut first: Vec<usize> = (0..count).collect();
    loop {
        let before = first.clone();
        for &(a, b) in pairs {
            let least = first[a].min(first[b]);
            (first[a], first[b]) = (least, least);
        }
        if first == before {
            return first;
        }
    }
}

/// Returns all pairs of numbers with the same label.
fn all_pairs(labels: &[usize]) -> Pairs {
    let mut clusters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, label) in labels.iter().enumerate() {
        clusters.entry(*label).or_default().push(number);
    }
    let pairs = clusters.values().flat_map(|members| {
        let firsts = members.iter().enumerate();
        firsts.flat_map(|(i, &a)| members[i + 1..].iter().map(move |&b| (a, b)))
    });
    pairs.collect()
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data")
}

#[test]
fn the_pairs_in_the_data_are_all_there_are() {
    for name in ["en", "zh"] {
        let corpus = Corpus::load(&data(), name);
        let texts = corpus.texts.iter();
        let sets: Vec<FeatureSet> = texts.map(|text| FeatureSet::of_shingles(text, 3)).collect();
        let mut expected = Pairs::new();
        for (b, y) in sets.iter().enumerate() {
            for (a, x) in sets[..b].iter().enumerate() {
                let lens = [x.hashes().len(), y.hashes().len()];
                // The similarity of sets of very different sizes is low.
                let [small, large] = [lens[0].min(lens[1]), lens[0].max(lens[1])];
                if small as f64 >= 0.8 * large as f64 && x.jaccard(y) >= 0.8 {
                    expected.insert((a, b));
                }
            }
        }
        assert!(corpus.pairs == expected, "{name}");
    }
}

#[test]
fn the_corpora_in_the_data_lose_their_duplicates() {
    for name in ["en", "zh"] {
        Corpus::load(&data(), name).measure();
    }
}

#[test]
fn without_options_nearly_all_similar_documents_go_and_nothing_else() {
    for name in ["en", "zh"] {
        let corpus = Corpus::load(&data(), name);
        let kept = corpus.kept(&[]);
        let dropped = |text: &usize| kept[*text] != *text;
        // The dropped documents, if the first of similar documents are kept.
        let mut wanted = vec![false; kept.len()];
        let mut earlier: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &(a, b) in &corpus.pairs {
            earlier.entry(b).or_default().push(a);
        }
        for (b, before) in earlier {
            wanted[b] = before.iter().any(|&a| !wanted[a]);
        }
        let said = (0..kept.len()).filter(dropped).count() as f64;
        let right = (0..kept.len())
            .filter(dropped)
            .filter(|&text| wanted[text])
            .count() as f64;
        let precision = right / said;
        let recall = right / wanted.iter().filter(|wanted| **wanted).count() as f64;
        let f1 = 2.0 * precision * recall / (precision + recall);
        assert!(
            precision >= 0.998 && f1 >= 0.995,
            "{name}: {precision} {f1}"
        );
        // Each is similar to the one that is kept for it.
        let pair = |text: usize| (text.min(kept[text]), text.max(kept[text]));
        assert!(
            (0..kept.len())
                .filter(dropped)
                .all(|text| corpus.pairs.contains(&pair(text)))
        );
    }
}

#[test]
fn corpora_elsewhere_lose_their_duplicates() {
    let Some(folder) = std::env::var_os("SIMIDX_CORPORA").map(PathBuf::from) else {
        simidx_testkit::report("skipped corpora elsewhere: SIMIDX_CORPORA names no folder");
        return;
    };
    let names = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".j80.tsv.gz")?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    for name in names {
        Corpus::load(&folder, &name).measure();
    }
}
