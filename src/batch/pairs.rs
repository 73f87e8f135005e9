//! All pairs of distinct fingerprints within a distance: the choice of the algorithm, and the order of the pairs.

use std::path::PathBuf;

use super::cover::Bits;
use super::emit::{Emitter, WATCHED};
use super::gathered::{extend_from_set, reserve};
use super::group::{Rule, compare_in_parts, search};
use super::partition::Buckets;
use super::spill::{Take, search_values};
use crate::error::{Error, Result};
use crate::extsort::{FixedRecord, MemoryLimit, Sorted, Sorter, ValueSpace, Values, add_all};
use crate::fingerprint::{ByWidth, Column, Fingerprint, Width, by_width, for_width, taken};
use crate::set::{Set, Typed, at_width};
use crate::setters;
use crate::watch::{Stage, Watch};

/// Below this many values, sorting them for each mask is as fast as partitioning.
pub(super) const FEW: usize = 1 << 15;

/// Nanoseconds to partition one value and look at its group.
const PARTITION_NS: f64 = 12.0;

/// Options of a search for pairs. Start from [`PairOptions::default`] and set what differs.
///
/// ```
/// use simidx::batch::PairOptions;
///
/// let options = PairOptions::default().distance(6).sorted(true).memory(4 << 30);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PairOptions {
    /// The largest distance of a pair, in bits. Any is exact; time and the number of pairs grow with it. Default 3.
    pub distance: u32,
    /// Whether pairs are ordered by their smaller member, then by the larger one. Otherwise they come in the order in
    /// which they are found, which depends only on the fingerprints, the distance and the memory limit. Default
    /// `false`.
    pub sorted: bool,
    /// The most pairs. If there are more, the search ends with an error: after this many pairs, or before the first one
    /// if they are sorted. Unlimited by default.
    pub max_pairs: Option<u64>,
    /// The most bytes of memory, at least 64 MiB. More goes to temporary files,
    /// including pairs to sort. Unlimited by default.
    pub memory: Option<u64>,
    /// The folder for temporary files, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
    /// Called on the calling thread every few milliseconds with the number of completed parts of the search, and the
    /// number of all; the latter is 0 with a memory limit. It may stop the search. Default none.
    pub watch: Watch,
}

setters!(PairOptions {
    distance(u32)
    sorted(bool)
    max_pairs(Some(u64))
    memory(Some(u64))
    temp_dir(Some(impl Into<PathBuf>))
    watch(Watch)
});

impl Default for PairOptions {
    fn default() -> Self {
        PairOptions {
            distance: 3,
            sorted: false,
            max_pairs: None,
            memory: None,
            temp_dir: None,
            watch: Watch::default(),
        }
    }
}

/// Two distinct fingerprints near each other.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{PairFinder, PairOptions};
///
/// let mut finder = PairFinder::new(Width::W64, &PairOptions::default())?;
/// finder.extend_from_slice(&[0xff07_u64, 0xff00])?;
/// finder.finish(|pair| {
///     assert_eq!((pair.smaller, pair.larger, pair.distance), (0xff00, 0xff07, 3));
///     Ok(())
/// })?;
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Pair {
    /// The smaller value.
    pub smaller: u128,
    /// The larger value.
    pub larger: u128,
    /// Number of bits in which they differ, at least 1.
    pub distance: u32,
}

impl Pair {
    /// Creates a pair from two fingerprints of one width in either order.
    pub fn new<F: Fingerprint>(x: F, y: F) -> Self {
        PairOf::new(x, y).widened()
    }
}

/// A pair in the type of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairOf<F> {
    pub(super) smaller: F,
    pub(super) larger: F,
    pub(super) distance: u32,
}

impl<F: Fingerprint> PairOf<F> {
    /// Creates a pair from two values in either order.
    fn new(x: F, y: F) -> Self {
        PairOf {
            smaller: x.min(y),
            larger: x.max(y),
            distance: x.distance(y),
        }
    }

