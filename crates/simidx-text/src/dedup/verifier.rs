//! A verifier of near-duplicates that compares the texts of candidates.

use std::convert::Infallible;
use std::path::PathBuf;

use simidx::Width;
use simidx::batch::Verifier;

use super::Similarity;
use super::stored_sets::StoredSets;
use crate::{ParallelFingerprinter, Pipeline, Result};

/// Texts that wait until they are taken apart together, and bytes of them.
const BATCH_TEXTS: usize = 4096;
const BATCH_LEN: usize = 16 << 20;

/// How a [`TextVerifier`] compares texts. Start from [`TextVerifierOptions::default`] and set what differs.
///
/// ```
/// use simidx_text::dedup::TextVerifierOptions;
///
/// let options = TextVerifierOptions::default()
///     .similarity("jaccard:0.9:5".parse()?)
///     .memory(256 << 20);
/// # Ok::<(), simidx_text::dedup::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TextVerifierOptions {
    /// How similar two texts must be. Default `jaccard:0.8:3`.
    pub similarity: Similarity,
    /// Bytes of memory for feature sets; those beyond it go to a temporary file. By default there is no limit.
    pub memory: Option<u64>,
    /// The folder of that file. By default that of the system.
    pub temp_dir: Option<PathBuf>,
}

simidx::setters!(TextVerifierOptions {
    similarity(Similarity)
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
});

/// Compares the texts of candidates for a [`Deduplicator`](simidx::batch::Deduplicator).
///
/// It takes the text of each candidate once, in any order, and keeps its feature set: 8 bytes a feature and 64 a text,
/// within the memory of the options or in a temporary file. Beside that it holds up to 16 MiB of texts, which it takes
/// apart on all threads of the current rayon pool, and for each text in the file 64 bytes.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{DedupOptions, Deduplicator};
/// use simidx_text::dedup::{TextVerifier, TextVerifierOptions, push_document};
/// use simidx_text::{Pipeline, Preset};
///
/// let texts = ["a rose is a rose is a rose", "a rose is a rose", "to be or not to be"];
/// let pipeline = Pipeline::new(Preset::Short.options())?;
///
/// let mut options = DedupOptions::default();
/// options.distance = 24;
/// let mut documents = Deduplicator::new(Width::W64, &options);
/// let fingerprints = pipeline.parallel(Width::W64)?.fingerprints_if_any(&texts);
/// for (fingerprint, text) in fingerprints.into_iter().zip(texts) {
///     push_document(&mut documents, fingerprint, text)?;
/// }
///
/// let mut verifier = TextVerifier::new(&pipeline, &TextVerifierOptions::default())?;
/// for (number, is_candidate) in documents.candidates()?.into_iter().enumerate() {
///     if is_candidate {
///         verifier.push(number, texts[number])?;
///     }
/// }
/// let found = documents.finish(Some(&mut verifier))?;
/// assert!(found.is_kept(0) && !found.is_kept(1) && found.is_kept(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextVerifier {
    similarity: Similarity,
    fingerprinter: ParallelFingerprinter,
    /// Texts whose sets have not been made, with the numbers of their documents.
    pending: Vec<(u32, String)>,
    pending_len: usize,
    sets: StoredSets,
}

impl TextVerifier {
    /// A verifier without texts.
    ///
    /// # Errors
    ///
    /// As for [`Pipeline::fingerprinter`] with 64 bits.
    pub fn new(pipeline: &Pipeline, options: &TextVerifierOptions) -> Result<Self> {
        Ok(TextVerifier {
            similarity: options.similarity,
            fingerprinter: pipeline.parallel(Width::W64)?,
            pending: Vec::new(),
            pending_len: 0,
            sets: StoredSets::new(options.memory, options.temp_dir.clone()),
        })
    }

    /// How similar two texts must be.
    pub fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Takes the text of a document.
    ///
    /// # Errors
    ///
    /// A number of 2^32 or more, and what keeps a feature set from being written to the temporary file.
    pub fn push(&mut self, document: usize, text: impl Into<String>) -> simidx::Result<()> {
        let Ok(document) = u32::try_from(document) else {
            return Err(simidx::Error::LimitReached {
                what: "documents",
                limit: u32::MAX.into(),
            });
        };
        let text = text.into();
        self.pending_len += text.len();
        self.pending.push((document, text));
        if self.pending.len() >= BATCH_TEXTS || self.pending_len >= BATCH_LEN {
            self.take_apart()?;
        }
        Ok(())
    }

    /// The Jaccard similarity of two texts, 0 to 1.
    ///
    /// # Errors
    ///
    /// Texts that were not given, and what keeps their sets from being read.
    pub fn jaccard(&mut self, a: usize, b: usize) -> simidx::Result<f64> {
        self.take_apart()?;
        Ok(self.sets.compare(a, b, |a, b| a.jaccard(b))?)
    }

    /// Makes the sets of the texts that wait.
    fn take_apart(&mut self) -> simidx::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending_len = 0;
        let pending = std::mem::take(&mut self.pending).into_iter();
        let similarity = self.similarity;
        let sets = self.fingerprinter.stream_with(
            pending.map(Ok::<_, Infallible>),
            |(_, text)| Some(text),
            |fingerprinter, text| similarity.feature_set(fingerprinter, text),
        );
        for result in sets {
            let Ok(((document, _), set)) = result;
            self.sets.push(document, set.unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Verifier for TextVerifier {
    fn identity(&mut self, document: usize) -> simidx::Result<u64> {
        self.take_apart()?;
        Ok(self.sets.identity(document)?)
    }

    fn is_duplicate(&mut self, a: usize, b: usize) -> simidx::Result<bool> {
        self.take_apart()?;
        let similarity = self.similarity;
        Ok(self.sets.compare(a, b, |a, b| similarity.is_met(a, b))?)
    }
}
