//! `simidx pairs`: nearly all pairs of similar texts, or all of fingerprints or records within a distance.

use std::fmt::Display;
use std::io::{self, Write};

use indicatif::ProgressBar;
use serde_json::json;
use simidx::batch::{IdPair, Pair, PairFinder, PairOptions};
use simidx::{Error, Id, IdBuf, IdKind, Set, Width};
use simidx_input::{FieldKind, InputFile};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SimilarCandidates, SimilarPair};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::ExcludeArgs;
use crate::support::inputs::SourceArgs;
use crate::support::labels::Labels;
use crate::support::messages::say_without_features;
use crate::support::options::{
    Choice, DEFAULT_DISTANCE, DISTANCES, IdChoice, ResourceArgs, distance_or, one_of,
};
use crate::support::output::{self, id_to_json, write_object};
use crate::support::progress::{ProgressMode, Reading};
use crate::support::quantity::count;
use crate::support::records::{self, Each, Fingerprinted, Wanted, id_of};
use crate::support::similarity::{Compared, SimilarDocuments, SimilarityArgs};
use crate::support::table::{Column, Lines, Sheet, TableArgs, id_kind};
use crate::support::transient;

/// Number of pairs between updates of the progress bar.
const SHOWN_EVERY: u64 = 1 << 12;

/// The head of `simidx pairs --help` and of its man page.
pub(crate) const HELP: &str = "\
Print nearly all pairs of similar texts, or all of fingerprints or records within a distance; exit code 1 if there is none.

Documents are compared by their texts: a pair is a line with the ids of two documents, the earlier one first, and their \
Jaccard similarity. Fingerprints, indexes, and documents with -k, --by, --ids, --sort, --width or a pipeline that makes \
simhashes are compared by distance: a pair is a line with the smaller member, the larger one and the distance. The book says \
what similar means: \"Similarity and distance\". With -o it is a row of a table \
with named columns, which also say where records stand: their rows, from 0, and their files.

Examples:
  simidx pairs crawl.simidx > pairs.tsv
  simidx pairs crawl.simidx --by id --sort --json
  simidx pairs docs.jsonl > similar.tsv
  simidx pairs docs.jsonl --similarity 0.9 -o similar.parquet
  simidx pairs docs.jsonl -k 5 --count-only";

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
    /// Kind of the members of a pair within a distance [default: fingerprint]
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["similarity", "features"])]
    by: Option<By>,
    /// Ids of records, with --by id [default: auto]
    #[arg(long, value_parser = one_of(RECORD_IDS), value_name = "KIND", conflicts_with_all = ["similarity", "features"])]
    ids: Option<IdChoice>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Sort the pairs within a distance by the smaller member, then by the larger one
    #[arg(long, conflicts_with_all = ["similarity", "features"])]
    sort: bool,
    /// Stop with exit code 2 if there are more than N pairs
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX))]
    max_pairs: Option<u64>,
    /// Print only the number of pairs
    #[arg(long, conflicts_with = "output")]
    count_only: bool,
    #[command(flatten)]
    table: TableArgs,
    /// Print JSON: an object for each pair
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// The choices of `--ids`.
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

/// The kind of the members of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum By {
    /// Distinct fingerprints
    #[default]
    Fingerprint,
    /// Records, by their ids; records that share a fingerprint are pairs of distance 0
    Id,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let inputs = || args.source.files(&args.exclude);
    let for_fingerprints =
        args.max_distance.is_some() || args.by.is_some() || args.ids.is_some() || args.sort;
    args.table.write(inputs, |sheet| {
        let source = (&args.source, &args.exclude);
        match Compared::of(source, &args.similarity, for_fingerprints, &args.resources)? {
            Compared::Index(set) => of_set(&set, None, &args, sheet, mode),
            Compared::Fingerprints(inputs) => of_records(&args, inputs.as_deref(), sheet, mode),
            Compared::Texts(similarity, inputs) => {
                of_texts(&args, (similarity, &inputs), sheet, mode)
            }
        }
    })
}

/// Columns of pairs of fingerprints.
const FINGERPRINTS: [Column; 3] = [
    ("a_fingerprint", FieldKind::Text),
    ("b_fingerprint", FieldKind::Text),
    DISTANCE,
];
const DISTANCE: Column = ("distance", FieldKind::Number);

