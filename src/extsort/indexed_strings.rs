//! A buffer of strings with numbers, sorted by the strings.

use std::io::{self, BufRead, Read, Write};

use rayon::prelude::*;

use super::record_buffer::{RecordBuffer, TASK_LEN};
use crate::error::Result;
use crate::threads::{map_parts, map_parts_mut};

/// Bytes of a string that are compared as one number.
const PREFIX_LEN: usize = 8;

/// Bytes of a record in a run before its string: number and length.
const HEAD_LEN: usize = 10;

/// Strings of at most 65,535 bytes, each with a number.
#[derive(Debug, Default)]
pub(crate) struct IndexedStrings {
    records: Vec<Record>,
    arena: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    /// The bytes after the common beginning of all strings of the buffer, while they are sorted.
    prefix: u64,
    start: u64,
    index: u64,
    len: u16,
}

impl Record {
    fn bytes(self, arena: &[u8]) -> &[u8] {
        &arena[self.start as usize..][..usize::from(self.len)]
    }
}

impl IndexedStrings {
    /// Appends a string of at most 65,535 bytes.
    pub(crate) fn push(&mut self, string: &[u8], index: u64) {
        self.records.push(Record {
            prefix: 0,
            start: self.arena.len() as u64,
            index,
            len: string.len() as u16,
        });
        self.arena.extend_from_slice(string);
    }

    /// Calls `visit` with each string and its number, in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let mut records = self.records.iter();
        records.try_for_each(|record| visit(record.bytes(&self.arena), record.index))
    }

    /// Returns the length of the common beginning of all strings.
    fn common_len(&self) -> usize {
        let Some(first) = self.records.first() else {
            return 0;
        };
        let first = first.bytes(&self.arena);
        let common = |record: &Record| {
            let pairs = first.iter().zip(record.bytes(&self.arena));
            pairs.take_while(|(a, b)| a == b).count()
        };
        let shortest = map_parts(&self.records, TASK_LEN, |_, part| {
            part.iter().map(common).min().unwrap_or(0)
        });
        shortest.into_iter().min().unwrap_or(0)
    }
}

/// Returns the first bytes of a string as a number with the same order; shorter strings are padded with zeros.
fn prefix(string: &[u8]) -> u64 {
    let mut bytes = [0; PREFIX_LEN];
    let len = string.len().min(PREFIX_LEN);
    bytes[..len].copy_from_slice(&string[..len]);
    u64::from_be_bytes(bytes)
}

impl RecordBuffer for IndexedStrings {
    type Key = (Vec<u8>, u64);

    fn memory_len(&self) -> usize {
        std::mem::size_of_val(self.records.as_slice()) + self.arena.len()
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.arena.clear();
    }

    fn sort(&mut self) {
        let skipped = self.common_len();
        let arena = &self.arena;
        map_parts_mut(&mut self.records, TASK_LEN, |_, part| {
            for record in part {
                record.prefix = prefix(&record.bytes(arena)[skipped..]);
            }
        });
        self.records.par_sort_unstable_by(|a, b| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            let by_bytes = || a.bytes(arena)[skipped..].cmp(&b.bytes(arena)[skipped..]);
            by_prefix
                .then_with(by_bytes)
                .then_with(|| a.index.cmp(&b.index))
        });
    }

    fn last_key(&self) -> Option<Self::Key> {
        let record = self.records.last()?;
        Some((record.bytes(&self.arena).to_vec(), record.index))
    }

    fn move_up_to(&mut self, bound: Option<&Self::Key>, to: &mut Self) {
        let count = match bound {
            Some((string, index)) => self.records.partition_point(|record| {
                (record.bytes(&self.arena), record.index) <= (string.as_slice(), *index)
            }),
            None => self.records.len(),
        };
        for record in self.records.drain(..count) {
            to.push(record.bytes(&self.arena), record.index);
        }
        // Strings were read in order, so the remaining ones are at the end of the arena.
        let start = self.records.first().map(|record| record.start);
        let start = start.unwrap_or(self.arena.len() as u64);
        self.arena.drain(..start as usize);
        self.records.iter_mut().for_each(|r| r.start -= start);
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        for record in &self.records {
            out.write_all(&record.index.to_le_bytes())?;
            out.write_all(&record.len.to_le_bytes())?;
            out.write_all(record.bytes(&self.arena))?;
        }
        Ok(())
    }

    fn read_from(&mut self, input: &mut impl BufRead, budget: usize) -> io::Result<bool> {
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut head = [0; HEAD_LEN];
            input.read_exact(&mut head)?;
            let (index, len) = head.split_at(8);
            let index = u64::from_le_bytes(index.try_into().expect("there are eight bytes"));
            let len = u16::from_le_bytes(len.try_into().expect("there are two bytes"));
            self.records.push(Record {
                prefix: 0,
                start: self.arena.len() as u64,
                index,
                len,
            });
            let read = Read::take(&mut *input, len.into()).read_to_end(&mut self.arena)?;
            if read < len.into() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if self.memory_len() >= budget {
                return Ok(true);
            }
        }
    }
}
