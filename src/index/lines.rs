//! A table of an open index in lines; its pages are checked on first use.

use std::ops::Range;

use super::paged::Paged;
use super::table::ValuePlace;
use crate::codec::bits::read_value;
use crate::codec::lines::{
    LINE_ADDRESSES, LINE_BITS, LINE_LEN, Line, LineFault, shifted, shifted_down,
};
use crate::cpu::{Cpu, Work, dispatch};
use crate::design::{Permutation, Permuted};
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::format::PAGE_LEN;

/// Number of lines in a page.
pub(super) const PAGE_LINES: usize = PAGE_LEN / LINE_LEN;

/// Pages of lines to request ahead of reading, with the pages that they refer to.
const PAGES_READ_AHEAD: usize = 64;

/// A table in lines. Its parts are the lines that the leading bits of the values select.
#[derive(Debug)]
pub(super) struct LineTable<F> {
    pub(super) number: usize,
    pub(super) permutation: Permutation<F>,
    pub(super) address_bits: u32,
    /// Number of values.
    pub(super) value_count: u64,
    /// Number of lines, including finer ones.
    pub(super) line_count: u64,
    pub(super) lines: Paged,
    /// The low bits of the values, in order.
    pub(super) row: Paged,
}

/// A line, with the bits of its values that are known from the path to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinePlace<F> {
    pub(super) number: u64,
    /// The least value that the line can hold.
    pub(super) base: F,
    /// Number of bits of a value below its address in the line.
    pub(super) bits_below: u32,
}

impl<F: Fingerprint> LinePlace<F> {
    /// Returns one of the finer lines that start at number `first`, whose addresses leave `bits_below` bits of a value.
    #[inline(always)]
    pub(super) fn finer(&self, first: u64, bits_below: u32, child: u64) -> Self {
        LinePlace {
            number: first + child,
            base: self.base | shifted(F::from_u128(child.into()), bits_below + LINE_BITS),
            bits_below,
        }
    }

    /// Returns the greatest value that the line can hold.
    fn last(&self) -> F {
        self.base | !shifted(F::MAX, self.bits_below + LINE_BITS)
    }

    /// Returns the least value that an address of the line can hold.
    #[inline(always)]
    pub(super) fn at(&self, address: u8) -> F {
        self.base | shifted(F::from_u128(address.into()), self.bits_below)
    }
}

