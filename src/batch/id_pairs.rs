//! All pairs of records within a distance, by their ids.

use std::collections::HashMap;

use super::pairs::{PairLimit, PairOf, PairOptions, pairs_of};
use crate::error::{Error, Result};
use crate::extsort::{MIN_MEMORY, MemoryLimit, NamePairs, Sorter};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;
use crate::id::{Id, IdBuf};
use crate::set::{Set, Typed, at_width};

/// The most ids that are kept from look-ups.
const REMEMBERED: usize = 1 << 18;

/// Two records near each other, identified by their ids.
///
/// ```
/// use simidx::Id;
/// use simidx::batch::IdPair;
///
/// let pair = IdPair::new(Id::Number(9), Id::Number(4), 2);
/// assert_eq!((pair.smaller, pair.larger), (Id::Number(4), Id::Number(9)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct IdPair<'a> {
    /// The smaller id: numbers by value, strings by their bytes.
    pub smaller: Id<'a>,
    /// The larger id; equal to the smaller one if two records have the same id.
    pub larger: Id<'a>,
    /// Number of bits in which the fingerprints differ; 0 if the records share one.
    pub distance: u32,
}

impl<'a> IdPair<'a> {
    /// Creates a pair from two ids in either order.
    pub fn new(x: Id<'a>, y: Id<'a>, distance: u32) -> Self {
        IdPair {
            smaller: x.min(y),
            larger: x.max(y),
            distance,
        }
    }
}

