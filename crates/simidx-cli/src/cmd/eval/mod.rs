//! `simidx eval`: how well pipelines find the near-duplicates of a labelled set.

mod corpus;
mod jaccard;
mod labelled;
mod method;
mod plot;
mod score;

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use simidx::Fingerprint;
use simidx_text::Pipeline;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::output::{Output, say, stdout};
use crate::support::pipeline::PipelineFiles;
use crate::support::progress::ProgressMode;
use crate::support::records::{start_threads, threads_from};
use crate::support::width::{Width, with_width};
use labelled::Labelled;
use method::Method;
use score::{Curve, Point, Tally};

/// What is compared if nothing is named: each way to make a fingerprint, side by side.
const SIDE_BY_SIDE: [&str; 14] = [
    "web",
    "news-zh",
    "news-zh,segment=auto",
    "news-zh,segment=chars:3",
    "web,shingle=3",
    "news-zh,fingerprint=simhash",
    "news-zh,fingerprint=simhash,weights=uniform",
    "web,fingerprint=simhash",
    "web,fingerprint=simhash,shingle=3",
    "news-zh,fingerprint=simhash,segment=chars:4",
    "news-zh,fingerprint=simhash,segment=auto",
    "news-zh,fingerprint=simhash,segment=auto,idf=jieba,select=top:20",
    "news-zh,segment=sentences,select=longest:3",
    "compat-1e0ng",
];

/// The head of `simidx eval --help` and of its man page.
pub(crate) const HELP: &str = "\
Measure how well pipelines find the near-duplicates of a labelled set: precision, recall and F1 by distance.

Examples:
  simidx eval pairs.jsonl
  simidx eval docs.jsonl --truth pairs.tsv --pipeline web --pipeline short
  simidx eval titles.jsonl --by-label --svg curves.svg";

/// Arguments of `simidx eval`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// JSON Lines: pairs of texts {"a","b","label"}, with label 1 or true for near-duplicates; with --truth documents
    /// {"id","text"}; with --by-label documents {"text","label"}
    #[arg(value_name = "LABELLED")]
    labelled: PathBuf,
    /// File of the near-duplicates among the documents: two ids on each line, separated by a tab
    #[arg(long, value_name = "PAIRS", conflicts_with = "by_label")]
    truth: Option<PathBuf>,
    /// Treat documents with equal "label" as near-duplicates
    #[arg(long)]
    by_label: bool,
    /// Pipeline as in `simidx build`, or jaccard:PIPELINE for the exact similarity of its feature sets; may be given several
    /// times [default: a dozen pipelines side by side]
    #[arg(long = "pipeline", value_name = "PIPELINE", help_heading = heading::DOCUMENTS)]
    methods: Vec<Method>,
    #[command(flatten)]
    files: PipelineFiles,
    /// Bits per fingerprint
    #[arg(long, value_enum, value_name = "BITS", default_value_t = Width::W64)]
    width: Width,
    /// Largest distance for which to report precision and recall
    #[arg(short = 'k', long, value_name = "K", default_value_t = 12, value_parser = clap::value_parser!(u32).range(0..=32))]
    max_distance: u32,
    /// Print a line for each pipeline and distance instead of one for each pipeline
    #[arg(long)]
    all: bool,
    /// Print a JSON object for each pipeline
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Draw precision against recall to this SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace an existing drawing
    #[arg(long, requires = "svg")]
    force: bool,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0), help_heading = heading::RESOURCES)]
    threads: u16,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    start_threads(args.threads)?;
    with_width!(args.width, F => run_width::<F>(&args, mode))
}

fn run_width<F: Fingerprint>(args: &Args, mode: ProgressMode) -> Answer {
    let drawing = match &args.svg {
        Some(path) => Some(Output::new(path, args.force)?),
        None => None,
    };
    let labelled = Labelled::read(&args.labelled, args.truth.as_deref(), args.by_label)?;
    say(labelled.describe());
    let methods = args.methods(&labelled)?;
    let files = args.files.read()?;
    let bar = mode.counter("pipelines");
    let mut out = stdout();
    write_header(&mut out, args)?;
    let mut curves = Vec::new();
    for method in &methods {
        let curve = curve::<F>(
            args.max_distance,
            &labelled,
            &method.pipeline(&files)?,
            method,
        )?;
        write_curve(&mut out, args, method, &curve)?;
        curves.push((method.to_string(), curve));
        bar.inc(1);
    }
    bar.finish_and_clear();
    out.flush()?;
    if let Some(drawing) = drawing {
        drawing.write(|file| Ok(file.write_all(plot::svg(&curves)?.as_bytes())?))?;
    }
    Ok(true)
}

