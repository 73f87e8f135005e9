//! Counts of pairs by their difference, and samples of doubtful pairs.

use maud::{Markup, html};

use super::chart::{Bar, BarChart, Limit};
use super::document::shown;
use super::sample::Sample;

/// Counts and samples of pairs for each difference.
#[derive(Debug)]
pub struct Differences<T> {
    limit: u32,
    size: usize,
    seed: u64,
    samples: Vec<Sample<(T, T)>>,
}

impl<T: Ord + Copy> Differences<T> {
    /// Creates an empty collection. Near-duplicates differ by at most `limit`. It samples at most `size` pairs per
    /// difference.
    pub fn new(limit: u32, size: usize, seed: u64) -> Self {
        Differences {
            limit,
            size,
            seed,
            samples: Vec::new(),
        }
    }

    /// Adds a pair. `key` must be unique to the pair.
    pub fn add(&mut self, difference: u32, key: u128, pair: (T, T)) {
        let place = difference as usize;
        while self.samples.len() <= place {
            self.samples.push(Sample::new(self.size, self.seed));
        }
        self.samples[place].show(key, pair);
    }

    /// Number of pairs within the limit, the near-duplicates.
    pub fn within(&self) -> u64 {
        self.samples[..self.end()].iter().map(Sample::seen).sum()
    }

    /// Number of pairs beyond the limit.
    pub fn beyond(&self) -> u64 {
        self.samples[self.end()..].iter().map(Sample::seen).sum()
    }

    /// The number of the first sample beyond the limit.
    fn end(&self) -> usize {
        self.samples.len().min(self.limit as usize + 1)
    }

    /// Returns a chart of the pairs from a first difference on, without a title. `label` formats a difference.
    pub fn chart(
        &self,
        first: u32,
        label: impl Fn(u32) -> String,
        beyond: &'static str,
    ) -> BarChart {
        let bars = (0..).zip(&self.samples).skip(first as usize);
        BarChart {
            bars: bars
                .map(|(at, pairs)| Bar::count(label(at), pairs.seen()))
                .collect(),
            limit: (self.beyond() > 0).then(|| Limit {
                within: (self.limit + 1).saturating_sub(first) as usize,
                label: format!("limit {}", label(self.limit)),
                beyond,
            }),
            ..BarChart::default()
        }
    }

    /// Returns sampled pairs in two lists, each nearest to the limit first: within the limit, and beyond it.
    fn near(&self) -> [Vec<(u32, (T, T))>; 2] {
        let numbered = |place: usize| {
            let pairs = self.samples[place].items().into_iter();
            pairs.map(move |pair| (place as u32, pair))
        };
        let end = self.end();
        let within = (0..end).rev().flat_map(numbered).take(self.size);
        let beyond = (end..self.samples.len()).flat_map(numbered).take(self.size);
        [within.collect(), beyond.collect()]
    }

    /// The pairs that the page shows.
    pub fn pairs(&self) -> impl Iterator<Item = (T, T)> {
        self.near().into_iter().flatten().map(|(_, pair)| pair)
    }

    /// Returns the sampled pairs near the limit, those within it first, each formatted by `piece`.
    ///
    /// # Errors
    /// Any error of `piece`.
    pub fn doubtful<E>(
        &self,
        limit: &str,
        (name, note): (&str, &str),
        piece: impl Fn(u32, (T, T)) -> Result<Markup, E>,
    ) -> Result<Markup, E> {
        let list = |pairs: Vec<(u32, (T, T))>, all: u64| {
            if all == 0 {
                return Ok(html! { p { "There is none." } });
            }
            // Formatting stops when the page is full.
            let mut failure = None;
            let pieces = pairs.into_iter().map_while(|(difference, pair)| {
                let piece = piece(difference, pair);
                piece.map_err(|error| failure = Some(error)).ok()
            });
            let list = shown(pieces, all, name, note);
            failure.map_or(Ok(list), Err)
        };
        let [within, beyond] = self.near();
        Ok(html! {
            h3 { "Within the " (limit) ", the farthest first" }
            (list(within, self.within())?)
            h3 { "Beyond the " (limit) ", the nearest first" }
            (list(beyond, self.beyond())?)
        })
    }
}
