//! The search for the nearest fingerprints by growing distances, and the test whether any fingerprint is near.

use super::plans::is_on_the_way;
use super::probe::{Findings, Lists, Probe, Target};
use super::search::Search;
use super::table::Table;
use super::{Index, Match, Scratch, Strategy};
use crate::design::TableProbes;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// The next distance is the largest whose plan costs at most this many times that of the last one, so that earlier
/// searches cost little compared to the last. The distance that is expected to be enough comes next if it is within
/// this factor too.
const GROWTH: f64 = 4.0;

/// Blocks of the first piece of a scan. Each further piece has twice as many, so that about every second one improves
/// the nearest fingerprints so far, which bound what is kept.
const FIRST_PIECE: usize = 16;

/// The most blocks of a piece of a scan.
const LARGEST_PIECE: usize = 1 << 14;

impl<F: Fingerprint> Index<F> {
    /// Returns the `count` fingerprints nearest to `fingerprint` within `max_distance`, by distance, then by value;
    /// fewer if there are not enough. At the last distance those with the smallest values are taken, so the answer is
    /// unique. Allocates; [`Index::nearest_with`] does not.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// # for fingerprint in [0b1000_u64, 0b0111, 0b0011, 0b0001, 1 << 60] { builder.push(fingerprint)?; }
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// let index = Index::<u64>::from_bytes(file)?;
    /// let values = |found: Vec<simidx::Match<u64>>| -> Vec<u64> {
    ///     found.iter().map(|found| found.fingerprint).collect()
    /// };
    /// // 0b0001 and 0b1000 are at distance 1, and so is 1 << 60.
    /// assert_eq!(values(index.nearest(0, 2, 64)?), [0b0001, 0b1000]);
    /// assert_eq!(values(index.nearest(0, 9, 2)?), [0b0001, 0b1000, 1 << 60, 0b0011]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged block.
    pub fn nearest(
        &self,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<Vec<Match<F>>> {
        let mut scratch = Scratch::new();
        self.nearest_with(&mut scratch, fingerprint, count, max_distance)?;
        Ok(scratch.matches)
    }

    /// Answers [`Index::nearest`] in a scratch, which holds the answer until its next query.
    ///
    /// Searches within growing distances, each at most four times as expensive as the one before, until enough
    /// fingerprints are found, and scans if that is cheaper. The cost is at most a few times that of a query within the
    /// distance of the farthest one returned, or within `max_distance` if there are fewer than `count`. Distances
    /// beyond [`Index::max_distance`] are planned on first use, in up to a few milliseconds each.
    ///
    /// # Errors
    /// A damaged block that had to be read; the scratch then holds no answer.
    pub fn nearest_with<'s>(
        &self,
        scratch: &'s mut Scratch<F>,
        fingerprint: F,
        count: usize,
        max_distance: u32,
    ) -> Result<&'s [Match<F>]> {
        scratch.matches.clear();
        let mut lists = std::mem::take(&mut scratch.lists).emptied();
        let findings = &mut scratch.findings;
        findings.start();
        let mut search = Nearest {
            index: self,
            strategy: scratch.strategy,
            cold: scratch.cold,
            query: fingerprint,
            count,
            bound: max_distance.min(F::WIDTH),
            expected: self.expected_distance(count),
            done: None,
            lists: &mut lists,
            findings,
        };
        let found = search.run();
        if found.is_ok() {
            let mut target = self.target(max_distance, scratch.cold);
            target.is_ranked &= scratch.ranked;
            target.rank_all(&mut findings.found);
            let found = findings.found.iter().map(|found| found.found);
            scratch.matches.extend(found);
        }
        scratch.lists = lists.emptied();
        found?;
        Ok(&scratch.matches)
    }

    /// Returns whether any fingerprint is within `distance` of `fingerprint`. Stops at the first one: looks for the
    /// fingerprint itself, then for those near it, table by table, some dozens of probes at a time. If there is none,
    /// it costs as much as a query. Allocates; [`Index::contains_near_with`] does not.
    ///
    /// ```
    /// # use simidx::{BuildOptions, Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// # builder.push(0b0111_u64)?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// let index = Index::<u64>::from_bytes(file)?;
    /// assert!(index.contains_near(0b0001, 2)?);
    /// assert!(!index.contains_near(0b0001, 1)?);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged block.
    pub fn contains_near(&self, fingerprint: F, distance: u32) -> Result<bool> {
        self.contains_near_with(&mut Scratch::new(), fingerprint, distance)
    }

    /// [`Index::contains_near`] in the memory of a scratch, which then holds no answer.
    ///
    /// # Errors
    /// A damaged block that had to be read.
    pub fn contains_near_with(
        &self,
        scratch: &mut Scratch<F>,
        fingerprint: F,
        distance: u32,
    ) -> Result<bool> {
        scratch.matches.clear();
        let mut lists = std::mem::take(&mut scratch.lists).emptied();
        let findings = &mut scratch.findings;
        findings.start();
        findings.stats.probes = 1;
        let near = match self.contains(fingerprint) {
            Ok(false) => self.finds_any(
                &mut lists,
                findings,
                scratch.strategy,
                scratch.cold,
                fingerprint,
                distance,
            ),
            known => known,
        };
        findings.found.clear();
        scratch.lists = lists.emptied();
        near
    }

    /// Returns whether probes, or a scan, find a match; stops at the first.
    fn finds_any<'a>(
        &'a self,
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
        strategy: Strategy,
        cold: bool,
        query: F,
        distance: u32,
    ) -> Result<bool> {
        let distance = distance.min(F::WIDTH);
        let target = self.target(distance, cold);
        match self.probes(distance, strategy) {
            Some(plan) => {
                let search = Search {
                    target,
                    plan,
                    probed: &[],
                    highest: F::MAX,
                    stop_at_first: true,
                };
                search.run(&[query], lists, findings)?;
            }
            None => {
                for piece in pieces(self.tables[0].part_count()) {
                    self.scan_piece(target, piece, query, lists, findings)?;
                    if !findings.found.is_empty() {
                        break;
                    }
                }
            }
        }
        Ok(!findings.found.is_empty())
    }

    /// Returns the probes for a distance; `None` for a scan.
    fn probes(&self, distance: u32, strategy: Strategy) -> Option<&[TableProbes]> {
        match strategy {
            Strategy::Auto => self.plan(distance).best(),
            Strategy::Probe => Some(self.plan(distance).probes()),
            Strategy::Scan => None,
        }
    }

    /// Returns the target of probes within a distance, with ranks for matches.
    pub(super) fn target(&self, distance: u32, cold: bool) -> Target<'_, F> {
        Target {
            tables: &self.tables,
            file: self.bytes(),
            is_ranked: self.ids.is_some(),
            block_ranks: self.ids.as_ref().map_or(&[], |_| self.block_ranks()),
            distance,
            cold,
        }
    }

    /// Returns the distance within which this many uniform fingerprints would probably include `count`.
    fn expected_distance(&self, count: usize) -> u32 {
        let wanted = 1.5 * count as f64 + 1.0;
        let mut at_distance = self.len() as f64 / 2f64.powi(F::WIDTH as i32);
        let mut within = at_distance;
        for distance in 0..F::WIDTH {
            if within >= wanted {
                return distance;
            }
            // Computes the next binomial coefficient.
            at_distance *= f64::from(F::WIDTH - distance) / f64::from(distance + 1);
            within += at_distance;
        }
        F::WIDTH
    }

    /// Compares all fingerprints of some blocks of table 0 with the query.
    fn scan_piece<'a>(
        &'a self,
        target: Target<'a, F>,
        blocks: std::ops::Range<usize>,
        query: F,
        lists: &mut Lists<'a, F>,
        findings: &mut Findings<F>,
    ) -> Result<(), FormatError> {
        let table = match &self.tables[0] {
            Table::Blocks(table) => table,
            Table::Lines(table) => {
                let lists = &mut lists.lines.scan;
                return target.scan_lines((table, query, 0), blocks, lists, findings);
            }
        };
        let before = blocks.start.checked_sub(1).map(|b| table.keys.get(b));
        lists.probes.push(Probe {
            table,
            query: table.permutation.apply(query).0,
            // Keys ascend, so only the last one can be the largest value.
            low: before.map_or(F::ZERO, |key| key.wrapping_add(F::from_u128(1))),
            high: table.keys.get(blocks.end - 1),
            owner: 0,
        });
        target.run(lists, findings)
    }
}

