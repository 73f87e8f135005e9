//! Encoding the sorted values of a table: the statistics for its code, then block after block.

use super::TableCode;
use super::bits::BitWriter;
use super::block::{self, MAX_BLOCK_VALUES, room_bits};
use super::delta::{self, DeltaRule, GapRule, XorRule};
use super::elias_fano::Layout;
use super::huffman::{Code, code_lengths};
use super::span::Span;
use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Number of blocks that are laid out to estimate the Elias-Fano size of a part of a table.
const SAMPLED_BLOCKS: usize = 256;

/// The statistics by which the code of a table is chosen: how often each delta position occurs between neighbours, by
/// either rule, and how many values fit some Elias-Fano blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableStatistics {
    xor: Vec<u64>,
    gap: Vec<u64>,
    value_count: u64,
    sampled_blocks: u64,
    sampled_values: u64,
}

impl TableStatistics {
    /// Creates the statistics of zero values.
    pub(crate) fn new(width: u32) -> Self {
        TableStatistics {
            xor: vec![0; width as usize],
            gap: vec![0; width as usize],
            value_count: 0,
            sampled_blocks: 0,
            sampled_values: 0,
        }
    }

    /// Computes the statistics of a part of a table, given the value before it.
    pub(crate) fn of<F: Fingerprint>(previous: Option<F>, values: &[F], block_size: usize) -> Self {
        dispatch(Count {
            previous,
            values,
            block_size,
        })
    }

    #[inline(always)]
    fn count<F: Fingerprint>(previous: Option<F>, values: &[F], block_size: usize) -> Self {
        let mut statistics = TableStatistics::new(F::WIDTH);
        statistics.value_count = values.len() as u64;
        let before = previous.into_iter().chain(values.iter().copied());
        let skipped = usize::from(previous.is_none());
        for (before, &value) in before.zip(&values[skipped.min(values.len())..]) {
            statistics.xor[XorRule.split(before, value).0 as usize] += 1;
            statistics.gap[GapRule.split(before, value).0 as usize] += 1;
        }
        statistics.sample_blocks(previous, values, block_size);
        statistics
    }

    /// Adds the statistics of other values.
    pub(crate) fn add(&mut self, other: Self) {
        let pairs = self.xor.iter_mut().zip(&other.xor);
        for (sum, count) in pairs.chain(self.gap.iter_mut().zip(&other.gap)) {
            *sum += count;
        }
        self.value_count += other.value_count;
        self.sampled_blocks += other.sampled_blocks;
        self.sampled_values += other.sampled_values;
    }

    /// Estimates the size of the table in each codec.
    pub(crate) fn choices(&self, block_size: usize) -> CodeChoices {
        // A table takes whole blocks, and at least one if it has values. The key of each block is stored elsewhere, which
        // compensates for the unused bits after the last value.
        let least = self.value_count.min(1) as f64;
        let blocks = |bits: u64| (bits as f64 / (block_size * 8) as f64).ceil().max(least);
        let (xor, xor_bits) = code_for(&self.xor);
        let (gap, gap_bits) = code_for(&self.gap);
        let per_value = self.sampled_blocks as f64 / self.sampled_values.max(1) as f64;
        CodeChoices {
            xor,
            xor_blocks: blocks(xor_bits),
            gap,
            gap_blocks: blocks(gap_bits),
            elias_fano_blocks: per_value * self.value_count as f64,
        }
    }

    #[inline(always)]
    fn sample_blocks<F: Fingerprint>(
        &mut self,
        previous: Option<F>,
        values: &[F],
        block_size: usize,
    ) {
        let room = room_bits(block_size);
        let stride = (values.len() / SAMPLED_BLOCKS).max(1);
        let (mut at, mut guess) = (0, 1);
        while at < values.len() {
            let previous = at.checked_sub(1).map_or(previous, |i| Some(values[i]));
            let rest = &values[at..values.len().min(at + MAX_BLOCK_VALUES)];
            guess = elias_fano_count(previous, rest, guess, room);
            self.sampled_values += guess as u64;
            self.sampled_blocks += 1;
            at += guess.max(stride);
        }
    }
}

struct Count<'a, F> {
    previous: Option<F>,
    values: &'a [F],
    block_size: usize,
}

impl<F: Fingerprint> Work for Count<'_, F> {
    type Output = TableStatistics;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> TableStatistics {
        TableStatistics::count(self.previous, self.values, self.block_size)
    }
}

/// The possible codes of a table, and the approximate number of blocks in each.
#[derive(Debug)]
pub(crate) struct CodeChoices {
    pub(crate) xor: Code,
    pub(crate) xor_blocks: f64,
    pub(crate) gap: Code,
    pub(crate) gap_blocks: f64,
    pub(crate) elias_fano_blocks: f64,
}

