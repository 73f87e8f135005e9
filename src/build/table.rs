//! Writing one table: permute, sort, choose the code, fill blocks.

use std::io::{self, Write};

use super::sections::SectionWriter;
use crate::codec::Codec;
use crate::codec::block::{BlockEncoder, delta_position};
use crate::codec::huffman::{Code, code_lengths};
use crate::design::{Permutation, Permuted};
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, TableRecord};
use rayon::prelude::*;

/// Blocks are handed to the sink in pieces of about this many bytes.
const WRITE_LEN: usize = 1 << 18;

/// What stays known of a table that has been written.
pub(super) struct WrittenTable {
    pub(super) record: TableRecord,
    /// Number of values of each block.
    pub(super) block_counts: Vec<u32>,
}

/// The values of a table in its order, from fingerprints in numeric order.
pub(super) fn sorted_values<F: Fingerprint>(
    fingerprints: &[F],
    permutation: &Permutation<F>,
) -> Vec<Permuted<F>> {
    let values: Vec<Permuted<F>> = fingerprints
        .par_iter()
        .map(|&fingerprint| permutation.apply(fingerprint))
        .collect();
    if permutation.is_identity() {
        values
    } else {
        // Unwrapped and wrapped again in the same memory: what is sorted are the bare numbers.
        let mut bare: Vec<F> = values.into_iter().map(|value| value.0).collect();
        F::sort(&mut bare);
        bare.into_iter().map(Permuted).collect()
    }
}

/// Writes the blocks and the keys of table `number`.
pub(super) fn write<F: Fingerprint, W: Write>(
    file: &mut SectionWriter<W>,
    number: usize,
    mask: F,
    values: &[Permuted<F>],
) -> io::Result<WrittenTable> {
    let code = code_for(values);
    file.begin(Kind::Blocks, number)?;
    let (keys, block_counts) = write_blocks(file, values, &code)?;
    file.end();
    file.write_section(Kind::Keys, number, &keys)?;
    Ok(WrittenTable {
        record: TableRecord {
            prefix_mask: mask.to_u128(),
            block_count: block_counts.len() as u64,
            codec: Codec::Xor,
            code_lengths: code.lengths().to_vec(),
        },
        block_counts,
    })
}

/// The code of a table: that of the delta positions of all neighbours, block heads included, so
/// that it does not depend on where the blocks end.
fn code_for<F: Fingerprint>(values: &[Permuted<F>]) -> Code {
    let counts = values
        .par_windows(2)
        .with_min_len(1 << 16)
        .fold(
            || vec![0u64; F::WIDTH as usize],
            |mut counts, pair| {
                counts[delta_position(pair[0].0, pair[1].0) as usize] += 1;
                counts
            },
        )
        .reduce(
            || vec![0; F::WIDTH as usize],
            |a, b| a.iter().zip(&b).map(|(x, y)| x + y).collect(),
        );
    Code::from_lengths(&code_lengths(&counts)).expect("code_lengths makes complete codes")
}

/// Fills blocks as full as they go; returns the bytes of the keys and the count of each block.
fn write_blocks<F: Fingerprint, W: Write>(
    file: &mut SectionWriter<W>,
    values: &[Permuted<F>],
    code: &Code,
) -> io::Result<(Vec<u8>, Vec<u32>)> {
    let mut encoder = BlockEncoder::new(code, file.block_size());
    let (mut keys, mut counts, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |encoder: &mut BlockEncoder<F>, blocks: &mut Vec<u8>| {
        encoder.key().extend_le(&mut keys);
        counts.push(encoder.count() as u32);
        encoder.take_block(blocks);
    };
    for value in values {
        if !encoder.push(value.0) {
            take(&mut encoder, &mut blocks);
            encoder.push(value.0);
            if blocks.len() >= WRITE_LEN {
                file.write(&blocks)?;
                blocks.clear();
            }
        }
    }
    if encoder.count() > 0 {
        take(&mut encoder, &mut blocks);
    }
    file.write(&blocks)?;
    Ok((keys, counts))
}
