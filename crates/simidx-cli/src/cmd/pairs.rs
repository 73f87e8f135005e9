//! `simidx pairs`: all pairs of fingerprints or records within a distance, or of documents with similar texts.

use std::io::{self, BufWriter, Write};

use indicatif::ProgressBar;
use serde_json::json;
use simidx::batch::{IdPair, Pair, PairFinder, PairOptions, id_pairs_with};
use simidx::{Error, IdBuf, Set, Width};
use simidx_text::dedup::{EqualTexts, Similarity};
use simidx_text::similar::SimilarPair;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::ExcludeArgs;
use crate::support::inputs::SourceArgs;
use crate::support::messages::say_without_features;
use crate::support::options::{
    Choice, DEFAULT_DISTANCE, DISTANCES, IdChoice, ResourceArgs, distance_or, one_of,
};
use crate::support::output::{Column, Stdout, id_to_json, stdout, write_object};
use crate::support::progress::{ProgressMode, Reading};
use crate::support::quantity::count;
use crate::support::records::{self, Each, Fingerprinted, Wanted};
use crate::support::similarity::{SimilarDocuments, SimilarityArgs};
use crate::support::transient::TransientBuilder;

/// Number of pairs between updates of the progress bar.
const SHOWN_EVERY: u64 = 1 << 12;

/// The head of `simidx pairs --help` and of its man page.
pub(crate) const HELP: &str = "\
Print all pairs of fingerprints or records within a distance, or of documents with similar texts.

Each pair is a line: the smaller member, the larger one and the distance, separated by tabs. With --similarity it is a \
line with the ids of two documents, the earlier one first, and their Jaccard similarity.

Examples:
  simidx pairs crawl.simidx > pairs.tsv
  simidx pairs crawl.simidx --by id --sort --json
  simidx pairs docs.jsonl -k 5 --count-only
  simidx pairs docs.jsonl --similarity 0.8 > similar.tsv";

/// Arguments of `simidx pairs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Largest distance of a pair [default: the one that the index was built for, the smallest of several; of records 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    #[command(flatten)]
    similarity: SimilarityArgs,
    /// What the members of a pair are
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Fingerprint, conflicts_with_all = ["similarity", "features"])]
    by: By,
    /// Ids of records, with --by id
    #[arg(long, value_parser = one_of(RECORD_IDS), value_name = "KIND", default_value = "auto", conflicts_with_all = ["similarity", "features"])]
    ids: IdChoice,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Sort the pairs by the smaller member, then by the larger one. Those of similar texts are in the order of the documents
    #[arg(long, conflicts_with_all = ["similarity", "features"])]
    sort: bool,
    /// Stop with exit code 2 if there are more than N pairs
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX))]
    max_pairs: Option<u64>,
    /// Print only the number of pairs
    #[arg(long)]
    count_only: bool,
    /// Print JSON: an object for each pair
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What the ids of records are.
const RECORD_IDS: [Choice<IdChoice>; 3] = [
    (
        "number",
        "The number in the id column, else the position of the record, from 0",
        IdChoice::Number,
    ),
    (
        "string",
        "The text in the id column; the position of a document that has none",
        IdChoice::String,
    ),
    (
        "auto",
        "string if the first record is a document or has an id, else number",
        IdChoice::Auto,
    ),
];

/// What the members of a pair are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Distinct fingerprints
    Fingerprint,
    /// Records, by their ids; records that share a fingerprint are pairs of distance 0
    Id,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    if let Some(similarity) = args.similarity.given() {
        return of_texts(&args, similarity, mode);
    }
    match args.source.open(&args.exclude)? {
        Some(set) => of_set(&set, &[], &args, mode),
        None => of_records(&args, mode),
    }
}

/// The pairs of indexes, and those of equal records that are in none.
fn of_set(set: &Set, equal: &[Vec<IdBuf>], args: &Args, mode: ProgressMode) -> Answer {
    let options = args.options(set.width(), set.max_distance())?;
    let mut printer = Printer::new(args, set.width(), mode);
    match args.by {
        By::Id => id_pairs_with(set, equal, &options, |pair| Ok(printer.ids(pair)?))?,
        By::Fingerprint => set.pairs(&options, |pair| Ok(printer.pair(pair)?))?,
    }
    printer.finish()
}

/// The pairs of records that are in no index.
fn of_records(args: &Args, mode: ProgressMode) -> Answer {
    let width = args.source.records.width;
    let options = args.options(width, DEFAULT_DISTANCE)?;
    let reading = (mode, "reading", "records");
    if args.by == By::Id {
        let (set, equal) = transient_index(args, reading)?;
        return of_set(&set, &equal, args, mode);
    }
    let input = &args.source.records;
    let mut finder = PairFinder::new(width, &options)?;
    let mut push = Each(Wanted::Fingerprint, |record: Fingerprinted| {
        match record.without_features {
            None => Ok(finder.push(record.fingerprint)?),
            Some(_) => Ok(()),
        }
    });
    let read = records::read(input, &input.pipeline.pipeline()?, reading, &mut push)?;
    say_without_features(read.without_features);
    let mut printer = Printer::new(args, width, mode);
    finder.finish(|pair| Ok(printer.pair(pair)?))?;
    printer.finish()
}

/// An index of records, and the ids of documents without features, group by group of equal ones.
type Transient = (Set, Vec<Vec<IdBuf>>);

