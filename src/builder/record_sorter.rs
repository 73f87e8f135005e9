//! Sorts the records of a build, then separates them into distinct fingerprints and ids.

use super::ids::IdSpool;
use super::sketches::SketchSpool;
use crate::error::Result;
use crate::extsort::{
    NamedRecords, Numbered, RecordBuffer, Sorter, ValueCollector, ValueSpace, Values,
};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, SketchParameters};
use crate::watch::{Reporter, Stage};

/// Distinct fingerprints that are passed on together.
const FRESH_LEN: usize = 1 << 16;

/// Collects all records of a build, which are of one kind.
#[derive(Debug)]
pub(super) enum RecordSorter<F> {
    Plain(Sorter<Vec<F>>),
    Numbers(Sorter<Vec<Numbered<F>>>),
    /// Records with string ids, or with sketches and ids of this kind. An id is kept as bytes, which are those of a
    /// number, or none without ids.
    Bytes {
        sorter: Sorter<NamedRecords<F>>,
        ids: IdKind,
        sketches: Option<SketchParameters>,
    },
}

/// Sorted records, separated into fingerprints, ids and sketches.
pub(crate) struct Separated<F> {
    /// The distinct fingerprints in order.
    pub(super) values: Values<F>,
    /// The ids of the records in order, if there are any.
    pub(super) ids: Option<IdSpool>,
    pub(super) sketches: Option<SketchSpool>,
}

impl<F: Fingerprint> Separated<F> {
    /// Number of distinct fingerprints.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.values.len()
    }
}

impl<F: Fingerprint> RecordSorter<F> {
    pub(super) fn new(
        ids: IdKind,
        sketches: Option<&SketchParameters>,
        space: &ValueSpace,
    ) -> Self {
        let temp = space.temp.clone();
        // Records with ids stay in memory while they are separated.
        let with_ids = space.sort_budget / 2;
        match (ids, sketches) {
            (IdKind::None, None) => RecordSorter::Plain(Sorter::new(temp, space.sort_budget)),
            (IdKind::Number, None) => RecordSorter::Numbers(Sorter::new(temp, with_ids)),
            (ids, sketches) => RecordSorter::Bytes {
                sorter: Sorter::new(temp, with_ids),
                ids,
                sketches: sketches.cloned(),
            },
        }
    }

    /// Returns the distinct fingerprints in order, with the ids and the sketches of the records in order if there are
    /// any.
    ///
    /// # Errors
    /// A failure to write or read runs.
    pub(super) fn separate(
        self,
        record_count: u64,
        id_lookup: bool,
        space: &ValueSpace,
        reporter: &mut Reporter,
    ) -> Result<Separated<F>> {
        reporter.begin(Stage::SortRecords, record_count)?;
        match self {
            RecordSorter::Plain(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(Stage::MergeRecords, record_count)?;
                let advance = &mut |count| reporter.advance(count);
                Ok(Separated {
                    values: Values::of_sorted(sorted, space, advance)?,
                    ids: None,
                    sketches: None,
                })
            }
            RecordSorter::Numbers(sorter) => {
                let sorted = sorter.finish()?;
                reporter.begin(Stage::MergeRecords, record_count)?;
                let mut separator = Separator::new(IdKind::Number, id_lookup, None, space);
                sorted.for_each_round(|round| {
                    reporter.advance(round.count() as u64)?;
                    let mut records = round.iter();
                    records
                        .try_for_each(|r| separator.push(r.fingerprint, &r.id.to_be_bytes(), &[]))
                })?;
                separator.finish()
            }
            RecordSorter::Bytes {
                sorter,
                ids,
                sketches,
            } => {
                let sorted = sorter.finish()?;
                reporter.begin(Stage::MergeRecords, record_count)?;
                let mut separator = Separator::new(ids, id_lookup, sketches, space);
                sorted.for_each_round(|round| {
                    reporter.advance(round.count() as u64)?;
                    round.for_each(|fingerprint, [id, sketch], ()| {
                        separator.push(fingerprint, id, sketch)
                    })
                })?;
                separator.finish()
            }
        }
    }
}

/// Separates sorted records into distinct fingerprints, ids and sketches.
pub(crate) struct Separator<'a, F> {
    kind: IdKind,
    values: ValueCollector<'a, F>,
    fresh: Vec<F>,
    last: Option<F>,
    ids: IdSpool,
    sketches: Option<SketchSpool>,
}

impl<'a, F: Fingerprint> Separator<'a, F> {
    /// Creates a separator for records with ids of this kind, and with sketches if there are parameters for them.
    pub(crate) fn new(
        kind: IdKind,
        id_lookup: bool,
        sketches: Option<SketchParameters>,
        space: &'a ValueSpace,
    ) -> Self {
        Separator {
            kind,
            values: ValueCollector::new(space),
            fresh: Vec::new(),
            last: None,
            ids: IdSpool::new(kind, id_lookup, &space.temp),
            sketches: sketches.map(|parameters| SketchSpool::new(parameters, &space.temp)),
        }
    }

    /// Appends a record by the bytes of its id, those of a number with the most significant first, and of its sketch;
    /// they are ignored in a build without ids or sketches.
    ///
    /// # Errors
    /// A failure to write a temporary file.
    pub(crate) fn push(&mut self, fingerprint: F, id: &[u8], sketch: &[u8]) -> Result<()> {
        let is_first = self.last != Some(fingerprint);
        if is_first {
            if self.fresh.len() == FRESH_LEN {
                self.values.push(&self.fresh)?;
                self.fresh.clear();
            }
            self.fresh.push(fingerprint);
            self.last = Some(fingerprint);
        }
        if let Some(sketches) = &mut self.sketches
            // The sketches of a fingerprint are sorted, so the first is the smallest.
            && (is_first || self.kind != IdKind::None)
        {
            sketches.push(sketch)?;
        }
        Ok(self.ids.push(fingerprint, is_first, id)?)
    }

    /// Returns the parts of all records.
    ///
    /// # Errors
    /// A failure to write the fingerprints to a temporary file.
    pub(crate) fn finish(mut self) -> Result<Separated<F>> {
        self.values.push(&self.fresh)?;
        Ok(Separated {
            values: self.values.finish()?,
            ids: (self.kind != IdKind::None).then_some(self.ids),
            sketches: self.sketches,
        })
    }
}
