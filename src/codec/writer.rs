//! Encoding the sorted values of a table: the statistics for its code, then block after block.

use super::TableCode;
use super::bits::BitWriter;
use super::block::{self, MAX_BLOCK_VALUES, room_bits};
use super::delta::{self, DeltaRule, GapRule, XorRule};
use super::elias_fano::Layout;
use super::huffman::{Code, code_lengths};
use super::span::Span;
use crate::fingerprint::Fingerprint;

/// How often each delta position occurs among neighbours, in the code of either rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeltaCounts {
    pub(crate) xor: Vec<u64>,
    pub(crate) gap: Vec<u64>,
}

impl DeltaCounts {
    pub(crate) fn new(width: u32) -> Self {
        DeltaCounts {
            xor: vec![0; width as usize],
            gap: vec![0; width as usize],
        }
    }

    /// Counts the step from one value to the next.
    #[inline]
    pub(crate) fn add<F: Fingerprint>(&mut self, previous: F, value: F) {
        self.xor[XorRule.split(previous, value).0 as usize] += 1;
        self.gap[GapRule.split(previous, value).0 as usize] += 1;
    }

    pub(crate) fn merge(mut self, other: &Self) -> Self {
        let pairs = self.xor.iter_mut().zip(&other.xor);
        for (sum, count) in pairs.chain(self.gap.iter_mut().zip(&other.gap)) {
            *sum += count;
        }
        self
    }
}

/// The code for positions that occur so often, and the bits that they and their tails take in it.
pub(crate) fn code_for(counts: &[u64]) -> (Code, u64) {
    let lengths = code_lengths(counts);
    let bits = counts.iter().zip(&lengths).enumerate();
    let bits = bits.map(|(position, (count, &len))| count * (u64::from(len) + position as u64));
    let bits = bits.sum();
    let code = Code::from_lengths(&lengths).expect("code_lengths makes complete codes");
    (code, bits)
}

/// Fills blocks with the values of a table.
#[derive(Debug)]
pub(crate) struct BlockWriter<'a> {
    code: &'a TableCode,
    block_size: usize,
    stream: BitWriter,
    /// Values of the block before: about as many fit the next one.
    last_count: usize,
}

impl<'a> BlockWriter<'a> {
    /// A writer of blocks of so many bytes. A Huffman code must have a codeword for each step between neighbours.
    pub(crate) fn new(code: &'a TableCode, block_size: usize) -> Self {
        BlockWriter {
            code,
            block_size,
            stream: BitWriter::new(),
            last_count: 1,
        }
    }

    /// Appends to `out` a block with as many of the ascending `values` as fit, at least one, and returns their
    /// number. `previous` is the value before them, absent at the start of the table.
    pub(crate) fn write<F: Fingerprint>(
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

/// The layout of the values below the last one from a bit on, if there are any.
fn layout<F: Fingerprint>(previous: Option<F>, values: &[F], start: usize) -> Option<Layout> {
    let key = *values.last()?;
    Span { previous, key }.layout(values.len() - 1, start)
}

/// How many values fit a block: searched from a guess on, because adding a value seldom makes a block shorter.
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

fn write_numbers<F: Fingerprint>(writer: &mut BitWriter, previous: Option<F>, values: &[F]) {
    if let Some(layout) = layout(previous, values, 0) {
        let key = values[values.len() - 1];
        let base = Span { previous, key }.base();
        let below = &values[..values.len() - 1];
        layout.write(writer, below.iter().map(|v| v.wrapping_sub(base)));
    }
}

/// The blocks that Elias-Fano coding makes of values, estimated from some of them.
pub(crate) fn elias_fano_blocks<F: Fingerprint>(values: &[F], block_size: usize) -> f64 {
    const SAMPLES: usize = 1000;
    let room = room_bits(block_size);
    let (mut sampled, mut blocks, mut guess) = (0, 0, 1);
    let stride = (values.len() / SAMPLES).max(1);
    let mut at = 0;
    while at < values.len() {
        let previous = at.checked_sub(1).map(|i| values[i]);
        let rest = &values[at..values.len().min(at + MAX_BLOCK_VALUES)];
        guess = elias_fano_count(previous, rest, guess, room);
        sampled += guess;
        blocks += 1;
        at += guess.max(stride);
    }
    if sampled == 0 {
        return 0.0;
    }
    blocks as f64 * values.len() as f64 / sampled as f64
}
