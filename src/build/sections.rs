//! Writing sections one behind the other, with padding, checksums and their records.

use std::io::{self, Write};

use crate::format::{Kind, PAGE_LEN, SectionRecord};

/// A sink that knows its offset and remembers the sections written to it.
pub(super) struct SectionWriter<W> {
    out: W,
    offset: u64,
    block_size: u32,
    records: Vec<SectionRecord>,
}

impl<W: Write> SectionWriter<W> {
    pub(super) fn new(out: W, block_size: u32) -> Self {
        SectionWriter {
            out,
            offset: 0,
            block_size,
            records: Vec::new(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn block_size(&self) -> usize {
        self.block_size as usize
    }

    /// Writes bytes that belong to the open section, or to none.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes zeros up to a multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> io::Result<()> {
        let gap = self.offset.next_multiple_of(alignment) - self.offset;
        self.write(&vec![0; gap as usize])
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The records of the sections so far.
    pub(super) fn take_records(&mut self) -> Vec<SectionRecord> {
        std::mem::take(&mut self.records)
    }

    /// Starts a section; [`SectionWriter::end`] must follow its bytes.
    pub(super) fn begin(&mut self, kind: Kind, table: usize) -> io::Result<()> {
        self.align(kind.alignment(self.block_size))?;
        self.records.push(SectionRecord {
            kind,
            table: table as u16,
            checksum: 0,
            offset: self.offset,
            len: 0,
        });
        Ok(())
    }

    /// Ends the section that was begun last.
    pub(super) fn end(&mut self) {
        if let Some(record) = self.records.last_mut() {
            record.len = self.offset - record.offset;
        }
    }

    /// Writes a whole section, its checksum in the record where the kind wants it there.
    pub(super) fn write_section(
        &mut self,
        kind: Kind,
        table: usize,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.begin(kind, table)?;
        self.write(bytes)?;
        self.end();
        if let Some(record) = self
            .records
            .last_mut()
            .filter(|_| kind.has_record_checksum())
        {
            record.checksum = crc32fast::hash(bytes);
        }
        Ok(())
    }

    /// Writes a whole section of payload and page checksums.
    pub(super) fn write_paged(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        self.begin(kind, 0)?;
        self.write(payload)?;
        for page in payload.chunks(PAGE_LEN) {
            self.write(&crc32fast::hash(page).to_le_bytes())?;
        }
        self.end();
        Ok(())
    }
}
