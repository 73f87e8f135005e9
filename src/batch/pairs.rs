//! All pairs of distinct fingerprints within a distance: which way they are found, and in which order they come.

use std::path::PathBuf;

use super::cover::Bits;
use super::emit::Emitter;
use super::gathered::Gathered;
use super::group::{Rule, search};
use super::pair_lists::{PairSorter, for_each_sorted};
use super::partition::Buckets;
use super::spill::{Take, search_values};
use crate::error::{Error, Result};
use crate::extsort::{MemoryLimit, Sorted, ValueSpace, Values};
use crate::fingerprint::{Column, Fingerprint, Width, by_width, taken};
use crate::set::{Set, Typed, at_width};
use crate::setters;
use crate::watch::{Stage, Watch};

/// Values below which sorting them for each mask is as good as partitioning.
pub(super) const FEW: usize = 1 << 15;

/// Nanoseconds to partition one value and look at its group.
const PARTITION_NS: f64 = 12.0;

/// How pairs are searched for. Start from [`PairOptions::default`] and set what differs.
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
    /// Whether pairs come in order, by their smaller member, then the larger one. Otherwise they come in the order in
    /// which they are found: always the same for the same fingerprints, distance and memory. Default `false`.
    pub sorted: bool,
    /// Most pairs that are wanted. If there are more, the search ends with an error: after that many pairs have been
    /// given, or before the first one if they are sorted. By default there is no limit.
    pub max_pairs: Option<u64>,
    /// Bytes of memory that the search may use, at least [`MIN_MEMORY`](crate::builder::MIN_MEMORY); what does not fit goes to
    /// temporary files, also pairs that are to be sorted. By default there is no limit.
    pub memory: Option<u64>,
    /// Where temporary files go, see [`BuildOptions::temp_dir`](crate::BuildOptions::temp_dir).
    pub temp_dir: Option<PathBuf>,
    /// Called on the calling thread every few milliseconds with how many parts of the search are done, of how many: of 0 with a
    /// limit of memory. It may stop the search. Default none.
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
    /// The one with the smaller value.
    pub smaller: u128,
    /// The other one.
    pub larger: u128,
    /// Number of bits in which they differ, at least 1.
    pub distance: u32,
}

impl Pair {
    /// The pair of two fingerprints of one width in either order.
    pub fn new<F: Fingerprint>(x: F, y: F) -> Self {
        PairOf::new(x, y).widened()
    }
}

/// A pair of one type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairOf<F> {
    pub(super) smaller: F,
    pub(super) larger: F,
    pub(super) distance: u32,
}

impl<F: Fingerprint> PairOf<F> {
    /// The pair of two values in either order.
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

/// Calls `visit` with every unordered pair of distinct fingerprints of the segments within a distance, each once.
///
/// The search reads table 0 of each segment once and then works like [`PairFinder`], with tables of its own, one at a time. Ten million fingerprints take about two seconds on one thread.
///
/// ```
/// use simidx::batch::{PairOptions, pairs};
/// use simidx::Set;
///
/// # use simidx::{Index, IndexBuilder, Width};
/// # let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// # builder.extend_from_slice(&[0xff00_u64, 0xff01, 0x1234_5678])?;
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// # let segments = Set::from_bytes(file)?;
/// let mut found = Vec::new();
/// pairs(&segments, &PairOptions::default(), |pair| {
///     found.push((pair.smaller, pair.larger));
///     Ok(())
/// })?;
/// assert_eq!(found, [(0xff00, 0xff01)]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// A damaged segment, a memory limit that cannot be kept, and what temporary files or `visit` report; after an error of
/// its own `visit` is not called again.
pub fn pairs(
    set: &Set,
    options: &PairOptions,
    mut visit: impl FnMut(Pair) -> Result<()>,
) -> Result<()> {
    visit_pairs(set, options, &mut visit)
}

fn visit_pairs(set: &Set, options: &PairOptions, visit: VisitPair<'_>) -> Result<()> {
    at_width!(set, set => pairs_of(set, options, &mut |pair| visit(pair.widened())))
}

/// [`pairs`] of a set at its width.
pub(super) fn pairs_of<F: Fingerprint>(
    set: Typed<'_, F>,
    options: &PairOptions,
    visit: VisitPairOf<'_, F>,
) -> Result<()> {
    let mut finder = Finder::new(options)?;
    finder.gathered.extend_from_set(set)?;
    finder.give(visit)
}

/// Finds all pairs of distinct fingerprints within a distance, straight from the fingerprints.
///
/// For each mask of a cover, a set of masks such that two fingerprints within the distance agree on one of them, those are
/// brought together that agree on it, and compared. The number of fingerprints and a sample of their bits decide which
/// cover is cheapest; six masks of 21 bits at ten million for distance 3. Groups that come out large are searched in
/// the same way. (Manku, Jain and Das Sarma, WWW 2007, section 3, with tables that live as long as they are used; covering
/// designs as in [`Covering`](crate::design::Covering).)
///
/// Memory: about 2.1 times the fingerprints; above the limit of the options they are sorted outside for each mask.
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

/// The search at its width.
#[derive(Debug)]
enum OfWidth {
    W32(Finder<u32>),
    W64(Finder<u64>),
    W128(Finder<u128>),
}

impl PairFinder {
    /// A search without fingerprints, for those of a width.
    ///
    /// # Errors
    /// A memory limit that is too small to be kept.
    pub fn new(width: Width, options: &PairOptions) -> Result<Self> {
        let finder = match width {
            Width::W32 => OfWidth::W32(Finder::new(options)?),
            Width::W64 => OfWidth::W64(Finder::new(options)?),
            Width::W128 => OfWidth::W128(Finder::new(options)?),
        };
        Ok(PairFinder { finder })
    }

