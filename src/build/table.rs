//! Writing one table: permute, sort, choose the code, fill blocks.

use std::borrow::Cow;
use std::io::{self, Write};

use super::sections::SectionWriter;
use crate::codec::{BlockWriter, Codec, DeltaCounts, TableCode, code_for, elias_fano_blocks, keys};
use crate::design::{ELIAS_FANO_ALLOWANCE, Permutation};
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, TableRecord};
use rayon::prelude::*;

/// Values that are encoded by themselves, beside others: the last block of a part is not filled up, so the number
/// is the same for every number of threads.
const PART_LEN: usize = 1 << 20;

/// Parts encoded at a time: a bound on memory, and enough for the threads of a large machine.
const PARTS_AT_A_TIME: usize = 64;

/// What stays known of a table that has been written.
pub(super) struct WrittenTable {
    pub(super) record: TableRecord,
    /// Number of values of each block.
    pub(super) block_counts: Vec<u32>,
}

/// The values of a table in its order, from fingerprints in numeric order: those themselves for table 0.
pub(super) fn sorted_values<'a, F: Fingerprint>(
    fingerprints: &'a [F],
    permutation: &Permutation<F>,
) -> Cow<'a, [F]> {
    if permutation.is_identity() {
        return Cow::Borrowed(fingerprints);
    }
    let mut values = permutation.apply_all(fingerprints);
    F::sort(&mut values);
    Cow::Owned(values)
}

/// Writes the blocks and the keys of table `number`; chooses its codec where none is given.
pub(super) fn write<F: Fingerprint, W: Write>(
    file: &mut SectionWriter<W>,
    number: usize,
    mask: F,
    codec: Option<Codec>,
    values: &[F],
) -> io::Result<WrittenTable> {
    let code = choose_code(values, codec, file.block_size());
    file.begin(Kind::Blocks, number)?;
    let (block_keys, block_counts) = write_blocks(file, values, &code)?;
    file.end();
    file.write_section(Kind::Keys, number, &keys::encode(&block_keys))?;
    Ok(WrittenTable {
        record: TableRecord {
            prefix_mask: mask.to_u128(),
            block_count: block_counts.len() as u64,
            codec: code.codec(),
            code_lengths: code.lengths(F::WIDTH),
        },
        block_counts,
    })
}

/// The code of a table. Huffman codes are those of the delta positions of all neighbours, so that they do not
/// depend on where blocks end.
fn choose_code<F: Fingerprint>(values: &[F], codec: Option<Codec>, block_size: usize) -> TableCode {
    if codec == Some(Codec::EliasFano) {
        return TableCode::EliasFano;
    }
    let counts = delta_counts(values);
    let (xor, xor_bits) = code_for(&counts.xor);
    let (gap, gap_bits) = code_for(&counts.gap);
    match codec {
        Some(Codec::Xor) => return TableCode::Xor(xor),
        Some(Codec::Gap) => return TableCode::Gap(gap),
        _ => {}
    }
    // The key of each block stands elsewhere, which makes up for the bits that stay empty behind the last value.
    let huffman_blocks = xor_bits.min(gap_bits) as f64 / (block_size * 8) as f64;
    if elias_fano_blocks(values, block_size) <= huffman_blocks * ELIAS_FANO_ALLOWANCE {
        TableCode::EliasFano
    } else if gap_bits <= xor_bits {
        TableCode::Gap(gap)
    } else {
        TableCode::Xor(xor)
    }
}

fn delta_counts<F: Fingerprint>(values: &[F]) -> DeltaCounts {
    values
        .par_windows(2)
        .with_min_len(1 << 16)
        .fold(
            || DeltaCounts::new(F::WIDTH),
            |mut counts, pair| {
                counts.add(pair[0], pair[1]);
                counts
            },
        )
        .reduce(|| DeltaCounts::new(F::WIDTH), |a, b| a.merge(&b))
}

/// Blocks of a part of the values.
struct Part<F> {
    blocks: Vec<u8>,
    keys: Vec<F>,
    counts: Vec<u32>,
}

/// Fills blocks as full as they go; returns the key and the count of each block.
fn write_blocks<F: Fingerprint, W: Write>(
    file: &mut SectionWriter<W>,
    values: &[F],
    code: &TableCode,
) -> io::Result<(Vec<F>, Vec<u32>)> {
    let (mut keys, mut counts) = (Vec::new(), Vec::new());
    let block_size = file.block_size();
    for (i, group) in values.chunks(PART_LEN * PARTS_AT_A_TIME).enumerate() {
        let first = i * PARTS_AT_A_TIME * PART_LEN;
        let parts: Vec<Part<F>> = group
            .par_chunks(PART_LEN)
            .enumerate()
            .map(|(j, part)| {
                let before = (first + j * PART_LEN).checked_sub(1);
                encode_part(before.map(|at| values[at]), part, code, block_size)
            })
            .collect();
        for part in parts {
            file.write(&part.blocks)?;
            keys.extend(part.keys);
            counts.extend(part.counts);
        }
    }
    Ok((keys, counts))
}

fn encode_part<F: Fingerprint>(
    mut previous: Option<F>,
    values: &[F],
    code: &TableCode,
    block_size: usize,
) -> Part<F> {
    let mut part = Part {
        blocks: Vec::new(),
        keys: Vec::new(),
        counts: Vec::new(),
    };
    let mut writer = BlockWriter::new(code, block_size);
    let mut rest = values;
    while !rest.is_empty() {
        let count = writer.write(previous, rest, &mut part.blocks);
        previous = Some(rest[count - 1]);
        part.keys.push(rest[count - 1]);
        part.counts.push(count as u32);
        rest = &rest[count..];
    }
    part
}
