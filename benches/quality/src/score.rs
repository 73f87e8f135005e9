//! Precision, recall and F1 as functions of a limit.

use super::interval::{self, Interval};
use super::truth_clusters::TruthClusters;

/// Precision and recall of what a limit lets pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// The largest distance, or the least similarity, that passes.
    pub(super) limit: f64,
    /// Pairs that pass.
    pub(super) found: u64,
    /// Near-duplicates among them.
    pub(super) hits: u64,
    /// The share of near-duplicates among the pairs that pass; none if no pair passes.
    pub(super) precision: Option<Share>,
    /// The share of the near-duplicates that pass.
    pub(super) recall: Share,
}

/// A share as it was measured, with the interval that it is known to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    pub(super) value: f64,
    pub(super) interval: Interval,
}

impl Share {
    /// `None` if there is no pair.
    fn new(part: u64, whole: u64, clusters: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let interval = interval::of_clusters(part, whole, clusters)?;
        Some(Share {
            value: part as f64 / whole as f64,
            interval,
        })
    }
}

impl Point {
    /// The harmonic mean of precision and recall.
    pub(super) fn f1(&self) -> f64 {
        let precision = self.precision.map_or(0.0, |precision| precision.value);
        match precision + self.recall.value {
            0.0 => 0.0,
            sum => 2.0 * precision * self.recall.value / sum,
        }
    }
}

/// The figures of one method, the strictest limit first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Near-duplicates in all.
    pub(super) relevant: u64,
    /// At least one point.
    pub(super) points: Vec<Point>,
}

impl Curve {
    /// The point of the highest F1, of equal ones the strictest.
    pub(super) fn best(&self) -> Point {
        let first = self.points[0];
        let better = |best: Point, next: &Point| match next.f1() > best.f1() {
            true => *next,
            false => best,
        };
        self.points.iter().fold(first, better)
    }
}

/// Counts pairs by level, the strictest limit that they pass: in all, and those that touch each cluster.
#[derive(Debug, Clone)]
pub(super) struct Tally<'a> {
    clusters: &'a TruthClusters,
    level_count: usize,
    /// For each level the pairs at it, and the near-duplicates among them.
    counts: Vec<(u64, u64)>,
    /// The sums for each cluster and level. They may be large, and their last digit does not matter.
    touching: Vec<(f64, f64)>,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet.
    pub(super) fn new(clusters: &'a TruthClusters, level_count: usize) -> Self {
        Tally {
            clusters,
            level_count,
            counts: vec![(0, 0); level_count],
            touching: vec![(0.0, 0.0); level_count * clusters.relevant().len()],
        }
    }

    pub(super) fn clusters(&self) -> &'a TruthClusters {
        self.clusters
    }

    pub(super) fn level_count(&self) -> usize {
        self.level_count
    }

    /// Counts a pair of two documents; one beyond the last level does not count.
    pub(super) fn add(&mut self, level: usize, documents: [u32; 2], is_relevant: bool) {
        let [a, b] = documents.map(|document| self.clusters.number(document));
        self.add_found(level, 1);
        self.add_touching(level, a, 1.0);
        if a != b {
            self.add_touching(level, b, 1.0);
        }
        if is_relevant {
            self.add_hits(level, a, 1);
        }
    }

    /// Counts pairs of which it is not said what they are nor which clusters they touch.
    pub(super) fn add_found(&mut self, level: usize, count: u64) {
        if let Some((found, _)) = self.counts.get_mut(level) {
            *found += count;
        }
    }

    /// Says how many of those pairs touch a cluster.
    pub(super) fn add_touching(&mut self, level: usize, cluster: u32, count: f64) {
        if level < self.level_count {
            self.touching[cluster as usize * self.level_count + level].0 += count;
        }
    }

    /// Says how many of those pairs are near-duplicates of a cluster.
    pub(super) fn add_hits(&mut self, level: usize, cluster: u32, count: u64) {
        if let Some((_, hits)) = self.counts.get_mut(level) {
            *hits += count;
            self.touching[cluster as usize * self.level_count + level].1 += count as f64;
        }
    }

    /// For each level the pairs at it, and the near-duplicates among them.
    #[cfg(test)]
    pub(super) fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    /// The same for each cluster and level.
    #[cfg(test)]
    pub(super) fn touching(&self) -> &[(f64, f64)] {
        &self.touching
    }

    /// The figures, for what each level is called; none without a near-duplicate, which there must be.
    pub(super) fn curve(mut self, limit: impl Fn(usize) -> f64) -> Option<Curve> {
        self.accumulate();
        let relevant = self.clusters.relevant_count();
        let point = |(level, &(found, hits)): (usize, &(u64, u64))| {
            let clusters = || self.touching.chunks_exact(self.level_count);
            let passing = clusters().map(|levels| (levels[level].1, levels[level].0));
            let all = clusters().zip(self.clusters.relevant());
            let all = all.map(|(levels, &relevant)| (levels[level].1, relevant as f64));
            Some(Point {
                limit: limit(level),
                found,
                hits,
                precision: Share::new(hits, found, passing),
                recall: Share::new(hits, relevant, all)?,
            })
        };
        let points = self.counts.iter().enumerate().map(point);
        Some(Curve {
            points: points.collect::<Option<_>>()?,
            relevant,
        })
    }

    /// Adds to each level what passes stricter limits.
    fn accumulate(&mut self) {
        for level in 1..self.level_count {
            let (found, hits) = self.counts[level - 1];
            self.counts[level].0 += found;
            self.counts[level].1 += hits;
        }
        for levels in self.touching.chunks_exact_mut(self.level_count) {
            for level in 1..levels.len() {
                let (found, hits) = levels[level - 1];
                levels[level].0 += found;
                levels[level].1 += hits;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_within_a_limit_are_counted() {
        // Five documents alike, and pairs with five others.
        let alike = [(0, 1), (1, 2), (2, 3), (3, 4)];
        let clusters = TruthClusters::of_pairs(10, alike.into_iter());
        let mut tally = Tally::new(&clusters, 3);
        for (distance, documents, label) in [
            (0, [0, 1], true),
            (1, [0, 5], false),
            (1, [1, 2], true),
            (2, [6, 7], false),
            (3, [2, 3], true),
        ] {
            tally.add(distance, documents, label);
        }
        let curve = tally.curve(|level| level as f64).unwrap();
        let figures: Vec<_> = curve
            .points
            .iter()
            .map(|p| (p.limit, p.found, p.precision.unwrap().value, p.recall.value))
            .collect();
        assert_eq!(
            figures,
            [
                (0.0, 1, 1.0, 0.25),
                (1.0, 3, 2.0 / 3.0, 0.5),
                (2.0, 4, 0.5, 0.5)
            ]
        );
        assert_eq!(curve.best().limit, 1.0);
        assert!((curve.best().f1() - 4.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_found_has_no_precision() {
        let clusters = TruthClusters::of_pairs(2, [(0, 1)].into_iter());
        let curve = Tally::new(&clusters, 1).curve(|level| level as f64);
        let point = curve.unwrap().points[0];
        assert_eq!((point.precision, point.f1()), (None, 0.0));
        assert_eq!(point.recall.value, 0.0);
    }
}
