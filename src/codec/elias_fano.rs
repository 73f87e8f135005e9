//! Elias-Fano sequences: ascending numbers with random access (spec, section 3.6; Elias, "Efficient Storage and
//! Retrieval by Content and Address of Static Files", J. ACM 1974).

use super::Visit;
use super::bits::{BitWriter, WINDOW_BITS, read_value, window};
use crate::cpu::Cpu;
use crate::fingerprint::Fingerprint;

/// The top bit of a window.
const TOP: u64 = 1 << 63;

/// The bits of a window that are always from the stream.
const FROM_STREAM: u64 = !(u64::MAX >> WINDOW_BITS);

/// The layout in a bit stream of a sequence of `count` numbers with a known maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The bit of the stream at which the sequence starts.
    start: usize,
    pub(crate) count: usize,
    /// The low bits of each number, l, which are stored unchanged.
    pub(crate) low_bits: u32,
    /// The number of values of the high part, H; each has a zero bit.
    pub(crate) bucket_count: usize,
}

impl Layout {
    /// Returns the layout of `count` ascending numbers from 0 to `max`, from a bit of the stream on. `None` if there
    /// are no numbers, or more than the range from 0 to `max` has.
    #[inline(always)]
    pub(crate) fn new<F: Fingerprint>(start: usize, count: usize, max: F) -> Option<Self> {
        let many = F::from_u128(count as u128);
        let fits = count > 0 && many.to_u128() == count as u128;
        if !fits || many.wrapping_sub(F::from_u128(1)) > max {
            return None;
        }
        // The largest l with count * 2^l <= max, from the lengths of the two, corrected by one.
        let low_bits = match many.leading_zeros().checked_sub(max.leading_zeros()) {
            Some(l) if many << l <= max => l,
            Some(l) => l.saturating_sub(1),
            None => 0,
        };
        // At most twice `count`, because 2^(l+1) * count > max.
        let bucket_count = (max >> low_bits).to_u128() as usize + 1;
        Some(Layout {
            start,
            count,
            low_bits,
            bucket_count,
        })
    }

    /// Returns the bit after the high bits.
    #[inline(always)]
    fn high_end(&self) -> usize {
        self.start + self.count + self.bucket_count
    }

    /// Returns the bit after the whole sequence; `None` if it exceeds the address space.
    #[inline(always)]
    pub(crate) fn end_bit(&self) -> Option<usize> {
        let low = self.count.checked_mul(self.low_bits as usize)?;
        low.checked_add(self.high_end())
    }

    /// Returns the bit at which the low bits of a number start.
    #[inline(always)]
    pub(crate) fn low_bit(&self, index: usize) -> usize {
        self.high_end() + index * self.low_bits as usize
    }

    /// Returns the bucket of a number: its bits above the low ones.
    #[inline(always)]
    pub(crate) fn bucket<F: Fingerprint>(&self, number: F) -> usize {
        (number >> self.low_bits).to_u128() as usize
    }

    /// Returns the low bits that start at bit `at`.
    #[inline(always)]
    fn low<F: Fingerprint>(&self, stream: &[u8], at: usize) -> F {
        if self.low_bits <= WINDOW_BITS && F::WIDTH <= 64 {
            // Two shifts, because zero low bits would be shifted by the whole width.
            return F::from_u128(u128::from(
                (window(stream, at) >> 1) >> (63 - self.low_bits),
            ));
        }
        read_value(stream, at, self.low_bits)
    }

    /// Returns the cursor before the first number.
    #[inline(always)]
    pub(crate) fn first(&self) -> Cursor {
        Cursor {
            bit: self.start,
            index: 0,
        }
    }

