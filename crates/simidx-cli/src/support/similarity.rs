//! Documents with similar texts: `--similarity`, and the search for those that are similar enough.

use simidx::builder::MIN_MEMORY;
use simidx::{Set, Width};
use simidx_input::{Content, Format, InputFile, RecordReader};
use simidx_text::dedup::Similarity;
use simidx_text::similar::{SignedText, SimilarCandidates, SimilarOptions, SimilarTexts};

use crate::support::failure::Failure;
use crate::support::indexes::ExcludeArgs;
use crate::support::inputs::{InputArgs, SourceArgs};
use crate::support::labels::{Labels, Positions};
use crate::support::options::ResourceArgs;
use crate::support::pipeline::PipelineArgs;
use crate::support::progress::{ProgressMode, Reading};
use crate::support::records::{
    Each, Extras, Fingerprinted, Refusal, Wanted, open_files, read_originals, visit_texts,
};

/// The least similarity for which texts are found as surely as for all others.
const SMALLEST: f64 = 0.02;

/// The similarity where the user names none.
pub(crate) const DEFAULT_LEAST: f64 = 0.8;

/// How similar texts must be; shared by the commands that compare texts.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SimilarityArgs {
    /// Smallest Jaccard similarity of near-duplicates, from 0.02 to 1: the share of their features that both have
    #[arg(
        long,
        value_name = "J",
        value_parser = least,
        conflicts_with = "max_distance"
    )]
    similarity: Option<f64>,
    /// Features to compare: words:N (all runs of N words) or pipeline (the features of the fingerprints)
    /// [default: words:3; with --pipeline, --stop-words or --user-dictionary those of the pipeline]
    #[arg(
        long,
        value_name = "FEATURES",
        value_parser = features,
        conflicts_with = "max_distance"
    )]
    features: Option<Features>,
}

/// The features that texts are compared by: runs of this number of words, or else the features of the pipeline.
type Features = Option<usize>;

/// Reads a similarity.
pub(crate) fn least(text: &str) -> Result<f64, String> {
    let least = text.parse().ok();
    let least = least.filter(|least| (SMALLEST..=1.0).contains(least));
    least.ok_or_else(|| format!("a similarity is a number from {SMALLEST} to 1, such as 0.8"))
}

/// Reads `words:N`.
pub(crate) fn words(text: &str) -> Result<usize, String> {
    let words = || {
        let words = text.strip_prefix("words:")?.parse().ok()?;
        Similarity::of_words(DEFAULT_LEAST, words).ok()?;
        Some(words)
    };
    words().ok_or_else(|| "features are words:N with N from 1 to 64".into())
}

fn features(text: &str) -> Result<Features, String> {
    match text {
        "pipeline" => Ok(None),
        _ => match words(text) {
            Ok(words) => Ok(Some(words)),
            Err(message) => Err(format!("{message}, or pipeline")),
        },
    }
}

impl SimilarityArgs {
    /// Whether texts are to be compared in any case.
    pub(crate) fn is_given(&self) -> bool {
        self.similarity.is_some() || self.features.is_some()
    }

    /// The similarity, if one is given; `has_pipeline` if a pipeline is.
    pub(crate) fn given(&self, has_pipeline: bool) -> Option<Similarity> {
        self.is_given().then(|| self.or_default(has_pipeline))
    }

    /// The similarity, by default 0.8 of runs of three words, or of the features of the pipeline if one is given.
    pub(crate) fn or_default(&self, has_pipeline: bool) -> Similarity {
        let least = self.similarity.unwrap_or(DEFAULT_LEAST);
        let features = self.features.unwrap_or((!has_pipeline).then_some(3));
        let similarity = match features {
            Some(words) => Similarity::of_words(least, words),
            None => Similarity::of_features(least),
        };
        // Both were checked when they were read.
        similarity.unwrap_or_default()
    }
}

/// Refuses a width of fingerprints where texts are compared.
///
/// # Errors
/// Another width than that of the default.
pub(crate) fn without_width(width: Width) -> Result<(), Failure> {
    match width {
        Width::W64 => Ok(()),
        _ => Err(Failure::new(
            "--width is that of fingerprints, and --similarity compares texts; leave one of them out",
        )),
    }
}

/// The features that a similarity is of, in words.
pub(crate) fn features_of(similarity: Similarity) -> String {
    match similarity.words() {
        Some(1) => "words".to_owned(),
        Some(words) => format!("runs of {words} words"),
        None => "features of the pipeline".to_owned(),
    }
}

/// Of what the search need not have, the part that is for ids.
pub(crate) const ID_SHARE: u64 = 16;

/// How the memory is divided, in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryShares {
    /// For the fingerprints, and the search for near ones.
    pub(crate) search: u64,
    /// For ids, and the search for those that come twice.
    pub(crate) ids: u64,
}

