//! The answer to a query of a set.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use super::{Set, SetIds};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{Match, QueryStats};

/// A match in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The number of the query among those answered together.
    pub(super) owner: u32,
    pub(super) distance: u32,
    pub(super) fingerprint: u128,
    pub(super) segment: usize,
    rank: Option<u64>,
}

impl Found {
    pub(super) fn new<F: Fingerprint>(owner: u32, segment: usize, found: &Match<F>) -> Self {
        Found {
            owner,
            distance: found.distance,
            fingerprint: found.fingerprint.to_u128(),
            segment,
            rank: found.rank,
        }
    }

    /// Returns the match as the query of its file found it.
    pub(super) fn in_its_file<F: Fingerprint>(&self) -> Match<F> {
        let mut found = Match::unranked(self.distance, F::from_u128(self.fingerprint));
        found.rank = self.rank;
        found
    }
}

/// Groups sorted matches of one or several files by fingerprint, and appends the end of each group to `ends`.
pub(super) fn group(found: &[Found], ends: &mut Vec<usize>) {
    ends.clear();
    let mut end = 0;
    let groups = found.chunk_by(|a, b| a.fingerprint == b.fingerprint);
    ends.extend(groups.map(|group| {
        end += group.len();
        end
    }));
}

/// The answer to a query of a set, stored in a [`SetScratch`](super::SetScratch): each fingerprint once, by distance,
/// then by value.
///
/// ```
/// # use simidx::{BuildOptions, Index, IndexBuilder, Set, Width};
/// use simidx::set::SetScratch;
///
/// # let file = |fingerprint: u64| {
/// #     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// #     builder.push(fingerprint)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let set = Set::new([file(0xff)?, file(0xfe)?, file(0xff)?])?;
/// let mut scratch = SetScratch::new();
/// let matches = set.query_with(&mut scratch, 0xff_u64, 3)?;
/// assert_eq!(matches.len(), 2);
/// let nearest = matches.get(0).unwrap();
/// assert_eq!((nearest.fingerprint, nearest.distance), (0xff, 0));
/// assert_eq!(nearest.segments().collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct Matches<'s, F> {
    set: &'s Set,
    found: &'s [Found],
    ends: &'s [usize],
    stats: QueryStats,
    values: PhantomData<F>,
}

impl<F> Clone for Matches<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Matches<'_, F> {}

impl<'s, F: Fingerprint> Matches<'s, F> {
    pub(super) fn new(
        set: &'s Set,
        (found, ends): (&'s [Found], &'s [usize]),
        stats: QueryStats,
    ) -> Self {
        Matches {
            set,
            found,
            ends,
            stats,
            values: PhantomData,
        }
    }

    /// Returns the number of fingerprints found.
    pub fn len(self) -> usize {
        self.ends.len()
    }

    /// Whether the answer is empty.
    pub fn is_empty(self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the cost of the query in all files; for queries answered together, the cost of all so far.
    pub fn stats(self) -> QueryStats {
        self.stats
    }

    /// Returns a match by its number, or `None` beyond the end.
    pub fn get(self, number: usize) -> Option<Hit<'s, F>> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let found = &self.found[start..end];
        let first = found.first()?;
        Some(Hit {
            distance: first.distance,
            fingerprint: F::from_u128(first.fingerprint),
            set: self.set,
            found: Cow::Borrowed(found),
        })
    }

    /// Copies the matches, so that they outlive the scratch. `set` is the set that was queried.
    pub(super) fn owned_by(self, set: &Set) -> Vec<Hit<'_, F>> {
        let owned = self.iter().map(|hit| Hit {
            distance: hit.distance,
            fingerprint: hit.fingerprint,
            set,
            found: Cow::Owned(hit.found.into_owned()),
        });
        owned.collect()
    }

    /// Returns the matches in order.
    pub fn iter(
        self,
    ) -> impl DoubleEndedIterator<Item = Hit<'s, F>> + ExactSizeIterator + FusedIterator + use<'s, F>
    {
        (0..self.len()).map(move |number| self.get(number).expect("a number below the length"))
    }
}

/// A fingerprint that a query found. It records where it was found, so its ids can be read directly.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Set, Width};
/// use simidx::IdKind;
///
/// # let mut options = BuildOptions::default();
/// # options.ids = IdKind::Number;
/// # let mut builder = IndexBuilder::new(Width::W64, options)?;
/// # for (fingerprint, id) in [(7_u64, 70), (42, 420)] { builder.push_with_id(fingerprint, id)?; }
/// # let mut file = Vec::new();
/// # builder.finish(&mut file)?;
/// let set = Set::from_bytes(file)?; // of 7 and 42, with ids
/// for hit in set.query(43_u64, 1)? {
///     assert_eq!((hit.fingerprint, hit.distance), (42, 1));
///     assert_eq!(hit.ids()?.next().unwrap()?.to_string(), "420");
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hit<'a, F> {
    /// Number of bits in which the fingerprint differs from the query.
    pub distance: u32,
    /// The fingerprint found.
    pub fingerprint: F,
    set: &'a Set,
    found: Cow<'a, [Found]>,
}

impl<'a, F: Fingerprint> Hit<'a, F> {
    /// Returns the numbers of the files that hold the fingerprint, ascending.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = usize> {
        self.found.iter().map(|found| found.segment)
    }

    /// Returns the ids of the fingerprint in all files, in order: numbers by value, strings by their bytes, repeated
    /// for each record. Reads only the pages of these ids.
    ///
    /// If several files hold the fingerprint, this takes 32 bytes of memory for each id, or for each run of equal ids
    /// in a file.
    ///
    /// # Errors
    /// The errors of [`Index::ids`](crate::Index::ids), with the name of the file.
    pub fn ids(&self) -> Result<SetIds<'a>> {
        let ids = self
            .found
            .iter()
            .map(|found| (found.segment, self.set.ids_found(found)));
        SetIds::merge(self.set, ids)
    }
}
