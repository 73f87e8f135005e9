//! The Huffman codecs, `xor` and `gap`, which store the difference of each value from the one before (spec, section
//! 7.2).

use super::TableCode;
use super::bits::{BitWriter, MAX_WRITE_BITS, WINDOW_BITS, read_value, window};
use super::huffman::{Code, DecodeTable};
use super::span::{BlockError, Span};
use crate::fingerprint::Fingerprint;

/// The difference between a value and the one before it: a position, which is Huffman-coded, and that many bits below
/// it.
pub(crate) trait DeltaRule {
    /// Returns the Huffman code of a table of this rule; `None` for a table of another.
    fn code<'a>(&self, table: &'a TableCode) -> Option<&'a Code>;

    /// Returns the delta position and, in the low bits of the second number, the tail of `value` after a smaller one.
    /// The bits above the tail are arbitrary.
    fn split<F: Fingerprint>(&self, previous: F, value: F) -> (u32, F);

    /// Returns the value after `previous`. The top bit of `delta` is at `position`, and its lower bits are the tail.
    fn join<F: Fingerprint>(&self, previous: F, position: u32, delta: F) -> F;
}

/// The position of the highest bit that differs, and the bits of the value below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct XorRule;

impl DeltaRule for XorRule {
    #[inline(always)]
    fn code<'a>(&self, table: &'a TableCode) -> Option<&'a Code> {
        match table {
            TableCode::Xor(code) => Some(code),
            _ => None,
        }
    }

    #[inline(always)]
    fn split<F: Fingerprint>(&self, previous: F, value: F) -> (u32, F) {
        (F::WIDTH - 1 - (previous ^ value).leading_zeros(), value)
    }

    #[inline(always)]
    fn join<F: Fingerprint>(&self, previous: F, position: u32, delta: F) -> F {
        // The bits above the position stay, and the bit at the position turns from 0 to 1.
        ((previous >> position) << position) | delta
    }
}

/// The position of the top bit of the difference, and the bits of the difference below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GapRule;

impl DeltaRule for GapRule {
    #[inline(always)]
    fn code<'a>(&self, table: &'a TableCode) -> Option<&'a Code> {
        match table {
            TableCode::Gap(code) => Some(code),
            _ => None,
        }
    }

    #[inline(always)]
    fn split<F: Fingerprint>(&self, previous: F, value: F) -> (u32, F) {
        let gap = value.wrapping_sub(previous);
        (F::WIDTH - 1 - gap.leading_zeros(), gap)
    }

    #[inline(always)]
    fn join<F: Fingerprint>(&self, previous: F, _position: u32, delta: F) -> F {
        previous.wrapping_add(delta)
    }
}

/// A block of a Huffman codec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeltaBlock<'a, F> {
    pub(crate) stream: &'a [u8],
    /// The bit of the stream at which the values start.
    pub(crate) start: usize,
    /// The number of values, including the key.
    pub(crate) count: usize,
    pub(crate) span: Span<F>,
}

/// The position of a decoder in a bit stream, and the last value.
#[derive(Debug, Clone, Copy)]
struct State<F> {
    value: F,
    at: usize,
}

impl<F: Fingerprint> State<F> {
    /// Returns the state after the part of a block that is stored whole: the first value of the first block, unless it
    /// is the key. The flag is true if there is such a value.
    #[inline(always)]
    fn start(block: &DeltaBlock<'_, F>) -> (Self, bool) {
        let at = block.start;
        match block.span.previous {
            Some(value) => (State { value, at }, false),
            None if block.count == 1 => (State { value: F::ZERO, at }, false),
            None => {
                let value = read_value(block.stream, at, F::WIDTH);
                let at = at + F::WIDTH as usize;
                (State { value, at }, true)
            }
        }
    }

    /// Advances to the next value of a checked block.
    #[inline(always)]
    fn step<R: DeltaRule>(&mut self, rule: &R, stream: &[u8], table: &DecodeTable) {
        let bits = window(stream, self.at);
        let step = table.step(bits);
        if step.is_unknown() {
            *self = self.slow_step(rule, stream, table);
            return;
        }
        self.at += step.len();
        let delta = F::from_u128(u128::from(step.number(bits)));
        self.value = rule.join(self.value, step.symbol(), delta);
    }

    #[cold]
    #[inline(never)]
    fn slow_step<R: DeltaRule>(self, rule: &R, stream: &[u8], table: &DecodeTable) -> Self {
        self.plain_step(rule, stream, table).0
    }

    /// Returns the state at the next value and the length of the codeword, which is 0 for an invalid one.
    #[inline(always)]
    fn plain_step<R: DeltaRule>(self, rule: &R, stream: &[u8], table: &DecodeTable) -> (Self, u32) {
        let bits = window(stream, self.at);
        let (position, len) = table.look_up(bits);
        let tail: F = if F::WIDTH <= 64 && len + position <= WINDOW_BITS {
            // Two shifts, because an empty tail would be shifted by the whole width.
            F::from_u128(u128::from(((bits << len) >> 1) >> (63 - position)))
        } else {
            read_value(stream, self.at + len as usize, position)
        };
        let delta = (F::from_u128(1) << position) | tail;
        let state = State {
            value: rule.join(self.value, position, delta),
            at: self.at + (len + position) as usize,
        };
        (state, len)
    }
}

