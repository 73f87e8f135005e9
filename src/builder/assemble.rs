//! Assembles a file: header, blocks, ids, keys, pipeline, metadata and sketches, directory, footer.

use super::ids::{IdParameters, IdSpool};
use super::record_sorter::Separated;
use super::sections::SectionWriter;
use super::sink::Sink;
use super::sketches::SketchSpool;
use super::table_writer::{self, KeySections, PART_LEN, TableRequest};
use crate::codec::Codec;
use crate::design::Permutation;
use crate::error::Result;
use crate::extsort::{MemoryLimit, Spool, ValueSpace, Values};
use crate::fingerprint::Fingerprint;
use crate::format::{
    ContentId, Directory, FOOTER_LEN, Footer, Header, IdKind, Kind, Metadata, SECTION_ALIGNMENT,
    TableRecord,
};
use crate::summary::Summary;
use crate::watch::{Reporter, Stage};

/// A file that is being written.
pub(crate) struct Assembler<'a> {
    file: SectionWriter<'a>,
    space: ValueSpace,
    limit: MemoryLimit,
    tables: Vec<TableRecord>,
    /// The keys of tables in blocks, with the numbers of the tables.
    keys: Vec<(usize, KeySections)>,
    fingerprint_count: u64,
    /// The parts that only table 0 has.
    first: Option<FirstTable>,
}

/// The parts of table 0 in the file, except its blocks and keys.
struct FirstTable {
    /// The block counts, if the table is in blocks.
    block_counts: Option<Spool>,
    /// The content id of the fingerprints without ids.
    content_id: ContentId,
}

/// The parameters in the directory, except those of tables and ids.
pub(crate) struct FileParameters<'p> {
    pub(crate) max_distance: u32,
    pub(crate) block_size: u32,
    pub(crate) id_kind: IdKind,
    pub(crate) record_count: u64,
    pub(crate) pipeline: Option<&'p str>,
    pub(crate) metadata: &'p Metadata,
}

impl<'a> Assembler<'a> {
    /// Starts a file with its header.
    ///
    /// # Errors
    /// The header cannot be written. All methods return the errors of the output.
    pub(crate) fn new<F: Fingerprint>(
        sink: &'a mut Sink,
        block_size: u32,
        space: ValueSpace,
        limit: MemoryLimit,
    ) -> Result<Self> {
        let mut file = SectionWriter::new(sink, block_size);
        file.write(&Header { width: F::WIDTH }.encode())?;
        Ok(Assembler {
            file,
            space,
            limit,
            tables: Vec::new(),
            keys: Vec::new(),
            fingerprint_count: 0,
            first: None,
        })
    }

    /// Writes the whole file: a table for each of these prefixes, and everything after the tables. `codec` returns the
    /// codec of a table by its number; for `None` the data decide.
    ///
    /// # Errors
    /// A failure to sort the fingerprints of a table, or to read the records.
    pub(crate) fn write<F: Fingerprint>(
        mut self,
        records: Separated<F>,
        masks: &[F],
        codec: &dyn Fn(usize) -> Option<Codec>,
        parameters: &FileParameters<'_>,
        reporter: &mut Reporter,
    ) -> Result<Summary> {
        self.write_tables(records.values, masks, codec, reporter)?;
        self.finish::<F>(parameters, records.ids, records.sketches, reporter)
    }

    /// Writes the tables. The fingerprints are freed before the ids are sorted, which takes memory too.
    fn write_tables<F: Fingerprint>(
        &mut self,
        mut values: Values<F>,
        masks: &[F],
        codec: &dyn Fn(usize) -> Option<Codec>,
        reporter: &mut Reporter,
    ) -> Result<()> {
        let mut order = Permutation::new(F::MAX);
        for (t, &mask) in masks.iter().enumerate() {
            let permutation = Permutation::new(mask);
            if t > 0 {
                values = rearrange(values, t, [&order, &permutation], &self.space, reporter)?;
            }
            self.write_table(mask, codec(t), &mut values, reporter)?;
            order = permutation;
        }
        Ok(())
    }

    fn write_table<F: Fingerprint>(
        &mut self,
        mask: F,
        codec: Option<Codec>,
        values: &mut Values<F>,
        reporter: &mut Reporter,
    ) -> Result<()> {
        let request = TableRequest {
            number: self.tables.len(),
            mask,
            codec,
            parts_at_a_time: self.limit.parts_at_a_time(PART_LEN * F::BYTES),
        };
        let written =
            table_writer::write(&mut self.file, &request, values, &self.space.temp, reporter)?;
        self.tables.push(written.record);
        self.fingerprint_count = values.len();
        let blocks = written.blocks;
        let (block_counts, keys) = blocks.map(|blocks| (blocks.counts, blocks.keys)).unzip();
        self.keys.extend(keys.map(|keys| (request.number, keys)));
        self.first.get_or_insert(FirstTable {
            block_counts,
            content_id: written.content_id,
        });
        Ok(())
    }