    /// Returns the cursor at the first number whose high part is at least `bucket`: after zero number `bucket` of the
    /// high bits, or at their end if there are fewer zeros.
    #[inline(always)]
    pub(crate) fn seek<C: Cpu>(&self, cpu: C, stream: &[u8], bucket: usize) -> Cursor {
        let (mut bit, mut left) = (self.start, bucket);
        while left > 0 {
            // The zeros that the window has from the stream, as ones.
            let word = !window(stream, bit) & FROM_STREAM;
            let zeros = word.count_ones() as usize;
            if left <= zeros {
                bit += cpu.select(word, (zeros - left) as u32) as usize + 1;
                break;
            }
            left -= zeros;
            bit += WINDOW_BITS as usize;
            if bit >= self.high_end() {
                bit = self.high_end();
                break;
            }
        }
        Cursor {
            bit,
            index: (bit - self.start).saturating_sub(bucket),
        }
    }

    /// Returns the bucket at whose start the cursor is: the number of zeros before it.
    #[inline(always)]
    pub(crate) fn bucket_at(&self, cursor: Cursor) -> usize {
        (cursor.bit - self.start).saturating_sub(cursor.index)
    }

    /// Passes the index and the value of each number from a cursor on to the visitor, as long as its high part is below
    /// `end_bucket`.
    #[inline(always)]
    pub(crate) fn for_each_from<F: Fingerprint>(
        &self,
        stream: &[u8],
        cursor: Cursor,
        end_bucket: usize,
        visitor: &mut impl Visit<F>,
    ) {
        let Cursor { mut bit, mut index } = cursor;
        let mut low_bit = self.low_bit(index);
        let (high_end, end_bucket) = (self.high_end(), end_bucket.min(self.bucket_count));
        while bit < high_end {
            let mut word = window(stream, bit) & FROM_STREAM;
            while word != 0 {
                let zeros = word.leading_zeros();
                // The bits before a one that are not ones are zeros.
                let bucket = (bit + zeros as usize - self.start).wrapping_sub(index);
                if bucket >= end_bucket {
                    return;
                }
                let high = F::from_u128(bucket as u128) << self.low_bits;
                visitor.visit(index, high | self.low(stream, low_bit));
                low_bit += self.low_bits as usize;
                index += 1;
                word &= !(TOP >> zeros);
            }
            bit += WINDOW_BITS as usize;
        }
    }

    /// Passes the index and the value of each number to the visitor.
    #[inline(always)]
    pub(crate) fn for_each<F: Fingerprint>(&self, stream: &[u8], visitor: &mut impl Visit<F>) {
        self.for_each_from(stream, self.first(), usize::MAX, visitor);
    }

    /// Returns whether the number of set high bits equals the number of numbers.
    pub(crate) fn counts_its_numbers(&self, stream: &[u8]) -> bool {
        let len = self.count + self.bucket_count;
        let word = |i: usize| window(stream, self.start + i * 32) >> 32;
        let whole: usize = (0..len / 32).map(|i| word(i).count_ones() as usize).sum();
        let rest = word(len / 32).checked_shr(32 - (len % 32) as u32);
        whole + rest.unwrap_or(0).count_ones() as usize == self.count
    }

    /// Returns whether the numbers in the bucket after the last one ascend. Only damaged streams have such numbers:
    /// high bits after the last zero.
    pub(crate) fn last_numbers_ascend<F: Fingerprint>(&self, stream: &[u8]) -> bool {
        let bits = (self.start..self.high_end()).rev();
        let in_bucket = bits.take_while(|&bit| window(stream, bit) & TOP != 0);
        let numbers = (0..self.count).rev().zip(in_bucket);
        let low = |(index, _)| self.low::<F>(stream, self.low_bit(index));
        numbers
            .map(low)
            .is_sorted_by(|later, earlier| later > earlier)
    }

    /// Writes the numbers, which must fit the layout.
    #[inline(always)]
    pub(crate) fn write<F: Fingerprint>(
        &self,
        writer: &mut BitWriter,
        numbers: impl ExactSizeIterator<Item = F> + Clone,
    ) {
        let buckets = numbers.clone().map(|number| self.bucket(number));
        let ones = buckets.enumerate().map(|(i, bucket)| bucket + i);
        writer.write_ones(self.count + self.bucket_count, ones);
        let low_mask = !(F::MAX << self.low_bits);
        writer.write_all(numbers.map(|number| number & low_mask), self.low_bits);
    }
}

