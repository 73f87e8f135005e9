//! `simidx plan`: predicts the size and latency of an index for each table design, or the cost of a search for similar
//! texts.

use std::io::{self, Write};

use clap::ArgAction;
use serde::Serialize;
use serde_json::{Value, json};
use simidx::Width;
use simidx::design::{PlanRequest, PlannedIndex};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{Banding, SimilarTexts};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::messages::{counted, say};
use crate::support::options::{CODECS, Choice, CodecChoice, TABLE_DISTANCES, one_of, width};
use crate::support::output::{Report, row, stdout, write_report};
use crate::support::quantity::{Size, block_size, count};
use crate::support::similarity::{ID_SHARE, SimilarityArgs, features_of};

/// Mean number of bytes of an English word with the space before it.
const WORD_LEN: f64 = 6.5;

/// Processor time in seconds for a text, and for a byte of text: a fit to 10^5 and 10^6 English descriptions of 500
/// bytes and to 5,468 licences of 3,000, on an x86-64 server of 2024.
const TEXT_SECONDS: f64 = 1e-6;
const BYTE_SECONDS: f64 = 12e-9;

/// Processor time in seconds for finding and comparing the candidates of a text, if they are few, from the same texts.
const COMPARE_SECONDS: f64 = 1e-6;

/// Number of values of a key.
const KEYS: f64 = 4294967296.0;

/// The head of `simidx plan --help` and of its man page.
pub(crate) const HELP: &str = "\
Predict the size and the latency of an index for each table design, and recommend one.

With --similarity, predict instead which part of similar texts a search finds, and what it takes.

Examples:
  simidx plan --count 1e8
  simidx plan --count 8.6e9 -k 3 --max-size 80GB --medium ssd
  simidx plan --count 50000000 --width 128 -k 6 --json
  simidx plan --count 1e8 --similarity 0.8 --text-size 2KiB";

/// Arguments of `simidx plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of distinct fingerprints, or of texts, such as 10000000, 1e7 or 8.6e9
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX))]
    count: u64,
    /// Largest distance of the queries
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3, value_parser = count(TABLE_DISTANCES))]
    max_distance: u32,
    #[command(flatten)]
    similarity: SimilarityArgs,
    /// With --similarity, the mean size of a text
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1KiB",
        requires = "SimilarityArgs"
    )]
    text_size: Size,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width(), conflicts_with = "SimilarityArgs")]
    width: Width,
    /// Largest acceptable file, such as 1GiB, 500MB or a number of bytes
    #[arg(
        long,
        value_name = "SIZE",
        alias = "memory",
        conflicts_with = "SimilarityArgs"
    )]
    max_size: Option<Size>,
    /// Where the file is when it is queried
    #[arg(long = "medium", value_parser = one_of(MEDIA), action = ArgAction::Set, value_name = "MEDIUM", default_value = "memory", conflicts_with = "SimilarityArgs")]
    on_ssd: bool,
    /// Code of the tables; auto compares all codes
    #[arg(long, value_parser = one_of(CODECS), value_name = "CODEC", default_value = "auto", conflicts_with = "SimilarityArgs")]
    codec: CodecChoice,
    /// Bytes per block, a power of two such as 512 or 4KiB
    #[arg(long, value_name = "SIZE", default_value_t = 512, value_parser = block_size, conflicts_with = "SimilarityArgs")]
    block_size: u32,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// The storage of the index file when it is queried.
const MEDIA: [Choice<bool>; 2] = [
    ("memory", "In memory, read or mapped and cached", false),
    ("ssd", "On an SSD, nothing cached", true),
];

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    if let Some(similarity) = args.similarity.given(false) {
        let plan = SimilarityPlan::new(similarity, args.count, args.text_size);
        write_report(stdout(), &plan, args.json)?;
        return Ok(true);
    }
    let report = plan(&args)?;
    write_report(stdout(), &report, args.json)?;
    report.warn();
    Ok(report.choice.is_some())
}

fn plan(args: &Args) -> Result<PlanReport<'_>, Failure> {
    let mut request = PlanRequest::new(args.count, args.max_distance);
    request.width = args.width;
    request.memory = args.max_size.map(|Size(bytes)| bytes);
    request.block_size = args.block_size;
    request.on_ssd = args.on_ssd;
    request.codec = args.codec;
    let indexes = request.alternatives()?;
    let choice = request.choose(&indexes);
    Ok(PlanReport {
        args,
        indexes,
        choice,
    })
}

