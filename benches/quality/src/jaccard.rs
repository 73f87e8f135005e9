//! The ceiling: the exact Jaccard similarity of the sets of features of labelled pairs.

use rayon::prelude::*;
use simidx::Width;
use simidx_text::Pipeline;

use super::Result;
use super::labelled::LabelledPairs;
use super::score::Tally;

/// The least similarities, in twentieths, for which there are figures: from 1 down to 0.05.
pub(super) const LEVEL_COUNT: usize = 20;

/// The least similarity that a level lets pass.
pub(super) fn limit(level: usize) -> f64 {
    (LEVEL_COUNT - level) as f64 / LEVEL_COUNT as f64
}

/// Counts pairs by the least similarity that lets them pass.
///
/// # Errors
/// A pipeline that cannot run.
pub(super) fn tally(
    pairs: &LabelledPairs,
    pipeline: &Pipeline,
    tally: &mut Tally<'_>,
) -> Result<()> {
    let parallel = pipeline.parallel(Width::W64)?;
    let set = |text: &str| parallel.with(|fingerprinter| fingerprinter.feature_set(text));
    let sets: Vec<_> = pairs.texts.par_iter().map(|text| set(text)).collect();
    for (&[a, b], &label) in pairs.pairs.iter().zip(&pairs.labels) {
        let similarity = match [a, b].map(|text| &sets[text as usize]) {
            // Texts without features have nothing in common unless they are the same.
            [x, y] if x.hashes().is_empty() && y.hashes().is_empty() && a != b => 0.0,
            [x, y] => x.jaccard(y),
        };
        let level = (0..LEVEL_COUNT).find(|&level| similarity >= limit(level));
        tally.add(level.unwrap_or(LEVEL_COUNT), [a, b], label);
    }
    Ok(())
}
