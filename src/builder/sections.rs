//! Writes sections one after the other, with padding, checksums and their records.

use std::io;

use crc32fast::Hasher;

use super::sink::Sink;
use crate::extsort::{Spool, TempSpace};
use crate::format::{Kind, PAGE_LEN, SectionRecord, paged_len, place_checksum};

/// A sink that tracks its offset and the sections written to it.
pub(super) struct SectionWriter<'a> {
    sink: &'a mut Sink,
    offset: u64,
    block_size: u32,
    records: Vec<SectionRecord>,
    /// The checksum of the open section so far.
    hasher: Hasher,
}

impl<'a> SectionWriter<'a> {
    pub(super) fn new(sink: &'a mut Sink, block_size: u32) -> Self {
        SectionWriter {
            sink,
            offset: 0,
            block_size,
            records: Vec::new(),
            hasher: Hasher::new(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn block_size(&self) -> usize {
        self.block_size as usize
    }

    /// Writes bytes of the open section, or between sections.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.sink.write(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes bytes that have checksums of their own.
    pub(super) fn write_owned(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.sink.write_owned(bytes)
    }

    /// Writes zeros up to a multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> io::Result<()> {
        let gap = self.offset.next_multiple_of(alignment) - self.offset;
        self.write(&vec![0; gap as usize])
    }

    /// Takes the records of the sections so far.
    pub(super) fn take_records(&mut self) -> Vec<SectionRecord> {
        std::mem::take(&mut self.records)
    }

    /// Starts a section; [`SectionWriter::end`] must follow its bytes. `size` matters for some kinds
    /// ([`Kind::alignment`]).
    pub(super) fn begin(&mut self, kind: Kind, table: usize, size: u64) -> io::Result<()> {
        self.align(kind.alignment(self.block_size, size))?;
        self.hasher.reset();
        self.records.push(SectionRecord {
            kind,
            table: table as u16,
            checksum: 0,
            offset: self.offset,
            len: 0,
        });
        Ok(())
    }

    /// Ends the open section. Its checksum goes into the record if the kind requires that.
    pub(super) fn end(&mut self) {
        if let Some(record) = self.records.last_mut() {
            record.len = self.offset - record.offset;
            if record.kind.has_record_checksum() {
                record.checksum = self.hasher.clone().finalize();
            }
        }
    }

    /// Writes a section of the bytes of a spool.
    pub(super) fn write_spool(
        &mut self,
        kind: Kind,
        table: usize,
        spool: &mut Spool,
    ) -> io::Result<()> {
        self.begin(kind, table, 0)?;
        spool.read(1, |bytes| self.write(bytes))?;
        self.end();
        Ok(())
    }

    /// Starts a section with page checksums (spec, section 3.5). `size` is the length of its payload, or for a section
    /// of a table the number of fingerprints.
    pub(super) fn begin_paged(
        &mut self,
        kind: Kind,
        table: usize,
        size: u64,
        temp: &TempSpace,
    ) -> io::Result<PagedSection<'_, 'a>> {
        let size = match kind.is_of_table() {
            true => size,
            false => paged_len(size).unwrap_or(u64::MAX),
        };
        self.begin(kind, table, size)?;
        Ok(PagedSection {
            file: self,
            kind,
            table,
            page_number: 0,
            page: Hasher::new(),
            page_len: 0,
            checksums: temp.spool(),
        })
    }
}

/// A paged section that is being written.
pub(super) struct PagedSection<'w, 'a> {
    file: &'w mut SectionWriter<'a>,
    kind: Kind,
    table: usize,
    page_number: usize,
    /// The checksum of the open page.
    page: Hasher,
    page_len: usize,
    checksums: Spool,
}

impl PagedSection<'_, '_> {
    /// Returns the offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.file.offset()
    }

    /// Writes bytes before the payload.
    pub(super) fn write_head(&mut self, head: &[u8]) -> io::Result<()> {
        self.file.write(head)
    }

    /// Appends payload.
    pub(super) fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        self.add_to_pages(payload)?;
        self.file.write(payload)
    }

    /// Appends payload, without a copy if it is long.
    pub(super) fn write_owned(&mut self, payload: Vec<u8>) -> io::Result<()> {
        self.add_to_pages(&payload)?;
        self.file.write_owned(payload)
    }

    /// Adds payload to the checksums of pages.
    fn add_to_pages(&mut self, mut payload: &[u8]) -> io::Result<()> {
        while !payload.is_empty() {
            let len = payload.len().min(PAGE_LEN - self.page_len);
            let (now, later) = payload.split_at(len);
            self.page.update(now);
            self.page_len += len;
            if self.page_len == PAGE_LEN {
                self.end_page()?;
            }
            payload = later;
        }
        Ok(())
    }

    fn end_page(&mut self) -> io::Result<()> {
        let page = std::mem::take(&mut self.page);
        let checksum = page.finalize() ^ place_checksum(self.kind, self.table, self.page_number);
        self.page_len = 0;
        self.page_number += 1;
        self.checksums.write(&checksum.to_le_bytes())
    }

    /// Writes the checksums of all pages after the payload.
    pub(super) fn end(mut self) -> io::Result<()> {
        if self.page_len > 0 {
            self.end_page()?;
        }
        let file = self.file;
        self.checksums.read(4, |checksums| file.write(checksums))?;
        file.end();
        Ok(())
    }
}
