//! The decoders of blocks and keys for `tools/fuzz`, their only user: no interface to rely on.
#![allow(missing_docs, reason = "nothing here is for users")]

use crate::codec::block::Block;
use crate::codec::delta::{self, DeltaRule, GapRule, LANES, LaneVisit, XorRule};
use crate::codec::huffman::{Code, code_lengths};
use crate::codec::keys::{self, KeyWriter};
use crate::codec::span::Span;
use crate::codec::{Codec, TableCode, Visit};
use crate::cpu::{Cpu, Portable, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Blocks that are decoded in step.
pub const BLOCKS_IN_STEP: usize = LANES;

/// The lengths of a code for symbols that occur so often.
pub fn lengths_for(counts: &[u64]) -> Vec<u8> {
    code_lengths(counts)
}

/// A block, and the keys of the block before and of itself.
#[derive(Debug, Clone, Copy)]
pub struct RawBlock<'a, F> {
    pub bytes: &'a [u8],
    pub previous: Option<F>,
    pub key: F,
}

/// What decodes the blocks of a table.
#[derive(Debug)]
pub struct Decoder(TableCode);

impl Decoder {
    /// `None` for lengths that are no code.
    pub fn new(codec: Codec, lengths: &[u8]) -> Option<Self> {
        let code = Code::from_lengths(lengths).ok()?;
        Some(Decoder(TableCode::new(codec, code)))
    }

    fn block<'a, F: Fingerprint>(&'a self, block: RawBlock<'a, F>) -> Block<'a, F> {
        let RawBlock { previous, key, .. } = block;
        Block::new(block.bytes, &self.0, Span { previous, key })
    }

    /// Whether the block satisfies every rule.
    pub fn is_good<F: Fingerprint>(&self, block: RawBlock<'_, F>) -> bool {
        self.block(block).validate().is_ok()
    }

    /// The values of any block one by one, up to the first fault, and whether there was none.
    pub fn plain<F: Fingerprint>(&self, block: RawBlock<'_, F>) -> (Vec<F>, bool) {
        let mut values = Vec::new();
        let end = self.block(block).for_each(|value| {
            values.push(value);
            true
        });
        (values, end.is_ok())
    }

    /// The values of good blocks of one size, decoded in step.
    pub fn in_step<F: Fingerprint>(
        &self,
        blocks: [RawBlock<'_, F>; BLOCKS_IN_STEP],
        portable: bool,
    ) -> [Vec<F>; BLOCKS_IN_STEP] {
        let work = InStep(blocks.map(|block| self.block(block)));
        if portable {
            work.run(Portable)
        } else {
            dispatch(work)
        }
    }

    /// The values from `low` to `high` below the key of a good Elias-Fano block, with their places.
    pub fn between<F: Fingerprint>(
        &self,
        block: RawBlock<'_, F>,
        (low, high): (F, F),
        portable: bool,
    ) -> Vec<(usize, F)> {
        let work = Between {
            block: self.block(block),
            low,
            high,
        };
        if portable {
            work.run(Portable)
        } else {
            dispatch(work)
        }
    }
}

struct InStep<'a, F>([Block<'a, F>; LANES]);

impl<F: Fingerprint> Work for InStep<'_, F> {
    type Output = [Vec<F>; LANES];

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        match self.0[0].code {
            TableCode::Xor(code) => deltas_in_step(self.0, &XorRule, code),
            TableCode::Gap(code) => deltas_in_step(self.0, &GapRule, code),
            TableCode::EliasFano => self.0.map(|block| {
                let mut values = Collector(Vec::new());
                if let Some(range) = block.all_numbers() {
                    range.for_each(block.stream(), &mut values);
                }
                values.visit(block.count() - 1, block.span.key);
                values.0
            }),
        }
    }
}

#[inline(always)]
fn deltas_in_step<F: Fingerprint, R: DeltaRule>(
    blocks: [Block<'_, F>; LANES],
    rule: &R,
    code: &Code,
) -> [Vec<F>; LANES] {
    let mut lanes = Lanes(Default::default());
    let deltas = blocks.map(|block| block.deltas());
    delta::for_each_in_step(deltas, rule, [code; LANES], &mut lanes);
    lanes.0
}

struct Lanes<F>([Vec<F>; LANES]);

impl<F: Fingerprint> LaneVisit<F> for Lanes<F> {
    #[inline(always)]
    fn visit(&mut self, lane: usize, values: &[F]) {
        self.0[lane].extend_from_slice(values);
    }

    #[inline(always)]
    fn is_done(&self, _lane: usize, _value: F) -> bool {
        false
    }
}

struct Collector<F>(Vec<F>);

impl<F: Fingerprint> Visit<F> for Collector<F> {
    #[inline(always)]
    fn visit(&mut self, index: usize, value: F) {
        assert_eq!(index, self.0.len(), "places go up by one");
        self.0.push(value);
    }
}

struct Between<'a, F> {
    block: Block<'a, F>,
    low: F,
    high: F,
}

impl<F: Fingerprint> Work for Between<'_, F> {
    type Output = Vec<(usize, F)>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let mut found = Vec::new();
        if let Some(range) = self.block.seek(cpu, self.low, self.high) {
            range.for_each(self.block.stream(), &mut |index, value| {
                found.push((index, value));
            });
        }
        found
    }
}

/// The keys that a keys section holds.
pub fn decode_keys<F: Fingerprint>(section: &[u8], count: u64) -> Result<Vec<F>, &'static str> {
    keys::decode(section, count, Vec::with_capacity)
}

/// The keys section of ascending keys, at least one.
pub fn encode_keys<F: Fingerprint>(keys: &[F]) -> Vec<u8> {
    let mut writer = KeyWriter::new(keys.len(), keys[0], keys[keys.len() - 1]);
    writer.write_high(keys);
    writer.end_high();
    writer.write_low(keys);
    writer.finish()
}
