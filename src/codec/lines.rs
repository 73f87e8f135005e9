//! Lines: a table as a row of lines of 64 bytes, each for 256 consecutive addresses (spec, section 8.2).
//!
//! The address of a value is its leading bits. The bits below are its low bits, which are packed in a separate row, in
//! the order of the values. A line with too many values is crowded: it only refers to finer lines, whose addresses have
//! a few bits more.

use std::ops::Range;

use super::bits::BitWriter;
use crate::cpu::Cpu;
use crate::fingerprint::Fingerprint;
use crate::threads::map_parts;

/// Bytes of a line.
pub(crate) const LINE_LEN: usize = 64;

/// Bits of an address that select among the addresses of a line.
pub(crate) const LINE_BITS: u32 = 8;

/// Number of addresses in a line.
pub(crate) const LINE_ADDRESSES: usize = 1 << LINE_BITS;

/// The most values of a line, if its addresses are not whole values.
pub(crate) const CAPACITY: usize = 216;

/// The most address bits of a table.
pub(crate) const MAX_ADDRESS_BITS: u32 = 48;

/// Bits of the rank of a line.
const RANK_BITS: u32 = 39;

/// The most values of a table.
pub(crate) const MAX_VALUES: u64 = (1 << RANK_BITS) - 1;

/// The bit of the first word that marks a crowded line.
const CROWDED: u64 = 1 << RANK_BITS;

/// Bits of a line before the marks of last values.
const BITS_BEFORE_LAST: u32 = RANK_BITS + 1;

/// The most values in a line on average, which determines the number of lines of a table.
const MOST_VALUES_A_LINE: f64 = 165.0;

/// The most bits by which the addresses of finer lines exceed those of the line above, as this version writes them.
const MOST_EXTRA_BITS: u32 = 8;

/// A line with more values than this gets finer lines with [`MOST_EXTRA_BITS`] more bits, so that it can be written
/// before all its values are known.
pub(crate) const KNOWN_VALUES: usize = 1 << 18;

/// Returns the address bits of a table with this many values.
pub(crate) fn address_bits(width: u32, count: u64) -> u32 {
    let values_a_line = |bits: u32| count as f64 / 2f64.powi((bits - LINE_BITS) as i32);
    let most = width.min(MAX_ADDRESS_BITS);
    let bits = (LINE_BITS..most).find(|&bits| values_a_line(bits) <= MOST_VALUES_A_LINE);
    bits.unwrap_or(most)
}

/// Returns the bits for each value in a table with this many uniform values: its low bits, and its share of a line and
/// of the checksums.
pub(crate) fn bits_per_value(width: u32, count: u64) -> f64 {
    let address_bits = address_bits(width, count);
    let values_a_line = count as f64 / 2f64.powi((address_bits - LINE_BITS) as i32);
    let line_bits = LINE_LEN as f64 * 8.0;
    (f64::from(width - address_bits) + line_bits / values_a_line) * (4100.0 / 4096.0)
}

/// Returns the bytes of the low bits and the lines of a table with this many values and finer lines.
pub(crate) fn table_len(width: u32, count: u64, finer_lines: u64) -> f64 {
    let address_bits = address_bits(width, count);
    let lines = 2f64.powi((address_bits - LINE_BITS) as i32) + finer_lines as f64;
    count as f64 * f64::from(width - address_bits) / 8.0 + lines * LINE_LEN as f64
}

/// Returns the number of finer lines that some ascending values need in a table with `address_bits`.
pub(crate) fn finer_lines<F: Fingerprint>(values: &[F], address_bits: u32) -> u64 {
    let low_bits = F::WIDTH - address_bits;
    let mut part = LinePart::default();
    for mut values in values.chunk_by(|&a, &b| line_of(a, low_bits) == line_of(b, low_bits)) {
        if values.len() > capacity(low_bits) {
            let number = line_of(values[0], low_bits);
            part.line(&mut values, number, low_bits);
        }
    }
    part.finer.len() as u64
}

/// Returns the most values of a line whose addresses leave `bits_below` bits of a value.
fn capacity(bits_below: u32) -> usize {
    match bits_below {
        0 => LINE_ADDRESSES,
        _ => CAPACITY,
    }
}

/// A fault of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// The number of marked last values is neither the number of addresses with values nor 0.
    Marks,
    /// The line has values beyond the end of the table.
    Values,
    /// The finer lines are not in the table.
    Finer,
}

/// A line in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a>(&'a [u8; LINE_LEN]);

/// The finer lines that a crowded line refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finer {
    /// The number of the first finer line.
    pub(crate) first: u64,
    /// The bits by which their addresses are longer; the number of finer lines is two to the power of this.
    pub(crate) extra_bits: u32,
}