    /// Adds a fingerprint; one that is there already changes nothing.
    ///
    /// # Errors
    /// A value that does not fit the width, and what keeps fingerprints that exceed the memory limit from being written to a
    /// temporary file.
    #[inline]
    pub fn push(&mut self, fingerprint: impl Fingerprint) -> Result<()> {
        self.push_value(fingerprint.to_u128())
    }

    fn push_value(&mut self, value: u128) -> Result<()> {
        by_width!(OfWidth, &mut self.finder, finder => finder.push(taken(value)?))
    }

    /// Adds the fingerprints of a column, which takes no copy of it.
    ///
    /// # Errors
    /// A column of another width, and as for [`PairFinder::push`].
    pub fn extend_from_slice<'c>(&mut self, fingerprints: impl Into<Column<'c>>) -> Result<()> {
        self.extend(fingerprints.into())
    }

    fn extend(&mut self, fingerprints: Column<'_>) -> Result<()> {
        by_width!(OfWidth, &mut self.finder, finder => finder.extend(fingerprints.values()?))
    }

    /// Calls `visit` with every pair, each once. It works on all threads of the current pool and calls `visit` on this one.
    ///
    /// # Errors
    /// What temporary files or `visit` report; then `visit` is not called again. With a memory limit, so many fingerprints
    /// within the distance of each other that they fit it in no way. More pairs than are wanted. [`Error::Interrupted`] if the watch
    /// stops the search.
    pub fn finish(self, mut visit: impl FnMut(Pair) -> Result<()>) -> Result<()> {
        self.give(&mut visit)
    }

    fn give(self, visit: VisitPair<'_>) -> Result<()> {
        by_width!(OfWidth, self.finder, finder => finder.give(&mut |pair| visit(pair.widened())))
    }

    /// Number of pairs.
    ///
    /// # Errors
    /// As for [`PairFinder::finish`].
    pub fn count(self) -> Result<u64> {
        by_width!(OfWidth, self.finder, finder => finder.count())
    }
}

/// A search among values of one type.
#[derive(Debug)]
pub(super) struct Finder<F> {
    options: PairOptions,
    space: ValueSpace,
    /// Bytes of memory for pairs that are sorted.
    pair_budget: usize,
    gathered: Gathered<F>,
    rule: Rule<F>,
    /// Values from which on they are partitioned.
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
            // All of the values, their copy in buckets, and at worst one bucket with all of them.
            sort_budget: budget / 3,
            value_budget: budget / 12,
        };
        Finder {
            gathered: Gathered::new(temp, space.sort_budget),
            options: options.clone(),
            space,
            pair_budget,
            rule: Rule::new(options.distance),
            few: FEW,
        }
    }

    /// Reserves memory for this many values, as far as the limit permits.
    pub(super) fn reserve(&mut self, count: u64) {
        self.gathered.reserve(count);
    }

    #[inline]
    pub(super) fn push(&mut self, value: F) -> Result<()> {
        self.gathered.push(value)
    }

    pub(super) fn extend(&mut self, values: &[F]) -> Result<()> {
        self.gathered.extend(values)
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
        let mut sorter = PairSorter::new(temp, self.pair_budget);
        let mut take = |pairs: &mut Vec<(F, F)>| {
            let mut pairs = pairs.drain(..);
            pairs.try_for_each(|(x, y)| sorter.add(|buffer| buffer.push(PairOf::new(x, y))))
        };
        self.find(&mut take)?;
        for_each_sorted(sorter, visit)
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

    /// Hands every pair to `take`, in any order within the pair, up to the limit.
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

/// Is called with each pair.
type VisitPair<'a> = &'a mut dyn FnMut(Pair) -> Result<()>;

/// Is called with each pair of one type of values.
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

    /// Counts so many pairs, and says how many of them may be given: all, or else some of them before this error.
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

/// Hands pairs of distinct values near each other to `take`: enough of them to link all that pairs would link, and not
/// many more. Takes as much memory as the values, and at worst twice that.
///
/// # Errors
/// What `take` reports, and an interruption.
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

/// Finds the pairs of values in memory.
fn find_in_memory<F: Fingerprint>(
    values: &[F],
    rule: &Rule<F>,
    few: usize,
    take: Take<'_, F>,
    watch: &Watch,
) -> Result<()> {
    let bits = Bits::of(values);
    let cover = bits.cover(rule.distance, values.len() as u64, PARTITION_NS);
    let masks = match cover {
        Some(masks) if values.len() >= few && values.len() < u32::MAX as usize => masks,
        _ => {
            let mut out = Emitter::new(take);
            search(&mut values.to_vec(), rule, &mut out);
            return out.finish();
        }
    };
    let mut buckets = Buckets::new(values.len());
    let mut done = 0;
    for number in 0..masks.len() {
        buckets.fill(values, &bits, masks[number]);
        let rule = rule.of_mask(&masks, number);
        let total = (masks.len() * buckets.count()) as u64;
        buckets.search_all(&rule, &mut |pairs| {
            if !pairs.is_empty() {
                return take(pairs);
            }
            done += 1;
            watch.report(Stage::Compare, done, total)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::{Arc, Mutex};

    use super::*;
    use proptest::prelude::*;

    /// The sorted pairs that a search finds within a budget, partitioning and refining from these sizes on.
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

    /// What a search with this budget reports, up to the call that is to stop it.
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
            // So many near each other that they fit no memory are refused.
            if distance < 4 {
                prop_assert_eq!(&found(&values, &options, [budget * 4, 0, group]), &expected);
            }
        }
    }
}