/// Returns the columns of pairs of records with ids of this kind; the places of the records come last, if they are known.
fn of_ids(kind: FieldKind, measure: Column, has_places: bool) -> Vec<Column> {
    let mut columns = vec![("a_id", kind), ("b_id", kind), measure];
    if has_places {
        columns.extend([("a_row", FieldKind::Number), ("a_file", FieldKind::Text)]);
        columns.extend([("b_row", FieldKind::Number), ("b_file", FieldKind::Text)]);
    }
    columns
}

/// Prints the pairs of indexes. If records are given, the ids are their numbers.
fn of_set(
    set: &Set,
    records: Option<&Labels>,
    args: &Args,
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let options = args.options(set.width(), set.max_distance())?;
    if args.by == Some(By::Id) && set.id_kind() == IdKind::None && !set.is_empty() {
        let message = format!("{} has no ids; leave --by id out", set.first().name());
        return Err(Failure::new(message));
    }
    let kind = records.map_or_else(|| id_kind(set.id_kind()), Labels::id_kind);
    let columns = match args.by.unwrap_or_default() {
        By::Fingerprint => FINGERPRINTS.to_vec(),
        By::Id => of_ids(kind, DISTANCE, records.is_some()),
    };
    let out = Lines::new(sheet, &columns)?;
    let mut printer = Printer::new(args, set.width(), (out, records), mode);
    match args.by.unwrap_or_default() {
        By::Id => set.id_pairs(&options, |pair| printer.ids(pair))?,
        By::Fingerprint => set.pairs(&options, |pair| Ok(printer.pair(pair)?))?,
    }
    printer.finish()
}

/// Prints the pairs of records that are not in an index.
fn of_records(
    args: &Args,
    inputs: Option<&[InputFile]>,
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let width = args.source.records.width;
    let options = args.options(width, DEFAULT_DISTANCE)?;
    let reading = (mode, "reading", "records");
    if args.by.unwrap_or_default() == By::Id {
        let (set, records) = transient_index(args, sheet.is_some(), reading)?;
        return of_set(&set, records.as_ref(), args, sheet, mode);
    }
    let input = &args.source.records;
    let mut finder = PairFinder::new(width, &options)?;
    let mut push = Each(Wanted::Fingerprint, |record: Fingerprinted| {
        match record.without_features {
            None => Ok(finder.push(record.fingerprint)?),
            Some(_) => Ok(()),
        }
    });
    let pipeline = input.pipeline.pipeline()?;
    let read = records::read_opened((input, inputs), &pipeline, reading, &mut push)?;
    say_without_features(read.without_features);
    let out = Lines::new(sheet, &FINGERPRINTS)?;
    let mut printer = Printer::new(args, width, (out, None), mode);
    finder.finish(|pair| Ok(printer.pair(pair)?))?;
    printer.finish()
}

/// Makes an index of the records, with their numbers as ids if `are_numbered`; then the records are returned, too.
fn transient_index(
    args: &Args,
    are_numbered: bool,
    reading: Reading,
) -> Result<(Set, Option<Labels>), Failure> {
    let resources = &args.resources;
    let start = |kind: IdKind| {
        let stored = if are_numbered { IdKind::Number } else { kind };
        let distance = args.max_distance.unwrap_or(DEFAULT_DISTANCE);
        transient::start((args.source.records.width, stored), distance, resources)
    };
    let mut open = None;
    let mut records = are_numbered.then(|| Labels::new(resources.temp_dir.as_deref(), 0, false));
    let mut each = Each(Wanted::Fingerprint, |mut record: Fingerprinted| {
        // It is near to nothing.
        if record.without_features.is_some() {
            return Ok(());
        }
        let (kind, builder) = match &mut open {
            Some(open) => open,
            None => {
                let kind = args
                    .ids
                    .unwrap_or_default()
                    .kind(record.is_named(), IdKind::Number);
                open.insert((kind, start(kind)?))
            }
        };
        let fingerprint = record.fingerprint;
        let id = match &mut records {
            None => id_of(&mut record, *kind)?,
            Some(records) => IdBuf::Number(records.push_own(record, *kind)?),
        };
        Ok(builder.push_with_id(fingerprint, &id)?)
    });
    let input = &args.source.records;
    let read = records::read(input, &input.pipeline.pipeline()?, reading, &mut each)?;
    say_without_features(read.without_features);
    if let Some(records) = &mut records {
        records.end(&read)?;
    }
    let builder = match open {
        Some((_, builder)) => builder,
        None => start(IdKind::Number)?,
    };
    Ok((transient::finish(builder, resources)?, records))
}

