//! `simidx merge`: merges several indexes into one, without excluded records.

use std::io::Write;
use std::path::PathBuf;

use clap::Arg;
use serde_json::json;
use simidx::Set;
use simidx::design::TableDesign;
use simidx::merge::{MergeCodec, MergeOptions, Unmatched};
use simidx::set::{Exclusions, Segment};

use crate::cmd::Answer;
use crate::support::build_report::{BuildReport, Stages};
use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, IndexArgs, while_released};
use crate::support::inputs::InputFiles;
use crate::support::messages::say;
use crate::support::options::{
    CODECS, Choice, CodecChoice, ResourceArgs, TABLE_DISTANCES, beside_output, check_temp_dir,
    one_of,
};
use crate::support::output::{Output, temp_dir_of};
use crate::support::progress::ProgressMode;
use crate::support::quantity::{block_size, count};
use crate::support::report::FileReport;

/// The head of `simidx merge --help` and of its man page.
pub(crate) const HELP: &str = "\
Merge several indexes into one, optionally without some of their records.

The result has the tables, the distance and the block size of the largest input, unless the options name others. \
The records are read in order and the tables built anew: memory does not grow with the inputs. Sketches are carried along if all \
inputs have the same kind; otherwise they are left out, and a message says so.

Examples:
  simidx merge monday.simidx tuesday.simidx -o week.simidx
  simidx merge base.simidx changed.simidx --newest-wins -o base2.simidx
  simidx merge all.simidx --exclude deleted.hex -o kept.simidx
  simidx merge a.simidx b.simidx --exclude-from a.simidx old.hex -o c.simidx
  simidx merge part-*.simidx --tables 4 --codec gap -o all.simidx";

/// Arguments of `simidx merge`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("memory", beside_inputs), mut_arg("temp_dir", beside_output))]
pub(crate) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// File to write the index to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Of the records with the same id, keep only those of the last input that has it: an input with new versions then
    /// replaces the old ones
    #[arg(long)]
    newest_wins: bool,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Number of tables, one that has a design [default: the tables of the largest input]
    #[arg(long, value_name = "N", value_parser = count(1..=u64::from(u8::MAX)))]
    tables: Option<u64>,
    /// Largest distance that the tables are chosen for, as in a build, or with --tables, that of their design
    /// [default: that of the largest input]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(TABLE_DISTANCES))]
    max_distance: Option<u32>,
    /// Bytes per block, a power of two such as 512 or 4KiB [default: that of the largest input]
    #[arg(long, value_name = "SIZE", value_parser = block_size)]
    block_size: Option<u32>,
    /// Code of the tables
    #[arg(long, value_parser = one_of(codecs()), value_name = "CODEC", default_value = "auto")]
    codec: MergeCodec,
    #[command(flatten)]
    resources: ResourceArgs,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print JSON: one object with the report
    #[arg(long)]
    json: bool,
}

/// Adapts the help of `--memory`: the memory of a merge does not include the inputs, and has its own default.
fn beside_inputs(memory: Arg) -> Arg {
    let memory = memory.help("Memory limit, such as 1GiB, in addition to the mapped inputs");
    memory.default_value("256MiB")
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let mut inputs = InputFiles::new(args.index.files()?);
    inputs.add(args.exclude.paths());
    let output = Output::new(&args.output, args.force, &inputs)?;
    merge(&args.index.open()?, &args, &output, mode)
}