/// A position in the high bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The bit of the stream.
    pub(crate) bit: usize,
    /// The number of numbers before it.
    pub(crate) index: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Portable;
    use proptest::prelude::*;

    fn encode(numbers: &[u64], max: u64) -> (Layout, Vec<u8>) {
        let layout = Layout::new(3, numbers.len(), max).unwrap();
        let mut writer = BitWriter::new();
        writer.write(0, 3);
        layout.write(&mut writer, numbers.iter().copied());
        assert_eq!(Some(writer.len_bits()), layout.end_bit());
        (layout, writer.finish())
    }

    #[test]
    fn lays_out_by_the_rule_of_the_specification() {
        let layout =
            |count, max| Layout::new::<u32>(0, count, max).map(|l| (l.low_bits, l.bucket_count));
        assert_eq!(layout(0, 9), None);
        assert_eq!(layout(1, 0), Some((0, 1)));
        assert_eq!(layout(4, 2), None);
        assert_eq!(layout(4, 3), Some((0, 4)));
        assert_eq!(layout(3, 23), Some((2, 6)));
        assert_eq!(layout(3, 24), Some((3, 4)));
        assert_eq!(layout(1, u32::MAX), Some((31, 2)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn the_layout_has_the_largest_low_part_that_the_rule_allows() {
        for count in 1..200usize {
            for max in (count as u32 - 1..400).chain([u32::MAX, u32::MAX - 1]) {
                let layout = Layout::new(0, count, max).unwrap();
                let fits = |l: u32| (count as u64) << l <= u64::from(max);
                let l = (0..32).take_while(|&l| fits(l)).last().unwrap_or(0);
                assert_eq!(layout.low_bits, l, "{count} {max}");
                assert_eq!(layout.bucket_count, (max >> l) as usize + 1);
            }
        }
    }

    #[test]
    fn writes_high_bits_and_then_low_bits() {
        let (layout, bytes) = encode(&[1, 6, 23], 23);
        assert_eq!((layout.low_bits, layout.bucket_count), (2, 6));
        // After three other bits: high parts 0, 1, 5: 1 0 1 0 0 0 0 1 0; low parts 01 10 11.
        assert_eq!(bytes, [0b0001_0100, 0b0010_0110, 0b1100_0000]);
    }

    /// The time grows with the square of this.
    const MOST: usize = if cfg!(miri) { 20 } else { 200 };

    proptest! {
        #[test]
        fn reads_back_all_and_from_any_place(
            mut numbers in prop::collection::btree_set(prop_oneof![0u64..500, any::<u64>()], 1..MOST),
            slack in prop_oneof![Just(0u64), 0u64..1000, any::<u64>()],
        ) {
            let max = numbers.last().unwrap().saturating_add(slack);
            let numbers: Vec<u64> = std::mem::take(&mut numbers).into_iter().collect();
            let (layout, bytes) = encode(&numbers, max);
            prop_assert!(layout.counts_its_numbers(&bytes));
            let mut found = Vec::new();
            layout.for_each(&bytes, &mut |index, number: u64| {
                assert_eq!(index, found.len());
                found.push(number);
            });
            prop_assert_eq!(&found, &numbers);
            for &wanted in &numbers {
                let bucket = layout.bucket(wanted);
                let cursor = layout.seek(Portable, &bytes, bucket);
                let mut found = Vec::new();
                layout.for_each_from(&bytes, cursor, bucket + 1, &mut |index, number: u64| {
                    found.push((index, number));
                });
                let of_bucket = |&(_, number): &(usize, &u64)| layout.bucket(*number) == bucket;
                let expected = numbers.iter().enumerate().filter(of_bucket);
                let expected: Vec<(usize, u64)> = expected.map(|(i, &number)| (i, number)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
