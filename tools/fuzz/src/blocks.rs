//! Blocks and key groups, good ones and such in which bits are changed: the quick decoders against the plain one, and
//! all against the reference.

use arbitrary::Arbitrary;
use simidx::fuzzing::{BLOCKS_IN_STEP, Decoder, RawBlock, decode_keys, encode_keys, lengths_for};
use simidx::{Codec, Fingerprint, Width};

use crate::sets;
use simidx_testkit::editor::seal_block;
use simidx_testkit::encoding::{self, Coding};
use simidx_testkit::forged::{IN_BLOCKS, codec_number};

/// Where the decoder takes every block to be: the table and the number.
const PLACE: (usize, usize) = (0, 0);

/// The contents of blocks and the operations on them.
#[derive(Debug, Arbitrary)]
pub struct Input {
    width: u32,
    codec: u8,
    size: u8,
    /// The first value, or that before it where the blocks are not the first ones.
    first: u128,
    is_first: bool,
    /// How often positions occur, for the code.
    counts: Vec<u8>,
    blocks: [Vec<Gap>; BLOCKS_IN_STEP],
    flips: Vec<Flip>,
    ranges: [(Gap, Gap); 2],
    raw: Raw,
}

/// A distance between two values: a small number somewhere in the word.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Gap {
    number: u16,
    shift: u8,
}

impl Gap {
    fn get(self, width: u32) -> u128 {
        let mask = u128::MAX >> (128 - width);
        let gap = (u128::from(self.number) + 1) << (u32::from(self.shift) % width);
        (gap & mask).max(1)
    }
}

/// A bit to be changed: in a block, or after them in the key group.
#[derive(Debug, Arbitrary)]
struct Flip {
    part: u8,
    bit: u16,
}

/// Arbitrary bytes.
#[derive(Debug, Arbitrary)]
struct Raw {
    lengths: Vec<u8>,
    previous: Option<u128>,
    key: u128,
    count: u16,
    bytes: Vec<u8>,
}

pub fn check(input: &Input) {
    match sets::width(input.width) {
        Width::W32 => check_in::<u32>(input),
        Width::W64 => check_in::<u64>(input),
        Width::W128 => check_in::<u128>(input),
    }
}

impl Flip {
    fn part(&self) -> usize {
        usize::from(self.part) % (2 * BLOCKS_IN_STEP)
    }
}

fn check_in<F: Fingerprint>(input: &Input) {
    check_raw::<F>(&input.raw);
    let codec = IN_BLOCKS[usize::from(input.codec) % IN_BLOCKS.len()];
    let table = Table::<F>::new(input, codec, 128 << (input.size % 3));
    check_keys(&table, input);
    let decoder = Decoder::new(codec, &table.lengths).expect("the lengths are a code");
    let mut blocks = table.encode();
    let mut changed = [false; BLOCKS_IN_STEP];
    for flip in &input.flips {
        if let Some(block) = blocks.get_mut(flip.part()) {
            flip_bit(&mut block[4..], flip.bit);
            seal_block(block, PLACE);
            changed[flip.part()] = true;
        }
    }
    let raw = |number: usize| RawBlock {
        bytes: &blocks[number][..],
        previous: table.previous(number).map(F::from_u128),
        key: F::from_u128(*table.blocks[number].last().expect("no block is empty")),
    };
    let mut good = Vec::new();
    for number in 0..table.blocks.len() {
        let (values, complete) = decoder.plain(raw(number));
        assert!(values.len() <= encoding::count_of(&blocks[number]));
        if !decoder.is_good(raw(number)) {
            assert!(changed[number], "a good block is refused");
            continue;
        }
        assert!(complete, "a good block has a fault");
        let values: Vec<u128> = values.into_iter().map(F::to_u128).collect();
        table.check_values(number, &blocks[number], &values, changed[number]);
        assert!(
            changed[number] || values == table.blocks[number],
            "other values come out"
        );
        good.push((raw(number), values));
    }
    check_quick(&decoder, &good);
    if codec == Codec::EliasFano {
        check_ranges(&decoder, &good, input.ranges);
    }
}

/// The contents of consecutive blocks.
struct Table<F> {
    codec: Codec,
    coding: Coding,
    lengths: Vec<u8>,
    before: Option<u128>,
    blocks: Vec<Vec<u128>>,
    block_size: usize,
    width: std::marker::PhantomData<F>,
}

