//! `simidx build`: records in, an index file out.

mod collector;

use std::path::PathBuf;

use simidx::format::{MAX_SKETCH_BITS, Metadata};
use simidx_text::Pipeline;
use simidx_text::similar::{SketchFeatures, Sketcher};

use crate::cmd::Answer;
use crate::support::build_report::{BuildReport, Stages};
use crate::support::failure::Failure;
use crate::support::inputs::InputArgs;
use crate::support::options::{
    CODECS, CodecChoice, IdChoice, ResourceArgs, TABLE_DISTANCES, beside_output, check_temp_dir,
    one_of,
};
use crate::support::output::{Output, temp_dir_of};
use crate::support::progress::ProgressMode;
use crate::support::quantity::{block_size, count};
use crate::support::records;
use crate::support::report::FileReport;
use crate::support::similarity::words;
use collector::Collector;

/// The head of `simidx build --help` and of its man page.
pub(crate) const HELP: &str = "\
Build an index file from fingerprints or documents.

The file appears under its name when it is complete. A build that fails or is interrupted by a signal leaves nothing \
behind, except after SIGKILL.

Examples:
  simidx build crawl.jsonl.gz -o crawl.simidx
  simidx build 'part-*.tsv.zst' --ids string -k 4 -o all.simidx
  simidx build shards/ --text-field title,body --id-field url -o docs.simidx
  simidx build crawl.jsonl.gz --sketch 256 -o crawl.simidx
  zcat hashes.gz | simidx build --input hex --tables 6 -o hashes.simidx";

/// Arguments of `simidx build`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("temp_dir", beside_output))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// File to write the index to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Largest distance that the tables are chosen for; queries may use any
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3, value_parser = count(TABLE_DISTANCES))]
    max_distance: u32,
    /// Number of tables: auto, or a number that has a design (for -k 3: 1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35)
    #[arg(long, value_name = "N", default_value = "auto", value_parser = table_count)]
    tables: TableCount,
    /// Bytes per block, a power of two such as 512 or 4KiB
    #[arg(long, value_name = "SIZE", default_value_t = 512, value_parser = block_size)]
    block_size: u32,
    /// Code of the tables
    #[arg(long, value_parser = one_of(CODECS), value_name = "CODEC", default_value = "auto")]
    codec: CodecChoice,
    /// Ids of records to store
    #[arg(long, value_enum, value_name = "KIND", default_value_t = IdChoice::Auto)]
    ids: IdChoice,
    /// Store the order of the ids too, so that query --id finds an id at once; takes 20 bits per record for a million records,
    /// 30 for a billion
    #[arg(long)]
    id_lookup: bool,
    /// Store a key and its value in the index; info prints them. May be repeated
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// Store a sketch of BITS bits next to each fingerprint of a document, 64 to 512 and a multiple of 64: `simidx join
    /// --similarity` then estimates their similarity to new documents, without the indexed texts. With 256 bits, 32 bytes
    /// per record and a standard error of 0.04
    #[arg(long, value_name = "BITS", value_parser = sketch_bits)]
    sketch: Option<u32>,
    /// Features to sketch: words:N, all runs of N words [default: words:3]
    #[arg(long, value_name = "FEATURES", requires = "sketch", value_parser = words)]
    features: Option<usize>,
    #[command(flatten)]
    resources: ResourceArgs,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print JSON: one object with the report
    #[arg(long)]
    json: bool,
}

/// Parses `--sketch`.
fn sketch_bits(text: &str) -> Result<u32, String> {
    let bits = text.parse().ok();
    let bits =
        bits.filter(|bits: &u32| bits.is_multiple_of(64) && (64..=MAX_SKETCH_BITS).contains(bits));
    bits.ok_or_else(|| format!("a sketch has 64, 128, 192 … or {MAX_SKETCH_BITS} bits"))
}

/// The number of tables; `None` if the library chooses it.
type TableCount = Option<usize>;

/// Parses `--tables`.
fn table_count(text: &str) -> Result<TableCount, &'static str> {
    match text {
        "auto" => Ok(None),
        _ => text
            .parse()
            .map(Some)
            .map_err(|_| "neither auto nor a number"),
    }
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let args = &args;
    let output = Output::new(&args.output, args.force, &args.input.files()?)?;
    let stages = Stages::start(mode);
    let mut collector = Collector::new(args, stages.watch())?;
    check_temp_dir(&args.temp_dir())?;
    let reading = (mode, "reading", "records");
    let pipeline = collector.pipeline.clone();
    let counts = records::read(&args.input, &pipeline, reading, &mut collector)?;
    let sketches = collector.options.sketches.clone();
    let (builder, pipeline) = collector.finish()?;

    let written = output.write(|out| {
        let summary = builder.finish(out)?;
        stages.end_stage();
        Ok(summary)
    });
    let summary = written.map_err(Failure::of_whole)?;

    let index = FileReport {
        summary,
        pipeline: pipeline.as_deref(),
        metadata: &args.metadata()?,
        sketches: sketches.as_ref(),
    };
    let mut report = BuildReport::new(index, stages, args.resources.memory_limit());
    report.add("skipped_count", "skipped records", counts.skipped, "");
    report.add("replaced_count", "with replaced bytes", counts.replaced, "");
    let without = counts.without_features;
    report.add(
        "without_features_count",
        "without features",
        without,
        ", left out",
    );
    output.report(&report, args.json)?;
    Ok(true)
}

impl Args {
    /// Returns the metadata of `--meta`.
    ///
    /// # Errors
    /// An argument without `=`, a repeated key, or metadata that a file cannot store.
    fn metadata(&self) -> Result<Metadata, Failure> {
        let mut metadata = Metadata::default();
        for entry in &self.metadata {
            let (key, value) = entry.split_once('=').ok_or_else(|| {
                Failure::new(format!("--meta {entry:?} is not KEY=VALUE: it has no ="))
            })?;
            if metadata.get(key).is_some() {
                return Err(Failure::new(format!("--meta names the key {key:?} twice")));
            }
            metadata.insert(key, value).map_err(simidx::Error::from)?;
        }
        Ok(metadata)
    }

    /// Returns the sketcher, if the index has sketches. It makes sketches of the text that the pipeline extracts from
    /// HTML.
    ///
    /// # Errors
    /// None after the checks of the arguments.
    fn sketcher(&self, pipeline: &Pipeline) -> Result<Option<Sketcher>, Failure> {
        let Some(bits) = self.sketch else {
            return Ok(None);
        };
        let words = self
            .features
            .unwrap_or_else(|| SketchFeatures::default().words());
        let features = SketchFeatures::new(words, pipeline.options().html)?;
        Ok(Some(Sketcher::new(bits, features)?))
    }

    /// Returns the directory for temporary files.
    fn temp_dir(&self) -> PathBuf {
        temp_dir_of(&self.resources, &self.output)
    }
}