impl<'a> Line<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8; LINE_LEN]) -> Self {
        Line(bytes)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        let bytes = self.0.as_chunks::<8>().0;
        u64::from_le_bytes(bytes[index])
    }

    /// Returns the number of values before the line.
    #[inline(always)]
    pub(crate) fn rank(&self) -> u64 {
        self.word(0) & (CROWDED - 1)
    }

    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.word(0) & CROWDED != 0
    }

    /// Returns the finer lines of a crowded line whose addresses leave `bits_below` bits of a value, in a table of
    /// `line_count` lines.
    ///
    /// # Errors
    /// The finer lines are invalid.
    #[inline(always)]
    pub(crate) fn finer(&self, bits_below: u32, line_count: u64) -> Result<Finer, LineFault> {
        let (first, extra_bits) = (self.word(4), self.word(5));
        let are_lines = |count: u64| {
            first
                .checked_add(count)
                .is_some_and(|end| end <= line_count)
        };
        if extra_bits == 0
            || extra_bits > u64::from(bits_below.min(63))
            || !are_lines(1 << extra_bits)
        {
            return Err(LineFault::Finer);
        }
        Ok(Finer {
            first,
            extra_bits: extra_bits as u32,
        })
    }

    /// Returns whether all unused bits of a crowded line are zero.
    pub(crate) fn is_zero_behind_finer(&self) -> bool {
        self.last() == [0; 4] && [self.word(6), self.word(7)] == [0; 2]
    }

    /// Returns the marks of last values, after [`BITS_BEFORE_LAST`] zero bits.
    #[inline(always)]
    fn last(&self) -> [u64; 4] {
        let first = self.word(0) >> BITS_BEFORE_LAST << BITS_BEFORE_LAST;
        [first, self.word(1), self.word(2), self.word(3)]
    }

    /// Returns the set of addresses that have values.
    #[inline(always)]
    pub(crate) fn there(&self) -> [u64; 4] {
        [self.word(4), self.word(5), self.word(6), self.word(7)]
    }

    /// Returns whether an address has a value.
    #[inline(always)]
    pub(crate) fn has(&self, address: u8) -> bool {
        self.word(4 + usize::from(address >> 6)) >> (address & 63) & 1 != 0
    }

    /// Returns the number of addresses with values.
    #[inline(always)]
    fn address_count(&self) -> u32 {
        self.there().iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the number of addresses before this one that have values.
    #[inline(always)]
    fn addresses_before(&self, address: u8) -> u32 {
        let at = usize::from(address >> 6);
        let below = self.word(4 + at) & !(u64::MAX << (address & 63));
        let mut count = below.count_ones();
        for i in 0..3 {
            // Not a branch, since addresses cannot be predicted.
            count += self.word(4 + i).count_ones() * u32::from(i < at);
        }
        count
    }

    /// Returns the number of values up to the last one of the first `runs` addresses with values.
    #[inline(always)]
    fn values_of<C: Cpu>(&self, cpu: C, runs: u32) -> usize {
        let last = self.last();
        let mut before = [0; 4];
        for i in 1..4 {
            before[i] = before[i - 1] + last[i - 1].count_ones();
        }
        let word = before[1..].iter().filter(|&&before| runs > before).count();
        let above = cpu.select(last[word], runs.wrapping_sub(before[word] + 1) & 63);
        let count = (word * 64 + 64).saturating_sub((above + BITS_BEFORE_LAST) as usize);
        if runs == 0 { 0 } else { count }
    }

    /// Returns the number after the last value with the same address as value `begin`; too large a number if no last
    /// value is marked.
    #[inline(always)]
    fn run_end(&self, begin: usize, bits_below: u32) -> usize {
        if bits_below == 0 {
            return begin + 1;
        }
        let last = self.last();
        let from = begin + BITS_BEFORE_LAST as usize;
        let mut word = from / 64;
        let mut rest = last
            .get(word)
            .map_or(0, |&bits| bits >> (from % 64) << (from % 64));
        while rest == 0 {
            word += 1;
            match last.get(word) {
                Some(&bits) => rest = bits,
                None => return usize::MAX,
            }
        }
        word * 64 + rest.trailing_zeros() as usize + 1 - BITS_BEFORE_LAST as usize
    }

    /// Returns the numbers in the line of the values at the addresses from `first` to `last`.
    #[inline(always)]
    pub(crate) fn values_between<C: Cpu>(
        &self,
        cpu: C,
        (first, last): (u8, u8),
        bits_below: u32,
    ) -> (usize, usize) {
        let begin = self.run_begin(cpu, first, bits_below);
        let end = match last.checked_add(1) {
            Some(next) => self.run_begin(cpu, next, bits_below),
            None => self.value_count(bits_below),
        };
        (begin, end)
    }

    /// Passes the address of each value at the addresses from `first` to `last` to `take`, in order. The first of these
    /// values has the number `begin` in the line. For a line that [`Line::check`] would refuse, it passes some of these
    /// addresses, each any number of times.
    #[inline(always)]
    pub(crate) fn for_each_between(
        &self,
        (first, last): (u8, u8),
        begin: usize,
        bits_below: u32,
        mut take: impl FnMut(u8),
    ) {
        let (marks, mut number) = match bits_below {
            0 => ([u64::MAX; 4], begin),
            _ => (self.last(), begin + BITS_BEFORE_LAST as usize),
        };
        let there = self.there();
        for i in usize::from(first >> 6)..=usize::from(last >> 6) {
            let (low, high) = (usize::from(first), usize::from(last));
            let from = low.saturating_sub(64 * i);
            let above = (64 * i + 63).saturating_sub(high);
            let mut word = there[i & 3] >> from << from << above >> above;
            while word != 0 && number < 256 {
                take((i * 64) as u8 + word.trailing_zeros() as u8);
                // Removes the address after its last value, without a branch.
                let is_last = marks[number / 64] >> (number % 64) & 1;
                word &= word.wrapping_sub(is_last);
                number += 1;
            }
        }
    }

    /// Returns the numbers in the line of the values at an address that has some.
    #[inline(always)]
    pub(crate) fn run<C: Cpu>(&self, cpu: C, address: u8, bits_below: u32) -> (usize, usize) {
        let begin = self.run_begin(cpu, address, bits_below);
        (begin, self.run_end(begin, bits_below))
    }

    /// Returns the number in the line of the first value at an address that has some.
    #[inline(always)]
    fn run_begin<C: Cpu>(&self, cpu: C, address: u8, bits_below: u32) -> usize {
        let before = self.addresses_before(address);
        match bits_below {
            0 => before as usize,
            _ => self.values_of(cpu, before),
        }
    }

    /// Returns the number of values of a line that is not crowded and has passed [`Line::check`].
    fn value_count(&self, bits_below: u32) -> usize {
        if bits_below == 0 {
            return self.address_count() as usize;
        }
        let last = self.last();
        let word = last.iter().rposition(|&word| word != 0);
        word.map_or(0, |word| {
            let bits = word * 64 + 64 - last[word].leading_zeros() as usize;
            bits - BITS_BEFORE_LAST as usize
        })
    }

    /// Checks the rules of a line that do not depend on its low bits.
    ///
    /// # Errors
    /// Invalid marks.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), LineFault> {
        let marks: u32 = self.last().iter().map(|word| word.count_ones()).sum();
        if self.is_crowded() || marks == 0 || marks == self.address_count() {
            return Ok(());
        }
        Err(LineFault::Marks)
    }

    /// Returns whether there are marks if, and only if, a line whose addresses leave `bits_below` bits of a value needs
    /// them.
    #[inline(always)]
    pub(crate) fn is_marked_for(&self, bits_below: u32) -> bool {
        let has_any = |words: [u64; 4]| words.iter().any(|&word| word != 0);
        has_any(self.last()) == (bits_below > 0 && has_any(self.there()))
    }

    /// Returns the ranks of the values of a line that is not crowded, in a table of `count` values.
    ///
    /// # Errors
    /// The marks do not fit addresses that leave `bits_below` bits of a value, or the table ends before.
    pub(crate) fn ranks(&self, bits_below: u32, count: u64) -> Result<Range<u64>, LineFault> {
        if !self.is_marked_for(bits_below) {
            return Err(LineFault::Marks);
        }
        let ranks = self.rank()..self.rank() + self.value_count(bits_below) as u64;
        match ranks.end <= count {
            true => Ok(ranks),
            false => Err(LineFault::Values),
        }
    }

    /// Passes the address of each value to `take`, in order.
    #[inline(always)]
    pub(crate) fn for_each_address(&self, bits_below: u32, take: impl FnMut(u8)) {
        self.for_each_between((0, u8::MAX), 0, bits_below, take);
    }
}

