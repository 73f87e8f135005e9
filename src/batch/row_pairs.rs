//! All pairs of rows of a list of fingerprints within a distance.

use rayon::prelude::*;

use super::pairs::{Finder, PairOf, PairOptions};
use crate::error::{Error, Result};
use crate::fingerprint::{Column, Fingerprint, by_width};
use crate::watch::Stage;

/// Two rows of a list with near fingerprints, as returned by [`row_pairs`].
///
/// ```
/// use simidx::batch::{PairOptions, row_pairs};
///
/// let pairs = row_pairs(&[0xff00u64, 1 << 40, 0xff01], &PairOptions::default())?;
/// assert_eq!((pairs[0].first, pairs[0].second, pairs[0].distance), (0, 2, 1));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct RowPair {
    /// The number of the first row.
    pub first: u64,
    /// The number of the second row.
    pub second: u64,
    /// Number of bits in which their fingerprints differ; 0 if they are equal.
    pub distance: u32,
}

/// Returns every unordered pair of rows whose fingerprints are within a distance, including equal ones, each once and
/// in order. `n` rows with one fingerprint are `n (n - 1) / 2` pairs; [`PairOptions::max_pairs`] limits them.
///
/// Costs the same as [`PairFinder`](super::PairFinder), plus a sort of the rows and of the pairs. Memory: the limit of
/// the options, plus 16 bytes a row and 24 bytes a pair.
///
/// ```
/// use simidx::batch::{PairOptions, row_pairs};
///
/// let rows = [0xff00u64, 0xff01, 0xff00, 7 << 40];
/// let pairs = row_pairs(&rows, &PairOptions::default())?;
/// let pairs: Vec<_> = pairs.iter().map(|p| (p.first, p.second, p.distance)).collect();
/// assert_eq!(pairs, [(0, 1, 1), (0, 2, 0), (1, 2, 1)]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// The errors of [`PairFinder::finish`](super::PairFinder::finish), and more pairs than the options allow.
pub fn row_pairs<'c>(
    fingerprints: impl Into<Column<'c>>,
    options: &PairOptions,
) -> Result<Vec<RowPair>> {
    find_in_column(fingerprints.into(), options)
}

fn find_in_column(fingerprints: Column<'_>, options: &PairOptions) -> Result<Vec<RowPair>> {
    by_width!(Column, fingerprints, values => find_row_pairs(values, options))
}

fn find_row_pairs<F: Fingerprint>(
    fingerprints: &[F],
    options: &PairOptions,
) -> Result<Vec<RowPair>> {
    let rows = Rows::new(fingerprints);
    let mut pairs = Vec::new();
    for run in rows.runs() {
        for (i, &first) in run.iter().enumerate() {
            options.watch.report(Stage::Compare, 0, 0)?;
            for &second in &run[i + 1..] {
                add(&mut pairs, options, (first, second), 0)?;
            }
        }
    }
    let mut finder = Finder::new(&PairOptions {
        sorted: false,
        ..options.clone()
    })?;
    finder.extend(fingerprints)?;
    options.watch.report(Stage::Compare, 0, 0)?;
    let mut visit = |pair: PairOf<F>| {
        let [smaller, larger] = [pair.smaller, pair.larger].map(|value| rows.of(value));
        for &x in smaller {
            for &y in larger {
                add(&mut pairs, options, (x, y), pair.distance)?;
            }
        }
        Ok(())
    };
    finder.give(&mut visit)?;
    pairs.par_sort_unstable();
    Ok(pairs)
}

/// Adds a pair within the limit.
fn add(
    pairs: &mut Vec<RowPair>,
    options: &PairOptions,
    (x, y): (u64, u64),
    distance: u32,
) -> Result<()> {
    if let Some(limit) = options.max_pairs
        && pairs.len() as u64 >= limit
    {
        return Err(Error::LimitReached {
            what: "pairs",
            limit,
        });
    }
    pairs.push(RowPair {
        first: x.min(y),
        second: x.max(y),
        distance,
    });
    Ok(())
}

/// The rows of a list, by fingerprint.
struct Rows<'a, F> {
    fingerprints: &'a [F],
    rows: Vec<u64>,
}

impl<'a, F: Fingerprint> Rows<'a, F> {
    fn new(fingerprints: &'a [F]) -> Self {
        let mut rows: Vec<u64> = (0..fingerprints.len() as u64).collect();
        rows.par_sort_unstable_by_key(|&row| (fingerprints[row as usize], row));
        Rows { fingerprints, rows }
    }

    fn value(&self, row: u64) -> F {
        self.fingerprints[row as usize]
    }

    /// Returns the rows of each fingerprint.
    fn runs(&self) -> impl Iterator<Item = &[u64]> {
        self.rows.chunk_by(|&x, &y| self.value(x) == self.value(y))
    }

    /// Returns the rows of a fingerprint.
    fn of(&self, fingerprint: F) -> &[u64] {
        let start = self
            .rows
            .partition_point(|&row| self.value(row) < fingerprint);
        let rest = &self.rows[start..];
        &rest[..rest.partition_point(|&row| self.value(row) == fingerprint)]
    }
}
