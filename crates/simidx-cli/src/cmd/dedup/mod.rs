//! `simidx dedup`: documents without their near-duplicates, and a report of what was dropped for what.

mod compress;
mod documents;
mod report;
mod texts;

use std::path::PathBuf;

use bytesize::ByteSize;
use simidx::batch::{DedupOptions, Deduplicated};
use simidx::build::MIN_MEMORY;
use simidx::segments::{AnySegments, Segments};
use simidx::{Fingerprint, Storage};
use simidx_input::{Format, InputFile};
use simidx_text::Pipeline;
use simidx_text::dedup::{Similarity, TextVerifier, TextVerifierOptions};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, OpenArgs, with_segments};
use crate::support::memory;
use crate::support::output::Output;
use crate::support::pipeline::files_of;
use crate::support::progress::ProgressMode;
use crate::support::records::{InputArgs, read_originals, start_threads};
use crate::support::width::{Width, with_width};
use documents::{Documents, Needs, Positions};
use report::{Labels, Summary, write_duplicates};

/// The head of `simidx dedup --help` and of its man page.
pub(crate) const HELP: &str = "\
Copy documents, keeping one of each cluster of near-duplicates.

Records are copied unchanged and in their order. Without -k, near-duplicates differ in at most 3 bits.

Examples:
  simidx dedup crawl.jsonl.gz -o kept.jsonl.gz
  simidx dedup 'part-*.jsonl' -o kept.jsonl --report dropped.tsv
  simidx dedup new.jsonl --against crawl.simidx --keep longest -o kept.jsonl
  simidx dedup docs.parquet -k 6 --verify jaccard:0.8 -o kept.parquet";

/// Arguments of `simidx dedup`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// File for the records that are kept, compressed if its name ends in .gz or .zst; `-` is standard output
    #[arg(short, long, value_name = "KEPT")]
    output: PathBuf,
    /// Largest distance of near-duplicates
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    max_distance: u32,
    /// Index files; documents within the distance of one of their fingerprints are dropped first
    #[arg(long, value_name = "INDEX", num_args = 1..)]
    against: Vec<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Also require a Jaccard similarity of the texts of at least T: jaccard:T compares the features of the fingerprints,
    /// jaccard:T:N all runs of N words
    #[arg(long, value_name = "SIMILARITY")]
    verify: Option<Similarity>,
    /// Which document of a cluster to keep
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Keep::First)]
    keep: Keep,
    /// File for a line on each document that is dropped: its id, the id of the document kept instead, their distance and
    /// `input` or `index`, separated by tabs; JSON Lines if the name ends in .jsonl
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
    /// Memory limit, such as 1GiB [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", help_heading = heading::RESOURCES)]
    memory: Option<ByteSize>,
    /// Directory for temporary files, which are deleted in any case [default: that of the system]
    #[arg(long, value_name = "DIR", help_heading = heading::RESOURCES)]
    temp_dir: Option<PathBuf>,
}

/// Which document of a cluster is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Keep {
    /// The first in the input
    First,
    /// The longest; the first of several
    Longest,
}

/// How the memory is divided, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct MemoryShares {
    /// For the fingerprints, and the search for near ones.
    search: u64,
    /// For all texts, held from the first pass on.
    texts: u64,
    /// For the feature sets of candidates.
    sets: u64,
}