impl Args {
    /// What is to be compared.
    fn methods(&self, labelled: &Labelled) -> Result<Vec<Method>, Failure> {
        if !self.methods.is_empty() {
            return Ok(self.methods.clone());
        }
        // Of documents all pairs would have to be compared.
        let ceiling: &[&str] = match labelled {
            Labelled::Pairs { .. } => &["jaccard:web", "jaccard:news-zh"],
            Labelled::Corpus { .. } => &[],
        };
        let names = SIDE_BY_SIDE.iter().chain(ceiling);
        let methods = names.map(|name| name.parse());
        Ok(methods.collect::<simidx_text::Result<_>>()?)
    }
}

/// The figures of one method.
fn curve<F: Fingerprint>(
    max_distance: u32,
    labelled: &Labelled,
    pipeline: &Pipeline,
    method: &Method,
) -> Result<Curve, Failure> {
    if method.is_jaccard() {
        return jaccard::curve(labelled, pipeline);
    }
    let parallel = pipeline.parallel::<F>()?;
    let fingerprints = |texts: &[String]| parallel.fingerprints(texts);
    let mut tally = Tally::new(labelled.relevant_count(), max_distance);
    match labelled {
        Labelled::Pairs { a, b, labels } => {
            let pairs = fingerprints(a).into_iter().zip(fingerprints(b));
            for ((a, b), &label) in pairs.zip(labels) {
                tally.add(a.distance(b), label);
            }
        }
        Labelled::Corpus { texts, truth } => {
            corpus::tally(&fingerprints(texts), truth, &mut tally)?;
        }
    }
    Ok(tally.curve())
}

fn write_header(out: &mut impl Write, args: &Args) -> std::io::Result<()> {
    match (args.json, args.all) {
        (true, _) => Ok(()),
        (_, true) => writeln!(out, "pipeline\tdistance\tprecision\trecall\tf1"),
        _ => writeln!(
            out,
            "{:<64}{:>8}{:>8}{:>8}   {:>9}{:>8}{:>8}{:>8}",
            "pipeline", "P at 3", "R at 3", "F1 at 3", "best at", "P", "R", "F1"
        ),
    }
}

fn write_curve(
    out: &mut impl Write,
    args: &Args,
    method: &Method,
    curve: &Curve,
) -> std::io::Result<()> {
    if args.json {
        let point = |point: &Point| {
            json!({
                "limit": point.limit,
                "found": point.found,
                "precision": point.precision,
                "recall": point.recall,
                "f1": point.f1(),
            })
        };
        let points: Vec<_> = curve.points.iter().map(point).collect();
        let object = json!({
            "pipeline": method.to_string(),
            "relevant": curve.relevant,
            "points": points,
        });
        return writeln!(out, "{object}");
    }
    if args.all {
        for point in &curve.points {
            let Point {
                limit,
                precision,
                recall,
                ..
            } = point;
            let f1 = point.f1();
            writeln!(
                out,
                "{method}\t{limit}\t{precision:.4}\t{recall:.4}\t{f1:.4}"
            )?;
        }
        return Ok(());
    }
    let three = curve.points.iter().find(|point| point.limit == 3.0);
    let three = match three.filter(|_| !method.is_jaccard()) {
        Some(p) => format!("{:>8.3}{:>8.3}{:>8.3}", p.precision, p.recall, p.f1()),
        None => format!("{:>8}{:>8}{:>8}", "", "", ""),
    };
    let best = curve.best();
    writeln!(
        out,
        "{:<64}{three}   {:>9}{:>8.3}{:>8.3}{:>8.3}",
        method.to_string(),
        best.limit,
        best.precision,
        best.recall,
        best.f1()
    )
}
