//! `simidx join` of documents: those that are similar to documents of an index by sketches, and by their texts if these are
//! given.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Value, json};
use simidx::{Error, IdBuf, IdKind, Set, Width};
use simidx_input::{Content, Format, ReadOptions};
use simidx_text::ParallelFingerprinter;
use simidx_text::compare::FeatureSet;
use simidx_text::similar::{MOST_CHANCE_MATCHES, SketchMatch, SketchSearch, TextSketch};

use super::Args;
use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::{Diagnostics, OnError};
use crate::support::messages::{counted, say};
use crate::support::output::{Column, id_to_json, write_object};
use crate::support::records::id_of_kind;

/// The most documents, and bytes of text, that are sketched together.
const BATCH_DOCUMENTS: usize = 4096;
const BATCH_TEXT_LEN: usize = 16 << 20;

/// Margin in standard errors where texts decide.
const MARGIN_OF_TEXTS: f64 = 2.0;

/// Runs the command.
pub(super) fn join(set: &Set, args: &Args, least: f64, out: &mut dyn Write) -> Answer {
    let has_texts = args.similar.texts.is_some();
    if has_texts && set.id_kind() == IdKind::None {
        let message = "--texts finds documents by their ids, and the index has none";
        return Err(Failure::new(message).about(set.names().join(", ")));
    }
    let default_margin = if has_texts { MARGIN_OF_TEXTS } else { 0.0 };
    let margin = args.similar.margin.unwrap_or(default_margin);
    let search = SketchSearch::new(set, least, margin);
    let search = search.map_err(|error| match error {
        Error::Options(error) => Failure::new(error.to_string()).about(set.names().join(", ")),
        other => other.into(),
    })?;
    let texts = args.similar.texts.as_deref();
    let texts = texts
        .map(|texts| text_files(texts, args, set.width()))
        .transpose()?;
    let pipeline = search.sketcher().pipeline()?;
    let fingerprinter = pipeline.parallel(simidx::Width::W64)?;
    let mut joined = Joined {
        set,
        search: &search,
        fingerprinter: &fingerprinter,
        args,
        out: RefCell::new(out),
        least,
        room: Room::of(args.resources.memory_limit(), &search, texts.as_deref()),
        texts,
        queries: Vec::new(),
        found: Vec::new(),
        feature_len: 0,
        compared: 0,
        query_count: 0,
        match_count: 0,
        missing: 0,
    };
    joined.read_queries()?;
    joined.finish_part()?;
    if let (Some(texts), missing @ 1..) = (&args.similar.texts, joined.missing) {
        say(format_args!(
            "{} left out: {} has no documents with their ids",
            counted(missing, "match"),
            texts.display()
        ));
    }
    let by_chance = search.chance_matches();
    if by_chance > MOST_CHANCE_MATCHES {
        let rest = match has_texts {
            true => {
                " by their sketches, and their texts were compared: longer sketches or a smaller --margin take less time"
            }
            false => ": the sketches are short for so many records and so low a similarity",
        };
        say(format_args!(
            "by chance about {by_chance:.2} documents look similar to an unrelated query{rest}"
        ));
    }
    if args.style.stats {
        say(format_args!(
            "{} by {} sketches: {}",
            counted(joined.query_count, "query"),
            joined.compared,
            counted(joined.match_count, "match")
        ));
    }
    Ok(joined.match_count > 0)
}

/// A file of texts, and its format if it cannot be detected.
type TextFile = (PathBuf, Option<Format>);

/// Returns the files of `--texts`. If the format of a file cannot be detected, it is that of the queries.
fn text_files(texts: &Path, args: &Args, width: Width) -> Result<Vec<TextFile>, Failure> {
    let options = args.fields.options(width);
    let of_queries = args.input.flatten();
    let is_told =
        |path: &Path| path.is_file() && simidx_input::open_with(path, None, &options).is_ok();
    let paths = simidx_input::expand(texts, None)?.into_iter();
    let with_format = |path: PathBuf| {
        let format = of_queries.filter(|_| !is_told(&path));
        (path, format)
    };
    Ok(paths.map(with_format).collect())
}