impl<F: Fingerprint> Table<F> {
    fn new(input: &Input, codec: Codec, block_size: usize) -> Self {
        let mask = u128::MAX >> (128 - F::WIDTH);
        let first = input.first & mask;
        let before = (!input.is_first).then_some(first);
        let mut blocks = Vec::new();
        let mut next = input.is_first.then_some(first);
        let mut last = first;
        for gaps in &input.blocks {
            let mut values = Vec::new();
            values.extend(next.take());
            for gap in gaps {
                let Some(value) = last.checked_add(gap.get(F::WIDTH)) else {
                    break;
                };
                if value > mask {
                    break;
                }
                values.push(value);
                last = value;
            }
            if !values.is_empty() {
                blocks.push(values);
            }
        }
        let lengths = lengths::<F>(codec, before, &blocks, &input.counts);
        let coding = Coding::new(codec_number(codec), &lengths, F::WIDTH);
        let mut table = Table {
            codec,
            coding,
            lengths,
            before,
            blocks,
            block_size,
            width: std::marker::PhantomData,
        };
        table.cut_to_size();
        table
    }

    /// Drops the values that a block has no room for.
    fn cut_to_size(&mut self) {
        let room = encoding::room(self.block_size);
        let most = 1 << encoding::count_bits(self.block_size);
        for number in 0..self.blocks.len() {
            let previous = self.previous(number);
            // The first delta of a block behind a shortened one may have no codeword.
            if number > 0 && !self.has_codewords(previous, &self.blocks[number]) {
                self.blocks.truncate(number);
                break;
            }
            let values = &mut self.blocks[number];
            values.truncate(most);
            while values.len() > 1 && self.coding.stream(previous, values).len() > room {
                values.pop();
            }
        }
    }

    fn has_codewords(&self, previous: Option<u128>, values: &[u128]) -> bool {
        let (Some(previous), true) = (previous, self.lengths.iter().any(|l| *l > 0)) else {
            return true;
        };
        let (position, _) = self.coding.split(previous, values[0]);
        self.lengths[position as usize] > 0
    }

    fn previous(&self, number: usize) -> Option<u128> {
        match number.checked_sub(1) {
            Some(before) => self.blocks[before].last().copied(),
            None => self.before,
        }
    }

    fn encode(&self) -> Vec<Vec<u8>> {
        let encode = |number: usize| {
            let values = &self.blocks[number];
            let stream = self.coding.stream(self.previous(number), values);
            encoding::block(values.len(), &stream, self.block_size, PLACE)
        };
        (0..self.blocks.len()).map(encode).collect()
    }

    /// The plain encoder writes a good block like this of the values that come out; `xor` has other ways to write them.
    fn check_values(&self, number: usize, block: &[u8], values: &[u128], is_changed: bool) {
        let previous = self.previous(number);
        if !is_changed || self.codec != Codec::Xor {
            let stream = self.coding.stream(previous, values);
            let encoded = encoding::block(values.len(), &stream, self.block_size, PLACE);
            assert_eq!(encoded, block);
        }
    }
}

/// The lengths of a code in which all deltas have a codeword.
fn lengths<F: Fingerprint>(
    codec: Codec,
    before: Option<u128>,
    blocks: &[Vec<u128>],
    counts: &[u8],
) -> Vec<u8> {
    let width = F::WIDTH as usize;
    if codec == Codec::EliasFano {
        return vec![0; width];
    }
    let any = Coding::new(codec_number(codec), &[], F::WIDTH);
    let mut used = vec![0; width];
    let mut previous = before;
    for &value in blocks.iter().flatten() {
        if let Some(previous) = previous {
            used[any.split(previous, value).0 as usize] = 1;
        }
        previous = Some(value);
    }
    for (used, &count) in used.iter_mut().zip(counts) {
        // Also codewords that nothing needs.
        *used += u64::from(count).pow(3);
    }
    lengths_for(&used)
}

fn flip_bit(bytes: &mut [u8], bit: u16) {
    let at = usize::from(bit) % (bytes.len() * 8).max(1);
    if let Some(byte) = bytes.get_mut(at / 8) {
        *byte ^= 0x80 >> (at % 8);
    }
}

