//! Words of a fixed length out of a byte source, for the binary formats.

use std::io::{self, Read};

use super::source::Source;
use crate::Error;
use simidx::{Fingerprints, Width};

/// The most words that are taken at a time.
const MOST: usize = 1 << 16;

/// A source read as words of a width, the least significant byte first.
pub(super) struct Words {
    source: Source,
    width: Width,
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
pub(super) enum Word {
    Whole(u128),
    /// As many bytes as there were, fewer than a word has; none at the end of the source.
    CutOff(usize),
    /// All words that were to come have come.
    Enough,
}

impl Words {
    /// Reads up to `count` words from a source of which `offset` bytes have been read.
    pub(super) fn new(source: Source, width: Width, offset: u64, count: u64) -> Self {
        Words {
            source,
            width,
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

    pub(super) fn width(&self) -> Width {
        self.width
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
    pub(super) fn next(&mut self) -> Result<Word, Error> {
        if self.left == 0 {
            self.place = self.offset;
            return Ok(Word::Enough);
        }
        match self.read_word() {
            Ok((Some(word), _)) => {
                self.advance(1);
                Ok(Word::Whole(word))
            }
            Ok((None, length)) => {
                self.place = self.offset;
                Ok(Word::CutOff(length))
            }
            Err(e) => Err(self.source.io_error(e)),
        }
    }

    /// Appends words that come next to a column of their width and returns how many; after 0, [`Words::next`] tells why.
    pub(super) fn take_many(&mut self, out: &mut Fingerprints) -> usize {
        let before = out.len();
        let fits = out.width() == self.width;
        while fits && self.stop.is_none() && out.len() - before < MOST && self.left > 0 {
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
            match self.read_word() {
                Ok((Some(word), _)) => {
                    out.push(word);
                    self.advance(1);
                }
                Ok((None, length)) => self.stop = Some(Ok(length)),
                Err(e) => self.stop = Some(Err(e)),
            }
        }
        out.len() - before
    }

    /// Appends the words that lie in the buffer as a whole.
    fn take_buffered(&mut self, out: &mut Fingerprints) -> io::Result<usize> {
        let buffer = self.source.reader().fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = (buffer.len() / self.width.bytes()).min(most);
        let length = count * self.width.bytes();
        let bytes = &buffer[..length];
        match out {
            Fingerprints::W32(out) => append(bytes, u32::from_le_bytes, out),
            Fingerprints::W64(out) => append(bytes, u64::from_le_bytes, out),
            Fingerprints::W128(out) => append(bytes, u128::from_le_bytes, out),
        }
        self.source.reader().consume(length);
        self.advance(count);
        Ok(count)
    }

    /// The next word, or `None` and the number of bytes that there were instead.
    fn read_word(&mut self) -> io::Result<(Option<u128>, usize)> {
        if let Some(stop) = self.stop.take() {
            return stop.map(|length| (None, length));
        }
        let length = self.width.bytes();
        let reader = self.source.reader();
        // Most words lie in the buffer as a whole.
        match reader.fill_buf() {
            Ok(buffer) if buffer.len() >= length => {
                let word = from_bytes(&buffer[..length]);
                reader.consume(length);
                return Ok((Some(word), length));
            }
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let mut word = Vec::with_capacity(length);
        reader.take(length as u64).read_to_end(&mut word)?;
        let whole = (word.len() == length).then(|| from_bytes(&word));
        Ok((whole, word.len()))
    }

    fn advance(&mut self, count: usize) {
        if count > 0 {
            let length = self.width.bytes() as u64;
            self.place = self.offset + (count as u64 - 1) * length;
            self.offset += count as u64 * length;
            self.seen += count as u64;
            self.left -= count as u64;
        }
    }
}

/// Appends words of so many bytes each.
fn append<F, const N: usize>(bytes: &[u8], word: impl Fn([u8; N]) -> F, out: &mut Vec<F>) {
    out.extend(bytes.as_chunks().0.iter().map(|bytes| word(*bytes)));
}

/// The value of a word, which has 16 bytes at most.
fn from_bytes(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
}
