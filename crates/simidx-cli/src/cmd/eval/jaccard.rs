//! The ceiling: the exact Jaccard similarity of the sets of features of labelled pairs.

use rayon::prelude::*;
use simidx_text::Pipeline;

use super::labelled::Labelled;
use super::score::{Curve, Point};
use crate::support::failure::Failure;

/// Precision and recall at the least similarities of 1, 0.95 and so on down to 0.05.
///
/// # Errors
/// Documents instead of pairs.
pub(super) fn curve(labelled: &Labelled, pipeline: &Pipeline) -> Result<Curve, Failure> {
    let Labelled::Pairs { a, b, labels } = labelled else {
        let message = "jaccard:PIPELINE requires labelled pairs, not documents";
        return Err(Failure::new(message));
    };
    let parallel = pipeline.parallel::<u64>()?;
    let set = |text: &str| parallel.with(|fingerprinter| fingerprinter.feature_set(text));
    let similarities = a.par_iter().zip(b).map(|(a, b)| set(a).jaccard(&set(b)));
    let similarities: Vec<f64> = similarities.collect();
    let relevant = labelled.relevant_count();
    let points = (1..=20).rev().map(|twentieths| {
        let limit = f64::from(twentieths) / 20.0;
        let passing = similarities
            .iter()
            .zip(labels)
            .filter(|(s, _)| **s >= limit);
        let (found, hits) = passing.fold((0, 0), |(found, hits), (_, &label)| {
            (found + 1, hits + u64::from(label))
        });
        Point::new(limit, found, hits, relevant)
    });
    Ok(Curve {
        relevant,
        points: points.collect(),
    })
}
