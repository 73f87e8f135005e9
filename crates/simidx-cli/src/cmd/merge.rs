//! `simidx merge`: several indexes into one, without some records.

use std::io::{self, Write};
use std::path::PathBuf;

use bytesize::ByteSize;
use serde::Serialize;
use simidx::segments::{Exclusions, MergeCodec, MergeOptions, Segments};
use simidx::{Codec, Fingerprint, IdKind, Storage};
use simidx_input::{Content, Format};

use crate::cmd::Answer;
use crate::support::build_report::{BuildReport, Clock, StageBar};
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, with_segments};
use crate::support::output::{Output, folder};
use crate::support::progress::ProgressMode;
use crate::support::records::{refused, start_threads, threads_from};
use crate::support::report::Report;
use crate::support::resources::check_temp_dir;

/// Number of records or values between releases of mapped pages.
const RELEASE_EVERY: u64 = 1 << 21;

/// The head of `simidx merge --help` and of its man page.
pub(crate) const HELP: &str = "\
Merge several indexes into one, optionally without some of their records.

The indexes are streamed: memory does not grow with their size.

Examples:
  simidx merge monday.simidx tuesday.simidx -o week.simidx
  simidx merge all.simidx --exclude deleted.hex -o kept.simidx
  simidx merge a.simidx b.simidx --exclude ids.txt --exclude-by id -o c.simidx";

/// Arguments of `simidx merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Index file to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// File of what to leave out, one on each line
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// What the lines of --exclude are
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ExcludeBy::Fingerprint, requires = "exclude")]
    exclude_by: ExcludeBy,
    /// Code of the tables
    #[arg(long, value_enum, value_name = "CODEC", default_value_t = MergeCodecChoice::Auto)]
    codec: MergeCodecChoice,
    /// Memory limit, such as 1GiB, in addition to the mapped inputs
    #[arg(long, value_name = "SIZE", default_value = "256MiB", help_heading = heading::RESOURCES)]
    memory: ByteSize,
    /// Directory for temporary files, which are deleted in any case [default: that of the output]
    #[arg(long, value_name = "DIR", help_heading = heading::RESOURCES)]
    temp_dir: Option<PathBuf>,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0), help_heading = heading::RESOURCES)]
    threads: u16,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// How --exclude names records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExcludeBy {
    /// Hexadecimal fingerprints; all records of each are left out
    Fingerprint,
    /// Ids; the records with each are left out
    Id,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    start_threads(args.threads)?;
    let output = Output::new(&args.output, args.force)?;
    with_segments!(args.index.open()?, segments => merge(&segments, &args, &output, mode))
}

fn merge<F: Fingerprint>(
    segments: &Segments<F, Storage>,
    args: &Args,
    output: &Output,
    mode: ProgressMode,
) -> Answer {
    let mut options = MergeOptions::default();
    options.codec = args.codec.into();
    options.exclusions = exclusions(args, segments.id_kind())?;
    options.memory = args.memory.as_u64();
    options.temp_dir = Some(temp_dir(args));
    let mut folders = options.temp_dir.iter();
    folders.try_for_each(|folder| check_temp_dir(folder))?;
    let mut clock = Clock::start();
    let mut released = 0;
    let mut bar = StageBar::new(mode);
    let merged = output.write(|out| {
        let merged = simidx::segments::merge(segments, &options, out, |progress| {
            clock.enter(progress.stage);
            bar.show(&progress);
            // Each release costs a fault for each page that is still wanted.
            if progress.done.abs_diff(released) >= RELEASE_EVERY {
                released = progress.done;
                evict(segments);
            }
        })?;
        clock.end_stage();
        Ok(merged)
    })?;
    clock.end_stage();
    bar.finish();

    let index = Report::new(&merged.summary, segments.pipeline(), &merged.metadata);
    let report = MergeReport {
        build: BuildReport::new(index, clock, options.memory),
        segment_count: segments.segments().len(),
        dropped_record_count: merged.dropped_record_count,
        dropped_fingerprint_count: merged.dropped_fingerprint_count,
        unmatched_id_count: merged.unmatched_id_count,
    };
    output.report(&report, args.json, |out| report.print(out))?;
    Ok(true)
}

