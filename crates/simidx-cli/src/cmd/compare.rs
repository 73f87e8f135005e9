//! `simidx compare`: compares two documents, to explain why they are near-duplicates or not.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use simidx::Width;
use simidx_input::Place;
use simidx_input::{Decoded, TextEncoding};
use simidx_output::one_line;
use simidx_text::compare::{ComparedDocument, ComparedFeature, Comparison};
use simidx_text::dedup::Similarity;
use simidx_text::stages::Sketch;
use simidx_text::{Fingerprinter, Pipeline, Preset};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::indexes::{OpenArgs, together};
use crate::support::inputs::{Diagnostics, OnError};
use crate::support::messages::counted;
use crate::support::options::{DEFAULT_DISTANCE, DISTANCES, distance_within, heading, width};
use crate::support::output::{Report, row, stdout, write_report};
use crate::support::pipeline::{PipelineArgs, recorded};
use crate::support::quantity::count;
use crate::support::similarity::{SimilarityArgs, about_fingerprints, features_of};

/// The head of `simidx compare --help` and of its man page.
pub(crate) const HELP: &str = "\
Compare two documents: their fingerprints, their similarity, and the features that differ most.

They are near-duplicates if their texts are similar, as for `simidx dedup`; with -k, --index, --width or a pipeline that \
makes simhashes if their fingerprints are within the distance. The exit code is 1 if they are not. The book says what \
similar means: \"Similarity and distance\".

Examples:
  simidx compare old.html new.html
  simidx compare page.txt --text \"Some other text\" --top 20
  simidx compare a.c b.c --pipeline code --similarity 0.9
  simidx compare a.txt b.txt --index crawl.simidx --json";

/// Arguments of `simidx compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files of the documents; a --text takes the place of one. `-` is standard input
    #[arg(value_name = "FILE", num_args = 0..=2)]
    files: Vec<PathBuf>,
    /// Encoding of the files, such as GBK [default: the one they declare, or detected]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    encoding: Option<TextEncoding>,
    /// Text of a document, in place of a file. May be repeated
    #[arg(long = "text", value_name = "TEXT")]
    texts: Vec<String>,
    /// Fingerprint the documents as those of this index were
    #[arg(long, value_name = "INDEX", conflicts_with_all = ["pipeline", "html", "width"])]
    index: Option<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Largest distance of fingerprints that are near-duplicates [default: the one that --index was built for, else 3]
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    #[command(flatten)]
    similarity: SimilarityArgs,
    /// Number of features to list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count(0..=u32::MAX))]
    top: u32,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width())]
    width: Width,
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Answer {
    let documents = args.documents()?;
    let Some(path) = &args.index else {
        let fingerprinter = args.pipeline.pipeline()?.fingerprinter(args.width)?;
        return compare(args, &documents, fingerprinter, DEFAULT_DISTANCE);
    };
    let set = together(args.open.open(path)?)?;
    let pipeline = recorded(&set, &args.pipeline.files.read()?)?;
    let fingerprinter = pipeline.fingerprinter(set.width())?;
    compare(args, &documents, fingerprinter, set.max_distance())
}

/// A document and its name.
struct Document {
    name: String,
    text: String,
}

impl Args {
    /// The similarity of texts that is wanted; none if an option makes fingerprints the subject.
    fn text_similarity(&self) -> Option<Similarity> {
        let has_pipeline = self.pipeline.makes_features();
        let is_about_fingerprints = self.max_distance.is_some()
            || self.index.is_some()
            || about_fingerprints(self.width, &self.pipeline).is_some();
        match self.similarity.given(has_pipeline) {
            None if is_about_fingerprints => None,
            None => Some(self.similarity.or_default(has_pipeline)),
            given => given,
        }
    }

    /// Returns the two documents, files first.
    fn documents(&self) -> Result<[Document; 2], Failure> {
        let count = self.files.len() + self.texts.len();
        if count != 2 {
            let message = format!("compare takes two documents, not {count}; see --help");
            return Err(Failure::new(message));
        }
        if self.files.is_empty() && self.encoding.is_some() {
            return Err(Failure::new("--encoding applies to files, not to --text"));
        }
        let encoding = self.encoding.unwrap_or(TextEncoding::AUTO);
        let files = self.files.iter().map(|path| read(path, encoding));
        let texts = self.texts.iter().map(|text| {
            Ok(Document {
                name: "--text".into(),
                text: text.clone(),
            })
        });
        let documents = files.chain(texts).collect::<Result<Vec<_>, Failure>>()?;
        <[Document; 2]>::try_from(documents).map_err(|_| Failure::new("not two documents"))
    }
}

