//! The values of one table of the result: those of the segments that have such a table stream, those of the others are sorted
//! anew.

use super::passes::Merger;
use super::streams::TableStream;
use crate::build::{BuildStage, Reporter};
use crate::design::Permutation;
use crate::error::{FormatError, Result};
use crate::extsort::{
    Merge, Sorter, Stream, ValueReader, ValueSource, ValueSpace, Values, add_all,
};
use crate::fingerprint::Fingerprint;
use crate::index::Index;
use crate::segments::NumberedIndex;

/// Bytes of values that are rearranged together.
const PIECE_LEN: usize = 1 << 20;

/// The union of a table of all segments, without what is dropped.
pub(super) struct MergedTable<'m, 'a, F, D> {
    merger: &'m Merger<'a, F, D>,
    /// The number of the table in the result.
    table: usize,
    /// The segments that have the table, each with its number there.
    having: Vec<(NumberedIndex<'a, F, D>, usize)>,
    /// The values of all other segments.
    sorted: Option<Values<F>>,
    /// What is left out, in the order of the table.
    dropped: &'m mut Values<F>,
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

impl<'m, 'a, F: Fingerprint, D: AsRef<[u8]> + Send + Sync> MergedTable<'m, 'a, F, D> {
    /// Table `table` of the result, which is in this order, as those values are that are dropped. Sorts the values of the segments
    /// that have no such table.
    ///
    /// # Errors
    /// A damaged segment, or what keeps values from being sorted.
    pub(super) fn new(
        merger: &'m Merger<'a, F, D>,
        table: usize,
        order: &Permutation<F>,
        dropped: &'m mut Values<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Self> {
        let (mut having, mut lacking) = (Vec::new(), Vec::new());
        for (number, segment) in merger.segments() {
            match table_of_order(segment, order) {
                Some(table) => having.push(((number, segment), table)),
                None => lacking.push((number, segment)),
            }
        }
        let mut merged = MergedTable {
            merger,
            table,
            having,
            sorted: None,
            dropped,
            seen: None,
        };
        if !lacking.is_empty() {
            merged.sorted = Some(merged.sort(&lacking, order, reporter)?);
        }
        Ok(merged)
    }

    /// The values of some segments in the order of the table.
    fn sort(
        &self,
        segments: &[NumberedIndex<'a, F, D>],
        order: &Permutation<F>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Values<F>> {
        let total = segments.iter().map(|(_, segment)| segment.len()).sum();
        reporter.begin(BuildStage::SortTable(self.table), total);
        let space = self.space();
        let mut sorter = Sorter::<Vec<F>>::new(space.temp.clone(), space.sort_budget);
        let numeric = Permutation::new(F::MAX);
        for &segment in segments {
            let mut stream = TableStream::new(self.merger.segments, segment, 0)?;
            let (mut values, mut more) = (Vec::new(), true);
            while more {
                values.clear();
                more = stream.fill(&mut values, PIECE_LEN)?;
                numeric.rearrange_all(order, &mut values);
                add_all(&mut sorter, &values)?;
                reporter.advance(values.len() as u64);
            }
        }
        let sorted = sorter.finish()?;
        reporter.begin(BuildStage::MergeTable(self.table), total);
        Values::of_sorted(sorted, &space, &mut |count| reporter.advance(count))
    }

    /// Half of the budget for sorted values, in memory or while they are merged; the other half is for the merge with those that
    /// stream.
    fn space(&self) -> ValueSpace {
        let half = self.merger.budget / 2;
        ValueSpace {
            temp: self.merger.temp.clone(),
            sort_budget: half,
            value_budget: half / 2,
        }
    }

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

/// Reads what is left out of a table.
struct Dropped<'d, F> {
    reader: ValueReader<'d, F>,
    waiting: Vec<F>,
    ended: bool,
}

impl<'d, F: Fingerprint> Dropped<'d, F> {
    fn new(values: &'d mut Values<F>) -> Result<Self> {
        Ok(Dropped {
            ended: values.len() == 0,
            reader: values.reader()?,
            waiting: Vec::new(),
        })
    }

    /// Removes what is left out from values that ascend up to `end`. The values of the next call are greater.
    fn remove_from(&mut self, values: &mut Vec<F>, end: F) -> Result<()> {
        loop {
            let count = self.waiting.partition_point(|&dropped| dropped <= end);
            let mut now = &self.waiting[..count];
            if !now.is_empty() {
                values.retain(|value| {
                    let passed = now.iter().take_while(|dropped| *dropped < value).count();
                    now = &now[passed..];
                    now.first() != Some(value)
                });
            }
            self.waiting.drain(..count);
            if self.ended || !self.waiting.is_empty() {
                return Ok(());
            }
            self.ended = !self.reader.fill(&mut self.waiting, PIECE_LEN)?;
        }
    }
}

/// The table of an index that is in this order.
fn table_of_order<F: Fingerprint, D: AsRef<[u8]>>(
    index: &Index<F, D>,
    order: &Permutation<F>,
) -> Option<usize> {
    // Prefixes of leading bits leave all values as they are, however long they are.
    if order.is_identity() {
        return Some(0);
    }
    index.prefix_masks().position(|mask| mask == order.mask())
}

/// Values of a table, ascending.
enum Source<'s, 'a, F, D> {
    Streamed(TableStream<'a, F, D>),
    Sorted(ValueReader<'s, F>),
}

impl<F: Fingerprint, D: AsRef<[u8]>> Stream<Vec<F>> for Source<'_, '_, F, D> {
    fn fill(&mut self, buffer: &mut Vec<F>, budget: usize) -> Result<bool> {
        match self {
            Source::Streamed(stream) => stream.fill(buffer, budget),
            Source::Sorted(reader) => reader.fill(buffer, budget),
        }
    }
}

impl<F: Fingerprint, D: AsRef<[u8]> + Send + Sync> ValueSource<F> for MergedTable<'_, '_, F, D> {
    fn for_each_piece(&mut self, take: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        let mut sources = Vec::with_capacity(self.having.len() + 1);
        for &(segment, table) in &self.having {
            let stream = TableStream::new(self.merger.segments, segment, table)?;
            sources.push(Source::Streamed(stream));
        }
        // An eighth is for what is dropped, and half for what had to be sorted.
        let mut budget = self.merger.budget - self.merger.budget / 8;
        if let Some(sorted) = &mut self.sorted {
            sources.push(Source::Sorted(sorted.reader()?));
            budget -= self.merger.budget / 2;
        }
        let mut merge = Merge::<Vec<F>, _>::new(sources, budget);
        let mut dropped = Dropped::new(self.dropped)?;
        let mut last = None;
        let mut seen = Seen {
            count: 0,
            sum: F::ZERO,
        };
        while let Some(round) = merge.next_round()? {
            let Some(end) = round.last().copied() else {
                continue;
            };
            if last.is_some() && round.first() == last.as_ref() {
                round.remove(0);
            }
            dropped.remove_from(round, end)?;
            last = Some(end);
            seen.add(round);
            take(round)?;
        }
        drop(merge);
        self.check_pass(seen)
    }
}
