//! `simidx clusters`: connected components of near-duplicates, of indexes or records.

mod printer;
mod similar;

use simidx::batch::{Cluster, ClusterFinder, ClusterOptions, ClusterReport};
use simidx::{Column, Error, IdKind, IndexBuilder, Set, Width};
use simidx_input::InputFile;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::ExcludeArgs;
use crate::support::inputs::SourceArgs;
use crate::support::labels::Labels;
use crate::support::messages::{counted, is_quiet, say, say_without_features};
use crate::support::options::{DEFAULT_DISTANCE, DISTANCES, IdChoice, ResourceArgs, distance_or};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::records::{Fingerprinted, Refusal, Sink, read_opened};
use crate::support::similarity::{Compared, SimilarityArgs};
use crate::support::table::{Sheet, TableArgs};
use crate::support::transient;
use printer::{KnownRecords, Printer};

/// The head of `simidx clusters --help` and of its man page.
pub(crate) const HELP: &str = "\
Group documents, fingerprints or records into clusters of near-duplicates; exit code 1 if there is none.

A cluster is a connected component of pairs. Documents are compared by their texts: each member is a line with the number of \
the cluster, the id and the similarity to the first member. Fingerprints, indexes, and documents with -k, --ids, --width \
or a pipeline that makes simhashes are compared by distance: each member is a line with the number \
of the cluster, the fingerprint and, if there are ids, an id. The book says what similar means: \"Similarity and distance\". \
With -o it is a \
row of a table with named columns, which also say where records stand: their rows, from 0, and their files.

Examples:
  simidx clusters crawl.simidx > clusters.tsv
  simidx clusters crawl.simidx -k 3 --summary
  simidx clusters docs.jsonl > clusters.tsv
  simidx clusters docs.jsonl --json
  simidx clusters docs.jsonl --similarity 0.9 -o clusters.parquet";

/// Arguments of `simidx clusters`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Largest distance that links two fingerprints [default: the one that the index was built for, the smallest of
    /// several; of records 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    #[command(flatten)]
    similarity: SimilarityArgs,
    /// Ids of records that are clustered within a distance [default: auto]
    #[arg(long, value_enum, value_name = "KIND", conflicts_with_all = ["similarity", "features"])]
    ids: Option<IdChoice>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Leave out clusters of fewer records; 1 also prints records without a near-duplicate
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = count(0..=u64::MAX))]
    min_size: u64,
    /// Print one line for each cluster: its number, records, fingerprints, radius and representative
    #[arg(long)]
    summary: bool,
    /// Print JSON: an object for each cluster, with --summary without its members
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let inputs = || args.source.files(&args.exclude);
    let for_fingerprints = args.max_distance.is_some() || args.ids.is_some();
    args.table.write(inputs, |sheet| {
        let source = (&args.source, &args.exclude);
        match Compared::of(source, &args.similarity, for_fingerprints, &args.resources)? {
            Compared::Index(set) => of_set(&set, None, &args, sheet, mode),
            Compared::Fingerprints(inputs) => of_records(&args, inputs.as_deref(), sheet, mode),
            Compared::Texts(similarity, inputs) => {
                similar::run(&args, (similarity, &inputs), sheet, mode)
            }
        }
    })
}

/// Prints the clusters of indexes. If records are given, the ids of the index are their numbers.
fn of_set(
    set: &Set,
    records: Option<&KnownRecords>,
    args: &Args,
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let options = args.options(set.width(), set.max_distance())?;
    let ids = (set.id_kind() != IdKind::None).then_some((set, records));
    let printer = Printer::new(args, set.width(), ids, sheet)?;
    printed(args, mode, options.distance, printer, |visit| {
        set.clusters(&options, visit)
    })
}