    fn widened(self) -> Pair {
        Pair {
            smaller: self.smaller.to_u128(),
            larger: self.larger.to_u128(),
            distance: self.distance,
        }
    }
}

impl<F: Fingerprint> FixedRecord for PairOf<F> {
    const LEN: usize = 2 * F::BYTES + 1;

    fn encode(self, out: &mut Vec<u8>) {
        self.smaller.extend_le(out);
        self.larger.extend_le(out);
        // Distances are at most 128.
        out.push(self.distance as u8);
    }

    fn decode(bytes: &[u8]) -> Self {
        let (smaller, rest) = bytes.split_at(F::BYTES);
        let (larger, distance) = rest.split_at(F::BYTES);
        PairOf {
            smaller: F::decode(smaller),
            larger: F::decode(larger),
            distance: distance[0].into(),
        }
    }
}

impl Set {
    /// Calls `visit` once with every unordered pair of distinct fingerprints of the set within a distance.
    ///
    /// Reads table 0 of each segment once and then works like [`PairFinder`], with its own tables, one at a time. Ten
    /// million fingerprints take about two seconds on one thread.
    ///
    /// ```
    /// use simidx::batch::PairOptions;
    /// use simidx::Set;
    ///
    /// # use simidx::{Index, IndexBuilder, Width};
    /// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
    /// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
    /// # let mut file = Vec::new();
    /// # builder.finish(&mut file)?;
    /// # let segments = Set::from_bytes(file)?;
    /// let mut found = Vec::new();
    /// segments.pairs(&PairOptions::default(), |pair| {
    ///     found.push((pair.smaller, pair.larger));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, [(0xff00, 0xff01)]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// A damaged segment, a memory limit that is too small, and any error of temporary files or of `visit`. After an error
    /// of its own, `visit` is not called again.
    pub fn pairs(
        &self,
        options: &PairOptions,
        mut visit: impl FnMut(Pair) -> Result<()>,
    ) -> Result<()> {
        visit_pairs(self, options, &mut visit)
    }
}

fn visit_pairs(set: &Set, options: &PairOptions, visit: VisitPair<'_>) -> Result<()> {
    at_width!(set, set => pairs_of(set, options, &mut |pair| visit(pair.widened())))
}

/// [`Set::pairs`] of a set at its width.
pub(super) fn pairs_of<F: Fingerprint>(
    set: Typed<'_, F>,
    options: &PairOptions,
    visit: VisitPairOf<'_, F>,
) -> Result<()> {
    let mut finder = Finder::new(options)?;
    extend_from_set(&mut finder.gathered, set)?;
    finder.give(visit)
}

/// Finds all pairs of distinct fingerprints within a distance, without an index.
///
/// A cover is a set of masks such that any two fingerprints within the distance agree on one of them. For each mask,
/// the search groups the fingerprints that agree on it, and compares them. The number of fingerprints and a sample of
/// their bits determine the cheapest cover: for example, six masks of 21 bits for ten million fingerprints and distance
/// 3. Large groups are searched in the same way. (Manku, Jain and Das Sarma, WWW 2007, section 3, with tables that
/// exist only while they are used; and covering designs.)
///
/// Memory: about 2.1 times the fingerprints. Above the limit of the options, they are sorted in files for each mask.
///
/// ```
/// use simidx::Width;
/// use simidx::batch::{PairFinder, PairOptions};
///
/// let mut finder = PairFinder::new(Width::W64, &PairOptions::default())?;
/// for fingerprint in [0xff00_u64, 0xff01, 0xff03, 0x1234_5678_0000_0000, 0xff01] {
///     finder.push(fingerprint)?;
/// }
/// let mut pairs = Vec::new();
/// finder.finish(|pair| {
///     pairs.push((pair.smaller, pair.larger, pair.distance));
///     Ok(())
/// })?;
/// pairs.sort();
/// assert_eq!(pairs, [(0xff00, 0xff01, 1), (0xff00, 0xff03, 2), (0xff01, 0xff03, 1)]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct PairFinder {
    finder: OfWidth,
}

