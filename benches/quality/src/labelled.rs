//! Labelled sets: pairs of texts, or documents with the pairs among them that are near-duplicates.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use simidx_input::{Content, Format, Place, unescape};

use super::truth_clusters::TruthClusters;
use super::{Result, counted, failure};

/// Texts of which it is known what is a near-duplicate of what.
#[derive(Debug)]
pub(super) enum Labelled {
    /// Of some pairs it is known.
    Pairs(LabelledPairs),
    /// Of all pairs of documents, those are near-duplicates that the truth names.
    Corpus { texts: Vec<String>, truth: Truth },
}

/// Pairs of texts of which it is known whether they are near-duplicates.
#[derive(Debug, Default)]
pub(super) struct LabelledPairs {
    /// Different from each other.
    pub(super) texts: Vec<String>,
    /// Numbers of texts.
    pub(super) pairs: Vec<[u32; 2]>,
    /// For each pair, whether it is one of near-duplicates.
    pub(super) labels: Vec<bool>,
}

impl LabelledPairs {
    fn clusters(&self) -> TruthClusters {
        let labelled = self.pairs.iter().zip(&self.labels);
        let relevant = labelled.filter(|(_, label)| **label);
        TruthClusters::of_pairs(self.texts.len(), relevant.map(|(&[a, b], _)| (a, b)))
    }
}

/// Which pairs of documents are near-duplicates.
#[derive(Debug)]
pub(super) enum Truth {
    /// These, the smaller number first.
    Pairs(HashSet<(u32, u32)>),
    /// Pairs of documents with the same label.
    Labels(Vec<Option<u32>>),
}

impl Truth {
    /// Returns the clusters of `document_count` documents.
    pub(super) fn clusters(&self, document_count: usize) -> TruthClusters {
        match self {
            Truth::Pairs(pairs) => TruthClusters::of_pairs(document_count, pairs.iter().copied()),
            Truth::Labels(labels) => TruthClusters::of_labels(labels),
        }
    }
}

/// A line of a labelled set.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<Value>,
    text: Option<String>,
    a: Option<String>,
    b: Option<String>,
    label: Option<Value>,
}

impl Labelled {
    /// Reads a set, in which there is at least one pair of near-duplicates.
    ///
    /// # Errors
    /// A line that cannot be used, by its number; a file that cannot be read, or that leaves nothing to measure.
    pub(super) fn read(path: &Path, truth: Option<&Path>, by_label: bool) -> Result<Labelled> {
        if truth.is_none() && !by_label {
            return Ok(Labelled::Pairs(read_pairs(path)?));
        }
        let mut texts = Vec::new();
        let (mut ids, mut labels) = (HashMap::new(), Labels::default());
        for_each_line(path, |line| {
            let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let number = texts.len() as u32;
            texts.push(line.text.ok_or("has no \"text\"")?);
            let id = line.id.as_ref().map(text_of);
            if id.is_some_and(|id| ids.insert(id, number).is_some()) {
                return Err("repeats the id of an earlier document".into());
            }
            labels.push(line.label.as_ref());
            Ok(())
        })?;
        let nothing = |message: &str| failure(path.display(), message);
        let truth = match truth {
            Some(_) if ids.is_empty() => {
                return nothing(
                    "no document has an \"id\", by which --truth names near-duplicates",
                );
            }
            Some(path) => Truth::Pairs(read_truth(path, &ids)?),
            None if labels.known.is_empty() => {
                return nothing(
                    "no document has a \"label\"; --truth takes a list of near-duplicates",
                );
            }
            None if labels.known.len() == labels.labelled_count() => {
                return nothing(
                    "no two documents have the same \"label\", so there is nothing to find",
                );
            }
            None => Truth::Labels(labels.numbers),
        };
        Ok(Labelled::Corpus { texts, truth })
    }

    /// The clusters that intervals take as independent.
    pub(super) fn clusters(&self) -> TruthClusters {
        match self {
            Labelled::Pairs(pairs) => pairs.clusters(),
            Labelled::Corpus { texts, truth } => truth.clusters(texts.len()),
        }
    }

    /// Describes the contents of the set.
    pub(super) fn describe(&self, clusters: &TruthClusters) -> String {
        let relevant = clusters.relevant_count();
        let linked = counted(clusters.linked_count(), "cluster");
        match self {
            Labelled::Pairs(pairs) => {
                let pairs = counted(pairs.labels.len() as u64, "pair");
                format!("{pairs}, {relevant} of them near-duplicates, in {linked}")
            }
            Labelled::Corpus { texts, .. } => {
                let documents = counted(texts.len() as u64, "document");
                let pairs = counted(relevant, "pair");
                format!("{documents}, {pairs} of near-duplicates, in {linked}")
            }
        }
    }
}