impl MemoryShares {
    /// With `verifies`, texts and sets have an eighth each of what the search need not have.
    fn new(memory: u64, verifies: bool) -> Self {
        let spare = memory.saturating_sub(MIN_MEMORY);
        let share = if verifies { spare / 8 } else { 0 };
        MemoryShares {
            search: memory - 2 * share,
            texts: share,
            sets: share,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    start_threads(args.input.threads)?;
    if args.against.is_empty() {
        return with_width!(args.input.width, F => of_width::<F>(args, None, mode));
    }
    let index = IndexArgs {
        paths: args.against.clone(),
        open: args.open.clone(),
    };
    let any: AnySegments = index.open()?;
    with_segments!(any, segments => of_width(args, Some(&segments), mode))
}

fn of_width<F: Fingerprint>(
    args: &Args,
    against: Option<&Segments<F, Storage>>,
    mode: ProgressMode,
) -> Answer {
    let outputs = Outputs::new(args)?;
    if let Some(segments) = against {
        check_width::<F>(segments, args.input.width)?;
    }
    let originals = args.originals::<F>()?;
    outputs.check(&args.output, &originals)?;
    let pipeline = args.input.pipeline.pipeline()?;
    let needs = Needs {
        text: args.needs_text(),
        lengths: args.keep == Keep::Longest,
        ids: args.report.is_some(),
        texts: args.verify.map(|_| args.memory_shares().texts),
        pipeline: match against {
            Some(segments) => foreign_pipeline(segments, &pipeline),
            None => None,
        },
    };
    let mut documents = Documents::<F>::new(&args.options(), needs, args.temp_dir.as_deref());
    let bar = mode.reading("documents");
    let read = read_originals(&args.input, &pipeline, &originals, bar, &mut documents)?;
    let (mut deduplicator, mut documents) = documents.finish(read)?;

    if let Some(segments) = against {
        let bar = mode.spinner();
        bar.set_message("looking documents up in the index");
        deduplicator.exclude(segments)?;
        bar.finish_and_clear();
    }
    let mut verifier = args.verifier(&pipeline)?;
    if let (Some(verifier), Some(held)) = (&mut verifier, documents.texts.take()) {
        let bar = mode.spinner();
        bar.set_message("finding candidates");
        let candidates = deduplicator.candidates()?;
        bar.finish_and_clear();
        let source = (originals.as_slice(), &documents.positions);
        texts::give::<F>(verifier, held, &candidates, source, mode)?;
    }
    let mut found = match &mut verifier {
        None => {
            let bar = mode.spinner();
            bar.set_message("finding near-duplicates");
            let found = deduplicator.finish(None)?;
            bar.finish_and_clear();
            found
        }
        Some(verifier) => texts::verified(deduplicator, verifier, mode)?,
    };
    if args.keep == Keep::Longest {
        found.keep_by(|document| documents.lengths[document].into());
    }

    let skipped = documents.positions.skipped_count();
    let labels = Labels {
        documents: &documents,
        segments: against,
    };
    outputs.write(
        args,
        |out| copy(args, &originals, &found, &documents.positions, mode, out),
        |out| write_duplicates(&found, &labels, verifier.as_mut(), args.reports_json(), out),
    )?;
    let chained = found.chained_count(args.max_distance);
    Summary::new(&found.counts(), chained, skipped, read.replaced).tell(args.json)?;
    Ok(true)
}

/// Copies the records of documents that are kept.
fn copy<F: Fingerprint>(
    args: &Args,
    originals: &[InputFile],
    found: &Deduplicated<F>,
    positions: &Positions,
    mode: ProgressMode,
    out: &mut (dyn std::io::Write + Send),
) -> Result<(), Failure> {
    let bar = mode.reading("documents").doing("copying");
    let bar = bar.start(originals.iter().map(InputFile::byte_count).sum());
    let mut walk = positions.walk();
    compress::by_name(&args.output, out, |out| {
        let mut choose = |bytes| {
            let document = walk.next();
            bar.show_sometimes(walk.position(), bytes);
            document.is_some_and(|document| found.is_kept(document))
        };
        Ok(simidx_input::filter_records::<F>(
            originals,
            out,
            &mut choose,
        )?)
    })?;
    bar.finish();
    walk.check_complete()
}

/// Fingerprints of different widths have no distance.
fn check_width<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    width: Width,
) -> Result<(), Failure> {
    if width.is_of::<F>() {
        return Ok(());
    }
    let message = format!("holds {0}-bit fingerprints; say --width {0}", F::WIDTH);
    Err(Failure::new(message).about(&segments.names()[0]))
}

impl Args {
    fn memory_shares(&self) -> MemoryShares {
        let memory = self.memory.map(|size| size.as_u64());
        let memory = memory.unwrap_or_else(memory::default_limit);
        MemoryShares::new(memory, self.verify.is_some())
    }

    fn verifier(&self, pipeline: &Pipeline) -> Result<Option<TextVerifier>, Failure> {
        let Some(similarity) = self.verify else {
            return Ok(None);
        };
        let mut options = TextVerifierOptions::default();
        options.similarity = similarity;
        options.memory = Some(self.memory_shares().sets);
        options.temp_dir = self.temp_dir.clone();
        Ok(Some(TextVerifier::new(pipeline, &options)?))
    }

