//! Merges ordered runs in rounds, each run within its share of the memory.

use std::io::{BufReader, Seek};

use super::record_buffer::RecordBuffer;
use super::temp_space::TempFile;
use crate::error::Result;

/// Bytes of a run that are read or written at a time.
pub(super) const RUN_BUFFER_LEN: usize = 1 << 16;

/// An ordered run and its waiting records.
#[derive(Debug)]
struct Source<B> {
    file: BufReader<TempFile>,
    buffer: B,
    ended: bool,
}

/// Merges several ordered runs.
#[derive(Debug)]
pub(crate) struct Merge<B> {
    sources: Vec<Source<B>>,
    round: B,
    /// Number of records in the last round, before equal ones were combined.
    taken: u64,
    /// The most bytes of waiting records for each run.
    share: usize,
}

impl<B: RecordBuffer> Merge<B> {
    /// Creates a merge that holds about `budget` bytes: one half waiting records, one half those of a round.
    ///
    /// # Errors
    /// A failure to read a file.
    pub(super) fn new(runs: Vec<TempFile>, budget: usize) -> Result<Self> {
        let share = budget / 2 / runs.len().max(1);
        let mut sources = Vec::with_capacity(runs.len());
        for mut file in runs {
            file.rewind()?;
            sources.push(Source {
                file: BufReader::with_capacity(RUN_BUFFER_LEN, file),
                buffer: B::default(),
                ended: false,
            });
        }
        Ok(Merge {
            sources,
            round: B::default(),
            taken: 0,
            share,
        })
    }

    /// Returns the number of records that went into the last round.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the next records in order; none at the end. Equal records may be spread over rounds.
    ///
    /// # Errors
    /// A failure to read a run.
    pub(crate) fn next_round(&mut self) -> Result<Option<&mut B>> {
        self.round.clear();
        for source in &mut self.sources {
            // Avoids many small reads.
            if !source.ended && source.buffer.memory_len() <= self.share / 2 {
                source.ended = !source.buffer.read_from(&mut source.file, self.share)?;
            }
        }
        // An unread record is at least the last one read of its run, so all records up to the least of these are in
        // memory.
        let open = self.sources.iter().filter(|source| !source.ended);
        let bound = open.filter_map(|source| source.buffer.last_key()).min();
        for source in &mut self.sources {
            source.buffer.move_up_to(bound.as_ref(), &mut self.round);
        }
        if self.round.count() == 0 {
            return Ok(None);
        }
        self.taken = self.round.count() as u64;
        self.round.sort();
        Ok(Some(&mut self.round))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record_buffer::Numbered;
    use super::super::temp_space::TempSpace;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounds_are_the_sorted_whole(
            runs in prop::collection::vec(prop::collection::vec((0u32..5, 0u64..3), 0..60), 0..6),
            budget in prop_oneof![0usize..2000, Just(1 << 20)],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let temp = TempSpace::new(Some(folder.path().into()), 0);
            let mut all: Vec<Numbered<u32>> = Vec::new();
            let mut files = Vec::new();
            for run in runs {
                let mut records: Vec<Numbered<u32>> = run
                    .into_iter()
                    .map(|(fingerprint, id)| Numbered { fingerprint, id })
                    .collect();
                records.sort_unstable();
                all.extend(&records);
                let mut file = temp.file().unwrap();
                records.write_to(&mut file).unwrap();
                files.push(file);
            }
            all.sort_unstable();
            let mut merge = Merge::<Vec<Numbered<u32>>>::new(files, budget).unwrap();
            let mut merged = Vec::new();
            while let Some(round) = merge.next_round().unwrap() {
                merged.append(round);
            }
            prop_assert_eq!(merged, all);
        }
    }
}
