//! The ids and positions of many fingerprints in columns, read on all threads.

use super::answers::in_rounds;
use crate::error::Result;
use crate::fingerprint::{Column, Fingerprint};
use crate::id::Id;
use crate::id_kind::IdKind;
use crate::set::{Set, Typed, at_width};
use crate::threads::try_map_parts_with;
use crate::watch::Watch;

/// The ids of many fingerprints, in columns. Those of fingerprint `i` are at `offsets[i]..offsets[i + 1]`, in order.
///
/// ```
/// use simidx::batch::IdColumn;
/// use simidx::Set;
/// use simidx::{BuildOptions, IdKind, IndexBuilder, Watch, Width};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// for (fingerprint, id) in [(7_u64, 70), (7, 71), (42, 420)] {
///     builder.push_with_id(fingerprint, id)?;
/// }
/// let mut file = Vec::new();
/// builder.finish(&mut file)?;
/// let set = Set::from_bytes(file)?;
/// let lists = set.ids_of_all(&[42_u64, 7], &Watch::default())?;
/// assert_eq!(lists.offsets, [0, 1, 3]);
/// assert_eq!(lists.ids, IdColumn::Numbers(vec![420, 70, 71]));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdLists {
    /// The start of each fingerprint's ids, and the end of the last.
    pub offsets: Vec<u64>,
    /// The ids of all fingerprints.
    pub ids: IdColumn,
}

/// A column of ids, as in [`IdLists`].
///
/// ```
/// use simidx::Id;
/// use simidx::batch::IdColumn;
///
/// let ids = IdColumn::Strings { ends: vec![1, 3], text: "abc".to_owned() };
/// assert_eq!((ids.len(), ids.get(1)), (2, Some(Id::String("bc"))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdColumn {
    /// Number ids; also used for records without ids.
    Numbers(Vec<u64>),
    /// String ids.
    Strings {
        /// The end of each string in the text; it starts at the end of the one before.
        ends: Vec<u64>,
        /// All strings, concatenated.
        text: String,
    },
}

impl IdColumn {
    /// Creates an empty column of ids of a kind.
    pub fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::String => IdColumn::Strings {
                ends: Vec::new(),
                text: String::new(),
            },
            _ => IdColumn::Numbers(Vec::new()),
        }
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            IdColumn::Numbers(numbers) => numbers.len(),
            IdColumn::Strings { ends, .. } => ends.len(),
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an id by its number in the column, or `None` beyond the end.
    pub fn get(&self, number: usize) -> Option<Id<'_>> {
        match self {
            IdColumn::Numbers(numbers) => numbers.get(number).copied().map(Id::Number),
            IdColumn::Strings { ends, text } => {
                let end = *ends.get(number)? as usize;
                let start = number.checked_sub(1).map_or(0, |before| ends[before]) as usize;
                text.get(start..end).map(Id::String)
            }
        }
    }

    /// Adds an id of the kind of the column; one of the other kind has no effect.
    pub fn push(&mut self, id: Id<'_>) {
        match (self, id) {
            (IdColumn::Numbers(numbers), Id::Number(number)) => numbers.push(number),
            (IdColumn::Strings { ends, text }, Id::String(string)) => {
                text.push_str(string);
                ends.push(text.len() as u64);
            }
            // All segments of a set have the same kind of ids.
            _ => {}
        }
    }

    fn append(&mut self, more: Self) {
        match (self, more) {
            (IdColumn::Numbers(numbers), IdColumn::Numbers(more)) => numbers.extend(more),
            (
                IdColumn::Strings { ends, text },
                IdColumn::Strings {
                    ends: more,
                    text: further,
                },
            ) => {
                let start = text.len() as u64;
                ends.extend(more.iter().map(|end| start + end));
                text.push_str(&further);
            }
            _ => {}
        }
    }
}

impl IdLists {
    /// Creates lists for no fingerprints, of ids of a kind.
    pub fn new(kind: IdKind) -> Self {
        IdLists {
            offsets: vec![0],
            ids: IdColumn::new(kind),
        }
    }

    fn append(&mut self, more: Self) {
        let start = self.ids.len() as u64;
        let ends = more.offsets[1..].iter();
        self.offsets.extend(ends.map(|end| start + end));
        self.ids.append(more.ids);
    }
}