/// The search, by width.
type OfWidth = ByWidth<Finder<u32>, Finder<u64>, Finder<u128>>;

impl PairFinder {
    /// Creates a search for fingerprints of a width.
    ///
    /// # Errors
    /// A memory limit that is too small.
    pub fn new(width: Width, options: &PairOptions) -> Result<Self> {
        let finder = for_width!(width, Finder::new(options)?);
        Ok(PairFinder { finder })
    }

    /// Adds a fingerprint; repeated ones have no effect.
    ///
    /// # Errors
    /// A value that does not fit the width, and an error of the temporary file that takes fingerprints beyond the
    /// memory limit.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_value(fingerprint.to_u128())
    }

    fn push_value(&mut self, value: u128) -> Result<()> {
        by_width!(ByWidth, &mut self.finder, finder => finder.push(taken(value)?))
    }

    /// Adds the fingerprints of a column without copying it.
    ///
    /// # Errors
    /// A column of another width, and the errors of [`PairFinder::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend(fingerprints.into())
    }

    fn extend(&mut self, fingerprints: Column<'_>) -> Result<()> {
        by_width!(ByWidth, &mut self.finder, finder => finder.extend(fingerprints.values()?))
    }

    /// Calls `visit` once with every pair. Works on all threads of the current pool and calls `visit` on this one.
    ///
    /// # Errors
    /// Any error of temporary files or of `visit`, after which `visit` is not called again. More pairs than the options
    /// allow. More fingerprints within the distance of each other than a memory limit can hold. [`Error::Interrupted`]
    /// if the watch stops the search.
    pub fn finish(self, mut visit: impl FnMut(Pair) -> Result<()>) -> Result<()> {
        self.give(&mut visit)
    }

    fn give(self, visit: VisitPair<'_>) -> Result<()> {
        by_width!(ByWidth, self.finder, finder => finder.give(&mut |pair| visit(pair.widened())))
    }

    /// Counts the pairs.
    ///
    /// # Errors
    /// The errors of [`PairFinder::finish`].
    pub fn count(self) -> Result<u64> {
        by_width!(ByWidth, self.finder, finder => finder.count())
    }
}

/// A search among values of one type.
#[derive(Debug)]
pub(super) struct Finder<F> {
    options: PairOptions,
    space: ValueSpace,
    /// Bytes of memory to sort pairs.
    pair_budget: usize,
    /// Fingerprints in any order, with repetitions. They are sorted in memory up to a budget, beyond it in files.
    gathered: Sorter<Vec<F>>,
    rule: Rule<F>,
    /// From this many values on they are partitioned.
    few: usize,
}

impl<F: Fingerprint> Finder<F> {
    pub(super) fn new(options: &PairOptions) -> Result<Self> {
        let budget = MemoryLimit::new(options.memory)?.budget();
        Ok(Self::with_budget(options, budget))
    }

    fn with_budget(options: &PairOptions, budget: usize) -> Self {
        let limit = MemoryLimit::unlimited();
        let temp = limit.temp(options.temp_dir.clone());
        let pair_budget = if options.sorted { budget / 4 } else { 0 };
        let budget = budget - pair_budget;
        let space = ValueSpace {
            temp: temp.clone(),
            // Memory for all values, their copy in buckets, and at worst one bucket with all of them.
            sort_budget: budget / 3,
            value_budget: budget / 12,
        };
        Finder {
            gathered: Sorter::new(temp, space.sort_budget),
            options: options.clone(),
            space,
            pair_budget,
            rule: Rule::new(options.distance),
            few: FEW,
        }
    }

