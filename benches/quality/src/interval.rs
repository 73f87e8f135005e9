//! Confidence intervals of a share of pairs, when pairs come in clusters.
//!
//! Pairs of one cluster are not independent: a document that is like ten others is in ten pairs, and if its fingerprint
//! is wrong, all ten are. Only clusters are independent. So the variance of a share is summed up over clusters, by
//! linearisation (the infinitesimal jackknife, in the limit the same as a bootstrap that draws clusters). The interval is
//! the one of Wilson for the number of independent pairs that would have this variance.

/// The share of normal deviates within this many standard deviations is 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The confidence that intervals have.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The least and the greatest share that the data agree with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// Returns the Wilson interval for a share of `count` independent items.
    pub(super) fn wilson(share: f64, count: f64) -> Self {
        let scale = 1.0 + Z * Z / count;
        let centre = share + Z * Z / (2.0 * count);
        let spread = share * (1.0 - share) / count + Z * Z / (4.0 * count * count);
        let half = Z * spread.sqrt();
        Interval {
            low: ((centre - half) / scale).clamp(0.0, share),
            high: ((centre + half) / scale).clamp(share, 1.0),
        }
    }
}

/// The share of some pairs among all, from how many of both each cluster takes part in.
///
/// `part` and `whole` are numbers of pairs, `clusters` yields those that touch each cluster. A pair of documents of two
/// clusters touches both, which makes the interval rather too wide than too narrow. `None` if there is no pair.
pub(super) fn of_clusters(
    part: u64,
    whole: u64,
    clusters: impl Iterator<Item = (f64, f64)>,
) -> Option<Interval> {
    if whole == 0 {
        return None;
    }
    let pairs = whole as f64;
    let share = part as f64 / pairs;
    let mut sums = Sums::default();
    clusters.for_each(|(part, whole)| sums.add(part - share * whole, whole));
    Some(Interval::wilson(
        share,
        sums.independent_pairs(share, pairs),
    ))
}

/// The sums over clusters.
#[derive(Debug, Default)]
struct Sums {
    clusters: f64,
    /// Of squared deviations from the share.
    deviations: f64,
}

impl Sums {
    fn add(&mut self, deviation: f64, pairs: f64) {
        if pairs > 0.0 {
            self.clusters += 1.0;
            self.deviations += deviation * deviation;
        }
    }

    /// The number of independent pairs whose share would vary as much as this one; at least one.
    fn independent_pairs(&self, share: f64, pairs: f64) -> f64 {
        // One cluster says nothing about how much clusters differ.
        if self.clusters < 2.0 {
            return 1.0;
        }
        let correction = self.clusters / (self.clusters - 1.0);
        let variance = correction * self.deviations / (pairs * pairs);
        let count = match share * (1.0 - share) {
            // All pairs agree, so nothing is known of how pairs of a cluster do: each cluster counts once.
            0.0 => self.clusters,
            spread => spread / variance,
        };
        // Also where the variance is 0.
        count.min(pairs).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    fn close(interval: Interval, low: f64, high: f64) {
        let off = (interval.low - low).abs().max((interval.high - high).abs());
        assert!(off < 5e-4, "{interval:?}");
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // Newcombe 1998, table I, method 3.
        close(Interval::wilson(81.0 / 263.0, 263.0), 0.2553, 0.3662);
        close(Interval::wilson(15.0 / 148.0, 148.0), 0.0624, 0.1605);
        close(Interval::wilson(0.0, 20.0), 0.0, 0.1611);
        close(Interval::wilson(1.0 / 29.0, 29.0), 0.0061, 0.1718);
    }

    #[test]
    fn pairs_that_are_clusters_of_their_own_are_independent() {
        let clusters = (0..1000).map(|i| (f64::from(u8::from(i < 300)), 1.0));
        let found = of_clusters(300, 1000, clusters).unwrap();
        let plain = Interval::wilson(0.3, 999.0);
        close(found, plain.low, plain.high);
    }

    #[test]
    fn pairs_that_agree_within_their_cluster_count_once() {
        let clusters = (0..100).map(|i| (f64::from(u8::from(i < 30)) * 45.0, 45.0));
        let found = of_clusters(30 * 45, 100 * 45, clusters).unwrap();
        let plain = Interval::wilson(0.3, 99.0);
        close(found, plain.low, plain.high);
        let all = of_clusters(46, 46, [(45.0, 45.0), (1.0, 1.0)].into_iter()).unwrap();
        close(all, Interval::wilson(1.0, 2.0).low, 1.0);
        let all = of_clusters(45, 45, [(45.0, 45.0)].into_iter()).unwrap();
        close(all, Interval::wilson(1.0, 1.0).low, 1.0);
        assert_eq!(of_clusters(0, 0, [(0.0, 0.0)].into_iter()), None);
    }

    /// Draws sets of clusters of unequal sizes again and again, and counts the intervals that hold the true share.
    #[test]
    fn nineteen_of_twenty_intervals_hold_the_truth() {
        let mut rng = SmallRng::seed_from_u64(5);
        let (mut held, mut held_as_if_independent) = (0, 0);
        for _ in 0..1000 {
            let clusters: Vec<(f64, f64)> = (0..80)
                .map(|_| {
                    let documents = rng.random_range(2..8);
                    let pairs = documents * (documents - 1) / 2;
                    // Each document is found or not, and with it its pairs.
                    let found = (0..documents).filter(|_| rng.random_bool(0.8)).count();
                    let found = found * found.saturating_sub(1) / 2;
                    (found as f64, f64::from(pairs))
                })
                .collect();
            let sum = |figure: fn(&(f64, f64)) -> f64| clusters.iter().map(figure).sum::<f64>();
            let (part, whole) = (sum(|c| c.0), sum(|c| c.1));
            let interval = of_clusters(part as u64, whole as u64, clusters.iter().copied());
            let truth = 0.64;
            let holds = |i: Interval| u32::from(i.low <= truth && truth <= i.high);
            held += holds(interval.unwrap());
            held_as_if_independent += holds(Interval::wilson(part / whole, whole));
        }
        assert!((925..=975).contains(&held), "{held}");
        assert!(held_as_if_independent < 850, "{held_as_if_independent}");
    }
}
