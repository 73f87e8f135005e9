//! The clusters of a labelled set: groups of documents that near-duplicates link. Intervals take them as independent.

/// Which cluster each document is in. A document without near-duplicates is a cluster of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TruthClusters {
    /// For each document.
    numbers: Vec<u32>,
    /// For each cluster, the pairs of near-duplicates in it.
    relevant: Vec<u64>,
}

impl TruthClusters {
    /// Returns the clusters of `document_count` documents that these pairs of near-duplicates link.
    pub(super) fn of_pairs(
        document_count: usize,
        pairs: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Self {
        let mut parents: Vec<u32> = (0..document_count as u32).collect();
        for (a, b) in pairs.clone() {
            let [a, b] = [a, b].map(|document| root(&mut parents, document));
            parents[a.max(b) as usize] = a.min(b);
        }
        // The root of a cluster is its first document, so it has its number before the others ask.
        let (mut numbers, mut count) = (Vec::with_capacity(document_count), 0);
        for document in 0..document_count as u32 {
            let root = root(&mut parents, document);
            if root == document {
                numbers.push(count);
                count += 1;
            } else {
                numbers.push(numbers[root as usize]);
            }
        }
        let mut relevant = vec![0; count as usize];
        pairs.for_each(|(a, _)| relevant[numbers[a as usize] as usize] += 1);
        TruthClusters { numbers, relevant }
    }

    /// The clusters of documents with equal labels.
    pub(super) fn of_labels(labels: &[Option<u32>]) -> Self {
        let mut count = labels.iter().flatten().max().map_or(0, |&label| label + 1);
        let number = |label: &Option<u32>| {
            label.unwrap_or_else(|| {
                count += 1;
                count - 1
            })
        };
        let numbers: Vec<u32> = labels.iter().map(number).collect();
        let mut sizes = vec![0u64; count as usize];
        numbers
            .iter()
            .for_each(|&number| sizes[number as usize] += 1);
        let pairs = |size: u64| size * size.saturating_sub(1) / 2;
        TruthClusters {
            numbers,
            relevant: sizes.into_iter().map(pairs).collect(),
        }
    }

    /// The cluster of a document.
    pub(super) fn number(&self, document: u32) -> u32 {
        self.numbers[document as usize]
    }

    /// For each cluster, the pairs of near-duplicates in it.
    pub(super) fn relevant(&self) -> &[u64] {
        &self.relevant
    }

    /// Pairs of near-duplicates in all.
    pub(super) fn relevant_count(&self) -> u64 {
        self.relevant.iter().sum()
    }

    /// Clusters of two documents or more.
    pub(super) fn linked_count(&self) -> u64 {
        self.relevant.iter().filter(|&&pairs| pairs > 0).count() as u64
    }
}

/// The first document of the cluster; halves the way there.
fn root(parents: &mut [u32], mut document: u32) -> u32 {
    while parents[document as usize] != document {
        let parent = parents[document as usize];
        parents[document as usize] = parents[parent as usize];
        document = parent;
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_duplicates_and_what_links_them_are_one_cluster() {
        let pairs = [(0, 3), (3, 5), (1, 2)];
        let clusters = TruthClusters::of_pairs(7, pairs.into_iter());
        assert_eq!(clusters.numbers, [0, 1, 1, 0, 2, 0, 3]);
        assert_eq!(clusters.relevant(), [2, 1, 0, 0]);
        assert_eq!((clusters.relevant_count(), clusters.linked_count()), (3, 2));
        let labels = [Some(1), None, Some(0), Some(1), None, Some(1)];
        let clusters = TruthClusters::of_labels(&labels);
        assert_eq!(clusters.numbers, [1, 2, 0, 1, 3, 1]);
        assert_eq!(clusters.relevant(), [0, 3, 0, 0]);
    }

    proptest! {
        #[test]
        fn clusters_are_those_that_flooding_finds(
            links in prop::collection::vec((0u32..30, 0u32..30), 0..30)
        ) {
            let clusters = TruthClusters::of_pairs(30, links.iter().copied());
            let mut flooded: Vec<u32> = (0..30).collect();
            for _ in 0..30 {
                for &(a, b) in &links {
                    let least = flooded[a as usize].min(flooded[b as usize]);
                    flooded[a as usize] = least;
                    flooded[b as usize] = least;
                }
            }
            for (a, b) in (0..30).flat_map(|a| (0..30).map(move |b| (a, b))) {
                prop_assert_eq!(
                    clusters.number(a) == clusters.number(b),
                    flooded[a as usize] == flooded[b as usize]
                );
            }
            prop_assert_eq!(clusters.relevant_count(), links.len() as u64);
        }
    }
}
