//! The records of a build on their way to the file: sorted, then parted into distinct fingerprints and ids.

use super::batch::{Batch, Named, Numbered};
use super::ids::IdSpool;
use super::progress::{BuildStage, Reporter};
use super::sorter::{Sorted, Sorter};
use super::values::{ValueCollector, ValueSpace, Values, add_all};
use crate::error::{BuildError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_ID_LEN};

/// Distinct fingerprints that are handed on at a time.
const FRESH_LEN: usize = 1 << 16;

/// All records of one build, of one kind.
#[derive(Debug)]
pub(super) enum Records<F> {
    Plain(Sorter<Vec<F>>),
    Numbers(Sorter<Vec<Numbered<F>>>),
    Strings(Sorter<Named<F>>),
}

impl<F: Fingerprint> Records<F> {
    pub(super) fn new(ids: IdKind, space: &ValueSpace) -> Self {
        let scratch = space.scratch.clone();
        // Records with ids are parted into fingerprints and ids while they are still there.
        let with_ids = space.sort_room / 2;
        match ids {
            IdKind::None => Records::Plain(Sorter::new(scratch, space.sort_room)),
            IdKind::Number => Records::Numbers(Sorter::new(scratch, with_ids)),
            IdKind::String => Records::Strings(Sorter::new(scratch, with_ids)),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, fingerprint: F) -> Result<()> {
        match self {
            Records::Plain(sorter) => sorter.add(|batch| batch.push(fingerprint)),
            _ => Err(no_id()),
        }
    }

    pub(super) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        match self {
            Records::Plain(sorter) => add_all(sorter, fingerprints),
            _ if fingerprints.is_empty() => Ok(()),
            _ => Err(no_id()),
        }
    }

    #[inline]
    pub(super) fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()> {
        let Records::Numbers(sorter) = self else {
            return Err(BuildError::WrongIdKind(IdKind::Number).into());
        };
        sorter.add(|batch| batch.push(Numbered { fingerprint, id }))
    }

    pub(super) fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()> {
        let Records::Strings(sorter) = self else {
            return Err(BuildError::WrongIdKind(IdKind::String).into());
        };
        if id.len() > MAX_ID_LEN {
            return Err(BuildError::IdTooLong {
                len: id.len(),
                limit: MAX_ID_LEN,
            }
            .into());
        }
        sorter.add(|batch| batch.push(fingerprint, id.as_bytes()))
    }

    /// The distinct fingerprints in order, and the ids in that order if there are any.
    ///
    /// # Errors
    /// What keeps runs from being written or read.
    pub(super) fn part(
        self,
        record_count: u64,
        space: &ValueSpace,
        reporter: &mut Reporter<'_>,
    ) -> Result<(Values<F>, Option<IdSpool>)> {
        reporter.begin(BuildStage::SortRecords, record_count);
        match self {
            Records::Plain(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                Ok((Values::of_sorted(sorted, space, reporter)?, None))
            }
            Records::Numbers(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let mut parter = Parter::new(IdKind::Number, space);
                for_each_round(sorted, |round| {
                    reporter.advance(round.count() as u64);
                    round.iter().try_for_each(|record| {
                        let is_first = parter.is_first(record.fingerprint)?;
                        Ok(parter.ids.push_number(is_first, record.id)?)
                    })
                })?;
                parter.finish()
            }
            Records::Strings(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let mut parter = Parter::new(IdKind::String, space);
                for_each_round(sorted, |round| {
                    reporter.advance(round.count() as u64);
                    round.for_each(|fingerprint, id| {
                        let is_first = parter.is_first(fingerprint)?;
                        Ok(parter.ids.push_string(is_first, id)?)
                    })
                })?;
                parter.finish()
            }
        }
    }
}

/// Hands sorted records to `take`, those in memory at once.
fn for_each_round<B: Batch>(
    sorted: Sorted<B>,
    mut take: impl FnMut(&B) -> Result<()>,
) -> Result<()> {
    match sorted {
        Sorted::Memory(batch) => take(&batch),
        Sorted::Runs(mut merge) => {
            while let Some(round) = merge.next_round()? {
                take(round)?;
            }
            Ok(())
        }
    }
}

/// Parts sorted records into distinct fingerprints and ids.
struct Parter<'a, F> {
    values: ValueCollector<'a, F>,
    fresh: Vec<F>,
    last: Option<F>,
    ids: IdSpool,
}

impl<'a, F: Fingerprint> Parter<'a, F> {
    fn new(kind: IdKind, space: &'a ValueSpace) -> Self {
        Parter {
            values: ValueCollector::new(space),
            fresh: Vec::new(),
            last: None,
            ids: IdSpool::new(kind, &space.scratch),
        }
    }

    /// Whether the fingerprint is not that of the record before; it is kept then.
    fn is_first(&mut self, fingerprint: F) -> Result<bool> {
        if self.last == Some(fingerprint) {
            return Ok(false);
        }
        if self.fresh.len() == FRESH_LEN {
            self.values.push(&self.fresh)?;
            self.fresh.clear();
        }
        self.fresh.push(fingerprint);
        self.last = Some(fingerprint);
        Ok(true)
    }

    fn finish(mut self) -> Result<(Values<F>, Option<IdSpool>)> {
        self.values.push(&self.fresh)?;
        Ok((self.values.finish()?, Some(self.ids)))
    }
}

fn no_id() -> crate::Error {
    BuildError::MissingId.into()
}