/// Divides a scan of `block_count` blocks into pieces.
fn pieces(block_count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let (mut next, mut len) = (0, FIRST_PIECE);
    std::iter::from_fn(move || {
        let piece = next..block_count.min(next + len);
        next = piece.end;
        len = LARGEST_PIECE.min(2 * len);
        (!piece.is_empty()).then_some(piece)
    })
}

/// The completed part of a search for the nearest.
#[derive(Clone, Copy)]
struct Done<'a> {
    /// All fingerprints within this distance have been found.
    distance: u32,
    /// The probes for this distance.
    plan: &'a [TableProbes],
    /// The distance up to which results of these probes were kept.
    kept: u32,
}

/// A search for the nearest fingerprints.
struct Nearest<'a, 'b, F> {
    index: &'a Index<F>,
    strategy: Strategy,
    cold: bool,
    query: F,
    count: usize,
    /// No fingerprint beyond this distance is among the nearest: the largest distance to search, or, once there are
    /// enough, the distance of the farthest one.
    bound: u32,
    /// The distance within which uniform data would probably include enough.
    expected: u32,
    done: Option<Done<'a>>,
    lists: &'b mut Lists<'a, F>,
    findings: &'b mut Findings<F>,
}

impl<'a, F: Fingerprint> Nearest<'a, '_, F> {
    fn run(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut distance = match self.count {
            // The same fingerprint is enough, and is cheap to find.
            1 => 0,
            _ => self.index.max_distance().min(self.bound),
        };
        loop {
            let Some(plan) = self.index.probes(distance, self.strategy) else {
                return self.scan();
            };
            // Fingerprints farther away than probably needed are not kept, since sorting them would be wasted.
            let mut kept = self.bound.min(self.expected.max(distance));
            let (target, query) = (self.index.target(kept, self.cold), self.query);
            let probed = self.done.filter(|done| done.kept >= distance);
            let search = Search {
                target,
                plan,
                probed: probed.map_or(&[], |done| done.plan),
                highest: self.highest(distance),
                stop_at_first: false,
            };
            search.run(&[query], self.lists, self.findings)?;
            self.keep_nearest();
            if distance >= self.bound {
                return Ok(());
            }
            kept = probed.map_or(kept, |done| done.kept.min(kept));
            self.done = Some(Done {
                distance,
                plan,
                kept,
            });
            distance = self.next_distance(distance);
        }
    }

    /// Returns the largest fingerprint that a search within `distance` may still add to the nearest. If only the last
    /// distance is left and there are enough already, a fingerprint at this distance must be smaller to count.
    fn highest(&self, distance: u32) -> F {
        let last_is_left = self.done.is_some_and(|done| done.distance + 1 == distance);
        let last = self.findings.found.get(self.count - 1);
        match last {
            Some(last) if last_is_left && last.found.distance == distance => last.found.fingerprint,
            _ => F::MAX,
        }
    }

    /// Returns the next distance, after the search within `done` did not find enough.
    fn next_distance(&self, done: u32) -> u32 {
        let far = self.far_distance(done);
        let index = self.index;
        let steps = || {
            let [done, small, large] = [0, 1, 2].map(|more| index.plan(done + more));
            is_on_the_way(done, small, large)
        };
        match done + 1 < far && index.plans.steps_from(done, steps) {
            true => done + 1,
            false => far,
        }
    }

    /// Returns the largest distance to search next.
    fn far_distance(&self, done: u32) -> u32 {
        let ns = |distance: u32| self.index.plan(distance).ns();
        let least = done + 1;
        // Data that are denser than uniform ones need smaller distances, so the distance grows towards this goal in
        // steps.
        let goal = self.expected.clamp(least, self.bound);
        let first = self.index.max_distance().clamp(least, goal);
        let cheap = (first + 1..=goal).take_while(|&d| ns(d) <= GROWTH * ns(done));
        let next = cheap.last().unwrap_or(first);
        match ns(goal) <= GROWTH * ns(next) {
            true => goal,
            false => next,
        }
    }

    /// Compares all fingerprints, those of table 0, piece by piece.
    fn scan(&mut self) -> Result<()> {
        // A scan finds the results of earlier probes again.
        self.findings.stats.probes += 1;
        let probes = self.findings.stats.probes;
        for piece in pieces(self.index.tables[0].part_count()) {
            let target = self.index.target(self.bound, self.cold);
            self.index
                .scan_piece(target, piece, self.query, self.lists, self.findings)?;
            self.keep_nearest();
        }
        self.findings.stats.probes = probes;
        Ok(())
    }

    /// Drops all but the nearest.
    fn keep_nearest(&mut self) {
        self.findings.merge();
        let found = &mut self.findings.found;
        found.truncate(self.count);
        if found.len() == self.count {
            let farthest = found.last().map_or(0, |found| found.found.distance);
            self.bound = self.bound.min(farthest);
        }
    }
}
