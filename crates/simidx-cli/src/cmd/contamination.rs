//! `simidx contamination`: the items of a test set that stand in a corpus, and the corpus without them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Arg;
use serde_json::json;
use simidx::{IdBuf, Width};
use simidx_input::{Fate, FieldKind, InputFile};
use simidx_text::Pipeline;
use simidx_text::contained::{Contained, ContainedOptions, ContainedSearch};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::{InputArgs, InputFiles, OnError};
use crate::support::messages::{counted, is_quiet, say};
use crate::support::options::{ThreadArgs, heading};
use crate::support::originals::{Copier, OTHER_NAME, check_name, open_all};
use crate::support::output::{Column, Output, Together, compressed, id_to_json, write_object};
use crate::support::progress::ProgressMode;
use crate::support::records::{Each, Fingerprinted, Refusal, Wanted, read, read_originals};
use crate::support::similarity::words;
use crate::support::table::{self, Lines, Sheet, TableFormat};

/// The head of `simidx contamination --help` and of its man page.
pub(crate) const HELP: &str = "\
Find the items of a test set that a corpus contains; exit code 1 if it contains none.

A document contains an item if it has at least 80 % of the item's runs of eight words. This share is the containment; unlike the \
Jaccard similarity it does not fall with the length of the document. Nothing is estimated. An item of fewer words is one \
run of all of them, and one without words is never found. The test set is held in memory, and the corpus is read once, or a second time by --clean.

Each line has, between tabs, the id of the item, the id of the document, the containment, the Jaccard similarity of their \
runs, and where these runs are in the text of the document: the first byte, from 0, and the end. A record without an id is named by \
its position, from 0. With -o it is a row of a table with named columns.

Examples:
  simidx contamination test.parquet crawl.parquet > found.tsv
  simidx contamination test.jsonl 'crawl/*.jsonl.gz' --all -o found.tsv
  simidx contamination test.parquet crawl.parquet --clean clean.parquet
  simidx contamination test.jsonl crawl.jsonl --item-field question,answer";

/// The help of the corpus.
const CORPUS: &str = "Files of the corpus, folders of them, or quoted patterns such as 'crawl/*.parquet'; `-` is standard input";

/// Arguments of `simidx contamination`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.value_name("CORPUS").required(true).help(CORPUS)),
    mut_args(without_idle)
)]
pub(crate) struct Args {
    /// File of the test set; --input names its format if it cannot be detected. `-` is standard input
    #[arg(value_name = "TESTS")]
    tests: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// Fields or columns of the test set that hold the text, joined if they are several [default: as in the corpus]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = heading::INPUT)]
    item_field: Vec<String>,
    /// Field or column of the test set that holds the id [default: id, which may be absent]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    item_id: Option<String>,
    /// Smallest containment of a match [default: 0.8; with --similarity, any]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    containment: Option<f64>,
    /// Smallest Jaccard similarity of an item and a document
    #[arg(long, value_name = "J", value_parser = share)]
    similarity: Option<f64>,
    /// Features to compare: words:N, all runs of N words. A short run occurs in long documents by chance
    #[arg(long, value_name = "FEATURES", value_parser = words, default_value = "words:8")]
    features: usize,
    /// Print all documents that contain an item, in their order, and not only the one that has most of it
    #[arg(long)]
    all: bool,
    /// File to write a table with named columns to, in place of lines on standard output. It ends in .tsv, .csv or .jsonl, each
    /// also with .gz or .zst, or in .parquet
    #[arg(short, long, value_name = "OUT", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// File for the documents that contain no item, and for records skipped by --on-error skip, unchanged and in
    /// their order; .gz or .zst compresses it
    #[arg(long, value_name = "FILE")]
    clean: Option<PathBuf>,
    /// Replace an existing output, and an existing clean file; an input is never replaced
    #[arg(long)]
    force: bool,
    /// Print JSON: an object for each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Leaves options out of the help that say how fingerprints are made, and names the default of `--html`.
fn without_idle(arg: Arg) -> Arg {
    if arg.get_id() == "html" {
        return arg.help("Whether documents are HTML: auto, yes or no [default: auto]");
    }
    let idle = [
        "fingerprint_field",
        "idf",
        "pipeline",
        "stop_words",
        "user_dictionary",
        "width",
    ];
    let is_idle = idle.contains(&arg.get_id().as_str());
    arg.hide(is_idle)
}

/// Reads `--containment` and `--similarity`.
fn share(text: &str) -> Result<f64, &'static str> {
    let share = text.parse().ok();
    let share = share.filter(|&share| share > 0.0 && share <= 1.0);
    share.ok_or("a share is a number above 0 and at most 1, such as 0.8")
}

