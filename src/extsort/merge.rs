//! Merges ordered streams of records in rounds, each stream within its share of the memory.

use super::record_buffer::RecordBuffer;
use crate::error::Result;

/// Records that come in order.
pub(crate) trait Stream<B> {
    /// Appends records up to about `budget` bytes; returns false at the end of the stream.
    ///
    /// # Errors
    /// A failure to read the records.
    fn fill(&mut self, buffer: &mut B, budget: usize) -> Result<bool>;
}

/// A stream and its waiting records.
#[derive(Debug)]
struct Source<B, S> {
    stream: S,
    buffer: B,
    ended: bool,
}

/// Merges several ordered streams.
#[derive(Debug)]
pub(crate) struct Merge<B, S> {
    sources: Vec<Source<B, S>>,
    round: B,
    /// Number of records in the last round, before equal ones were combined.
    taken: u64,
    /// The most bytes of waiting records for each stream.
    share: usize,
}

impl<B: RecordBuffer, S: Stream<B>> Merge<B, S> {
    /// Creates a merge that holds about `budget` bytes: one half waiting records, one half those of a round.
    pub(crate) fn new(streams: impl IntoIterator<Item = S>, budget: usize) -> Self {
        let sources: Vec<Source<B, S>> = streams
            .into_iter()
            .map(|stream| Source {
                stream,
                buffer: B::default(),
                ended: false,
            })
            .collect();
        Merge {
            share: budget / 2 / sources.len().max(1),
            sources,
            round: B::default(),
            taken: 0,
        }
    }

    /// Returns the number of records that went into the last round.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the next records in order; none at the end. Equal records may be spread over rounds.
    ///
    /// # Errors
    /// Any error of a stream.
    pub(crate) fn next_round(&mut self) -> Result<Option<&mut B>> {
        self.round.clear();
        for source in &mut self.sources {
            // Avoids many small reads.
            if !source.ended && source.buffer.memory_len() <= self.share / 2 {
                source.ended = !source.stream.fill(&mut source.buffer, self.share)?;
            }
        }
        // An unread record is at least the last one read of its stream, so all records up to the least of these are in
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
    use super::*;
    use proptest::prelude::*;

    /// Returns `step` records at a time.
    struct Slow {
        records: std::vec::IntoIter<Numbered<u32>>,
        step: usize,
    }

    impl Stream<Vec<Numbered<u32>>> for Slow {
        fn fill(&mut self, buffer: &mut Vec<Numbered<u32>>, _room: usize) -> Result<bool> {
            buffer.extend(self.records.by_ref().take(self.step));
            Ok(self.records.len() > 0)
        }
    }

    proptest! {
        #[test]
        fn rounds_are_the_sorted_whole(
            streams in prop::collection::vec(
                (prop::collection::vec((0u32..5, 0u64..3), 0..60), 1usize..9), 0..6,
            ),
        ) {
            let mut all: Vec<Numbered<u32>> = Vec::new();
            let mut slow = Vec::new();
            for (records, step) in streams {
                let mut records: Vec<Numbered<u32>> = records
                    .into_iter()
                    .map(|(fingerprint, id)| Numbered { fingerprint, id })
                    .collect();
                records.sort_unstable();
                all.extend(&records);
                slow.push(Slow { records: records.into_iter(), step });
            }
            all.sort_unstable();
            let mut merge = Merge::new(slow, 1 << 20);
            let mut merged = Vec::new();
            while let Some(round) = merge.next_round().unwrap() {
                merged.append(round);
            }
            prop_assert_eq!(merged, all);
        }
    }
}
