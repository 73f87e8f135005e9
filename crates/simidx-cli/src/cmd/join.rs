//! `simidx join`: the matches of a whole batch of queries, found in one run.

mod similar;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use simidx::batch::{JoinOptions, JoinStrategy};
use simidx::index::QueryStats;
use simidx::set::Question;
use simidx::{Error, Fingerprints, IdBuf, IdKind, Match, Set};
use simidx_input::{FieldKind, Format};
use simidx_text::similar::are_keys;

use crate::cmd::Answer;
use crate::support::answers::{AnswerArgs, Answers};
use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, IndexArgs, is_index};
use crate::support::inputs::{FieldArgs, InputFiles};
use crate::support::messages::{cost, counted, say, say_nothing_near};
use crate::support::options::{
    Choice, DISTANCES, InputFormat, ResourceArgs, distance_or, heading, input_format, one_of,
};
use crate::support::pipeline::PipelineFiles;
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::queries::{Query, QueryKind, QueryReader};
use crate::support::similarity::{DEFAULT_LEAST, begins_with_document, least};
use crate::support::table::{Column, Lines, TableArgs, id_kind};

/// The head of `simidx join --help` and of its man page.
pub(crate) const HELP: &str = "\
Find all matches of a whole batch of queries in one run; exit code 1 if there is none.

The queries are fingerprints, or documents, which are fingerprinted as those of the index were. The output is that of \
`simidx query`. Large batches are faster this way: one pass over the compressed fingerprints can answer all of them.

Documents in a file are compared by sketches if the index has them (`simidx build --sketch`), unless an option concerns \
fingerprints. From a pipe this needs --similarity. Each line then is the id of the \
query, the id of the match, and an estimate of the Jaccard similarity of their runs of words. The standard error of an \
estimate of 0.8 is 0.04 with 256 bits, 0.05 with 128. The book says what similar means: \"Similarity and distance\". \
With -o the output is a table with named columns, among them the position of the query in its file, from 0.

Examples:
  simidx join crawl.simidx new.tsv > matches.tsv
  simidx join crawl.simidx new.jsonl --query-ids --limit 5
  simidx join monday.simidx tuesday.simidx queries.hex -k 2 --stats
  simidx join crawl.simidx new.jsonl --similarity 0.8 -o matches.parquet
  simidx fingerprint new.jsonl | simidx join crawl.simidx -";

/// Arguments of `simidx join`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// File of the queries; `-` is standard input
    #[arg(value_name = "QUERIES")]
    queries: PathBuf,
    /// Format of the queries [default: by the extension, else by the first bytes; numbers that may be hex or dec are hex]
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    files: PipelineFiles,
    /// Largest distance [default: the one that the index was built for; the smallest of several]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// How to find the matches; all ways find the same ones. With --limit, auto finds the nearest matches of each query
    #[arg(long, value_parser = one_of(STRATEGIES), value_name = "STRATEGY", default_value = "auto")]
    strategy: JoinStrategy,
    /// Smallest Jaccard similarity of two texts, estimated by the sketches of the index [default: 0.8]
    #[arg(long, value_name = "J", value_parser = least, conflicts_with_all = ABOUT_FINGERPRINTS)]
    similarity: Option<f64>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    style: AnswerArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Options that make fingerprints the subject.
const ABOUT_FINGERPRINTS: [&str; 3] = ["max_distance", "strategy", "query_ids"];

/// How the matches of a batch are found.
const STRATEGIES: [Choice<JoinStrategy>; 3] = [
    (
        "auto",
        "The one that is expected to be faster",
        JoinStrategy::Auto,
    ),
    (
        "stream",
        "Read all fingerprints once and compare them with tables of the queries",
        JoinStrategy::Stream,
    ),
    (
        "probe",
        "Probe the tables of the index for each query",
        JoinStrategy::Probe,
    ),
];

/// Runs the command.
pub(crate) fn run(mut args: Args, mode: ProgressMode) -> Answer {
    let explicit_ids = args.style.query_ids;
    if args.table.path().is_some() {
        (args.style.query_ids, args.style.query_rows) = (true, true);
    }
    let inputs = || args.files();
    args.table.write(inputs, |sheet| {
        let set = args.exclude.apply(args.index.open()?)?;
        let least = args.least(&set, explicit_ids)?;
        let mut out = Lines::new(sheet, &args.columns(set.id_kind(), least.is_some()))?;
        let found = match least {
            Some(least) => similar::join(&set, &args, least, &mut out)?,
            None => join(&set, &args, &mut out, mode)?,
        };
        out.finish()?;
        Ok(found)
    })
}

fn join(set: &Set, args: &Args, out: &mut dyn Write, mode: ProgressMode) -> Answer {
    let options = args.options(set)?;
    match (args.style.limit, args.strategy) {
        (Some(limit), JoinStrategy::Auto) => nearest(set, args, options.distance, (limit, out)),
        _ => all(set, args, &options, out, mode),
    }
}

