//! Prefix crowding of each table, relative to uniform data.

use crate::design::{Permuted, TableProbes};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::Index;

/// The prefix crowding of one table.
///
/// ```
/// use simidx::batch::{LintOptions, lint};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let report = lint(&segments, &LintOptions::default())?;
/// for table in &report.tables {
///     println!("table {}: {:.0} candidates a query", table.table, table.candidates());
/// }
/// assert_eq!(report.tables[0].fingerprint_count, 3);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableCrowding {
    /// The number of the segment in the set.
    pub segment: usize,
    /// The number of the table in the segment.
    pub table: usize,
    /// Leading bits that a probe must match, including any that it flips.
    pub address_bits: u32,
    /// Number of fingerprints in the table.
    pub fingerprint_count: u64,
    /// Number of distinct prefixes.
    pub prefix_count: u64,
    /// Number of fingerprints with the most common prefix.
    pub largest: u64,
    /// The first fingerprint with the most common prefix.
    pub largest_example: Option<u128>,
    /// The mean number of fingerprints that share a member's prefix, itself included. One probe for near-duplicates of
    /// a member finds this many candidates.
    pub sharing: f64,
    /// The same mean for the same number of uniform fingerprints.
    pub uniform_sharing: f64,
    /// Candidates that all probes of the table find for one query on uniform data.
    pub uniform_candidates: f64,
}

impl TableCrowding {
    /// Estimates the candidates that all probes of the table find for a query like its members, as if prefixes reached
    /// by flips were as crowded as the query's own.
    pub fn candidates(&self) -> f64 {
        let most = self.fingerprint_count as f64;
        (self.uniform_candidates * self.sharing / self.uniform_sharing)
            .max(self.sharing)
            .min(most)
    }
}

/// Measures the prefix crowding of each table of an index that queries within a distance probe. The index has the
/// number `segment` in its set.
///
/// # Errors
/// A damaged block.
pub(super) fn crowding<F: Fingerprint>(
    segment: usize,
    index: &Index<F>,
    distance: u32,
) -> Result<Vec<TableCrowding>> {
    let probes = index.plan(distance).probes();
    let tables = probes.iter().map(|probes| of_table(segment, index, probes));
    tables.collect()
}

fn of_table<F: Fingerprint>(
    segment: usize,
    index: &Index<F>,
    probes: &TableProbes,
) -> Result<TableCrowding> {
    let mut values = index.fingerprints(probes.table)?;
    let mut runs = Runs::new(probes.address_bits);
    while let Some(chunk) = values.next_chunk() {
        chunk?.iter().for_each(|value| runs.push(value.0));
    }
    runs.end_run();
    let count = index.len() as f64;
    let spread = 2f64.powi(probes.address_bits as i32);
    let example = runs.largest_first.map(Permuted);
    Ok(TableCrowding {
        segment,
        table: probes.table,
        address_bits: probes.address_bits,
        fingerprint_count: index.len(),
        prefix_count: runs.count,
        largest: runs.largest,
        largest_example: example.map(|value| values.invert(value).to_u128()),
        sharing: runs.squares / count.max(1.0),
        uniform_sharing: 1.0 + (count - 1.0).max(0.0) / spread,
        uniform_candidates: count * probes.candidate_share(),
    })
}

/// Runs of values that share their leading bits.
struct Runs<F> {
    /// Number of bits below the prefix.
    low_bits: u32,
    first: Option<F>,
    len: u64,
    count: u64,
    largest: u64,
    largest_first: Option<F>,
    /// The sum of the squared lengths.
    squares: f64,
}

impl<F: Fingerprint> Runs<F> {
    fn new(address_bits: u32) -> Self {
        Runs {
            low_bits: F::WIDTH - address_bits.min(F::WIDTH),
            first: None,
            len: 0,
            count: 0,
            largest: 0,
            largest_first: None,
            squares: 0.0,
        }
    }

    fn push(&mut self, value: F) {
        // Without a prefix, all values share it; a shift by the whole width would overflow.
        let shares =
            |first: F| self.low_bits == F::WIDTH || (first ^ value) >> self.low_bits == F::ZERO;
        if !self.first.is_some_and(shares) {
            self.end_run();
            self.first = Some(value);
        }
        self.len += 1;
    }

    fn end_run(&mut self) {
        if self.len > 0 {
            self.count += 1;
            self.squares += self.len as f64 * self.len as f64;
        }
        if self.len > self.largest {
            self.largest = self.len;
            self.largest_first = self.first;
        }
        self.len = 0;
    }
}
