//! Sorts in bounded memory: writes records as ordered runs when they do not fit, then merges these.

use std::io::{self, BufWriter, IntoInnerError};

use super::merge::{Merge, RUN_BUFFER_LEN};
use super::record_buffer::RecordBuffer;
use super::temp_space::{TempFile, TempSpace};
use crate::error::Result;
use crate::threads::Background;

/// The least share of memory for merging a run: the same again is needed for records in and out of the buffer.
const RUN_SHARE: usize = 4 * RUN_BUFFER_LEN;

/// The most runs that are merged at a time, to bound the number of open files.
const MAX_FAN_IN: usize = 128;

/// Takes records in any order and returns them in order.
#[derive(Debug)]
pub(crate) struct Sorter<B> {
    temp: TempSpace,
    /// Bytes of memory for records.
    budget: usize,
    buffer: B,
    /// A buffer that is being sorted and written.
    spilling: Option<Background<Result<(B, TempFile)>>>,
    /// Ordered runs, by the number of times that their records were merged.
    runs: Vec<Vec<TempFile>>,
    /// Whether records were lost because a run was not written.
    has_lost: bool,
}

/// All records, in order.
#[derive(Debug)]
pub(crate) enum Sorted<B> {
    /// All records fit in memory.
    Memory(B),
    /// The records are in runs.
    Runs(Merge<B>),
}

impl<B: RecordBuffer> Sorted<B> {
    /// Calls `take` with the records in order; if they are in memory, with all at once.
    ///
    /// # Errors
    /// A failure to read runs, and any error of `take`.
    pub(crate) fn for_each_round(self, mut take: impl FnMut(&B) -> Result<()>) -> Result<()> {
        match self {
            Sorted::Memory(buffer) => take(&buffer),
            Sorted::Runs(mut merge) => {
                while let Some(round) = merge.next_round()? {
                    take(round)?;
                }
                Ok(())
            }
        }
    }
}

impl<B: RecordBuffer> Sorter<B> {
    pub(crate) fn new(temp: TempSpace, budget: usize) -> Self {
        Sorter {
            temp,
            budget,
            buffer: B::default(),
            spilling: None,
            runs: Vec::new(),
            has_lost: false,
        }
    }

    /// Calls `add` to append a few records.
    ///
    /// # Errors
    /// A failure to write a run, after which every later call fails.
    #[inline]
    pub(crate) fn add(&mut self, add: impl FnOnce(&mut B)) -> Result<()> {
        self.check()?;
        add(&mut self.buffer);
        if self.buffer.memory_len() >= self.buffer_budget() {
            self.has_lost = true;
            self.spill()?;
            self.has_lost = false;
        }
        Ok(())
    }

    /// Checks that no records were lost.
    #[inline]
    fn check(&self) -> Result<()> {
        match self.has_lost {
            true => Err(io::Error::other("records were lost when they were added").into()),
            false => Ok(()),
        }
    }

    /// Calls `reserve` to reserve memory in the buffer for later records.
    pub(crate) fn reserve(&mut self, reserve: impl FnOnce(&mut B)) {
        reserve(&mut self.buffer);
    }

    /// Returns the bytes that may be added before the records in memory are written out. Never append more at once.
    pub(crate) fn space(&self) -> usize {
        self.buffer_budget()
            .saturating_sub(self.buffer.memory_len())
    }

    /// Returns the bytes for new records. Once there are runs, the same again is being written.
    #[inline]
    fn buffer_budget(&self) -> usize {
        match self.runs.is_empty() && self.spilling.is_none() {
            true => self.budget,
            false => self.budget / 2,
        }
    }

    /// Returns all records in order. If they did not fit, half of the budget stays in use, otherwise the memory that
    /// they take.
    ///
    /// # Errors
    /// A failure to write or read runs, now or earlier.
    pub(crate) fn finish(mut self) -> Result<Sorted<B>> {
        self.check()?;
        self.buffer.sort();
        self.collect_run()?;
        if self.runs.is_empty() {
            return Ok(Sorted::Memory(self.buffer));
        }
        if self.buffer.count() > 0 {
            let run = write_run(&self.temp, &self.buffer)?;
            self.keep(run)?;
        }
        drop(self.buffer);
        let mut runs: Vec<TempFile> = self.runs.into_iter().flatten().collect();
        while runs.len() > fan_in(self.budget) {
            let rest = runs.split_off(fan_in(self.budget));
            let merged = merge_runs::<B>(&self.temp, runs, self.budget / 2)?;
            runs = rest;
            runs.push(merged);
        }
        Ok(Sorted::Runs(Merge::new(runs, self.budget / 2)?))
    }

    /// Writes the records in memory as a run, while further ones may be added.
    fn spill(&mut self) -> Result<()> {
        let is_first = self.runs.is_empty() && self.spilling.is_none();
        let mut full = std::mem::take(&mut self.buffer);
        self.collect_run()?;
        if is_first {
            // The records take the whole budget, so none can be added meanwhile.
            full.sort();
            let run = write_run(&self.temp, &full)?;
            return self.keep(run);
        }
        if rayon::current_thread_index().is_some() {
            // Waiting for another thread here would withhold this one from the pool that does the sorting.
            full.sort();
            let run = write_run(&self.temp, &full)?;
            full.clear();
            self.buffer = full;
            return self.keep(run);
        }
        let temp = self.temp.clone();
        self.spilling = Some(Background::start(move || {
            full.sort();
            let run = write_run(&temp, &full)?;
            full.clear();
            Ok((full, run))
        }));
        Ok(())
    }

