//! Sorts the records of a build, then separates them into distinct fingerprints and ids.

use super::ids::IdSpool;
use super::progress::{BuildStage, Reporter};
use crate::error::Result;
use crate::extsort::{
    NamedRecords, Numbered, RecordBuffer, Sorter, ValueCollector, ValueSpace, Values,
};
use crate::fingerprint::Fingerprint;
use crate::format::IdKind;

/// Distinct fingerprints that are handed on at a time.
const FRESH_LEN: usize = 1 << 16;

/// Collects all records of one build, of one kind.
#[derive(Debug)]
pub(super) enum RecordSorter<F> {
    Plain(Sorter<Vec<F>>),
    Numbers(Sorter<Vec<Numbered<F>>>),
    Strings(Sorter<NamedRecords<F>>),
}

impl<F: Fingerprint> RecordSorter<F> {
    pub(super) fn new(ids: IdKind, space: &ValueSpace) -> Self {
        let temp = space.temp.clone();
        // Records with ids stay in memory while their fingerprints and ids are separated.
        let with_ids = space.sort_budget / 2;
        match ids {
            IdKind::None => RecordSorter::Plain(Sorter::new(temp, space.sort_budget)),
            IdKind::Number => RecordSorter::Numbers(Sorter::new(temp, with_ids)),
            IdKind::String => RecordSorter::Strings(Sorter::new(temp, with_ids)),
        }
    }

    /// The distinct fingerprints in order, and the ids in that order if there are any.
    ///
    /// # Errors
    /// What keeps runs from being written or read.
    pub(super) fn separate(
        self,
        record_count: u64,
        id_lookup: bool,
        space: &ValueSpace,
        reporter: &mut Reporter<'_>,
    ) -> Result<(Values<F>, Option<IdSpool>)> {
        reporter.begin(BuildStage::SortRecords, record_count);
        match self {
            RecordSorter::Plain(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let advance = &mut |count| reporter.advance(count);
                Ok((Values::of_sorted(sorted, space, advance)?, None))
            }
            RecordSorter::Numbers(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let mut separator = Separator::new(IdKind::Number, id_lookup, space);
                sorted.for_each_round(|round| {
                    reporter.advance(round.count() as u64);
                    round.iter().try_for_each(|record| {
                        let is_first = separator.is_first(record.fingerprint)?;
                        Ok(separator
                            .ids
                            .push_number(record.fingerprint, is_first, record.id)?)
                    })
                })?;
                separator.finish()
            }
            RecordSorter::Strings(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let mut separator = Separator::new(IdKind::String, id_lookup, space);
                sorted.for_each_round(|round| {
                    reporter.advance(round.count() as u64);
                    round.for_each(|fingerprint, id| {
                        let is_first = separator.is_first(fingerprint)?;
                        Ok(separator.ids.push_string(fingerprint, is_first, id)?)
                    })
                })?;
                separator.finish()
            }
        }
    }
}

/// Separates sorted records into distinct fingerprints and ids.
struct Separator<'a, F> {
    values: ValueCollector<'a, F>,
    fresh: Vec<F>,
    last: Option<F>,
    ids: IdSpool,
}

impl<'a, F: Fingerprint> Separator<'a, F> {
    fn new(kind: IdKind, id_lookup: bool, space: &'a ValueSpace) -> Self {
        Separator {
            values: ValueCollector::new(space),
            fresh: Vec::new(),
            last: None,
            ids: IdSpool::new(kind, id_lookup, &space.temp),
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
