//! Writes one table from its ascending values: chooses the code, fills the blocks, writes the keys.

use rayon::prelude::*;

use super::progress::{BuildStage, Reporter};
use super::sections::SectionWriter;
use crate::codec::keys::KeyWriter;
use crate::codec::{
    CodeChoices, Codec, EncodedPart, TableCode, TableStatistics, encode_part, prefers_elias_fano,
};
use crate::error::Result;
use crate::extsort::{Spool, TempSpace, ValueSource};
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, TableRecord};

/// Values that are encoded by themselves, beside others: the last block of a part is not filled up, so the number
/// is the same for every number of threads and every amount of memory.
pub(super) const PART_LEN: usize = 1 << 18;

/// What stays known of a table that has been written.
pub(super) struct WrittenTable {
    pub(super) record: TableRecord,
    pub(super) value_count: u64,
    /// Number of values of each block less 1, in two bytes.
    pub(super) block_counts: Spool,
}

/// What a table is written with.
pub(super) struct TableRequest<F> {
    pub(super) number: usize,
    pub(super) mask: F,
    /// Chosen by the data where it is not given.
    pub(super) codec: Option<Codec>,
    /// Values there are, for the progress; more than that is no error.
    pub(super) expected_count: u64,
    /// Parts that are encoded at a time.
    pub(super) parts_at_a_time: usize,
}

/// Writes the blocks and the keys of a table.
///
/// # Errors
/// What keeps the values from being read or the table from being written.
pub(super) fn write<F: Fingerprint>(
    file: &mut SectionWriter<'_>,
    request: &TableRequest<F>,
    values: &mut dyn ValueSource<F>,
    temp: &TempSpace,
    reporter: &mut Reporter<'_>,
) -> Result<WrittenTable> {
    let (code, counted) = choose_code(request, values, file.block_size(), reporter)?;
    let total = counted.unwrap_or(request.expected_count);
    reporter.begin(BuildStage::EncodeTable(request.number), total);
    file.begin(Kind::Blocks, request.number)?;
    let mut blocks = Blocks {
        file: &mut *file,
        code: &code,
        previous: None,
        value_count: 0,
        keys: KeySpool::new(temp),
        block_counts: temp.spool(),
    };
    in_groups(values, request.parts_at_a_time, &mut |group| {
        blocks.encode(group)?;
        reporter.written(blocks.file.offset());
        reporter.advance(group.len() as u64);
        Ok(())
    })?;
    let (keys, block_counts, value_count) = (blocks.keys, blocks.block_counts, blocks.value_count);
    file.end();
    file.begin(Kind::Keys, request.number)?;
    let block_count = keys.count;
    keys.write(file)?;
    file.end();
    Ok(WrittenTable {
        record: TableRecord {
            prefix_mask: request.mask.to_u128(),
            block_count,
            codec: code.codec(),
            code_lengths: code.lengths(F::WIDTH),
        },
        value_count,
        block_counts,
    })
}

/// The code of a table, and how many values it has if they were counted for that. The code depends on the steps between all neighbours and not on where blocks end.
fn choose_code<F: Fingerprint>(
    request: &TableRequest<F>,
    values: &mut dyn ValueSource<F>,
    block_size: usize,
    reporter: &mut Reporter<'_>,
) -> Result<(TableCode, Option<u64>)> {
    if request.codec == Some(Codec::EliasFano) {
        return Ok((TableCode::EliasFano, None));
    }
    let stage = BuildStage::ChooseCode(request.number);
    reporter.begin(stage, request.expected_count);
    let mut statistics = TableStatistics::new(F::WIDTH);
    let (mut previous, mut count) = (None, 0);
    in_groups(values, request.parts_at_a_time, &mut |group| {
        let of_group = parts(group, previous)
            .map(|(before, part)| TableStatistics::of(before, part, block_size))
            .reduce(|| TableStatistics::new(F::WIDTH), TableStatistics::merge);
        statistics =
            std::mem::replace(&mut statistics, TableStatistics::new(F::WIDTH)).merge(of_group);
        previous = group.last().copied();
        count += group.len() as u64;
        reporter.advance(group.len() as u64);
        Ok(())
    })?;
    let choices = statistics.choices(block_size);
    let code = match request.codec.unwrap_or_else(|| best_codec(&choices)) {
        Codec::Xor => TableCode::Xor(choices.xor),
        Codec::Gap => TableCode::Gap(choices.gap),
        Codec::EliasFano => TableCode::EliasFano,
    };
    Ok((code, Some(count)))
}

