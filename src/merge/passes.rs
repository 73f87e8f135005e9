//! The passes of a merge: one over the records of all segments, then for each table one or two over its values.

use std::cell::RefCell;

use super::excluded_ids::ExcludedSlots;
use super::exclusions::IdPass;
use super::streams::{RecordStream, TableStream};
use super::{MergeCodec, MergeOptions};
use crate::build::{Assembler, BuildStage, IdSpool, Reporter};
use crate::codec::Codec;
use crate::design::Permutation;
use crate::error::{FormatError, Result};
use crate::extsort::{Merge, NamedRecords, Numbered, RecordBuffer, Stream, TempSpace, ValueSource};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Metadata};
use crate::index::Index;
use crate::segments::SegmentsView;

/// The result of the pass over the records of all segments.
pub(super) struct MergedRecords<F> {
    pub(super) ids: Option<IdSpool>,
    /// Without ids it still counts what repeated a fingerprint that is left out.
    pub(super) record_count: u64,
    /// Fingerprints that the records have, where they were gone through.
    pub(super) fingerprint_count: Option<u64>,
    /// Fingerprints that are left with no record, ascending.
    pub(super) dropped: Vec<F>,
    /// Ids to be left out that no record has.
    pub(super) unmatched_id_count: u64,
}

impl<F> MergedRecords<F> {
    /// The number of records to write with this many fingerprints, as rule V8 requires it whatever was counted.
    pub(super) fn count(&self, fingerprint_count: u64) -> u64 {
        match fingerprint_count {
            0 => 0,
            least => self.record_count.max(least),
        }
    }
}

pub(super) struct Merger<'a, F, D> {
    pub(super) segments: SegmentsView<'a, F, D>,
    pub(super) options: &'a MergeOptions<F>,
    pub(super) temp: TempSpace,
    pub(super) budget: usize,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]> + Send + Sync> Merger<'a, F, D> {
    /// The segment whose parameters the result has.
    pub(super) fn model(&self) -> Result<&'a Index<F, D>> {
        self.segments.model()
    }

    /// Those that have records, with their numbers.
    fn segments(&self) -> impl Iterator<Item = (usize, &'a Index<F, D>)> + use<'a, F, D> {
        let segments = self.segments.indexes().enumerate();
        segments.filter(|(_, index)| !index.is_empty())
    }

    /// Table `t` of each segment.
    fn tables(&self, t: usize) -> Result<Vec<TableStream<'a, F, D>>> {
        let stream = |segment| TableStream::new(self.segments, segment, t);
        self.segments().map(stream).collect()
    }

    /// The records of each segment but those that their ids leave out, whose fingerprints go to `touched`.
    fn records<'t>(
        &self,
        excluded: &'t [ExcludedSlots],
        touched: &'t RefCell<Vec<F>>,
    ) -> Result<Vec<RecordStream<'a, 't, F, D>>> {
        let segments = self.segments().zip(excluded);
        segments
            .map(|(segment, excluded)| RecordStream::new(self.segments, segment, excluded, touched))
            .collect()
    }

    /// Reads the records of all segments in order and keeps their ids for the file.
    pub(super) fn merge_records(&self, reporter: &mut Reporter<'_>) -> Result<MergedRecords<F>> {
        let total = self.segments.record_count();
        let kind = self.model()?.id_kind();
        if kind == IdKind::None {
            return self.count_records(total);
        }
        reporter.begin(BuildStage::MergeRecords, total);
        let exclusions = &self.options.exclusions;
        let (numbers, segments): (Vec<usize>, Vec<_>) = self.segments().unzip();
        let blame = |at: usize, error| self.segments.blame(numbers[at])(error);
        let (excluded, unmatched_id_count) = exclusions.marked(&segments, blame)?;
        let touched = RefCell::new(Vec::new());
        let mut pass = IdPass::new(exclusions, self.id_spool(kind));
        let streams = self.records(&excluded, &touched)?;
        match kind {
            IdKind::Number => {
                self.for_each_round(streams, reporter, |round: &mut Vec<Numbered<F>>| {
                    round.iter().try_for_each(|record| {
                        let (fingerprint, id) = (record.fingerprint, record.id);
                        match pass.keep(fingerprint) {
                            Some(is_first) => {
                                Ok(pass.ids.push_number(fingerprint, is_first, id)?)
                            }
                            None => Ok(()),
                        }
                    })
                })?;
            }
            _ => self.for_each_round(streams, reporter, |round: &mut NamedRecords<F>| {
                round.for_each(|fingerprint, id| match pass.keep(fingerprint) {
                    Some(is_first) => Ok(pass.ids.push_string(fingerprint, is_first, id)?),
                    None => Ok(()),
                })
            })?,
        }
        let mut dropped = touched.into_inner();
        F::sort(&mut dropped);
        dropped.dedup();
        let dropped = self.without_records(dropped, &excluded)?;
        Ok(pass.finish(dropped, unmatched_id_count))
    }

    /// Those of some fingerprints all of whose records are left out by their ids.
    fn without_records(&self, mut all: Vec<F>, excluded: &[ExcludedSlots]) -> Result<Vec<F>> {
        for ((number, segment), excluded) in self.segments().zip(excluded) {
            let mut fault = None;
            all.retain(|&fingerprint| {
                let is_left = segment.all_slots(fingerprint, |slot| excluded.contains(slot));
                is_left.unwrap_or_else(|error| {
                    fault = Some(error);
                    false
                })
            });
            if let Some(error) = fault {
                return Err(self.segments.blame(number)(error));
            }
        }
        Ok(all)
    }

    /// No ids yet. The result has their order if all segments have it.
    fn id_spool(&self, kind: IdKind) -> IdSpool {
        let with_order = self.segments().all(|(_, index)| index.has_id_lookup());
        IdSpool::new(kind, with_order, &self.temp)
    }

    /// What all segments say of themselves.
    pub(super) fn metadata(&self) -> Metadata {
        let mut segments = self.segments().map(|(_, index)| index.metadata());
        let mut common = segments.next().cloned().unwrap_or_default();
        segments.for_each(|other| common.retain_common(other));
        common
    }

    /// Without ids no records need to be read.
    fn count_records(&self, total: u64) -> Result<MergedRecords<F>> {
        let mut held = 0;
        let mut dropped = Vec::new();
        for fingerprint in self.options.exclusions.fingerprints() {
            let mut is_held = false;
            for (number, segment) in self.segments() {
                let contains = segment.contains(fingerprint);
                if contains.map_err(self.segments.blame(number))? {
                    held += 1;
                    is_held = true;
                }
            }
            if is_held {
                dropped.push(fingerprint);
            }
        }
        F::sort(&mut dropped);
        Ok(MergedRecords {
            ids: None,
            // Segments whose counts are wrong are found out when their tables are read.
            record_count: total.saturating_sub(held),
            fingerprint_count: None,
            dropped,
            unmatched_id_count: 0,
        })
    }

    fn for_each_round<'t, B>(
        &self,
        streams: Vec<RecordStream<'a, 't, F, D>>,
        reporter: &mut Reporter<'_>,
        mut take: impl FnMut(&mut B) -> Result<()>,
    ) -> Result<()>
    where
        B: RecordBuffer,
        RecordStream<'a, 't, F, D>: Stream<B>,
    {
        let mut merge = Merge::new(streams, self.budget);
        while let Some(round) = merge.next_round()? {
            take(round)?;
            reporter.advance(round.count() as u64);
        }
        Ok(())
    }

    /// Writes all tables and returns the number of fingerprints in each.
    pub(super) fn merge_tables(
        &self,
        file: &mut Assembler<'_>,
        records: &MergedRecords<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<u64> {
        let counts = self.segments().map(|(_, index)| index.len());
        let most = counts.sum();
        let mut first_count = records.fingerprint_count;
        for (t, mask) in self.model()?.prefix_masks().enumerate() {
            let permutation = Permutation::new(mask);
            let mut values = MergedTable {
                merger: self,
                table: t,
                dropped: records
                    .dropped
                    .iter()
                    .map(|&f| permutation.apply(f).0)
                    .collect(),
                seen: None,
            };
            F::sort(&mut values.dropped);
            let (codec, expected) = (self.codec(t), first_count.unwrap_or(most));
            let count = file.write_table(mask, codec, &mut values, expected, reporter)?;
            if *first_count.get_or_insert(count) != count {
                let message = "the tables of a segment hold different fingerprints";
                return Err(FormatError::damaged(36, message).in_table(t).into());
            }
        }
        Ok(first_count.unwrap_or(0))
    }

    /// The codec of table `t`; `None` where the data shall choose.
    fn codec(&self, t: usize) -> Option<Codec> {
        match self.options.codec {
            MergeCodec::Given(codec) => return Some(codec),
            MergeCodec::Chosen => return None,
            MergeCodec::AsSegments => {}
        }
        let mut codecs = self.segments().map(|(_, index)| index.codec(t));
        let first = codecs.next()?;
        codecs.all(|codec| codec == first).then_some(first)
    }
}