/// Prints the clusters of records that are not in an index.
fn of_records(
    args: &Args,
    inputs: Option<&[InputFile]>,
    sheet: Option<Sheet<'_>>,
    mode: ProgressMode,
) -> Answer {
    let width = args.source.records.width;
    let options = args.options(width, DEFAULT_DISTANCE)?;
    let mut taken = Taken {
        args,
        distance: options.distance,
        finder: ClusterFinder::new(width, &options)?,
        indexed: None,
        is_first: true,
    };
    let input = &args.source.records;
    let pipeline = input.pipeline.pipeline()?;
    let reading = (mode, "reading", "records");
    let read = read_opened((input, inputs), &pipeline, reading, &mut taken)?;
    say_without_features(read.without_features);
    let Some((builder, (kind, mut labels))) = taken.indexed else {
        let printer = Printer::new(args, width, None, sheet)?;
        return printed(args, mode, options.distance, printer, |visit| {
            taken.finder.finish(visit)
        });
    };
    labels.end(&read)?;
    let set = transient::finish(builder, &args.resources)?;
    of_set(&set, Some(&(kind, labels)), args, sheet, mode)
}

/// Collects records that are not in an index.
struct Taken<'a> {
    args: &'a Args,
    distance: u32,
    /// Takes records without ids.
    finder: ClusterFinder,
    /// The index for records with ids, in which they have numbers.
    indexed: Option<(IndexBuilder, KnownRecords)>,
    is_first: bool,
}

impl Sink for Taken<'_> {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        let args = self.args;
        let is_named = record.is_named();
        let kind = args.ids.unwrap_or_default().kind(is_named, IdKind::None);
        if std::mem::take(&mut self.is_first) && kind != IdKind::None {
            let stored = (args.source.records.width, IdKind::Number);
            let builder = transient::start(stored, self.distance, &args.resources)?;
            let labels = Labels::new(args.resources.temp_dir.as_deref(), 0, false);
            self.indexed = Some((builder, (kind, labels)));
        }
        if self.indexed.is_none() && args.ids.unwrap_or_default() == IdChoice::Auto && is_named {
            let message = "has an id, but the first record had none; choose with --ids";
            return Err(Refusal::record(message));
        }
        let fingerprint = record.fingerprint;
        match &mut self.indexed {
            // It is near to nothing.
            _ if record.without_features.is_some() => {}
            Some((builder, (kind, labels))) => {
                builder.push_with_id(fingerprint, labels.push_own(record, *kind)?)?;
            }
            None => self.finder.push(fingerprint)?,
        }
        Ok(())
    }

    fn takes_fingerprints(&self) -> bool {
        !self.is_first && self.indexed.is_none()
    }

    fn fingerprints(&mut self, fingerprints: Column<'_>, _: u64) -> Result<(), Error> {
        self.finder.extend_from_slice(fingerprints)
    }
}

/// A function that takes each cluster.
type Visit<'v> = &'v mut dyn FnMut(Cluster<'_>) -> simidx::Result<()>;

/// Prints the clusters that `find` finds.
fn printed(
    args: &Args,
    mode: ProgressMode,
    distance: u32,
    mut printer: Printer<'_>,
    find: impl FnOnce(Visit<'_>) -> simidx::Result<ClusterReport>,
) -> Answer {
    let bar = mode.spinner("finding clusters");
    let report = find(&mut |cluster| {
        bar.finish_and_clear();
        printer.cluster(&cluster)
    })?;
    bar.finish_and_clear();
    printer.finish()?;
    if report.chain_count > 0 {
        warn_of_chains(&report, distance);
    }
    if args.summary && !is_quiet() {
        let clusters = counted(report.cluster_count, "cluster");
        let records = counted(report.record_count, "record");
        let fingerprints = counted(report.fingerprint_count, "fingerprint");
        say(format_args!("{clusters} of {records} with {fingerprints}"));
    }
    Ok(report.cluster_count > 0)
}

fn warn_of_chains(report: &ClusterReport, distance: u32) {
    say(format_args!(
        "chains: in {} of {} clusters, members differ from the first one in more than {} bits, twice the distance; in cluster {} \
         by {}; a smaller -k makes fewer chains",
        report.chain_count,
        report.cluster_count,
        distance.saturating_mul(2),
        report.widest_cluster,
        report.widest_radius,
    ));
}

impl Args {
    fn options(&self, width: Width, default_distance: u32) -> Result<ClusterOptions, Failure> {
        let mut options = ClusterOptions::default();
        options.distance = distance_or(self.max_distance, width, default_distance)?;
        options.min_size = self.min_size;
        options.memory = Some(self.resources.memory_limit());
        options.temp_dir = self.resources.temp_dir.clone();
        Ok(options)
    }
}
