//! The parameters and sizes of an index, identical from the builder that wrote it and the reader that opened it.

use crate::bound::bound_bits;
use crate::codec::Codec;
use crate::design::{costs_in_memory, plan_probes};
use crate::fingerprint::{Fingerprint, Width};
use crate::format::{ContentId, Directory, IdKind, Kind};

/// Parameters and sizes of an index.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.extend_from_slice(&[7_u64, 42, 42])?;
/// let summary = builder.finish(std::io::sink())?;
/// assert_eq!((summary.record_count, summary.fingerprint_count), (3, 2));
/// assert_eq!(summary.raw_len(), 2 * 8);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The width of the fingerprints.
    pub width: Width,
    /// Number of records.
    pub record_count: u64,
    /// Number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// The distance that the tables were chosen for, k.
    pub max_distance: u32,
    /// Bytes of a block.
    pub block_size: u32,
    /// The kind of the ids.
    pub id_kind: IdKind,
    /// The content id.
    pub content_id: ContentId,
    /// Bytes of the ids: all sections that only they need.
    pub ids_len: u64,
    /// Whether the file stores the order of its ids, by which an id is found.
    pub has_id_lookup: bool,
    /// Bytes of the sketches, including their head and checksums; 0 if there are none.
    pub sketches_len: u64,
    /// Bytes of the file.
    pub file_len: u64,
    /// Figures of each table.
    pub tables: Vec<TableSummary>,
}

/// Parameters and sizes of one table of an index.
///
/// ```
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.extend_from_slice(&[7_u64, 42, 42])?;
/// let summary = builder.finish(std::io::sink())?;
/// for table in &summary.tables {
///     println!("{} bits, {} blocks, {}", table.prefix_bits(), table.block_count, table.codec);
/// }
/// assert_eq!(summary.tables[0].block_count, 1);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// The fingerprint bits that form the prefix.
    pub prefix_mask: u128,
    /// The most prefix bits that a probe within `max_distance` flips; 0 for a table that is not probed.
    pub flips: u32,
    /// The codec of the table.
    pub codec: Codec,
    /// Number of blocks, or of lines.
    pub block_count: u64,
    /// Bytes of blocks, keys and table record.
    pub byte_len: u64,
    /// The codeword length of each delta position; 0 for a position that does not occur.
    pub code_lengths: Vec<u8>,
}

impl Summary {
    /// Returns the figures of a file with this directory.
    pub(crate) fn of<F: Fingerprint>(directory: &Directory, file_len: u64) -> Self {
        let masks = directory.tables.iter().map(|t| F::from_u128(t.prefix_mask));
        let masks: Vec<F> = masks.collect();
        let plan = plan_probes(
            &masks,
            directory.max_distance,
            directory.fingerprint_count,
            &costs_in_memory(
                (directory.tables[0].codec, directory.tables[0].address_bits),
                directory.block_size,
                file_len as f64,
            ),
        );
        let tables = directory.tables.iter().enumerate();
        Summary {
            width: Width::of::<F>(),
            record_count: directory.record_count,
            fingerprint_count: directory.fingerprint_count,
            max_distance: directory.max_distance,
            block_size: directory.block_size,
            id_kind: directory.id_kind,
            content_id: ContentId(directory.content_id),
            ids_len: directory.ids_len(),
            has_id_lookup: directory.section(Kind::ID_ORDER, 0).is_some(),
            sketches_len: directory
                .section(Kind::SKETCHES, 0)
                .map_or(0, |section| section.len),
            file_len,
            tables: tables
                .map(|(t, table)| TableSummary {
                    prefix_mask: table.prefix_mask,
                    flips: plan.flips(t),
                    codec: table.codec,
                    block_count: table.block_count,
                    byte_len: directory.table_len(t),
                    code_lengths: table.code_lengths.clone(),
                })
                .collect(),
        }
    }

    /// Returns the bytes of the distinct fingerprints as plain numbers.
    pub fn raw_len(&self) -> u64 {
        self.fingerprint_count * self.width.bytes() as u64
    }

    /// Returns the bits of the whole file for each fingerprint; 0 for an empty index.
    pub fn bits_per_fingerprint(&self) -> f64 {
        self.per_fingerprint(self.file_len)
    }

    /// Returns the mean over the tables of their bits for each fingerprint; 0 for an empty index.
    pub fn bits_per_fingerprint_per_table(&self) -> f64 {
        let bytes = self.tables.iter().map(|table| table.byte_len).sum();
        self.per_fingerprint(bytes) / self.tables.len().max(1) as f64
    }

    /// Returns the least bits for each fingerprint that any code needs in one table, for a random set of this size:
    /// log2 of the number of such sets, divided by the size. 0 for an empty index.
    pub fn bound_bits_per_fingerprint(&self) -> f64 {
        bound_bits(self.width.bits(), self.fingerprint_count)
    }

    /// Converts bytes to bits for each fingerprint; 0 for an empty index.
    pub fn per_fingerprint(&self, bytes: u64) -> f64 {
        match self.fingerprint_count {
            0 => 0.0,
            count => bytes as f64 * 8.0 / count as f64,
        }
    }
}

impl TableSummary {
    /// Returns the number of bits in the prefix, p.
    pub fn prefix_bits(&self) -> u32 {
        self.prefix_mask.count_ones()
    }
}
