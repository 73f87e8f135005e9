//! `simidx plan`: predicts the size and latency of an index for each table design.

use std::io::{self, Write};

use clap::ArgAction;
use serde_json::{Value, json};
use simidx::design::{PlanRequest, PlannedIndex};
use simidx::{ByteSize, Width};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::messages::say;
use crate::support::options::{CODECS, Choice, CodecChoice, TABLE_DISTANCES, one_of, width};
use crate::support::output::{Report, stdout, write_report};
use crate::support::quantity::{block_size, count, size};

/// The head of `simidx plan --help` and of its man page.
pub(crate) const HELP: &str = "\
Predict the size and the latency of an index for each table design, and recommend one.

Examples:
  simidx plan --count 1e8
  simidx plan --count 8.6e9 -k 3 --max-size 80GB --medium ssd
  simidx plan --count 50000000 --width 128 -k 6 --json";

/// Arguments of `simidx plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of distinct fingerprints, such as 10000000, 1e7 or 8.6e9
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX))]
    count: u64,
    /// Largest distance of the queries
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3, value_parser = count(TABLE_DISTANCES))]
    max_distance: u32,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width())]
    width: Width,
    /// Largest acceptable file, such as 1GiB, 500MB or a number of bytes
    #[arg(long, value_name = "SIZE", alias = "memory", value_parser = size)]
    max_size: Option<u64>,
    /// Where the file is when it is queried
    #[arg(long = "medium", value_parser = one_of(MEDIA), action = ArgAction::Set, value_name = "MEDIUM", default_value = "memory")]
    on_ssd: bool,
    /// Code of the tables; auto compares all codes
    #[arg(long, value_parser = one_of(CODECS), value_name = "CODEC", default_value = "auto")]
    codec: CodecChoice,
    /// Bytes per block, a power of two such as 512 or 4KiB
    #[arg(long, value_name = "SIZE", default_value_t = 512, value_parser = block_size)]
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
    let report = plan(&args)?;
    write_report(stdout(), &report, args.json)?;
    report.warn();
    Ok(report.choice.is_some())
}

fn plan(args: &Args) -> Result<PlanReport<'_>, Failure> {
    let mut request = PlanRequest::new(args.count, args.max_distance);
    request.width = args.width;
    request.memory = args.max_size;
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
        format!("{:.1}", ByteSize(index.file_len)),
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
            let (most, smallest) = (ByteSize(most), ByteSize(smallest));
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
            "memory": args.max_size,
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