/// The union of a table of all segments, without what is dropped.
struct MergedTable<'m, 'a, F, D> {
    merger: &'m Merger<'a, F, D>,
    table: usize,
    /// Permuted values, ascending.
    dropped: Vec<F>,
    /// What the first pass went through.
    seen: Option<Seen<F>>,
}

/// A summary of the values of a pass: two passes over the same values have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen<F> {
    count: u64,
    /// Of all values, less what passes the width.
    sum: F,
}

impl<F: Fingerprint> Seen<F> {
    fn add(&mut self, values: &[F]) {
        self.count += values.len() as u64;
        let sum = |sum: F, &value: &F| sum.wrapping_add(value);
        self.sum = values.iter().fold(self.sum, sum);
    }
}

impl<F: Fingerprint, D> MergedTable<'_, '_, F, D> {
    /// The code is chosen by the first pass and has no codeword for what else the second one may hold.
    fn check_pass(&mut self, seen: Seen<F>) -> Result<()> {
        if *self.seen.get_or_insert(seen) == seen {
            return Ok(());
        }
        let message = "the table of a segment changed while it was read";
        Err(FormatError::damaged(36, message)
            .in_table(self.table)
            .into())
    }
}

impl<F: Fingerprint, D: AsRef<[u8]> + Send + Sync> ValueSource<F> for MergedTable<'_, '_, F, D> {
    fn for_each_piece(&mut self, take: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        let streams = self.merger.tables(self.table)?;
        let mut merge = Merge::<Vec<F>, _>::new(streams, self.merger.budget);
        let mut dropped = self.dropped.as_slice();
        let mut last = None;
        let mut seen = Seen {
            count: 0,
            sum: F::ZERO,
        };
        while let Some(round) = merge.next_round()? {
            let end = round.last().copied();
            round.retain(|&value| {
                let passed = dropped.iter().take_while(|d| **d < value).count();
                dropped = &dropped[passed..];
                dropped.first() != Some(&value) && last != Some(value)
            });
            last = end;
            seen.add(round);
            take(round)?;
        }
        self.check_pass(seen)
    }
}