    /// Waits for the run that is being written, and reuses its memory.
    fn collect_run(&mut self) -> Result<()> {
        let Some(spilling) = self.spilling.take() else {
            return Ok(());
        };
        let (emptied, run) = spilling.join()?;
        // A merge of runs needs the memory itself.
        if self.buffer.count() == 0 && !self.is_full(0) {
            self.buffer = emptied;
        }
        self.keep(run)
    }

    /// Keeps a run; merges runs of a level when there are many, so that few files are open.
    fn keep(&mut self, run: TempFile) -> Result<()> {
        let mut run = run;
        for level in 0.. {
            if self.runs.len() == level {
                self.runs.push(Vec::new());
            }
            self.runs[level].push(run);
            if self.runs[level].len() < self.most_runs() {
                break;
            }
            let runs = std::mem::take(&mut self.runs[level]);
            run = merge_runs::<B>(&self.temp, runs, self.budget / 4)?;
        }
        Ok(())
    }

    /// Returns whether one more run would exceed the runs of a level.
    fn is_full(&self, level: usize) -> bool {
        self.runs.get(level).map_or(0, Vec::len) + 1 >= self.most_runs()
    }

    /// Returns the most runs of a level that are kept unmerged.
    fn most_runs(&self) -> usize {
        fan_in(self.budget)
    }
}

/// Returns the number of runs that can be merged at a time with this budget.
fn fan_in(budget: usize) -> usize {
    (budget / 2 / RUN_SHARE).clamp(2, MAX_FAN_IN)
}

fn write_run<B: RecordBuffer>(temp: &TempSpace, buffer: &B) -> Result<TempFile> {
    // Some buffers write record by record.
    let mut out = BufWriter::with_capacity(RUN_BUFFER_LEN, temp.file()?);
    buffer.write_to(&mut out)?;
    Ok(out.into_inner().map_err(IntoInnerError::into_error)?)
}

fn merge_runs<B: RecordBuffer>(
    temp: &TempSpace,
    runs: Vec<TempFile>,
    budget: usize,
) -> Result<TempFile> {
    let mut out = BufWriter::with_capacity(RUN_BUFFER_LEN, temp.file()?);
    let mut merge = Merge::<B>::new(runs, budget)?;
    while let Some(round) = merge.next_round()? {
        round.write_to(&mut out)?;
    }
    Ok(out.into_inner().map_err(IntoInnerError::into_error)?)
}

#[cfg(test)]
mod tests {
    use super::super::record_buffer::Numbered;
    use super::*;
    use proptest::prelude::*;

    fn sorted(records: &[Numbered<u64>], budget: usize) -> (Vec<Numbered<u64>>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let temp = TempSpace::new(Some(folder.path().into()), 0);
        let mut sorter = Sorter::<Vec<Numbered<u64>>>::new(temp, budget);
        for &record in records {
            sorter.add(|buffer| buffer.push(record)).unwrap();
        }
        match sorter.finish().unwrap() {
            Sorted::Memory(buffer) => (buffer, false),
            Sorted::Runs(mut merge) => {
                let mut all = Vec::new();
                while let Some(round) = merge.next_round().unwrap() {
                    all.append(round);
                }
                (all, true)
            }
        }
    }

    proptest! {
        #[test]
        fn records_come_back_in_order_with_and_without_runs(
            records in prop::collection::vec((0u64..20, any::<u64>()), 0..400), budget in 16usize..8000,
        ) {
            let records: Vec<Numbered<u64>> = records
                .into_iter()
                .map(|(fingerprint, id)| Numbered { fingerprint, id })
                .collect();
            let mut expected = records.clone();
            expected.sort_unstable();
            let (found, spilled) = sorted(&records, budget);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(spilled, records.len() * 16 >= budget);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn hundreds_of_runs_are_merged_in_several_steps() {
        let records: Vec<Numbered<u64>> = (0..100_000u64)
            .map(|id| Numbered {
                fingerprint: id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
                id,
            })
            .collect();
        // Two hundred records a run give 500 runs, more than are kept at a time.
        let (found, spilled) = sorted(&records, 6400);
        let mut expected = records;
        expected.sort_unstable();
        assert!(spilled && found == expected);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_for_ever() {
        let temp = TempSpace::new(Some("/no/such/folder".into()), 0);
        let mut sorter = Sorter::<Vec<u64>>::new(temp, 80);
        let result = (0..1000).try_for_each(|i| sorter.add(|buffer| buffer.push(i)));
        assert!(result.is_err());
        for error in [
            sorter.add(|buffer| buffer.push(1)).unwrap_err(),
            sorter.finish().unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "records were lost when they were added");
        }
    }
}
