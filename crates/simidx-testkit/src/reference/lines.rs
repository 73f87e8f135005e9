//! Tables in lines (section 8.2), read as plainly as it goes, every rule asserted.

use super::{Bits, LINE_PAGES, LOW_BITS, Layout, number, number_of};

/// Bytes of a line.
pub const LINE_LEN: usize = 64;

/// The bit of the head of a line that says that it is crowded, above those of the rank.
pub const CROWDED: u128 = 1 << 39;

/// The fields of a line, each its place and its length.
pub mod field {
    pub type Field = (usize, usize);

    pub const HEAD: Field = (0, 5);
    pub const MARKS: Field = (5, 27);
    pub const ADDRESSES: Field = (32, 32);
    pub const FIRST: Field = (32, 8);
    pub const EXTRA_BITS: Field = (40, 8);
    pub const ZERO: Field = (48, 16);
}

/// The value of a field of at most 16 bytes.
pub fn field_of(line: &[u8], (at, len): field::Field) -> u128 {
    number(line, at, len)
}

/// The rank of a line.
pub fn rank_of(line: &[u8]) -> u128 {
    field_of(line, field::HEAD) % CROWDED
}

pub fn is_crowded(line: &[u8]) -> bool {
    field_of(line, field::HEAD) >= CROWDED
}

/// The numbers of the bits that are set in a field.
pub fn bits_of_field(line: &[u8], (at, len): field::Field) -> Vec<usize> {
    let is_set = |bit: &usize| line[at + bit / 8] >> (bit % 8) & 1 == 1;
    (0..8 * len).filter(is_set).collect()
}

/// The values of a table in lines.
pub fn values(layout: &Layout, file: &[u8], table: usize) -> Vec<u128> {
    let address_bits = u32::from(layout.tables[table].address_bits);
    let low_bits = layout.width - address_bits;
    let mut reading = Reading {
        lines: layout.payload_of(file, LINE_PAGES, table),
        low: Bits::from_slice(layout.payload_of(file, LOW_BITS, table)),
        low_bits,
        values: Vec::new(),
        next: 1 << (address_bits - 8),
    };
    assert_eq!(
        reading.lines.len(),
        LINE_LEN * layout.tables[table].block_count
    );
    for line in 0..reading.next {
        reading.read(line, line as u128, low_bits);
    }
    assert_eq!(LINE_LEN * reading.next, reading.lines.len(), "all lines");
    let used = reading.values.len() * low_bits as usize;
    assert_eq!(used.next_multiple_of(8), reading.low.len(), "all low bits");
    assert!(reading.low[used..].not_any());
    reading.values
}

/// What was read of a table.
struct Reading<'f> {
    lines: &'f [u8],
    low: Bits,
    low_bits: u32,
    values: Vec<u128>,
    /// The number of the next finer lines.
    next: usize,
}

impl Reading<'_> {
    /// Reads a line of values with these leading bits, whose addresses leave so many bits below.
    fn read(&mut self, line: usize, leading: u128, below: u32) {
        let line = &self.lines[LINE_LEN * line..][..LINE_LEN];
        assert_eq!(rank_of(line), self.values.len() as u128);
        let marks = bits_of_field(line, field::MARKS);
        if is_crowded(line) {
            assert!(marks.is_empty() && field_of(line, field::ZERO) == 0);
            let first = field_of(line, field::FIRST) as usize;
            let extra = field_of(line, field::EXTRA_BITS) as u32;
            assert!((1..=below).contains(&extra));
            for finer in 0..1 << extra {
                let leading = leading << extra | finer as u128;
                self.read(first + finer, leading, below - extra);
            }
            assert_eq!(first, self.next);
            self.next += 1 << extra;
            return;
        }
        let addresses = bits_of_field(line, field::ADDRESSES);
        let ends: Vec<usize> = match below {
            0 => (1..=addresses.len()).collect(),
            _ => marks.iter().map(|mark| mark + 1).collect(),
        };
        assert!(below > 0 || marks.is_empty());
        assert_eq!(ends.len(), addresses.len());
        let mut first = 0;
        for (address, end) in addresses.into_iter().zip(ends) {
            for _ in first..end {
                let at = self.values.len() * self.low_bits as usize;
                let low = number_of(&self.low[at..at + self.low_bits as usize]);
                let above = leading << 8 | address as u128;
                let value = (above << below) + low % (1 << below);
                assert_eq!(value % (1 << self.low_bits), low);
                assert!(self.values.last().is_none_or(|last| *last < value));
                self.values.push(value);
            }
            first = end;
        }
    }
}
