//! The pass of a merge over the records of all segments: keeps some of them, and counts the others.

use super::streams::{Head, RecordStream, Streams};
use super::{MergeCodec, MergeOptions, Unmatched};
use crate::bit_set::BitSet;
use crate::builder::{Separated, Separator};
use crate::codec::Codec;
use crate::error::Result;
use crate::extsort::{TempSpace, ValueSpace};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, Metadata, SketchParameters};
use crate::id::Id;
use crate::index::Index;
use crate::set::{NumberedIndex, Typed};
use crate::watch::{Reporter, Stage};

/// The number of records between two progress reports.
pub(super) const REPORT_EVERY: u64 = 1 << 16;

/// The result of the pass.
pub(super) struct MergedRecords<F> {
    pub(super) separated: Separated<F>,
    /// Number of records to write. Without ids, this includes repetitions of dropped fingerprints.
    pub(super) record_count: u64,
    /// Number of fingerprints left without a record.
    pub(super) dropped_fingerprint_count: u64,
    /// Number of records that were dropped because a later segment has their id.
    pub(super) replaced_record_count: u64,
    /// Exclusions for all segments that no segment has.
    pub(super) unmatched: Unmatched,
    /// The same for single segments, in the order of their exclusions.
    pub(super) unmatched_of_segments: Vec<Unmatched>,
}

pub(super) struct Merger<'a, F> {
    pub(super) segments: Typed<'a, F>,
    pub(super) options: &'a MergeOptions,
    pub(super) temp: TempSpace,
    pub(super) budget: usize,
}

