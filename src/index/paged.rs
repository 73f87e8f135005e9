//! Reading paged sections: each page is checked when it is first used (spec, section 3.5).

use std::ops::Range;

use super::checked::CheckedSet;
use crate::codec::bits::read_value;
use crate::error::FormatError;
use crate::format::{PAGE_LEN, page_count, payload_len};
use crate::memory::will_need;

/// The place of a paged section in the file, and which of its pages have been checked.
#[derive(Debug)]
pub(super) struct Paged {
    name: &'static str,
    payload: Range<usize>,
    checked: CheckedSet,
}

impl Paged {
    /// A section at `range` of the file; `None` if no payload makes a section of that length.
    pub(super) fn new(name: &'static str, range: Range<usize>) -> Option<Self> {
        let len = payload_len(range.len() as u64)?;
        Some(Paged {
            name,
            payload: range.start..range.start + len as usize,
            checked: CheckedSet::new(page_count(len) as usize),
        })
    }

    /// Bytes of the payload.
    pub(super) fn len(&self) -> usize {
        self.payload.len()
    }

    pub(super) fn page_count(&self) -> usize {
        self.len().div_ceil(PAGE_LEN)
    }

    /// Bytes `range` of the payload, their pages checked; shorter where the payload ends.
    ///
    /// # Errors
    /// V28.
    pub(super) fn bytes<'a>(
        &self,
        file: &'a [u8],
        range: Range<usize>,
    ) -> Result<&'a [u8], FormatError> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        for page in start / PAGE_LEN..end.div_ceil(PAGE_LEN) {
            if !self.checked.contains(page) {
                self.check_page(file, page)?;
            }
        }
        file.get(self.payload.start + start..self.payload.start + end)
            .ok_or_else(|| self.damaged(28, "the file ends within the section"))
    }

    /// Number `index` of a packed array of `bits`-bit numbers.
    ///
    /// # Errors
    /// V28.
    pub(super) fn packed(&self, file: &[u8], index: u64, bits: u32) -> Result<u64, FormatError> {
        let first_bit = index * u64::from(bits);
        let start = (first_bit / 8) as usize;
        let bytes = self.bytes(file, start..start + 9)?;
        Ok(read_value::<u64>(bytes, (first_bit % 8) as usize, bits))
    }

    /// Checks one page even if it has been checked before: from then on none that is damaged is used.
    ///
    /// # Errors
    /// V28.
    pub(super) fn check_page_again(&self, file: &[u8], page: usize) -> Result<(), FormatError> {
        let checked = self.check_page(file, page);
        checked.inspect_err(|_| self.checked.distrust(page))
    }

    #[cold]
    fn check_page(&self, file: &[u8], page: usize) -> Result<(), FormatError> {
        let start = self.payload.start + page * PAGE_LEN;
        let end = (start + PAGE_LEN).min(self.payload.end);
        let stored_at = self.payload.end + page * 4;
        let bytes = file.get(start..end);
        let stored = file.get(stored_at..stored_at + 4);
        let good = bytes
            .zip(stored)
            .is_some_and(|(bytes, stored)| crc32fast::hash(bytes).to_le_bytes() == stored);
        if !good {
            let message = format!("the checksum of page {page} of the {} is wrong", self.name);
            return Err(FormatError::damaged(28, message).at(start as u64));
        }
        self.checked.insert(page);
        Ok(())
    }

    /// Where a page is in the file.
    pub(super) fn page_offset(&self, page: usize) -> usize {
        self.payload.start + page * PAGE_LEN
    }

    /// Asks for some pages from `page` on, for those who read the section in order.
    pub(super) fn read_ahead(&self, file: &[u8], page: usize, count: usize) {
        let start = self.payload.start + page * PAGE_LEN;
        let end = self.payload.end.min(start + count * PAGE_LEN);
        will_need(file.get(start..end).unwrap_or_default());
    }

    /// An error of this section.
    pub(super) fn damaged(&self, rule: u8, message: &str) -> FormatError {
        FormatError::damaged(rule, format!("{}: {message}", self.name))
            .at(self.payload.start as u64)
    }
}