/// Prints the pairs of documents with similar texts.
///
/// # Errors
/// Documents that cannot be read, and more pairs than `--max-pairs`.
fn of_texts(
    args: &Args,
    (similarity, inputs): (Similarity, &[InputFile]),
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let source = (&args.source.records, inputs);
    let mut documents = SimilarDocuments::read(source, similarity, &args.resources, mode)?;
    let (labels, measure) = (&documents.labels, ("similarity", FieldKind::Real));
    let records = sheet.is_some().then_some(labels);
    let out = Lines::new(sheet, &of_ids(labels.id_kind(), measure, true))?;
    let mut printer = Printer::new(args, args.source.records.width, (out, records), mode);
    if args.count_only {
        return printer.count_similar(&mut documents.candidates, mode);
    }
    documents.candidates.for_each_pair(|pair| {
        args.check_count(printer.count + 1)?;
        Ok::<_, Failure>(printer.similar(labels, pair)?)
    })?;
    printer.finish()
}

impl Args {
    /// # Errors
    /// More pairs than `--max-pairs`.
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
    out: Lines<'a>,
    /// The records whose places a table names.
    records: Option<&'a Labels>,
    line: Vec<u8>,
    count: u64,
    bar: ProgressBar,
}

impl<'a> Printer<'a> {
    fn new(
        args: &'a Args,
        width: Width,
        (out, records): (Lines<'a>, Option<&'a Labels>),
        mode: ProgressMode,
    ) -> Self {
        let bar = mode.counter("pairs");
        bar.set_message("finding");
        Printer {
            args,
            width,
            out,
            records,
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

    fn ids(&mut self, pair: IdPair<'_>) -> Result<(), Error> {
        self.found();
        let (a, b, distance) = (pair.smaller, pair.larger, pair.distance);
        if let (Some(records), Id::Number(a), Id::Number(b)) = (self.records, a, b) {
            return self.row(records, [a as usize, b as usize], distance);
        }
        match (self.args.count_only, self.args.json) {
            (true, _) => Ok(()),
            (_, true) => {
                let [a, b] = [a, b].map(id_to_json);
                let pair = json!({ "smaller": a, "larger": b, "distance": distance });
                Ok(write_object(&mut self.out, &pair)?)
            }
            _ => {
                let [a, b] = [a, b].map(output::Column);
                Ok(writeln!(self.out, "{a}\t{b}\t{distance}")?)
            }
        }
    }

    /// Writes a row of a table.
    fn row(
        &mut self,
        records: &Labels,
        [a, b]: [usize; 2],
        measure: impl Display,
    ) -> Result<(), Error> {
        let ((a, place_of_a), (b, place_of_b)) = (records.cells(a)?, records.cells(b)?);
        let row = format_args!("{a}\t{b}\t{measure}\t{place_of_a}\t{place_of_b}");
        Ok(writeln!(self.out, "{row}")?)
    }

    fn similar(&mut self, labels: &Labels, pair: SimilarPair) -> Result<(), Error> {
        self.found();
        if let Some(records) = self.records {
            return self.row(
                records,
                [pair.a, pair.b],
                format_args!("{:?}", pair.jaccard),
            );
        }
        let (a, b) = (labels.of(pair.a)?, labels.of(pair.b)?);
        if !self.args.json {
            let [a, b] = [&a, &b].map(output::Column::of);
            return Ok(writeln!(self.out, "{a}\t{b}\t{:.4}", pair.jaccard)?);
        }
        let [a, b] = [&a, &b].map(|id| id_to_json(id.as_id()));
        let pair = json!({ "a": a, "b": b, "similarity": pair.jaccard });
        Ok(write_object(&mut self.out, &pair)?)
    }

    fn found(&mut self) {
        self.count += 1;
        if self.count.is_multiple_of(SHOWN_EVERY) {
            self.bar.set_position(self.count);
        }
    }

    /// Prints the number of pairs, which are counted without a list of them.
    fn count_similar(mut self, candidates: &mut SimilarCandidates, mode: ProgressMode) -> Answer {
        let (bar, watch) = mode.comparing();
        self.count = candidates.count_pairs(&watch)?;
        bar.finish_and_clear();
        self.args.check_count(self.count)?;
        self.finish()
    }

    fn finish(mut self) -> Answer {
        self.bar.finish_and_clear();
        if self.args.count_only {
            writeln!(self.out, "{}", self.count)?;
        }
        self.out.finish()?;
        Ok(self.count > 0)
    }
}