/// Calls `visit` with each value below the key until it returns `false`. Returns the bit after the last decoded value.
pub(crate) fn for_each<F: Fingerprint, R: DeltaRule>(
    block: &DeltaBlock<'_, F>,
    rule: &R,
    code: &Code,
    mut visit: impl FnMut(F) -> bool,
) -> Result<usize, BlockError> {
    let mut left = block.count - 1;
    let end = block.stream.len() * 8;
    let (mut state, whole) = State::start(block);
    if whole {
        left -= 1;
        if !visit(state.value) {
            return Ok(state.at);
        }
    }
    for _ in 0..left {
        let (next, len) = state.plain_step(rule, block.stream, code.decode_table());
        if len == 0 {
            return Err(BlockError::NoCodeword);
        }
        state = next;
        if state.at > end {
            return Err(BlockError::Overrun);
        }
        if !visit(state.value) {
            break;
        }
    }
    Ok(state.at)
}

/// Blocks that are decoded in step. Their dependency chains overlap, so four take little longer than one.
pub(crate) const LANES: usize = 4;

/// Steps between two checks for lanes that are done.
const STEPS: usize = 8;

/// A visitor of the values of lanes. Its methods should be `#[inline(always)]`, see [`crate::cpu::Work`].
pub(crate) trait LaneVisit<F> {
    /// Takes the next values of a lane.
    fn visit(&mut self, lane: usize, values: &[F]);

    /// Returns whether a lane needs no further values after this one.
    fn is_done(&self, lane: usize, value: F) -> bool;
}

/// Passes each value of each block to the visitor until all lanes are done. The values of a lane come in order, with
/// the key last, and all lanes advance in step. The visitor is asked at intervals whether a lane is done.
///
/// The blocks must have been checked.
#[inline(always)]
pub(crate) fn for_each_in_step<F: Fingerprint, R: DeltaRule>(
    blocks: [DeltaBlock<'_, F>; LANES],
    rules: &R,
    codes: [&Code; LANES],
    visitor: &mut impl LaneVisit<F>,
) {
    // All blocks of a file have the same length. Cutting each to it saves three registers.
    let len = blocks[0].stream.len();
    let streams = blocks.map(|block| &block.stream[..len]);
    let tables = codes.map(Code::decode_table);
    let mut left = blocks.map(|block| block.count - 1);
    let mut states = [State {
        value: F::ZERO,
        at: 0,
    }; LANES];
    for lane in 0..LANES {
        let (state, whole) = State::start(&blocks[lane]);
        states[lane] = state;
        if whole {
            left[lane] -= 1;
            visitor.visit(lane, &[state.value]);
        }
    }
    let common = left.iter().copied().min().unwrap_or(0);
    let mut chunk = [[F::ZERO; STEPS]; LANES];
    for _ in 0..common / STEPS {
        decode_chunk(&mut states, rules, streams, tables, &mut chunk);
        let mut all_done = true;
        for (lane, values) in chunk.iter().enumerate() {
            visitor.visit(lane, values);
            all_done &= visitor.is_done(lane, values[STEPS - 1]);
        }
        if all_done {
            return;
        }
    }
    for _ in 0..common % STEPS {
        for lane in 0..LANES {
            states[lane].step(rules, streams[lane], tables[lane]);
            visitor.visit(lane, &[states[lane].value]);
        }
    }
    for lane in 0..LANES {
        let mut state = states[lane];
        for _ in common..left[lane] {
            if visitor.is_done(lane, state.value) {
                break;
            }
            state.step(rules, streams[lane], tables[lane]);
            visitor.visit(lane, &[state.value]);
        }
        visitor.visit(lane, &[blocks[lane].span.key]);
    }
}

/// Takes [`STEPS`] steps in each lane. The lanes are unrolled, so that their states stay in registers.
#[inline(always)]
fn decode_chunk<F: Fingerprint, R: DeltaRule>(
    states: &mut [State<F>; LANES],
    rule: &R,
    streams: [&[u8]; LANES],
    tables: [&DecodeTable; LANES],
    chunk: &mut [[F; STEPS]; LANES],
) {
    let [mut a, mut b, mut c, mut d] = *states;
    #[expect(clippy::needless_range_loop, reason = "it indexes each of four arrays")]
    for step in 0..STEPS {
        a.step(rule, streams[0], tables[0]);
        b.step(rule, streams[1], tables[1]);
        c.step(rule, streams[2], tables[2]);
        d.step(rule, streams[3], tables[3]);
        chunk[0][step] = a.value;
        chunk[1][step] = b.value;
        chunk[2][step] = c.value;
        chunk[3][step] = d.value;
    }
    *states = [a, b, c, d];
}

/// Writes the values that fit a block, except its key, to a stream that may reach `end`. Returns the number of values
/// of the block, including the key: from 1 to `values.len()`.
#[inline(always)]
pub(crate) fn fill<F: Fingerprint, R: DeltaRule>(
    writer: &mut BitWriter,
    rule: &R,
    code: &Code,
    previous: Option<F>,
    values: &[F],
    end: usize,
) -> usize {
    let mut previous = previous;
    // The last value is the key, which is not written.
    for (i, &value) in values[..values.len() - 1].iter().enumerate() {
        match previous {
            None => writer.write_value(value, F::WIDTH),
            Some(previous) => {
                let (position, delta) = rule.split(previous, value);
                let (word, len) = code.codeword(position);
                if writer.len_bits() + (len + position) as usize > end {
                    return i + 1;
                }
                write_step(writer, (word, len), delta & !(F::MAX << position), position);
            }
        }
        previous = Some(value);
    }
    values.len()
}

#[inline(always)]
fn write_step<F: Fingerprint>(
    writer: &mut BitWriter,
    (word, len): (u16, u32),
    tail: F,
    position: u32,
) {
    if len + position <= MAX_WRITE_BITS {
        let tail = tail.to_u128() as u64;
        writer.write(u64::from(word) << position | tail, len + position);
    } else {
        writer.write(u64::from(word), len);
        writer.write_value(tail, position);
    }
}