impl MemoryShares {
    /// Of what the search need not have, ids have a part.
    pub(crate) fn new(memory: u64) -> Self {
        let ids = memory.saturating_sub(MIN_MEMORY) / ID_SHARE;
        MemoryShares {
            search: memory - ids,
            ids,
        }
    }
}

/// The error of a record that has no text.
pub(crate) const NO_TEXT: &str = "has no text to compare; -k compares fingerprints";

/// Where documents come from, and where they stand there.
pub(crate) type Source<'a> = (&'a [InputFile], &'a Positions);

/// The rank of a text: those of the highest rank are decided on first, and equal ones in their order.
pub(crate) type Rank<'a> = &'a dyn Fn(usize) -> u64;

/// Finds which documents may be similar, and reads them again if there was no memory for their features. Texts are decided
/// on by their ranks if there are any. `text_of` gives the number that a document has among the texts, if it is one of them.
///
/// # Errors
/// Too little memory, and an input that cannot be read again or has changed.
pub(crate) fn candidates(
    texts: SimilarTexts,
    rank: Option<Rank<'_>>,
    text_of: &dyn Fn(usize) -> Option<usize>,
    source: Source<'_>,
    mode: ProgressMode,
) -> Result<SimilarCandidates, Failure> {
    let bar = mode.spinner("finding candidates");
    let mut candidates = match rank {
        None => texts.candidates()?,
        Some(rank) => texts.candidates_by(rank)?,
    };
    bar.finish_and_clear();
    if candidates.needs_texts() {
        let reading = (mode, "reading candidates", "documents");
        let mut give = |document: usize, text: String| match text_of(document) {
            Some(number) => Ok(candidates.give(number, text)?),
            None => Ok(()),
        };
        let texts = each_text(source, reading, &mut give)?;
        source.1.check_texts(texts)?;
    }
    Ok(candidates)
}

/// Documents that may be similar, and what they are called.
pub(crate) struct SimilarDocuments {
    pub(crate) candidates: SimilarCandidates,
    pub(crate) labels: Labels,
}

/// The data that is compared.
pub(crate) enum Compared {
    /// The fingerprints of an index.
    Index(Set),
    /// The fingerprints of records, with the inputs if these had to be opened.
    Fingerprints(Option<Vec<InputFile>>),
    /// The texts of documents.
    Texts(Similarity, Vec<InputFile>),
}

impl Compared {
    /// Decides whether texts or fingerprints are compared. Documents are compared by their texts, unless an option concerns
    /// fingerprints; `for_fingerprints` if an option of the command does.
    ///
    /// # Errors
    /// Inputs that cannot be opened, and options that do not go with them.
    pub(crate) fn of(
        (source, exclude): (&SourceArgs, &ExcludeArgs),
        args: &SimilarityArgs,
        for_fingerprints: bool,
        resources: &ResourceArgs,
    ) -> Result<Self, Failure> {
        let input = &source.records;
        let has_pipeline = input.pipeline.makes_features();
        let originals = || {
            let options = input.fields.options(input.width);
            let temp_dir = resources.temp_dir.as_deref();
            open_files(&input.paths()?, input.format(), &options, temp_dir)
        };
        if let Some(similarity) = args.given(has_pipeline) {
            exclude.refuse("it cannot be used with --similarity")?;
            if !source.are_records()? {
                let message =
                    "--similarity compares texts, which an index does not have; name the documents";
                return Err(Failure::new(message));
            }
            without_width(input.width)?;
            return Ok(Compared::Texts(similarity, originals()?));
        }
        if let Some(set) = source.open(exclude)? {
            return Ok(Compared::Index(set));
        }
        let is_about_fingerprints = about_fingerprints(input.width, &input.pipeline).is_some();
        // These can be pipes, which would be copied to be read again.
        let is_given = input.format().is_some_and(has_no_documents);
        if for_fingerprints || is_about_fingerprints || is_given {
            return Ok(Compared::Fingerprints(None));
        }
        let originals = originals()?;
        let format = originals.first().map(InputFile::format);
        let without_records = !format.is_some_and(has_no_documents);
        Ok(
            match are_documents(&originals)?.unwrap_or(without_records) {
                true => Compared::Texts(args.or_default(has_pipeline), originals),
                false => Compared::Fingerprints(Some(originals)),
            },
        )
    }
}

/// Whether records of this format are always fingerprints.
fn has_no_documents(format: Format) -> bool {
    matches!(format, Format::Hex | Format::Dec | Format::Le | Format::Npy)
}

/// Returns the option that makes fingerprints the subject, as a reason to compare them; none if there is none.
pub(crate) fn about_fingerprints(width: Width, pipeline: &PipelineArgs) -> Option<&'static str> {
    match width != Width::W64 {
        true => Some("--width is that of fingerprints"),
        false if pipeline.makes_simhashes() => Some("the pipeline makes simhashes"),
        false => None,
    }
}

