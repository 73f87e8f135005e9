//! `simidx dedup`: documents without their near-duplicates, and a report of the dropped ones.

mod against;
mod fingerprints;
mod judged;
mod known;
mod measure;
mod outputs;
mod page;
mod report;
mod summary;
mod texts;
mod update;

use std::path::PathBuf;

use clap::Arg;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use simidx::{Set, Width};
use simidx_input::InputFile;
use simidx_text::Pipeline;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, OpenArgs, is_index, together};
use crate::support::inputs::{InputArgs, OnError};
use crate::support::messages::{counted, say};
use crate::support::options::{DISTANCES, ResourceArgs, distance_within};
use crate::support::originals::open_all;
use crate::support::progress::{ProgressMode, Reading};
use crate::support::quantity::count;
use crate::support::records::{ReadCounts, Sink, read_originals};
use crate::support::similarity::{MemoryShares, SimilarityArgs};
use known::Known;
use measure::Measure;
use outputs::Outputs;
use update::{Folder, Update};

/// The head of `simidx dedup --help` and of its man page.
pub(crate) const HELP: &str = "\
Copy documents, keeping one of each cluster of near-duplicates.

Records are copied unchanged and in their order. A document is dropped if its text is similar to that of a kept one: \
if the two share at least 80 % of their distinct runs of three words (--similarity sets another share). With -k, \
and for records that are fingerprints, near-duplicates are those within a distance. A document without words, such as \
one of emoji only, is a duplicate of equal documents only.

It also takes --exclude, --exclude-from, --exclude-by and --no-mmap, which `simidx merge --help` describes, and --encoding, \
--fingerprint-field, --delimiter, --user-dictionary, --stop-words and --idf, which `simidx build --help` describes.

Examples:
  simidx dedup crawl.jsonl.gz -o kept.jsonl.gz
  simidx dedup docs.jsonl --similarity 0.9 -o kept.jsonl
  simidx dedup 'part-*.jsonl' --output-dir kept --report dropped.tsv
  simidx dedup w2.jsonl --against seen --texts 'old/*' --update -o old/w2.jsonl
  simidx dedup docs.parquet --keep longest --similarity 0.7 -o kept.parquet
  simidx dedup docs.jsonl --dry-run --report dropped.html
  simidx dedup docs.jsonl --annotate -o all.jsonl";

/// Arguments of `simidx dedup`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("on_error", |arg| arg.value_parser(on_error())), mut_args(without_rare))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// File to write the kept records to, compressed if its name ends in .gz or .zst; `-` is standard output
    #[arg(
        short,
        long,
        value_name = "OUT",
        required_unless_present_any = ["output_dir", "dry_run"]
    )]
    output: Option<PathBuf>,
    /// Directory for one file of kept records per input, with the same name and subdirectory. It is created if its parent
    /// exists
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// Keep all records, and add fields to each: duplicate_of (an id or a position from 0), cluster, and the similarity, or
    /// with -k the distance; with --against duplicate_in. Their names begin with the value of --annotate-prefix
    #[arg(long)]
    annotate: bool,
    /// Prefix of the names of these fields, for records that have such names already
    #[arg(long, value_name = "PREFIX", default_value = "", requires = "annotate")]
    annotate_prefix: String,
    /// Write no records: only the figures, and a --report
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    similarity: SimilarityArgs,
    /// Also drop documents that only a chain of similar documents links to a kept one
    #[arg(long)]
    chains: bool,
    /// Largest distance of near-duplicates, to compare fingerprints instead of texts [default for fingerprints: 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// Index files, or a folder of --update. Documents near one of their records are dropped first: by text with --texts, else
    /// by sketch if the indexes have sketches (build --sketch), else by the distance of fingerprints
    #[arg(long, value_name = "INDEX", num_args = 1..)]
    against: Vec<PathBuf>,
    /// Files or a quoted pattern with the documents of these indexes. Candidates are then compared by their texts, and the
    /// result is that of one run over all documents. Documents are found by their ids
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "against", conflicts_with_all = ["max_distance", "chains"])]
    texts: Vec<PathBuf>,
    /// Add the kept documents to the folder of --against, which is created if it does not exist
    #[arg(long, requires = "against", conflicts_with_all = ["max_distance", "dry_run"])]
    update: bool,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    open: OpenArgs,
    /// Which document of a cluster to keep
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Keep::First)]
    keep: Keep,
    /// File for a line on each document that is dropped: its id, the id of the document kept instead, their distance if
    /// fingerprints are compared, `input` or `index`, the number of the cluster and the similarity, separated by tabs, without
    /// a header. The same as a table with named columns if the name ends in .csv, .jsonl or .parquet, and a page to look at,
    /// with texts side by side, if it ends in .html
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace an existing output, and an existing report; an input is never replaced
    #[arg(long)]
    force: bool,
    /// Print JSON: one object with the figures
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// The options that the help of other commands describes.
const RARE: [&str; 11] = [
    "annotate_prefix",
    "delimiter",
    "encoding",
    "exclude",
    "exclude_by",
    "exclude_from",
    "fingerprint_field",
    "idf",
    "no_mmap",
    "stop_words",
    "user_dictionary",
];

