//! `simidx idf`: the inverse document frequencies of a corpus, for `--idf`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::{Value, json};
use simidx_text::assets::{DocumentFrequencies, FrequencyCounter};
use simidx_text::stages::Idf;
use simidx_text::{Fingerprinter, ParallelFingerprinter, Pipeline};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::InputArgs;
use crate::support::options::ThreadArgs;
use crate::support::output::{Output, Report, row};
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::records::{self, Each, Fingerprinted, ReadCounts, Refusal, Wanted};

/// The head of `simidx idf --help` and of its man page.
pub(crate) const HELP: &str = "\
Count in how many documents each feature occurs, and write the inverse document frequencies for --idf.

Examples:
  simidx idf corpus.jsonl.gz -o idf.tsv
  simidx idf 'part-*.parquet' --pipeline news-zh --min-count 5 -o idf.tsv
  simidx build corpus.jsonl.gz --idf idf.tsv -o corpus.simidx";

/// Arguments of `simidx idf`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// File to write the frequencies to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// List only features that occur in at least COUNT documents; the others share a default weight
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = count(1..=u64::MAX))]
    min_count: u64,
    /// List at most N features. When twice as many are held, the rarest are dropped; each takes about 160 bytes of memory
    #[arg(long, value_name = "N", default_value_t = 4_000_000, value_parser = count(1..=u32::MAX))]
    max_features: u32,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Print JSON: one object with the report
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    let output = Output::for_text(&args.output, args.force, &args.input.files()?)?;
    let pipeline = unweighted(args)?;
    let mut counting = Counting {
        // Features do not depend on the width of fingerprints; the narrowest width is valid for every hash.
        fingerprinter: pipeline.parallel(simidx::Width::W32)?,
        counter: FrequencyCounter::new(args.max_features as usize),
        batch: Vec::new(),
        batch_len: 0,
    };
    let reading = (mode, "counting", "documents");
    let mut each = Each(Wanted::Text, |record: Fingerprinted| match record.text {
        Some(text) => {
            counting.push(text);
            Ok(())
        }
        None => Err(Refusal::record(
            "is a fingerprint; this command reads documents",
        )),
    });
    let read = records::read(&args.input, &pipeline, reading, &mut each)?;
    counting.count_batch();
    let found = counting.counter.finish(args.min_count);
    output.write(|mut out: &mut (dyn Write + Send)| {
        Ok(found.write(&pipeline.describe(), &mut out)?)
    })?;
    output.report(&Counted { found, read }, args.json)?;
    Ok(true)
}

/// Returns the pipeline up to features. Weights do not affect the counts.
fn unweighted(args: &Args) -> Result<Pipeline, Failure> {
    let pipeline = args.input.pipeline.unweighted()?;
    if matches!(pipeline.options().idf, Idf::Table(_)) {
        let message = "--idf does not apply here: features are counted, not weighted";
        return Err(Failure::new(message));
    }
    let mut options = pipeline.options().clone();
    options.idf = Idf::None;
    Ok(Pipeline::new(options)?)
}

/// The counts.
struct Counted {
    found: DocumentFrequencies,
    read: ReadCounts,
}

impl Report for Counted {
    fn to_json(&self) -> Value {
        let found = &self.found;
        json!({
            "document_count": found.document_count,
            "skipped_count": self.read.skipped,
            "replaced_count": self.read.replaced,
            "feature_count": found.features.len(),
            "rare_count": found.rare_count,
            "unwritable_count": found.unwritable_count,
            "most_missed": found.most_missed,
            "default": found.idf(0),
        })
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let found = &self.found;
        row(out, "documents", found.document_count)?;
        row(out, "features", found.features.len())?;
        row(out, "left out as rare", found.rare_count)?;
        row(out, "no line can hold", found.unwritable_count)?;
        if found.most_missed > 0 {
            row(out, "counts too low by up to", found.most_missed)?;
        }
        row(out, "default", format_args!("{:.6}", found.idf(0)))
    }
}

/// Number of documents that are counted together. It determines which features are dropped when memory is full, so it
/// must not depend on the number of threads.
const BATCH_DOCUMENTS: usize = 4096;

/// Largest number of bytes of text in memory.
const BATCH_LEN: usize = 16 << 20;

/// Number of documents that one task counts.
const TASK_DOCUMENTS: usize = 128;

/// Counts the features of documents.
struct Counting {
    fingerprinter: ParallelFingerprinter,
    counter: FrequencyCounter,
    batch: Vec<String>,
    batch_len: usize,
}

impl Counting {
    fn push(&mut self, text: String) {
        self.batch_len += text.len();
        self.batch.push(text);
        if self.batch.len() >= BATCH_DOCUMENTS || self.batch_len >= BATCH_LEN {
            self.count_batch();
        }
    }

    /// Counts the waiting documents. Sums do not depend on the order in which tasks end.
    fn count_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch_len = 0;
        let tasks = batch.par_chunks(TASK_DOCUMENTS).map(|documents| {
            let mut counts: HashMap<String, u64> = HashMap::new();
            self.fingerprinter.with(|fingerprinter| {
                documents
                    .iter()
                    .for_each(|document| count_document(fingerprinter, document, &mut counts));
            });
            counts
        });
        let tasks: Vec<HashMap<String, u64>> = tasks.collect();
        let counts = tasks.into_iter().flatten();
        self.counter.add(batch.len() as u64, counts);
    }
}

/// Counts each distinct feature of a document once.
fn count_document(
    fingerprinter: &mut Fingerprinter,
    document: &str,
    counts: &mut HashMap<String, u64>,
) {
    fingerprinter.for_each_feature(document, &mut |feature| match counts.get_mut(feature) {
        Some(count) => *count += 1,
        None => {
            counts.insert(feature.to_owned(), 1);
        }
    });
}