/// Reads the document in a file or on standard input.
fn read(path: &Path, encoding: TextEncoding) -> Result<Document, Failure> {
    let name = path.display().to_string();
    if path != Path::new("-") && path.is_dir() {
        return Err(Failure::new("is a directory; name a file").about(name));
    }
    let Decoded { text, has_faults } = simidx_input::read_document(path, encoding)?;
    if has_faults {
        Diagnostics::new(OnError::Stop).note_faults((&name, Place::File));
    }
    Ok(Document { name, text })
}

/// Compares the documents and prints the report.
fn compare(
    args: &Args,
    documents: &[Document; 2],
    mut fingerprinter: Fingerprinter,
    default_distance: u32,
) -> Answer {
    let [a, b] = documents;
    let distance = distance_within(args.max_distance, fingerprinter.width())?;
    let texts = args.text_similarity().map(|similarity| {
        let [a, b] =
            [a, b].map(|document| similarity.feature_set(&mut fingerprinter, &document.text));
        TextSimilarity {
            wanted: similarity,
            jaccard: a.jaccard(&b),
        }
    });
    let compared = Compared {
        texts,
        comparison: fingerprinter.compare(&a.text, &b.text),
        pipeline: fingerprinter.pipeline(),
        width: fingerprinter.width(),
        limit: distance.unwrap_or(default_distance),
        top: args.top as usize,
        names: [&a.name, &b.name],
    };
    write_report(stdout(), &compared, args.json)?;
    Ok(compared.is_near())
}

/// The similarity of the texts, if it determines the result.
struct TextSimilarity {
    wanted: Similarity,
    jaccard: f64,
}

/// A comparison, ready to be printed.
struct Compared<'a> {
    texts: Option<TextSimilarity>,
    comparison: Comparison,
    pipeline: &'a Pipeline,
    width: simidx::Width,
    /// Largest distance of near-duplicates.
    limit: u32,
    top: usize,
    names: [&'a str; 2],
}

impl Compared<'_> {
    fn is_near(&self) -> bool {
        match &self.texts {
            Some(texts) => texts.jaccard >= texts.wanted.least(),
            None => self.comparison.is_near(self.limit),
        }
    }

    fn verdict(&self) -> &'static str {
        match self.is_near() {
            true => "near-duplicates",
            false => "not near-duplicates",
        }
    }

    fn sides(&self) -> [(&str, &ComparedDocument); 2] {
        let [a, b] = self.names;
        [(a, &self.comparison.a), (b, &self.comparison.b)]
    }

    /// The name of the exact similarity.
    fn measure(&self) -> &'static str {
        match self.pipeline.options().sketch {
            Sketch::SimHash => "cosine",
            _ => "jaccard",
        }
    }

    /// Prints the result for two documents of which at least one has no features, without figures.
    fn print_without_features(&self, out: &mut dyn Write) -> io::Result<()> {
        let found = &self.comparison;
        let who = match (found.a.has_features(), found.b.has_features()) {
            (false, false) => "neither document has features",
            (false, true) => "A has no features",
            _ => "B has no features",
        };
        match (found.are_equal(), &self.texts) {
            (_, Some(_)) => {}
            (true, None) => writeln!(out, "{:<24}near-duplicates: equal byte for byte", "verdict")?,
            (false, None) => writeln!(out, "{:<24}not near-duplicates: {who}", "verdict")?,
        }
        writeln!(out, "{:<24}none: {who}", "distance")
    }

    fn print_features(&self, out: &mut dyn Write) -> io::Result<()> {
        let features = self.comparison.most_different(self.top);
        if features.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n weight in A        in B  feature that differs")?;
        for feature in features {
            let (a, b, text) = (feature.weight_a, feature.weight_b, one_line(&feature.text));
            writeln!(out, "{a:>12.3}{b:>12.3}  {text}")?;
        }
        Ok(())
    }
}

