//! The builder: records in any order in, an index file out.

mod ids;
mod records;
mod sections;
mod table;

use std::io::Write;

use crate::codec::Codec;
use crate::design::{Permutation, PlanRequest, TableDesign, check_distance};
use crate::error::{BuildError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Directory, FOOTER_LEN, Footer, Header, IdKind, Kind, MAX_BLOCK_SIZE, MAX_COUNT,
    MAX_PIPELINE_LEN, MIN_BLOCK_SIZE, SECTION_ALIGNMENT, is_block_size,
};
use crate::summary::Summary;
use records::Records;
use sections::SectionWriter;

/// What an index shall be like. Start from [`BuildOptions::default`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildOptions<F> {
    /// The distance that the tables are chosen for: 0 to 12, or more with a design of your own. Queries may ask for any.
    /// Default 3.
    pub max_distance: u32,
    /// The tables; by default those that [`PlanRequest::choose`] chooses for the number of fingerprints. Its distance must be `max_distance`.
    pub design: Option<TableDesign<F>>,
    /// Bytes of a block, a power of two from 128 to 65,536. Default 512: the part of an Elias-Fano block that every
    /// probe reads then fits one cache line.
    pub block_size: u32,
    /// How the tables are coded; by default chosen for each table by its data: Elias-Fano, unless a Huffman code
    /// makes it smaller by more than a tenth.
    pub codec: Option<Codec>,
    /// What the ids are. Default none.
    pub ids: IdKind,
    /// How documents became fingerprints, to be stored in the file; at most 65,536 bytes.
    pub pipeline: Option<String>,
}

impl<F> Default for BuildOptions<F> {
    fn default() -> Self {
        BuildOptions {
            max_distance: 3,
            design: None,
            block_size: 512,
            codec: None,
            ids: IdKind::None,
            pipeline: None,
        }
    }
}

/// A step of [`IndexBuilder::finish_with`], reported as it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildStage {
    /// All records are sorted by fingerprint and id.
    SortRecords,
    /// A table is permuted and sorted.
    SortTable(usize),
    /// A table is encoded and written.
    EncodeTable(usize),
    /// The ids are written.
    WriteIds,
}

/// Collects records and writes them as an index.
///
/// All records are held in memory until [`IndexBuilder::finish`]: f / 8 bytes a fingerprint, 8 more
/// a number, 16 more and its length a string, and while the tables are made f / 8 more for each
/// distinct fingerprint. The same records in any order give the same bytes.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder};
///
/// let mut builder = IndexBuilder::<u64>::new(BuildOptions::default())?;
/// for fingerprint in [7, 42, 42, 1 << 60] {
///     builder.push(fingerprint)?;
/// }
/// let mut file = Vec::new();
/// let summary = builder.finish(&mut file)?;
/// assert_eq!((summary.record_count, summary.fingerprint_count), (4, 3));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug)]
pub struct IndexBuilder<F> {
    options: BuildOptions<F>,
    records: Records<F>,
}

impl<F: Fingerprint> IndexBuilder<F> {
    /// A builder without records.
    ///
    /// # Errors
    /// An option out of its range, or a design for another distance.
    pub fn new(options: BuildOptions<F>) -> Result<Self> {
        check_options(&options)?;
        let records = Records::new(options.ids);
        Ok(IndexBuilder { options, records })
    }

    /// Adds a record without an id.
    ///
    /// # Errors
    /// The index has ids, or is full (2^48 records).
    pub fn push(&mut self, fingerprint: F) -> Result<()> {
        self.check_room()?;
        self.records.push(fingerprint)
    }

