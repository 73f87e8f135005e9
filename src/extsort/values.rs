//! The values of a table in ascending order, in memory or, if they do not fit, in a temporary file.

use std::io::{BufReader, Seek};

use super::record_buffer::RecordBuffer;
use super::sorter::{Sorted, Sorter};
use super::temp_space::{TempFile, TempSpace};
use crate::design::Permutation;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The buffer size for reading values from a file, in bytes.
const PIECE_LEN: usize = 1 << 22;

/// Ascending distinct values of one table, which can be read any number of times.
#[derive(Debug)]
pub(crate) enum Values<F> {
    Memory(Vec<F>),
    File {
        file: BufReader<TempFile>,
        count: u64,
    },
}

impl<F: Fingerprint> Values<F> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Values::Memory(values) => values.len() as u64,
            Values::File { count, .. } => *count,
        }
    }

    /// Calls `take` with all values, piece by piece.
    ///
    /// # Errors
    /// A failure to read them, and any error of `take`.
    pub(crate) fn for_each_piece(
        &mut self,
        take: &mut dyn FnMut(&[F]) -> Result<()>,
    ) -> Result<()> {
        let file = match self {
            Values::Memory(values) => return take(values),
            Values::File { file, .. } => file,
        };
        file.rewind()?;
        let (mut piece, mut more) = (Vec::new(), true);
        while more {
            more = piece.read_from(file, PIECE_LEN)?;
            take(&piece)?;
            piece.clear();
        }
        Ok(())
    }

    /// Collects the values of sorted fingerprints. Calls `advance` after each batch of them.
    ///
    /// # Errors
    /// A failure to read or write them.
    pub(crate) fn of_sorted(
        sorted: Sorted<Vec<F>>,
        space: &ValueSpace,
        advance: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let mut merge = match sorted {
            Sorted::Memory(values) => return Ok(Values::Memory(values)),
            Sorted::Runs(merge) => merge,
        };
        let mut collector = ValueCollector::new(space);
        while let Some(round) = merge.next_round()? {
            collector.push(round)?;
            advance(merge.taken())?;
        }
        collector.finish()
    }

    /// Adds the values to a sorter, rearranged for another table. Calls `advance` after each piece of them.
    ///
    /// # Errors
    /// A failure to read or write them.
    pub(crate) fn sorter_for(
        &mut self,
        from: &Permutation<F>,
        to: &Permutation<F>,
        space: &ValueSpace,
        advance: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Sorter<Vec<F>>> {
        let mut sorter = Sorter::<Vec<F>>::new(space.temp.clone(), space.sort_budget);
        let mut rearranged = Vec::new();
        self.for_each_piece(&mut |piece| {
            rearranged.clear();
            rearranged.extend_from_slice(piece);
            from.rearrange_all(to, &mut rearranged);
            advance(piece.len() as u64)?;
            add_all(&mut sorter, &rearranged)
        })?;
        Ok(sorter)
    }
}

/// Adds fingerprints to a sorter, never more at once than its budget allows.
///
/// # Errors
/// A failure to write a run.
pub(crate) fn add_all<F: Fingerprint>(sorter: &mut Sorter<Vec<F>>, mut values: &[F]) -> Result<()> {
    while !values.is_empty() {
        let count = (sorter.space() / F::BYTES).clamp(1, values.len());
        let (now, later) = values.split_at(count);
        sorter.add(|buffer| buffer.extend_from_slice(now))?;
        values = later;
    }
    Ok(())
}

/// The memory and the files for values.
#[derive(Debug, Clone)]
pub(crate) struct ValueSpace {
    pub(crate) temp: TempSpace,
    /// Bytes of memory for sorting, and for merging.
    pub(crate) sort_budget: usize,
    /// Bytes of memory for other values meanwhile.
    pub(crate) value_budget: usize,
}

/// Collects ascending values, in memory as long as they fit.
#[derive(Debug)]
pub(crate) struct ValueCollector<'a, F> {
    space: &'a ValueSpace,
    values: Vec<F>,
    last: Option<F>,
    file: Option<TempFile>,
    count: u64,
}

impl<'a, F: Fingerprint> ValueCollector<'a, F> {
    pub(crate) fn new(space: &'a ValueSpace) -> Self {
        ValueCollector {
            space,
            values: Vec::new(),
            last: None,
            file: None,
            count: 0,
        }
    }

    /// Appends ascending values; the first may equal the last one added.
    ///
    /// # Errors
    /// A failure to write them.
    pub(crate) fn push(&mut self, values: &[F]) -> Result<()> {
        let repeated = self.last.is_some() && values.first().copied() == self.last;
        let values = &values[usize::from(repeated)..];
        for part in values.chunks(PIECE_LEN / F::BYTES) {
            if self.values.memory_len() + size_of_val(part) > self.budget() {
                self.write_out()?;
            }
            self.values.extend_from_slice(part);
        }
        self.count += values.len() as u64;
        self.last = values.last().copied().or(self.last);
        Ok(())
    }

    /// Returns the last value added.
    pub(crate) fn last(&self) -> Option<F> {
        self.last
    }

    /// Returns the bytes that may wait in memory: the whole budget until some are in a file, then a buffer.
    fn budget(&self) -> usize {
        match self.file {
            None => self.space.value_budget,
            Some(_) => PIECE_LEN,
        }
    }

    fn write_out(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.space.temp.file()?),
        };
        self.values.write_to(file)?;
        self.values = Vec::new();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Values<F>> {
        if self.file.is_some() {
            self.write_out()?;
        }
        Ok(match self.file {
            None => Values::Memory(self.values),
            Some(file) => Values::File {
                file: BufReader::with_capacity(1 << 17, file),
                count: self.count,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn values_are_the_same_in_memory_and_in_a_file(
            mut values in prop::collection::btree_set(any::<u64>(), 0..300), mask: u64, cut in 1usize..50,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let values: Vec<u64> = std::mem::take(&mut values).into_iter().collect();
            let to = Permutation::new(mask);
            let mut expected: Vec<u64> = values.iter().map(|&v| to.apply(v).0).collect();
            expected.sort_unstable();
            for budget in [0, usize::MAX] {
                let space = ValueSpace {
                    temp: TempSpace::new(Some(folder.path().into()), 0),
                    sort_budget: budget.max(100),
                    value_budget: budget,
                };
                let mut collector = ValueCollector::new(&space);
                let mut from = 0;
                while from < values.len() {
                    // Each piece starts with the last value of the one before.
                    let end = values.len().min(from + cut);
                    collector.push(&values[from.saturating_sub(1)..end]).unwrap();
                    from = end;
                }
                let mut collected = collector.finish().unwrap();
                prop_assert_eq!(matches!(collected, Values::File { .. }), budget == 0 && !values.is_empty());
                prop_assert_eq!(collected.len(), values.len() as u64);
                for _ in 0..2 {
                    prop_assert_eq!(all(&mut collected), values.clone());
                }
                let identity = Permutation::new(u64::MAX);
                let sorter = collected.sorter_for(&identity, &to, &space, &mut |_| Ok(()));
                let sorted = sorter.unwrap().finish().unwrap();
                let mut rearranged = Values::of_sorted(sorted, &space, &mut |_| Ok(())).unwrap();
                prop_assert_eq!(all(&mut rearranged), expected.clone());
            }
        }
    }

    fn all(values: &mut Values<u64>) -> Vec<u64> {
        let mut all = Vec::new();
        let take = &mut |piece: &[u64]| {
            all.extend_from_slice(piece);
            Ok(())
        };
        values.for_each_piece(take).unwrap();
        all
    }
}
