//! `simidx query`: everything within a distance of fingerprints or documents.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use simidx::input::{self, Content, Format, RecordReader};
use simidx::text::{Fingerprinter, Pipeline};
use simidx::{Fingerprint, Index, QueryStats, Searcher, Storage};

use super::Answer;
use super::dump::id_to_json;
use super::failure::Failure;
use super::index_file::{IndexArgs, with_index};
use super::output::{say, stdout};
use super::records::{InputFormat, refused};

/// Arguments of `simidx query`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    index: IndexArgs,
    /// Fingerprints to look for; read from stdin if there are none or only `-`
    #[arg(value_name = "FP", conflicts_with_all = ["text", "documents"])]
    fingerprints: Vec<String>,
    /// How fingerprints are written: hex (the default), dec or, on stdin, le; with --documents the format of
    /// the file (default auto)
    #[arg(long, value_name = "FORMAT")]
    input: Option<InputFormat>,
    /// Largest distance; the default is the one that the index was built for, a larger one is exact
    /// and slower
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Look for documents like this text, fingerprinted as those of the index
    #[arg(long, value_name = "TEXT", conflicts_with = "documents")]
    text: Option<String>,
    /// Look for documents like those of this file, fingerprinted as those of the index
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,
    /// Tell what the queries cost: probes, blocks, candidates
    #[arg(long)]
    stats: bool,
    /// Print a JSON object for each query
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The format of fingerprints; `None` where they tell themselves.
    fn fingerprint_format(&self) -> Option<Format> {
        self.input.map_or(Some(Format::Hex), |input| input.0)
    }

    /// The format of documents; `None` where they tell themselves.
    fn document_format(&self) -> Option<Format> {
        self.input.and_then(|input| input.0)
    }
}

/// Runs the command.
pub(super) fn run(args: Args) -> Answer {
    let index = args.index.open()?;
    with_index!(&index, index => run_width(index, &args))
}

fn run_width<F: Fingerprint>(index: &Index<F, Storage>, args: &Args) -> Answer {
    let mut run = Run {
        index,
        searcher: index.searcher(),
        distance: args.distance.unwrap_or(index.max_distance()),
        args,
        out: stdout(),
        total: QueryStats::default(),
        queries: 0,
        found: false,
    };
    if let Some(text) = &args.text {
        let mut fingerprinter = fingerprinter(index, args)?;
        run.query(fingerprinter.fingerprint(text))?;
    } else if let Some(path) = &args.documents {
        let reader = input::open::<F>(path, args.document_format())?;
        run.query_reader(reader, Some(fingerprinter(index, args)?))?;
    } else if args.fingerprints.is_empty() || args.fingerprints == ["-"] {
        let reader = input::open::<F>("-".as_ref(), args.fingerprint_format())?;
        run.query_reader(reader, None)?;
    } else {
        // All are read before the first is asked, so that a bad one leaves no half of an answer.
        let queries = args.fingerprints.iter();
        let queries: Result<Vec<F>, Failure> = queries
            .map(|text| parse(text, args.fingerprint_format()))
            .collect();
        for query in queries? {
            run.query(query)?;
        }
    }
    run.finish()
}

/// The text pipeline that the index records.
fn fingerprinter<F: Fingerprint>(
    index: &Index<F, Storage>,
    args: &Args,
) -> Result<Fingerprinter, Failure> {
    let description = index.pipeline().ok_or_else(|| {
        let message = "the index does not record how documents become fingerprints";
        args.index.blame(Failure::new(message))
    })?;
    let pipeline = Pipeline::parse(description).map_err(|error| args.index.blame(error))?;
    Ok(pipeline.fingerprinter())
}

fn parse<F: Fingerprint>(text: &str, format: Option<Format>) -> Result<F, Failure> {
    let parsed = match format {
        None | Some(Format::Hex) => F::parse_hex(text),
        Some(Format::Dec) => F::parse_dec(text),
        Some(format) => {
            let message = format!("--input {format}: arguments are hex or dec");
            return Err(Failure::new(message));
        }
    };
    parsed.ok_or_else(|| {
        let form = match format {
            Some(Format::Dec) => "decimal number",
            _ => "hexadecimal number",
        };
        Failure::new(format!(
            "{text:?} is not a {form} of at most {} bits",
            F::WIDTH
        ))
    })
}

/// The state of a run over many queries.
struct Run<'a, F, W> {
    index: &'a Index<F, Storage>,
    searcher: Searcher<'a, F, Storage>,
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
        mut fingerprinter: Option<Fingerprinter>,
    ) -> Result<(), Failure> {
        while let Some(record) = reader.next_record() {
            let fingerprint = match (record?.content, &mut fingerprinter) {
                (Content::Fingerprint(fingerprint), None) => fingerprint,
                (Content::Text(text), Some(fingerprinter)) => fingerprinter.fingerprint(&text),
                (content, _) => {
                    let message = match content {
                        Content::Text(_) => "a document; ask for documents with --documents",
                        Content::Fingerprint(_) => "a fingerprint among the documents",
                    };
                    let (source, place) = reader.place();
                    return Err(refused(source, place, message));
                }
            };
            self.query(fingerprint)?;
        }
        Ok(())
    }

    fn query(&mut self, fingerprint: F) -> Result<(), Failure> {
        let matches = self
            .searcher
            .query(fingerprint, self.distance)
            .map_err(|error| self.args.index.blame(error))?
            .len();
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
            let (mut ids, mut result) = (0u64, Ok(()));
            let out = &mut self.out;
            let read = self.index.for_each_id_of_member(found.fingerprint, |id| {
                ids += 1;
                if result.is_ok() {
                    result = writeln!(out, "{line}\t{id}");
                }
            });
            read.map_err(|error| self.args.index.blame(error))?;
            result?;
            if ids == 0 {
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(())
    }

    fn print_json(&mut self, fingerprint: F) -> Result<(), Failure> {
        let mut matches = Vec::with_capacity(self.searcher.matches().len());
        for found in self.searcher.matches() {
            let mut ids: Vec<Value> = Vec::new();
            self.index
                .for_each_id_of_member(found.fingerprint, |id| ids.push(id_to_json(id)))
                .map_err(|error| self.args.index.blame(error))?;
            matches.push(json!({
                "fingerprint": found.fingerprint.to_hex(),
                "distance": found.distance,
                "ids": ids,
            }));
        }
        let mut line = json!({ "query": fingerprint.to_hex(), "matches": matches });
        if self.args.stats {
            let stats = self.searcher.stats();
            line["probes"] = stats.probes.into();
            line["blocks"] = stats.blocks.into();
            line["candidates"] = stats.candidates.into();
        }
        writeln!(self.out, "{line}")?;
        Ok(())
    }

    fn finish(mut self) -> Answer {
        self.out.flush()?;
        if self.args.stats && !self.args.json {
            say(format_args!(
                "{} queries: {} probes, {} blocks, {} candidates",
                self.queries, self.total.probes, self.total.blocks, self.total.candidates
            ));
        }
        Ok(self.found)
    }
}
