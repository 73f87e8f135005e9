//! Pairs of documents within a distance, counted by groups of documents that share a fingerprint.

use simidx::Fingerprint;
use simidx::batch::{PairFinder, PairOptions};

use super::labelled::Truth;
use super::score::Tally;

/// Counts all pairs of documents within the distance of the tally, document i having fingerprint i.
///
/// Documents with the same fingerprint are not gone through pair by pair: beside the documents and the near-duplicates
/// that the truth lists, time goes with the pairs of distinct fingerprints, each of which takes the fewer labels of
/// the two by the logarithm of the more.
///
/// # Errors
/// What keeps pairs of fingerprints from being found.
pub(super) fn tally<F: Fingerprint>(
    fingerprints: &[F],
    truth: &Truth,
    tally: &mut Tally,
) -> simidx::Result<()> {
    match truth {
        Truth::Pairs(pairs) => {
            for &(a, b) in pairs {
                let [a, b] = [a, b].map(|document| fingerprints[document as usize]);
                tally.add_hits(a.distance(b), 1);
            }
            tally_groups(fingerprints, |_| None, tally)
        }
        Truth::Labels(labels) => {
            tally_groups(fingerprints, |document| labels[document as usize], tally)
        }
    }
}

/// Counts pairs, and as near-duplicates those with the same label.
fn tally_groups<F: Fingerprint>(
    fingerprints: &[F],
    label: impl Fn(u32) -> Option<u32>,
    tally: &mut Tally,
) -> simidx::Result<()> {
    let groups = Groups::new(fingerprints, label);
    let mut options = PairOptions::default();
    options.distance = tally.max_distance();
    let mut finder = PairFinder::<F>::new(&options)?;
    for (number, &fingerprint) in groups.fingerprints.iter().enumerate() {
        finder.push(fingerprint)?;
        tally.add_found(0, pairs_of(groups.sizes[number]));
        let same_label = groups
            .labels(number)
            .iter()
            .map(|&(_, count)| pairs_of(count));
        tally.add_hits(0, same_label.sum());
    }
    finder.finish(|pair| {
        let [a, b] = [pair.smaller, pair.larger].map(|fingerprint| groups.number(fingerprint));
        tally.add_found(pair.distance, groups.sizes[a] * groups.sizes[b]);
        let hits = common(groups.labels(a), groups.labels(b));
        tally.add_hits(pair.distance, hits);
        Ok(())
    })
}