impl<'a, F: Fingerprint> Merger<'a, F> {
    /// Returns the segment that defines the kind of the records of the result.
    pub(super) fn model(&self) -> &'a Index<F> {
        self.segments.model()
    }

    /// Returns the segment with the most fingerprints, of equals the first.
    pub(super) fn largest(&self) -> &'a Index<F> {
        let reversed = self.segments().map(|(_, index)| index).rev();
        let largest = reversed.max_by_key(|index| index.len());
        largest.unwrap_or_else(|| self.model())
    }

    /// Returns the segments with records, with their numbers.
    pub(super) fn segments(
        &self,
    ) -> impl DoubleEndedIterator<Item = NumberedIndex<'a, F>> + use<'a, F> {
        let segments: Vec<_> = self.segments.indexes().enumerate().collect();
        segments.into_iter().filter(|(_, index)| !index.is_empty())
    }

    /// Returns the parameters of the sketches of the result: those of the segments, if all with records agree.
    ///
    /// # Errors
    /// A damaged sketch section header of a segment.
    pub(super) fn sketches(&self) -> Result<Option<SketchParameters>> {
        let of = |(number, segment): NumberedIndex<'a, F>| -> Result<_> {
            let sketches = segment.sketches().map_err(self.segments.blame(number))?;
            Ok(sketches.map(|sketches| sketches.parameters()))
        };
        let mut all = self.segments().map(of);
        let Some(first) = all.next() else {
            let sketches = self.model().sketches().map_err(self.segments.blame(0))?;
            return Ok(sketches.map(|sketches| sketches.parameters().clone()));
        };
        let first = first?;
        for other in all {
            if other? != first {
                return Ok(None);
            }
        }
        Ok(first.cloned())
    }

    /// Returns the metadata that all segments share.
    pub(super) fn metadata(&self) -> Metadata {
        let mut segments = self.segments().map(|(_, index)| index.metadata());
        let mut common = segments.next().cloned().unwrap_or_default();
        segments.for_each(|other| common.retain_common(other));
        common
    }

    /// Returns the codec of table `t`; `None` to let the data decide.
    pub(super) fn codec(&self, t: usize) -> Option<Codec> {
        if self.options.codec != MergeCodec::Same {
            return self.options.codec.given();
        }
        let tables =
            |(_, index): NumberedIndex<'a, F>| (t < index.table_count()).then(|| index.codec(t));
        let mut codecs = self.segments().map(tables);
        let first = codecs.next()??;
        codecs.all(|codec| codec == Some(first)).then_some(first)
    }

    /// Reads the records of all segments in order and keeps those not dropped, with their sketches if requested.
    pub(super) fn merge_records(
        &self,
        sketches: Option<&SketchParameters>,
        space: &ValueSpace,
        reporter: &mut Reporter,
    ) -> Result<MergedRecords<F>> {
        let (kind, total) = (self.model().id_kind(), self.segments.record_count());
        let segments: Vec<_> = self.segments().collect();
        let mut excluded = vec![BitSet::default(); segments.len()];
        let mut replaced_record_count = 0;
        if self.options.newest_wins && kind != IdKind::None {
            replaced_record_count = self.mark_replaced(&segments, &mut excluded, reporter)?;
        }
        let (mut unmatched, mut unmatched_of_segments) =
            self.mark_excluded(&segments, &mut excluded)?;
        // The result stores the order of its ids if all segments do.
        let all_have_order = segments.iter().all(|(_, index)| index.has_id_lookup());
        let with_order = all_have_order && self.model().has_id_lookup();
        let mut separator = Separator::new(kind, with_order, sketches.cloned(), space);
        let mut choice = Choice::new(self.options);
        let mut streams = self.streams(segments, excluded, sketches.is_some())?;
        reporter.begin(Stage::MergeRecords, total)?;
        let mut passed = 0;
        streams.for_each(|head| {
            passed += 1;
            if passed % REPORT_EVERY == 0 {
                reporter.advance(REPORT_EVERY)?;
            }
            if !choice.keeps(head) {
                return Ok(());
            }
            match head.id.as_id() {
                Id::Number(id) => separator.push(head.fingerprint, &id.to_be_bytes(), &head.sketch),
                Id::String(id) => separator.push(head.fingerprint, id.as_bytes(), &head.sketch),
            }
        })?;
        reporter.advance(passed % REPORT_EVERY)?;
        choice.end_group();
        let own = self.options.segment_exclusions.keys();
        for (&number, unmatched) in own.zip(&mut unmatched_of_segments) {
            unmatched.fingerprint_count -= streams.own_matches(number);
        }
        unmatched.fingerprint_count -= choice.matched_count;
        let separated = separator.finish()?;
        // Rule V8 requires this, whatever was counted.
        let record_count = match separated.fingerprint_count() {
            0 => 0,
            least => total.saturating_sub(choice.left_out_count).max(least),
        };
        Ok(MergedRecords {
            separated,
            record_count,
            dropped_fingerprint_count: choice.dropped_fingerprint_count,
            replaced_record_count,
            unmatched,
            unmatched_of_segments,
        })
    }

    /// Returns the records of some segments in one order.
    fn streams<'m>(
        &'m self,
        segments: Vec<NumberedIndex<'a, F>>,
        excluded: Vec<BitSet>,
        with_sketches: bool,
    ) -> Result<Streams<'m, 'a, F>> {
        // The other half is for the fingerprints that are kept.
        let budget = self.budget / 2 / segments.len().max(1);
        let streams = segments.into_iter().zip(excluded);
        let streams = streams.map(|(segment, excluded)| {
            RecordStream::new(self, segment, excluded, with_sketches, budget)
        });
        Streams::new(streams.collect::<Result<Vec<_>>>()?)
    }

    /// Marks the records that are excluded by id. Returns the unmatched exclusions, with all fingerprints counted as
    /// unmatched.
    fn mark_excluded(
        &self,
        segments: &[NumberedIndex<'a, F>],
        excluded: &mut [BitSet],
    ) -> Result<(Unmatched, Vec<Unmatched>)> {
        let blame = |number: usize, error| self.segments.blame(number)(error);
        for (&(number, _), excluded) in segments.iter().zip(&mut *excluded) {
            let hidden = self
                .segments
                .visit_hidden_ids(number, |slot| excluded.insert(slot));
            hidden.map_err(self.segments.blame(number))?;
        }
        let unmatched = Unmatched {
            id_count: self.options.exclusions.mark(segments, excluded, blame)?,
            fingerprint_count: self.options.exclusions.fingerprints().len() as u64,
        };
        let mut of_segments = Vec::new();
        for (&number, exclusions) in &self.options.segment_exclusions {
            let at = segments.iter().position(|&(other, _)| other == number);
            let range = at.map_or(0..0, |at| at..at + 1);
            let (segment, slots) = (&segments[range.clone()], &mut excluded[range]);
            of_segments.push(Unmatched {
                id_count: exclusions.mark(segment, slots, blame)?,
                fingerprint_count: exclusions.fingerprints().len() as u64,
            });
        }
        Ok((unmatched, of_segments))
    }

    /// Returns whether the exclusions for this segment alone include a fingerprint.
    pub(super) fn own_excludes(&self, segment: usize, fingerprint: F) -> bool {
        let own = self.options.segment_exclusions.get(&segment);
        own.is_some_and(|own| own.has_fingerprint(fingerprint.to_u128()))
    }

    /// Returns whether all records of a fingerprint in a segment are excluded.
    pub(super) fn hides_fingerprint(&self, segment: usize, fingerprint: F) -> bool {
        self.own_excludes(segment, fingerprint)
            || self
                .segments
                .hides_fingerprint(segment, fingerprint.to_u128())
    }
}

