//! The ids of a fingerprint in several segments, in one order.

use std::iter::FusedIterator;
use std::vec;

use super::Names;
use super::Segments;
use super::hidden::HiddenKeys;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{Id, IdBuf, Ids};

/// The ids that a fingerprint has in one or several segments, in order; made by [`Segments::ids`](super::Segments::ids) and
/// [`Segments::ids_of`](super::Segments::ids_of).
///
/// The ids of one segment are read as the iterator goes on; an error is its last item. Those of several have been read. As an
/// iterator it gives each id as a value of its own; [`SegmentIds::read`] lends it.
///
/// ```
/// # use simidx::{BuildOptions, IndexBuilder};
/// use simidx::{IdKind, Index};
/// use simidx::segments::Segments;
///
/// let segment = |id| {
///     let mut options = BuildOptions::default();
///     options.ids = IdKind::Number;
///     let mut builder = IndexBuilder::<u64>::new(options)?;
///     builder.push_with_number(0xff, id)?;
///     let mut file = Vec::new();
///     builder.finish(&mut file)?;
///     Index::<u64>::from_bytes(file)
/// };
/// let segments = Segments::new(vec![segment(2)?, segment(1)?])?;
/// let mut ids = segments.ids_of(0xff)?;
/// assert_eq!(ids.next().unwrap()?.to_string(), "1");
/// assert_eq!(ids.next().unwrap()?.to_string(), "2");
/// assert!(ids.next().is_none());
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct SegmentIds<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    One {
        ids: Ids<'a>,
        /// The keys of ids that are left out.
        hidden: Option<HiddenKeys<'a>>,
        names: Names<'a>,
        segment: usize,
    },
    /// Each id with how often it comes. Equal ones may take no bytes in a file, so that there may be any number of them.
    Merged {
        ids: vec::IntoIter<(IdBuf, u64)>,
        /// The id that was read last, and how often it comes again.
        current: Option<(IdBuf, u64)>,
    },
}

impl<'a> SegmentIds<'a> {
    /// The ids of some segments, given with their numbers, without those that are left out.
    pub(super) fn merge<F: Fingerprint>(
        segments: &'a Segments<F>,
        mut ids_of_each: impl Iterator<Item = (usize, Result<Ids<'a>>)>,
    ) -> Result<Self> {
        let names = segments.names_in_errors();
        let mut ids = Vec::new();
        let Some((first, first_ids)) = ids_of_each.next() else {
            return Ok(Self::merged(ids));
        };
        let first_ids = first_ids.map_err(|error| names.blame(first, error))?;
        let Some(second) = ids_of_each.next() else {
            return Ok(SegmentIds(Source::One {
                ids: first_ids,
                hidden: segments.hidden_keys(first),
                names,
                segment: first,
            }));
        };
        let others = std::iter::once(second).chain(ids_of_each);
        for (segment, of_segment) in std::iter::once((first, Ok(first_ids))).chain(others) {
            let hidden = segments.hidden_keys(segment);
            let read = || {
                let mut of_segment = of_segment?;
                while let Some(id) = read_shown(&mut of_segment, hidden)? {
                    count_in(&mut ids, id);
                }
                Ok(())
            };
            read().map_err(|error| names.blame(segment, error))?;
        }
        // A stable sort merges runs, and the ids of each segment are one.
        ids.sort();
        Ok(Self::merged(ids))
    }

    fn merged(ids: Vec<(IdBuf, u64)>) -> Self {
        SegmentIds(Source::Merged {
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

impl SegmentIds<'_> {
    /// The next id, lent until the one after it is read.
    ///
    /// # Errors
    /// A damaged page, with the name of its segment. No id follows.
    pub fn read(&mut self) -> Result<Option<Id<'_>>> {
        match &mut self.0 {
            Source::One {
                ids,
                hidden,
                names,
                segment,
            } => read_shown(ids, *hidden).map_err(|error| names.blame(*segment, error)),
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

impl Iterator for SegmentIds<'_> {
    type Item = Result<IdBuf>;

    fn next(&mut self) -> Option<Result<IdBuf>> {
        let next = self.read().transpose()?;
        Some(next.map(IdBuf::from))
    }
}

impl FusedIterator for SegmentIds<'_> {}
