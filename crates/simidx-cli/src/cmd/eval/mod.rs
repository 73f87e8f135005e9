//! `simidx eval`: how well pipelines find the near-duplicates of a labelled set.

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
mod truth_clusters;

use std::path::{Path, PathBuf};

use simidx::Width;
use simidx_output::one_line;
use simidx_text::Pipeline;

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::input_files::InputFiles;
use crate::support::messages::say;
use crate::support::output::{Output, stdout};
use crate::support::pipeline::PipelineFiles;
use crate::support::progress::ProgressMode;
use crate::support::quantity::count;
use crate::support::quiet::is_quiet;
use crate::support::records::threads_from;
use crate::support::width::width;
use labelled::Labelled;
use method::Method;
use plot::{Caption, Measured};
use score::{Curve, Tally};
use table::{Style, Table};
use truth_clusters::TruthClusters;

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

The intervals have a confidence of 95 %. They take clusters of near-duplicates as independent, not pairs. A document \
without features is near to equal documents only.

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
    /// How documents become fingerprints, as in `simidx build`; or jaccard:PIPELINE for the exact similarity of the feature
    /// sets of a pipeline. May be repeated [default: a dozen pipelines side by side]
    #[arg(long = "pipeline", value_name = "PRESET[,STAGE=VALUE]", help_heading = heading::DOCUMENTS)]
    methods: Vec<Method>,
    #[command(flatten)]
    files: PipelineFiles,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width())]
    width: Width,
    /// Largest distance for which to report precision and recall
    #[arg(short = 'k', long, value_name = "K", default_value_t = 12, value_parser = count(0u32..=32))]
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
    /// Replace an existing drawing
    #[arg(long, requires = "svg")]
    force: bool,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0), help_heading = heading::RESOURCES)]
    pub(super) threads: u16,
}

/// Runs the command.
pub(crate) fn run(args: Args, mode: ProgressMode) -> Answer {
    let drawing = match &args.svg {
        Some(path) => Some(args.drawing(path)?),
        None => None,
    };
    // All pipelines before the first of them runs.
    let pipelines = args.pipelines()?;
    let labelled = Labelled::read(&args.labelled, args.truth.as_deref(), args.by_label)?;
    let clusters = labelled.clusters();
    let contents = labelled.describe(&clusters);
    if !is_quiet() {
        say(&contents);
    }
    let bar = mode.counter("pipelines");
    let names = pipelines.iter().map(|(method, _)| method.name());
    let mut table = Table::new(stdout(), args.style(), names)?;
    let mut all = Vec::new();
    for (method, pipeline) in &pipelines {
        let measured = Measured {
            name: method.name().to_owned(),
            has_distances: !method.is_jaccard(),
            curve: curve(&args, &labelled, &clusters, pipeline, method)?,
        };
        table.write(&measured)?;
        all.push(measured);
        bar.inc(1);
    }
    bar.finish_and_clear();
    table.finish()?;
    if let Some(drawing) = drawing {
        let caption = Caption {
            data: file_name(&args.labelled),
            contents,
            width: args.width.bits(),
        };
        let svg = plot::draw(&caption, &all);
        drawing.write(|file| Ok(file.write_all(svg.as_bytes())?))?;
    }
    Ok(true)
}

/// The name of the data without that of their folder.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    one_line(&name.to_string_lossy())
}

impl Args {
    fn style(&self) -> Style {
        match (self.json, self.all) {
            (true, _) => Style::Json,
            (_, true) => Style::All,
            _ => Style::Best,
        }
    }

    /// Where the drawing goes.
    fn drawing(&self, path: &Path) -> Result<Output, Failure> {
        let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
        if path == Path::new("-") {
            return refuse("standard output takes the figures; name a file for the drawing");
        }
        let ending = path.extension().unwrap_or_default();
        if !ending.is_empty() && !ending.eq_ignore_ascii_case("svg") {
            return refuse("the drawing is SVG; give it a name that ends in .svg");
        }
        let mut inputs = InputFiles::new([&self.labelled]);
        inputs.add(&self.truth);
        inputs.add(self.files.paths());
        Output::new(path, self.force, &inputs)
    }

    /// What is to be compared.
    fn methods(&self) -> Result<Vec<Method>, Failure> {
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

    /// What is to be compared, with pipelines that can run.
    fn pipelines(&self) -> Result<Vec<(Method, Pipeline)>, Failure> {
        let files = self.files.read()?;
        let pipelines = self.methods()?.into_iter().map(|method| {
            // Of documents all pairs would have to be compared.
            if method.is_jaccard() && self.has_corpus() {
                let message = "compares labelled pairs, not documents with --truth or --by-label";
                return Err(Failure::new(message).about(method.name()));
            }
            let pipeline = method.pipeline(&files);
            let pipeline = pipeline.and_then(|pipeline| {
                pipeline.fingerprinter(self.width)?;
                Ok(pipeline)
            });
            let pipeline = pipeline.map_err(|error| Failure::from(error).about(method.name()))?;
            Ok((method, pipeline))
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
) -> Result<Curve, Failure> {
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
    curve.ok_or_else(|| Failure::new("there is no near-duplicate to find"))
}
