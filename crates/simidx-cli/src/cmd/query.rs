//! `simidx query`: everything within a distance of fingerprints or documents.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use simidx::index::QueryStats;
use simidx::segments::{AnySegments, SegmentSearcher, Segments};
use simidx::{Fingerprint, Storage};
use simidx_input::{Content, Format, RecordReader};
use simidx_text::Fingerprinter;

use crate::cmd::Answer;
use crate::support::choices::InputFormat;
use crate::support::diagnostics::Diagnostics;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::id_word::fingerprints_of;
use crate::support::index_file::{OpenArgs, together, with_segments};
use crate::support::json_ids::push_match;
use crate::support::output::{cost, counted, say, stdout};
use crate::support::pipeline::{PipelineFiles, recorded};
use crate::support::records::{FieldArgs, OnError, refused};
use crate::support::width::{Width, with_width};

/// The head of `simidx query --help` and of its man page.
pub(crate) const HELP: &str = "\
Find everything within a distance of fingerprints or documents.

Each match is a line: query, match, distance and, if the index has ids, an id, separated by tabs. The exit \
code is 1 if nothing matches.

Examples:
  simidx query crawl.simidx 9a3f00c1d2e4b576 -k 4
  simidx query crawl.simidx --text \"The quick brown fox\" --json
  simidx query crawl.simidx 9a3f00c1d2e4b576 --nearest 10
  simidx query crawl.simidx --id https://example.org/
  simidx query monday.simidx tuesday.simidx --documents new.jsonl
  cut -f1 new.tsv | simidx query crawl.simidx --stats";

/// Arguments of `simidx query`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Index file
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
    #[arg(short = 'k', long, value_name = "K")]
    max_distance: Option<u32>,
    /// Find only the N nearest fingerprints, of equally near ones the smallest; -k then limits their distance
    /// [default of -k: any distance]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nearest: Option<u32>,
    /// Find what is near the records with this id. May be repeated
    #[arg(long = "id", value_name = "ID", conflicts_with_all = ["text", "documents"])]
    ids: Vec<String>,
    /// Find documents like this text, which is fingerprinted as those of the index were
    #[arg(long, value_name = "TEXT", conflicts_with = "documents")]
    text: Option<String>,
    /// Find documents like those in this file, which are fingerprinted as those of the index were
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    files: PipelineFiles,
    /// Report the cost of the queries: probes, blocks, candidates
    #[arg(long)]
    stats: bool,
    /// Print a JSON object for each query
    #[arg(long)]
    json: bool,
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

    /// The format of fingerprints among the arguments.
    ///
    /// # Errors
    /// One in which no argument can be written.
    fn word_format(&self) -> Result<WordFormat, Failure> {
        // With documents the format is theirs.
        let format = match self.documents {
            Some(_) => None,
            None => self.fingerprint_format(),
        };
        match format {
            None | Some(Format::Hex) => Ok(WordFormat::Hex),
            Some(Format::Dec) => Ok(WordFormat::Dec),
            Some(format) => {
                let message =
                    format!("--input {format} is not for arguments, which are hex or dec");
                Err(Failure::new(message))
            }
        }
    }
}

/// How a fingerprint among the arguments is written.
#[derive(Debug, Clone, Copy)]
enum WordFormat {
    Hex,
    Dec,
}

impl WordFormat {
    fn parse<F: Fingerprint>(self, word: &str) -> Option<F> {
        match self {
            WordFormat::Hex => F::parse_hex(word),
            WordFormat::Dec => F::parse_dec(word),
        }
    }

    fn name(self) -> &'static str {
        match self {
            WordFormat::Hex => "hexadecimal",
            WordFormat::Dec => "decimal",
        }
    }
}

/// The arguments after the first index file.
#[derive(Debug, Default)]
struct Words {
    files: Vec<PathBuf>,
    /// Fingerprints of any width.
    fingerprints: Vec<u128>,
    stdin: bool,
}