/// The codec for a table whose sizes in all of them are known.
fn best_codec(choices: &CodeChoices) -> Codec {
    let huffman_blocks = choices.gap_blocks.min(choices.xor_blocks);
    if prefers_elias_fano(choices.elias_fano_blocks, huffman_blocks) {
        Codec::EliasFano
    } else if choices.gap_blocks <= choices.xor_blocks {
        Codec::Gap
    } else {
        Codec::Xor
    }
}

/// The parts of a group, each with the value before it.
fn parts<F: Fingerprint>(
    group: &[F],
    previous: Option<F>,
) -> impl IndexedParallelIterator<Item = (Option<F>, &[F])> {
    let parts = group.par_chunks(PART_LEN).enumerate();
    parts.map(move |(i, part)| match i {
        0 => (previous, part),
        _ => (Some(group[i * PART_LEN - 1]), part),
    })
}

/// Hands the values to `take` in groups of whole parts; only the last part of the last group may be shorter.
fn in_groups<F: Fingerprint>(
    values: &mut dyn ValueSource<F>,
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
    code: &'c TableCode,
    previous: Option<F>,
    value_count: u64,
    keys: KeySpool<F>,
    block_counts: Spool,
}

impl<F: Fingerprint> Blocks<'_, '_, '_, F> {
    /// Encodes a group of parts in parallel and writes its blocks.
    fn encode(&mut self, group: &[F]) -> Result<()> {
        let (code, block_size) = (self.code, self.file.block_size());
        let mut encoded: Vec<EncodedPart<F>> = Vec::new();
        parts(group, self.previous)
            .map(|(before, part)| encode_part(before, part, code, block_size))
            .collect_into_vec(&mut encoded);
        for part in encoded {
            self.file.write_blocks(part.blocks)?;
            self.keys.push(&part.keys)?;
            self.block_counts.write(&part.counts)?;
        }
        self.previous = group.last().copied();
        self.value_count += group.len() as u64;
        Ok(())
    }
}

/// The keys of a table, set aside until its blocks are written.
struct KeySpool<F> {
    spool: Spool,
    count: u64,
    /// The first and the last key.
    ends: Option<(F, F)>,
    bytes: Vec<u8>,
}

impl<F: Fingerprint> KeySpool<F> {
    fn new(temp: &TempSpace) -> Self {
        KeySpool {
            spool: temp.spool(),
            count: 0,
            ends: None,
            bytes: Vec::new(),
        }
    }

    fn push(&mut self, keys: &[F]) -> Result<()> {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return Ok(());
        };
        self.ends = Some((self.ends.map_or(first, |ends| ends.0), last));
        self.count += keys.len() as u64;
        self.bytes.clear();
        keys.iter().for_each(|key| key.extend_le(&mut self.bytes));
        Ok(self.spool.write(&self.bytes)?)
    }

    /// Writes the bytes of the keys section: the keys are gone through twice.
    fn write(mut self, file: &mut SectionWriter<'_>) -> Result<()> {
        let Some((first, last)) = self.ends else {
            return Ok(());
        };
        let mut writer = KeyWriter::new(self.count as usize, first, last);
        let keys = |bytes: &[u8]| -> Vec<F> {
            let keys = bytes.chunks_exact(F::BYTES);
            keys.filter_map(F::from_le_slice).collect()
        };
        self.spool.read(F::BYTES, |bytes| {
            writer.write_high(&keys(bytes));
            writer.drain(|bytes| file.write(bytes))
        })?;
        writer.end_high();
        self.spool.read(F::BYTES, |bytes| {
            writer.write_low(&keys(bytes));
            writer.drain(|bytes| file.write(bytes))
        })?;
        Ok(file.write(&writer.finish())?)
    }
}
