//! Reads ahead, so that many complete lines are available at once; other readers see the same bytes.

use std::io::{self, BufRead, Read};

use super::source::Source;

/// Number of bytes that are read ahead.
const BLOCK: usize = 1 << 20;

/// A source whose next bytes may have been read ahead.
pub(super) struct ReadAhead {
    source: Source,
    block: Vec<u8>,
    /// The bytes of the block before this offset have been read.
    start: usize,
    /// The end of the last complete line in the block.
    lines_end: usize,
    /// The failure that ended the reading ahead, to be returned after the block.
    failure: Option<io::Error>,
}

impl ReadAhead {
    pub(super) fn new(source: Source) -> Self {
        ReadAhead {
            source,
            block: Vec::new(),
            start: 0,
            lines_end: 0,
            failure: None,
        }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the next complete lines; none at the end of the source, or if the next line does not end within the
    /// block.
    pub(super) fn whole_lines(&mut self) -> &[u8] {
        if self.start >= self.lines_end {
            self.read_on();
        }
        self.block
            .get(self.start..self.lines_end)
            .unwrap_or_default()
    }

    /// Fills the block.
    fn read_on(&mut self) {
        self.block.drain(..self.start);
        self.start = 0;
        let room = BLOCK.saturating_sub(self.block.len()) as u64;
        if self.failure.is_none() && room > 0 {
            let mut source = self.source.reader().take(room);
            self.failure = source.read_to_end(&mut self.block).err();
        }
        let last = self.block.iter().rposition(|&b| b == b'\n');
        self.lines_end = last.map_or(0, |last| last + 1);
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for ReadAhead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start < self.block.len() {
            return Ok(&self.block[self.start..]);
        }
        match self.failure.take() {
            Some(e) => Err(e),
            None => self.source.reader().fill_buf(),
        }
    }

    fn consume(&mut self, length: usize) {
        if self.start < self.block.len() {
            self.start += length;
        } else {
            self.source.reader().consume(length);
        }
    }
}
