//! `simidx pairs`: all pairs of fingerprints or records within a distance, of indexes or straight from fingerprints.

use std::io::Write;
use std::path::PathBuf;

use bytesize::ByteSize;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use simidx::text::Features;
use simidx::{
    BuildOptions, Fingerprint, IdKind, IdPair, Index, IndexBuilder, Pair, PairFinder, PairOptions,
    Segments, Storage, TableDesign, id_pairs,
};

use super::Answer;
use super::dump::id_to_json;
use super::failure::Failure;
use super::index_file::{IndexArgs, OpenArgs, with_segments, with_width};
use super::memory;
use super::output::{push_hex, stdout};
use super::progress::{ProgressMode, ReadingBar};
use super::records::{
    self, Each, Fingerprinted, InputArgs, InputFormat, OnError, Refusal, number_id, start_threads,
    string_id, threads_from,
};

/// Pairs after which the progress bar is told.
const TOLD_EVERY: u64 = 1 << 12;

/// Arguments of `simidx pairs`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The index file, or several files that hold the records together; with --input files of fingerprints or documents,
    /// `-` for standard input
    #[arg(value_name = "INDEX|INPUT", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Largest distance of a pair [default: of indexes the one they were built for, the smallest of several; else 3]
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// The files are no indexes but records in this format: auto, hex, dec, le, tsv, jsonl, lines or files
    #[arg(long, value_name = "FORMAT")]
    input: Option<InputFormat>,
    /// Bits of a fingerprint, with --input
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = ["32", "64", "128"])]
    width: String,
    /// Features of a text, with --input: words, or chars:N for character N-grams
    #[arg(long, value_name = "FEATURES", default_value = "words")]
    features: Features,
    /// What to do with a record of --input that cannot be used
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop)]
    on_error: OnError,
    /// Of what there are pairs
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Fingerprint)]
    by: By,
    /// What the ids of --input are, with --by id: auto takes strings where the first record has an id or is a document,
    /// else the position of each record
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = ["number", "string", "auto"])]
    ids: String,
    /// Print the pairs in order: by the smaller member, then the larger one
    #[arg(long)]
    sorted: bool,
    /// Stop with exit code 2 if there are more than N pairs
    #[arg(long, value_name = "N")]
    max_pairs: Option<u64>,
    /// Print only the number of pairs
    #[arg(long)]
    count: bool,
    /// Print a JSON object for each pair
    #[arg(long)]
    json: bool,
    /// Memory to use, such as 1GiB; what does not fit goes to temporary files [default: half of the machine's]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Folder for temporary files, which have no names and vanish by themselves [default: that of the system]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Threads to use; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0))]
    threads: u16,
}

/// Of what there are pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Distinct fingerprints
    Fingerprint,
    /// Records, by their ids; those that share a fingerprint too
    Id,
}

/// Runs the command.
pub(super) fn run(args: Args, mode: ProgressMode) -> Answer {
    start_threads(args.threads)?;
    if args.input.is_some() {
        return with_width!(args.width.as_str(), F => of_records::<F>(&args, mode));
    }
    let index = IndexArgs {
        paths: args.paths.clone(),
        open: args.open.clone(),
    };
    with_segments!(index.open()?, segments => of_segments(&segments, &args, mode))
}

/// The pairs of indexes.
fn of_segments<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    args: &Args,
    mode: ProgressMode,
) -> Answer {
    let options = args.options(segments.max_distance());
    let mut printer = Printer::new(args, mode);
    match args.by {
        By::Id => id_pairs(segments, &options, |pair| Ok(printer.ids(pair)?))?,
        By::Fingerprint => simidx::pairs(segments, &options, |pair| Ok(printer.pair(pair)?))?,
    }
    printer.finish()
}

/// The pairs of records that are in no index.
fn of_records<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let input = args.input_args();
    let options = args.options(3);
    let bar = mode.reading("records");
    if args.by == By::Id {
        let index = transient_index::<F>(args, &input, bar)?;
        return of_segments(&Segments::new(vec![index])?, args, mode);
    }
    let mut finder = PairFinder::<F>::new(&options)?;
    let mut push = Each(|record: Fingerprinted<F>| Ok(finder.push(record.fingerprint)?));
    records::read::<F>(&input, bar, &mut push)?;
    let mut printer = Printer::new(args, mode);
    finder.finish(|pair| Ok(printer.pair(pair)?))?;
    printer.finish()
}