/// Limits of the data that is held at a time.
struct Room {
    /// Number of queries in a search.
    queries: usize,
    /// Number of matches after which queries are answered.
    matches: usize,
    /// Bytes of features of the queries in a search, and also of those that wait for their texts.
    features: usize,
}

/// Bytes of a match whose texts are compared: itself, its id and its place in the list of ids.
const COMPARED_MATCH_LEN: u64 = 256;

impl Room {
    /// Returns the limits for this memory.
    fn of(memory: u64, search: &SketchSearch<'_>, texts: Option<&[TextFile]>) -> Self {
        let share = memory / 4;
        let (matches, features) = match texts {
            // No features are kept.
            None => (share as usize / size_of::<Found>(), usize::MAX),
            Some(files) if files.iter().all(|(path, _)| path.is_file()) => {
                ((share / COMPARED_MATCH_LEN) as usize, share as usize)
            }
            // A pipe cannot be read twice, so all queries wait for its one reading.
            Some(_) => (usize::MAX, usize::MAX),
        };
        Room {
            queries: search.batch_len(share),
            matches: matches.max(1),
            features,
        }
    }
}

/// The queries that are not yet answered, and their matches.
struct Joined<'a> {
    set: &'a Set,
    search: &'a SketchSearch<'a>,
    fingerprinter: &'a ParallelFingerprinter,
    args: &'a Args,
    /// The output of the matches.
    out: RefCell<&'a mut dyn Write>,
    least: f64,
    room: Room,
    /// The texts that matches are compared with, if they are given.
    texts: Option<Vec<TextFile>>,
    queries: Vec<Query>,
    found: Vec<Found>,
    /// Bytes of the features of the queries.
    feature_len: usize,
    /// Number of compared sketches.
    compared: u64,
    /// Number of answered queries, and of their matches.
    query_count: u64,
    match_count: u64,
    /// Number of matches without a text.
    missing: u64,
}

/// A document of the queries.
struct Query {
    id: IdBuf,
    /// Whether the id is its own, and not its position.
    is_named: bool,
    /// Its features, if they are needed to compare texts.
    features: Option<FeatureSet>,
}

/// A match of a query.
struct Found {
    /// The match by sketches, with the number of the query among all.
    sketches: SketchMatch,
    /// The similarity of the texts, if they are known.
    similarity: Option<f64>,
}

/// A document of a file.
struct Document {
    id: IdBuf,
    /// Whether the id is its own, and not its position.
    is_named: bool,
    text: String,
}

