//! `simidx join` of documents: those that are similar to documents of an index, by sketches.

use std::io::Write;

use serde_json::{Value, json};
use simidx::{Error, IdBuf, Set};
use simidx_text::similar::{MOST_CHANCE_MATCHES, SketchMatch, SketchSearch, TextSketch};

use super::Args;
use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::messages::{counted, say};
use crate::support::output::{Column, id_to_json, write_object};
use crate::support::progress::ProgressMode;
use crate::support::records::{Each, Fingerprinted, Refusal, Wanted, read_file};

/// The share of the memory for queries, and also for matches, is one part in this number.
const MEMORY_PARTS: u64 = 4;

/// Runs the command.
pub(super) fn join(set: &Set, args: &Args, least: f64, out: &mut dyn Write) -> Answer {
    let search = SketchSearch::new(set, least, 0.0);
    let search = search.map_err(|error| match error {
        Error::Options(error) => Failure::new(error.to_string()).about(set.names().join(", ")),
        other => other.into(),
    })?;
    let share = args.resources.memory_limit() / MEMORY_PARTS;
    let mut joined = Joined {
        set,
        search: &search,
        args,
        out,
        most_queries: search.batch_len(share),
        most_matches: (share as usize / size_of::<SketchMatch>()).max(1),
        compared: 0,
        query_count: 0,
        match_count: 0,
    };
    joined.read_queries()?;
    let by_chance = search.chance_matches();
    if by_chance > MOST_CHANCE_MATCHES {
        say(format_args!(
            "by chance about {by_chance:.4} documents look similar to an unrelated query: the sketches are short for this many \
             records and this low a similarity",
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

/// The search, and the counts of what is answered.
struct Joined<'a> {
    set: &'a Set,
    search: &'a SketchSearch<'a>,
    args: &'a Args,
    /// The output of the matches.
    out: &'a mut dyn Write,
    /// Largest numbers of queries in a search, and of their matches.
    most_queries: usize,
    most_matches: usize,
    /// Number of compared sketches.
    compared: u64,
    /// Number of answered queries, and of their matches.
    query_count: u64,
    match_count: u64,
}

/// The id of a document of the queries.
struct Query {
    id: IdBuf,
    /// Whether the id is its own, and not its position.
    is_named: bool,
}

impl Joined<'_> {
    /// Reads all queries, and answers as many at a time as there is memory for.
    fn read_queries(&mut self) -> Result<(), Failure> {
        let (mut queries, mut sketches) = (Vec::new(), Vec::new());
        let sketcher = self.search.sketcher().clone();
        let pipeline = sketcher.pipeline()?;
        let options = self.args.fields.options(self.set.width());
        let file = (self.args.query_path()?, self.args.input.flatten());
        let mut each = Each(Wanted::SketchAlone(sketcher), |record: Fingerprinted| {
            let Some(sketch) = record.sketch else {
                let message = "is a fingerprint; --similarity compares documents, -k fingerprints";
                return Err(Refusal::Input(message.into()));
            };
            queries.push(Query {
                is_named: record.id.is_some(),
                id: record.id.unwrap_or(IdBuf::Number(record.position)),
            });
            sketches.push(sketch);
            if queries.len() >= self.most_queries {
                self.answer(&queries, &sketches)?;
                queries.clear();
                sketches.clear();
            }
            Ok(())
        });
        // A bar would mix with the matches.
        let reading = (ProgressMode::Never, "joining", "documents");
        read_file(file, &options, &pipeline, reading, &mut each)?;
        self.answer(&queries, &sketches)?;
        Ok(self.out.flush()?)
    }

    /// Finds and prints the matches of queries; half of the queries at a time if the matches take too much memory.
    fn answer(&mut self, queries: &[Query], sketches: &[TextSketch]) -> Result<(), Error> {
        if queries.is_empty() {
            return Ok(());
        }
        let mut found: Vec<SketchMatch> = Vec::new();
        let limit = if queries.len() > 1 {
            self.most_matches
        } else {
            usize::MAX
        };
        let searched = self.search.for_each_match(sketches, |one| {
            if found.len() >= limit {
                let (what, limit) = ("matches", limit as u64);
                return Err(Error::LimitReached { what, limit });
            }
            found.push(one);
            Ok(())
        });
        self.compared += self.set.record_count();
        if let Err(Error::LimitReached { .. }) = searched {
            drop(found);
            let half = queries.len() / 2;
            self.answer(&queries[..half], &sketches[..half])?;
            return self.answer(&queries[half..], &sketches[half..]);
        }
        searched?;
        // Those of a query by their estimates, equal ones in the order of the index.
        found.sort_by_key(|found| (found.query, found.distance));
        let mut matches = found.as_slice();
        for (number, query) in queries.iter().enumerate() {
            let end = matches.partition_point(|found| found.query == number);
            let (own, others) = matches.split_at(end);
            self.print(query, own)?;
            matches = others;
        }
        Ok(())
    }

    /// Returns the id of the record of a match, or its fingerprint if the index has no ids.
    fn name(&self, found: &SketchMatch) -> Result<(String, &'static str, Value), Error> {
        if let Some(id) = self.set.id_of_record(found.segment, found.record)? {
            return Ok((Column::of(&id).to_string(), "id", id_to_json(id.as_id())));
        }
        let (fingerprint, _) = self.set.record(found.segment, found.record)?;
        let hex = self.set.width().to_hex(fingerprint);
        Ok((hex.clone(), "fingerprint", hex.into()))
    }

    /// Prints the matches of the next query, at most `--limit`.
    fn print(&mut self, query: &Query, matches: &[SketchMatch]) -> Result<(), Error> {
        let style = &self.args.style;
        let limit = style.limit.map_or(usize::MAX, |limit| limit as usize);
        let row = self.query_count;
        let bits = self.search.sketcher().parameters().bits();
        let mut listed = Vec::new();
        for found in matches.iter().take(limit) {
            self.match_count += 1;
            let (text, key, name) = self.name(found)?;
            let estimate = found.estimate(bits);
            let shown = rounded(estimate.similarity);
            if style.json {
                listed.push(json!({
                    (key): name,
                    "estimate": shown,
                    "standard_error": rounded(estimate.standard_error),
                }));
                continue;
            }
            let id = Column::of(&query.id);
            match (style.query_rows, query.is_named) {
                (false, _) => writeln!(self.out, "{id}\t{text}\t{shown:.4}")?,
                (true, true) => writeln!(self.out, "{id}\t{text}\t{shown:.4}\t{row}")?,
                (true, false) => writeln!(self.out, "\t{text}\t{shown:.4}\t{row}")?,
            }
        }
        if style.json {
            let id = id_to_json(query.id.as_id());
            write_object(self.out, &json!({ "id": id, "matches": listed }))?;
        }
        self.query_count += 1;
        Ok(())
    }
}

/// Rounds to four digits after the point.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