    /// Writes everything after the tables.
    fn finish<F: Fingerprint>(
        mut self,
        parameters: &FileParameters<'_>,
        ids: Option<IdSpool>,
        sketches: Option<SketchSpool>,
        reporter: &mut Reporter,
    ) -> Result<Summary> {
        reporter.begin(Stage::WriteIds, parameters.record_count)?;
        let mut first = self.first.take();
        let mut content_id = first
            .as_ref()
            .map_or(ContentId::default(), |f| f.content_id);
        let (mut id_parameters, mut string_code) = (IdParameters::default(), None);
        if let Some(ids) = ids {
            content_id = ids.content_id();
            (id_parameters, string_code) = ids.write(&mut self.file, &self.space, reporter)?;
        }
        if let Some(counts) = first.as_mut().and_then(|first| first.block_counts.as_mut()) {
            self.file.write_spool(Kind::BLOCK_COUNTS, 0, counts)?;
        }
        for (t, keys) in &mut self.keys {
            self.file
                .write_spool(Kind::KEY_GROUPS, *t, &mut keys.groups)?;
        }
        for (t, keys) in &mut self.keys {
            self.file
                .write_spool(Kind::KEY_ENTRIES, *t, &mut keys.entries)?;
        }
        if let Some(code) = string_code {
            write_section(&mut self.file, Kind::STRING_CODE, &code.to_bytes())?;
        }
        if let Some(pipeline) = parameters.pipeline {
            write_section(&mut self.file, Kind::PIPELINE, pipeline.as_bytes())?;
        }
        if !parameters.metadata.is_empty() {
            write_section(
                &mut self.file,
                Kind::METADATA,
                &parameters.metadata.encode(),
            )?;
        }
        if let Some(sketches) = sketches {
            sketches.write(&mut self.file, &self.space.temp)?;
        }
        let directory = Directory {
            fingerprint_count: self.fingerprint_count,
            record_count: parameters.record_count,
            content_id: content_id.to_u128(),
            id_base: id_parameters.base,
            block_size: parameters.block_size,
            max_distance: parameters.max_distance,
            id_kind: parameters.id_kind,
            id_bits: id_parameters.bits,
            tables: self.tables,
            sections: self.file.take_records(),
        };
        let file_len = write_end(&mut self.file, &directory, F::WIDTH)?;
        Ok(Summary::of::<F>(&directory, file_len))
    }
}

/// Brings the fingerprints of table `t - 1` into the order of table `t`.
fn rearrange<F: Fingerprint>(
    values: Values<F>,
    t: usize,
    [from, to]: [&Permutation<F>; 2],
    space: &ValueSpace,
    reporter: &mut Reporter,
) -> Result<Values<F>> {
    let count = values.len();
    reporter.begin(Stage::SortTable(t), count)?;
    let mut source = match values {
        Values::Memory(mut values) => {
            from.rearrange_all(to, &mut values);
            F::sort(&mut values);
            reporter.advance(count)?;
            return Ok(Values::Memory(values));
        }
        file => file,
    };
    let sorter = source.sorter_for(from, to, space, &mut |count| reporter.advance(count))?;
    drop(source);
    let sorted = sorter.finish()?;
    reporter.begin(Stage::MergeTable(t), count)?;
    Values::of_sorted(sorted, space, &mut |count| reporter.advance(count))
}

/// Writes a section that does not belong to a table.
fn write_section(file: &mut SectionWriter<'_>, kind: Kind, bytes: &[u8]) -> Result<()> {
    file.begin(kind, 0, 0)?;
    file.write(bytes)?;
    file.end();
    Ok(())
}

/// Writes the directory and the footer. Returns the length of the whole file.
fn write_end(file: &mut SectionWriter<'_>, directory: &Directory, width: u32) -> Result<u64> {
    file.align(SECTION_ALIGNMENT)?;
    let directory_offset = file.offset();
    let bytes = directory.encode(width);
    file.write(&bytes)?;
    let file_len = file.offset() + FOOTER_LEN as u64;
    let footer = Footer {
        directory_offset,
        directory_len: bytes.len() as u32,
        directory_checksum: crc32fast::hash(&bytes),
        file_len,
        width,
    };
    file.write(&footer.encode())?;
    Ok(file_len)
}