/// Returns the code for positions with these counts, and the bits that they and their tails take in it.
fn code_for(counts: &[u64]) -> (Code, u64) {
    let lengths = code_lengths(counts);
    let bits = counts.iter().zip(&lengths).enumerate();
    let bits = bits.map(|(position, (count, &len))| count * (u64::from(len) + position as u64));
    let bits = bits.sum();
    let code = Code::from_lengths(&lengths).expect("code_lengths makes complete codes");
    (code, bits)
}

/// The encoded blocks of a part of a table.
#[derive(Debug)]
pub(crate) struct EncodedPart<F> {
    pub(crate) blocks: Vec<u8>,
    /// The last value of each block.
    pub(crate) keys: Vec<F>,
    /// For each block its number of values less 1, in two bytes (spec, section 8).
    pub(crate) counts: Vec<u8>,
}

/// Fills blocks with ascending values, as many as fit each. `previous` is the value before them, absent at the start of
/// the table. A Huffman code must have a codeword for each step between neighbours.
pub(crate) fn encode_part<F: Fingerprint>(
    previous: Option<F>,
    values: &[F],
    code: &TableCode,
    block_size: usize,
) -> EncodedPart<F> {
    dispatch(EncodePart {
        previous,
        values,
        code,
        block_size,
    })
}

struct EncodePart<'a, F> {
    previous: Option<F>,
    values: &'a [F],
    code: &'a TableCode,
    block_size: usize,
}

impl<F: Fingerprint> Work for EncodePart<'_, F> {
    type Output = EncodedPart<F>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> EncodedPart<F> {
        let mut part = EncodedPart {
            blocks: Vec::with_capacity(self.values.len() * F::BYTES),
            keys: Vec::new(),
            counts: Vec::new(),
        };
        let mut writer = BlockWriter::new(self.code, self.block_size);
        let (mut previous, mut rest) = (self.previous, self.values);
        while !rest.is_empty() {
            let count = writer.write(previous, rest, &mut part.blocks);
            let (block, behind) = rest.split_at(count);
            previous = block.last().copied();
            part.keys.extend(previous);
            let count = (count - 1) as u16;
            part.counts.extend_from_slice(&count.to_le_bytes());
            rest = behind;
        }
        part
    }
}

/// Fills blocks with the values of a table.
#[derive(Debug)]
struct BlockWriter<'a> {
    code: &'a TableCode,
    block_size: usize,
    stream: BitWriter,
    /// The number of values in the last block; the next one will hold about the same.
    last_count: usize,
}

impl<'a> BlockWriter<'a> {
    fn new(code: &'a TableCode, block_size: usize) -> Self {
        BlockWriter {
            code,
            block_size,
            stream: BitWriter::new(),
            last_count: 1,
        }
    }

    /// Appends to `out` a block with as many of the values as fit, at least one. Returns their number.
    #[inline(always)]
    fn write<F: Fingerprint>(
        &mut self,
        previous: Option<F>,
        values: &[F],
        out: &mut Vec<u8>,
    ) -> usize {
        let values = &values[..values.len().min(MAX_BLOCK_VALUES)];
        let room = room_bits(self.block_size);
        let writer = &mut self.stream;
        block::start_stream(writer, self.block_size);
        let end = writer.len_bits() + room;
        let count = match self.code {
            TableCode::Xor(code) => delta::fill(writer, &XorRule, code, previous, values, end),
            TableCode::Gap(code) => delta::fill(writer, &GapRule, code, previous, values, end),
            TableCode::EliasFano => {
                self.last_count = elias_fano_count(previous, values, self.last_count, room);
                write_numbers(writer, previous, &values[..self.last_count]);
                self.last_count
            }
        };
        block::append(out, self.block_size, count, &self.stream);
        count
    }
}

/// Returns the layout of the values below the last one from bit `start` on, if there are any.
#[inline(always)]
fn layout<F: Fingerprint>(previous: Option<F>, values: &[F], start: usize) -> Option<Layout> {
    let key = *values.last()?;
    Span { previous, key }.layout(values.len() - 1, start)
}

/// Returns the number of values that fit a block: searched from a guess, because adding a value rarely makes a block
/// shorter.
#[inline(always)]
fn elias_fano_count<F: Fingerprint>(
    previous: Option<F>,
    values: &[F],
    guess: usize,
    room: usize,
) -> usize {
    let fits = |count: usize| {
        let len = layout(previous, &values[..count], 0).map_or(Some(0), |l| l.end_bit());
        len.is_some_and(|len| len <= room)
    };
    let mut count = guess.clamp(1, values.len());
    while !fits(count) {
        count -= 1;
    }
    while count < values.len() && fits(count + 1) {
        count += 1;
    }
    count
}

#[inline(always)]
fn write_numbers<F: Fingerprint>(writer: &mut BitWriter, previous: Option<F>, values: &[F]) {
    if let Some(layout) = layout(previous, values, 0) {
        let key = values[values.len() - 1];
        let base = Span { previous, key }.base();
        let below = &values[..values.len() - 1];
        layout.write(writer, below.iter().map(|v| v.wrapping_sub(base)));
    }
}