/// Shifts a value left; a shift by the whole width gives 0.
#[inline(always)]
pub(crate) fn shifted<F: Fingerprint>(value: F, bits: u32) -> F {
    if bits < F::WIDTH {
        value << bits
    } else {
        F::ZERO
    }
}

/// Shifts a value right; a shift by the whole width gives 0.
#[inline(always)]
pub(crate) fn shifted_down<F: Fingerprint>(value: F, bits: u32) -> F {
    if bits < F::WIDTH {
        value >> bits
    } else {
        F::ZERO
    }
}

/// A line that is being written. Its positions are relative to the lines and values written with it, until
/// [`NewLine::move_by`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct NewLine {
    is_crowded: bool,
    rank: u64,
    last: [u64; 4],
    there: [u64; 4],
}

impl NewLine {
    /// Moves the line after `finer` other finer lines and `rank` other values.
    fn move_by(&mut self, finer: u64, rank: u64) {
        self.rank += rank;
        if self.is_crowded {
            self.there[0] += finer;
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut words = [self.last, self.there];
        words[0][0] |= self.rank | if self.is_crowded { CROWDED } else { 0 };
        for word in words.as_flattened() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// A set of 256 bits whose members come in ascending order. The open word is kept apart: in the array each bit would wait
/// for the one before.
#[derive(Debug, Default)]
struct Ascending {
    words: [u64; 4],
    word: u64,
    at: usize,
}

impl Ascending {
    /// Sets bit `bit` to `value`, 0 or 1.
    #[inline(always)]
    fn set(&mut self, bit: usize, value: u64) {
        if bit / 64 != self.at {
            self.words[self.at] = self.word;
            (self.at, self.word) = (bit / 64, 0);
        }
        self.word |= value << (bit % 64);
    }

    fn words(mut self) -> [u64; 4] {
        self.words[self.at] = self.word;
        self.words
    }
}

/// Consecutive lines of a table with all lines below them.
#[derive(Debug, Default)]
struct LinePart {
    lines: Vec<NewLine>,
    /// The finer lines; those of a line come after those below them.
    finer: Vec<NewLine>,
    value_count: u64,
}

impl LinePart {
    /// Creates the lines `lines` with all their values.
    fn of<F: Fingerprint>(values: &[F], lines: Range<u128>, bits_below: u32) -> Self {
        let mut part = LinePart::default();
        let mut rest = values;
        for number in lines {
            let line = part.line(&mut rest, number, bits_below);
            part.lines.push(line);
        }
        part
    }

    /// Creates a line, and the finer lines below it, from its values, which are the first of `values`. Removes them.
    fn line<F: Fingerprint>(
        &mut self,
        values: &mut &[F],
        number: u128,
        bits_below: u32,
    ) -> NewLine {
        let bits_behind = bits_below + LINE_BITS;
        let last = shifted(F::from_u128(number), bits_behind) | !shifted(F::MAX, bits_behind);
        let rank = self.value_count;
        if let Some((line, count)) = plain_line(values, last, bits_below) {
            *values = &values[count..];
            self.value_count += count as u64;
            return NewLine { rank, ..line };
        }
        let of_line = &values[..values.partition_point(|&value| value <= last)];
        let extra_bits = extra_bits(of_line, bits_below);
        let first_number = number << extra_bits;
        let finer: Vec<NewLine> = (first_number..first_number + (1 << extra_bits))
            .map(|number| self.line(values, number, bits_below - extra_bits))
            .collect();
        let first = self.finer.len() as u64;
        self.finer.extend(finer);
        crowded_line(rank, first, extra_bits)
    }
}

/// Returns a line of the first values, up to `last`, and their number; `None` if they are too many for a line.
fn plain_line<F: Fingerprint>(values: &[F], last: F, bits_below: u32) -> Option<(NewLine, usize)> {
    let address = |value: F| shifted_down(value, bits_below).to_u128() as usize % LINE_ADDRESSES;
    let (mut there, mut marks) = (Ascending::default(), Ascending::default());
    let mut before = values.first().map_or(0, |&value| address(value));
    let mark_before_first = BITS_BEFORE_LAST as usize - 1;
    let mut count = 0;
    for &value in values.iter().take_while(|&&value| value <= last) {
        if count == capacity(bits_below) {
            return None;
        }
        let now = address(value);
        there.set(now, 1);
        if bits_below > 0 {
            // The mark of the value before. There is none before the first, whose address is `before` itself.
            marks.set(mark_before_first + count, u64::from(now != before));
        }
        (before, count) = (now, count + 1);
    }
    if bits_below > 0 && count > 0 {
        marks.set(mark_before_first + count, 1);
    }
    let line = NewLine {
        there: there.words(),
        last: marks.words(),
        ..NewLine::default()
    };
    Some((line, count))
}

fn crowded_line(rank: u64, first: u64, extra_bits: u32) -> NewLine {
    NewLine {
        is_crowded: true,
        rank,
        last: [0; 4],
        there: [first, extra_bits.into(), 0, 0],
    }
}

/// Returns the bits by which the addresses below a crowded line are longer: those that give about the fewest lines.
fn extra_bits<F: Fingerprint>(values: &[F], bits_below: u32) -> u32 {
    let most = MOST_EXTRA_BITS.min(bits_below);
    if values.len() > KNOWN_VALUES {
        return most;
    }
    let lines = |extra: u32| {
        let below = bits_below - extra;
        let line = |value: &F| shifted_down(*value, below + LINE_BITS);
        let crowded = values
            .chunk_by(|a, b| line(a) == line(b))
            .filter(|values| values.len() > capacity(below));
        (1 << extra) + crowded.map(|values| values.len() / 96 + 1).sum::<usize>()
    };
    (1..=most).min_by_key(|&extra| lines(extra)).unwrap_or(most)
}

/// Returns the number of a value's line among all whose addresses leave `bits_below` bits.
#[inline(always)]
fn line_of<F: Fingerprint>(value: F, bits_below: u32) -> u128 {
    shifted_down(value, bits_below + LINE_BITS).to_u128()
}

/// Takes the output of a table: three streams, each in order.
pub(crate) trait LineSink<E> {
    /// Takes lines of parts.
    fn lines(&mut self, bytes: &[u8]) -> Result<(), E>;

    /// Takes finer lines, which come after all lines of parts.
    fn finer(&mut self, bytes: &[u8]) -> Result<(), E>;

    /// Takes bytes of the row of low bits.
    fn row(&mut self, bytes: Vec<u8>) -> Result<(), E>;
}

/// Values that one task encodes.
const PART_LEN: usize = 1 << 16;

/// The most lines that one task encodes.
const PART_LINES: u128 = 1 << 14;

/// Lines that are being written: all lines of the parts of a table, or the finer ones of a line with too many values to
/// wait for its end.
#[derive(Debug)]
struct Level {
    /// Bits of a value below the addresses of the lines.
    bits_below: u32,
    /// The lines yet to be written.
    lines: Range<u128>,
    /// Number of values before the first of these lines.
    rank: u64,
    /// The bits by which their addresses are longer than those of the level above.
    extra_bits: u32,
    /// The finer lines so far; lines of parts have been written.
    done: Vec<NewLine>,
}

/// Encodes the ascending values of a table, however they are divided into groups.
#[derive(Debug)]
pub(crate) struct LineWriter<F> {
    levels: Vec<Level>,
    /// The values of incomplete lines.
    waiting: Vec<F>,
    /// Number of values in complete lines.
    value_count: u64,
    line_count: u64,
    low_bits: u32,
    /// The values whose low bits do not yet fill whole bytes, fewer than [`ROW_STEP`].
    unwritten: Vec<F>,
}

/// The low bits of this many values fill whole bytes.
const ROW_STEP: usize = 8;

impl<F: Fingerprint> LineWriter<F> {
    /// Creates a writer of a table with addresses of `address_bits`.
    pub(crate) fn new(address_bits: u32) -> Self {
        let line_count = 1 << (address_bits - LINE_BITS);
        let low_bits = F::WIDTH - address_bits;
        let table = Level {
            bits_below: low_bits,
            lines: 0..line_count,
            rank: 0,
            extra_bits: 0,
            done: Vec::new(),
        };
        LineWriter {
            levels: vec![table],
            waiting: Vec::new(),
            value_count: 0,
            line_count: line_count as u64,
            low_bits,
            unwritten: Vec::with_capacity(ROW_STEP),
        }
    }

    /// Returns the number of lines so far, including finer ones.
    pub(crate) fn line_count(&self) -> u64 {
        self.line_count
    }

    /// Takes the next values.
    ///
    /// # Errors
    /// Any error of the sink.
    pub(crate) fn push<E>(&mut self, values: &[F], sink: &mut impl LineSink<E>) -> Result<(), E> {
        self.write_row(values, sink)?;
        let rest = match self.levels.len() {
            1 => self.write_whole(values, sink)?,
            _ => values,
        };
        self.waiting.extend_from_slice(rest);
        self.advance(false, sink)
    }

    /// Writes all lines of parts that end in these values, from the values themselves. Returns the other values.
    fn write_whole<'v, E>(
        &mut self,
        values: &'v [F],
        sink: &mut impl LineSink<E>,
    ) -> Result<&'v [F], E> {
        let line = |&value: &F| line_of(value, self.low_bits);
        let Some(end) = values.last().map(line) else {
            return Ok(values);
        };
        let (whole, rest) = values.split_at(values.partition_point(|value| line(value) < end));
        let Some(first) = whole.first().map(line) else {
            return Ok(values);
        };
        // The values that wait are of one line, which may go on.
        let waiting = self.waiting.last().map_or(first, line);
        let (same, later) = whole.split_at(whole.partition_point(|value| line(value) <= waiting));
        let mut of_waiting = std::mem::take(&mut self.waiting);
        of_waiting.extend_from_slice(same);
        let start = self.levels[0].lines.start;
        self.write_lines(&of_waiting, start..waiting + 1, sink)?;
        of_waiting.clear();
        self.waiting = of_waiting;
        self.write_lines(later, waiting + 1..end, sink)?;
        Ok(rest)
    }

    /// Writes the remaining values.
    ///
    /// # Errors
    /// Any error of the sink.
    pub(crate) fn finish<E>(&mut self, sink: &mut impl LineSink<E>) -> Result<(), E> {
        sink.row(self.row_of(&self.unwritten))?;
        self.unwritten.clear();
        self.advance(true, sink)
    }

    /// Writes the low bits of the next values, as far as they fill whole bytes.
    fn write_row<E>(&mut self, values: &[F], sink: &mut impl LineSink<E>) -> Result<(), E> {
        let wanted = self.unwritten.len().wrapping_neg() % ROW_STEP;
        let (first, values) = values.split_at(wanted.min(values.len()));
        self.unwritten.extend_from_slice(first);
        if self.unwritten.len() == ROW_STEP {
            sink.row(self.row_of(&self.unwritten))?;
            self.unwritten.clear();
        }
        let (whole, rest) = values.split_at(values.len() - values.len() % ROW_STEP);
        let encoded = map_parts(whole, PART_LEN, |_, values| self.row_of(values));
        self.unwritten.extend_from_slice(rest);
        encoded.into_iter().try_for_each(|bytes| sink.row(bytes))
    }

    /// Returns the low bits of some values, from the start of a byte.
    fn row_of(&self, values: &[F]) -> Vec<u8> {
        let mask = !shifted(F::MAX, self.low_bits);
        let mut bits = BitWriter::new();
        bits.write_all(values.iter().map(|&value| value & mask), self.low_bits);
        bits.finish()
    }

    fn advance<E>(&mut self, at_end: bool, sink: &mut impl LineSink<E>) -> Result<(), E> {
        loop {
            let Some(level) = self.levels.last() else {
                return Ok(());
            };
            let (bits_below, lines) = (level.bits_below, level.lines.clone());
            let of_level = self
                .waiting
                .partition_point(|&v| line_of(v, bits_below) < lines.end);
            let is_done = at_end || of_level < self.waiting.len();
            let last = self
                .waiting
                .last()
                .map_or(lines.start, |&v| line_of(v, bits_below));
            let end = if is_done { lines.end } else { last };
            let whole = self
                .waiting
                .partition_point(|&v| line_of(v, bits_below) < end);
            let values: Vec<F> = self.waiting.drain(..whole).collect();
            self.write_lines(&values, lines.start..end, sink)?;
            if is_done {
                self.close_level(sink)?;
            } else if self.waiting.len() > KNOWN_VALUES.max(capacity(bits_below)) {
                self.open_level(last);
            } else {
                return Ok(());
            }
        }
    }

    /// Begins the finer lines of the line of the waiting values.
    fn open_level(&mut self, line: u128) {
        let bits_below = self.levels.last().map_or(0, |level| level.bits_below);
        let extra_bits = extra_bits(&self.waiting, bits_below);
        let first = line << extra_bits;
        self.levels.push(Level {
            bits_below: bits_below - extra_bits,
            lines: first..first + (1 << extra_bits),
            rank: self.value_count,
            extra_bits,
            done: Vec::new(),
        });
    }

    /// Ends the finer lines of a line, or the table.
    fn close_level<E>(&mut self, sink: &mut impl LineSink<E>) -> Result<(), E> {
        let (Some(level), true) = (self.levels.pop(), !self.levels.is_empty()) else {
            return Ok(());
        };
        let line = crowded_line(level.rank, self.line_count, level.extra_bits);
        self.line_count += level.done.len() as u64;
        sink.finer(&encoded(&level.done))?;
        self.put(vec![line], sink)
    }

    /// Adds lines to the innermost level.
    fn put<E>(&mut self, lines: Vec<NewLine>, sink: &mut impl LineSink<E>) -> Result<(), E> {
        let is_table = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else {
            return Ok(());
        };
        level.lines.start += lines.len() as u128;
        if is_table {
            return sink.lines(&encoded(&lines));
        }
        level.done.extend(lines);
        Ok(())
    }

    /// Writes complete lines of the innermost level and their values.
    fn write_lines<E>(
        &mut self,
        values: &[F],
        lines: Range<u128>,
        sink: &mut impl LineSink<E>,
    ) -> Result<(), E> {
        let bits_below = self.levels.last().map_or(0, |level| level.bits_below);
        let (mut parts, mut rest, mut next) = (Vec::new(), values, lines.start);
        while next < lines.end {
            let end = match rest.get(PART_LEN) {
                Some(&value) => line_of(value, bits_below).max(next + 1),
                None => lines.end,
            };
            let end = end.min(next + PART_LINES);
            let count = rest.partition_point(|&value| line_of(value, bits_below) < end);
            let (part, later) = rest.split_at(count);
            parts.push((part, next..end));
            (rest, next) = (later, end);
        }
        let encoded = map_parts(&parts, 1, |_, part| {
            let (values, lines) = &part[0];
            LinePart::of(values, lines.clone(), bits_below)
        });
        encoded
            .into_iter()
            .try_for_each(|part| self.put_part(part, sink))
    }

    fn put_part<E>(&mut self, mut part: LinePart, sink: &mut impl LineSink<E>) -> Result<(), E> {
        for line in part.lines.iter_mut().chain(&mut part.finer) {
            line.move_by(self.line_count, self.value_count);
        }
        self.line_count += part.finer.len() as u64;
        self.value_count += part.value_count;
        sink.finer(&encoded(&part.finer))?;
        self.put(part.lines, sink)
    }
}

fn encoded(lines: &[NewLine]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.len() * LINE_LEN);
    lines.iter().for_each(|line| line.encode(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bits::read_value;
    use crate::cpu::Portable;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// The output of a table.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Written {
        lines: Vec<u8>,
        finer: Vec<u8>,
        row: Vec<u8>,
    }

    impl LineSink<Infallible> for Written {
        fn lines(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
            self.lines.extend_from_slice(bytes);
            Ok(())
        }

        fn finer(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
            self.finer.extend_from_slice(bytes);
            Ok(())
        }

        fn row(&mut self, bytes: Vec<u8>) -> Result<(), Infallible> {
            self.row.extend(bytes);
            Ok(())
        }
    }

    /// Writes a table whose values come in groups of `group_len`.
    fn write<F: Fingerprint>(values: &[F], address_bits: u32, group_len: usize) -> Written {
        let (mut writer, mut written) = (LineWriter::new(address_bits), Written::default());
        for group in values.chunks(group_len) {
            let Ok(()) = writer.push(group, &mut written);
        }
        let Ok(()) = writer.finish(&mut written);
        let line_count = (written.lines.len() + written.finer.len()) / LINE_LEN;
        assert_eq!(writer.line_count(), line_count as u64);
        let low_bits = F::WIDTH - address_bits;
        assert_eq!(
            (values.len() * low_bits as usize).div_ceil(8),
            written.row.len()
        );
        assert_eq!(written.lines.len(), LINE_LEN << (address_bits - LINE_BITS));
        written
    }

    /// Reads all values of a table line by line. Returns them and the number of crowded lines.
    fn read<F: Fingerprint>(written: &Written, address_bits: u32) -> (Vec<F>, usize) {
        let all: Vec<u8> = [&written.lines[..], &written.finer].concat();
        let lines = all.as_chunks::<LINE_LEN>().0;
        let low_bits = F::WIDTH - address_bits;
        let mut waiting: Vec<(u64, F, u32)> = (0..1u64 << (address_bits - LINE_BITS))
            .map(|line| {
                (
                    line,
                    shifted(F::from_u128(line.into()), low_bits + LINE_BITS),
                    low_bits,
                )
            })
            .rev()
            .collect();
        let (mut values, mut crowded) = (Vec::new(), 0);
        while let Some((number, base, bits_below)) = waiting.pop() {
            let line = Line::new(&lines[number as usize]);
            assert_eq!(line.check(), Ok(()));
            assert_eq!(line.rank(), values.len() as u64);
            if line.is_crowded() {
                crowded += 1;
                let finer = line.finer(bits_below, lines.len() as u64).unwrap();
                let below = bits_below - finer.extra_bits;
                waiting.extend((0..1u64 << finer.extra_bits).rev().map(|child| {
                    let child_base = shifted(F::from_u128(child.into()), below + LINE_BITS);
                    (finer.first + child, base | child_base, below)
                }));
                continue;
            }
            let before = values.len();
            let ranks = line.ranks(bits_below, u64::MAX).unwrap();
            assert_eq!(ranks.start, before as u64);
            let mask = !shifted(F::MAX, low_bits);
            line.for_each_address(bits_below, |address| {
                let address = shifted(F::from_u128(address.into()), bits_below);
                let low: F = read_value(&written.row, values.len() * low_bits as usize, low_bits);
                assert_eq!((base | address) & mask, low & shifted(F::MAX, bits_below));
                values.push((base | address) & !mask | low);
            });
            assert_eq!(ranks.end, values.len() as u64);
            check_runs(&line, &values[before..], bits_below);
        }
        (values, crowded)
    }

    /// Checks that each address of a line finds its values.
    fn check_runs<F: Fingerprint>(line: &Line<'_>, values: &[F], bits_below: u32) {
        let address = |value: F| shifted_down(value, bits_below).to_u128() as u8;
        for wanted in 0..=u8::MAX {
            let has = |&value: &F| address(value) == wanted;
            let begin = values.partition_point(|&value| address(value) < wanted);
            let count = values.iter().filter(|value| has(value)).count();
            assert_eq!(line.has(wanted), count > 0);
            if count > 0 {
                let run = line.run(Portable, wanted, bits_below);
                assert_eq!(run, (begin, begin + count));
            }
        }
    }

    fn round_trip<F: Fingerprint>(values: &[F], address_bits: u32) -> usize {
        let written = write(values, address_bits, usize::MAX);
        let (found, crowded) = read::<F>(&written, address_bits);
        assert_eq!(found, values);
        assert_eq!(write(values, address_bits, values.len() / 3 + 1), written);
        let finer_len = finer_lines(values, address_bits) as usize * LINE_LEN;
        assert_eq!(finer_len, written.finer.len());
        crowded
    }

    #[test]
    fn a_table_without_values_is_empty_lines() {
        let written = write::<u64>(&[], 9, 1);
        assert_eq!(written.lines, [0; 2 * LINE_LEN]);
        assert!(written.finer.is_empty() && written.row.is_empty());
    }

    #[test]
    fn addresses_are_as_many_as_the_values_call_for() {
        assert_eq!(address_bits(64, 0), 8);
        assert_eq!(address_bits(64, 165), 8);
        assert_eq!(address_bits(64, 166), 9);
        assert_eq!(address_bits(64, 100_000_000), 28);
        assert_eq!(address_bits(32, 1 << 32), 32);
        assert_eq!(address_bits(128, 1 << 62), 48);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn all_values_of_a_line_and_of_a_narrow_range() {
        assert_eq!(round_trip::<u32>(&[0, u32::MAX], 8), 0);
        let most: Vec<u32> = (0..CAPACITY as u32).collect();
        assert_eq!(round_trip(&most, 8), 0);
        let more: Vec<u32> = (0..=CAPACITY as u32).collect();
        assert!(round_trip(&more, 8) > 0);
        // At the end, each address has one value, and no bits are left below.
        let dense: Vec<u32> = (7 << 20..(7 << 20) + 1000).collect();
        assert!(round_trip(&dense, 24) > 0);
        assert!(round_trip(&dense, 9) > 0);
        let wide: Vec<u128> = (0..1000u128).map(|i| i << 70 | i).collect();
        assert!(round_trip(&wide, 10) > 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_line_of_very_many_values_is_the_same_however_they_come() {
        let step = 0x9e37_79b9_7f4a_7c15u64;
        let many = KNOWN_VALUES as u64 + 5000;
        let mut values: Vec<u64> = (0..many)
            .map(|i| 0xabcd << 48 | i.wrapping_mul(step) >> 17 | u64::from(i % 5 == 0) << 47)
            .chain((0..1000).map(|i: u64| i.wrapping_mul(step)))
            .collect();
        values.sort_unstable();
        values.dedup();
        let written = write(&values, 16, usize::MAX);
        assert_eq!(read::<u64>(&written, 16).0, values);
        for group_len in [10_000, 1 << 18, 270_000] {
            assert!(write(&values, 16, group_len) == written, "{group_len}");
        }
    }

    #[test]
    fn marks_that_do_not_fit_the_addresses_are_noticed() {
        let written = write::<u64>(&[1 << 40, 5 << 40], 24, 1);
        for bit in 0..LINE_LEN * 8 {
            let mut bytes = *written.lines.first_chunk::<LINE_LEN>().unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let is_place = bit < BITS_BEFORE_LAST as usize;
            assert_eq!(Line::new(&bytes).check().is_ok(), is_place, "{bit}");
        }
    }

    /// The time grows with the square of this.
    const MOST: usize = if cfg!(miri) { 20 } else { 1500 };

    proptest! {
        #[test]
        fn reads_back_what_was_written(
            values in prop::collection::btree_set(
                prop_oneof![any::<u64>(), 0u64..1 << 13, any::<u64>().prop_map(|v| v & 0xfff0_0000_0000_000f)],
                0..MOST,
            ),
            address_bits in 8u32..14,
        ) {
            let values: Vec<u64> = values.into_iter().collect();
            round_trip(&values, address_bits);
        }

        #[test]
        fn reads_back_narrow_values(
            values in prop::collection::btree_set(0u32..5000, 0..MOST), address_bits in 8u32..=32,
        ) {
            let values: Vec<u32> = values.into_iter().map(|v| v << 19 | v & 7).collect();
            let values: std::collections::BTreeSet<u32> = values.into_iter().collect();
            let values: Vec<u32> = values.into_iter().collect();
            if address_bits <= 20 {
                round_trip(&values, address_bits);
            }
        }
    }
}