/// Decides for each record whether it is kept, and counts the dropped ones.
struct Choice<'a, F> {
    options: &'a MergeOptions,
    /// The fingerprint of the last record.
    fingerprint: Option<F>,
    /// Whether that fingerprint is excluded.
    is_excluded: bool,
    /// Whether a record of that fingerprint is kept.
    has_records: bool,
    left_out_count: u64,
    dropped_fingerprint_count: u64,
    /// Number of excluded fingerprints that were found.
    matched_count: u64,
}

impl<'a, F: Fingerprint> Choice<'a, F> {
    fn new(options: &'a MergeOptions) -> Self {
        Choice {
            options,
            fingerprint: None,
            is_excluded: false,
            has_records: false,
            left_out_count: 0,
            dropped_fingerprint_count: 0,
            matched_count: 0,
        }
    }

    /// Returns whether the next record is kept.
    fn keeps(&mut self, record: &Head<F>) -> bool {
        if self.fingerprint != Some(record.fingerprint) {
            self.end_group();
            self.fingerprint = Some(record.fingerprint);
            self.is_excluded = self
                .options
                .exclusions
                .has_fingerprint(record.fingerprint.to_u128());
            self.matched_count += u64::from(self.is_excluded);
        }
        let is_kept = !self.is_excluded && !record.is_left_out;
        self.has_records |= is_kept;
        self.left_out_count += u64::from(!is_kept);
        is_kept
    }