impl Joined<'_> {
    /// Reads all queries and searches for as many at a time as there is memory for. Each search is answered at once, unless
    /// texts are compared, for which queries wait.
    fn read_queries(&mut self) -> Result<(), Failure> {
        let (mut queries, mut sketches, mut waiting_len) = (Vec::new(), Vec::new(), 0);
        let keeps_features = self.texts.is_some();
        let path = self.args.query_path()?;
        let format = self.args.input.flatten();
        let (fingerprinter, sketcher) = (self.fingerprinter, self.search.sketcher());
        let options = self.args.fields.options(self.set.width());
        for_each_batch(path, format, &options, &mut 0, |documents| {
            let sketch = |document: &Document| {
                let set = fingerprinter.with(|f| sketcher.feature_set(f, &document.text));
                let sketch = sketcher.sketch_of(&set);
                (sketch, keeps_features.then_some(set))
            };
            let made: Vec<_> = documents.par_iter().map(sketch).collect();
            for (document, (sketch, features)) in documents.into_iter().zip(made) {
                waiting_len += features.as_ref().map_or(0, feature_len);
                sketches.push(sketch);
                queries.push(Query {
                    id: document.id,
                    is_named: document.is_named,
                    features,
                });
                if queries.len() >= self.room.queries || waiting_len >= self.room.features {
                    waiting_len = 0;
                    let part = (std::mem::take(&mut queries), std::mem::take(&mut sketches));
                    self.search_for(part)?;
                }
            }
            Ok(())
        })?;
        self.search_for((queries, sketches))
    }

    /// Finds the matches of queries, and drops the features of queries without a match.
    fn search_for(
        &mut self,
        (mut queries, mut sketches): (Vec<Query>, Vec<TextSketch>),
    ) -> Result<(), Failure> {
        let (first, start) = (self.queries.len(), self.found.len());
        let (found, room) = (&mut self.found, self.room.matches);
        let searched = self.search.for_each_match(&sketches, |mut one| {
            if found.len() >= room && (start > 0 || queries.len() > 1) {
                let (what, limit) = ("matches", room as u64);
                return Err(Error::LimitReached { what, limit });
            }
            one.query += first;
            found.push(Found {
                sketches: one,
                similarity: None,
            });
            Ok(())
        });
        self.compared += self.set.record_count() * u64::from(!queries.is_empty());
        match searched {
            Ok(()) => {}
            Err(Error::LimitReached { .. }) if start > 0 || queries.len() > 1 => {
                self.found.truncate(start);
                if start > 0 {
                    self.finish_part()?;
                    return self.search_for((queries, sketches));
                }
                let half = queries.len() / 2;
                let rest = (queries.split_off(half), sketches.split_off(half));
                self.search_for((queries, sketches))?;
                return self.search_for(rest);
            }
            Err(error) => return Err(error.into()),
        }
        // Those of a query by their estimates, equal ones in the order of the index.
        self.found[start..].sort_by_key(|found| (found.sketches.query, found.sketches.distance));
        let mut is_found = vec![false; queries.len()];
        for found in &self.found[start..] {
            is_found[found.sketches.query - first] = true;
        }
        for (query, is_found) in queries.iter_mut().zip(is_found) {
            query.features.take_if(|_| !is_found);
            self.feature_len += query.features.as_ref().map_or(0, feature_len);
        }
        self.queries.append(&mut queries);
        let is_full =
            self.found.len() >= self.room.matches / 2 || self.feature_len >= self.room.features;
        match is_full || self.texts.is_none() {
            true => self.finish_part(),
            false => Ok(()),
        }
    }

    /// Compares the texts of the matches so far, if these are given, and answers.
    fn finish_part(&mut self) -> Result<(), Failure> {
        if !self.found.is_empty() {
            self.verify()?;
        }
        self.hand_over()
    }

    /// Compares the texts of the matches, if these are given, and keeps the similar ones.
    fn verify(&mut self) -> Result<(), Failure> {
        let Some(texts) = &self.texts else {
            return Ok(());
        };
        let mut wanted: HashMap<IdBuf, Vec<usize>> = HashMap::new();
        for (number, found) in self.found.iter().enumerate() {
            if let Some(id) = self.id(&found.sketches)? {
                wanted.entry(id).or_default().push(number);
            }
        }
        let (kind, sketcher) = (self.set.id_kind(), self.search.sketcher());
        let mut number = 0;
        let options = self.args.fields.options(self.set.width());
        for (path, format) in texts {
            for_each_batch(path, *format, &options, &mut number, |documents| {
                let compare = |document: &Document| {
                    let numbers = wanted.get(&id_of_kind(document.id.clone(), kind)?)?;
                    let set = self
                        .fingerprinter
                        .with(|f| sketcher.feature_set(f, &document.text));
                    let similarity = |&number: &usize| {
                        let query = &self.queries[self.found[number].sketches.query];
                        let features = query.features.as_ref();
                        (number, features.map_or(0.0, |of| of.jaccard(&set)))
                    };
                    Some(numbers.iter().map(similarity).collect::<Vec<_>>())
                };
                let compared: Vec<_> = documents.par_iter().filter_map(compare).collect();
                for (number, similarity) in compared.into_iter().flatten() {
                    let known = &mut self.found[number].similarity;
                    // Of several documents with the id the most similar one.
                    *known = Some(known.map_or(similarity, |known| known.max(similarity)));
                }
                Ok(())
            })?;
        }
        let missing = self.found.iter().filter(|f| f.similarity.is_none());
        self.missing += missing.count() as u64;
        let least = self.least;
        self.found.retain(|found| {
            found
                .similarity
                .is_some_and(|similarity| similarity >= least)
        });
        let rank = |found: &Found| (found.sketches.query, -found.similarity.unwrap_or_default());
        self.found.sort_by(|a, b| {
            let ((a, x), (b, y)) = (rank(a), rank(b));
            a.cmp(&b).then(x.total_cmp(&y))
        });
        Ok(())
    }

    /// Answers the queries so far, and forgets them.
    fn hand_over(&mut self) -> Result<(), Failure> {
        self.match_count += self.print()?;
        self.query_count += self.queries.len() as u64;
        self.queries.clear();
        self.found.clear();
        self.feature_len = 0;
        Ok(())
    }

    /// Returns the id of the record of a match.
    fn id(&self, found: &SketchMatch) -> Result<Option<IdBuf>, Failure> {
        Ok(self.set.id_of_record(found.segment, found.record)?)
    }

    /// Returns the id of the record of a match, or its fingerprint if the index has no ids.
    fn name(&self, found: &SketchMatch) -> Result<(String, &'static str, Value), Failure> {
        if let Some(id) = self.id(found)? {
            return Ok((Column::of(&id).to_string(), "id", id_to_json(id.as_id())));
        }
        let (fingerprint, _) = self.set.record(found.segment, found.record)?;
        let hex = self.set.width().to_hex(fingerprint);
        Ok((hex.clone(), "fingerprint", hex.into()))
    }

    /// Prints the matches of each query, at most `--limit`, and returns their number.
    fn print(&self) -> Result<u64, Failure> {
        let args = self.args;
        let (limit, mut count) = (args.style.limit.unwrap_or(u64::MAX), 0);
        let mut out = self.out.borrow_mut();
        let mut matches = self.found.iter().peekable();
        let bits = self.search.sketcher().parameters().bits();
        for (number, query) in self.queries.iter().enumerate() {
            let (mut listed, mut rank) = (Vec::new(), 0);
            let row = self.query_count + number as u64;
            while let Some(found) = matches.next_if(|found| found.sketches.query == number) {
                rank += 1;
                if rank > limit {
                    continue;
                }
                count += 1;
                let (text, key, name) = self.name(&found.sketches)?;
                let estimate = found.sketches.estimate(bits);
                if args.style.json {
                    let mut object = json!({
                        (key): name,
                        "estimate": rounded(estimate.similarity),
                        "standard_error": rounded(estimate.standard_error),
                    });
                    if let Some(similarity) = found.similarity {
                        object["similarity"] = rounded(similarity).into();
                    }
                    listed.push(object);
                } else {
                    let shown = rounded(found.similarity.unwrap_or(estimate.similarity));
                    let id = Column::of(&query.id);
                    match (args.style.query_rows, query.is_named) {
                        (false, _) => write!(out, "{id}\t{text}\t{shown:.4}")?,
                        (true, true) => write!(out, "{id}\t{text}\t{shown:.4}\t{row}")?,
                        (true, false) => write!(out, "\t{text}\t{shown:.4}\t{row}")?,
                    }
                    writeln!(out)?;
                }
            }
            if args.style.json {
                let id = id_to_json(query.id.as_id());
                write_object(*out, &json!({ "id": id, "matches": listed }))?;
            }
        }
        out.flush()?;
        Ok(count)
    }
}

