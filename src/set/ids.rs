//! The ids of a fingerprint in several segments, in one order.

use std::iter::FusedIterator;
use std::vec;

use super::Set;
use super::hidden::HiddenKeys;
use crate::error::Result;
use crate::id::{Id, IdBuf};
use crate::index::Ids;

/// The ids of a fingerprint in one or several files, in order. Created by [`Hit::ids`](super::Hit::ids) and
/// [`Set::ids_of`](super::Set::ids_of).
///
/// The ids of a single segment are read during the iteration; an error is then the last item. The ids of several
/// segments have been read before. The iterator returns owned ids; [`SetIds::read`] lends each id.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder, Width};
/// use simidx::{IdKind, Index};
/// use simidx::Set;
///
/// let segment = |id| {
///     let mut options = BuildOptions::default();
///     options.ids = IdKind::Number;
///     let mut builder = IndexBuilder::new(Width::W64, options)?;
///     builder.push_with_id(0xff_u64, id)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let segments = Set::new([segment(2)?, segment(1)?])?;
/// let mut ids = segments.ids_of(0xff_u64)?;
/// assert_eq!(ids.next().unwrap()?.to_string(), "1");
/// assert_eq!(ids.next().unwrap()?.to_string(), "2");
/// assert!(ids.next().is_none());
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SetIds<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    One {
        ids: Ids<'a>,
        /// The excluded keys.
        hidden: Option<HiddenKeys<'a>>,
        set: &'a Set,
        segment: usize,
    },
    /// Each id with its number of repetitions. Equal ids may take no bytes in a file, so their number is not bounded by
    /// its size.
    Merged {
        ids: vec::IntoIter<(IdBuf, u64)>,
        /// The last id read, and how often it is still to be repeated.
        current: Option<(IdBuf, u64)>,
    },
}

impl<'a> SetIds<'a> {
    /// Merges the ids of several segments, each given with its number, without excluded ids.
    pub(super) fn merge(
        set: &'a Set,
        mut ids_of_each: impl Iterator<Item = (usize, Result<Ids<'a>>)>,
    ) -> Result<Self> {
        let mut ids = Vec::new();
        let Some((first, first_ids)) = ids_of_each.next() else {
            return Ok(Self::merged(ids));
        };
        let first_ids = first_ids.map_err(set.blame(first))?;
        let Some(second) = ids_of_each.next() else {
            return Ok(SetIds(Source::One {
                ids: first_ids,
                hidden: set.hidden_keys(first),
                set,
                segment: first,
            }));
        };
        let others = std::iter::once(second).chain(ids_of_each);
        for (segment, of_segment) in std::iter::once((first, Ok(first_ids))).chain(others) {
            let hidden = set.hidden_keys(segment);
            let read = || {
                let mut of_segment = of_segment?;
                while let Some(id) = read_shown(&mut of_segment, hidden)? {
                    count_in(&mut ids, id);
                }
                Ok(())
            };
            read().map_err(set.blame(segment))?;
        }
        // A stable sort merges runs, and the ids of each segment form one run.
        ids.sort();
        Ok(Self::merged(ids))
    }

    fn merged(ids: Vec<(IdBuf, u64)>) -> Self {
        SetIds(Source::Merged {
            ids: ids.into_iter(),
            current: None,
        })
    }
}

/// Reads the next id that is not excluded.
fn read_shown<'i>(ids: &'i mut Ids<'_>, hidden: Option<HiddenKeys<'_>>) -> Result<Option<Id<'i>>> {
    if let Some(keys) = hidden {
        ids.skip_while(|key| keys.contains(key))?;
    }
    ids.read()
}

/// Adds an id, or counts it if it equals the last one.
fn count_in(ids: &mut Vec<(IdBuf, u64)>, id: Id<'_>) {
    match ids.last_mut() {
        Some((last, count)) if last.as_id() == id => *count += 1,
        _ => ids.push((id.into(), 1)),
    }
}

impl SetIds<'_> {
    /// Returns the next id, valid until the following one is read.
    ///
    /// # Errors
    /// A damaged page, with the name of its segment. The iteration ends there.
    pub fn read(&mut self) -> Result<Option<Id<'_>>> {
        match &mut self.0 {
            Source::One {
                ids,
                hidden,
                set,
                segment,
            } => read_shown(ids, *hidden).map_err(set.blame(*segment)),
            Source::Merged { ids, current } => {
                match current {
                    Some((_, left)) if *left > 1 => *left -= 1,
                    _ => *current = ids.next(),
                }
                Ok(current.as_ref().map(|(id, _)| id.as_id()))
            }
        }
    }
}

impl Iterator for SetIds<'_> {
    type Item = Result<IdBuf>;

    fn next(&mut self) -> Option<Result<IdBuf>> {
        let next = self.read().transpose()?;
        Some(next.map(IdBuf::from))
    }
}

impl FusedIterator for SetIds<'_> {}