/// The callback for a line that is not crowded.
type TakeLine<'t, F> = &'t mut dyn FnMut(Line<'_>, &LinePlace<F>) -> Result<(), FormatError>;

impl<F: Fingerprint> LineTable<F> {
    /// Returns the number of parts: lines that the leading bits select.
    pub(super) fn part_count(&self) -> usize {
        1 << (self.address_bits - LINE_BITS)
    }

    /// Returns the bits of a value in the row: those below its address in a line of a part.
    #[inline(always)]
    pub(super) fn low_bits(&self) -> u32 {
        F::WIDTH - self.address_bits
    }

    /// Returns the bytes of the row that hold the low bits of the values with these ranks.
    #[inline(always)]
    pub(super) fn low_bytes(&self, ranks: Range<u64>) -> Range<usize> {
        let low_bits = self.low_bits() as usize;
        ranks.start as usize * low_bits / 8..(ranks.end as usize * low_bits).div_ceil(8)
    }

    /// Returns the part of a value.
    #[inline(always)]
    pub(super) fn part_of(&self, value: F) -> usize {
        shifted_down(value, self.low_bits() + LINE_BITS).to_u128() as usize
    }

    /// Returns the greatest value that a part can hold.
    pub(super) fn last_of_part(&self, part: usize) -> F {
        self.place(part as u64).last()
    }

    /// Returns the line of a part.
    #[inline(always)]
    pub(super) fn place(&self, part: u64) -> LinePlace<F> {
        let bits_below = self.low_bits();
        LinePlace {
            number: part,
            base: shifted(F::from_u128(part.into()), bits_below + LINE_BITS),
            bits_below,
        }
    }

    /// Returns all lines, whether checked or not.
    #[inline(always)]
    pub(super) fn unchecked_lines<'a>(&self, file: &'a [u8]) -> &'a [[u8; LINE_LEN]] {
        self.lines.payload(file).as_chunks::<LINE_LEN>().0
    }

    /// Returns a line whose page has been checked, now if not before.
    ///
    /// # Errors
    /// V28 or V44.
    pub(super) fn line<'a>(&self, file: &'a [u8], number: u64) -> Result<Line<'a>, FormatError> {
        let at = number as usize * LINE_LEN;
        let bytes = self.lines.bytes(file, at..at + LINE_LEN)?;
        let bytes = bytes.first_chunk::<LINE_LEN>();
        let missing = || self.fault(LineFault::Finer, number);
        bytes.map(Line::new).ok_or_else(missing)
    }

    /// Returns the bytes of the row that hold the low bits of the values with these ranks, after checking their pages,
    /// and the bit at which the first value begins.
    ///
    /// # Errors
    /// V28.
    fn low<'a>(&self, file: &'a [u8], ranks: Range<u64>) -> Result<(&'a [u8], usize), FormatError> {
        if ranks.is_empty() {
            // They use no page, so none is checked.
            return Ok((&[], 0));
        }
        let first_bit = ranks.start as usize * self.low_bits() as usize % 8;
        let bytes = self.row.bytes(file, self.low_bytes(ranks))?;
        Ok((bytes, first_bit))
    }

    /// Returns the ranks of the values of a line that is not crowded.
    ///
    /// # Errors
    /// V44 or V45.
    #[inline(never)]
    pub(super) fn ranks(
        &self,
        line: Line<'_>,
        place: &LinePlace<F>,
    ) -> Result<Range<u64>, FormatError> {
        let ranks = line.ranks(place.bits_below, self.value_count);
        ranks.map_err(|fault| self.fault(fault, place.number))
    }

    /// Returns the finer line below a crowded one that holds the values from `value` on.
    ///
    /// # Errors
    /// V46.
    pub(super) fn finer(
        &self,
        line: Line<'_>,
        place: &LinePlace<F>,
        value: F,
    ) -> Result<LinePlace<F>, FormatError> {
        let finer = line.finer(place.bits_below, self.line_count);
        let finer = finer.map_err(|fault| self.fault(fault, place.number))?;
        let bits_below = place.bits_below - finer.extra_bits;
        let child = shifted_down(value, bits_below + LINE_BITS).to_u128() as u64;
        let child = child & ((1 << finer.extra_bits) - 1);
        Ok(place.finer(finer.first, bits_below, child))
    }

    /// Appends all values of some parts.
    ///
    /// # Errors
    /// The first broken rule; values of earlier lines may have been appended.
    pub(super) fn read_parts(
        &self,
        file: &[u8],
        parts: Range<usize>,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        let (mut visits, mut waiting) = (self.line_count, Vec::new());
        parts
            .map(|part| self.place(part as u64))
            .try_for_each(|place| {
                self.visit(
                    file,
                    place,
                    (&mut visits, &mut waiting),
                    &mut |line, place| self.read_line(file, line, place, out),
                )
            })
    }

    /// Passes a line, or all lines below a crowded one, to `take`. `visits` is the number of lines that may still be
    /// visited: it bounds the work for a table that refers to a line twice. `waiting` holds finer lines that are still
    /// to be visited.
    pub(super) fn visit(
        &self,
        file: &[u8],
        place: LinePlace<F>,
        (visits, waiting): (&mut u64, &mut Vec<LinePlace<F>>),
        take: TakeLine<'_, F>,
    ) -> Result<(), FormatError> {
        waiting.clear();
        let mut next = Some(place);
        while let Some(place) = next {
            let left = visits.checked_sub(1);
            *visits = left.ok_or_else(|| self.fault(LineFault::Finer, place.number))?;
            let line = self.line(file, place.number)?;
            if line.is_crowded() {
                let first = self.finer(line, &place, F::ZERO)?;
                let count = 1u64 << (place.bits_below - first.bits_below);
                let finer = |child| place.finer(first.number, first.bits_below, child);
                waiting.extend((0..count).rev().map(finer));
            } else {
                take(line, &place)?;
            }
            next = waiting.pop();
        }
        Ok(())
    }

    /// Appends the values of a line, in order.
    ///
    /// # Errors
    /// V24, V28, V44 or V45.
    pub(super) fn read_line(
        &self,
        file: &[u8],
        line: Line<'_>,
        place: &LinePlace<F>,
        out: &mut Vec<Permuted<F>>,
    ) -> Result<(), FormatError> {
        let before = out.len();
        let (row, bit) = self.low(file, self.ranks(line, place)?)?;
        dispatch(Decode {
            line,
            place,
            row: (row, bit, self.low_bits()),
            out,
        });
        let values = &out[before..];
        if !values.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.damaged(24, "the values of the line do not ascend", place.number));
        }
        if place.bits_below < self.low_bits() {
            self.check_addresses(line, place, values)?;
        }
        Ok(())
    }

    /// Checks that the values of a finer line agree with their addresses in the bits that the row holds too.
    ///
    /// # Errors
    /// V45.
    fn check_addresses(
        &self,
        line: Line<'_>,
        place: &LinePlace<F>,
        values: &[Permuted<F>],
    ) -> Result<(), FormatError> {
        let (mut values, mut agree) = (values.iter(), true);
        line.for_each_address(place.bits_below, |address| {
            let value = values.next().map(|value| value.0);
            let is_here = |value| {
                shifted_down(value, place.bits_below)
                    == shifted_down(place.at(address), place.bits_below)
            };
            agree &= value.is_some_and(is_here);
        });
        match agree {
            true => Ok(()),
            false => Err(self.damaged(45, "low bits are not those of the address", place.number)),
        }
    }

    /// Finds a value: its part, and its number among the values of the part.
    ///
    /// # Errors
    /// Any broken rule on the way.
    pub(super) fn locate(&self, file: &[u8], value: F) -> Result<Option<ValuePlace>, FormatError> {
        let (ranks, before) = self.ranks_at_address(file, value)?;
        let rank = self.rank_among(file, ranks, value)?;
        Ok(rank.map(|rank| ValuePlace {
            part: self.part_of(value),
            index: (rank - before) as usize,
        }))
    }

    /// Returns the ranks of the values that share the address of a value, and the rank of the first value of its part.
    ///
    /// # Errors
    /// Any broken rule on the way.
    fn ranks_at_address(&self, file: &[u8], value: F) -> Result<(Range<u64>, u64), FormatError> {
        let mut place = self.place(self.part_of(value) as u64);
        let mut line = self.line(file, place.number)?;
        let first = line.rank();
        while line.is_crowded() {
            place = self.finer(line, &place, value)?;
            line = self.line(file, place.number)?;
        }
        let address = shifted_down(value, place.bits_below).to_u128() as u8;
        if !line.has(address) {
            return Ok((first..first, first));
        }
        let ranks = self.ranks(line, &place)?;
        let (begin, end) = dispatch(RunOf {
            line,
            address,
            bits_below: place.bits_below,
        });
        let run = ranks.start + begin as u64..ranks.start + end as u64;
        if begin >= end || run.end > ranks.end {
            return Err(self.fault(LineFault::Marks, place.number));
        }
        if run.start < first {
            return Err(self.damaged(47, "the ranks descend", place.number));
        }
        Ok((run, first))
    }

    /// Returns the rank of a value, if it is among the values with these ranks.
    ///
    /// # Errors
    /// V28.
    fn rank_among(
        &self,
        file: &[u8],
        ranks: Range<u64>,
        value: F,
    ) -> Result<Option<u64>, FormatError> {
        let (row, mut bit) = self.low(file, ranks.clone())?;
        let low_bits = self.low_bits();
        let wanted = value & !shifted(F::MAX, low_bits);
        for rank in ranks {
            let low: F = read_value(row, bit, low_bits);
            if low == wanted {
                return Ok(Some(rank));
            }
            bit += low_bits as usize;
        }
        Ok(None)
    }

    /// Returns the number of values before a part.
    ///
    /// # Errors
    /// V28 or V44.
    pub(super) fn rank_of_part(&self, file: &[u8], part: usize) -> Result<u64, FormatError> {
        Ok(self.line(file, part as u64)?.rank())
    }

    /// Returns the last part whose first rank is at most `rank`.
    ///
    /// # Errors
    /// V28 or V44.
    pub(super) fn part_of_rank(&self, file: &[u8], rank: u64) -> Result<usize, FormatError> {
        let (mut low, mut high) = (0, self.part_count());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.rank_of_part(file, middle)? <= rank {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Checks all lines. Returns the state of the check at the end.
    ///
    /// # Errors
    /// The first broken rule of V24, V44, V45 and V46.
    pub(super) fn check_layout<'a>(&'a self, file: &'a [u8]) -> Result<Layout<'a, F>, FormatError> {
        let mut layout = Layout {
            table: self,
            file,
            visits: self.line_count,
            rank: 0,
            next_finer: self.part_count() as u64,
            values: Vec::new(),
            order: None,
        };
        for part in 0..self.part_count() {
            layout.check(self.place(part as u64))?;
        }
        let behind = layout.next_finer;
        layout.expect(behind == self.line_count, "no line names this one", behind);
        Ok(layout)
    }

    /// Checks that the bits after the row are zero.
    ///
    /// # Errors
    /// V34.
    pub(super) fn check_spare_bits(&self, file: &[u8]) -> Result<(), FormatError> {
        let checked = self
            .row
            .check_spare_bits(file, self.value_count, self.low_bits());
        checked.map_err(|error| error.in_table(self.number))
    }

    /// Returns the error of a part whose rank does not lead to a value.
    #[cold]
    pub(super) fn wrong_rank(&self, part: usize) -> FormatError {
        self.damaged(47, "the rank is not that of the line", part as u64)
    }

    /// Requests the next pages during a sequential read, once for each page of lines.
    pub(super) fn read_ahead(&self, file: &[u8], part: usize) {
        let page = part / PAGE_LINES;
        if !part.is_multiple_of(PAGE_LINES) || !page.is_multiple_of(PAGES_READ_AHEAD) {
            return;
        }
        self.lines.read_ahead(file, page, 2 * PAGES_READ_AHEAD);
        if let Ok(line) = self.line(file, part as u64) {
            let row_page = line.rank() as usize * self.low_bits() as usize / 8 / PAGE_LEN;
            let of_page = self.row.page_count() / self.lines.page_count().max(1) + 1;
            self.row
                .read_ahead(file, row_page, 2 * PAGES_READ_AHEAD * of_page);
        }
    }

    /// Checks the next pages again during a sequential read: the file may have been overwritten while it was mapped,
    /// and low bits alone do not show that. Damaged pages are checked again when they are read.
    pub(super) fn check_again(&self, file: &[u8], part: usize) {
        if !part.is_multiple_of(PAGE_LINES) {
            return;
        }
        let row_page = |line: Line<'_>| {
            (line.rank().min(self.value_count) * u64::from(self.low_bits()) / 8) as usize / PAGE_LEN
        };
        if self
            .lines
            .check_page_again(file, part / PAGE_LINES)
            .is_err()
        {
            return;
        }
        let lines = self.unchecked_lines(file);
        let first = lines.get(part).map(Line::new);
        let next = lines[..self.part_count().min(lines.len())].get(part + PAGE_LINES);
        let end = next.map_or(self.row.page_count(), |next| row_page(Line::new(next)) + 1);
        for page in first.map_or(0, row_page)..end.min(self.row.page_count()) {
            // The following read reports the error.
            let _ = self.row.check_page_again(file, page);
        }
    }

    /// Returns the error of a line.
    #[cold]
    pub(super) fn fault(&self, fault: LineFault, number: u64) -> FormatError {
        let (rule, message) = match fault {
            LineFault::Marks => (44, "the line does not mark the last value of each address"),
            LineFault::Values => (45, "the line has more values than are left of the table"),
            LineFault::Finer => (46, "the finer lines are not in the table, or named twice"),
        };
        self.damaged(rule, message, number)
    }

    fn damaged(&self, rule: u8, message: &str, number: u64) -> FormatError {
        let at = self.lines.start() as u64 + number * LINE_LEN as u64;
        FormatError::damaged(rule, format!("line {number}: {message}"))
            .in_table(self.number)
            .at(at)
    }
}