    /// Reserves memory for `count` values, within the limit.
    pub(super) fn reserve(&mut self, count: u64) {
        reserve(&mut self.gathered, count);
    }

    #[inline]
    pub(super) fn push(&mut self, value: F) -> Result<()> {
        self.gathered.add(|values| values.push(value))
    }

    pub(super) fn extend(&mut self, values: &[F]) -> Result<()> {
        add_all(&mut self.gathered, values)
    }

    /// See [`PairFinder::finish`].
    pub(super) fn give(self, visit: VisitPairOf<'_, F>) -> Result<()> {
        if !self.options.sorted {
            let mut take = |pairs: &mut Vec<(F, F)>| {
                let mut pairs = pairs.drain(..);
                pairs.try_for_each(|(x, y)| visit(PairOf::new(x, y)))
            };
            return self.find(&mut take);
        }
        let temp = self.space.temp.clone();
        let mut sorter = Sorter::<Vec<PairOf<F>>>::new(temp, self.pair_budget);
        let mut take = |pairs: &mut Vec<(F, F)>| {
            let mut pairs = pairs.drain(..);
            pairs.try_for_each(|(x, y)| sorter.add(|buffer| buffer.push(PairOf::new(x, y))))
        };
        self.find(&mut take)?;
        let sorted = sorter.finish()?;
        sorted.for_each_round(|pairs| pairs.iter().try_for_each(|&pair| visit(pair)))
    }

    fn count(self) -> Result<u64> {
        let mut count = 0;
        let mut take = |pairs: &mut Vec<(F, F)>| {
            count += pairs.len() as u64;
            pairs.clear();
            Ok(())
        };
        self.find(&mut take)?;
        Ok(count)
    }

    /// Passes every pair to `take`, its values in either order, up to the limit.
    fn find(self, take: Take<'_, F>) -> Result<()> {
        let mut limit = PairLimit::new(&self.options);
        let mut take = |pairs: &mut Vec<(F, F)>| {
            let budget = limit.admit(pairs.len());
            pairs.truncate(*budget.as_ref().unwrap_or_else(|(budget, _)| budget));
            take(pairs)?;
            budget.map(drop).map_err(|(_, error)| error)
        };
        self.find_all(&mut take)
    }

    fn find_all(self, take: Take<'_, F>) -> Result<()> {
        if self.options.distance == 0 {
            return Ok(());
        }
        match self.gathered.finish()? {
            Sorted::Memory(mut values) => {
                values.shrink_to_fit();
                find_in_memory(&values, &self.rule, self.few, take, &self.options.watch)
            }
            sorted => {
                let watch = &self.options.watch;
                let mut values = Values::of_sorted(sorted, &self.space, &mut |_| Ok(()))?;
                let mut take = |pairs: &mut Vec<(F, F)>| match pairs.is_empty() {
                    true => watch.report(Stage::Compare, 0, 0),
                    false => take(pairs),
                };
                search_values(&mut values, &self.rule, &self.space, &mut take)
            }
        }
    }
}

/// The callback for each pair.
type VisitPair<'a> = &'a mut dyn FnMut(Pair) -> Result<()>;

/// The callback for each pair in the type of its width.
type VisitPairOf<'a, F> = &'a mut dyn FnMut(PairOf<F>) -> Result<()>;

/// Counts pairs up to a limit.
#[derive(Debug)]
pub(super) struct PairLimit {
    limit: u64,
    left: u64,
}

impl PairLimit {
    pub(super) fn new(options: &PairOptions) -> Self {
        let limit = options.max_pairs.unwrap_or(u64::MAX);
        PairLimit { limit, left: limit }
    }

    /// Counts `count` pairs. Returns how many of them are within the limit, with an error if these are not all.
    pub(super) fn admit(&mut self, count: usize) -> Result<usize, (usize, Error)> {
        if count as u64 <= self.left {
            self.left -= count as u64;
            return Ok(count);
        }
        let left = std::mem::take(&mut self.left);
        let error = Error::LimitReached {
            what: "pairs",
            limit: self.limit,
        };
        Err((left as usize, error))
    }
}

