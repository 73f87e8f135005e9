//! Precision, recall and F1 as functions of a limit.

/// Precision and recall of what a limit lets pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// The largest distance, or the least similarity, that passes.
    pub(super) limit: f64,
    /// Pairs that pass.
    pub(super) found: u64,
    /// The share of near-duplicates among the pairs that pass; 1 of none.
    pub(super) precision: f64,
    /// The share of the near-duplicates that pass; 1 of none.
    pub(super) recall: f64,
}

impl Point {
    /// The point for a number of pairs found, hits among them, and near-duplicates in all.
    pub(super) fn new(limit: f64, found: u64, hits: u64, relevant: u64) -> Self {
        let share = |part: u64, whole: u64| match whole {
            0 => 1.0,
            _ => part as f64 / whole as f64,
        };
        Point {
            limit,
            found,
            precision: share(hits, found),
            recall: share(hits, relevant),
        }
    }

    /// The harmonic mean of precision and recall.
    pub(super) fn f1(&self) -> f64 {
        match self.precision + self.recall {
            0.0 => 0.0,
            sum => 2.0 * self.precision * self.recall / sum,
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

/// Counts pairs by distance.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    relevant: u64,
    /// For each distance the pairs at it, and the near-duplicates among them.
    counts: Vec<(u64, u64)>,
}

impl Tally {
    /// Nothing counted yet, with this number of near-duplicates in all.
    pub(super) fn new(relevant: u64, max_distance: u32) -> Self {
        Tally {
            relevant,
            counts: vec![(0, 0); max_distance as usize + 1],
        }
    }

    pub(super) fn max_distance(&self) -> u32 {
        self.counts.len() as u32 - 1
    }

    /// Counts a pair; those beyond the greatest distance do not count.
    pub(super) fn add(&mut self, distance: u32, is_relevant: bool) {
        self.add_found(distance, 1);
        self.add_hits(distance, u64::from(is_relevant));
    }

    /// Counts pairs of which it is not said what they are.
    pub(super) fn add_found(&mut self, distance: u32, count: u64) {
        if let Some((found, _)) = self.counts.get_mut(distance as usize) {
            *found += count;
        }
    }

    /// Adds a number of near-duplicates that were counted elsewhere.
    pub(super) fn add_hits(&mut self, distance: u32, count: u64) {
        if let Some((_, hits)) = self.counts.get_mut(distance as usize) {
            *hits += count;
        }
    }

    /// For each distance the pairs at it, and the near-duplicates among them.
    #[cfg(test)]
    pub(super) fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    pub(super) fn curve(&self) -> Curve {
        let mut sums = (0, 0);
        let points = self.counts.iter().enumerate().map(|(limit, counts)| {
            sums = (sums.0 + counts.0, sums.1 + counts.1);
            Point::new(limit as f64, sums.0, sums.1, self.relevant)
        });
        Curve {
            points: points.collect(),
            relevant: self.relevant,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_within_a_limit_are_counted() {
        let mut tally = Tally::new(4, 2);
        for (distance, label) in [(0, true), (1, false), (1, true), (2, false), (3, true)] {
            tally.add(distance, label);
        }
        let curve = tally.curve();
        let figures: Vec<_> = curve
            .points
            .iter()
            .map(|p| (p.limit, p.found, p.precision, p.recall))
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
    fn nothing_found_is_no_mistake() {
        let point = Point::new(0.0, 0, 0, 3);
        assert_eq!((point.precision, point.recall, point.f1()), (1.0, 0.0, 0.0));
    }
}
