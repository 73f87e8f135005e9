//! `simidx query`: everything within a distance of fingerprints or documents.

mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use simidx::set::Question;
use simidx::{IdBuf, IdKind, Set, Width};
use simidx_input::Format;
use simidx_text::ParallelFingerprinter;

use crate::cmd::Answer;
use crate::support::answers::{AnswerArgs, Asked};
use crate::support::choices::InputFormat;
use crate::support::distance;
use crate::support::exclusions::ExcludeArgs;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::id_word::fingerprints_of;
use crate::support::index_file::{OpenArgs, together};
use crate::support::messages::{cost, counted, say, say_nothing_near};
use crate::support::output::stdout;
use crate::support::pipeline::{PipelineFiles, recorded};
use crate::support::quantity::count_from_1;
use crate::support::queries::{QueryKind, QueryReader};
use crate::support::records::{FieldArgs, threads_from};
use crate::support::search::{Answers, Search};
use words::Words;

/// The head of `simidx query --help` and of its man page.
pub(crate) const HELP: &str = "\
Find everything within a distance of fingerprints or documents.

Each match is a line: query, match, distance and, if the index has ids, an id, separated by tabs. Control \
characters and backslashes in ids are escaped: \\t, \\n, \\\\, \\x1b. Queries from a pipe or a terminal are answered as \
they come. The exit code is 1 if nothing matches.

Examples:
  simidx query crawl.simidx 9a3f00c1d2e4b576 -k 4
  simidx query crawl.simidx --text \"The quick brown fox\" --json
  simidx query crawl.simidx 9a3f00c1d2e4b576 --nearest 10
  simidx query crawl.simidx --id https://example.org/
  simidx query monday.simidx tuesday.simidx --documents new.jsonl --query-ids
  cut -f1 new.tsv | simidx query crawl.simidx --stats";

/// Arguments of `simidx query`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Index file, or folder with a set of them
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Fingerprints to find, and further index files, which are searched as one with the first. Without a fingerprint, or
    /// with `-`, fingerprints are read from standard input. A word that can be a fingerprint is one: write ./beef for a
    /// file called beef
    #[arg(value_name = "FP|INDEX")]
    words: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// Format of the fingerprints: hex, dec or, on standard input, le; with --documents the format of that file
    /// [default: hex, or auto with --documents]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    /// Largest distance [default: the one that the index was built for; the smallest of several]. A larger one
    /// is exact too, and slower
    #[arg(short = 'k', long, value_name = "K", value_parser = distance::distance())]
    max_distance: Option<u32>,
    /// Find only the N nearest fingerprints, of equally near ones the smallest; -k then limits their distance
    /// [default of -k: any distance]
    #[arg(long, value_name = "N", value_parser = count_from_1(), conflicts_with = "limit")]
    nearest: Option<u64>,
    /// Records with this id: find what is near them. May be repeated
    #[arg(long = "id", value_name = "ID", conflicts_with_all = ["text", "documents"])]
    ids: Vec<String>,
    /// Text of a document: find others like it. It is fingerprinted as those of the index were
    #[arg(long, value_name = "TEXT", conflicts_with = "documents")]
    text: Option<String>,
    /// Find documents like those in this file, which are fingerprinted as those of the index were
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    files: PipelineFiles,
    #[command(flatten)]
    style: AnswerArgs,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads_from(0), help_heading = heading::RESOURCES)]
    pub(super) threads: u16,
}

impl Args {
    /// The format of fingerprints; `None` to detect it.
    fn fingerprint_format(&self) -> Option<Format> {
        self.input.map_or(Some(Format::Hex), |input| input.0)
    }

    /// The format of documents; `None` to detect it.
    fn document_format(&self) -> Option<Format> {
        self.input.and_then(|input| input.0)
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let (set, words) = open(&args)?;
    answer(&args.exclude.apply(set)?, &args, words)
}

/// Opens the index files; the width of the first decides which words are fingerprints.
fn open(args: &Args) -> Result<(Set, Words), Failure> {
    let mut files = args.open.open(&args.index)?;
    // A set may be empty as yet.
    let width = files.first().map_or(Width::W64, Set::width);
    let words = Words::sort(args, width)?;
    files.extend(args.open.open_each(&words.files)?);
    Ok((together(files)?, words))
}

fn answer(set: &Set, args: &Args, words: Words) -> Answer {
    let default = match args.nearest {
        None => set.max_distance(),
        Some(_) => set.width().bits(),
    };
    let distance = distance::within(args.max_distance, set.width())?.unwrap_or(default);
    let search = Search {
        question: match args.nearest.or(args.style.limit) {
            None => Question::Within(distance),
            Some(count) => Question::Nearest {
                count: usize::try_from(count).unwrap_or(usize::MAX),
                max_distance: distance,
            },
        },
        style: args.style,
    };
    let mut answers = Answers::new(search, set, stdout());
    let unnamed = |fingerprint| Asked {
        fingerprint,
        id: None,
        is_without_features: false,
    };
    if let Some(text) = &args.text {
        let pipeline = recorded(set, &args.files.read()?)?;
        let mut fingerprinter = pipeline.fingerprinter(set.width())?;
        answers.answer(Asked::of_text(text, &mut fingerprinter))?;
    } else if let Some(path) = &args.documents {
        let options = args.fields.options(set.width());
        let format = args.document_format();
        let queries = QueryReader::open(path, format, &options, QueryKind::Documents)?;
        let pipeline = recorded(set, &args.files.read()?)?;
        answer_stream(
            &mut answers,
            queries,
            Some(&pipeline.parallel(set.width())?),
        )?;
    } else if !args.ids.is_empty() {
        for word in &args.ids {
            let id = record_id(set.id_kind(), word);
            for fingerprint in fingerprints_of(set, word)? {
                let id = id.as_ref();
                answers.answer(Asked {
                    id,
                    ..unnamed(fingerprint)
                })?;
            }
        }
    } else if words.fingerprints.is_empty() {
        let (path, format) = (Path::new("-"), args.fingerprint_format());
        let options = set.width().into();
        let queries = QueryReader::open(path, format, &options, QueryKind::Fingerprints)?;
        answer_stream(&mut answers, queries, None)?;
    } else {
        for query in words.fingerprints {
            answers.answer(unnamed(query))?;
        }
    }
    finish(answers, args)
}

/// Answers the queries in a file or a stream: those that have come, before others are waited for.
fn answer_stream(
    answers: &mut Answers<'_>,
    mut queries: QueryReader,
    fingerprinter: Option<&ParallelFingerprinter>,
) -> Result<(), Failure> {
    while let Some(batch) = queries.next_batch(|| answers.flush())? {
        answers.answer_all(&batch, fingerprinter)?;
    }
    Ok(())
}

/// The id that an argument is, as the id of a query.
fn record_id(kind: IdKind, word: &str) -> Option<IdBuf> {
    match kind {
        IdKind::Number => word.parse().ok().map(IdBuf::Number),
        _ => Some(IdBuf::String(word.to_owned())),
    }
}

fn finish(mut answers: Answers<'_>, args: &Args) -> Answer {
    answers.flush()?;
    say_nothing_near(answers.without_features);
    if args.style.stats && !args.style.json {
        say(format_args!(
            "{}: {}",
            counted(answers.query_count, "query"),
            cost(answers.total)
        ));
    }
    Ok(answers.is_match)
}