    /// Adds a record without an id for each fingerprint.
    ///
    /// # Errors
    /// As for [`IndexBuilder::push`]; then none of them is added.
    pub fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        self.check_room_for(fingerprints.len() as u64)?;
        self.records.extend(fingerprints)
    }

    /// Adds a record whose id is a number.
    ///
    /// # Errors
    /// The index does not have number ids, or is full.
    pub fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()> {
        self.check_room()?;
        self.records.push_with_number(fingerprint, id)
    }

    /// Adds a record whose id is a string of at most 65,535 bytes.
    ///
    /// # Errors
    /// The index does not have string ids, the string is too long, or the index is full.
    pub fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()> {
        self.check_room()?;
        self.records.push_with_string(fingerprint, id)
    }

    /// Number of records so far.
    pub fn record_count(&self) -> u64 {
        self.records.len() as u64
    }

    /// Sorts the records, writes the whole index to `out` and flushes it. `out` need not seek;
    /// give it a buffer.
    ///
    /// # Errors
    /// What `out` reports. Bytes written until then are no index.
    pub fn finish<W: Write>(self, out: W) -> Result<Summary<F>> {
        self.finish_with(out, |_| ())
    }

    /// [`IndexBuilder::finish`] that tells `progress` of each stage as it begins.
    ///
    /// # Errors
    /// As for `finish`.
    pub fn finish_with<W: Write>(
        mut self,
        out: W,
        mut progress: impl FnMut(BuildStage),
    ) -> Result<Summary<F>> {
        progress(BuildStage::SortRecords);
        self.records.sort();
        let record_count = self.records.len() as u64;
        let (fingerprints, starts) = self.records.distinct();
        let design = self.resolve_design(fingerprints.len() as u64)?;
        let mut file = SectionWriter::new(out, self.options.block_size);
        file.write(&Header { width: F::WIDTH }.encode())?;

        let mut tables = Vec::with_capacity(design.table_count());
        let mut block_counts = Vec::new();
        for (t, &mask) in design.masks().iter().enumerate() {
            progress(BuildStage::SortTable(t));
            let values = table::sorted_values(&fingerprints, &Permutation::new(mask));
            progress(BuildStage::EncodeTable(t));
            let written = table::write(&mut file, t, mask, self.options.codec, &values)?;
            tables.push(written.record);
            if t == 0 {
                block_counts = written.block_counts;
            }
        }
        progress(BuildStage::WriteIds);
        let ids = ids::write(&mut file, &self.records, &block_counts, &starts)?;
        if let Some(pipeline) = &self.options.pipeline {
            file.write_section(Kind::Pipeline, 0, pipeline.as_bytes())?;
        }
        let directory = Directory {
            fingerprint_count: fingerprints.len() as u64,
            record_count,
            id_base: ids.base,
            block_size: self.options.block_size,
            max_distance: self.options.max_distance,
            id_kind: self.options.ids,
            id_bits: ids.bits,
            tables,
            sections: file.take_records(),
        };
        let file_len = finish_file(file, &directory)?;
        Ok(Summary::of(&directory, file_len))
    }

    fn check_room(&self) -> Result<()> {
        self.check_room_for(1)
    }

    fn check_room_for(&self, count: u64) -> Result<()> {
        if self.record_count() + count <= MAX_COUNT {
            return Ok(());
        }
        Err(parameter(format!("an index holds at most {MAX_COUNT} records")).into())
    }

    fn resolve_design(&self, fingerprint_count: u64) -> Result<TableDesign<F>> {
        match &self.options.design {
            Some(design) => Ok(design.clone()),
            None => {
                let mut request = PlanRequest::new(fingerprint_count, self.options.max_distance);
                request.block_size = self.options.block_size;
                request.codec = self.options.codec;
                Ok(request.design()?)
            }
        }
    }
}

/// Writes directory and footer, flushes, and returns the length of the whole file.
fn finish_file<W: Write>(mut file: SectionWriter<W>, directory: &Directory) -> Result<u64> {
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
    file.flush()?;
    Ok(file_len)
}

fn check_options<F: Fingerprint>(options: &BuildOptions<F>) -> Result<(), BuildError> {
    let size = options.block_size;
    if !is_block_size(size) {
        return Err(parameter(format!(
            "a block size is a power of two from {MIN_BLOCK_SIZE} to {MAX_BLOCK_SIZE}, not {size}"
        )));
    }
    match &options.design {
        Some(design) if design.max_distance() != options.max_distance => {
            return Err(parameter(format!(
                "the table design is for distance {}, not {}",
                design.max_distance(),
                options.max_distance
            )));
        }
        Some(_) => {}
        None => check_distance(options.max_distance)?,
    }
    let pipeline_len = options.pipeline.as_ref().map_or(1, String::len);
    if !(1..=MAX_PIPELINE_LEN).contains(&pipeline_len) {
        return Err(parameter(format!(
            "a pipeline description has 1 to {MAX_PIPELINE_LEN} bytes, not {pipeline_len}"
        )));
    }
    Ok(())
}

fn parameter(message: String) -> BuildError {
    BuildError::Parameter(message)
}
