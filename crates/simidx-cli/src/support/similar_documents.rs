//! Documents of which the similar ones are wanted: collected with their ids, and read again where memory is short.

use simidx::Width;
use simidx::builder::MIN_MEMORY;
use simidx_input::InputFile;
use simidx_text::dedup::Similarity;
use simidx_text::similar::{
    SignedText, SimilarCandidates, SimilarOptions, SimilarTexts, TextSigner,
};

use crate::support::failure::Failure;
use crate::support::labels::Labels;
use crate::support::positions::Positions;
use crate::support::progress::ProgressMode;
use crate::support::records::{Fingerprinted, InputArgs, Refusal, Sink, read_originals};
use crate::support::reread::each_text;
use crate::support::resources::ResourceArgs;
use crate::support::similarity::without_width;
use crate::support::transient::SourceArgs;

/// Of what the search need not have, the part that is for ids.
const ID_SHARE: u64 = 16;

/// The error of a record that has no text.
pub(crate) const NO_TEXT: &str = "has no text to compare; -k compares fingerprints";

/// Where documents come from, and where they stand there.
pub(crate) type Source<'a> = (&'a [InputFile], &'a Positions);

/// Finds which documents may be similar, and reads them again if there was no memory for their features. With lengths
/// the longest are decided on first. `text_of` gives the number that a document has among the texts, if it is one of them.
///
/// # Errors
/// Too little memory, and an input that cannot be read again or has changed.
pub(crate) fn candidates(
    texts: SimilarTexts,
    lengths: Option<Vec<u32>>,
    text_of: &dyn Fn(usize) -> Option<usize>,
    source: Source<'_>,
    mode: ProgressMode,
) -> Result<SimilarCandidates, Failure> {
    let bar = mode.spinner();
    bar.set_message("finding candidates");
    let mut candidates = match lengths {
        None => texts.candidates()?,
        Some(lengths) => texts.candidates_by(|text| lengths[text].into())?,
    };
    bar.finish_and_clear();
    if candidates.needs_texts() {
        let bar = mode.reading("documents").doing("reading candidates");
        let mut give = |document: usize, text: String| match text_of(document) {
            Some(number) => Ok(candidates.give(number, text)?),
            None => Ok(()),
        };
        each_text(source, bar, &mut give)?;
    }
    Ok(candidates)
}

/// The documents that are named, of which none may be an index.
///
/// # Errors
/// An index among them.
pub(crate) fn documents_of(source: &SourceArgs, threads: u16) -> Result<InputArgs, Failure> {
    match source.are_records()? {
        true => Ok(source.records(threads)),
        false => Err(Failure::new(
            "--similarity compares texts, which an index does not have; name the documents",
        )),
    }
}

/// Documents that may be similar, and what they are called.
pub(crate) struct SimilarDocuments {
    pub(crate) candidates: SimilarCandidates,
    pub(crate) labels: Labels,
}

impl SimilarDocuments {
    /// Reads documents and finds which may be similar; with `longest_first` the longer ones are decided on first.
    ///
    /// # Errors
    /// What keeps the inputs from being read, a record without a text, and too little memory.
    pub(crate) fn read(
        input: &InputArgs,
        similarity: Similarity,
        longest_first: bool,
        resources: &ResourceArgs,
        mode: ProgressMode,
    ) -> Result<Self, Failure> {
        without_width(input.width)?;
        let temp_dir = resources.temp_dir.as_deref();
        let options = input.fields.options(input.width);
        let originals = input
            .paths()?
            .into_iter()
            .map(|path| InputFile::open_with(&path, input.input.0, &options, temp_dir));
        let originals = originals.collect::<Result<Vec<_>, _>>()?;
        let pipeline = input.pipeline.pipeline()?;
        let mut options = SimilarOptions::default();
        options.similarity = similarity;
        let memory = resources.memory_limit();
        let id_memory = memory.saturating_sub(MIN_MEMORY) / ID_SHARE;
        options.memory = Some(memory - id_memory);
        options.temp_dir.clone_from(&resources.temp_dir);
        let texts = SimilarTexts::new(&pipeline, &options)?;
        let mut collector = Collector {
            signer: texts.signer(),
            texts,
            lengths: longest_first.then(Vec::new),
            labels: Labels::new(temp_dir, id_memory),
        };
        let bar = mode.reading("documents");
        let read = read_originals(
            (input, Width::W64),
            &pipeline,
            &originals,
            bar,
            &mut collector,
        )?;
        let Collector {
            texts,
            lengths,
            mut labels,
            ..
        } = collector;
        labels.end_at(read.records + read.skipped)?;
        let source = (originals.as_slice(), &labels.positions);
        let candidates = candidates(texts, lengths, &Some, source, mode)?;
        Ok(SimilarDocuments { candidates, labels })
    }
}

/// Takes documents in.
struct Collector {
    signer: TextSigner,
    texts: SimilarTexts,
    /// Bytes of each text, if they are needed.
    lengths: Option<Vec<u32>>,
    labels: Labels,
}

/// What has been signed of a document.
///
/// # Errors
/// The record is none.
pub(crate) fn signed(signed: Option<SignedText>) -> Result<SignedText, Refusal> {
    signed.ok_or_else(|| Refusal::record(NO_TEXT))
}

impl Sink for Collector {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        let document = self.texts.text_count() as u64;
        self.texts.push_signed(signed(record.signed)?)?;
        self.labels.positions.push(record.position, 1);
        if let Some(lengths) = &mut self.lengths {
            lengths.push(u32::try_from(record.text_len).unwrap_or(u32::MAX));
        }
        if let Some(id) = &record.id {
            self.labels.ids.push(document, id)?;
        }
        Ok(())
    }

    fn signer(&self) -> Option<TextSigner> {
        Some(self.signer.clone())
    }
}