/// Numbers labels as they come.
#[derive(Debug, Default)]
struct Labels {
    known: HashMap<String, u32>,
    numbers: Vec<Option<u32>>,
}

impl Labels {
    fn push(&mut self, label: Option<&Value>) {
        let next = self.known.len() as u32;
        let label = label.filter(|label| !label.is_null()).map(text_of);
        let number = label.map(|label| *self.known.entry(label).or_insert(next));
        self.numbers.push(number);
    }

    fn labelled_count(&self) -> usize {
        self.numbers.iter().flatten().count()
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn read_pairs(path: &Path) -> Result<LabelledPairs> {
    let mut read = LabelledPairs::default();
    let mut numbers = HashMap::new();
    for_each_line(path, |line| {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let (Some(a), Some(b)) = (line.a, line.b) else {
            return Err("has no \"a\" and \"b\"; documents need --truth or --by-label".into());
        };
        read.labels.push(match line.label {
            Some(Value::Bool(label)) => label,
            Some(Value::Number(label)) if label.as_u64() == Some(0) => false,
            Some(Value::Number(label)) if label.as_u64() == Some(1) => true,
            _ => return Err("\"label\" is not 0, 1, true or false".into()),
        });
        let mut number = |text| {
            let next = numbers.len() as u32;
            *numbers.entry(text).or_insert(next)
        };
        read.pairs.push([number(a), number(b)]);
        Ok(())
    })?;
    let nothing = |message: &str| failure(path.display(), message);
    if read.labels.is_empty() {
        return nothing("holds no labelled pair");
    }
    if !read.labels.contains(&true) {
        return nothing("labels no pair as near-duplicates, so there is nothing to find");
    }
    read.texts = vec![String::new(); numbers.len()];
    for (text, number) in numbers {
        read.texts[number as usize] = text;
    }
    Ok(read)
}

/// Reads pairs of ids, at least one; the first line may be a heading.
fn read_truth(path: &Path, ids: &HashMap<String, u32>) -> Result<HashSet<(u32, u32)>> {
    let mut pairs = HashSet::new();
    let mut is_first = true;
    for_each_line(path, |line| {
        let is_first = std::mem::take(&mut is_first);
        let mut columns = line.split('\t');
        let (Some(a), Some(b)) = (columns.next(), columns.next()) else {
            return Err("is not two ids separated by a tab".into());
        };
        let number = |id: &str| {
            // As dump and query print it.
            let plain = unescape(id).map_err(|error| format!("the id {id:?}: {error}"))?;
            let number = ids.get(&*plain).copied();
            number.ok_or_else(|| format!("no document has the id {id:?}"))
        };
        match (number(a), number(b)) {
            (Ok(a), Ok(b)) if a == b => return Err("pairs a document with itself".into()),
            (Ok(a), Ok(b)) => {
                pairs.insert((a.min(b), a.max(b)));
            }
            (Err(_), Err(_)) if is_first && is_heading(a) && is_heading(b) => {}
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
        Ok(())
    })?;
    if pairs.is_empty() {
        return failure(path.display(), "holds no pair of near-duplicates");
    }
    Ok(pairs)
}

/// Whether a column is called so that it must hold ids: `id`, `id_a`, `doc-id`, `id2`, `leftId`, but not `libidn`.
fn is_heading(name: &str) -> bool {
    let words = name.split(|c: char| !c.is_ascii_alphabetic());
    let is_id = |word: &str| {
        let parts = ["id", "ids", "ida", "idb", "docid"];
        parts.contains(&&*word.to_ascii_lowercase()) || word.ends_with("Id") || word.ends_with("ID")
    };
    words.into_iter().any(is_id)
}

/// Calls `visit` with each line that is not blank.
fn for_each_line(path: &Path, mut visit: impl FnMut(&str) -> Result<(), String>) -> Result<()> {
    let mut lines = simidx_input::open(path, Some(Format::Lines))?;
    while let Some(record) = lines.next() {
        if let Content::Text(line) = record?.content
            && let Err(message) = visit(&line)
        {
            return match lines.place() {
                (source, Place::Line(line)) => failure(format_args!("{source}:{line}"), message),
                (source, _) => failure(source, message),
            };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_name_ids() {
        for name in [
            "id", "id_a", "ID", "doc-id", "id2", "leftId", "b.id", "docID", "docid",
        ] {
            assert!(is_heading(name), "{name}");
        }
        for name in ["libidn", "libidn2", "a", "", "identity", "kid", "idea_3"] {
            assert!(!is_heading(name), "{name}");
        }
    }
}