/// A full check of the lines of a table, in the order in which they are written.
pub(super) struct Layout<'a, F> {
    table: &'a LineTable<F>,
    file: &'a [u8],
    /// The number of lines that may still be visited.
    visits: u64,
    /// Number of values so far.
    pub(super) rank: u64,
    /// The number of the next finer line.
    next_finer: u64,
    values: Vec<Permuted<F>>,
    /// The first part that is out of order (V47).
    pub(super) order: Option<FormatError>,
}

impl<F: Fingerprint> Layout<'_, F> {
    /// Records V47 if `holds` is false and V47 was not recorded before.
    fn expect(&mut self, holds: bool, message: &str, line: u64) {
        if !holds && self.order.is_none() {
            self.order = Some(self.table.damaged(47, message, line));
        }
    }

    /// Checks a line and all lines below it. Each step down uses at least one of the low bits, which bounds the depth.
    fn check(&mut self, place: LinePlace<F>) -> Result<(), FormatError> {
        let table = self.table;
        let left = self.visits.checked_sub(1);
        self.visits = left.ok_or_else(|| table.fault(LineFault::Finer, place.number))?;
        let line = table.line(self.file, place.number)?;
        let is_ranked = line.rank() == self.rank;
        self.expect(is_ranked, "the rank is not that of the line", place.number);
        if !line.is_crowded() {
            return self.check_values(line, &place);
        }
        let is_zero = line.is_zero_behind_finer();
        self.expect(is_zero, "a crowded line has a wrong bit", place.number);
        let first = table.finer(line, &place, F::ZERO)?;
        let count = 1u64 << (place.bits_below - first.bits_below);
        for child in 0..count {
            self.check(place.finer(first.number, first.bits_below, child))?;
        }
        let is_next = first.number == self.next_finer;
        self.expect(
            is_next,
            "the finer lines are in another order",
            place.number,
        );
        self.next_finer += count;
        Ok(())
    }

    fn check_values(&mut self, line: Line<'_>, place: &LinePlace<F>) -> Result<(), FormatError> {
        self.values.clear();
        let table = self.table;
        table.read_line(self.file, line, place, &mut self.values)?;
        self.rank += self.values.len() as u64;
        Ok(())
    }
}

/// Appends the values of a line, in order.
struct Decode<'a, F> {
    line: Line<'a>,
    place: &'a LinePlace<F>,
    /// The row, the bit at which the low bits of the first value begin, and how many a value has.
    row: (&'a [u8], usize, u32),
    out: &'a mut Vec<Permuted<F>>,
}

impl<F: Fingerprint> Work for Decode<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        let (row, mut bit, low_bits) = self.row;
        let (place, above) = (self.place, shifted(F::MAX, low_bits));
        self.out.reserve(LINE_ADDRESSES);
        self.line.for_each_address(place.bits_below, |address| {
            let low: F = read_value(row, bit, low_bits);
            bit += low_bits as usize;
            self.out.push(Permuted(place.at(address) & above | low));
        });
    }
}

/// The numbers in the line of the values of an address.
struct RunOf<'a> {
    line: Line<'a>,
    address: u8,
    bits_below: u32,
}

impl Work for RunOf<'_> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> (usize, usize) {
        self.line.run(cpu, self.address, self.bits_below)
    }
}
