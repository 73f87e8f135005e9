//! How well pipelines find the near-duplicates of a labelled set: precision, recall and F1 by distance.
//!
//! `cargo run --release -p simidx-quality -- data/en.jsonl.gz --truth data/en.j80.tsv.gz`
//!
//! The intervals have a confidence of 95 %. They take clusters of near-duplicates as independent, not pairs. A document without
//! features is near to equal documents only.

mod corpus;
mod interval;
mod jaccard;
mod labelled;
mod method;
mod plot;
mod prints;
mod score;
mod svg;
mod table;
#[cfg(test)]
mod tests;
mod truth_clusters;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use simidx::Width;
use simidx_text::Pipeline;

use labelled::Labelled;
use method::Method;
use plot::{Caption, Measured};
use score::{Curve, Tally};
use table::{Style, Table};
use truth_clusters::TruthClusters;

/// The result of what may fail with a message.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A failure that names what it is about.
fn failure<T>(about: impl Display, message: impl Display) -> Result<T> {
    Err(format!("{about}: {message}").into())
}

/// A number of things, in words.
fn counted(count: u64, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        _ => format!("{count} {name}s"),
    }
}

/// The methods compared by default: each way to make a fingerprint, side by side.
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

/// Measures how well pipelines find the near-duplicates of a labelled set
#[derive(Debug, Parser)]
struct Args {
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
    /// How documents become fingerprints, as in `simidx build`; or jaccard:PIPELINE for the exact similarity of the feature
    /// sets of a pipeline. May be repeated [default: a dozen pipelines side by side]
    #[arg(long = "pipeline", value_name = "PRESET[,STAGE=VALUE]")]
    methods: Vec<Method>,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64)]
    width: Width,
    /// Largest distance for which to report precision and recall
    #[arg(short = 'k', long, value_name = "K", default_value_t = 12, value_parser = clap::value_parser!(u32).range(0..=32))]
    max_distance: u32,
    /// Print a line for each pipeline and distance instead of one for each pipeline
    #[arg(long)]
    all: bool,
    /// Print JSON: an object for each pipeline
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Draw precision and recall against distance to this SVG file, a panel for each pipeline
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simidx-quality: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args, out: &mut dyn Write) -> Result<()> {
    // All pipelines before the first of them runs.
    let pipelines = args.pipelines()?;
    let labelled = Labelled::read(&args.labelled, args.truth.as_deref(), args.by_label)?;
    let clusters = labelled.clusters();
    let contents = labelled.describe(&clusters);
    eprintln!("{contents}");
    let names = pipelines.iter().map(|(method, _)| method.name());
    let mut table = Table::new(out, args.style(), names)?;
    let mut all = Vec::new();
    for (method, pipeline) in &pipelines {
        let measured = Measured {
            name: method.name().to_owned(),
            has_distances: !method.is_jaccard(),
            curve: curve(args, &labelled, &clusters, pipeline, method)?,
        };
        table.write(&measured)?;
        all.push(measured);
    }
    table.finish()?;
    if let Some(path) = &args.svg {
        let caption = Caption {
            data: file_name(&args.labelled),
            contents,
            width: args.width.bits(),
        };
        std::fs::write(path, plot::draw(&caption, &all))?;
    }
    Ok(())
}

/// The name of the data without that of their folder.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

impl Args {
    fn style(&self) -> Style {
        match (self.json, self.all) {
            (true, _) => Style::Json,
            (_, true) => Style::All,
            _ => Style::Best,
        }
    }

    /// Returns the methods to compare.
    fn methods(&self) -> Result<Vec<Method>> {
        if !self.methods.is_empty() {
            return Ok(self.methods.clone());
        }
        let ceiling: &[&str] = match self.has_corpus() {
            true => &[],
            false => &["jaccard:web", "jaccard:news-zh"],
        };
        let names = SIDE_BY_SIDE.iter().chain(ceiling);
        let methods = names.map(|name| name.parse());
        Ok(methods.collect::<simidx_text::Result<_>>()?)
    }

    /// Returns the methods to compare, with pipelines that can run.
    fn pipelines(&self) -> Result<Vec<(Method, Pipeline)>> {
        let pipelines = self.methods()?.into_iter().map(|method| {
            // Of documents all pairs would have to be compared.
            if method.is_jaccard() && self.has_corpus() {
                let message = "compares labelled pairs, not documents with --truth or --by-label";
                return failure(method.name(), message);
            }
            let pipeline = method.pipeline();
            let pipeline = pipeline.and_then(|pipeline| {
                pipeline.fingerprinter(self.width)?;
                Ok(pipeline)
            });
            match pipeline {
                Ok(pipeline) => Ok((method, pipeline)),
                Err(error) => failure(method.name(), error),
            }
        });
        pipelines.collect()
    }

    /// Whether all pairs of documents count, not labelled ones only.
    fn has_corpus(&self) -> bool {
        self.truth.is_some() || self.by_label
    }
}

/// The figures of one method.
fn curve(
    args: &Args,
    labelled: &Labelled,
    clusters: &TruthClusters,
    pipeline: &Pipeline,
    method: &Method,
) -> Result<Curve> {
    let curve = if method.is_jaccard() {
        let mut tally = Tally::new(clusters, jaccard::LEVEL_COUNT);
        if let Labelled::Pairs(pairs) = labelled {
            jaccard::tally(pairs, pipeline, &mut tally)?;
        }
        tally.curve(jaccard::limit)
    } else {
        let mut tally = Tally::new(clusters, args.max_distance as usize + 1);
        let parallel = pipeline.parallel(args.width)?;
        match labelled {
            Labelled::Pairs(pairs) => {
                let prints = prints::of(&parallel, &pairs.texts);
                for (&[a, b], &label) in pairs.pairs.iter().zip(&pairs.labels) {
                    let distance = prints[a as usize].distance(prints[b as usize]);
                    let level = distance.map_or(tally.level_count(), |distance| distance as usize);
                    tally.add(level, [a, b], label);
                }
            }
            Labelled::Corpus { texts, truth } => {
                let prints = prints::of(&parallel, texts);
                corpus::tally(&prints, args.width, truth, &mut tally)?;
            }
        }
        tally.curve(|distance| distance as f64)
    };
    curve.ok_or_else(|| "there is no near-duplicate to find".into())
}