/// An index of the records in a file that has lost its name, or will when it is closed.
fn transient_index<F: Fingerprint>(
    args: &Args,
    input: &InputArgs,
    bar: ReadingBar,
) -> Result<Index<F, Storage>, Failure> {
    let mut kind = match args.ids.as_str() {
        "number" => Some(IdKind::Number),
        "string" => Some(IdKind::String),
        _ => None,
    };
    let mut builder = None;
    let mut each = Each(|record: Fingerprinted<F>| {
        let kind = *kind.get_or_insert_with(|| id_kind(&record));
        if builder.is_none() {
            builder = Some(new_builder(args, kind)?);
        }
        match &mut builder {
            Some(builder) => push(builder, kind, record),
            None => Ok(()),
        }
    });
    records::read::<F>(input, bar, &mut each)?;
    let builder = match builder {
        Some(builder) => builder,
        None => new_builder(args, IdKind::Number)?,
    };
    let folder = args.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let blame = |error: std::io::Error| Failure::from(error).about(folder.display());
    let file = tempfile::NamedTempFile::new_in(&folder).map_err(blame)?;
    builder.finish(std::io::BufWriter::new(file.as_file()))?;
    Ok(Index::open(file.path())?)
}

/// The ids of records the first of which is this one.
fn id_kind<F>(first: &Fingerprinted<F>) -> IdKind {
    match first.is_document || first.id.is_some() {
        true => IdKind::String,
        false => IdKind::Number,
    }
}

fn new_builder<F: Fingerprint>(args: &Args, ids: IdKind) -> simidx::Result<IndexBuilder<F>> {
    let mut options = BuildOptions::default();
    options.max_distance = args.distance.unwrap_or(3).min(simidx::MAX_DISTANCE);
    options.design = Some(TableDesign::partition(options.max_distance, 1)?);
    options.ids = ids;
    options.memory = Some(args.memory_limit());
    options.temp_dir = args.temp_dir.clone();
    IndexBuilder::new(options)
}

fn push<F: Fingerprint>(
    builder: &mut IndexBuilder<F>,
    kind: IdKind,
    record: Fingerprinted<F>,
) -> Result<(), Refusal> {
    let fingerprint = record.fingerprint;
    match kind {
        IdKind::Number => builder.push_with_number(fingerprint, number_id(&record)?)?,
        _ => builder.push_with_string(fingerprint, &string_id(record)?)?,
    }
    Ok(())
}

impl Args {
    fn options(&self, default_distance: u32) -> PairOptions {
        let mut options = PairOptions::default();
        options.distance = self.distance.unwrap_or(default_distance);
        options.sorted = self.sorted && !self.count;
        options.max_pairs = self.max_pairs;
        options.memory = Some(self.memory_limit());
        options.temp_dir = self.temp_dir.clone();
        options
    }

    fn memory_limit(&self) -> u64 {
        self.memory
            .map_or_else(memory::default_limit, |size| size.as_u64())
    }

    fn input_args(&self) -> InputArgs {
        InputArgs {
            inputs: self.paths.clone(),
            input: self.input.unwrap_or(InputFormat(None)),
            width: self.width.clone(),
            features: self.features,
            on_error: self.on_error,
            threads: self.threads,
        }
    }
}

/// Prints pairs, or counts them.
struct Printer<'a, W> {
    args: &'a Args,
    out: W,
    line: Vec<u8>,
    count: u64,
    bar: ProgressBar,
}

impl<'a> Printer<'a, std::io::BufWriter<super::output::Stdout>> {
    fn new(args: &'a Args, mode: ProgressMode) -> Self {
        let bar = mode.counter("pairs");
        bar.set_message("finding");
        Printer {
            args,
            out: stdout(),
            line: Vec::new(),
            count: 0,
            bar,
        }
    }
}

impl<W: Write> Printer<'_, W> {
    fn pair<F: Fingerprint>(&mut self, pair: Pair<F>) -> std::io::Result<()> {
        self.found();
        if self.args.count {
            return Ok(());
        }
        if self.args.json {
            let [smaller, larger] = [pair.smaller, pair.larger].map(|f| f.to_hex().into());
            return self.json(smaller, larger, pair.distance);
        }
        self.line.clear();
        push_hex(&mut self.line, pair.smaller);
        self.line.push(b'\t');
        push_hex(&mut self.line, pair.larger);
        writeln!(self.line, "\t{}", pair.distance)?;
        self.out.write_all(&self.line)
    }

    fn ids(&mut self, pair: IdPair<'_>) -> std::io::Result<()> {
        self.found();
        let IdPair {
            smaller,
            larger,
            distance,
        } = pair;
        match (self.args.count, self.args.json) {
            (true, _) => Ok(()),
            (_, true) => self.json(id_to_json(smaller), id_to_json(larger), distance),
            _ => writeln!(self.out, "{smaller}\t{larger}\t{distance}"),
        }
    }

    fn json(&mut self, smaller: Value, larger: Value, distance: u32) -> std::io::Result<()> {
        let object = json!({ "smaller": smaller, "larger": larger, "distance": distance });
        writeln!(self.out, "{object}")
    }

    fn found(&mut self) {
        self.count += 1;
        if self.count.is_multiple_of(TOLD_EVERY) {
            self.bar.set_position(self.count);
        }
    }

    fn finish(mut self) -> Answer {
        self.bar.finish_and_clear();
        if self.args.count {
            writeln!(self.out, "{}", self.count)?;
        }
        self.out.flush()?;
        Ok(self.count > 0)
    }
}