/// Passes near pairs of distinct values to `take`: enough to link all values that near pairs link, and few more. Takes
/// as much memory as the values, and at worst twice as much.
///
/// # Errors
/// Any error of `take`, and an interruption.
pub(super) fn link_values<F: Fingerprint>(
    values: &[F],
    distance: u32,
    take: Take<'_, F>,
    watch: &Watch,
) -> Result<()> {
    match distance {
        0 => Ok(()),
        _ => find_in_memory(values, &Rule::spanning(distance), FEW, take, watch),
    }
}

/// Finds the near pairs of values in memory.
fn find_in_memory<F: Fingerprint>(
    values: &[F],
    rule: &Rule<F>,
    few: usize,
    take: Take<'_, F>,
    watch: &Watch,
) -> Result<()> {
    let bits = Bits::of(values);
    let cover = bits.cover(rule.distance, values.len() as u64, PARTITION_NS);
    let mut done = 0;
    let mut take_or_report = |pairs: &mut Vec<(F, F)>, total: usize| match pairs.is_empty() {
        true => {
            done += 1;
            watch.report(Stage::Compare, done, total as u64)
        }
        false => take(pairs),
    };
    let masks = match cover {
        Some(masks) if values.len() >= few && values.len() < u32::MAX as usize => masks,
        None if !rule.spans => {
            let part_len = (WATCHED / values.len().max(1)).max(1);
            let total = values.len().div_ceil(part_len);
            watch.report(Stage::Compare, 0, total as u64)?;
            let mut take = |pairs: &mut Vec<(F, F)>| take_or_report(pairs, total);
            return compare_in_parts(values, part_len, rule, &mut take);
        }
        _ => {
            watch.report(Stage::Compare, 0, 1)?;
            let mut out = Emitter::new(take).watched(watch);
            search(&mut values.to_vec(), rule, &mut out);
            out.finish()?;
            return watch.report(Stage::Compare, 1, 1);
        }
    };
    let mut buckets = Buckets::new(values.len());
    for number in 0..masks.len() {
        buckets.fill(values, &bits, masks[number]);
        let rule = rule.of_mask(&masks, number);
        let total = masks.len() * buckets.count();
        buckets.search_all(&rule, &mut |pairs| take_or_report(pairs, total))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::{Arc, Mutex};

    use super::*;
    use proptest::prelude::*;

    /// Returns the sorted pairs that a search finds with a budget. `sizes` holds the budget and the sizes from which it
    /// partitions and divides.
    fn found(values: &[u64], options: &PairOptions, sizes: [usize; 3]) -> Vec<(u64, u64, u32)> {
        let [budget, few, group] = sizes;
        let mut finder = Finder::with_budget(options, budget);
        finder.few = few;
        finder.rule = Rule::new(options.distance).with_few(group);
        finder.extend(values).unwrap();
        let mut pairs = Vec::new();
        let mut visit = |pair: PairOf<u64>| {
            pairs.push((pair.smaller, pair.larger, pair.distance));
            Ok(())
        };
        finder.give(&mut visit).unwrap();
        if options.sorted {
            assert!(pairs.is_sorted());
        }
        pairs.sort_unstable();
        pairs
    }

    fn expected(values: &[u64], distance: u32) -> Vec<(u64, u64, u32)> {
        let set: std::collections::BTreeSet<u64> = values.iter().copied().collect();
        let mut pairs = Vec::new();
        for &x in &set {
            let larger = set.range(x + 1..).map(|&y| (x, y, x.distance(y)));
            pairs.extend(larger.filter(|pair| pair.2 <= distance));
        }
        pairs
    }

    /// Returns what a search with a budget reports before the call that stops it.
    fn told(budget: usize, last: usize) -> (Vec<(u64, u64)>, Result<()>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let by_watch = Arc::clone(&told);
        let watch = Watch::new(move |progress| {
            let mut told = by_watch.lock().unwrap();
            told.push((progress.done, progress.total));
            match told.len() == last {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let mut finder = Finder::with_budget(&PairOptions::default().watch(watch), budget);
        finder.few = 0;
        for i in 0..2000u64 {
            finder.push(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
        }
        let found = finder.give(&mut |_| Ok(()));
        let told = told.lock().unwrap().clone();
        (told, found)
    }

    #[test]
    fn a_search_that_finds_nothing_says_how_far_it_is() {
        let (all, found) = told(usize::MAX, usize::MAX);
        found.unwrap();
        assert!(all.len() > 3);
        let total = all.len() as u64;
        assert!(
            all.iter()
                .copied()
                .eq((1..=total).map(|done| (done, total)))
        );
        let (in_files, found) = told(20_000, usize::MAX);
        found.unwrap();
        assert!(in_files.len() > 3 && in_files.iter().all(|&told| told == (0, 0)));
        for budget in [usize::MAX, 20_000] {
            let (some, found) = told(budget, 2);
            assert!(matches!(found, Err(Error::Interrupted)), "{found:?}");
            assert_eq!(some.len(), 2);
        }
    }

    fn spread(count: u64) -> Vec<u64> {
        let mix = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        (1..=count)
            .map(|i| mix(mix(i) ^ i).wrapping_mul(0xbf58_476d_1ce4_e5b9))
            .collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_search_without_a_cover_is_watched_and_divided() {
        let mut values = spread(4000);
        values.sort_unstable();
        let few = &values[..500];
        // All with all in parts, in one part, and only the pairs that link.
        for (values, rule, least) in [
            (&values[..], Rule::new(20), 3),
            (few, Rule::new(2), 2),
            (&values, Rule::spanning(16), 3),
        ] {
            for last in [usize::MAX, 1, 2] {
                let calls = Arc::new(Mutex::new(0));
                let by_watch = Arc::clone(&calls);
                let watch = Watch::new(move |_| {
                    let mut calls = by_watch.lock().unwrap();
                    *calls += 1;
                    match *calls == last {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
                let mut pairs = Vec::new();
                let mut take = |found: &mut Vec<(u64, u64)>| {
                    pairs.append(found);
                    Ok(())
                };
                let found = find_in_memory(values, &rule, FEW, &mut take, &watch);
                let calls = *calls.lock().unwrap();
                if last < usize::MAX {
                    assert!(matches!(found, Err(Error::Interrupted)), "{found:?}");
                    assert_eq!(calls, last);
                    continue;
                }
                found.unwrap();
                assert!(calls >= least, "{calls}");
                if !rule.spans {
                    let pairs: Vec<_> = pairs
                        .iter()
                        .map(|p| (p.0, p.1, p.0.distance(p.1)))
                        .collect();
                    assert!(pairs == expected(values, rule.distance));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn every_way_finds_the_pairs(
            values in prop::collection::vec(0u64..1 << 40, 0..400), kept in any::<u64>(),
            distance in 0u32..7, sorted: bool, group in 2usize..30, budget in 400usize..6000,
        ) {
            let values: Vec<u64> = values.into_iter().map(|v| v & kept).collect();
            let mut options = PairOptions::default();
            (options.distance, options.sorted) = (distance, sorted);
            let expected = expected(&values, distance);
            for sizes in [[usize::MAX, usize::MAX, 1024], [usize::MAX, 0, group], [usize::MAX, usize::MAX, group]] {
                prop_assert_eq!(&found(&values, &options, sizes), &expected);
            }
            // A group of near values that exceeds the memory is an error.
            if distance < 4 {
                prop_assert_eq!(&found(&values, &options, [budget * 4, 0, group]), &expected);
            }
        }
    }
}
