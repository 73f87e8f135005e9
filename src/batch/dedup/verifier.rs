//! What decides whether two candidates are duplicates.

use crate::error::Result;

/// Verifies candidates: two documents, given by their numbers, whose fingerprints are near each other.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{DedupOptions, Deduplicator, Verifier};
///
/// /// Compares the texts themselves.
/// struct Texts(Vec<&'static str>);
///
/// impl Verifier for Texts {
///     fn identity(&mut self, document: usize) -> simidx::Result<u64> {
///         Ok(document as u64) // no two are known to be identical
///     }
///
///     fn is_duplicate(&mut self, a: usize, b: usize) -> simidx::Result<bool> {
///         Ok(self.0[a].eq_ignore_ascii_case(self.0[b]))
///     }
/// }
///
/// let mut documents = Deduplicator::new(Width::W64, &DedupOptions::default());
/// documents.extend_from_slice(&[7_u64, 7, 7])?;
/// let found = documents.finish(Some(&mut Texts(vec!["yes", "no", "YES"])))?;
/// assert!(found.is_kept(0) && found.is_kept(1) && !found.is_kept(2));
/// # Ok::<(), simidx::Error>(())
/// ```
pub trait Verifier {
    /// A number that two documents of one fingerprint have in common only if they are duplicates without question.
    ///
    /// # Errors
    /// What keeps the document from being looked at; it ends the search.
    fn identity(&mut self, document: usize) -> Result<u64>;

    /// Whether two documents are near-duplicates.
    ///
    /// # Errors
    /// As for [`Verifier::identity`].
    fn is_duplicate(&mut self, a: usize, b: usize) -> Result<bool>;
}
