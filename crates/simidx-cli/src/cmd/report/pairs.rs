//! Pairs by distance, within the distance of near-duplicates and slightly beyond it, and the doubtful pairs among them.

use maud::{Markup, html};
use simidx::batch::PairOptions;
use simidx::{Error, Set};

use super::Args;
use super::labels::Labels;
use crate::support::failure::Failure;
use crate::support::page::{BarChart, Differences, grouped, pair, plural};

/// Number of bits beyond the distance that are included: such pairs are almost near-duplicates.
const BEYOND: u32 = 2;

/// Pairs by their distance.
pub(super) struct Pairs {
    distance: u32,
    found: Differences<u128>,
    /// Whether counting stopped early.
    is_cut: bool,
}

impl Pairs {
    /// Finds all pairs.
    ///
    /// # Errors
    /// Any error of the search.
    pub(super) fn find(set: &Set, args: &Args) -> Result<Self, Failure> {
        let distance = args.distance(set)?;
        let mut options = PairOptions::default();
        options.distance = distance.saturating_add(BEYOND).min(set.width().bits());
        options.max_pairs = Some(args.max_pairs);
        options.memory = Some(args.resources.memory_limit());
        options.temp_dir = args.resources.temp_dir.clone();
        let mut found = Differences::new(distance, args.pairs as usize, args.seed);
        let ended = set.pairs(&options, |pair| {
            let (a, b) = (pair.smaller, pair.larger);
            // The two values identify the pair; one of them is rotated and multiplied.
            let key = a ^ b.rotate_left(64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            found.add(pair.distance, key, (a, b));
            Ok(())
        });
        let is_cut = matches!(ended, Err(Error::LimitReached { .. }));
        if !is_cut {
            ended?;
        }
        Ok(Pairs {
            distance,
            found,
            is_cut,
        })
    }

    /// Returns the number of near-duplicates in words.
    pub(super) fn within(&self) -> String {
        let count = grouped(self.found.within());
        match self.is_cut {
            true => format!("at least {count}"),
            false => count,
        }
    }

    /// Returns the fingerprints of the pairs that are shown.
    pub(super) fn members(&self) -> impl Iterator<Item = u128> {
        self.found.pairs().flat_map(|(a, b)| [a, b])
    }

    /// Returns the section with the chart of the pairs by distance.
    pub(super) fn section(&self) -> Markup {
        let (within, beyond) = (self.found.within(), self.found.beyond());
        let chart = BarChart {
            id: "pairs",
            title: "Pairs of fingerprints by their distance".into(),
            alternative: format!(
                "{} differ in at most {} bits, and {} in up to {BEYOND} more.",
                plural(within, "pair"),
                self.distance,
                grouped(beyond),
            ),
            x_label: "bits that differ",
            y_label: "pairs",
            ..self.found.chart(
                1,
                |at| at.to_string(),
                "beyond the distance, no near-duplicates",
            )
        };
        html! {
            (chart)
            @if self.is_cut {
                p {
                    "Counting stopped after " (plural(within + beyond, "pair")) ", see --max-pairs: which of them came \
                     first does not depend on chance."
                }
            }
        }
    }

    /// Returns the section of the pairs near the distance, those within it first.
    pub(super) fn doubtful(&self, labels: &Labels) -> Result<Markup, Failure> {
        let limit = format!("distance of {}", self.distance);
        let note = if self.is_cut {
            ", of those counted"
        } else {
            ""
        };
        let piece = |distance, (a, b)| {
            let [a, b] = [a, b].map(|fingerprint| labels.entry(fingerprint, String::new()));
            Ok::<_, Failure>(pair(&format!("Distance {distance}"), &a, &b))
        };
        Ok(html! {
            p {
                "Near-duplicates that barely are, and pairs that barely are not. Is the distance right? Pairs that say the \
                 same should be within it."
            }
            (self.found.doubtful(&limit, ("pair", note), piece)?)
        })
    }
}