/// Finds all matches, for all queries together.
fn all(
    set: &Set,
    args: &Args,
    options: &JoinOptions,
    out: &mut dyn Write,
    mode: ProgressMode,
) -> Answer {
    let queries = Queries::read(set, args)?;
    let count = counted(queries.fingerprints.len() as u64, "query");
    let bar = mode.spinner(format!("joining {count}"));
    let mut printer = Printer::new(set, &queries, args.answer_style(), out);
    let mut failure = None;
    let joined = set.join(&queries.fingerprints, options, |number, found| {
        printer.take(number, found).map_err(|error| {
            // Kept aside: the error of the library has no room for it.
            failure = Some(error);
            io::Error::other("the output failed").into()
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let report = joined?;
    printer.finish()?;
    bar.finish_and_clear();
    say_nothing_near(queries.without_features.len() as u64);
    if args.style.stats {
        let strategy = match report.strategy {
            JoinStrategy::Probe => "probe",
            _ => "stream",
        };
        let cost = cost(report.stats);
        say(format_args!("{count} by {strategy}: {cost}"));
    }
    Ok(printer.found)
}

/// Finds the nearest matches of each query by itself, because all matches of a large distance would be many times as many.
fn nearest(
    set: &Set,
    args: &Args,
    max_distance: u32,
    (limit, out): (u64, &mut dyn Write),
) -> Answer {
    let question = Question::Nearest {
        count: usize::try_from(limit).unwrap_or(usize::MAX),
        max_distance,
    };
    let mut answers = Answers::new(set, question, args.answer_style(), out);
    let mut queries = args.queries(set)?;
    while let Some(batch) = queries.next_batch(|| Ok(()))? {
        answers.answer(&batch)?;
    }
    answers.flush()?;
    if args.style.stats {
        let count = counted(answers.query_count, "query");
        say(format_args!("{count} by probe: {}", cost(answers.total)));
    }
    Ok(answers.is_match)
}

impl Args {
    /// Returns the least similarity if texts are compared: if one is given, or if no option is about fingerprints, the index
    /// has sketches, and the queries are documents in a file.
    fn least(&self, set: &Set, explicit_ids: bool) -> Result<Option<f64>, Failure> {
        if self.similarity.is_some() {
            return Ok(self.similarity);
        }
        let is_auto = self.strategy == JoinStrategy::Auto && self.max_distance.is_none();
        let is_about_fingerprints = explicit_ids || !is_auto;
        if is_about_fingerprints || !self.queries.is_file() {
            return Ok(None);
        }
        match set.sketch_parameters() {
            Ok(Some(parameters)) if !are_keys(parameters) => {}
            Err(Error::Segment { .. }) => {
                say(
                    "fingerprints are compared, since not all indexes have sketches of the same kind",
                );
                return Ok(None);
            }
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let options = self.fields.options(set.width());
        let format = self.input.flatten();
        let queries = simidx_input::open_with(self.query_path()?, format, &options);
        // A bad file, or one of numbers that may be hex or dec, is reported where it is read.
        let first = queries.map(begins_with_document);
        let is_document = matches!(first, Ok(Ok(Some(true))));
        Ok(is_document.then_some(DEFAULT_LEAST))
    }

    /// Returns all files that are read.
    fn files(&self) -> Result<InputFiles, Failure> {
        let mut files = InputFiles::new(self.index.files()?);
        files.add([&self.queries]);
        files.add(self.files.paths());
        files.add(self.exclude.paths());
        Ok(files)
    }

    /// Returns the columns of a table of matches in indexes with ids of this kind: those of a line, and the rows of the
    /// queries.
    fn columns(&self, kind: IdKind, are_similar: bool) -> Vec<Column> {
        let (text, number) = (FieldKind::Text, FieldKind::Number);
        let (query_id, query_row) = (("query_id", text), ("query_row", number));
        if !are_similar {
            let query = ("query_fingerprint", text);
            let found = [("fingerprint", text), ("distance", number)];
            let ids = [("id", id_kind(kind)), query_id, query_row];
            return [&[query], &found[..], &ids].concat();
        }
        let found = match kind {
            IdKind::None => ("fingerprint", text),
            kind => ("id", id_kind(kind)),
        };
        vec![query_id, found, ("estimate", FieldKind::Real), query_row]
    }

    /// Begins to read the queries.
    fn queries<'a>(&'a self, set: &'a Set) -> Result<QueryReader<'a>, Failure> {
        let mut options = self.fields.options(set.width());
        options.fallback = Some(Format::Hex);
        let format = (self.input.flatten(), &options);
        let source = (set, &self.files);
        QueryReader::open(self.query_path()?, format, QueryKind::Either, source)
    }

    /// Returns the style of the answers, without their costs, which are printed together at the end.
    fn answer_style(&self) -> AnswerArgs {
        AnswerArgs {
            stats: false,
            ..self.style
        }
    }

    /// Returns the file of the queries.
    ///
    /// # Errors
    /// An index in its place.
    fn query_path(&self) -> Result<&Path, Failure> {
        let path = &self.queries;
        if self.input.is_none() && is_index(path).map_err(Failure::at(path))? {
            let message = "is an index; the file of the queries comes last";
            return Err(Failure::new(message).about(path.display()));
        }
        Ok(path)
    }

    fn options(&self, set: &Set) -> Result<JoinOptions, Failure> {
        let mut options = JoinOptions::default();
        options.distance = distance_or(self.max_distance, set.width(), set.max_distance())?;
        options.strategy = self.strategy;
        options.memory = Some(self.resources.memory_limit());
        options.temp_dir = self.resources.temp_dir.clone();
        Ok(options)
    }
}

/// All queries of the batch.
struct Queries {
    fingerprints: Fingerprints,
    /// The ids of the queries up to the last one that has one, if ids are to be printed.
    ids: Vec<Option<IdBuf>>,
    /// The numbers of the queries that are documents without features, ascending.
    without_features: Vec<usize>,
}

impl Queries {
    fn read(set: &Set, args: &Args) -> Result<Self, Failure> {
        let names_queries = args.style.json || args.style.query_ids;
        let mut queries = Queries {
            fingerprints: Fingerprints::new(set.width()),
            ids: Vec::new(),
            without_features: Vec::new(),
        };
        let mut reader = args.queries(set)?;
        while let Some(batch) = reader.next_batch(|| Ok(()))? {
            for query in batch {
                let number = queries.fingerprints.len();
                queries.fingerprints.push(query.fingerprint);
                if query.is_without_features {
                    queries.without_features.push(number);
                }
                if names_queries && query.id.is_some() {
                    queries.ids.resize(number, None);
                    queries.ids.push(query.id);
                }
            }
        }
        Ok(queries)
    }

    fn get(&self, number: usize) -> Option<Query> {
        Some(Query {
            fingerprint: self.fingerprints.get(number)?,
            id: self.ids.get(number).cloned().flatten(),
            is_without_features: self.without_features.binary_search(&number).is_ok(),
            row: number as u64,
        })
    }
}

/// Prints matches in the format of `simidx query`.
struct Printer<'a> {
    set: &'a Set,
    queries: &'a Queries,
    style: AnswerArgs,
    out: &'a mut dyn Write,
    /// The current query and its number. Its object is printed when the next one begins.
    query: Option<Query>,
    number: usize,
    /// The matches of its object, which are printed together.
    matches: Vec<u8>,
    /// Number of its matches.
    match_count: u64,
    found: bool,
}

impl<'a> Printer<'a> {
    fn new(set: &'a Set, queries: &'a Queries, style: AnswerArgs, out: &'a mut dyn Write) -> Self {
        Printer {
            set,
            queries,
            style,
            out,
            query: queries.get(0),
            number: 0,
            matches: Vec::new(),
            match_count: 0,
            found: false,
        }
    }

    fn take(&mut self, number: usize, found: Match<u128>) -> Result<(), Failure> {
        self.go_on_to(number)?;
        let query = self.query.as_ref();
        let Some(query) = query.filter(|query| !query.is_without_features) else {
            return Ok(());
        };
        self.found = true;
        let others = self.match_count;
        self.match_count += 1;
        if self.style.limit.is_some_and(|limit| others >= limit) {
            return Ok(());
        }
        let (fingerprint, distance) = (found.fingerprint, found.distance);
        let mut ids = self.set.ids_of(fingerprint)?.peekable();
        if ids.peek().is_none() && self.set.id_kind() != IdKind::None {
            return Err(self.missing(fingerprint));
        }
        let found = (fingerprint, distance, self.set.width());
        let (style, of_query) = (self.style, (query, others));
        match style.json {
            true => style.write_match(of_query, found, ids, &mut self.matches)?,
            // A match can have more ids than there is memory for.
            false => style.write_match(of_query, found, ids, &mut self.out)?,
        }
        Ok(())
    }

    /// In an index with ids, a match without one is missing from table 0: the index is damaged.
    fn missing(&self, member: u128) -> Failure {
        let names = self.set.names().join(", ");
        let message = format!(
            "damaged index: no table 0 holds {}, which another table holds",
            self.set.width().to_hex(member)
        );
        Failure::new(message).about(names)
    }

    /// Prints the objects of the queries before one.
    fn go_on_to(&mut self, number: usize) -> Result<(), Error> {
        while self.number < number {
            if let Some(query) = self.query.as_ref().filter(|_| self.style.json) {
                let (width, stats) = (self.set.width(), QueryStats::default());
                self.style
                    .write_answer(query, width, stats, &mut self.out, |out| {
                        Ok(out.write_all(&self.matches)?)
                    })?;
            }
            self.matches.clear();
            self.match_count = 0;
            self.number += 1;
            self.query = self.queries.get(self.number);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.go_on_to(self.queries.fingerprints.len())?;
        Ok(self.out.flush()?)
    }
}