    fn options(&self) -> DedupOptions {
        let mut options = DedupOptions::default();
        options.distance = self.max_distance;
        options.memory = Some(self.memory_shares().search);
        options.temp_dir = self.temp_dir.clone();
        options
    }

    /// The inputs, all of one kind.
    fn originals<F: Fingerprint>(&self) -> Result<Vec<InputFile>, Failure> {
        let mut originals: Vec<InputFile> = Vec::new();
        let options = self.input.fields.options();
        for path in self.input.paths()? {
            let format = self.input.input.0;
            let temp_dir = self.temp_dir.as_deref();
            let original = InputFile::open_with::<F>(&path, format, &options, temp_dir)?;
            if let Some(first) = originals.first().filter(|first| !original.goes_with(first)) {
                let (format, other) = (original.format().name(), first.format().name());
                let message = match format == other {
                    true => "has other columns than the inputs before it".to_owned(),
                    false => format!(
                        "is read as {format} and cannot go into one output with inputs read as {other}"
                    ),
                };
                return Err(Failure::new(message).about(path.display()));
            }
            originals.push(original);
        }
        Ok(originals)
    }

    /// The option that needs texts, if one does.
    fn needs_text(&self) -> Option<&'static str> {
        match (self.verify, self.keep) {
            (Some(_), _) => Some("--verify"),
            (None, Keep::Longest) => Some("--keep longest"),
            (None, Keep::First) => None,
        }
    }

    fn reports_json(&self) -> bool {
        let name = self.report.as_deref().map(compress::plain_name);
        name.is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".ndjson"))
    }
}

/// What is wrong with documents if the index was made of documents in another way.
fn foreign_pipeline<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    own: &Pipeline,
) -> Option<String> {
    let described = segments.pipeline()?;
    let name = &segments.names()[0];
    match Pipeline::parse(described, &files_of(own)) {
        Ok(pipeline) if pipeline == *own => None,
        Ok(_) => Some(format!(
            "{name} was built with another pipeline, which simidx info tells"
        )),
        Err(error) => Some(format!("{name}: {error}")),
    }
}

/// Where the results go.
struct Outputs {
    kept: Output,
    report: Option<Output>,
}

impl Outputs {
    fn new(args: &Args) -> Result<Self, Failure> {
        let kept = Output::for_text(&args.output, args.force)?;
        if args.json && matches!(kept, Output::Stdout) {
            return Err(Failure::new(
                "--json needs standard output; name a file with -o",
            ));
        }
        let report = match &args.report {
            None => None,
            Some(path) => Some(Output::for_text(path, args.force)?),
        };
        if let (Some(report), Some(path)) = (&report, &args.report)
            && (kept.is_same_file(report) || *path == args.output)
        {
            let failure = Failure::new("is named twice, by -o and --report");
            return Err(failure.about(path.display()));
        }
        if args.json && matches!(report, Some(Output::Stdout)) {
            return Err(Failure::new(
                "--json needs standard output; name a file with --report",
            ));
        }
        Ok(Outputs { kept, report })
    }

    /// Parquet files are no text, and compressed inside.
    fn check(&self, path: &std::path::Path, originals: &[InputFile]) -> Result<(), Failure> {
        let is_parquet = |original: &InputFile| original.format() == Format::Parquet;
        if !originals.iter().any(is_parquet) {
            return Ok(());
        }
        if compress::is_compressed(path) {
            let message = "a Parquet file is compressed inside and not as a whole";
            return Err(Failure::new(message).about(path.display()));
        }
        Ok(())
    }

    fn write(
        &self,
        args: &Args,
        write_kept: impl FnOnce(&mut (dyn std::io::Write + Send)) -> Result<(), Failure>,
        write_report: impl FnOnce(&mut (dyn std::io::Write + Send)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match (&self.report, &args.report) {
            (Some(report), Some(path)) => self.kept.write_both(write_kept, report, |out| {
                compress::by_name(path, out, write_report)
            }),
            _ => self.kept.write(write_kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_all_of_the_memory() {
        for memory in [0, MIN_MEMORY, MIN_MEMORY + 7, 4 << 30] {
            for verifies in [false, true] {
                let shares = MemoryShares::new(memory, verifies);
                assert_eq!(shares.search + shares.texts + shares.sets, memory);
                assert!(shares.search >= memory.min(MIN_MEMORY));
                assert_eq!(shares.texts > 0, verifies && memory > MIN_MEMORY + 7);
            }
        }
    }
}
