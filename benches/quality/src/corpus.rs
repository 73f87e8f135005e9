//! Pairs of documents within a distance, counted by groups of documents that share a fingerprint, or their bytes.

use simidx::Width;
use simidx::batch::{PairFinder, PairOptions};

use super::labelled::Truth;
use super::prints::Print;
use super::score::Tally;
use super::truth_clusters::TruthClusters;

/// Counts all pairs of documents within the distance of the tally, document i having print i. Fingerprints have this width.
///
/// Documents with the same fingerprint are not compared pair by pair. The time is that of the documents, the listed
/// near-duplicates, and the pairs of distinct fingerprints, each of which takes the fewer clusters of the two times the
/// logarithm of the more.
///
/// # Errors
/// A failure to find pairs of fingerprints.
pub(super) fn tally(
    prints: &[Print],
    width: Width,
    truth: &Truth,
    tally: &mut Tally<'_>,
) -> simidx::Result<()> {
    let clusters_are_hits = match truth {
        Truth::Pairs(pairs) => {
            let clusters = tally.clusters();
            for &(a, b) in pairs {
                let [x, y] = [a, b].map(|document| prints[document as usize]);
                if let Some(distance) = x.distance(y) {
                    tally.add_hits(distance as usize, clusters.number(a), 1);
                }
            }
            false
        }
        // The clusters are the labels.
        Truth::Labels(_) => true,
    };
    tally_groups(prints, width, clusters_are_hits, tally)
}

/// Counts pairs, and if asked to as near-duplicates those within a cluster.
fn tally_groups(
    prints: &[Print],
    width: Width,
    clusters_are_hits: bool,
    tally: &mut Tally<'_>,
) -> simidx::Result<()> {
    let groups = Groups::new(prints, tally.clusters());
    let mut options = PairOptions::default();
    options.distance = tally.level_count() as u32 - 1;
    let mut finder = PairFinder::new(width, &options)?;
    // For each group and distance, the documents of other groups.
    let mut others = vec![0u64; groups.prints.len() * tally.level_count()];
    for (number, &print) in groups.prints.iter().enumerate() {
        if let Print::Fingerprint(fingerprint) = print {
            finder.push(fingerprint)?;
        }
        let size = groups.sizes[number];
        tally.add_found(0, pairs_of(size));
        for &(cluster, count) in groups.clusters(number) {
            let touching = pairs_of(count) as f64 + count as f64 * (size - count) as f64;
            tally.add_touching(0, cluster, touching);
            if clusters_are_hits {
                tally.add_hits(0, cluster, pairs_of(count));
            }
        }
    }
    let level_count = tally.level_count();
    finder.finish(|pair| {
        let [a, b] = [pair.smaller, pair.larger].map(|found| groups.number(found));
        let distance = pair.distance as usize;
        tally.add_found(distance, groups.sizes[a] * groups.sizes[b]);
        others[a * level_count + distance] += groups.sizes[b];
        others[b * level_count + distance] += groups.sizes[a];
        common(groups.clusters(a), groups.clusters(b), |cluster, pairs| {
            // These pairs will be counted with both groups.
            tally.add_touching(distance, cluster, -(pairs as f64));
            if clusters_are_hits {
                tally.add_hits(distance, cluster, pairs);
            }
        });
        Ok(())
    })?;
    for (number, others) in others.chunks_exact(level_count).enumerate() {
        for &(cluster, count) in groups.clusters(number) {
            for (distance, &others) in others.iter().enumerate() {
                tally.add_touching(distance, cluster, count as f64 * others as f64);
            }
        }
    }
    Ok(())
}

