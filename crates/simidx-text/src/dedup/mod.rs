//! Near-duplicate texts: fingerprints find the candidates, and the texts themselves decide.

mod content;
mod similarity;
mod stored_sets;
mod verifier;

pub use content::{EqualTexts, content_identity, push_document};
pub use similarity::{Similarity, SimilarityError};
pub use verifier::{TextVerifier, TextVerifierOptions};

use simidx::Width;
use simidx::batch::{DedupOptions, Deduplicated, Deduplicator};

use crate::{Error, Pipeline};

/// The part of a memory limit that goes to the feature sets of candidates.
const SET_SHARE: u64 = 4;

/// Texts that are fingerprinted together.
const PIECE: usize = 1 << 16;

/// How [`dedup`] finds near-duplicates.
///
/// ```
/// use simidx::batch::DedupOptions;
/// use simidx_text::dedup::{Similarity, TextDedupOptions};
///
/// let options = TextDedupOptions::default()
///     .search(DedupOptions::default().distance(6).memory(1 << 30))
///     .similarity(Similarity::of_words(0.8, 3)?);
/// # Ok::<(), simidx_text::dedup::SimilarityError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TextDedupOptions {
    /// Bits of a fingerprint. Default 64.
    pub width: Width,
    /// The distance of fingerprints, the memory and the folder of temporary files. Of a memory limit a quarter goes to the
    /// feature sets of candidates; the texts themselves do not count.
    pub search: DedupOptions,
    /// How similar two texts must be besides to be near-duplicates. By default the distance of their fingerprints decides.
    /// Only texts within the distance are compared: at a distance of 3, nine in ten pairs of a similarity of 0.8 are not.
    /// [`SimilarTexts`](crate::similar::SimilarTexts) finds all similar texts, whatever their fingerprints.
    pub similarity: Option<Similarity>,
}

simidx::setters!(TextDedupOptions {
    width(Width)
    search(DedupOptions)
    similarity(Some(Similarity))
});

/// Why texts could not be deduplicated.
///
/// ```
/// use simidx_text::dedup::{DedupError, TextDedupOptions, dedup};
/// use simidx_text::Pipeline;
///
/// let mut options = TextDedupOptions::default();
/// options.search.memory = Some(1); // far too little
/// let error = dedup(&["a text"], &Pipeline::default(), &options).unwrap_err();
/// assert!(matches!(error, DedupError::Search(simidx::Error::Budget { .. })));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The pipeline cannot make such fingerprints.
    #[error(transparent)]
    Text(#[from] Error),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] simidx::Error),
}

/// Decides which of a collection of texts to keep: one of each cluster of near-duplicates, the first unless
/// [`Deduplicated::keep_by`] says otherwise.
///
/// Near-duplicates are texts whose fingerprints are within a distance, and with [`TextDedupOptions::similarity`] those of
/// them that are so similar. For "all that is 80 % the same" use [`SimilarTexts`](crate::similar::SimilarTexts).
///
/// Texts are numbered in order, from 0. A text without features is a duplicate of equal texts only. It works on all threads
/// of the current rayon pool. A collection that memory does not hold goes through a [`Deduplicator`] and a [`TextVerifier`]
/// in the same steps.
///
/// ```
/// use simidx_text::dedup::{Similarity, TextDedupOptions, dedup};
/// use simidx_text::{Pipeline, Preset};
///
/// let texts = [
///     "The cat sat on the mat and looked at the dog.",
///     "A treatise on the growth of mushrooms in damp cellars.",
///     "The cat sat on the mat, and looked at the dog. Then it left.",
/// ];
/// let mut options = TextDedupOptions::default();
/// options.search.distance = 20;
/// options.similarity = Some(Similarity::of_words(0.5, 2)?);
/// let pipeline = Pipeline::new(Preset::Short.options())?;
/// let mut found = dedup(&texts, &pipeline, &options)?;
/// assert!(found.is_kept(0) && found.is_kept(1) && !found.is_kept(2));
///
/// // The longest text of each cluster.
/// found.keep_by(|text| texts[text].len() as u64);
/// assert!(!found.is_kept(0) && found.is_kept(1) && found.is_kept(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A pipeline whose feature hash is too narrow, and what [`Deduplicator::finish`] reports.
pub fn dedup(
    texts: &[impl AsRef<str> + Sync],
    pipeline: &Pipeline,
    options: &TextDedupOptions,
) -> Result<Deduplicated, DedupError> {
    let mut search = options.search.clone();
    let sets = match options.similarity {
        Some(_) => search.memory.map(|memory| memory / SET_SHARE),
        None => None,
    };
    search.memory = search.memory.map(|memory| memory - sets.unwrap_or(0));
    let mut documents = Deduplicator::new(options.width, &search);
    let parallel = pipeline.parallel(options.width)?;
    for texts in texts.chunks(PIECE) {
        let fingerprints = parallel.fingerprints_if_any(texts);
        for (fingerprint, text) in fingerprints.into_iter().zip(texts) {
            push_document(&mut documents, fingerprint, text.as_ref())?;
        }
    }
    let Some(similarity) = options.similarity else {
        return Ok(documents.finish(None)?);
    };
    let verifier = TextVerifierOptions {
        similarity,
        memory: sets,
        temp_dir: search.temp_dir,
    };
    let mut verifier = TextVerifier::new(pipeline, &verifier)?;
    for (number, is_candidate) in documents.candidates()?.into_iter().enumerate() {
        if is_candidate {
            verifier.push(number, texts[number].as_ref())?;
        }
    }
    Ok(documents.finish(Some(&mut verifier))?)
}