/// Number of pairs among `count` things.
fn pairs_of(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// Number of pairs with one label, of one member here and one there; the labels ascend.
fn common(a: &[(u32, u64)], b: &[(u32, u64)]) -> u64 {
    let (few, many) = match a.len() <= b.len() {
        true => (a, b),
        false => (b, a),
    };
    let pairs = few.iter().filter_map(|&(label, count)| {
        let same = many
            .binary_search_by_key(&label, |&(label, _)| label)
            .ok()?;
        Some(count * many[same].1)
    });
    pairs.sum()
}

/// Groups of documents with the same fingerprint.
struct Groups<F> {
    /// Ascending.
    fingerprints: Vec<F>,
    sizes: Vec<u64>,
    /// The labels of each group, ascending, with the number of documents that have them.
    labels: Vec<(u32, u64)>,
    /// Where those of each group end.
    label_ends: Vec<usize>,
}

impl<F: Fingerprint> Groups<F> {
    fn new(fingerprints: &[F], label: impl Fn(u32) -> Option<u32>) -> Self {
        let documents = fingerprints.iter().zip(0..);
        let mut documents: Vec<(F, Option<u32>)> = documents
            .map(|(&fingerprint, document)| (fingerprint, label(document)))
            .collect();
        documents.sort_unstable();
        let mut groups = Groups {
            fingerprints: Vec::new(),
            sizes: Vec::new(),
            labels: Vec::new(),
            label_ends: Vec::new(),
        };
        for group in documents.chunk_by(|a, b| a.0 == b.0) {
            groups.fingerprints.push(group[0].0);
            groups.sizes.push(group.len() as u64);
            for same in group.chunk_by(|a, b| a.1 == b.1) {
                let label = same[0].1.map(|label| (label, same.len() as u64));
                groups.labels.extend(label);
            }
            groups.label_ends.push(groups.labels.len());
        }
        groups
    }

    fn labels(&self, group: usize) -> &[(u32, u64)] {
        let start = group
            .checked_sub(1)
            .map_or(0, |before| self.label_ends[before]);
        &self.labels[start..self.label_ends[group]]
    }

    /// The number of the group that has a fingerprint.
    fn number(&self, fingerprint: F) -> usize {
        self.fingerprints.partition_point(|&f| f < fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Looks at every pair by itself.
    fn naive(fingerprints: &[u32], truth: &Truth, max_distance: u32) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); max_distance as usize + 1];
        for (b, &y) in fingerprints.iter().enumerate() {
            for (a, &x) in fingerprints[..b].iter().enumerate() {
                let distance = (x ^ y).count_ones() as usize;
                let is_hit = match truth {
                    Truth::Pairs(pairs) => pairs.contains(&(a as u32, b as u32)),
                    Truth::Labels(labels) => labels[a].is_some() && labels[a] == labels[b],
                };
                if let Some((found, hits)) = counts.get_mut(distance) {
                    *found += 1;
                    *hits += u64::from(is_hit);
                }
            }
        }
        counts
    }

    fn counts(fingerprints: &[u32], truth: &Truth, max_distance: u32) -> Vec<(u64, u64)> {
        let mut counted = Tally::new(0, max_distance);
        tally(fingerprints, truth, &mut counted).unwrap();
        counted.counts().to_vec()
    }

    proptest! {
        #[test]
        fn labels_in_common_are_those_of_all_pairs(
            a in prop::collection::btree_map(0u32..12, 1u64..5, 0..12),
            b in prop::collection::btree_map(0u32..12, 1u64..5, 0..12),
        ) {
            let [a, b] = [a, b].map(|labels| labels.into_iter().collect::<Vec<_>>());
            let both = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let same = both.filter(|(x, y)| x.0 == y.0);
            let expected: u64 = same.map(|(x, y)| x.1 * y.1).sum();
            prop_assert_eq!((common(&a, &b), common(&b, &a)), (expected, expected));
        }

        #[test]
        fn groups_count_what_pairs_do(
            documents in prop::collection::vec((0u32..12, prop::option::of(0u32..4)), 0..60),
            pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..40),
            max_distance in 0u32..6,
        ) {
            let fingerprints: Vec<u32> = documents.iter().map(|&(f, _)| f * 0x0101_0011).collect();
            let labels = Truth::Labels(documents.iter().map(|&(_, label)| label).collect());
            prop_assert_eq!(
                counts(&fingerprints, &labels, max_distance),
                naive(&fingerprints, &labels, max_distance)
            );
            prop_assume!(!documents.is_empty());
            let pairs = pairs.iter().map(|(a, b)| [a, b].map(|i| i.index(documents.len()) as u32));
            let pairs: HashSet<_> = pairs.filter(|[a, b]| a != b).map(|[a, b]| (a.min(b), a.max(b))).collect();
            let pairs = Truth::Pairs(pairs);
            prop_assert_eq!(
                counts(&fingerprints, &pairs, max_distance),
                naive(&fingerprints, &pairs, max_distance)
            );
        }
    }

    #[test]
    fn documents_alike_cost_no_more_than_others() {
        // Five hundred billion pairs.
        let count = 1_000_000;
        let truth = Truth::Labels((0..count).map(|i| Some(i % 2)).collect());
        let all = counts(&vec![7; count as usize], &truth, 3);
        let half = u64::from(count) / 2;
        assert_eq!(all[0], (half * (2 * half - 1), half * (half - 1)));
        assert_eq!(all[1..], [(0, 0); 3]);
    }
}
