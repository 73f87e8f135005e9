//! Sorts the records of a build, then separates them into distinct fingerprints and ids.

use super::ids::IdSpool;
use super::progress::{BuildStage, Reporter};
use super::sketches::SketchSpool;
use crate::error::{BuildError, Result};
use crate::extsort::{
    NamedRecords, Numbered, RecordBuffer, Sorter, ValueCollector, ValueSpace, Values,
};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, SketchParameters};

/// Distinct fingerprints that are handed on at a time.
const FRESH_LEN: usize = 1 << 16;

/// Collects all records of one build, of one kind.
#[derive(Debug)]
pub(super) enum RecordSorter<F> {
    Plain(Sorter<Vec<F>>),
    Numbers(Sorter<Vec<Numbered<F>>>),
    Strings(Sorter<NamedRecords<F>>),
    /// Records of any kind with sketches: the bytes of a number are its id, or none if there are no ids.
    Sketched {
        sorter: Sorter<NamedRecords<F>>,
        ids: IdKind,
        parameters: SketchParameters,
    },
}

/// Sorted records in parts.
pub(super) struct Separated<F> {
    /// The distinct fingerprints in order.
    pub(super) values: Values<F>,
    /// The ids in that order if there are any.
    pub(super) ids: Option<IdSpool>,
    pub(super) sketches: Option<SketchSpool>,
}

impl<F: Fingerprint> RecordSorter<F> {
    pub(super) fn new(
        ids: IdKind,
        sketches: Option<&SketchParameters>,
        space: &ValueSpace,
    ) -> Self {
        let temp = space.temp.clone();
        // Records with ids stay in memory while their fingerprints and ids are separated.
        let with_ids = space.sort_budget / 2;
        if let Some(parameters) = sketches {
            return RecordSorter::Sketched {
                sorter: Sorter::new(temp, with_ids),
                ids,
                parameters: parameters.clone(),
            };
        }
        match ids {
            IdKind::None => RecordSorter::Plain(Sorter::new(temp, space.sort_budget)),
            IdKind::Number => RecordSorter::Numbers(Sorter::new(temp, with_ids)),
            IdKind::String => RecordSorter::Strings(Sorter::new(temp, with_ids)),
        }
    }

    /// What a record without id and sketch lacks.
    pub(super) fn lacks_id(&self) -> BuildError {
        match self {
            RecordSorter::Sketched { .. } => BuildError::MissingSketch,
            _ => BuildError::MissingId,
        }
    }

    /// Why a record with an id of a kind and without a sketch cannot be taken.
    pub(super) fn refuses(&self, kind: IdKind) -> BuildError {
        match self {
            RecordSorter::Sketched { .. } => BuildError::MissingSketch,
            _ => BuildError::WrongIdKind(kind),
        }
    }

    /// The distinct fingerprints in order, the ids and the sketches in that order if there are any.
    ///
    /// # Errors
    /// What keeps runs from being written or read.
    pub(super) fn separate(
        self,
        record_count: u64,
        id_lookup: bool,
        space: &ValueSpace,
        reporter: &mut Reporter<'_>,
    ) -> Result<Separated<F>> {
        reporter.begin(BuildStage::SortRecords, record_count);
        match self {
            RecordSorter::Plain(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let advance = &mut |count| reporter.advance(count);
                Ok(Separated {
                    values: Values::of_sorted(sorted, space, advance)?,
                    ids: None,
                    sketches: None,
                })
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
            RecordSorter::Sketched {
                sorter,
                ids,
                parameters,
            } => {
                let sorted = sorter.finish()?;
                reporter.begin(BuildStage::MergeRecords, record_count);
                let mut sketches = SketchSpool::new(parameters, &space.temp);
                let mut separator = Separator::new(ids, id_lookup, space);
                sorted.for_each_round(|round| {
                    reporter.advance(round.count() as u64);
                    round.for_each_with_sketch(|fingerprint, id, sketch| {
                        let is_first = separator.is_first(fingerprint)?;
                        // Those of a fingerprint are sorted: the first one is the smallest.
                        if is_first || ids != IdKind::None {
                            sketches.push(sketch)?;
                        }
                        Ok(separator.ids.push_bytes(fingerprint, is_first, id)?)
                    })
                })?;
                let mut separated = separator.finish()?;
                separated.sketches = Some(sketches);
                if ids == IdKind::None {
                    separated.ids = None;
                }
                Ok(separated)
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

    fn finish(mut self) -> Result<Separated<F>> {
        self.values.push(&self.fresh)?;
        Ok(Separated {
            values: self.values.finish()?,
            ids: Some(self.ids),
            sketches: None,
        })
    }
}
