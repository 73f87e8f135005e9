//! Keeps the ids of all records in rank order while the tables are written, then writes them (spec, section 9).

use std::io;

use super::progress::Reporter;
use super::sections::{PagedSection, SectionWriter};
use crate::codec::bits::{BitWriter, bit_length};
use crate::error::Result;
use crate::extsort::{Spool, TempSpace};
use crate::format::{GROUP_CHUNK_BITS, GROUP_CHUNK_LEN, IdKind, Kind, STRINGS_PER_OFFSET};

/// Bytes of a number that is set aside.
const NUMBER_LEN: usize = 8;

/// The parameters of the ids that go into the directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdParameters {
    pub(super) base: u64,
    pub(super) bits: u32,
}

/// Ids in rank order.
#[derive(Debug)]
pub(crate) struct IdSpool {
    kind: IdKind,
    groups: GroupBitmap,
    /// The numbers; for strings the offset of each of which the file keeps one.
    numbers: Spool,
    least: u64,
    most: u64,
    /// The strings as the file will hold them.
    strings: Spool,
}

impl IdSpool {
    /// No ids yet, of a kind that is not [`IdKind::None`].
    pub(crate) fn new(kind: IdKind, temp: &TempSpace) -> Self {
        IdSpool {
            kind,
            groups: GroupBitmap::new(temp),
            numbers: temp.spool(),
            least: u64::MAX,
            most: 0,
            strings: temp.spool(),
        }
    }

    pub(crate) fn record_count(&self) -> u64 {
        self.groups.record_count
    }

    /// Number of fingerprints that the records have.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.groups.first_count
    }

    /// Appends an id; `is_first` is true for the first one of a fingerprint.
    pub(crate) fn push_number(&mut self, is_first: bool, id: u64) -> io::Result<()> {
        self.groups.push(is_first)?;
        self.least = self.least.min(id);
        self.most = self.most.max(id);
        self.numbers.write(&id.to_le_bytes())
    }

    /// Appends an id of at most 65,535 bytes; `is_first` is true for the first one of a fingerprint.
    pub(crate) fn push_string(&mut self, is_first: bool, id: &[u8]) -> io::Result<()> {
        if self.record_count().is_multiple_of(STRINGS_PER_OFFSET) {
            self.numbers.write(&self.strings.len().to_le_bytes())?;
        }
        self.groups.push(is_first)?;
        let mut len = [0; 3];
        let len_len = encode_varint(id.len(), &mut len);
        self.strings.write(&len[..len_len])?;
        self.strings.write(id)
    }

    /// Writes all id sections. `block_counts` are the numbers of values of the blocks of table 0, as section 9.1 of the
    /// specification has them.
    pub(super) fn write(
        mut self,
        file: &mut SectionWriter<'_>,
        temp: &TempSpace,
        mut block_counts: Spool,
        reporter: &mut Reporter<'_>,
    ) -> Result<IdParameters> {
        file.begin(Kind::BlockCounts, 0)?;
        block_counts.read(2, |counts| file.write(counts))?;
        file.end();
        if self.groups.record_count > self.groups.first_count {
            self.groups.write(file, temp)?;
        }
        if self.kind == IdKind::String {
            return Ok(self.write_strings(file, temp, reporter)?);
        }
        let base = self.least.min(self.most);
        let bits = bit_length(self.most - base);
        let mut section = file.begin_paged(Kind::Numbers, temp)?;
        let mut tell = |count| reporter.advance(count);
        pack(&mut self.numbers, base, bits, &mut section, &mut tell)?;
        section.end()?;
        Ok(IdParameters { base, bits })
    }

    /// Spec §9.4.
    fn write_strings(
        &mut self,
        file: &mut SectionWriter<'_>,
        temp: &TempSpace,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<IdParameters> {
        let bits = bit_length(self.strings.len());
        let mut section = file.begin_paged(Kind::StringOffsets, temp)?;
        let mut tell = |count| reporter.advance(count * STRINGS_PER_OFFSET);
        pack(&mut self.numbers, 0, bits, &mut section, &mut tell)?;
        section.end()?;
        let mut section = file.begin_paged(Kind::StringBytes, temp)?;
        self.strings.read(1, |bytes| section.write(bytes))?;
        section.end()?;
        Ok(IdParameters { base: 0, bits })
    }
}

/// Writes numbers less a base as a packed array (spec §3.3), and calls `tell` with how many it has written.
fn pack(
    numbers: &mut Spool,
    base: u64,
    bits: u32,
    section: &mut PagedSection<'_, '_>,
    tell: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let mut writer = BitWriter::new();
    numbers.read(NUMBER_LEN, |piece| {
        for number in piece.chunks_exact(NUMBER_LEN) {
            let number = u64::from_le_bytes(number.try_into().expect("the chunk has eight bytes"));
            writer.write_value(number - base, bits);
        }
        tell((piece.len() / NUMBER_LEN) as u64);
        writer.drain(|bytes| section.write(bytes))
    })?;
    section.write(&writer.finish())
}

/// Which ids are the first of their fingerprint: bitmaps with the number of ones before each (spec §9.2).
#[derive(Debug)]
struct GroupBitmap {
    chunks: Spool,
    record_count: u64,
    first_count: u64,
    /// Ones before the open chunk.
    before: u64,
    bitmap: [u8; GROUP_CHUNK_BITS as usize / 8],
}

impl GroupBitmap {
    fn new(temp: &TempSpace) -> Self {
        GroupBitmap {
            chunks: temp.spool(),
            record_count: 0,
            first_count: 0,
            before: 0,
            bitmap: [0; GROUP_CHUNK_BITS as usize / 8],
        }
    }

    fn push(&mut self, is_first: bool) -> io::Result<()> {
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

    fn write(&mut self, file: &mut SectionWriter<'_>, temp: &TempSpace) -> io::Result<()> {
        if !self.record_count.is_multiple_of(GROUP_CHUNK_BITS) {
            self.end_chunk()?;
        }
        let mut section = file.begin_paged(Kind::Groups, temp)?;
        self.chunks
            .read(GROUP_CHUNK_LEN, |chunks| section.write(chunks))?;
        section.end()
    }
}

/// Spec §9.4: 7 bits a byte, the low ones first. Returns the number of bytes.
fn encode_varint(mut value: usize, out: &mut [u8; 3]) -> usize {
    let mut len = 0;
    while value >= 0x80 {
        out[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    out[len] = value as u8;
    len + 1
}
