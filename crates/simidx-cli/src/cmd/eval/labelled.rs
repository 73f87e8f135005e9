//! Labelled sets: pairs of texts, or documents with the pairs among them that are near-duplicates.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use simidx_input::{Content, Format};

use crate::support::failure::Failure;
use crate::support::output::counted;
use crate::support::records::refused;

/// Texts of which it is known what is a near-duplicate of what.
#[derive(Debug)]
pub(super) enum Labelled {
    /// Text i of `a` and of `b` are near-duplicates if label i says so.
    Pairs {
        a: Vec<String>,
        b: Vec<String>,
        labels: Vec<bool>,
    },
    /// Of all pairs of documents, those are near-duplicates that the truth names.
    Corpus { texts: Vec<String>, truth: Truth },
}

/// Which pairs of documents are near-duplicates.
#[derive(Debug)]
pub(super) enum Truth {
    /// These, the smaller number first.
    Pairs(HashSet<(u32, u32)>),
    /// Those with the same label.
    Labels(Vec<Option<u32>>),
}

impl Truth {
    fn count(&self) -> u64 {
        match self {
            Truth::Pairs(pairs) => pairs.len() as u64,
            Truth::Labels(labels) => {
                let mut sizes = HashMap::<u32, u64>::new();
                let labelled = labels.iter().flatten();
                labelled.for_each(|&label| *sizes.entry(label).or_default() += 1);
                sizes.values().map(|size| size * (size - 1) / 2).sum()
            }
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
    /// Reads a set.
    ///
    /// # Errors
    /// A line that cannot be used, by its number; a file that cannot be read.
    pub(super) fn read(
        path: &Path,
        truth: Option<&Path>,
        by_label: bool,
    ) -> Result<Labelled, Failure> {
        if truth.is_none() && !by_label {
            return read_pairs(path);
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
        let truth = match truth {
            Some(path) => Truth::Pairs(read_truth(path, &ids)?),
            None => Truth::Labels(labels.numbers),
        };
        Ok(Labelled::Corpus { texts, truth })
    }

    /// Pairs that are near-duplicates.
    pub(super) fn relevant_count(&self) -> u64 {
        match self {
            Labelled::Pairs { labels, .. } => labels.iter().filter(|&&label| label).count() as u64,
            Labelled::Corpus { truth, .. } => truth.count(),
        }
    }

    /// What the set holds, for people.
    pub(super) fn describe(&self) -> String {
        let relevant = self.relevant_count();
        match self {
            Labelled::Pairs { labels, .. } => {
                let pairs = counted(labels.len() as u64, "pair");
                format!("{pairs}, {relevant} of them near-duplicates")
            }
            Labelled::Corpus { texts, .. } => {
                let documents = counted(texts.len() as u64, "document");
                let pairs = counted(relevant, "pair");
                format!("{documents}, {pairs} of near-duplicates")
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
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn read_pairs(path: &Path) -> Result<Labelled, Failure> {
    let (mut a, mut b, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for_each_line(path, |line| {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let missing = "has no \"a\" and \"b\"; documents need --truth or --by-label";
        a.push(line.a.ok_or(missing)?);
        b.push(line.b.ok_or(missing)?);
        labels.push(match line.label {
            Some(Value::Bool(label)) => label,
            Some(Value::Number(label)) if label.as_u64() == Some(0) => false,
            Some(Value::Number(label)) if label.as_u64() == Some(1) => true,
            _ => return Err("\"label\" is not 0, 1, true or false".into()),
        });
        Ok(())
    })?;
    Ok(Labelled::Pairs { a, b, labels })
}

/// Reads pairs of ids; a first line of other words is a heading.
fn read_truth(path: &Path, ids: &HashMap<String, u32>) -> Result<HashSet<(u32, u32)>, Failure> {
    let mut pairs = HashSet::new();
    let mut is_first = true;
    for_each_line(path, |line| {
        let is_heading = std::mem::take(&mut is_first);
        let mut columns = line.split('\t');
        let (Some(a), Some(b)) = (columns.next(), columns.next()) else {
            return Err("is not two ids separated by a tab".into());
        };
        let number = |id: &str| {
            let number = ids.get(id).copied();
            number.ok_or_else(|| format!("no document has the id {id:?}"))
        };
        match (number(a), number(b)) {
            (Ok(a), Ok(b)) if a == b => return Err("pairs a document with itself".into()),
            (Ok(a), Ok(b)) => {
                pairs.insert((a.min(b), a.max(b)));
            }
            (Err(_), Err(_)) if is_heading => {}
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
        Ok(())
    })?;
    Ok(pairs)
}

/// Calls `visit` with each line that is not blank.
fn for_each_line(
    path: &Path,
    mut visit: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), Failure> {
    let mut lines = simidx_input::open::<u64>(path, Some(Format::Lines))?;
    while let Some(record) = lines.next_record() {
        if let Content::Text(line) = record?.content {
            visit(&line).map_err(|message| {
                let (source, place) = lines.place();
                refused(source, place, message)
            })?;
        }
    }
    Ok(())
}