/// The size of features in bytes.
fn feature_len(features: &FeatureSet) -> usize {
    size_of_val(features.hashes())
}

/// Rounds to four digits after the point.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Passes the documents of a file to `take`, many at a time. Without a format it is detected. A document without an id gets
/// its number among all files, as in a build; `next` is the number of the next document.
fn for_each_batch(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
    next: &mut u64,
    mut take: impl FnMut(Vec<Document>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut reader = simidx_input::open_with(path, format, options)?;
    let mut diagnostics = Diagnostics::new(OnError::Stop);
    diagnostics.note_guess(&*reader);
    let (mut documents, mut text_len) = (Vec::new(), 0);
    while let Some(record) = reader.next() {
        let record = record?;
        let Content::Text(text) = record.content else {
            let message = "is a fingerprint; --similarity compares documents, -k fingerprints";
            return Err(Failure::of_record(&*reader, message));
        };
        if record.has_faults {
            diagnostics.note_faults(reader.place());
        }
        let is_named = record.id.is_some();
        let id = record.id.unwrap_or(IdBuf::Number(*next));
        *next += 1;
        text_len += text.len();
        documents.push(Document { id, is_named, text });
        if documents.len() >= BATCH_DOCUMENTS || text_len >= BATCH_TEXT_LEN {
            take(std::mem::take(&mut documents))?;
            text_len = 0;
        }
    }
    take(documents)?;
    diagnostics.tell();
    Ok(())
}
