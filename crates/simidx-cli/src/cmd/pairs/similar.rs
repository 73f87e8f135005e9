//! Pairs of documents with similar texts.

use std::io::Write;

use serde_json::json;
use simidx::Error;
use simidx_text::dedup::Similarity;
use simidx_text::similar::SimilarPair;

use super::{Args, Printer};
use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::labels::Label;
use crate::support::output::{Stdout, write_json};
use crate::support::progress::ProgressMode;
use crate::support::similarity::{SimilarDocuments, documents_of};

/// Prints the pairs of documents with similar texts.
///
/// # Errors
/// What keeps the documents from being read, and more pairs than are wanted.
pub(super) fn run(args: &Args, similarity: Similarity, mode: ProgressMode) -> Answer {
    args.exclude.refuse("it cannot be used with --similarity")?;
    let input = documents_of(&args.source, args.resources.threads)?;
    let mut documents = SimilarDocuments::read(&input, similarity, false, &args.resources, mode)?;
    let mut printer = Printer::new(args, args.source.width, mode);
    if args.count_only {
        return printer.count_similar(&mut documents, mode);
    }
    let labels = &documents.labels;
    documents.candidates.for_each_pair(|pair| {
        args.check_count(printer.count + 1)?;
        let of = |document| labels.of(document);
        Ok::<_, Failure>(printer.similar([of(pair.a)?, of(pair.b)?], pair)?)
    })?;
    printer.finish()
}

impl Args {
    /// # Errors
    /// So many pairs are more than are wanted.
    fn check_count(&self, count: u64) -> Result<(), Failure> {
        match self.max_pairs {
            Some(limit) if count > limit => {
                let what = "pairs";
                Err(Error::LimitReached { what, limit }.into())
            }
            _ => Ok(()),
        }
    }
}

impl Printer<'_, std::io::BufWriter<Stdout>> {
    fn similar(&mut self, [a, b]: [Label; 2], pair: SimilarPair) -> std::io::Result<()> {
        self.found();
        if !self.args.json {
            return writeln!(self.out, "{a}\t{b}\t{:.4}", pair.jaccard);
        }
        let pair = json!({ "a": a.to_json(), "b": b.to_json(), "similarity": pair.jaccard });
        write_json(&mut self.out, &pair)?;
        self.out.write_all(b"\n")
    }

    /// Prints the number of pairs, which need not be gone through one by one.
    fn count_similar(mut self, documents: &mut SimilarDocuments, mode: ProgressMode) -> Answer {
        let (bar, watch) = mode.comparing();
        self.count = documents.candidates.count_pairs(&watch)?;
        bar.finish_and_clear();
        self.args.check_count(self.count)?;
        self.finish()
    }
}
