//! Writes one table from its ascending values: chooses the code, fills the blocks, writes the keys.

use super::lines;
use super::sections::SectionWriter;
use crate::codec::block;
use crate::codec::keys::{self, KeyEntry};
use crate::codec::span::Span;
use crate::codec::{
    self, CodeChoices, Codec, TableCode, TableStatistics, encode_part, prefers_elias_fano,
    prefers_lines,
};
use crate::error::Result;
use crate::extsort::{Spool, TempSpace, Values};
use crate::fingerprint::Fingerprint;
use crate::format::{ContentId, Kind, TableRecord, checksum_at, place_checksum};
use crate::threads::map_parts;
use crate::watch::{Reporter, Stage};

/// Values that one task encodes. The last block of a part is not filled, so this number must not depend on the number
/// of threads or on the memory.
pub(super) const PART_LEN: usize = 1 << 18;

/// A table that has been written.
pub(super) struct WrittenTable {
    pub(super) record: TableRecord,
    /// The sections of a table in blocks that come after the ids.
    pub(super) blocks: Option<BlockSections>,
    /// The content id of the fingerprints of table 0; not used for other tables.
    pub(super) content_id: ContentId,
}

/// The sections of a table in blocks that are still to be written.
pub(super) struct BlockSections {
    /// Number of values of each block less 1, in two bytes.
    pub(super) counts: Spool,
    pub(super) keys: KeySections,
}

/// The parameters of a table.
pub(super) struct TableRequest<F> {
    pub(super) number: usize,
    pub(super) mask: F,
    /// The codec; `None` to let the data decide.
    pub(super) codec: Option<Codec>,
    /// The number of parts that are encoded at a time.
    pub(super) parts_at_a_time: usize,
}

/// Writes the blocks of a table. Its keys are kept, because they come after the ids.
///
/// # Errors
/// A failure to read the values or to write the table.
pub(super) fn write<F: Fingerprint>(
    file: &mut SectionWriter<'_>,
    request: &TableRequest<F>,
    values: &mut Values<F>,
    temp: &TempSpace,
    reporter: &mut Reporter,
) -> Result<WrittenTable> {
    let code = match request.codec {
        Some(Codec::Lines) => None,
        _ => choose_code(request, values, file.block_size(), reporter)?,
    };
    let Some(code) = code else {
        return lines::write(file, request, values, temp, reporter);
    };
    reporter.begin(Stage::EncodeTable(request.number), values.len())?;
    file.begin(Kind::BLOCKS, request.number, 0)?;
    let mut blocks = Blocks {
        file: &mut *file,
        code: &code,
        previous: None,
        table: request.number,
        content_id: ContentId::default(),
        keys: KeyGrouper::new(request.number, temp),
        block_counts: temp.spool(),
    };
    in_groups(values, request.parts_at_a_time, &mut |group| {
        blocks.encode(group)?;
        reporter.written(blocks.file.offset());
        reporter.advance(group.len() as u64)?;
        Ok(())
    })?;
    let Blocks {
        keys,
        block_counts,
        content_id,
        ..
    } = blocks;
    file.end();
    let block_count = keys.count;
    Ok(WrittenTable {
        record: TableRecord {
            prefix_mask: request.mask.to_u128(),
            block_count,
            codec: code.codec(),
            address_bits: 0,
            code_lengths: code.lengths(F::WIDTH),
        },
        blocks: Some(BlockSections {
            counts: block_counts,
            keys: keys.finish()?,
        }),
        content_id,
    })
}

/// Chooses the code of a table; `None` for lines. The choice depends on the steps between all neighbours, not on where
/// blocks end.
fn choose_code<F: Fingerprint>(
    request: &TableRequest<F>,
    values: &mut Values<F>,
    block_size: usize,
    reporter: &mut Reporter,
) -> Result<Option<TableCode>> {
    if request.codec == Some(Codec::EliasFano) {
        return Ok(Some(TableCode::EliasFano));
    }
    let count = values.len();
    reporter.begin(Stage::ChooseCode(request.number), count)?;
    let mut statistics = TableStatistics::new(F::WIDTH);
    let address_bits = codec::lines::address_bits(F::WIDTH, count);
    let (mut previous, mut finer_lines) = (None, 0);
    in_groups(values, request.parts_at_a_time, &mut |group| {
        let of_parts = map_group(group, previous, |before, part| {
            let finer_lines = codec::lines::finer_lines(part, address_bits);
            (TableStatistics::of(before, part, block_size), finer_lines)
        });
        for (of_part, finer) in of_parts {
            finer_lines += finer;
            statistics.add(of_part);
        }
        previous = group.last().copied();
        reporter.advance(group.len() as u64)?;
        Ok(())
    })?;
    let choices = statistics.choices(block_size);
    let lines_len = codec::lines::table_len(F::WIDTH, count, finer_lines);
    let best = || best_codec(&choices, lines_len / block_size as f64);
    let code = match request.codec.unwrap_or_else(best) {
        Codec::Xor => Some(TableCode::Xor(choices.xor)),
        Codec::Gap => Some(TableCode::Gap(choices.gap)),
        Codec::EliasFano => Some(TableCode::EliasFano),
        Codec::Lines => None,
    };
    Ok(code)
}

