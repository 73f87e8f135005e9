//! `simidx build`: records in, an index file out.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use indicatif::ProgressBar;
use serde::Serialize;
use simidx::input::RecordId;
use simidx::text::Pipeline;
use simidx::{BuildOptions, BuildStage, Error, Fingerprint, IdKind, IndexBuilder, TableDesign};

use super::Answer;
use super::failure::Failure;
use super::index_file::with_width;
use super::output::Output;
use super::progress::ProgressMode;
use super::records::{self, Fingerprinted, InputArgs, Refusal};
use super::report::Report;

/// Arguments of `simidx build`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// The index file to write, `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Largest distance that the tables answer completely
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    max_distance: u32,
    /// Number of tables: auto, or one for which there is a design (4, 10, 16, 20 for 64 bits, k = 3)
    #[arg(long, value_name = "N", default_value = "auto")]
    tables: String,
    /// Bytes of a block, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    block_size: u32,
    /// How tables are coded: auto or xor
    #[arg(long, value_name = "CODEC", default_value = "auto", value_parser = ["auto", "xor"])]
    codec: String,
    /// What ids to store: auto takes string ids for documents, the id column where there is one
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = ["none", "number", "string", "auto"])]
    ids: String,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: Args, mode: ProgressMode) -> Answer {
    args.input.start_threads()?;
    with_width!(args.input.width.as_str(), F => run_width::<F>(&args, mode))
}

fn run_width<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let output = Output::new(&args.output, args.force)?;
    let mut collector = Collector::<F>::new(args)?;
    let mut clock = Clock::start();
    let bar = mode.counter("records");
    let counts = records::read::<F>(&args.input, &bar, |record| collector.push(record))?;
    clock.end(|seconds| &mut seconds.read);
    let (builder, pipeline) = collector.finish()?;

    let bar = mode.spinner();
    let summary = output.write(|out| {
        let summary = builder.finish_with(out, |stage| {
            clock.end_stage();
            clock.stage = Some(stage);
            show_stage(&bar, stage);
        })?;
        clock.end_stage();
        Ok(summary)
    })?;
    clock.end(|seconds| &mut seconds.write);
    bar.finish_and_clear();

    let report = BuildReport {
        index: Report::new(&summary, pipeline.as_deref()),
        skipped_count: counts.skipped,
        seconds: clock.total(),
        stage_seconds: clock.stages,
    };
    // With the index on stdout the report must not mix with it.
    if output.is_stdout() {
        report.print(&mut std::io::stderr().lock(), args.json)?;
    } else {
        report.print(&mut super::output::stdout(), args.json)?;
    }
    Ok(true)
}

fn show_stage(bar: &ProgressBar, stage: BuildStage) {
    bar.set_message(match stage {
        BuildStage::SortRecords => "sorting the records".to_owned(),
        BuildStage::SortTable(table) => format!("sorting table {table}"),
        BuildStage::EncodeTable(table) => format!("encoding table {table}"),
        _ => "writing the ids".to_owned(),
    });
}

/// Takes records in, and makes the builder when the first one shows what they are like.
struct Collector<'a, F> {
    args: &'a Args,
    design: Option<TableDesign<F>>,
    open: Option<Open<F>>,
}

/// A builder, and what the records for it must be like.
struct Open<F> {
    builder: IndexBuilder<F>,
    ids: IdKind,
    documents: bool,
}

impl<'a, F: Fingerprint> Collector<'a, F> {
    /// Checks the parameters before anything is read.
    fn new(args: &'a Args) -> Result<Self, Failure> {
        let design = match args.tables.as_str() {
            "auto" => None,
            count => {
                let count = count.parse().map_err(|_| {
                    Failure::new(format!("--tables {count}: not auto and not a number"))
                })?;
                Some(TableDesign::with_table_count(args.max_distance, count)?)
            }
        };
        let collector = Collector {
            args,
            design,
            open: None,
        };
        collector.open(IdKind::None, false)?;
        Ok(collector)
    }

    fn open(&self, ids: IdKind, documents: bool) -> Result<Open<F>, Error> {
        let mut options = BuildOptions::default();
        options.max_distance = self.args.max_distance;
        options.design = self.design.clone();
        options.block_size = self.args.block_size;
        options.ids = ids;
        options.pipeline = documents.then(|| Pipeline::new(self.args.input.features).describe());
        Ok(Open {
            builder: IndexBuilder::new(options)?,
            ids,
            documents,
        })
    }

    /// The kind of ids that `--ids` stands for, given the first record.
    fn id_kind(&self, first: Option<&Fingerprinted<F>>) -> IdKind {
        let named = |record: &Fingerprinted<F>| record.is_document || record.id.is_some();
        match self.args.ids.as_str() {
            "none" => IdKind::None,
            "number" => IdKind::Number,
            "string" => IdKind::String,
            _ if first.is_some_and(named) => IdKind::String,
            _ => IdKind::None,
        }
    }