/// Blocks in step give the values that each gives by itself.
fn check_quick<F: Fingerprint>(decoder: &Decoder, good: &[(RawBlock<'_, F>, Vec<u128>)]) {
    if good.is_empty() {
        return;
    }
    let chosen: [usize; BLOCKS_IN_STEP] = std::array::from_fn(|lane| lane % good.len());
    for portable in [false, true] {
        let together = decoder.in_step(chosen.map(|number| good[number].0), portable);
        let apart = chosen.iter().flat_map(|&number| good[number].1.clone());
        assert!(together.into_iter().map(F::to_u128).eq(apart));
    }
}

/// A part of an Elias-Fano block holds the values of some buckets: from that of its low end to that of its high end.
fn check_ranges<F: Fingerprint>(
    decoder: &Decoder,
    good: &[(RawBlock<'_, F>, Vec<u128>)],
    ranges: [(Gap, Gap); 2],
) {
    for (block, values) in good {
        let around = values
            .iter()
            .flat_map(|&v| [(v, v), (v.saturating_sub(1), v)]);
        let free = ranges.map(|(from, len)| {
            let low = from.get(F::WIDTH);
            (low, low.saturating_add(len.get(F::WIDTH)))
        });
        for (low, high) in around.take(8).chain(free) {
            let high = high.min(F::MAX.to_u128());
            let ends = (F::from_u128(low), F::from_u128(high));
            let found = decoder.between(*block, ends, false);
            assert_eq!(found, decoder.between(*block, ends, true));
            let found: Vec<_> = found.iter().map(|&(i, v)| (i, v.to_u128())).collect();
            let base = block.previous.map_or(0, |previous| previous.to_u128() + 1);
            assert_eq!(found, in_buckets(values, base, (low, high)));
        }
    }
}

/// The values below the last one that lie in the same buckets as some from `low` to `high`, with their places.
fn in_buckets(values: &[u128], base: u128, (low, high): (u128, u128)) -> Vec<(usize, u128)> {
    let (&key, below) = values.split_last().expect("no block is empty");
    if below.is_empty() || low >= key || high < base {
        return Vec::new();
    }
    let (low_bits, _) = encoding::elias_fano_layout(below.len(), key - base - 1);
    let bucket = |value: u128| (value - base) >> low_bits;
    let wanted = bucket(low.max(base))..=bucket(high.min(key));
    let places = below.iter().copied().enumerate();
    places
        .filter(|(_, value)| wanted.contains(&bucket(*value)))
        .collect()
}

/// The values as keys, and the group with bits changed: the one encoding of its keys, or refused.
fn check_keys<F: Fingerprint>(table: &Table<F>, input: &Input) {
    let keys: Vec<u128> = table.blocks.iter().flatten().copied().collect();
    let Some(&last) = keys.last() else {
        return;
    };
    let as_keys: Vec<F> = keys.iter().map(|&key| F::from_u128(key)).collect();
    let previous = table.before.map(F::from_u128);
    let mut group = encode_keys(previous, &as_keys);
    assert_eq!(group, encoding::key_group(table.before, &keys));
    let last = F::from_u128(last);
    let decoded = decode_keys(&group, previous, last, keys.len());
    assert_eq!(decoded, Ok(as_keys));
    for flip in input.flips.iter().filter(|f| f.part() >= BLOCKS_IN_STEP) {
        flip_bit(&mut group, flip.bit);
    }
    check_group(&group, previous, last, keys.len());
}

fn check_group<F: Fingerprint>(group: &[u8], previous: Option<F>, last: F, count: usize) {
    if let Ok(keys) = decode_keys(group, previous, last, count) {
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(previous < keys.first().copied() && keys.last() == Some(&last));
        assert_eq!(keys.len(), count);
        assert_eq!(encode_keys(previous, &keys), group);
    }
}

/// Decodes bytes that are mostly not blocks, and checks that decoding ends.
fn check_raw<F: Fingerprint>(raw: &Raw) {
    let mut lengths = raw.lengths.clone();
    lengths.resize(F::WIDTH as usize, 0);
    let mut bytes = raw.bytes.clone();
    let size = bytes.len().clamp(128, 1024).next_power_of_two();
    bytes.resize(size, 0);
    seal_block(&mut bytes, PLACE);
    let (previous, key) = (raw.previous.map(F::from_u128), F::from_u128(raw.key));
    check_group(&raw.bytes, previous, key, usize::from(raw.count).max(1));
    // Keys that do not ascend are refused before any block is looked at.
    for codec in Codec::ALL.into_iter().filter(|_| previous < Some(key)) {
        let Some(decoder) = Decoder::new(codec, &lengths) else {
            continue;
        };
        let block = RawBlock {
            bytes: &bytes,
            previous,
            key,
        };
        let (values, complete) = decoder.plain(block);
        assert!(values.len() <= encoding::count_of(&bytes));
        if decoder.is_good(block) {
            assert!(complete && values.is_sorted_by(|a, b| a < b));
            assert!(values.last() == Some(&block.key) && block.previous < values.first().copied());
            check_quick(
                &decoder,
                &[(block, values.into_iter().map(F::to_u128).collect())],
            );
        }
    }
}
