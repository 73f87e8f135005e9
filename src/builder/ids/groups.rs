//! Marks the first id of each fingerprint: bitmaps with the number of ones before each (spec, section 9.2).

use std::io;

use crate::builder::sections::SectionWriter;
use crate::extsort::{Spool, TempSpace};
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, Kind};

/// Bytes of the bitmap of a chunk.
const BITMAP_LEN: usize = GROUP_CHUNK_BITS as usize / 8;

#[derive(Debug)]
pub(super) struct GroupBitmap {
    chunks: Spool,
    record_count: u64,
    first_count: u64,
    /// Number of ones before the open chunk.
    before: u64,
    bitmap: [u8; BITMAP_LEN],
}

impl GroupBitmap {
    pub(super) fn new(temp: &TempSpace) -> Self {
        GroupBitmap {
            chunks: temp.spool(),
            record_count: 0,
            first_count: 0,
            before: 0,
            bitmap: [0; BITMAP_LEN],
        }
    }

    pub(super) fn record_count(&self) -> u64 {
        self.record_count
    }

    pub(super) fn push(&mut self, is_first: bool) -> io::Result<()> {
        let bit = (self.record_count % GROUP_CHUNK_BITS) as usize;
        if is_first {
            self.bitmap[bit / 8] |= 0x80 >> (bit % 8);
            self.first_count += 1;
        }
        self.record_count += 1;
        match bit as u64 == GROUP_CHUNK_BITS - 1 {
            true => self.end_chunk(),
            false => Ok(()),
        }
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        let mut chunk = [0; GROUP_CHUNK_LEN];
        chunk[..8].copy_from_slice(&self.before.to_le_bytes());
        chunk[8..].copy_from_slice(&self.bitmap);
        self.before = self.first_count;
        self.bitmap.fill(0);
        self.chunks.write(&chunk)
    }

    /// Writes the groups, unless each fingerprint has one id.
    pub(super) fn write(
        &mut self,
        file: &mut SectionWriter<'_>,
        temp: &TempSpace,
    ) -> io::Result<()> {
        if self.record_count == self.first_count {
            return Ok(());
        }
        if !self.record_count.is_multiple_of(GROUP_CHUNK_BITS) {
            self.end_chunk()?;
        }
        let mut section = file.begin_paged(Kind::GROUPS, 0, self.chunks.len(), temp)?;
        self.chunks
            .read(GROUP_CHUNK_LEN, |chunks| section.write(chunks))?;
        section.end()
    }
}
