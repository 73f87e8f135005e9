//! Words of a fixed length out of a byte source, for the binary formats.

use std::io::{self, Read};

use super::source::Source;
use crate::Error;
use simidx::Fingerprint;

/// The most words that are taken at a time.
const MOST: usize = 1 << 16;

/// The most bytes that a word has.
const WIDEST: usize = 16;

/// A source read as words of `F::BYTES` bytes, the least significant one first.
pub(super) struct Words {
    source: Source,
    /// Where the word returned last starts.
    place: u64,
    /// Where the next word starts.
    offset: u64,
    /// Words that have come, and that may still come.
    seen: u64,
    left: u64,
    /// What stopped [`Words::take_many`] and is still to be told.
    stop: Option<io::Result<usize>>,
}

/// What the next word is.
pub(super) enum Word<F> {
    Whole(F),
    /// As many bytes as there were, fewer than a word has; none at the end of the source.
    CutOff(usize),
    /// All words that were to come have come.
    Enough,
}

impl Words {
    /// Reads up to `count` words from a source of which `offset` bytes have been read.
    pub(super) fn new(source: Source, offset: u64, count: u64) -> Self {
        Words {
            source,
            place: offset,
            offset,
            seen: 0,
            left: count,
            stop: None,
        }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn source_mut(&mut self) -> &mut Source {
        &mut self.source
    }

    /// The number of words so far.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Where the word returned last, or what stands in its place, starts.
    pub(super) fn place(&self) -> u64 {
        self.place
    }

    /// The next word.
    pub(super) fn next<F: Fingerprint>(&mut self) -> Result<Word<F>, Error> {
        if self.left == 0 {
            self.place = self.offset;
            return Ok(Word::Enough);
        }
        match self.read_word::<F>() {
            Ok((Some(word), _)) => {
                self.advance::<F>(1);
                Ok(Word::Whole(word))
            }
            Ok((None, length)) => {
                self.place = self.offset;
                Ok(Word::CutOff(length))
            }
            Err(e) => Err(self.source.io_error(e)),
        }
    }

    /// Appends words that come next and returns how many; after 0, [`Words::next`] tells why.
    pub(super) fn take_many<F: Fingerprint>(&mut self, out: &mut Vec<F>) -> usize {
        let before = out.len();
        while self.stop.is_none() && out.len() - before < MOST && self.left > 0 {
            match self.take_buffered(out) {
                Ok(1..) => continue,
                Ok(0) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.stop = Some(Err(e));
                    break;
                }
            }
            // A word across two buffers, or the end.
            match self.read_word::<F>() {
                Ok((Some(word), _)) => {
                    out.push(word);
                    self.advance::<F>(1);
                }
                Ok((None, length)) => self.stop = Some(Ok(length)),
                Err(e) => self.stop = Some(Err(e)),
            }
        }
        out.len() - before
    }

    /// Appends the words that lie in the buffer as a whole.
    fn take_buffered<F: Fingerprint>(&mut self, out: &mut Vec<F>) -> io::Result<usize> {
        let buffer = self.source.reader().fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = (buffer.len() / F::BYTES).min(most);
        let words = buffer[..count * F::BYTES].chunks_exact(F::BYTES);
        out.extend(words.map(|word| F::from_le_slice(word).unwrap_or(F::ZERO)));
        self.source.reader().consume(count * F::BYTES);
        self.advance::<F>(count);
        Ok(count)
    }

    /// The next word, or `None` and the number of bytes that there were instead.
    fn read_word<F: Fingerprint>(&mut self) -> io::Result<(Option<F>, usize)> {
        if let Some(stop) = self.stop.take() {
            return stop.map(|length| (None, length));
        }
        let reader = self.source.reader();
        // Most words lie in the buffer as a whole.
        match reader.fill_buf() {
            Ok(buffer) if buffer.len() >= F::BYTES => {
                let word = F::from_le_slice(&buffer[..F::BYTES]);
                reader.consume(F::BYTES);
                return Ok((word, F::BYTES));
            }
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let mut word = Vec::with_capacity(WIDEST);
        reader.take(F::BYTES as u64).read_to_end(&mut word)?;
        Ok((F::from_le_slice(&word), word.len()))
    }

    fn advance<F: Fingerprint>(&mut self, count: usize) {
        if count > 0 {
            let length = F::BYTES as u64;
            self.place = self.offset + (count as u64 - 1) * length;
            self.offset += count as u64 * length;
            self.seen += count as u64;
            self.left -= count as u64;
        }
    }
}