/// Number of pairs among `count` things.
fn pairs_of(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// Visits the clusters that are both here and there, with the number of pairs of one member each; clusters ascend.
fn common(a: &[(u32, u64)], b: &[(u32, u64)], mut visit: impl FnMut(u32, u64)) {
    let (few, many) = match a.len() <= b.len() {
        true => (a, b),
        false => (b, a),
    };
    for &(cluster, count) in few {
        if let Ok(same) = many.binary_search_by_key(&cluster, |&(cluster, _)| cluster) {
            visit(cluster, count * many[same].1);
        }
    }
}

/// Groups of documents with the same print.
struct Groups {
    /// Ascending.
    prints: Vec<Print>,
    sizes: Vec<u64>,
    /// The clusters of each group, ascending, with the number of documents that are in them.
    clusters: Vec<(u32, u64)>,
    /// Where those of each group end.
    cluster_ends: Vec<usize>,
}

impl Groups {
    fn new(prints: &[Print], clusters: &TruthClusters) -> Self {
        let documents = prints.iter().zip(0..);
        let mut documents: Vec<(Print, u32)> = documents
            .map(|(&print, document)| (print, clusters.number(document)))
            .collect();
        documents.sort_unstable();
        let mut groups = Groups {
            prints: Vec::new(),
            sizes: Vec::new(),
            clusters: Vec::new(),
            cluster_ends: Vec::new(),
        };
        for group in documents.chunk_by(|a, b| a.0 == b.0) {
            groups.prints.push(group[0].0);
            groups.sizes.push(group.len() as u64);
            for same in group.chunk_by(|a, b| a.1 == b.1) {
                groups.clusters.push((same[0].1, same.len() as u64));
            }
            groups.cluster_ends.push(groups.clusters.len());
        }
        groups
    }

    fn clusters(&self, group: usize) -> &[(u32, u64)] {
        let start = group
            .checked_sub(1)
            .map_or(0, |before| self.cluster_ends[before]);
        &self.clusters[start..self.cluster_ends[group]]
    }

    /// The number of the group that has a fingerprint.
    fn number(&self, fingerprint: u128) -> usize {
        let print = Print::Fingerprint(fingerprint);
        self.prints.partition_point(|&other| other < print)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The counts of a tally: for each distance, and for each cluster and distance, pairs and near-duplicates.
    type Counts = (Vec<(u64, u64)>, Vec<(f64, f64)>);

    /// Looks at every pair by itself.
    fn naive(prints: &[Print], truth: &Truth, max_distance: u32) -> Counts {
        let clusters = truth.clusters(prints.len());
        let mut tally = Tally::new(&clusters, max_distance as usize + 1);
        for (b, &y) in (0..).zip(prints) {
            for (a, &x) in (0..b).zip(prints) {
                let is_hit = match truth {
                    Truth::Pairs(pairs) => pairs.contains(&(a, b)),
                    Truth::Labels(labels) => {
                        labels[a as usize].is_some() && labels[a as usize] == labels[b as usize]
                    }
                };
                let distance = match (x, y) {
                    (Print::Fingerprint(x), Print::Fingerprint(y)) => (x ^ y).count_ones(),
                    _ if x == y => 0,
                    _ => 99,
                };
                tally.add(distance as usize, [a, b], is_hit);
            }
        }
        (tally.counts().to_vec(), tally.touching().to_vec())
    }

    fn counts(prints: &[Print], truth: &Truth, max_distance: u32) -> Counts {
        let clusters = truth.clusters(prints.len());
        let mut counted = Tally::new(&clusters, max_distance as usize + 1);
        tally(prints, Width::W32, truth, &mut counted).unwrap();
        (counted.counts().to_vec(), counted.touching().to_vec())
    }

    proptest! {
        #[test]
        fn clusters_in_common_are_those_of_all_pairs(
            a in prop::collection::btree_map(0u32..12, 1u64..5, 0..12),
            b in prop::collection::btree_map(0u32..12, 1u64..5, 0..12),
        ) {
            let [a, b] = [a, b].map(|clusters| clusters.into_iter().collect::<Vec<_>>());
            let both = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let same = both.filter(|(x, y)| x.0 == y.0);
            let expected: Vec<_> = same.map(|(x, y)| (x.0, x.1 * y.1)).collect();
            for (a, b) in [(&a, &b), (&b, &a)] {
                let mut found = Vec::new();
                common(a, b, |cluster, pairs| found.push((cluster, pairs)));
                prop_assert_eq!(&found, &expected);
            }
        }

        #[test]
        fn groups_count_what_pairs_do(
            documents in prop::collection::vec((0u32..12, prop::option::of(0u32..4)), 1..60),
            pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..40),
            max_distance in 0u32..6,
        ) {
            let print = |&(f, _): &(u32, _)| match f {
                10.. => Print::Bytes(f),
                _ => Print::Fingerprint(u128::from(f) * 0x0101_0011),
            };
            let prints: Vec<Print> = documents.iter().map(print).collect();
            let labels = Truth::Labels(documents.iter().map(|&(_, label)| label).collect());
            prop_assert_eq!(
                counts(&prints, &labels, max_distance),
                naive(&prints, &labels, max_distance)
            );
            let pairs = pairs.iter().map(|(a, b)| [a, b].map(|i| i.index(documents.len()) as u32));
            let pairs: HashSet<_> = pairs.filter(|[a, b]| a != b).map(|[a, b]| (a.min(b), a.max(b))).collect();
            let pairs = Truth::Pairs(pairs);
            prop_assert_eq!(
                counts(&prints, &pairs, max_distance),
                naive(&prints, &pairs, max_distance)
            );
        }
    }

    #[test]
    fn documents_alike_cost_no_more_than_others() {
        // Five hundred billion pairs.
        let count = 1_000_000;
        let truth = Truth::Labels((0..count).map(|i| Some(i % 2)).collect());
        let (all, _) = counts(&vec![Print::Fingerprint(7); count as usize], &truth, 3);
        let half = u64::from(count) / 2;
        assert_eq!(all[0], (half * (2 * half - 1), half * (half - 1)));
        assert_eq!(all[1..], [(0, 0); 3]);
    }
}