    /// Counts the last fingerprint if no record of it is kept.
    fn end_group(&mut self) {
        let is_dropped = self.fingerprint.is_some() && !self.has_records;
        self.dropped_fingerprint_count += u64::from(is_dropped);
        self.has_records = false;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::merge::Merged;
    use crate::set::{Exclusions, Set};
    use crate::{BuildOptions, IndexBuilder, Width};

    fn options(ids: IdKind) -> BuildOptions {
        BuildOptions {
            ids,
            ..BuildOptions::default()
        }
    }

    fn newest_wins() -> MergeOptions {
        MergeOptions {
            newest_wins: true,
            ..MergeOptions::default()
        }
    }

    fn finish(builder: IndexBuilder) -> Index<u64> {
        let mut file = Vec::new();
        builder.finish(&mut file).unwrap();
        Index::from_bytes(file).unwrap()
    }

    /// Builds a segment with string ids.
    fn named(records: &[(u64, &str)]) -> Index<u64> {
        let mut builder = IndexBuilder::new(Width::W64, options(IdKind::String)).unwrap();
        for (fingerprint, id) in records {
            builder.push_with_id(*fingerprint, *id).unwrap();
        }
        finish(builder)
    }

    fn numbered(records: &[(u64, u64)]) -> Index<u64> {
        let mut builder = IndexBuilder::new(Width::W64, options(IdKind::Number)).unwrap();
        for &(fingerprint, id) in records {
            builder.push_with_id(fingerprint, id).unwrap();
        }
        finish(builder)
    }

    fn plain(fingerprints: &[u64]) -> Index<u64> {
        let mut builder = IndexBuilder::new(Width::W64, options(IdKind::None)).unwrap();
        builder.extend_from_slice(fingerprints).unwrap();
        finish(builder)
    }

    /// Builds a segment without ids whose sketches have these features.
    fn sketched(records: &[(u64, u64)], features: &str) -> Index<u64> {
        let mut options = options(IdKind::None);
        options.sketches = Some(SketchParameters::new(64, features).unwrap());
        let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
        for &(fingerprint, sketch) in records {
            builder
                .push_with_sketch(fingerprint, None, &[sketch])
                .unwrap();
        }
        finish(builder)
    }

    fn merged(segments: Vec<Index<u64>>, options: &MergeOptions) -> (Index<u64>, Merged) {
        merged_segments(&Set::new(segments).unwrap(), options)
    }

    fn merged_segments(segments: &Set, options: &MergeOptions) -> (Index<u64>, Merged) {
        let mut file = Vec::new();
        let merged = segments.merge(options, &mut file).unwrap();
        (Index::from_bytes(file).unwrap(), merged)
    }

    fn records(index: &Index<u64>) -> Vec<(u64, String)> {
        let (mut all, mut records) = (Vec::new(), index.records());
        while let Some((fingerprint, id)) = records.read().unwrap() {
            all.push((fingerprint, id.to_string()));
        }
        all
    }

    fn owned(records: &[(u64, &str)]) -> Vec<(u64, String)> {
        let records = records.iter();
        records.map(|&(f, id)| (f, id.to_owned())).collect()
    }

    fn unmatched(ids: u64, fingerprints: u64) -> Unmatched {
        Unmatched {
            id_count: ids,
            fingerprint_count: fingerprints,
        }
    }

    #[test]
    fn the_last_segment_that_has_an_id_wins() {
        let options = newest_wins();
        let strings = vec![
            named(&[(1, "a"), (2, "b"), (2, "c")]),
            named(&[(3, "a"), (4, "a"), (9, "d")]),
            named(&[(5, "d")]),
        ];
        let (index, merged_) = merged(strings, &options);
        let expected = owned(&[(2, "b"), (2, "c"), (3, "a"), (4, "a"), (5, "d")]);
        assert_eq!(records(&index), expected, "the newest record of each id");
        assert_eq!(merged_.replaced_record_count, 2);
        assert_eq!(merged_.dropped_fingerprint_count, 2); // 1 and 9
        let numbers = vec![numbered(&[(1, 7), (2, 8)]), numbered(&[(3, 7)])];
        let (index, merged_) = merged(numbers, &options);
        assert_eq!(records(&index), owned(&[(2, "8"), (3, "7")]));
        assert_eq!(merged_.replaced_record_count, 1);
    }

    #[test]
    fn an_excluded_new_version_does_not_bring_the_old_one_back() {
        let mut options = newest_wins();
        options.exclusions.add_fingerprint(3_u64);
        let (index, merged) = merged(
            vec![named(&[(1, "a"), (2, "b")]), named(&[(3, "a")])],
            &options,
        );
        assert_eq!(records(&index), owned(&[(2, "b")]));
        let counts = (merged.replaced_record_count, merged.dropped_record_count);
        assert_eq!(counts, (1, 2));
    }

    #[test]
    fn exclusions_that_no_segment_has_are_counted() {
        let mut options = MergeOptions::default();
        for id in ["a", "x", "y"] {
            options.exclusions.add_string(id).unwrap();
        }
        options.exclusions.add_fingerprint(2_u64);
        options.exclusions.add_fingerprint(77_u64);
        let segments = vec![named(&[(1, "a"), (2, "b")]), named(&[(1, "c"), (2, "d")])];
        let (index, merged) = merged(segments, &options);
        assert_eq!(records(&index), owned(&[(1, "c")]));
        assert_eq!(merged.unmatched, unmatched(2, 1));
        let dropped = (
            merged.dropped_record_count,
            merged.dropped_fingerprint_count,
        );
        assert_eq!(dropped, (3, 1));
    }

    #[test]
    fn exclusions_of_a_segment_leave_the_others_alone() {
        let mut options = MergeOptions::default();
        let own = |segment: usize, options: &mut MergeOptions| {
            let own = options.segment_exclusions.entry(segment).or_default();
            own.add_string("b").unwrap();
            own.add_fingerprint(1_u64);
            own.add_fingerprint(5_u64);
        };
        own(0, &mut options);
        own(1, &mut options); // It has no records.
        let empty = plain(&[]);
        let full = || named(&[(1, "a"), (2, "b"), (3, "c")]);
        let (index, merged) = merged(vec![full(), empty, full()], &options);
        let expected = [(1, "a"), (2, "b"), (3, "c"), (3, "c")];
        assert_eq!(records(&index), owned(&expected));
        let of_segments = BTreeMap::from([(0, unmatched(0, 1)), (1, unmatched(1, 2))]);
        assert_eq!(merged.unmatched_of_segments, of_segments);
        assert_eq!(merged.dropped_fingerprint_count, 0);
    }

    #[test]
    fn without_ids_a_fingerprint_left_out_counts_once_a_segment() {
        let mut options = MergeOptions::default();
        options.exclusions.add_fingerprint(1_u64);
        options.exclusions.add_fingerprint(77_u64);
        options
            .segment_exclusions
            .entry(1)
            .or_default()
            .add_fingerprint(2_u64);
        let segments = vec![plain(&[1, 1, 2, 2]), plain(&[1, 2, 3])];
        let (index, merged) = merged(segments, &options);
        let fingerprints: Vec<u64> = index.iter().map(Result::unwrap).collect();
        assert_eq!(fingerprints, [2, 3]);
        // Of seven records one for 1 in each segment, and one for 2.
        assert_eq!((index.record_count(), merged.dropped_record_count), (4, 3));
        assert_eq!(merged.dropped_fingerprint_count, 1);
        assert_eq!(merged.unmatched, unmatched(0, 1));
        assert_eq!(merged.unmatched_of_segments[&1], unmatched(0, 0));
    }

    #[test]
    fn what_segments_hide_stays_out() {
        let segments = Set::new([named(&[(1, "a"), (2, "b")]), named(&[(3, "c")])]);
        let mut hidden = Exclusions::default();
        hidden.add_string("a").unwrap();
        hidden.add_fingerprint(3_u64);
        let segments = segments.unwrap().without(&hidden).unwrap();
        let (index, merged) = merged_segments(&segments, &MergeOptions::default());
        assert_eq!(records(&index), owned(&[(2, "b")]));
        assert_eq!(merged.dropped_fingerprint_count, 2);
    }

    fn sketches_of(index: &Index<u64>) -> Vec<u64> {
        let (sketches, mut words) = (index.sketches().unwrap().unwrap(), Vec::new());
        sketches.read(0..index.len(), &mut words).unwrap();
        words
    }

    #[test]
    fn without_ids_the_smallest_sketch_that_stays_is_kept() {
        // Sketches are ordered by their bytes, least significant first.
        let (small, large) = (0x0100, 0x0002);
        let segments = || {
            vec![
                sketched(&[(1, large), (2, small)], "words"),
                sketched(&[(1, small), (2, large)], "words"),
            ]
        };
        let (index, merged_) = merged(segments(), &MergeOptions::default());
        assert_eq!(sketches_of(&index), [small, small]);
        assert_eq!(merged_.sketches.unwrap().features(), "words");
        let mut options = MergeOptions::default();
        options
            .segment_exclusions
            .entry(0)
            .or_default()
            .add_fingerprint(2_u64);
        let (index, _) = merged(segments(), &options);
        assert_eq!(sketches_of(&index), [small, large]);
    }

    #[test]
    fn sketches_that_differ_are_left_out() {
        let segments = vec![sketched(&[(1, 5)], "words"), sketched(&[(2, 5)], "letters")];
        let (index, merged) = merged(segments, &MergeOptions::default());
        assert!(merged.sketches.is_none() && index.sketches().unwrap().is_none());
    }

    #[test]
    fn metadata_is_what_all_segments_say() {
        let segment = |fingerprint: u64, pairs: &[(&str, &str)]| {
            let mut options = options(IdKind::None);
            for (key, value) in pairs {
                options.metadata.insert(key, value).unwrap();
            }
            let mut builder = IndexBuilder::new(Width::W64, options).unwrap();
            builder.push(fingerprint).unwrap();
            finish(builder)
        };
        let segments = vec![
            segment(1, &[("day", "monday"), ("source", "web")]),
            segment(2, &[("day", "tuesday"), ("source", "web")]),
        ];
        let (index, merged) = merged(segments, &MergeOptions::default());
        let pairs: Vec<(&str, &str)> = index.metadata().iter().collect();
        assert_eq!(pairs, [("source", "web")]);
        assert_eq!(&merged.metadata, index.metadata());
    }
}