/// Whether the first record is a document; `None` if there are no records. Invalid ones do not count.
///
/// # Errors
/// An input that cannot be read, and documents after fingerprints.
pub(crate) fn are_documents(originals: &[InputFile]) -> Result<Option<bool>, Failure> {
    let mut found = None;
    for original in originals {
        match begins_with_document(original.records()?)? {
            // A fingerprint after it has no text, which is found when it is read.
            Some(true) if found.is_none() => return Ok(Some(true)),
            Some(true) => {
                let message = "documents and fingerprints are mixed; compare them separately";
                return Err(Failure::new(message).about(original.path().display()));
            }
            Some(false) => found = Some(false),
            None => {}
        }
    }
    Ok(found)
}

/// Whether the first record of one input is a document, like [`are_documents`].
///
/// # Errors
/// An input that cannot be read.
pub(crate) fn begins_with_document(
    records: Box<dyn RecordReader>,
) -> Result<Option<bool>, Failure> {
    for record in records {
        match record.map(|record| record.content) {
            Ok(content) => return Ok(Some(matches!(content, Content::Text(_)))),
            Err(simidx_input::Error::Input(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

impl SimilarDocuments {
    /// Reads documents and finds which may be similar.
    ///
    /// # Errors
    /// Inputs that cannot be read, a record without a text, and too little memory.
    pub(crate) fn read(
        (input, originals): (&InputArgs, &[InputFile]),
        similarity: Similarity,
        resources: &ResourceArgs,
        mode: ProgressMode,
    ) -> Result<Self, Failure> {
        let temp_dir = resources.temp_dir.as_deref();
        let pipeline = input.pipeline.pipeline()?;
        let mut options = SimilarOptions::default();
        options.similarity = similarity;
        let memory = MemoryShares::new(resources.memory_limit());
        options.memory = Some(memory.search);
        options.temp_dir.clone_from(&resources.temp_dir);
        let mut texts = SimilarTexts::new(&pipeline, &options)?;
        let mut labels = Labels::new(temp_dir, memory.ids, false);
        let wanted = Wanted::Signed(texts.signer(), Extras::default());
        let mut each = Each(wanted, |mut record: Fingerprinted| {
            texts.push_signed(signed(record.signed.take())?)?;
            Ok(labels.push(&record, record.id.as_ref())?)
        });
        let (pass, reading) = ((input, Width::W64), (mode, "reading", "documents"));
        let read = read_originals(pass, &pipeline, originals, reading, &mut each)?;
        labels.end(&read)?;
        let source = (originals, &labels.positions);
        let candidates = candidates(texts, None, &Some, source, mode)?;
        Ok(SimilarDocuments { candidates, labels })
    }
}

/// Returns the signed text of a document.
///
/// # Errors
/// The record is none.
pub(crate) fn signed(signed: Option<SignedText>) -> Result<SignedText, Refusal> {
    signed.ok_or_else(|| Refusal::record(NO_TEXT))
}

/// Hands the texts of the documents to `visit`, with their numbers and in order, in another pass over the inputs. Returns
/// the number of the texts: some documents may be fingerprints without one.
///
/// # Errors
/// An input that cannot be read again or has changed, and what `visit` returns.
pub(crate) fn each_text(
    (originals, positions): Source<'_>,
    reading: Reading,
    visit: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut texts = 0;
    let records = visit_texts(originals, reading, |position, _, text| {
        let Some(document) = positions.document_at(position) else {
            return Ok(());
        };
        texts += 1;
        visit(document, text)
    })?;
    positions.check(records)?;
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_read() {
        assert_eq!(least("0.8"), Ok(0.8));
        assert_eq!(least("1"), Ok(1.0));
        for wrong in ["0", "0.01", "1.01", "-1", "nan", "80%", ""] {
            assert!(least(wrong).is_err(), "{wrong}");
        }
        assert_eq!(features("words:5"), Ok(Some(5)));
        assert_eq!(features("pipeline"), Ok(None));
        for wrong in ["words", "words:0", "words:65", "5", "Pipeline"] {
            assert!(features(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_shares_are_all_of_the_memory() {
        for memory in [0, MIN_MEMORY, MIN_MEMORY + 7, 4 << 30] {
            let shares = MemoryShares::new(memory);
            assert_eq!(shares.search + shares.ids, memory);
            assert!(shares.search >= memory.min(MIN_MEMORY));
        }
    }

    #[test]
    fn the_default_is_four_fifths_of_runs_of_three_words() {
        let args = SimilarityArgs {
            similarity: None,
            features: None,
        };
        assert_eq!(args.or_default(false), Similarity::default());
        assert_eq!(args.given(true), None);
        let of_features = Similarity::of_features(0.8).ok();
        assert_eq!(Some(args.or_default(true)), of_features);
        let features = Some(None);
        let args = SimilarityArgs { features, ..args };
        assert_eq!(args.given(false), of_features);
        assert_eq!(
            features_of(args.or_default(false)),
            "features of the pipeline"
        );
    }
}