/// The curve of sizes and latencies.
struct PlanReport<'a> {
    args: &'a Args,
    /// The possible indexes by ascending file size.
    indexes: Vec<PlannedIndex>,
    /// Number of the recommended index.
    choice: Option<usize>,
}

/// Returns the largest number of address bits that a probe flips.
fn flips(index: &PlannedIndex) -> u32 {
    let probes = index.plan.best().unwrap_or_default();
    probes.iter().map(|probe| probe.flips).max().unwrap_or(0)
}

fn index_to_json(index: &PlannedIndex) -> Value {
    json!({
        "table_count": index.design.table_count(),
        "codec": index.codec.name(),
        "min_prefix_bits": index.design.min_prefix_bits(),
        "max_prefix_bits": index.design.max_prefix_bits(),
        "flips": flips(index),
        // Whether queries compare all fingerprints instead of probing.
        "scan": index.plan.scan_is_cheaper(),
        "probes_per_query": index.plan.probe_count(),
        "candidates_per_query": index.plan.candidate_count(),
        "bytes_per_fingerprint": index.bytes_per_fingerprint,
        "file_bytes": index.file_len,
        "latency_us": index.latency_us,
        "dominated": !index.on_pareto_frontier,
        "fits_memory": index.fits_memory,
    })
}

fn print_index(index: &PlannedIndex, note: &str, out: &mut dyn Write) -> io::Result<()> {
    let design = &index.design;
    let prefix = match (design.min_prefix_bits(), design.max_prefix_bits()) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least}-{most}"),
    };
    let probes = match index.plan.scan_is_cheaper() {
        true => "scan".to_owned(),
        false => format!("{:.0}", index.plan.probe_count()),
    };
    let line = format!(
        "{} {:>6}  {:<5}  {:>6}  {:>5}  {:>9}  {:>11}  {:>9.2}  {:>10}  {:>10}  {note}",
        if index.on_pareto_frontier { '*' } else { ' ' },
        design.table_count(),
        index.codec.name(),
        prefix,
        flips(index),
        probes,
        rounded(index.plan.candidate_count()),
        index.bytes_per_fingerprint,
        format!("{:.1}", Size(index.file_len)),
        rounded(index.latency_us),
    );
    writeln!(out, "{}", line.trim_end())
}

/// Formats a number with its significant digits.
fn rounded(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

impl PlanReport<'_> {
    fn medium(&self) -> &'static str {
        if self.args.on_ssd { "ssd" } else { "memory" }
    }

    /// Warns if no index can be recommended.
    fn warn(&self) {
        let smallest = self.indexes.iter().map(|index| index.file_len).min();
        if let (None, Some(most), Some(smallest)) = (self.choice, self.args.max_size, smallest) {
            let smallest = Size(smallest);
            match self.indexes.iter().find(|index| index.fits_memory) {
                Some(index) => say(format_args!(
                    "no index that a build chooses fits in {most}; --codec {} makes one that does",
                    index.codec
                )),
                None => say(format_args!(
                    "no index fits in {most}: the smallest takes {smallest}"
                )),
            }
        }
    }
}

impl Report for PlanReport<'_> {
    fn to_json(&self) -> Value {
        let args = self.args;
        json!({
            "width": args.width.bits(),
            "max_distance": args.max_distance,
            "count": args.count,
            "medium": self.medium(),
            "memory": args.max_size.map(|Size(bytes)| bytes),
            "block_size": args.block_size,
            "indexes": self.indexes.iter().map(index_to_json).collect::<Vec<_>>(),
            "choice": self.choice,
        })
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let (args, medium) = (self.args, self.medium());
        writeln!(
            out,
            "{} fingerprints of {} bits, distance {}, {medium}, blocks of {} bytes",
            args.count, args.width, args.max_distance, args.block_size
        )?;
        writeln!(out)?;
        writeln!(
            out,
            "  tables  codec  prefix  flips     probes   candidates   bytes/fp   file size  latency us"
        )?;
        for (i, index) in self.indexes.iter().enumerate() {
            let note = match (self.choice == Some(i), index.fits_memory) {
                (true, _) => "<- choice",
                (false, true) => "",
                (false, false) => "too large",
            };
            print_index(index, note, out)?;
        }
        writeln!(out)?;
        writeln!(out, "* no other is both smaller and faster")?;
        Ok(())
    }
}