    fn push(&mut self, record: Fingerprinted<F>) -> Result<(), Refusal> {
        if self.open.is_none() {
            let kind = self.id_kind(Some(&record));
            self.open = Some(self.open(kind, record.is_document)?);
        }
        let automatic = self.args.ids == "auto";
        match &mut self.open {
            Some(open) => open.push(record, automatic),
            None => Ok(()),
        }
    }

    /// The builder with all records, and the description of the text pipeline if it took part.
    fn finish(mut self) -> Result<(IndexBuilder<F>, Option<String>), Failure> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(self.id_kind(None), false)?,
        };
        let pipeline = Pipeline::new(self.args.input.features).describe();
        Ok((open.builder, open.documents.then_some(pipeline)))
    }
}

impl<F: Fingerprint> Open<F> {
    fn push(&mut self, record: Fingerprinted<F>, automatic: bool) -> Result<(), Refusal> {
        if record.is_document != self.documents {
            let message = "a document among fingerprints, or a fingerprint among documents";
            return Err(Refusal::record(message));
        }
        if self.ids == IdKind::None && automatic && record.id.is_some() {
            let message = "has an id, but the first record had none; say --ids";
            return Err(Refusal::record(message));
        }
        let fingerprint = record.fingerprint;
        match self.ids {
            IdKind::None => self.builder.push(fingerprint)?,
            IdKind::Number => {
                let id = number_id(&record)?;
                self.builder.push_with_number(fingerprint, id)?;
            }
            IdKind::String => {
                let id = string_id(record)?;
                self.builder.push_with_string(fingerprint, &id)?;
            }
        }
        Ok(())
    }
}

/// The id of a record as a number: its position where it has none.
fn number_id<F>(record: &Fingerprinted<F>) -> Result<u64, Refusal> {
    match &record.id {
        None => Ok(record.position),
        Some(RecordId::Number(id)) => Ok(*id),
        Some(RecordId::Text(id)) => u64::parse_dec(id)
            .ok_or_else(|| Refusal::record(format!("the id {id:?} is not a number below 2^64"))),
    }
}

/// The id of a record as a string: the position of a document that has none.
fn string_id<F>(record: Fingerprinted<F>) -> Result<String, Refusal> {
    match record.id {
        Some(RecordId::Text(id)) => Ok(id),
        Some(RecordId::Number(id)) => Ok(id.to_string()),
        None if record.is_document => Ok(record.position.to_string()),
        None => Err(Refusal::record("has no id")),
    }
}

/// Measures the stages of a build.
struct Clock {
    begun: Instant,
    last: Instant,
    stage: Option<BuildStage>,
    stages: StageSeconds,
}

/// Seconds of each stage, those of all tables together.
#[derive(Debug, Default, Serialize)]
struct StageSeconds {
    read: f64,
    sort: f64,
    encode: f64,
    ids: f64,
    write: f64,
}

impl Clock {
    fn start() -> Self {
        let now = Instant::now();
        Clock {
            begun: now,
            last: now,
            stage: None,
            stages: StageSeconds::default(),
        }
    }

    /// Adds the time since the last end to a stage.
    fn end(&mut self, stage: impl FnOnce(&mut StageSeconds) -> &mut f64) {
        let now = Instant::now();
        *stage(&mut self.stages) += (now - self.last).as_secs_f64();
        self.last = now;
    }

    fn end_stage(&mut self) {
        match self.stage.take() {
            None => {}
            Some(BuildStage::SortRecords | BuildStage::SortTable(_)) => self.end(|s| &mut s.sort),
            Some(BuildStage::EncodeTable(_)) => self.end(|s| &mut s.encode),
            Some(_) => self.end(|s| &mut s.ids),
        }
    }

    fn total(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// The report at the end of a build.
#[derive(Debug, Serialize)]
struct BuildReport {
    #[serde(flatten)]
    index: Report,
    skipped_count: u64,
    seconds: f64,
    stage_seconds: StageSeconds,
}

impl BuildReport {
    fn print(&self, out: &mut dyn Write, json: bool) -> Result<(), Failure> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            writeln!(out)?;
        } else {
            self.index.print(out)?;
            let s = &self.stage_seconds;
            writeln!(
                out,
                "{:<24}{:.2} s (read {:.2}, sort {:.2}, encode {:.2}, ids {:.2}, write {:.2})",
                "time", self.seconds, s.read, s.sort, s.encode, s.ids, s.write
            )?;
        }
        Ok(out.flush()?)
    }
}
