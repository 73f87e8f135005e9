//! The nearest fingerprints, by growing distance, and whether any is near at all.

use super::plans::is_on_the_way;
use super::probe::{Findings, Lists, Probe, Target};
use super::search::Search;
use super::table::Table;
use super::{Index, Match, Scratch, Strategy};
use crate::design::TableProbes;
use crate::error::{FormatError, Result};
use crate::fingerprint::Fingerprint;

/// A distance is followed by the largest one whose plan costs at most so many times as much: the searches before the last
/// one then cost little beside it. When the distance that is expected to be enough costs no more than that, it comes next.
const GROWTH: f64 = 4.0;

/// Blocks of the first piece of a scan. Each further piece has twice as many: the nearest found so far, which bound what
/// is kept, then improve as often as not.
const FIRST_PIECE: usize = 16;

/// Most blocks of a piece of a scan.
const LARGEST_PIECE: usize = 1 << 14;

impl<F: Fingerprint> Index<F> {
    /// The `count` fingerprints nearest to `fingerprint` among those within `max_distance`, by distance, then by value;
    /// fewer if there are not so many. Of those at the last distance the ones of smallest value are taken, so that
    /// the answer is determined. Allocates; [`Index::nearest_with`] does not.
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

    /// [`Index::nearest`] in the memory of a scratch, where the answer stays until its next query.
    ///
    /// It searches within growing distances, each at most four times as dear as the one before, until enough are found, and
    /// scans where that is cheaper. So it costs at most a few times as much as a query within the distance of the farthest of
    /// the nearest, or within `max_distance` where there are fewer. Distances beyond [`Index::max_distance`] are planned
    /// when they are first met, up to some milliseconds each.
    ///
    /// # Errors
    /// A damaged block among those that had to be read; then there is no answer.
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

    /// Whether any fingerprint is within `distance` of `fingerprint`. Stops at the first one found: the fingerprint
    /// itself is looked for first, then those near it, table by table, some dozens of probes at a time. Where there is
    /// none it costs as much as a query. Allocates; [`Index::contains_near_with`] does not.
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
    /// A damaged block among those that had to be read.
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

    /// Whether probes, or a scan, find a match; stops at the first.
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

    /// The probes of a distance; `None` for a scan.
    fn probes(&self, distance: u32, strategy: Strategy) -> Option<&[TableProbes]> {
        match strategy {
            Strategy::Auto => self.plan(distance).best(),
            Strategy::Probe => Some(self.plan(distance).probes()),
            Strategy::Scan => None,
        }
    }

    /// What probes are looked up in, with the ranks of matches.
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

    /// The distance within which this many uniform fingerprints would probably hold `count`.
    fn expected_distance(&self, count: usize) -> u32 {
        let wanted = 1.5 * count as f64 + 1.0;
        let mut at_distance = self.len() as f64 / 2f64.powi(F::WIDTH as i32);
        let mut within = at_distance;
        for distance in 0..F::WIDTH {
            if within >= wanted {
                return distance;
            }
            // The next binomial coefficient.
            at_distance *= f64::from(F::WIDTH - distance) / f64::from(distance + 1);
            within += at_distance;
        }
        F::WIDTH
    }

    /// Compares all fingerprints of some blocks of table 0.
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
                let waiting = &mut lists.lines.waiting;
                return target.scan_lines((table, query, 0), blocks, waiting, findings);
            }
        };
        let before = blocks.start.checked_sub(1).map(|b| table.keys.get(b));
        lists.probes.push(Probe {
            table,
            query: table.permutation.apply(query).0,
            // Keys ascend, so that none but the last can be the largest value.
            low: before.map_or(F::ZERO, |key| key.wrapping_add(F::from_u128(1))),
            high: table.keys.get(blocks.end - 1),
            owner: 0,
        });
        target.run(lists, findings)
    }
}

/// The pieces of a scan of so many blocks.
fn pieces(block_count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let (mut next, mut len) = (0, FIRST_PIECE);
    std::iter::from_fn(move || {
        let piece = next..block_count.min(next + len);
        next = piece.end;
        len = LARGEST_PIECE.min(2 * len);
        (!piece.is_empty()).then_some(piece)
    })
}

/// What a search for the nearest has completed.
#[derive(Clone, Copy)]
struct Done<'a> {
    /// All within this distance have been found.
    distance: u32,
    /// The probes of this distance.
    plan: &'a [TableProbes],
    /// What these probes found within this distance was kept.
    kept: u32,
}

/// A search for the nearest.
struct Nearest<'a, 'b, F> {
    index: &'a Index<F>,
    strategy: Strategy,
    cold: bool,
    query: F,
    count: usize,
    /// Nothing beyond this distance is among the nearest: the largest distance asked for, or that of the farthest of the
    /// nearest so far when there are enough.
    bound: u32,
    /// The distance within which uniform data would probably hold as many as are wanted.
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
            // The very fingerprint is enough, and cheap to find.
            1 => 0,
            _ => self.index.max_distance().min(self.bound),
        };
        loop {
            let Some(plan) = self.index.probes(distance, self.strategy) else {
                return self.scan();
            };
            // What is found farther away than is expected to be needed would be put in order in vain.
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

    /// The largest fingerprint that can be among the nearest and has not been found before a search within `distance`. If
    /// only this last distance is left and there are enough already, others at this distance must be smaller to count.
    fn highest(&self, distance: u32) -> F {
        let last_is_left = self.done.is_some_and(|done| done.distance + 1 == distance);
        let last = self.findings.found.get(self.count - 1);
        match last {
            Some(last) if last_is_left && last.found.distance == distance => last.found.fingerprint,
            _ => F::MAX,
        }
    }

    /// The distance to search after all within `done` have been found, and they were not enough.
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

    /// The largest distance to search next.
    fn far_distance(&self, done: u32) -> u32 {
        let ns = |distance: u32| self.index.plan(distance).ns();
        let least = done + 1;
        // Data that are closer together than uniform ones are enough sooner, and distances grow towards this one.
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
        // A scan finds again what probes have found.
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

    /// Forgets all but the nearest of what has been found.
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
