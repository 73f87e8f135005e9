//! `simidx query`: finds everything within a distance of fingerprints or documents.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use simidx::set::Question;
use simidx::{Set, Width};
use simidx_input::{Format, ReadOptions};

use crate::cmd::Answer;
use crate::support::answers::{AnswerArgs, Answers};
use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, OpenArgs, fingerprints_of, id_of_word, together};
use crate::support::inputs::FieldArgs;
use crate::support::messages::{cost, counted, say, say_nothing_near};
use crate::support::options::{
    DISTANCES, InputFormat, ThreadArgs, distance_or, heading, input_format,
};
use crate::support::output::stdout;
use crate::support::pipeline::{PipelineFiles, recorded};
use crate::support::quantity::count;
use crate::support::queries::{Query, QueryKind, QueryReader};

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
    /// with `-`, fingerprints are read from standard input. An argument that is valid as a fingerprint is one: write ./beef
    /// for a file called beef
    #[arg(value_name = "FP|INDEX")]
    words: Vec<OsString>,
    #[command(flatten)]
    open: OpenArgs,
    /// Format of the fingerprints: hex, dec or, on standard input, le; with --documents the format of that file
    /// [default: hex, or auto with --documents]
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    /// Largest distance [default: the one that the index was built for; the smallest of several]. A larger one
    /// is exact too, and slower
    #[arg(short = 'k', long, value_name = "K", value_parser = count(DISTANCES))]
    max_distance: Option<u32>,
    /// Find only the N nearest fingerprints, of equally near ones the smallest; -k then limits their distance
    /// [default of -k: any distance]
    #[arg(long, value_name = "N", value_parser = count(1..=u64::MAX), conflicts_with = "limit")]
    nearest: Option<u64>,
    /// Find the neighbours of the records with this id. May be repeated
    #[arg(long = "id", value_name = "ID", conflicts_with_all = ["text", "documents"])]
    ids: Vec<String>,
    /// Text of a document, to find its neighbours. It is fingerprinted as the documents of the index were
    #[arg(long, value_name = "TEXT", conflicts_with = "documents")]
    text: Option<String>,
    /// Find the neighbours of the documents in this file, which are fingerprinted as those of the index were
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
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let mut files = args.open.open(&args.index)?;
    // A set may still be empty. The width of the first file determines which words are fingerprints.
    let width = files.first().map_or(Width::W64, Set::width);
    let words = Words::sort(&args, width)?;
    files.extend(args.open.open_each(&words.files)?);
    let set = args.exclude.apply(together(files)?)?;
    answer(&set, &args, words)
}

fn answer(set: &Set, args: &Args, words: Words) -> Answer {
    let default = match args.nearest {
        None => set.max_distance(),
        Some(_) => set.width().bits(),
    };
    let max_distance = distance_or(args.max_distance, set.width(), default)?;
    let question = match args.nearest.or(args.style.limit) {
        None => Question::Within(max_distance),
        Some(count) => Question::Nearest {
            count: usize::try_from(count).unwrap_or(usize::MAX),
            max_distance,
        },
    };
    let mut out = stdout();
    let mut answers = Answers::new(set, question, args.style, &mut out);
    if let Some(text) = &args.text {
        let pipeline = recorded(set, &args.files.read()?)?;
        let query = Query::of_text(text, None, &pipeline.parallel(set.width())?);
        answers.answer(&[query])?;
    } else if let Some(path) = &args.documents {
        let options = args.fields.options(set.width());
        let format = (args.input.flatten(), &options);
        let source = (set, &args.files);
        let queries = QueryReader::open(path, format, QueryKind::Documents, source)?;
        answer_stream(&mut answers, queries)?;
    } else if !args.ids.is_empty() {
        for word in &args.ids {
            let id = id_of_word(set.id_kind(), word)?;
            for fingerprint in fingerprints_of(set, word)? {
                answers.answer(&[Query::new(fingerprint, Some(id.into()))])?;
            }
        }
    } else if words.fingerprints.is_empty() {
        let options = ReadOptions::default().width(set.width());
        let format = (args.fingerprint_format(), &options);
        let source = (set, &args.files);
        let queries = QueryReader::open(Path::new("-"), format, QueryKind::Fingerprints, source)?;
        answer_stream(&mut answers, queries)?;
    } else {
        for fingerprint in words.fingerprints {
            answers.answer(&[Query::new(fingerprint, None)])?;
        }
    }
    answers.flush()?;
    say_nothing_near(answers.without_features);
    if args.style.stats && !args.style.json {
        let count = counted(answers.query_count, "query");
        say(format_args!("{count}: {}", cost(answers.total)));
    }
    Ok(answers.is_match)
}