/// Where temporary files go.
fn temp_dir(args: &Args) -> PathBuf {
    match &args.temp_dir {
        Some(folder) => folder.clone(),
        None => folder(&args.output).to_owned(),
    }
}

/// Releases the pages of mapped files that have been read, so that a merge does not appear to use as much memory as its
/// files. A failure to do so is no reason to stop.
fn evict<F: Fingerprint>(segments: &Segments<F, Storage>) {
    #[cfg(unix)]
    for segment in segments.segments() {
        let _ = segment.storage().evict();
    }
    #[cfg(not(unix))]
    let _ = segments;
}

/// How the tables of the merged index are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MergeCodecChoice {
    /// ef, unless a Huffman code saves a tenth
    Auto,
    /// The codec of the inputs, where they agree; else auto
    Same,
    /// The code of the original paper
    Xor,
    /// The smallest: Huffman-coded differences
    Gap,
    /// The fastest: Elias-Fano
    Ef,
}

impl From<MergeCodecChoice> for MergeCodec {
    fn from(choice: MergeCodecChoice) -> Self {
        match choice {
            MergeCodecChoice::Auto => MergeCodec::Chosen,
            MergeCodecChoice::Same => MergeCodec::AsSegments,
            MergeCodecChoice::Xor => MergeCodec::Given(Codec::Xor),
            MergeCodecChoice::Gap => MergeCodec::Given(Codec::Gap),
            MergeCodecChoice::Ef => MergeCodec::Given(Codec::EliasFano),
        }
    }
}

/// The contents of the file of `--exclude`.
fn exclusions<F: Fingerprint>(args: &Args, ids: IdKind) -> Result<Exclusions<F>, Failure> {
    let Some(path) = &args.exclude else {
        return Ok(Exclusions::default());
    };
    let mut exclusions = Exclusions::with_memory(args.memory.as_u64(), Some(temp_dir(args)))?;
    let format = match args.exclude_by {
        ExcludeBy::Fingerprint => Format::Hex,
        ExcludeBy::Id => Format::Lines,
    };
    let mut reader = simidx_input::open::<F>(path, Some(format))?;
    while let Some(record) = reader.next_record() {
        let record = record?;
        let problem = match record.content {
            Content::Fingerprint(_) if record.id.is_some() => {
                // The user may mean this record only.
                Some("has an id too, but all records of the fingerprint would be left out; remove the id".into())
            }
            Content::Fingerprint(fingerprint) => {
                exclusions.add_fingerprint(fingerprint);
                None
            }
            Content::Text(id) => exclude_id(&mut exclusions, ids, &id)?,
        };
        if let Some(problem) = problem {
            let (source, place) = reader.place();
            return Err(refused(source, place, problem));
        }
    }
    Ok(exclusions)
}

/// Adds an id, or says what is wrong with it.
///
/// # Errors
/// A temporary file cannot be written.
fn exclude_id<F: Fingerprint>(
    exclusions: &mut Exclusions<F>,
    ids: IdKind,
    id: &str,
) -> Result<Option<String>, Failure> {
    Ok(match (ids, u64::parse_dec(id)) {
        (IdKind::String, _) => {
            exclusions.add_string(id)?;
            None
        }
        (IdKind::Number, Some(id)) => {
            exclusions.add_number(id)?;
            None
        }
        (IdKind::Number, None) => Some(format!("the id {id:?} is not a number below 2^64")),
        _ => Some("is an id, but the index stores no ids".into()),
    })
}

/// The report of a merge.
#[derive(Debug, Serialize)]
struct MergeReport {
    #[serde(flatten)]
    build: BuildReport,
    segment_count: usize,
    dropped_record_count: u64,
    dropped_fingerprint_count: u64,
    unmatched_id_count: u64,
}

impl MergeReport {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.build.print_index(out)?;
        writeln!(out, "{:<24}{}", "segments", self.segment_count)?;
        writeln!(
            out,
            "{:<24}{} records, {} fingerprints",
            "left out", self.dropped_record_count, self.dropped_fingerprint_count
        )?;
        if self.unmatched_id_count > 0 {
            writeln!(out, "{:<24}{}", "ids not found", self.unmatched_id_count)?;
        }
        self.build.print_cost(out)
    }
}
