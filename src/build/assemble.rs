//! Assembles a file: header, tables, ids, pipeline, directory, footer.

use super::ids::{IdParameters, IdSpool};
use super::progress::{BuildStage, Reporter};
use super::sections::SectionWriter;
use super::sink::Sink;
use super::table_writer::{self, PART_LEN, TableRequest};
use crate::codec::Codec;
use crate::error::Result;
use crate::extsort::{MemoryLimit, Spool, TempSpace, ValueSource};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Directory, FOOTER_LEN, Footer, Header, IdKind, Kind, SECTION_ALIGNMENT, TableRecord,
};
use crate::summary::Summary;

/// A file that is being written.
pub(crate) struct Assembler<'a> {
    file: SectionWriter<'a>,
    temp: TempSpace,
    limit: MemoryLimit,
    tables: Vec<TableRecord>,
    fingerprint_count: u64,
    /// Those of table 0.
    block_counts: Option<Spool>,
}

/// The parameters in the directory beside those of tables and ids.
pub(crate) struct FileParameters<'p> {
    pub(crate) max_distance: u32,
    pub(crate) block_size: u32,
    pub(crate) id_kind: IdKind,
    pub(crate) record_count: u64,
    pub(crate) pipeline: Option<&'p str>,
}

impl<'a> Assembler<'a> {
    /// Starts a file with its header.
    ///
    /// # Errors
    /// The header cannot be written. All methods return the errors of the output.
    pub(crate) fn new<F: Fingerprint>(
        sink: &'a mut Sink,
        block_size: u32,
        temp: TempSpace,
        limit: MemoryLimit,
    ) -> Result<Self> {
        let mut file = SectionWriter::new(sink, block_size);
        file.write(&Header { width: F::WIDTH }.encode())?;
        Ok(Assembler {
            file,
            temp,
            limit,
            tables: Vec::new(),
            fingerprint_count: 0,
            block_counts: None,
        })
    }

    /// Writes the next table and returns the number of its values. They are read twice, with `ef` once. `expected_count`
    /// is for the progress.
    pub(crate) fn write_table<F: Fingerprint>(
        &mut self,
        mask: F,
        codec: Option<Codec>,
        values: &mut dyn ValueSource<F>,
        expected_count: u64,
        reporter: &mut Reporter<'_>,
    ) -> Result<u64> {
        let request = TableRequest {
            number: self.tables.len(),
            mask,
            codec,
            expected_count,
            parts_at_a_time: self.limit.parts_at_a_time(PART_LEN * F::BYTES),
        };
        let written = table_writer::write(&mut self.file, &request, values, &self.temp, reporter)?;
        self.tables.push(written.record);
        self.fingerprint_count = written.value_count;
        self.block_counts.get_or_insert(written.block_counts);
        Ok(written.value_count)
    }

    /// Writes what follows the tables.
    pub(crate) fn finish<F: Fingerprint>(
        mut self,
        parameters: &FileParameters<'_>,
        ids: Option<IdSpool>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Summary<F>> {
        reporter.begin(BuildStage::WriteIds, parameters.record_count);
        let ids = match (ids, self.block_counts.take()) {
            (Some(ids), Some(counts)) => ids.write(&mut self.file, &self.temp, counts, reporter)?,
            _ => IdParameters::default(),
        };
        if let Some(pipeline) = parameters.pipeline {
            self.file.begin(Kind::Pipeline, 0)?;
            self.file.write(pipeline.as_bytes())?;
            self.file.end();
        }
        let directory = Directory {
            fingerprint_count: self.fingerprint_count,
            record_count: parameters.record_count,
            id_base: ids.base,
            block_size: parameters.block_size,
            max_distance: parameters.max_distance,
            id_kind: parameters.id_kind,
            id_bits: ids.bits,
            tables: self.tables,
            sections: self.file.take_records(),
        };
        let file_len = write_end(&mut self.file, &directory)?;
        Ok(Summary::of(&directory, file_len))
    }
}

/// Writes directory and footer, and returns the length of the whole file.
fn write_end(file: &mut SectionWriter<'_>, directory: &Directory) -> Result<u64> {
    file.align(SECTION_ALIGNMENT)?;
    let directory_offset = file.offset();
    let bytes = directory.encode();
    file.write(&bytes)?;
    let file_len = file.offset() + FOOTER_LEN as u64;
    let footer = Footer {
        directory_offset,
        directory_len: bytes.len() as u32,
        directory_checksum: crc32fast::hash(&bytes),
        file_len,
    };
    file.write(&footer.encode())?;
    Ok(file_len)
}