fn merge(set: &Set, args: &Args, output: &Output, mode: ProgressMode) -> Answer {
    let stages = Stages::start(mode);
    let options = args.options(set)?.watch(stages.watch());
    let mut folders = options.temp_dir.iter();
    folders.try_for_each(|folder| check_temp_dir(folder))?;
    let write = |out: &mut (dyn Write + Send)| {
        let merged = set.merge(&options, out)?;
        stages.end_stage();
        Ok(merged)
    };
    let written = while_released(set, || output.write(write));
    let merged = written.map_err(Failure::of_whole)?;

    if merged.sketches.is_none() {
        say_dropped_sketches(set);
    }
    let index = FileReport {
        summary: merged.summary,
        pipeline: set.pipeline(),
        metadata: &merged.metadata,
        sketches: merged.sketches.as_ref(),
    };
    let mut report = BuildReport::new(index, stages, options.memory);
    report.add("segment_count", "segments", set.segment_count() as u64, "");
    let (records, fingerprints) = (
        merged.dropped_record_count,
        merged.dropped_fingerprint_count,
    );
    report.note("dropped_record_count", records);
    report.note("dropped_fingerprint_count", fingerprints);
    let dropped = format!("{records} records, {fingerprints} fingerprints");
    report.rows.push(("left out", dropped));
    let replaced = merged.replaced_record_count;
    report.add("replaced_record_count", "replaced", replaced, " records");
    let Unmatched {
        id_count,
        fingerprint_count,
        ..
    } = merged.unmatched;
    report.add("unmatched_id_count", IDS, id_count, "");
    report.add(
        "unmatched_fingerprint_count",
        FINGERPRINTS,
        fingerprint_count,
        "",
    );
    let mut of_inputs = Vec::new();
    for (&number, unmatched) in &merged.unmatched_of_segments {
        let name = &set.names()[number];
        let (ids, fingerprints) = (unmatched.id_count, unmatched.fingerprint_count);
        for (label, count) in [(IDS, ids), (FINGERPRINTS, fingerprints)] {
            let row = (count > 0).then(|| (label, format!("{count} in {name}")));
            report.rows.extend(row);
        }
        of_inputs.push(json!({
            "index": name,
            "unmatched_id_count": ids,
            "unmatched_fingerprint_count": fingerprints,
        }));
    }
    report.note("exclude_from", of_inputs);
    output.report(&report, args.json)?;
    Ok(true)
}

impl Args {
    fn options(&self, set: &Set) -> Result<MergeOptions, Failure> {
        let mut options = MergeOptions::default();
        options.codec = self.codec;
        options.max_distance = self.max_distance;
        options.block_size = self.block_size;
        if let Some(tables) = self.tables {
            let distance = self.max_distance.unwrap_or_else(|| largest_distance(set));
            let design = TableDesign::with_table_count(set.width(), distance, tables as usize);
            options.design = Some(design.map_err(simidx::Error::from)?);
        }
        options.newest_wins = self.newest_wins;
        options.memory = self.resources.memory_limit();
        options.temp_dir = Some(temp_dir_of(&self.resources, &self.output));
        // The lists stay within the memory limit.
        let none = || {
            let temp_dir = options.temp_dir.clone();
            Ok(Exclusions::with_memory(options.memory, temp_dir)?)
        };
        (options.exclusions, options.segment_exclusions) = self.exclude.read(set, none)?;
        Ok(options)
    }
}

/// The labels of excluded ids and fingerprints that do not exist.
const IDS: &str = "ids not found";
const FINGERPRINTS: &str = "fingerprints not found";

/// Reports that the sketches of the inputs are left out, if there are any, and the reason.
fn say_dropped_sketches(set: &Set) {
    if let Err(error @ simidx::Error::Mismatch { .. }) = set.sketch_parameters() {
        say(format_args!("sketches left out: {error}"));
    }
}

/// Returns the default distance of the tables of a merge.
fn largest_distance(set: &Set) -> u32 {
    let largest = set.segments().rev().max_by_key(|segment| segment.len());
    largest.map_or(0, Segment::max_distance)
}

/// The codec of the tables of the merged index: as in a new index, or as in the inputs.
fn codecs() -> impl Iterator<Item = Choice<MergeCodec>> {
    let new = |codec: CodecChoice| codec.map_or(MergeCodec::Chosen, MergeCodec::Given);
    let same = (
        "same",
        "The codec of the inputs, where they agree; else auto",
        MergeCodec::Same,
    );
    let all = CODECS.map(|(name, help, codec)| (name, help, new(codec)));
    all.into_iter().chain([same])
}