/// The cost and the recall of a search for similar texts.
#[derive(Debug, Serialize)]
struct SimilarityPlan {
    count: u64,
    similarity: f64,
    features: String,
    text_bytes: u64,
    /// Number of MinHash values in a band, and number of bands.
    rows: usize,
    bands: usize,
    /// The share of found pairs at exactly the least similarity, and of those at it and above.
    recall: f64,
    mean_recall: f64,
    /// Memory with all other data in temporary files, and with all data in memory.
    least_memory: u64,
    full_memory: u64,
    /// Processor time, if most texts are similar to few others.
    cpu_seconds: f64,
    /// Number of pairs of dissimilar texts that have a key in common by chance.
    chance_candidates: f64,
}

impl SimilarityPlan {
    /// Creates the plan for `count` texts of a mean size.
    fn new(similarity: Similarity, count: u64, text_size: Size) -> Self {
        let least = similarity.least();
        let bands = Banding::for_similarity(least);
        let texts = count as f64;
        let Size(text_bytes) = text_size;
        let features = texts * (text_bytes as f64 / WORD_LEN).max(1.0);
        let with_ids = |memory: u64| memory.saturating_add(memory / (ID_SHARE - 1) + 1);
        let full_memory = SimilarTexts::full_memory(similarity, count, features as u64);
        let seconds = TEXT_SECONDS + COMPARE_SECONDS + BYTE_SECONDS * text_bytes as f64;
        SimilarityPlan {
            count,
            similarity: least,
            features: features_of(similarity),
            text_bytes,
            rows: bands.row_count(),
            bands: bands.band_count(),
            recall: bands.recall(least),
            mean_recall: bands.mean_recall(least),
            least_memory: with_ids(SimilarTexts::least_memory(count, false)),
            full_memory: with_ids(full_memory),
            cpu_seconds: texts * seconds,
            chance_candidates: texts * (texts - 1.0).max(0.0) / 2.0 * bands.band_count() as f64
                / KEYS,
        }
    }
}

impl Report for SimilarityPlan {
    fn to_json(&self) -> Value {
        json!(self)
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            similarity,
            features,
            rows,
            bands,
            recall,
            mean_recall,
            chance_candidates,
            ..
        } = self;
        let (texts, size) = (counted(self.count, "text"), Size(self.text_bytes));
        let [least, full] = [self.least_memory, self.full_memory].map(Size);
        let time = duration(self.cpu_seconds);
        writeln!(
            out,
            "{texts} of {size}, similarity {similarity} and more, by {features}\n"
        )?;
        let value = format!("{bands} bands of {rows} MinHash values, then all features");
        row(out, "search", value)?;
        let value = format!("{recall:.4} at {similarity}, {mean_recall:.5} on average above it");
        row(out, "recall", value)?;
        let value = format!("at least {least:.1}; {full:.1} without temporary files");
        row(out, "memory", value)?;
        let value = format!("about {time}, if most are similar to few others");
        row(out, "processor time", value)?;
        let value = format!("{chance_candidates:.0} pairs by chance");
        row(out, "candidates", value)
    }
}

/// Formats a duration with a suitable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_shows_what_a_search_does() {
        let plan = SimilarityPlan::new(Similarity::default(), 1_000_000, Size(500));
        assert_eq!((plan.rows, plan.bands), (4, 15));
        assert!(plan.recall >= 0.99 && plan.mean_recall > plan.recall);
        assert!(plan.least_memory < plan.full_memory);
        // 15 keys of 32 bits for each of the pairs of 10^6 texts.
        assert!((1745.0..1747.0).contains(&plan.chance_candidates));
        for percent in 2..=100 {
            let similarity = Similarity::of_words(f64::from(percent) / 100.0, 3).unwrap();
            let plan = SimilarityPlan::new(similarity, 1000, Size(500));
            let shares = [plan.recall, plan.mean_recall];
            assert!(
                shares.into_iter().all(|share| (0.0..=1.0).contains(&share)),
                "{percent}"
            );
        }
        assert_eq!(
            [30.0, 600.0, 9000.0].map(duration),
            ["30.0 s", "10 minutes", "2.5 hours"]
        );
    }
}