/// Returns the codec for a table whose size in each is known; `lines_blocks` is the size in lines, in blocks.
fn best_codec(choices: &CodeChoices, lines_blocks: f64) -> Codec {
    let huffman_blocks = choices.gap_blocks.min(choices.xor_blocks);
    if prefers_elias_fano(choices.elias_fano_blocks, huffman_blocks) {
        match prefers_lines(lines_blocks, choices.elias_fano_blocks) {
            true => Codec::Lines,
            false => Codec::EliasFano,
        }
    } else if choices.gap_blocks <= choices.xor_blocks {
        Codec::Gap
    } else {
        Codec::Xor
    }
}

/// Calls `work` with each part of a group and the value before it. Returns the results in order.
fn map_group<F: Fingerprint, T: Send>(
    group: &[F],
    previous: Option<F>,
    work: impl Fn(Option<F>, &[F]) -> T + Sync,
) -> Vec<T> {
    map_parts(group, PART_LEN, |i, part| match i {
        0 => work(previous, part),
        _ => work(Some(group[i * PART_LEN - 1]), part),
    })
}

/// Calls `take` with groups of whole parts of the values; only the last part of the last group may be shorter.
pub(super) fn in_groups<F: Fingerprint>(
    values: &mut Values<F>,
    parts_at_a_time: usize,
    take: &mut dyn FnMut(&[F]) -> Result<()>,
) -> Result<()> {
    let group_len = PART_LEN * parts_at_a_time;
    let mut waiting: Vec<F> = Vec::new();
    values.for_each_piece(&mut |mut piece| {
        if !waiting.is_empty() {
            let count = piece.len().min(group_len - waiting.len());
            waiting.extend_from_slice(&piece[..count]);
            piece = &piece[count..];
            if waiting.len() == group_len {
                take(&waiting)?;
                waiting.clear();
            }
        }
        let mut groups = piece.chunks_exact(group_len);
        groups.try_for_each(&mut *take)?;
        waiting.extend_from_slice(groups.remainder());
        Ok(())
    })?;
    match waiting.is_empty() {
        true => Ok(()),
        false => take(&waiting),
    }
}

/// The blocks section that is being written.
struct Blocks<'f, 'a, 'c, F> {
    file: &'f mut SectionWriter<'a>,
    table: usize,
    content_id: ContentId,
    code: &'c TableCode,
    previous: Option<F>,
    keys: KeyGrouper<F>,
    block_counts: Spool,
}

impl<F: Fingerprint> Blocks<'_, '_, '_, F> {
    /// Encodes a group of parts in parallel and writes its blocks.
    fn encode(&mut self, group: &[F]) -> Result<()> {
        let (code, block_size) = (self.code, self.file.block_size());
        let is_first = self.table == 0;
        let encoded = map_group(group, self.previous, |before, part| {
            // The values of table 0 are the fingerprints.
            let summed: &[F] = if is_first { part } else { &[] };
            let encoded = encode_part(before, part, code, block_size);
            (encoded, ContentId::of_fingerprints(summed))
        });
        for (mut part, content_id) in encoded {
            self.content_id.add(content_id.to_u128());
            let first = self.keys.count as usize;
            for (i, bytes) in part.blocks.chunks_exact_mut(block_size).enumerate() {
                block::bind(bytes, place_checksum(Kind::BLOCKS, self.table, first + i));
            }
            self.file.write_owned(part.blocks)?;
            self.keys.push(&part.keys)?;
            self.block_counts.write(&part.counts)?;
        }
        self.previous = group.last().copied();
        Ok(())
    }
}

/// The keys of a table in groups, kept until the blocks of all tables are written.
#[derive(Debug)]
pub(super) struct KeySections {
    pub(super) groups: Spool,
    pub(super) entries: Spool,
}

/// Collects the keys of a table into groups.
struct KeyGrouper<F> {
    table: usize,
    sections: KeySections,
    /// Number of keys so far.
    count: u64,
    /// The last key of the group before the open one.
    previous: Option<F>,
    /// The open group.
    group: Vec<F>,
    group_number: usize,
    bytes: Vec<u8>,
}

impl<F: Fingerprint> KeyGrouper<F> {
    fn new(table: usize, temp: &TempSpace) -> Self {
        KeyGrouper {
            table,
            sections: KeySections {
                groups: temp.spool(),
                entries: temp.spool(),
            },
            count: 0,
            previous: None,
            group: Vec::with_capacity(keys::GROUP_KEYS),
            group_number: 0,
            bytes: Vec::new(),
        }
    }

    fn push(&mut self, keys: &[F]) -> Result<()> {
        for &key in keys {
            self.group.push(key);
            self.count += 1;
            if self.group.len() == keys::GROUP_KEYS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let Some(&last) = self.group.last() else {
            return Ok(());
        };
        let span = Span {
            previous: self.previous,
            key: last,
        };
        self.bytes.clear();
        keys::encode_group(span, &self.group, &mut self.bytes);
        self.sections.groups.write(&self.bytes)?;
        let entry = KeyEntry {
            last,
            end: self.sections.groups.len(),
            checksum: checksum_at(&self.bytes, Kind::KEY_GROUPS, self.table, self.group_number),
        };
        self.bytes.clear();
        entry.encode(&mut self.bytes);
        self.sections.entries.write(&self.bytes)?;
        self.previous = Some(last);
        self.group_number += 1;
        self.group.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<KeySections> {
        self.end_group()?;
        Ok(self.sections)
    }
}
