//! Paged sections: each page is checked on first use (spec, section 3.5).

use std::ops::Range;

use super::checked::CheckedSet;
use crate::codec::bits::read_value;
use crate::codec::lines::{LINE_LEN, Line};
use crate::error::FormatError;
use crate::format::{Kind, PAGE_LEN, checksum_at, page_count, payload_len};
use crate::memory::will_need;

/// The place of a paged section in the file, and which of its pages have been checked.
#[derive(Debug)]
pub(super) struct Paged {
    kind: Kind,
    table: usize,
    payload: Range<usize>,
    checked: CheckedSet,
}

impl Paged {
    /// Creates the section at `range` of the file; `None` if no payload gives a section of that length.
    pub(super) fn new(kind: Kind, table: usize, range: Range<usize>) -> Option<Self> {
        let len = payload_len(range.len() as u64)?;
        Some(Paged {
            kind,
            table,
            payload: range.start..range.start + len as usize,
            checked: CheckedSet::new(page_count(len) as usize),
        })
    }

    /// Returns the offset of the payload in the file.
    #[inline(always)]
    pub(super) fn start(&self) -> usize {
        self.payload.start
    }

    /// Returns the payload, whether checked or not.
    #[inline(always)]
    pub(super) fn payload<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.payload.clone()).unwrap_or_default()
    }

    /// Returns whether a page has passed its check.
    #[inline(always)]
    pub(super) fn is_checked(&self, page: usize) -> bool {
        self.checked.contains(page)
    }

    /// Returns the length of the payload in bytes.
    pub(super) fn len(&self) -> usize {
        self.payload.len()
    }

    pub(super) fn page_count(&self) -> usize {
        self.len().div_ceil(PAGE_LEN)
    }

    /// Returns bytes `range` of the payload, after checking their pages; fewer at the end of the payload.
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
        let pages = start / PAGE_LEN..end.div_ceil(PAGE_LEN);
        for page in pages {
            if !self.checked.contains(page) {
                self.check_page(file, page)?;
            }
        }
        file.get(self.payload.start + start..self.payload.start + end)
            .ok_or_else(|| self.damaged(28, "the file ends within the section"))
    }

    /// Returns the offset of the checksum of a page in the file.
    fn checksum_offset(&self, page: usize) -> usize {
        self.payload.end + page * 4
    }

    /// Returns number `index` of a packed array of `bits`-bit numbers.
    ///
    /// # Errors
    /// V28.
    pub(super) fn packed(&self, file: &[u8], index: u64, bits: u32) -> Result<u64, FormatError> {
        let first_bit = index * u64::from(bits);
        let start = (first_bit / 8) as usize;
        let bytes = self.bytes(file, start..start + 9)?;
        Ok(read_value::<u64>(bytes, (first_bit % 8) as usize, bits))
    }

    /// Checks that the bits after a packed array of `count` numbers are zero (V34).
    pub(super) fn check_spare_bits(
        &self,
        file: &[u8],
        count: u64,
        bits: u32,
    ) -> Result<(), FormatError> {
        let used = count * u64::from(bits);
        let spare = (self.len() as u64 * 8 - used) as u32;
        let last = self.bytes(file, self.len().saturating_sub(1)..self.len())?;
        if last
            .first()
            .is_some_and(|byte| byte & ((1 << spare) - 1) != 0)
        {
            return Err(self.damaged(34, "a bit after the last number is set"));
        }
        Ok(())
    }

    /// Checks a page even if it has been checked before. From then on it is not used if it is damaged.
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
        let stored_at = self.checksum_offset(page);
        let bytes = file.get(start..end);
        let stored = file.get(stored_at..stored_at + 4);
        let good = bytes.zip(stored).is_some_and(|(bytes, stored)| {
            checksum_at(bytes, self.kind, self.table, page).to_le_bytes() == stored
        });
        if !good {
            let name = self.kind.name();
            let message = format!("the checksum of page {page} of the {name} is wrong");
            return Err(self.of_table(FormatError::damaged(28, message).at(start as u64)));
        }
        if let (Kind::LINES, Some(bytes)) = (self.kind, bytes) {
            self.check_lines(bytes, page)?;
        }
        self.checked.insert(page);
        Ok(())
    }

    /// Checks the rules of lines that do not depend on the path to them.
    ///
    /// # Errors
    /// V44.
    fn check_lines(&self, page_bytes: &[u8], page: usize) -> Result<(), FormatError> {
        for (i, line) in page_bytes.as_chunks::<LINE_LEN>().0.iter().enumerate() {
            if Line::new(line).check().is_err() {
                let at = self.page_offset(page) + i * LINE_LEN;
                let message = "a line does not mark the last value of each address";
                let error = FormatError::damaged(44, message).at(at as u64);
                return Err(self.of_table(error));
            }
        }
        Ok(())
    }

    /// Adds the table to an error, if the section belongs to one.
    fn of_table(&self, error: FormatError) -> FormatError {
        match self.kind.is_of_table() {
            true => error.in_table(self.table),
            false => error,
        }
    }

    /// Returns the offset of a page in the file.
    pub(super) fn page_offset(&self, page: usize) -> usize {
        self.payload.start + page * PAGE_LEN
    }

    /// Requests `count` pages from `page` on, during a sequential read.
    pub(super) fn read_ahead(&self, file: &[u8], page: usize, count: usize) {
        let start = self.payload.start + page * PAGE_LEN;
        let end = self.payload.end.min(start + count * PAGE_LEN);
        will_need(file.get(start..end).unwrap_or_default());
    }

    /// Creates an error of this section.
    pub(super) fn damaged(&self, rule: u8, message: &str) -> FormatError {
        FormatError::damaged(rule, format!("{}: {message}", self.kind.name()))
            .at(self.payload.start as u64)
    }
}