/// An index of the records, and the ids of documents without features that are equal.
fn transient_index(args: &Args, reading: Reading) -> Result<Transient, Failure> {
    let distance = args.max_distance.unwrap_or(DEFAULT_DISTANCE);
    let mut builder = TransientBuilder::new(
        args.source.records.width,
        args.ids,
        distance,
        &args.resources,
    );
    let (mut texts, mut names) = (EqualTexts::default(), Vec::new());
    let mut each = Each(Wanted::Fingerprint, |record: Fingerprinted| {
        let identity = record.without_features;
        let id = builder.push(record)?;
        if let Some(identity) = identity {
            texts.push(names.len() as u64, identity);
            names.push(id);
        }
        Ok(())
    });
    let input = &args.source.records;
    let read = records::read(input, &input.pipeline.pipeline()?, reading, &mut each)?;
    say_without_features(read.without_features);
    let groups = texts.into_groups(2).into_iter();
    let name = |number: u64| names[number as usize].clone();
    let equal = groups.map(|group| group.into_iter().map(name).collect());
    let equal = equal.collect();
    Ok((builder.finish()?, equal))
}

/// Prints the pairs of documents with similar texts.
///
/// # Errors
/// What keeps the documents from being read, and more pairs than are wanted.
fn of_texts(args: &Args, similarity: Similarity, mode: ProgressMode) -> Answer {
    let source = (&args.source, &args.exclude);
    let mut documents = SimilarDocuments::read(source, similarity, false, &args.resources, mode)?;
    let mut printer = Printer::new(args, args.source.records.width, mode);
    if args.count_only {
        return printer.count_similar(&mut documents, mode);
    }
    let labels = &documents.labels;
    documents.candidates.for_each_pair(|pair| {
        args.check_count(printer.count + 1)?;
        let of = |document| labels.of(document);
        Ok::<_, Failure>(printer.similar([of(pair.a)?, of(pair.b)?], pair)?)
    })?;
    printer.finish()
}

impl Args {
    /// # Errors
    /// So many pairs are more than are wanted.
    fn check_count(&self, count: u64) -> Result<(), Failure> {
        match self.max_pairs {
            Some(limit) if count > limit => {
                let what = "pairs";
                Err(Error::LimitReached { what, limit }.into())
            }
            _ => Ok(()),
        }
    }

    fn options(&self, width: Width, default_distance: u32) -> Result<PairOptions, Failure> {
        let mut options = PairOptions::default();
        options.distance = distance_or(self.max_distance, width, default_distance)?;
        options.sorted = self.sort && !self.count_only;
        options.max_pairs = self.max_pairs;
        options.memory = Some(self.resources.memory_limit());
        options.temp_dir = self.resources.temp_dir.clone();
        Ok(options)
    }
}

/// Prints pairs, or counts them.
struct Printer<'a> {
    args: &'a Args,
    width: Width,
    out: BufWriter<Stdout>,
    line: Vec<u8>,
    count: u64,
    bar: ProgressBar,
}

impl<'a> Printer<'a> {
    fn new(args: &'a Args, width: Width, mode: ProgressMode) -> Self {
        let bar = mode.counter("pairs");
        bar.set_message("finding");
        Printer {
            args,
            width,
            out: stdout(),
            line: Vec::new(),
            count: 0,
            bar,
        }
    }

    fn pair(&mut self, pair: Pair) -> io::Result<()> {
        self.found();
        if self.args.count_only {
            return Ok(());
        }
        if self.args.json {
            let hex = |fingerprint| self.width.to_hex(fingerprint);
            let (smaller, larger) = (hex(pair.smaller), hex(pair.larger));
            let pair = json!({ "smaller": smaller, "larger": larger, "distance": pair.distance });
            return write_object(&mut self.out, &pair);
        }
        self.line.clear();
        self.width.extend_hex(pair.smaller, &mut self.line);
        self.line.push(b'\t');
        self.width.extend_hex(pair.larger, &mut self.line);
        writeln!(self.line, "\t{}", pair.distance)?;
        self.out.write_all(&self.line)
    }

    fn ids(&mut self, pair: IdPair<'_>) -> io::Result<()> {
        self.found();
        let (a, b, distance) = (pair.smaller, pair.larger, pair.distance);
        match (self.args.count_only, self.args.json) {
            (true, _) => Ok(()),
            (_, true) => {
                let [a, b] = [a, b].map(id_to_json);
                let pair = json!({ "smaller": a, "larger": b, "distance": distance });
                write_object(&mut self.out, &pair)
            }
            _ => {
                let [a, b] = [a, b].map(Column);
                writeln!(self.out, "{a}\t{b}\t{distance}")
            }
        }
    }

    fn similar(&mut self, [a, b]: [IdBuf; 2], pair: SimilarPair) -> io::Result<()> {
        self.found();
        if !self.args.json {
            let [a, b] = [&a, &b].map(Column::of);
            return writeln!(self.out, "{a}\t{b}\t{:.4}", pair.jaccard);
        }
        let [a, b] = [&a, &b].map(|id| id_to_json(id.as_id()));
        let pair = json!({ "a": a, "b": b, "similarity": pair.jaccard });
        write_object(&mut self.out, &pair)
    }

    fn found(&mut self) {
        self.count += 1;
        if self.count.is_multiple_of(SHOWN_EVERY) {
            self.bar.set_position(self.count);
        }
    }

    /// Prints the number of pairs, which need not be gone through one by one.
    fn count_similar(mut self, documents: &mut SimilarDocuments, mode: ProgressMode) -> Answer {
        let (bar, watch) = mode.comparing();
        self.count = documents.candidates.count_pairs(&watch)?;
        bar.finish_and_clear();
        self.args.check_count(self.count)?;
        self.finish()
    }

    fn finish(mut self) -> Answer {
        self.bar.finish_and_clear();
        if self.args.count_only {
            writeln!(self.out, "{}", self.count)?;
        }
        self.out.flush()?;
        Ok(self.count > 0)
    }
}