/// Runs the command.
pub(crate) fn run(args: &Args, mode: ProgressMode) -> Answer {
    if args.input.width != Width::W64 || args.input.pipeline.is_given() {
        let message =
            "runs of words are compared, not fingerprints: of the pipeline only --html counts";
        return Err(Failure::new(message));
    }
    let (output, format, clean) = args.outputs()?;
    let pipeline = args.input.pipeline.unweighted()?;
    let originals = match &args.clean {
        Some(path) => args.originals(path)?,
        None => Vec::new(),
    };
    let mut input = args.input.clone();
    if args.clean.is_some() && input.on_error == OnError::Skip {
        input.on_error = OnError::Keep;
    }
    let (items, search) = args.items(&pipeline, mode).map_err(with_item_field)?;
    let mut found = Found {
        args,
        is_table: format.is_some(),
        best: vec![None; items.len()],
        items,
        count: 0,
        documents: Vec::new(),
    };
    let mut together = Together::default();
    let search = |out: &mut (dyn Write + Send)| {
        let mut out = Lines::new(format.map(|format| Sheet(out, format, true)), &COLUMNS)?;
        let reading = (mode, "searching", "documents");
        let mut each = Each(Wanted::Contained(search), |record| {
            found.take(record, &mut out)
        });
        match args.clean {
            None => read(&input, &pipeline, reading, &mut each)?,
            Some(_) => {
                let pass = (&input, Width::W64);
                read_originals(pass, &pipeline, &originals, reading, &mut each)?
            }
        };
        found.finish(&mut out)?;
        out.finish()
    };
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    together.write(&output, |out| compressed(path, out, search))?;
    if let (Some(path), Some(clean)) = (&args.clean, clean) {
        let fate = |position| {
            let is_found = found.documents.binary_search(&position).is_ok();
            Ok(if is_found {
                Fate::Dropped
            } else {
                Fate::Copied
            })
        };
        let mut copier = Copier::new(&originals, &[], &fate, mode);
        together.write(&clean, |out| copier.copy(&originals, path, out))?;
        let (_, lost) = copier.finish();
        if lost > 0 {
            say(format_args!("{lost} of them cannot be copied"));
        }
    }
    together.appear()?;
    if !is_quiet() {
        let (count, all) = (found.count, counted(found.items.len() as u64, "item"));
        let documents = counted(found.documents.len() as u64, "document");
        say(format_args!("{count} of {all} found, in {documents}"));
    }
    Ok(found.count > 0)
}

impl Args {
    /// Where the lines go, if they are a table its format, and where the clean corpus goes, checked before anything is read.
    fn outputs(&self) -> Result<(Output, Option<TableFormat>, Option<Output>), Failure> {
        let mut inputs: InputFiles = self.input.files()?;
        inputs.add(&self.input.inputs);
        inputs.add([&self.tests]);
        let output = |path: &Path| Output::outside(path, self.force, &inputs);
        let table = self
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"));
        let format = table.map(TableFormat::named).transpose()?;
        let lines = self.output.as_deref().map_or(Ok(Output::Stdout), output)?;
        let clean = self.clean.as_deref().map(output).transpose()?;
        match (&lines, &clean) {
            (Output::Stdout, Some(Output::Stdout)) => Err(Failure::new(
                "--clean needs standard output; name a file for the lines with -o",
            )),
            (lines, Some(clean)) if lines.is_same_file(clean) => {
                Err(Failure::new("-o and --clean name the same file"))
            }
            _ => Ok((lines, format, clean)),
        }
    }

    /// The corpus, to be read twice and copied to a file of this name.
    fn originals(&self, clean: &Path) -> Result<Vec<InputFile>, Failure> {
        let options = self.input.fields.options(Width::W64);
        let corpus = (&self.input, &self.input.paths()?[..]);
        let originals = open_all(corpus, &options, None, Some("clean it by itself"))?;
        check_name(clean, &originals, OTHER_NAME)?;
        Ok(originals)
    }