/// Leaves rare options out of the help.
fn without_rare(arg: Arg) -> Arg {
    let is_rare = RARE.contains(&arg.get_id().as_str());
    arg.hide(is_rare)
}

/// Returns the parser of `--on-error`. Here, records that cannot be judged can also be kept.
fn on_error() -> impl TypedValueParser<Value = OnError> {
    let values = [
        PossibleValue::new("stop").help("Stop with an error that names it"),
        PossibleValue::new("keep")
            .alias("skip")
            .help("Keep it unjudged and count it"),
        PossibleValue::new("drop").help("Drop it and count it"),
    ];
    PossibleValuesParser::new(values).map(|word| match &*word {
        "stop" => OnError::Stop,
        "drop" => OnError::Skip,
        _ => OnError::Keep,
    })
}

/// Which document of a cluster is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Keep {
    /// The first in the input
    First,
    /// The longest in bytes; the first of several
    Longest,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    if !args.texts.is_empty() && args.input.inputs.is_empty() {
        let message = "inputs stand before --texts; `-` is standard input";
        return Err(Failure::new(message));
    }
    if args.against.is_empty() {
        args.exclude.refuse("name them with --against")?;
        return dedup(args, None, None, mode);
    }
    let outputs = [&args.output, &args.output_dir, &args.report];
    let folder = match (args.update, &args.against[..]) {
        (false, _) => None,
        (true, [folder]) => {
            update::check_outside(folder, &outputs)?;
            Some(Folder::open(folder, &outputs, args.force)?)
        }
        (true, _) => {
            return Err(Failure::new(
                "--update adds to one folder; name one --against",
            ));
        }
    };
    let is_empty = |folder: &Folder<'_>| folder.manifest.segments.is_empty();
    if folder.as_ref().is_some_and(is_empty) {
        return dedup(args, None, folder, mode);
    }
    refuse_inputs(&args.against)?;
    let set = args
        .exclude
        .apply(together(args.open.open_each(&args.against)?)?)?;
    dedup(args, Some(&set), folder, mode)
}

/// Refuses inputs that stand after `--against`, where they would be opened as indexes.
///
/// # Errors
/// The first of them.
fn refuse_inputs(against: &[PathBuf]) -> Result<(), Failure> {
    for path in against.iter().filter(|path| path.is_file()) {
        if !is_index(path).map_err(Failure::at(path))? {
            let message = "not a simidx file; inputs stand before --against";
            return Err(Failure::new(message).about(path.display()));
        }
    }
    Ok(())
}