impl Set {
    /// Calls `visit` once with every unordered pair of records of the set whose fingerprints are within a distance. Records
    /// that share a fingerprint are a pair at distance 0.
    ///
    /// Costs the same as [`Set::pairs`](crate::Set::pairs), plus one pass over all ids, plus two look-ups in table 0 for each pair
    /// of fingerprints whose ids have not been read recently. Memory: the limit of the options, plus the ids of one
    /// fingerprint.
    ///
    /// ```
    /// use simidx::batch::PairOptions;
    /// use simidx::Set;
    /// use simidx::{BuildOptions, IdKind, Index, IndexBuilder, Width};
    ///
    /// let mut options = BuildOptions::default();
    /// options.ids = IdKind::String;
    /// let mut builder = IndexBuilder::new(Width::W64, options)?;
    /// builder.push_with_id(0xff00_u64, "a")?;
    /// builder.push_with_id(0xff01_u64, "b")?;
    /// let mut file = Vec::new();
    /// builder.finish(&mut file)?;
    /// let segments = Set::from_bytes(file)?;
    /// let mut found = Vec::new();
    /// segments.id_pairs(&PairOptions::default(), |pair| {
    ///     found.push(format!("{} {} {}", pair.smaller, pair.larger, pair.distance));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, ["a b 1"]);
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Set::pairs`](crate::Set::pairs), and a set without ids.
    pub fn id_pairs(
        &self,
        options: &PairOptions,
        mut visit: impl FnMut(IdPair<'_>) -> Result<()>,
    ) -> Result<()> {
        id_pairs_of_any(self, options, &mut visit)
    }
}

fn id_pairs_of_any(set: &Set, options: &PairOptions, visit: Visit<'_>) -> Result<()> {
    at_width!(set, set => id_pairs_of(set, options, visit))
}

fn id_pairs_of<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &PairOptions,
    visit: Visit<'_>,
) -> Result<()> {
    match segments.id_kind() {
        IdKind::None if !segments.is_empty() => {
            let message = format!("{} has no ids", segments.name(0));
            Err(Error::option("ids", message))
        }
        _ if !options.sorted => find(segments, options, visit),
        IdKind::Number => sort_numbers(segments, options, visit),
        _ => sort_names(segments, options, visit),
    }
}

/// The callback for each pair of records.
type Visit<'v> = &'v mut dyn FnMut(IdPair<'_>) -> Result<()>;

/// Visits the pairs in the order in which they are found.
fn find<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &PairOptions,
    visit: Visit<'_>,
) -> Result<()> {
    let mut limit = PairLimit::new(options);
    let mut visit = |pair: IdPair<'_>| {
        limit.admit(1).map_err(|(_, error)| error)?;
        visit(pair)
    };
    let mut shared = segments.fingerprints(0)?;
    let mut ids = Vec::new();
    while let Some(value) = shared.next_permuted() {
        value?;
        ids.clear();
        for id in shared.ids()? {
            ids.push(id?);
        }
        all_pairs(&ids, &mut visit)?;
    }
    let mut look_up = LookUp {
        segments,
        known: HashMap::new(),
        len: 0,
    };
    let mut options = options.clone();
    (options.sorted, options.max_pairs) = (false, None);
    pairs_of(segments, &options, &mut |pair| {
        look_up.ensure([pair.smaller, pair.larger])?;
        for x in look_up.ids(pair.smaller) {
            for y in look_up.ids(pair.larger) {
                visit(IdPair::new(x.as_id(), y.as_id(), pair.distance))?;
            }
        }
        Ok(())
    })
}

/// Visits all pairs of a group of equal records.
fn all_pairs(ids: &[IdBuf], visit: Visit<'_>) -> Result<()> {
    let mut rest = ids;
    while let [id, others @ ..] = rest {
        let mut others_of_id = others.iter();
        others_of_id.try_for_each(|other| visit(IdPair::new(id.as_id(), other.as_id(), 0)))?;
        rest = others;
    }
    Ok(())
}

/// Looks up the ids of fingerprints, and keeps recent results.
struct LookUp<'a, F> {
    segments: Typed<'a, F>,
    known: HashMap<F, Vec<IdBuf>>,
    /// Number of ids kept.
    len: usize,
}

impl<F: Fingerprint> LookUp<'_, F> {
    /// Reads the ids of two members, unless they are kept from before.
    fn ensure(&mut self, members: [F; 2]) -> Result<()> {
        if self.len > REMEMBERED {
            self.known.clear();
            self.len = 0;
        }
        for member in members {
            if self.known.contains_key(&member) {
                continue;
            }
            let ids = self.segments.ids_of(member)?;
            let ids = ids.collect::<Result<Vec<_>>>()?;
            self.len += ids.len();
            self.known.insert(member, ids);
        }
        Ok(())
    }

    fn ids(&self, member: F) -> &[IdBuf] {
        self.known.get(&member).map_or(&[], Vec::as_slice)
    }
}

/// Divides the memory limit: returns the bytes for sorting pairs, and the options for the rest.
fn share(options: &PairOptions) -> Result<(usize, PairOptions)> {
    let mut rest = options.clone();
    let Some(memory) = options.memory else {
        return Ok((usize::MAX, rest));
    };
    MemoryLimit::new(Some(memory))?;
    let budget = memory / 4;
    rest.memory = Some((memory - budget).max(MIN_MEMORY));
    Ok((usize::try_from(budget).unwrap_or(usize::MAX), rest))
}

fn sort_numbers<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &PairOptions,
    visit: Visit<'_>,
) -> Result<()> {
    let (budget, rest) = share(options)?;
    let temp = MemoryLimit::unlimited().temp(options.temp_dir.clone());
    let mut sorter = Sorter::<Vec<PairOf<u64>>>::new(temp, budget);
    find(segments, &rest, &mut |pair| {
        let (Id::Number(smaller), Id::Number(larger)) = (pair.smaller, pair.larger) else {
            return Ok(());
        };
        let distance = pair.distance;
        sorter.add(|pairs| {
            pairs.push(PairOf {
                smaller,
                larger,
                distance,
            });
        })
    })?;
    sorter.finish()?.for_each_round(|pairs| {
        pairs.iter().try_for_each(|pair| {
            let [smaller, larger] = [pair.smaller, pair.larger].map(Id::Number);
            visit(IdPair::new(smaller, larger, pair.distance))
        })
    })
}

fn sort_names<F: Fingerprint>(
    segments: Typed<'_, F>,
    options: &PairOptions,
    visit: Visit<'_>,
) -> Result<()> {
    let (budget, rest) = share(options)?;
    let temp = MemoryLimit::unlimited().temp(options.temp_dir.clone());
    let mut sorter = Sorter::<NamePairs>::new(temp, budget);
    find(segments, &rest, &mut |pair| {
        let (Id::String(smaller), Id::String(larger)) = (pair.smaller, pair.larger) else {
            return Ok(());
        };
        let names = [smaller, larger].map(str::as_bytes);
        sorter.add(|pairs| pairs.push((), names, pair.distance))
    })?;
    sorter.finish()?.for_each_round(|pairs| {
        pairs.for_each(|(), names, distance| {
            // They were valid UTF-8 when the sorter took them.
            let names = names.map(String::from_utf8_lossy);
            let [smaller, larger] = names.each_ref().map(|name| Id::String(name));
            visit(IdPair::new(smaller, larger, distance))
        })
    })
}
