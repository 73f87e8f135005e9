//! The ids of a fingerprint in several segments, in one order.

use std::iter::FusedIterator;
use std::vec;

use super::Set;
use super::hidden::HiddenKeys;
use crate::error::Result;
use crate::id::{Id, IdBuf};
use crate::index::Ids;

/// The ids that a fingerprint has in one or several files, in order; made by [`Hit::ids`](super::Hit::ids) and
/// [`Set::ids_of`](super::Set::ids_of).
///
/// The ids of one segment are read as the iterator goes on; an error is its last item. Those of several have been read. As an
/// iterator it gives each id as a value of its own; [`SetIds::read`] lends it.
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
        /// The keys of ids that are left out.
        hidden: Option<HiddenKeys<'a>>,
        set: &'a Set,
        segment: usize,
    },
    /// Each id with how often it comes. Equal ones may take no bytes in a file, so that there may be any number of them.
    Merged {
        ids: vec::IntoIter<(IdBuf, u64)>,
        /// The id that was read last, and how often it comes again.
        current: Option<(IdBuf, u64)>,
    },
}

impl<'a> SetIds<'a> {
    /// The ids of some segments, given with their numbers, without those that are left out.
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
        // A stable sort merges runs, and the ids of each segment are one.
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

/// The next id that is not left out.
fn read_shown<'i>(ids: &'i mut Ids<'_>, hidden: Option<HiddenKeys<'_>>) -> Result<Option<Id<'i>>> {
    if let Some(keys) = hidden {
        ids.skip_while(|key| keys.contains(key))?;
    }
    ids.read()
}

/// Adds an id to those that are counted.
fn count_in(ids: &mut Vec<(IdBuf, u64)>, id: Id<'_>) {
    match ids.last_mut() {
        Some((last, count)) if last.as_id() == id => *count += 1,
        _ => ids.push((id.into(), 1)),
    }
}

impl SetIds<'_> {
    /// The next id, lent until the one after it is read.
    ///
    /// # Errors
    /// A damaged page, with the name of its segment. No id follows.
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
