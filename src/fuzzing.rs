//! Decoders of blocks and keys for `tools/fuzz` only. Do not use them elsewhere.
#![allow(missing_docs, reason = "nothing here is for users")]

use crate::codec::block::Block;
use crate::codec::delta::LANES;
use crate::codec::huffman::{Code, code_lengths};
use crate::codec::keys;
use crate::codec::span::Span;
use crate::codec::{Codec, TableCode};
use crate::cpu::{Cpu, Portable, Work, dispatch};
use crate::design::Permuted;
use crate::fingerprint::Fingerprint;
use crate::format::{Kind, place_checksum};
use crate::index::Decode;

/// Number of blocks that are decoded in step.
pub const BLOCKS_IN_STEP: usize = LANES;

/// Returns code lengths for symbols with these counts.
pub fn lengths_for(counts: &[u64]) -> Vec<u8> {
    code_lengths(counts)
}

/// A block, its key, and the key of the block before.
#[derive(Debug, Clone, Copy)]
pub struct RawBlock<'a, F> {
    pub bytes: &'a [u8],
    pub previous: Option<F>,
    pub key: F,
}

/// A decoder of the blocks of a table.
#[derive(Debug)]
pub struct Decoder(TableCode);

impl Decoder {
    /// Creates a decoder; `None` if the lengths are not a code.
    pub fn new(codec: Codec, lengths: &[u8]) -> Option<Self> {
        let code = Code::from_lengths(lengths).ok()?;
        TableCode::new(codec, code).map(Decoder)
    }

    fn block<'a, F: Fingerprint>(&'a self, block: RawBlock<'a, F>) -> Block<'a, F> {
        let RawBlock { previous, key, .. } = block;
        Block::new(block.bytes, &self.0, Span { previous, key })
    }

    /// Returns whether the block satisfies every rule as the first one of table 0.
    pub fn is_good<F: Fingerprint>(&self, block: RawBlock<'_, F>) -> bool {
        self.block(block)
            .validate(place_checksum(Kind::BLOCKS, 0, 0))
            .is_ok()
    }

    /// Decodes a block value by value, up to the first fault. Returns the values, and whether there was no fault.
    pub fn plain<F: Fingerprint>(&self, block: RawBlock<'_, F>) -> (Vec<F>, bool) {
        let mut values = Vec::new();
        let end = self.block(block).for_each(|value| {
            values.push(value);
            true
        });
        (values, end.is_ok())
    }

    /// Decodes valid blocks of one size together, as a table is read. Returns their values, block after block.
    pub fn in_step<F: Fingerprint>(
        &self,
        blocks: [RawBlock<'_, F>; BLOCKS_IN_STEP],
        portable: bool,
    ) -> Vec<F> {
        let blocks = blocks.map(|block| self.block(block));
        let mut values: Vec<Permuted<F>> = Vec::new();
        let decode = Decode {
            blocks: &blocks,
            out: &mut values,
        };
        if portable {
            decode.run(Portable);
        } else {
            dispatch(decode);
        }
        values.into_iter().map(|Permuted(value)| value).collect()
    }

    /// Returns the values of a valid Elias-Fano block that share their high bits with any value from `low` to `high`,
    /// and are below the key, with their places.
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

/// Decodes `count` keys, at least one, of a key group between `previous` and `key`.
pub fn decode_keys<F: Fingerprint>(
    bytes: &[u8],
    previous: Option<F>,
    key: F,
    count: usize,
) -> Result<Vec<F>, &'static str> {
    let mut keys = Vec::new();
    keys::decode_group(bytes, Span { previous, key }, count, &mut keys)?;
    Ok(keys)
}

/// Encodes ascending keys, at least one, as a key group.
pub fn encode_keys<F: Fingerprint>(previous: Option<F>, keys: &[F]) -> Vec<u8> {
    let key = keys[keys.len() - 1];
    let mut bytes = Vec::new();
    keys::encode_group(Span { previous, key }, keys, &mut bytes);
    bytes
}
