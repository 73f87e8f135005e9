//! The ceiling: the exact Jaccard similarity of the sets of features of labelled pairs.

use rayon::prelude::*;
use simidx::text::Pipeline;

use super::labelled::Labelled;
use super::score::{Curve, Point};
use crate::cli::failure::Failure;

/// Precision and recall at the least similarities of 1, 0.95 and so on down to 0.05.
///
/// # Errors
/// Documents instead of pairs.
pub(super) fn curve(labelled: &Labelled, pipeline: &Pipeline) -> Result<Curve, Failure> {
    let Labelled::Pairs { a, b, labels } = labelled else {
        let message = "jaccard: compares labelled pairs only, not all pairs of documents";
        return Err(Failure::new(message));
    };
    let set = |text: &String| -> simidx::Result<Vec<u128>> {
        let features = pipeline.fingerprinter::<u64>()?.features(text);
        let counted = features.into_iter().filter(|feature| feature.weight > 0.0);
        let mut hashes: Vec<u128> = counted.map(|feature| feature.hash).collect();
        hashes.sort_unstable();
        Ok(hashes)
    };
    let similarities = a.par_iter().zip(b).map(|(a, b)| {
        let (a, b) = (set(a)?, set(b)?);
        Ok(jaccard(&a, &b))
    });
    let similarities: Vec<f64> = similarities.collect::<simidx::Result<_>>()?;
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

/// The Jaccard similarity of two sets in ascending order; 1 of two empty ones.
fn jaccard(a: &[u128], b: &[u128]) -> f64 {
    let common = a
        .iter()
        .filter(|hash| b.binary_search(hash).is_ok())
        .count();
    match a.len() + b.len() - common {
        0 => 1.0,
        union => common as f64 / union as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_members_are_set_against_all() {
        assert_eq!(jaccard(&[1, 2, 3], &[2, 3, 4]), 0.5);
        assert_eq!(jaccard(&[], &[]), 1.0);
        assert_eq!(jaccard(&[1], &[]), 0.0);
    }
}