impl Set {
    /// Returns the ids of each fingerprint, as [`Set::ids_of`](crate::Set::ids_of) does for one. Works on all threads of
    /// the current pool, with `watch` as for [`Set::answer_all`](crate::Set::answer_all).
    ///
    /// # Errors
    /// A damaged file, fingerprints of another width than the set, and [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn ids_of_all<'f>(
        &self,
        fingerprints: impl Into<Column<'f>>,
        watch: &Watch,
    ) -> Result<IdLists> {
        lists_of(self, fingerprints.into(), watch)
    }
}

fn lists_of(set: &Set, column: Column<'_>, watch: &Watch) -> Result<IdLists> {
    at_width!(set, set => id_lists(set, column.values()?, watch))
}

fn id_lists<F: Fingerprint>(
    set: Typed<'_, F>,
    fingerprints: &[F],
    watch: &Watch,
) -> Result<IdLists> {
    let mut all = IdLists::new(set.id_kind());
    in_rounds(fingerprints, watch, |round, piece_len| {
        let pieces = try_map_parts_with(round, piece_len, || (), |(), piece| read(set, piece));
        pieces?.into_iter().for_each(|piece| all.append(piece));
        Ok(())
    })?;
    Ok(all)
}

fn read<F: Fingerprint>(set: Typed<'_, F>, fingerprints: &[F]) -> Result<IdLists> {
    let mut lists = IdLists::new(set.id_kind());
    for &fingerprint in fingerprints {
        let mut ids = set.ids_of(fingerprint)?;
        while let Some(id) = ids.read()? {
            lists.ids.push(id);
        }
        lists.offsets.push(lists.ids.len() as u64);
    }
    Ok(lists)
}

/// Returns the position of each fingerprint in the set, or `None` if no segment holds it. The position is the rank in
/// the first segment that holds it, plus the fingerprint counts of the segments before that one. Works on all threads
/// of the current pool, with `watch` as for [`Set::ids_of_all`].
///
/// ```
/// use simidx::Watch;
/// use simidx::batch::positions_of_all;
/// # use simidx::Set;
/// # use simidx::{Index, IndexBuilder, Width};
/// # let open = |fingerprints: &[u64]| {
/// #     let mut builder = IndexBuilder::new(Width::W64, Default::default())?;
/// #     builder.extend_from_slice(fingerprints)?;
/// #     let mut file = Vec::new();
/// #     builder.finish(&mut file)?;
/// #     Index::<u64>::from_bytes(file)
/// # };
/// let set = Set::new([open(&[7, 42])?, open(&[1, 42])?])?;
/// let positions = positions_of_all(&set, &[42_u64, 1, 9], &Watch::default())?;
/// assert_eq!(positions, [Some(1), Some(2), None]);
/// # Ok::<(), simidx::Error>(())
/// ```
///
/// # Errors
/// As for [`Set::ids_of_all`].
pub fn positions_of_all<'f>(
    set: &Set,
    fingerprints: impl Into<Column<'f>>,
    watch: &Watch,
) -> Result<Vec<Option<u64>>> {
    positions_of(set, fingerprints.into(), watch)
}

fn positions_of(set: &Set, column: Column<'_>, watch: &Watch) -> Result<Vec<Option<u64>>> {
    at_width!(set, set => positions(set, column.values()?, watch))
}

fn positions<F: Fingerprint>(
    set: Typed<'_, F>,
    fingerprints: &[F],
    watch: &Watch,
) -> Result<Vec<Option<u64>>> {
    let position = |&fingerprint: &F| {
        let mut start = 0;
        for (number, index) in set.indexes().enumerate() {
            if let Some(rank) = index.rank(fingerprint).map_err(set.blame(number))? {
                return Ok(Some(start + rank));
            }
            start += index.len();
        }
        Ok(None)
    };
    let mut all = Vec::with_capacity(fingerprints.len());
    in_rounds(fingerprints, watch, |round, piece_len| {
        let find =
            |(): &mut (), piece: &[F]| piece.iter().map(position).collect::<Result<Vec<_>>>();
        let pieces = try_map_parts_with(round, piece_len, || (), find);
        pieces?.into_iter().for_each(|piece| all.extend(piece));
        Ok(())
    })?;
    Ok(all)
}