impl Words {
    /// Separates fingerprints as wide as those of the first index from files.
    ///
    /// # Errors
    /// A word that is neither, or words that cannot be combined with the options or with each other.
    fn sort<F: Fingerprint>(args: &Args) -> Result<Self, Failure> {
        let mut words = Words::default();
        for word in &args.words {
            if word == "-" {
                words.stdin = true;
            } else if let Some(fingerprint) = fingerprint::<F>(word, args) {
                words.fingerprints.push(fingerprint.to_u128());
            } else if is_missing(word.as_ref()) {
                return Err(neither::<F>(word, args));
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
            let message = "--text-field, --id-field and --encoding require --documents";
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

/// The fingerprint that an argument is, if it is one.
fn fingerprint<F: Fingerprint>(word: &OsString, args: &Args) -> Option<F> {
    args.word_format().ok()?.parse(word.to_str()?)
}

/// Whether no file of that name exists or can exist. One that cannot be examined exists, and is refused when it is opened.
fn is_missing(path: &Path) -> bool {
    use ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    let missing = [NotFound, NotADirectory, InvalidFilename, InvalidInput];
    std::fs::metadata(path).is_err_and(|error| missing.contains(&error.kind()))
}

/// The failure of a word that is neither a fingerprint nor a file.
fn neither<F: Fingerprint>(word: &OsString, args: &Args) -> Failure {
    match args.word_format() {
        Err(failure) => failure,
        Ok(format) => Failure::new(format!(
            "{word:?} is neither a {} number of at most {} bits nor a file",
            format.name(),
            F::WIDTH
        )),
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    let (segments, words) = open(&args)?;
    with_segments!(&segments, segments => run_width(segments, &args, words))
}

/// Opens the index files; the width of the first decides which words are fingerprints.
fn open(args: &Args) -> Result<(AnySegments, Words), Failure> {
    let first = args.open.open(&args.index)?;
    let words = with_width!(Width::of_index(&first), F => Words::sort::<F>(args))?;
    let mut indexes = vec![first];
    for path in &words.files {
        indexes.push(args.open.open(path)?);
    }
    let mut paths = vec![args.index.clone()];
    paths.extend_from_slice(&words.files);
    Ok((together(&paths, indexes)?, words))
}

fn run_width<F: Fingerprint>(segments: &Segments<F, Storage>, args: &Args, words: Words) -> Answer {
    let mut run = Run {
        searcher: segments.searcher(),
        distance: args.max_distance.unwrap_or(match args.nearest {
            None => segments.max_distance(),
            Some(_) => F::WIDTH,
        }),
        args,
        out: stdout(),
        total: QueryStats::default(),
        queries: 0,
        found: false,
    };
    if let Some(text) = &args.text {
        let mut fingerprinter = recorded(segments, &args.files.read()?)?;
        run.query(fingerprinter.fingerprint(text))?;
    } else if let Some(path) = &args.documents {
        let options = args.fields.options();
        let reader = simidx_input::open_with::<F>(path, args.document_format(), &options)?;
        run.query_reader(reader, Some(recorded(segments, &args.files.read()?)?))?;
    } else if !args.ids.is_empty() {
        for word in &args.ids {
            for fingerprint in fingerprints_of(segments, word)? {
                run.query(fingerprint)?;
            }
        }
    } else if words.fingerprints.is_empty() {
        let reader = simidx_input::open::<F>("-".as_ref(), args.fingerprint_format())?;
        run.query_reader(reader, None)?;
    } else {
        for query in words.fingerprints {
            run.query(F::from_u128(query))?;
        }
    }
    run.finish()
}

/// The state of a run over many queries.
struct Run<'a, F: 'static, W> {
    searcher: SegmentSearcher<F, &'a Segments<F, Storage>>,
    distance: u32,
    args: &'a Args,
    out: W,
    total: QueryStats,
    queries: u64,
    found: bool,
}

impl<F: Fingerprint, W: Write> Run<'_, F, W> {
    fn query_reader(
        &mut self,
        mut reader: Box<dyn RecordReader<F> + Send>,
        mut fingerprinter: Option<Fingerprinter<F>>,
    ) -> Result<(), Failure> {
        let mut diagnostics = Diagnostics::new(OnError::Stop);
        diagnostics.note_guess(&*reader);
        while let Some(record) = reader.next_record() {
            let record = record?;
            if record.has_faults {
                diagnostics.note_faults(reader.place());
            }
            let fingerprint = match (record.content, &mut fingerprinter) {
                (Content::Fingerprint(fingerprint), None) => fingerprint,
                (Content::Text(text), Some(fingerprinter)) => fingerprinter.fingerprint(&text),
                (content, _) => {
                    let message = match content {
                        Content::Text(_) => "is a document; use --documents to query documents",
                        Content::Fingerprint(_) => "is a fingerprint; --documents reads documents",
                    };
                    let (source, place) = reader.place();
                    return Err(refused(source, place, message));
                }
            };
            self.query(fingerprint)?;
        }
        diagnostics.tell();
        Ok(())
    }

    fn query(&mut self, fingerprint: F) -> Result<(), Failure> {
        let matches = match self.args.nearest {
            None => self.searcher.query(fingerprint, self.distance)?,
            Some(count) => self
                .searcher
                .nearest(fingerprint, count as usize, self.distance)?,
        };
        let matches = matches.len();
        self.queries += 1;
        self.total += self.searcher.stats();
        self.found |= matches > 0;
        if self.args.json {
            self.print_json(fingerprint)
        } else {
            self.print_lines(fingerprint)
        }
    }

    fn print_lines(&mut self, fingerprint: F) -> Result<(), Failure> {
        let query = fingerprint.to_hex();
        for found in self.searcher.matches() {
            let line = format!(
                "{query}\t{}\t{}",
                found.fingerprint.to_hex(),
                found.distance
            );
            let mut has_ids = false;
            for id in self.searcher.ids(&found)? {
                writeln!(self.out, "{line}\t{}", id?)?;
                has_ids = true;
            }
            if !has_ids {
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(())
    }

    fn print_json(&mut self, fingerprint: F) -> Result<(), Failure> {
        let mut matches = Vec::new();
        for found in self.searcher.matches() {
            let ids = self.searcher.ids(&found)?;
            push_match(&mut matches, (found.fingerprint, found.distance), ids)?;
        }
        let (before, after) = match self.args.stats {
            true => {
                let stats = self.searcher.stats();
                let (blocks, candidates) = (stats.blocks, stats.candidates);
                (
                    format!(r#""blocks":{blocks},"candidates":{candidates},"#),
                    format!(r#","probes":{}"#, stats.probes),
                )
            }
            false => Default::default(),
        };
        write!(self.out, r#"{{{before}"matches":["#)?;
        self.out.write_all(&matches)?;
        let query = fingerprint.to_hex();
        writeln!(self.out, r#"]{after},"query":"{query}"}}"#)?;
        Ok(())
    }

    fn finish(mut self) -> Answer {
        self.out.flush()?;
        if self.args.stats && !self.args.json {
            say(format_args!(
                "{}: {}",
                counted(self.queries, "query"),
                cost(self.total)
            ));
        }
        Ok(self.found)
    }
}