fn dedup(args: &Args, set: Option<&Set>, folder: Option<Folder<'_>>, mode: ProgressMode) -> Answer {
    let width = set.map_or(args.input.width, Set::width);
    distance_within(args.max_distance, width)?;
    let paths = args.input.paths()?;
    let is_repeat = |folder: &Folder<'_>| !folder.unfinished.is_empty();
    let is_repeated = folder.as_ref().is_some_and(is_repeat);
    let texts = outputs::earlier_texts(args, &paths, (set.is_some(), is_repeated))?;
    let outputs = Outputs::new(args, &paths, &texts)?;
    let originals = args.originals(&paths, width)?;
    outputs.check_formats(args, &originals)?;
    let measure = Measure::choose(args, set, &originals)?;
    if let (Some(set), Some(_)) = (set, measure.distance()) {
        check_width(set, args.input.width)?;
    }
    let texts = set.map(|set| against::open_texts(args, set, &texts));
    let texts = texts.transpose()?;
    let job = Job {
        args,
        set,
        originals: &originals,
        texts: &texts.unwrap_or_default(),
        pipeline: args.input.pipeline.pipeline()?,
        width,
        memory: MemoryShares::new(args.resources.memory_limit()),
        measure,
        mode,
    };
    let mut update = None;
    let (judged, mut summary) = match measure {
        Measure::Distance(distance, _) => fingerprints::judge(&job, distance)?,
        Measure::Similarity(similarity) => {
            let new = folder.map(|folder| Update::new(folder, &job, similarity));
            update = new.transpose()?;
            texts::judge(&job, similarity, update.as_mut())?
        }
    };
    summary.repeated_ids = judged.documents.repeated_ids.count();
    outputs.write(&job, &judged, update.as_mut(), &mut summary)?;
    // Only now: a folder that knew more than what is written would drop it in the next run.
    update.map_or(Ok(()), Update::publish)?;
    summary.tell(args.json, measure)?;
    if let Some(warning) = judged.documents.repeated_ids.warning() {
        say(warning);
    }
    Ok(true)
}

/// The documents to deduplicate, and the options.
struct Job<'a> {
    args: &'a Args,
    /// The indexes of documents that were there before.
    set: Option<&'a Set>,
    originals: &'a [InputFile],
    /// The texts of the documents of these indexes.
    texts: &'a [InputFile],
    pipeline: Pipeline,
    width: Width,
    memory: MemoryShares,
    measure: Measure,
    mode: ProgressMode,
}

impl Job<'_> {
    /// Passes the documents to `sink`.
    ///
    /// # Errors
    /// Documents that cannot be read.
    fn read(&self, sink: &mut dyn Sink) -> Result<ReadCounts, Failure> {
        let pass = (&self.args.input, self.width);
        let reading = (self.mode, "reading", "documents");
        read_originals(pass, &self.pipeline, self.originals, reading, sink)
    }

    /// The bar for a pass over the texts of earlier documents.
    fn earlier(&self) -> Reading {
        (self.mode, "reading earlier texts", "documents")
    }

    /// Creates the list of the names and lengths of the documents.
    fn known(&self, keeps_ids: bool) -> Known {
        let keeps_lengths = self.args.keep == Keep::Longest;
        let temp_dir = self.args.resources.temp_dir.as_deref();
        Known::new((keeps_ids, keeps_lengths), temp_dir, self.memory.ids)
    }
}

/// Fingerprints of different widths have no distance.
fn check_width(set: &Set, width: Width) -> Result<(), Failure> {
    if width == set.width() {
        return Ok(());
    }
    let message = format!("holds {0}-bit fingerprints; say --width {0}", set.width());
    Err(Failure::new(message).about(&set.names()[0]))
}

impl Args {
    /// The inputs, of one format if they go into one output.
    fn originals(&self, paths: &[PathBuf], width: Width) -> Result<Vec<InputFile>, Failure> {
        let mut options = self.input.fields.options(width);
        // They only name documents, and positions do that as well.
        options.fields.odd_ids = true;
        let has_one_output = self.output.is_some() && !self.dry_run;
        let way_out = has_one_output.then_some("use --output-dir");
        let temp_dir = self.resources.temp_dir.as_deref();
        open_all((&self.input, paths), &options, temp_dir, way_out)
    }

    /// Returns the title of the report.
    fn title(&self) -> String {
        match &self.input.inputs[..] {
            [] => "Deduplication of standard input".to_owned(),
            [only] => format!("Deduplication of {}", only.display()),
            [first, rest @ ..] => {
                let rest = counted(rest.len() as u64, "further input");
                format!("Deduplication of {} and {rest}", first.display())
            }
        }
    }
}
