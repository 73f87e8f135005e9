//! The buffer that a string is decoded into.

use super::symbol::SLOT_LEN;
use super::{MAX_STRING_LEN, StringFault};
use crate::codec::bits::WINDOW_BITS;
use crate::codec::huffman::MAX_CODE_LEN;

/// A string, with room after it: symbols are copied whole, before it is known how many of their bytes count.
#[derive(Debug, Clone, Default)]
pub(crate) struct StringBuffer {
    bytes: Vec<u8>,
    len: usize,
}

/// Codewords that are decoded together: as many as every window has.
pub(super) const TOGETHER: usize = (WINDOW_BITS / MAX_CODE_LEN) as usize;

/// Room for the symbols of [`TOGETHER`] codewords.
pub(super) const SPARE: usize = TOGETHER * SLOT_LEN;

/// Bytes of a new buffer.
const FIRST_LEN: usize = 256;

impl StringBuffer {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Replaces the string.
    pub(crate) fn set(&mut self, string: &[u8]) {
        if string.len() > self.bytes.len() {
            self.bytes.resize(string.len() + SPARE, 0);
        }
        self.bytes[..string.len()].copy_from_slice(string);
        self.len = string.len();
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Keeps the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns all of the memory, and the length of the string in it.
    #[inline(always)]
    pub(super) fn parts(&mut self) -> (&mut [u8], usize) {
        (&mut self.bytes, self.len)
    }

    pub(super) fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.bytes.len());
        self.len = len.min(self.bytes.len());
    }

    /// Makes room for [`SPARE`] bytes after `len` bytes.
    ///
    /// # Errors
    /// This exceeds the longest string.
    #[cold]
    pub(super) fn grow(&mut self, len: usize) -> Result<(), StringFault> {
        if len > MAX_STRING_LEN {
            return Err(StringFault::Length);
        }
        let wanted = (2 * len).clamp(FIRST_LEN, MAX_STRING_LEN) + SPARE;
        self.bytes.resize(wanted.max(self.bytes.len()), 0);
        Ok(())
    }
}