/// Answers the queries in a file or a stream. Available queries are answered before it waits for others.
fn answer_stream(answers: &mut Answers<'_>, mut queries: QueryReader<'_>) -> Result<(), Failure> {
    while let Some(batch) = queries.next_batch(|| answers.flush())? {
        answers.answer(&batch)?;
    }
    Ok(())
}

impl Args {
    /// Returns the format of fingerprints; `None` to detect it.
    fn fingerprint_format(&self) -> Option<Format> {
        self.input.unwrap_or(Some(Format::Hex))
    }

    /// Returns the name of the notation of fingerprints in arguments, and a function that parses it.
    ///
    /// # Errors
    /// A format that arguments cannot have.
    fn word_format(&self) -> Result<WordFormat, Failure> {
        // With documents, the format is theirs.
        let format = self
            .fingerprint_format()
            .filter(|_| self.documents.is_none());
        match format {
            None | Some(Format::Hex) => Ok(("hexadecimal", Width::parse_hex)),
            Some(Format::Dec) => Ok(("decimal", Width::parse_dec)),
            Some(format) => Err(Failure::new(format!(
                "--input {format} is not for arguments, which are hex or dec"
            ))),
        }
    }
}

/// See [`Args::word_format`].
type WordFormat = (&'static str, fn(Width, &str) -> Option<u128>);

/// The arguments after the first index file.
#[derive(Debug, Default)]
struct Words {
    files: Vec<PathBuf>,
    /// Fingerprints of any width.
    fingerprints: Vec<u128>,
    stdin: bool,
}

impl Words {
    /// Separates fingerprints of the width of the first index from files.
    ///
    /// # Errors
    /// A word that is neither, or words that cannot be combined with the options or with each other.
    fn sort(args: &Args, width: Width) -> Result<Self, Failure> {
        let (mut words, format) = (Words::default(), args.word_format());
        let parsed = |word: &OsString| {
            let (_, parse) = format.as_ref().ok()?;
            parse(width, word.to_str()?)
        };
        for word in &args.words {
            if word == "-" {
                words.stdin = true;
            } else if let Some(fingerprint) = parsed(word) {
                words.fingerprints.push(fingerprint);
            } else if is_missing(word.as_ref()) {
                let (written, _) = args.word_format()?;
                return Err(Failure::new(format!(
                    "{word:?} is neither a {written} number of at most {width} bits nor a file"
                )));
            } else {
                words.files.push(word.into());
            }
        }
        words.check(args)?;
        Ok(words)
    }

    fn check(&self, args: &Args) -> Result<(), Failure> {
        let asked = self.stdin || !self.fingerprints.is_empty();
        if asked && (args.text.is_some() || args.documents.is_some() || !args.ids.is_empty()) {
            let message =
                "fingerprints cannot be used with --id, --text or --documents; see --help";
            return Err(Failure::new(message));
        }
        if args.fields.are_given() && args.documents.is_none() {
            let message = format!("{} require --documents", FieldArgs::NAMES);
            return Err(Failure::new(message));
        }
        if self.stdin && !self.fingerprints.is_empty() {
            let message =
                "fingerprints are arguments or, with -, read from standard input, not both";
            return Err(Failure::new(message));
        }
        Ok(())
    }
}

/// Whether no file with this name exists or can exist. A file that cannot be examined exists, and is refused when it is
/// opened.
fn is_missing(path: &Path) -> bool {
    use ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    let missing = [NotFound, NotADirectory, InvalidFilename, InvalidInput];
    std::fs::metadata(path).is_err_and(|error| missing.contains(&error.kind()))
}