impl Report for Compared<'_> {
    fn to_json(&self) -> Value {
        let found = &self.comparison;
        let sides = self.sides().map(|(name, document)| {
            json!({
                "document": name,
                "fingerprint": self.width.to_hex(document.fingerprint),
                "distinct_features": document.distinct_count,
                "counted_features": document.counted_count,
                "feature_occurrences": document.occurrence_count,
            })
        });
        let [a, b] = sides;
        // Fingerprints of documents without features carry no information.
        let has_figures = found.have_features();
        let figure = |value: f64| (has_figures || found.are_equal()).then_some(value);
        let feature = |f: &&ComparedFeature| json!({ "feature": f.text, "weight_a": f.weight_a, "weight_b": f.weight_b });
        let features: Vec<_> = found.most_different(self.top).iter().map(feature).collect();
        json!({
            "pipeline": self.pipeline.describe(),
            "width": self.width.bits(),
            "a": a,
            "b": b,
            "distance": has_figures.then(|| found.distance()),
            "max_distance": self.texts.is_none().then_some(self.limit),
            "least_similarity": self.texts.as_ref().map(|texts| texts.wanted.least()),
            "text_similarity": self.texts.as_ref().map(|texts| texts.jaccard),
            "near_duplicates": self.is_near(),
            "equal": found.are_equal(),
            "differing_bits": has_figures.then(|| found.differing_bits()),
            "similarity_measure": self.measure(),
            "similarity": figure(found.similarity()),
            "similarity_estimate": figure(found.estimate()),
            "cosine": figure(found.cosine()),
            "jaccard": figure(found.jaccard()),
            "weighted_jaccard": figure(found.weighted_jaccard()),
            "features": features,
        })
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let found = &self.comparison;
        writeln!(out, "{:<24}{}", "pipeline", one_line(&name(self.pipeline)))?;
        for (letter, (name, document)) in ["A", "B"].into_iter().zip(self.sides()) {
            let distinct = document.distinct_count;
            let hex = self.width.to_hex(document.fingerprint);
            let name = one_line(name);
            let features = counted(distinct, "feature");
            write!(out, "{letter:<24}{hex}  {name}: {features}")?;
            if document.counted_count < distinct {
                write!(out, ", of which {} count", document.counted_count)?;
            }
            writeln!(
                out,
                ", {}",
                counted(document.occurrence_count, "occurrence")
            )?;
        }
        if let Some(TextSimilarity { wanted, jaccard }) = &self.texts {
            let verdict = self.verdict();
            let (least, features) = (wanted.least(), features_of(*wanted));
            let verdict = format_args!("{verdict}: a similarity of at least {least} is wanted");
            row(out, "verdict", verdict)?;
            writeln!(out, "{:<24}{jaccard:.4} jaccard of {features}", "texts")?;
        }
        if !found.have_features() {
            self.print_without_features(out)?;
            return self.print_features(out);
        }
        let bits: Vec<String> = found.differing_bits().iter().map(u32::to_string).collect();
        let bits = match bits.is_empty() {
            true => String::new(),
            false => format!(" (bits {})", bits.join(" ")),
        };
        let distance = found.distance();
        if self.texts.is_none() {
            let verdict = self.verdict();
            writeln!(out, "{:<24}{verdict} within {}", "verdict", self.limit)?;
        }
        writeln!(out, "{:<24}{distance} of {}{bits}", "distance", self.width)?;
        let (exact, estimate) = (found.similarity() * 100.0, found.estimate() * 100.0);
        let measure = self.measure();
        let exact = format!("{exact:.1} % exact ({measure})");
        row(
            out,
            "similarity",
            format_args!("{exact}, {estimate:.1} % by the distance"),
        )?;
        for (label, figure) in [
            ("cosine of weights", found.cosine()),
            ("jaccard of features", found.jaccard()),
            ("jaccard of weights", found.weighted_jaccard()),
        ] {
            writeln!(out, "{label:<24}{figure:.4}")?;
        }
        self.print_features(out)
    }
}

/// Returns the name of the preset, or the description of the pipeline.
fn name(pipeline: &Pipeline) -> String {
    let is_it = |preset: &Preset| preset.options() == *pipeline.options();
    match Preset::ALL.into_iter().find(is_it) {
        Some(preset) => preset.to_string(),
        None => pipeline.describe(),
    }
}
