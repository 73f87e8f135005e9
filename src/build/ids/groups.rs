//! Which ids are the first of their fingerprint: bitmaps with the number of ones before each, and samples by which the
//! bit of a rank is found (spec, section 9.2).

use std::io;

use super::PackedSection;
use crate::build::sections::SectionWriter;
use crate::extsort::{Spool, TempSpace};
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, Kind, RANKS_PER_SAMPLE, index_bits};

/// Bytes of the bitmap of a chunk.
const BITMAP_LEN: usize = GROUP_CHUNK_BITS as usize / 8;

#[derive(Debug)]
pub(super) struct GroupBitmap {
    chunks: Spool,
    /// For each sample the number of its chunk, in eight bytes.
    samples: Spool,
    record_count: u64,
    first_count: u64,
    /// Ones before the open chunk.
    before: u64,
    bitmap: [u8; BITMAP_LEN],
}

impl GroupBitmap {
    pub(super) fn new(temp: &TempSpace) -> Self {
        GroupBitmap {
            chunks: temp.spool(),
            samples: temp.spool(),
            record_count: 0,
            first_count: 0,
            before: 0,
            bitmap: [0; BITMAP_LEN],
        }
    }

    pub(super) fn record_count(&self) -> u64 {
        self.record_count
    }

    /// Number of ids that are the first of their fingerprint.
    pub(super) fn first_count(&self) -> u64 {
        self.first_count
    }

    pub(super) fn push(&mut self, is_first: bool) -> io::Result<()> {
        let bit = (self.record_count % GROUP_CHUNK_BITS) as usize;
        if is_first {
            if self.first_count.is_multiple_of(RANKS_PER_SAMPLE) {
                let chunk = self.record_count / GROUP_CHUNK_BITS;
                self.samples.write(&chunk.to_le_bytes())?;
            }
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

    /// Writes the groups and their samples, unless each fingerprint has one id.
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
        let mut section = file.begin_paged(Kind::Groups, self.chunks.len(), temp)?;
        self.chunks
            .read(GROUP_CHUNK_LEN, |chunks| section.write(chunks))?;
        section.end()?;
        let bits = index_bits(self.record_count.div_ceil(GROUP_CHUNK_BITS));
        let count = self.samples.len() / 8;
        let mut section = PackedSection::begin(file, Kind::GroupSamples, count, bits, temp)?;
        self.samples.read::<io::Error>(8, |samples| {
            let (samples, _) = samples.as_chunks::<8>();
            let mut samples = samples.iter();
            samples.try_for_each(|&sample| section.push(u64::from_le_bytes(sample)))
        })?;
        section.end()
    }
}
