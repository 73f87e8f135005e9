//! The passes of a merge: one over the records of all segments, then for each table one or two over its values.

use std::cell::RefCell;

use super::streams::RecordStream;
use super::tables::MergedTable;
use super::{MergeCodec, MergeOptions, Unmatched};
use crate::bit_set::BitSet;
use crate::build::{Assembler, BuildStage, IdSpool, Reporter, SketchSpool};
use crate::codec::Codec;
use crate::design::Permutation;
use crate::error::{FormatError, Result};
use crate::extsort::{
    Merge, NamedRecords, Numbered, RecordBuffer, Sorter, Stream, TempSpace, ValueCollector,
    ValueSource, ValueSpace, Values,
};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Metadata, SketchParameters};
use crate::index::Index;
use crate::segments::{NumberedIndex, SegmentsView};

/// The result of the pass over the records of all segments.
pub(super) struct MergedRecords<F> {
    pub(super) ids: Option<IdSpool>,
    pub(super) sketches: Option<SketchSpool>,
    /// Without ids it still counts what repeated a fingerprint that is left out.
    pub(super) record_count: u64,
    /// Fingerprints that the records have, where they were gone through.
    pub(super) fingerprint_count: Option<u64>,
    /// Fingerprints that are left with no record.
    pub(super) dropped: Values<F>,
    /// Records that were left out because a later segment has their id.
    pub(super) replaced_record_count: u64,
    /// What is to be left out of all segments and is in none.
    pub(super) unmatched: Unmatched,
    /// The same of single segments, in the order of their exclusions.
    pub(super) unmatched_of_segments: Vec<Unmatched>,
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
    /// The segment that says what the records of the result are.
    pub(super) fn model(&self) -> Result<&'a Index<F, D>> {
        self.segments.model()
    }

    /// The segment with the most fingerprints, of several the first one.
    pub(super) fn largest(&self) -> Result<&'a Index<F, D>> {
        let reversed = self.segments().map(|(_, index)| index).rev();
        let largest = reversed.max_by_key(|index| index.len());
        largest.map_or_else(|| self.model(), Ok)
    }

    /// Those that have records, with their numbers.
    pub(super) fn segments(
        &self,
    ) -> impl DoubleEndedIterator<Item = NumberedIndex<'a, F, D>> + use<'a, F, D> {
        let segments: Vec<_> = self.segments.indexes().enumerate().collect();
        segments.into_iter().filter(|(_, index)| !index.is_empty())
    }

    /// Reads the records of all segments in order and keeps their ids, and their sketches if they are wanted, for the file.
    pub(super) fn merge_records(
        &self,
        sketches: Option<&SketchParameters>,
        reporter: &mut Reporter<'_>,
    ) -> Result<MergedRecords<F>> {
        let kind = self.model()?.id_kind();
        if kind == IdKind::None {
            let mut records = self.count_records()?;
            let sketches = sketches.cloned();
            let spool = sketches.map(|parameters| self.sketches_of_fingerprints(parameters));
            records.sketches = spool.transpose()?;
            return Ok(records);
        }
        let segments: Vec<_> = self.segments().collect();
        let mut excluded = vec![BitSet::default(); segments.len()];
        let mut replaced_record_count = 0;
        if self.options.newest_wins {
            replaced_record_count = self.mark_replaced(&segments, &mut excluded, reporter)?;
        }
        let (mut unmatched, unmatched_of_segments) =
            self.mark_excluded(&segments, &mut excluded)?;
        reporter.begin(BuildStage::MergeRecords, self.segments.record_count());
        // Fingerprints of which a record is left out, several times.
        let touched = RefCell::new(Sorter::new(self.temp.clone(), self.budget / 8));
        // The result has the order of its ids if all segments have it.
        let all_have_order = segments.iter().all(|(_, index)| index.has_id_lookup());
        let with_order = all_have_order && self.model()?.has_id_lookup();
        let mut kept = KeptRecords {
            merger: self,
            ids: IdSpool::new(kind, with_order, &self.temp),
            open: None,
            touched: &touched,
        };
        let mut streams = self.record_streams(&segments, &excluded, &touched);
        let mut spool = sketches.map(|parameters| SketchSpool::new(parameters.clone(), &self.temp));
        match (kind, &mut spool) {
            (_, Some(spool)) => {
                streams
                    .iter_mut()
                    .try_for_each(RecordStream::add_sketches)?;
                self.for_each_round(streams, reporter, |round: &mut NamedRecords<F>| {
                    round.for_each_with_sketch(|fingerprint, id, sketch| {
                        let Some(is_first) = kept.is_first(fingerprint)? else {
                            return Ok(());
                        };
                        spool.push(sketch)?;
                        Ok(kept.ids.push_bytes(fingerprint, is_first, id)?)
                    })
                })?;
            }
            (IdKind::Number, None) => {
                self.for_each_round(streams, reporter, |round: &mut Vec<Numbered<F>>| {
                    round.iter().try_for_each(|record| {
                        let fingerprint = record.fingerprint;
                        match kept.is_first(fingerprint)? {
                            Some(is_first) => {
                                Ok(kept.ids.push_number(fingerprint, is_first, record.id)?)
                            }
                            None => Ok(()),
                        }
                    })
                })?;
            }
            (_, None) => {
                self.for_each_round(streams, reporter, |round: &mut NamedRecords<F>| {
                    round.for_each(|fingerprint, id| match kept.is_first(fingerprint)? {
                        Some(is_first) => Ok(kept.ids.push_string(fingerprint, is_first, id)?),
                        None => Ok(()),
                    })
                })?
            }
        }
        let ids = kept.ids;
        let (dropped, matched) = self.dropped(touched.into_inner(), &segments, &excluded)?;
        unmatched.fingerprint_count = self.options.exclusions.fingerprints().len() as u64 - matched;
        Ok(MergedRecords {
            record_count: ids.record_count(),
            fingerprint_count: Some(ids.fingerprint_count()),
            ids: Some(ids),
            sketches: spool,
            dropped,
            replaced_record_count,
            unmatched,
            unmatched_of_segments,
        })
    }

    /// The records of each segment but those that are marked, whose fingerprints go to `touched`.
    fn record_streams<'t>(
        &self,
        segments: &[NumberedIndex<'a, F, D>],
        excluded: &'t [BitSet],
        touched: &'t RefCell<Sorter<Vec<F>>>,
    ) -> Vec<RecordStream<'a, 't, F, D>> {
        let budget = self.id_budget() / segments.len().max(1);
        let segments = segments.iter().zip(excluded);
        segments
            .map(|(&segment, excluded)| {
                RecordStream::new(self.segments, segment, excluded, touched, budget)
            })
            .collect()
    }

    /// Bytes of memory for ids that are read ahead.
    fn id_budget(&self) -> usize {
        self.budget / 2
    }

    /// Marks the records that are left out by their ids, and those of single segments that are left out by their fingerprints.
    /// Returns what was not found.
    fn mark_excluded(
        &self,
        segments: &[NumberedIndex<'a, F, D>],
        excluded: &mut [BitSet],
    ) -> Result<(Unmatched, Vec<Unmatched>)> {
        let blame = |number: usize, error| self.segments.blame(number)(error);
        for (&(number, segment), excluded) in segments.iter().zip(&mut *excluded) {
            let hidden = self
                .segments
                .visit_hidden(number, segment, |slot| excluded.insert(slot));
            hidden.map_err(self.segments.blame(number))?;
        }
        let unmatched = Unmatched {
            id_count: self.options.exclusions.mark(segments, excluded, blame)?,
            fingerprint_count: 0,
        };
        let mut of_segments = Vec::new();
        for (&number, exclusions) in &self.options.segment_exclusions {
            let at = segments.iter().position(|&(other, _)| other == number);
            let range = at.map_or(0..0, |at| at..at + 1);
            let (segment, slots) = (&segments[range.clone()], &mut excluded[range]);
            let mut missing = 0;
            for fingerprint in exclusions.fingerprints() {
                let mut is_there = false;
                for ((number, segment), slots) in segment.iter().zip(&mut *slots) {
                    let visited = segment.visit_slots(fingerprint, |slot| slots.insert(slot));
                    is_there = visited.map_err(self.segments.blame(*number))?;
                }
                missing += u64::from(!is_there);
            }
            of_segments.push(Unmatched {
                id_count: exclusions.mark(segment, slots, blame)?,
                fingerprint_count: missing,
            });
        }
        Ok((unmatched, of_segments))
    }

    /// Those of some fingerprints that keep no record, and how many of the fingerprints that are to be left out are among them:
    /// all that a segment holds.
    fn dropped(
        &self,
        touched: Sorter<Vec<F>>,
        segments: &[NumberedIndex<'a, F, D>],
        excluded: &[BitSet],
    ) -> Result<(Values<F>, u64)> {
        let space = self.dropped_space();
        let (mut collector, mut matched) = (ValueCollector::new(&space), 0);
        let mut touched = Values::of_sorted(touched.finish()?, &space, &mut |_| ())?;
        touched.for_each_piece(&mut |piece| {
            for &fingerprint in piece {
                let is_excluded = self.options.exclusions.has_fingerprint(fingerprint);
                matched += u64::from(is_excluded);
                if is_excluded || self.is_without_records(fingerprint, segments, excluded)? {
                    collector.push(&[fingerprint])?;
                }
            }
            Ok(())
        })?;
        Ok((collector.finish()?, matched))
    }

    /// Whether all records of a fingerprint are marked.
    fn is_without_records(
        &self,
        fingerprint: F,
        segments: &[NumberedIndex<'a, F, D>],
        excluded: &[BitSet],
    ) -> Result<bool> {
        for (&(number, segment), excluded) in segments.iter().zip(excluded) {
            let all = segment.all_slots(fingerprint, |slot| excluded.contains(slot));
            if !all.map_err(self.segments.blame(number))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Memory for the fingerprints that keep no record.
    fn dropped_space(&self) -> ValueSpace {
        ValueSpace {
            temp: self.temp.clone(),
            sort_budget: self.budget / 8,
            value_budget: self.budget / 8,
        }
    }

    /// What all segments say of themselves.
    pub(super) fn metadata(&self) -> Metadata {
        let mut segments = self.segments().map(|(_, index)| index.metadata());
        let mut common = segments.next().cloned().unwrap_or_default();
        segments.for_each(|other| common.retain_common(other));
        common
    }

    /// Without ids no records need to be read.
    fn count_records(&self) -> Result<MergedRecords<F>> {
        let options = self.options;
        let mut wanted: Vec<F> = options.exclusions.fingerprints().collect();
        for number in 0..self.segments.segment_count() {
            wanted.extend(self.segments.hidden_fingerprints(number));
        }
        let mut of_segments = vec![Unmatched::default(); options.segment_exclusions.len()];
        for exclusions in options.segment_exclusions.values() {
            wanted.extend(exclusions.fingerprints());
        }
        F::sort(&mut wanted);
        wanted.dedup();
        let (mut left_out, mut unmatched) = (0, Unmatched::default());
        let space = self.dropped_space();
        let mut dropped = ValueCollector::new(&space);
        for fingerprint in wanted {
            let of_all = options.exclusions.has_fingerprint(fingerprint);
            let (mut held, mut stays) = (false, false);
            for ((number, exclusions), unmatched) in
                options.segment_exclusions.iter().zip(&mut of_segments)
            {
                if exclusions.has_fingerprint(fingerprint) {
                    let segment = self.segments.get(*number);
                    let is_there =
                        segment.map_or(Ok(false), |segment| segment.contains(fingerprint));
                    let is_there = is_there.map_err(self.segments.blame(*number))?;
                    unmatched.fingerprint_count += u64::from(!is_there);
                }
            }
            for (number, segment) in self.segments() {
                let contains = segment.contains(fingerprint);
                if !contains.map_err(self.segments.blame(number))? {
                    continue;
                }
                held = true;
                let own = options.segment_exclusions.get(&number);
                if of_all
                    || own.is_some_and(|own| own.has_fingerprint(fingerprint))
                    || self.segments.hides_fingerprint(number, fingerprint)
                {
                    left_out += 1;
                } else {
                    stays = true;
                }
            }
            if held && !stays {
                dropped.push(&[fingerprint])?;
            }
            let is_missing = !held && options.exclusions.has_fingerprint(fingerprint);
            unmatched.fingerprint_count += u64::from(is_missing);
        }
        Ok(MergedRecords {
            ids: None,
            sketches: None,
            // Segments whose counts are wrong are found out when their tables are read.
            record_count: self.segments.record_count().saturating_sub(left_out),
            fingerprint_count: None,
            dropped: dropped.finish()?,
            replaced_record_count: 0,
            unmatched,
            unmatched_of_segments: of_segments,
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
        // An eighth is for the fingerprints that are touched.
        let budget = self.budget - self.id_budget() - self.budget / 8;
        let mut merge = Merge::new(streams, budget);
        while let Some(round) = merge.next_round()? {
            take(round)?;
            reporter.advance(round.count() as u64);
        }
        Ok(())
    }

    /// The number of fingerprints of the result, which the records do not tell without ids.
    pub(super) fn count_fingerprints(
        &self,
        records: &mut MergedRecords<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<u64> {
        if let Some(count) = records.fingerprint_count {
            return Ok(count);
        }
        let mut count = 0;
        let order = Permutation::new(F::MAX);
        let dropped = &mut records.dropped;
        let mut table = MergedTable::new(self, 0, &order, dropped, reporter)?;
        table.for_each_piece(&mut |piece| {
            count += piece.len() as u64;
            Ok(())
        })?;
        records.fingerprint_count = Some(count);
        Ok(count)
    }

    /// Writes tables of these prefixes and returns the number of fingerprints in each.
    pub(super) fn merge_tables(
        &self,
        file: &mut Assembler<'_>,
        masks: &[F],
        records: &mut MergedRecords<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<u64> {
        let most = self.segments().map(|(_, index)| index.len()).sum();
        let mut first_count = records.fingerprint_count;
        let space = self.dropped_space();
        let mut order = Permutation::new(F::MAX);
        for (t, &mask) in masks.iter().enumerate() {
            let permutation = Permutation::new(mask);
            if records.dropped.len() > 0 && t > 0 {
                let dropped = std::mem::replace(&mut records.dropped, Values::Memory(Vec::new()));
                let rearranged = dropped.rearrange(&order, &permutation, &space, &mut |_| ());
                records.dropped = rearranged?;
            }
            let dropped = &mut records.dropped;
            let mut values = MergedTable::new(self, t, &permutation, dropped, reporter)?;
            let (codec, expected) = (self.codec(t), first_count.unwrap_or(most));
            let count = file.write_table(mask, codec, &mut values, expected, reporter)?;
            if *first_count.get_or_insert(count) != count {
                let message = "the tables of a segment hold different fingerprints";
                return Err(FormatError::damaged(36, message).in_table(t).into());
            }
            order = permutation;
        }
        Ok(first_count.unwrap_or(0))
    }

    /// The codec of table `t`; `None` where the data shall choose.
    fn codec(&self, t: usize) -> Option<Codec> {
        if self.options.codec != MergeCodec::AsSegments {
            return self.options.codec.given();
        }
        let tables =
            |(_, index): NumberedIndex<'a, F, D>| (t < index.table_count()).then(|| index.codec(t));
        let mut codecs = self.segments().map(tables);
        let first = codecs.next()??;
        codecs.all(|codec| codec == Some(first)).then_some(first)
    }
}

/// Decides record by record which ones stay of those that are not marked.
struct KeptRecords<'m, 'a, F, D> {
    merger: &'m Merger<'a, F, D>,
    ids: IdSpool,
    /// The fingerprint of the last record.
    open: Option<OpenGroup<F>>,
    touched: &'m RefCell<Sorter<Vec<F>>>,
}

/// The records of one fingerprint.
struct OpenGroup<F> {
    fingerprint: F,
    is_excluded: bool,
}

impl<F: Fingerprint, D: AsRef<[u8]> + Send + Sync> KeptRecords<'_, '_, F, D> {
    /// Takes the next record: `None` if it is left out, otherwise whether it is the first one of its fingerprint.
    fn is_first(&mut self, fingerprint: F) -> Result<Option<bool>> {
        let open = self.open.as_ref();
        let open = open.filter(|open| open.fingerprint == fingerprint);
        if let Some(open) = open {
            return Ok((!open.is_excluded).then_some(false));
        }
        let is_excluded = self.merger.options.exclusions.has_fingerprint(fingerprint);
        self.open = Some(OpenGroup {
            fingerprint,
            is_excluded,
        });
        if is_excluded {
            let mut touched = self.touched.borrow_mut();
            touched.add(|fingerprints| fingerprints.push(fingerprint))?;
        }
        Ok((!is_excluded).then_some(true))
    }
}
