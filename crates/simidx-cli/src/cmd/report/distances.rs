//! Pairs by their distance, within the distance of near-duplicates and just beyond it, and those of them that are doubtful.

use simidx::batch::{Pair, PairOptions, pairs};
use simidx::{Error, Set};

use super::Args;
use super::entries::Labels;
use super::neighbours::Neighbours;
use crate::support::failure::Failure;
use crate::support::page::{
    Bar, BarChart, Boundary, Html, Sample, fitting, grouped, pair, plural, sampled,
};

/// Bits beyond the distance that are looked at: what lies there is nearly a near-duplicate.
const BEYOND: u32 = 2;

/// Bytes of the page for the pairs on each side of the distance.
const MAX_LEN: usize = 400_000;

/// Pairs by their distance.
pub(super) struct Pairs {
    distance: u32,
    /// By distance, from 1.
    counts: Vec<u64>,
    /// Whether counting stopped early.
    is_cut: bool,
    /// A sample of the pairs of each distance.
    samples: Vec<Vec<(u128, u128)>>,
}

impl Pairs {
    /// Finds them all.
    ///
    /// # Errors
    /// What the search reports.
    pub(super) fn find(set: &Set, args: &Args) -> Result<Self, Failure> {
        let distance = args.distance(set);
        let farthest = distance.saturating_add(BEYOND).min(set.width().bits());
        let mut options = PairOptions::default();
        options.distance = farthest;
        options.max_pairs = Some(args.max_pairs);
        options.memory = Some(args.resources.memory_limit());
        options.temp_dir = args.resources.temp_dir.clone();
        let sample = || Sample::new(args.pairs as usize, args.seed);
        let mut samples: Vec<_> = (0..farthest).map(|_| sample()).collect();
        let ended = pairs(
            set,
            &options,
            |Pair {
                 smaller,
                 larger,
                 distance,
                 ..
             }| {
                if let Some(sample) = samples.get_mut(distance as usize - 1) {
                    // The two are told from all other pairs by their values, one of them turned.
                    let key = smaller ^ larger.rotate_left(64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    sample.show(key, (smaller, larger));
                }
                Ok(())
            },
        );
        let is_cut = matches!(ended, Err(Error::LimitReached { .. }));
        if !is_cut {
            ended?;
        }
        Ok(Pairs {
            distance,
            counts: samples.iter().map(Sample::seen).collect(),
            is_cut,
            samples: samples.into_iter().map(Sample::into_items).collect(),
        })
    }

    /// How many are near-duplicates.
    pub(super) fn within(&self) -> String {
        let count = self.counts[..self.inside()].iter().sum();
        match self.is_cut {
            true => format!("at least {}", grouped(count)),
            false => grouped(count),
        }
    }

    /// Number of distances that are not beyond.
    fn inside(&self) -> usize {
        self.counts.len().min(self.distance as usize)
    }

    /// The fingerprints of the pairs that are shown.
    pub(super) fn members(&self) -> impl Iterator<Item = u128> {
        self.samples
            .iter()
            .flatten()
            .flat_map(|&(smaller, larger)| [smaller, larger])
    }

    fn chart(&self) -> BarChart {
        let inside = self.inside();
        let bars = self.counts.iter().enumerate().map(|(before, &count)| Bar {
            label: (before + 1).to_string(),
            value: count as f64,
            figures: vec![grouped(count)],
            is_beyond: before >= inside,
            ..Bar::default()
        });
        let all: u64 = self.counts.iter().sum();
        BarChart {
            id: "pairs",
            title: "Pairs of fingerprints by their distance".into(),
            alternative: format!(
                "{} differ in at most {} bits, and {} in up to {BEYOND} more.",
                plural(self.counts[..inside].iter().sum(), "pair"),
                self.distance,
                grouped(self.counts[inside..].iter().sum()),
            ),
            x_label: "bits that differ",
            y_label: "pairs",
            bars: if all == 0 { Vec::new() } else { bars.collect() },
            columns: vec!["pairs"],
            beyond: (inside < self.counts.len())
                .then(|| "beyond the distance, no near-duplicates".into()),
            boundary: (inside < self.counts.len()).then(|| Boundary {
                before: inside,
                label: format!("distance {}", self.distance),
            }),
            ..BarChart::default()
        }
    }

    /// The pairs near the distance, those within it first.
    pub(super) fn doubtful(&self, labels: &Labels, args: &Args) -> Html {
        let mut html = Html::new();
        html.paragraph(
            "Near-duplicates that barely are, and pairs that barely are not. Is the distance right? Pairs that say the \
             same should be within it.",
        );
        let inside = self.inside();
        html.element(
            "h3",
            &[],
            format!(
                "Within the distance of {}, the farthest first",
                self.distance
            ),
        );
        self.list(&mut html, (0..inside).rev(), labels, args.pairs as usize);
        html.element(
            "h3",
            &[],
            format!(
                "Beyond the distance of {}, the nearest first",
                self.distance
            ),
        );
        self.list(
            &mut html,
            inside..self.counts.len(),
            labels,
            args.pairs as usize,
        );
        html
    }

    fn list(
        &self,
        html: &mut Html,
        places: impl Iterator<Item = usize> + Clone,
        labels: &Labels,
        most: usize,
    ) {
        let all: u64 = places.clone().map(|place| self.counts[place]).sum();
        if all == 0 {
            html.paragraph("There is none.");
            return;
        }
        let chosen = places.flat_map(|place| {
            self.samples[place]
                .iter()
                .map(move |pair| (place + 1, pair))
        });
        let pieces = chosen.take(most).map(|(distance, &(a, b))| {
            let [a, b] = [a, b].map(|fingerprint| labels.entry(fingerprint, String::new()));
            pair(&format!("Distance {distance}"), &a, &b)
        });
        let (pieces, shown) = fitting(pieces, MAX_LEN);
        let note = if self.is_cut {
            ", of those counted"
        } else {
            ""
        };
        html.paragraph(format!("Shown: {}{note}.", sampled(shown, all, "pair")));
        html.append(&pieces);
    }
}

/// The section on distances.
pub(super) fn section(pairs: &Pairs, neighbours: &Neighbours, distance: u32) -> Html {
    let mut html = Html::new();
    html.append(&pairs.chart().html());
    if pairs.is_cut {
        let all = pairs.counts.iter().sum();
        html.paragraph(format!(
            "Counting stopped after {}, see --max-pairs: which of them came first is no matter of chance.",
            plural(all, "pair")
        ));
    }
    html.append(&neighbours.html(distance));
    html
}