    /// The ids of the items, and the search for them.
    fn items(
        &self,
        pipeline: &Pipeline,
        mode: ProgressMode,
    ) -> Result<(Vec<IdBuf>, ContainedSearch), Failure> {
        let mut options = self.input.fields.options(Width::W64);
        options.fields.id.clone_from(&self.item_id);
        if !self.item_field.is_empty() {
            options.fields.text.clone_from(&self.item_field);
        }
        let open = |format| InputFile::open_with(&self.tests, format, &options, None);
        let is_told = self.tests.is_file() && open(None).is_ok();
        let tests = [open(self.input.format().filter(|_| !is_told))?];
        let (mut ids, mut texts) = (Vec::new(), Vec::new());
        let mut each = Each(Wanted::Text, |record: Fingerprinted| {
            texts.push(record.text.ok_or_else(no_text)?);
            ids.push(record.id.unwrap_or(IdBuf::Number(record.position)));
            Ok(())
        });
        let (pass, reading) = ((&self.input, Width::W64), (mode, "reading", "items"));
        read_originals(pass, pipeline, &tests, reading, &mut each)?;
        let mut options = ContainedOptions::default();
        options.words = self.features;
        options.similarity = self.similarity.unwrap_or(0.0);
        let any = self.similarity.map(|_| 0.0);
        options.containment = self.containment.or(any).unwrap_or(options.containment);
        let mut fingerprinter = pipeline.fingerprinter(Width::W64)?;
        let search = ContainedSearch::new(&mut fingerprinter, &texts, &options);
        let search = search.map_err(|error| Failure::new(error.to_string()))?;
        Ok((ids, search))
    }
}

/// The columns of a table. The ids of the corpus are not known before it is written.
const COLUMNS: [table::Column; 6] = [
    ("item", FieldKind::Text),
    ("document", FieldKind::Text),
    ("containment", FieldKind::Real),
    ("similarity", FieldKind::Real),
    ("begin", FieldKind::Number),
    ("end", FieldKind::Number),
];

/// The failure to read items, with the option that names their field.
fn with_item_field(failure: Failure) -> Failure {
    match failure.to_string().split_once("choose with --text-field") {
        Some((message, _)) => Failure::new(format!("{message}choose with --item-field")),
        None => failure,
    }
}

/// The refusal of a fingerprint.
fn no_text() -> Refusal {
    Refusal::record("has no text to compare")
}

/// The items found so far.
struct Found<'a> {
    args: &'a Args,
    /// Whether numbers have all their digits.
    is_table: bool,
    /// The ids of the items.
    items: Vec<IdBuf>,
    /// For each item the document that has most of it.
    best: Vec<Option<(IdBuf, Contained)>>,
    /// Items that stand in a document.
    count: u64,
    /// The positions of the documents that items stand in, ascending.
    documents: Vec<u64>,
}

impl Found<'_> {
    /// Takes the next document.
    fn take(&mut self, mut record: Fingerprinted, out: &mut dyn Write) -> Result<(), Refusal> {
        if !record.is_document {
            return Err(no_text());
        }
        if record.contained.is_empty() {
            return Ok(());
        }
        self.documents.push(record.position);
        let id = record.id.take();
        let id = id.unwrap_or(IdBuf::Number(record.position));
        for found in record.contained {
            if self.args.all {
                self.write(&id, &found, out)?;
            }
            let best = &mut self.best[found.item];
            self.count += u64::from(best.is_none());
            let rank = |found: &Contained| (found.containment, found.similarity);
            if best
                .as_ref()
                .is_none_or(|(_, best)| rank(&found) > rank(best))
            {
                *best = Some((id.clone(), found));
            }
        }
        Ok(())
    }

    /// Writes what is known only once all documents have been taken.
    fn finish(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let best = self.best.iter().flatten().filter(|_| !self.args.all);
        for (id, found) in best {
            self.write(id, found, out)?;
        }
        Ok(())
    }

    /// Writes the line of an item and a document.
    fn write(&self, id: &IdBuf, found: &Contained, out: &mut dyn Write) -> std::io::Result<()> {
        let item = &self.items[found.item];
        let (containment, similarity) = (found.containment, found.similarity);
        let (begin, end) = (found.place.start, found.place.end);
        if self.args.json {
            let object = json!({
                "item": id_to_json(item.as_id()),
                "document": id_to_json(id.as_id()),
                "containment": containment,
                "similarity": similarity,
                "begin": begin,
                "end": end,
            });
            return write_object(out, &object);
        }
        let (item, id) = (Column::of(item), Column::of(id));
        write!(out, "{item}\t{id}\t")?;
        match self.is_table {
            true => write!(out, "{containment:?}\t{similarity:?}")?,
            false => write!(out, "{containment:.4}\t{similarity:.4}")?,
        }
        writeln!(out, "\t{begin}\t{end}")
    }
}
