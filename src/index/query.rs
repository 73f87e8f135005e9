//! Queries: plan the probes, run them together, merge the matches (spec, section 11).

use super::search::Search;
use super::{Index, Scratch};
use crate::design::TableProbes;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The number of queries that are processed together.
pub(crate) const QUERIES_UNDER_WAY: usize = 64;

/// A scan: one probe of table 0 with an empty address, whose range holds all values.
const SCAN: [TableProbes; 1] = [TableProbes {
    table: 0,
    address_bits: 0,
    flips: 0,
    range_bits: 0,
    prefix_bits: 0,
}];

/// How queries are answered. All strategies give the same answer.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// use simidx::Scratch;
/// use simidx::index::Strategy;
///
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # builder.push(7_u64)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?;
/// let mut scratch = Scratch::new();
/// scratch.set_strategy(Strategy::Scan);
/// assert_eq!(index.query_with(&mut scratch, 6, 1)?.len(), 1);
/// assert_eq!(scratch.stats().probes, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Probes or a scan, by estimated cost.
    #[default]
    Auto,
    /// Probes, even if a scan would be cheaper.
    Probe,
    /// A scan of table 0.
    Scan,
}

/// A fingerprint within the distance of a query. Matches are ordered by distance, then by value.
///
/// ```
/// # use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Width};
/// # let mut options = BuildOptions::default();
/// # options.ids = IdKind::Number;
/// # let mut builder = IndexBuilder::new(Width::W64, options)?;
/// # for (fingerprint, id) in [(7_u64, 70), (42, 420)] { builder.push_with_id(fingerprint, id)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?; // of 7 and 42, with ids
/// let found = index.query(43, 1)?[0];
/// assert_eq!((found.fingerprint, found.distance), (42, 1));
/// assert_eq!(found.rank, Some(1)); // 7 has rank 0
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Match<F> {
    /// Number of bits in which the fingerprint differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: F,
    /// The number of smaller fingerprints in the index, by which [`Index::ids`] finds the ids. `None` in an index
    /// without ids, in an answer from several indexes, and if table 0 is damaged.
    pub rank: Option<u64>,
}

impl<F> Match<F> {
    /// Creates a match with an unknown rank.
    pub(crate) fn unranked(distance: u32, fingerprint: F) -> Self {
        Match {
            distance,
            fingerprint,
            rank: None,
        }
    }
}

/// The cost of queries. `+=` adds the statistics of several queries.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
/// use simidx::Scratch;
/// use simidx::index::QueryStats;
///
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # builder.push(7_u64)?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let index = Index::<u64>::from_bytes(file)?;
/// let mut scratch = Scratch::new();
/// let mut total = QueryStats::default();
/// for query in [5, 6] {
///     index.query_with(&mut scratch, query, 1)?;
///     total += scratch.stats();
/// }
/// assert_eq!(total.candidates, 2);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueryStats {
    /// Look-ups: one for each table and each pattern of flipped prefix bits. A scan of table 0 counts as one. Look-ups
    /// of the ranks of matches do not count.
    pub probes: u64,
    /// Blocks read by these look-ups, or lines of a table in lines.
    pub blocks: u64,
    /// Fingerprints that share a probed prefix and were compared.
    pub candidates: u64,
}

impl std::ops::AddAssign for QueryStats {
    fn add_assign(&mut self, other: Self) {
        self.probes += other.probes;
        self.blocks += other.blocks;
        self.candidates += other.candidates;
    }
}

impl<F: Fingerprint> Index<F> {
    /// Returns all fingerprints within `distance` of `fingerprint`, by distance, then by value. Allocates;
    /// [`Index::query_with`] does not.
    ///
    /// # Errors
    /// A damaged block.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        let mut scratch = Scratch::new();
        self.query_with(&mut scratch, fingerprint, distance)?;
        Ok(scratch.matches)
    }

    /// Returns all fingerprints within `distance` of `fingerprint`, each once, by distance, then by value. The scratch
    /// holds the answer until its next query.
    ///
    /// Any distance is answered exactly. Distances beyond [`Index::max_distance`] take more and more probes, up to a
    /// scan of table 0.
    ///
    /// # Errors
    /// A damaged block that had to be read; the scratch then holds no answer.
    pub fn query_with<'s>(
        &self,
        scratch: &'s mut Scratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<&'s [Match<F>]> {
        scratch.matches.clear();
        self.find_matches(scratch, &[fingerprint], distance)?;
        let found = scratch.findings.found.iter().map(|f| f.found);
        scratch.matches.extend(found);
        Ok(&scratch.matches)
    }

    /// Answers many queries, several at a time. Calls `visit` for each in order, with its number in `fingerprints` and
    /// its answer, as from [`Index::query_with`].
    ///
    /// # Errors
    /// A damaged block that had to be read. `visit` may have been called for earlier queries, and is not called again.
    pub fn query_many_with(
        &self,
        scratch: &mut Scratch<F>,
        fingerprints: &[F],
        distance: u32,
        mut visit: impl FnMut(usize, &[Match<F>]),
    ) -> Result<()> {
        scratch.matches.clear();
        let mut stats = QueryStats::default();
        for (i, group) in fingerprints.chunks(QUERIES_UNDER_WAY).enumerate() {
            let collected = self.find_matches(scratch, group, distance);
            if collected.is_err() {
                scratch.matches.clear();
            }
            collected?;
            stats += scratch.findings.stats;
            let mut rest = &scratch.findings.found[..];
            for owner in 0..group.len() {
                let end = rest.partition_point(|f| f.owner as usize <= owner);
                scratch.matches.clear();
                scratch.matches.extend(rest[..end].iter().map(|f| f.found));
                visit(i * QUERIES_UNDER_WAY + owner, &scratch.matches);
                rest = &rest[end..];
            }
        }
        scratch.findings.stats = stats;
        Ok(())
    }

    /// Returns the matches of at most [`QUERIES_UNDER_WAY`] queries, each with the number of its query: ordered by
    /// query, then as from [`Index::query_with`].
    pub(crate) fn find_together<'s>(
        &self,
        scratch: &'s mut Scratch<F>,
        fingerprints: &[F],
        distance: u32,
    ) -> Result<impl Iterator<Item = (u32, Match<F>)> + use<'s, F>> {
        scratch.matches.clear();
        self.find_matches(scratch, fingerprints, distance)?;
        let found = scratch.findings.found.iter();
        Ok(found.map(|found| (found.owner, found.found)))
    }

    /// Finds the matches of some queries, each once and in order.
    fn find_matches(
        &self,
        scratch: &mut Scratch<F>,
        fingerprints: &[F],
        distance: u32,
    ) -> Result<(), FormatError> {
        let plan = self.plan(distance);
        let probes = match scratch.strategy {
            Strategy::Auto => plan.best(),
            Strategy::Probe => Some(plan.probes()),
            Strategy::Scan => None,
        };
        let mut target = self.target(distance, scratch.cold);
        target.is_ranked &= scratch.ranked;
        let findings = &mut scratch.findings;
        findings.start();
        let mut lists = std::mem::take(&mut scratch.lists).emptied();
        let search = Search {
            target,
            plan: probes.unwrap_or(&SCAN),
            probed: &[],
            highest: F::MAX,
            stop_at_first: false,
        };
        let probed = search.run(fingerprints, &mut lists, findings);
        scratch.lists = lists.emptied();
        if probed.is_ok() {
            scratch.findings.merge();
            target.rank_all(&mut scratch.findings.found);
        }
        probed
    }
}
