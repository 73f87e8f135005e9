//! The keys of a table as they lie in the file: an Elias-Fano sequence (spec, section 7.3).

use super::Visit;
use super::bits::{BitWriter, window};
use super::elias_fano::Layout;
use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Encodes ascending keys that are gone through twice: first for their high bits, then for their low ones. The bytes
/// may be drained at any time, so that they need not lie in memory as a whole.
#[derive(Debug)]
pub(crate) struct KeyWriter<F> {
    first: F,
    layout: Layout,
    /// Bucket of the last key of which the high bits are written.
    bucket: usize,
    writer: BitWriter,
}

impl<F: Fingerprint> KeyWriter<F> {
    /// Starts with the first and the last of `count` keys, at least one.
    pub(crate) fn new(count: usize, first: F, last: F) -> Self {
        let mut writer = BitWriter::new();
        for end in [first, last] {
            let mut bytes = Vec::with_capacity(F::BYTES);
            end.extend_le(&mut bytes);
            bytes.iter().for_each(|&b| writer.write(b.into(), 8));
        }
        KeyWriter {
            first,
            layout: Layout::new(0, count, last.wrapping_sub(first)).expect("the keys ascend"),
            bucket: 0,
            writer,
        }
    }

    /// Appends the high bits of the next keys.
    pub(crate) fn write_high(&mut self, keys: &[F]) {
        let numbers = keys.iter().map(|key| key.wrapping_sub(self.first));
        let writer = &mut self.writer;
        self.bucket = self.layout.write_high(writer, self.bucket, numbers);
    }

    /// Ends the high bits.
    pub(crate) fn end_high(&mut self) {
        self.layout.end_high(&mut self.writer, self.bucket);
    }

    /// Appends the low bits of the next keys.
    pub(crate) fn write_low(&mut self, keys: &[F]) {
        let numbers = keys.iter().map(|key| key.wrapping_sub(self.first));
        self.layout.write_low(&mut self.writer, numbers);
    }

    /// Hands the bytes that are complete to `take`.
    pub(crate) fn drain<E>(&mut self, take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.writer.drain(take)
    }

    /// The bytes that have not been drained.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }
}

/// Decodes `count` keys into memory of the caller's making, which is asked for when their number is known to fit the
/// bytes.
///
/// # Errors
/// What is wrong with the bytes, in a few words: every byte string is either the one encoding of some keys or
/// rejected.
pub(crate) fn decode<F: Fingerprint>(
    bytes: &[u8],
    count: u64,
    allocate: impl FnOnce(usize) -> Vec<F>,
) -> Result<Vec<F>, &'static str> {
    const LENGTH: &str = "are not as long as their contents call for";
    if count == 0 {
        return if bytes.is_empty() {
            Ok(Vec::new())
        } else {
            Err(LENGTH)
        };
    }
    let (Some(first), Some(last)) = (
        bytes.get(..F::BYTES).and_then(F::from_le_slice),
        bytes.get(F::BYTES..2 * F::BYTES).and_then(F::from_le_slice),
    ) else {
        return Err(LENGTH);
    };
    if first > last {
        return Err("do not ascend");
    }
    let max = last.wrapping_sub(first);
    let layout = usize::try_from(count)
        .ok()
        .and_then(|count| Layout::new(0, count, max));
    let layout = layout.ok_or("do not ascend")?;
    let stream = &bytes[2 * F::BYTES..];
    let len_bits = layout
        .end_bit()
        .filter(|len| len.div_ceil(8) == stream.len());
    let len_bits = len_bits.ok_or(LENGTH)?;
    if !layout.counts_its_numbers(stream) || window(stream, len_bits) != 0 {
        return Err("have a wrong bit");
    }
    let mut keys = allocate(layout.count);
    let ascending = dispatch(Decode {
        layout,
        stream,
        first,
        max,
        keys: &mut keys,
    });
    // A one in the last high bit stands for no number and is not handed out.
    let complete = keys.len() == layout.count;
    if ascending && complete && keys.first() == Some(&first) && keys.last() == Some(&last) {
        Ok(keys)
    } else {
        Err("do not ascend")
    }
}

/// Appends the keys that a stream encodes; whether they ascend to no more than the last one.
struct Decode<'a, F> {
    layout: Layout,
    stream: &'a [u8],
    first: F,
    max: F,
    keys: &'a mut Vec<F>,
}

impl<F: Fingerprint> Work for Decode<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> bool {
        let mut collector = Collector {
            first: self.first,
            previous: F::ZERO,
            ascending: true,
            keys: self.keys,
        };
        self.layout.for_each(self.stream, &mut collector);
        // Ascending numbers pass the maximum at their end if at all.
        collector.ascending && collector.previous <= self.max
    }
}

struct Collector<'a, F> {
    first: F,
    previous: F,
    ascending: bool,
    keys: &'a mut Vec<F>,
}

impl<F: Fingerprint> Visit<F> for Collector<'_, F> {
    #[inline(always)]
    fn visit(&mut self, index: usize, number: F) {
        self.ascending &= number > self.previous || index == 0;
        self.previous = number;
        self.keys.push(self.first.wrapping_add(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode<F: Fingerprint>(keys: &[F]) -> Vec<u8> {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return Vec::new();
        };
        let mut writer = KeyWriter::new(keys.len(), first, last);
        let mut bytes = Vec::new();
        for part in keys.chunks(3) {
            writer.write_high(part);
            drain(&mut writer, &mut bytes);
        }
        writer.end_high();
        for part in keys.chunks(2) {
            writer.write_low(part);
            drain(&mut writer, &mut bytes);
        }
        bytes.extend(writer.finish());
        bytes
    }

    fn drain<F: Fingerprint>(writer: &mut KeyWriter<F>, to: &mut Vec<u8>) {
        let take = |bytes: &[u8]| {
            to.extend_from_slice(bytes);
            Ok::<(), ()>(())
        };
        writer.drain(take).unwrap();
    }

    #[test]
    fn one_key_takes_one_byte_beside_itself() {
        assert_eq!(encode(&[7u32]), [7, 0, 0, 0, 7, 0, 0, 0, 0b1000_0000]);
        assert!(encode::<u64>(&[]).is_empty());
        assert_eq!(decode::<u64>(&[], 0, Vec::with_capacity), Ok(vec![]));
        assert!(decode::<u64>(&[0], 0, Vec::with_capacity).is_err());
        assert!(decode::<u64>(&[], 1, Vec::with_capacity).is_err());
    }

    proptest! {
        #[test]
        fn round_trips(keys in prop::collection::btree_set(any::<u64>(), 1..300)) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let bytes = encode(&keys);
            prop_assert_eq!(decode::<u64>(&bytes, keys.len() as u64, Vec::with_capacity), Ok(keys.clone()));
            prop_assert!(decode::<u64>(&bytes, keys.len() as u64 + 1, Vec::with_capacity).is_err());
        }

        #[test]
        fn every_byte_string_is_an_encoding_or_rejected(
            mut bytes in prop::collection::vec(any::<u8>(), 0..60), count in 0u64..20, small: bool,
        ) {
            if small {
                // Keys close together make a well-formed sequence likely.
                let ends = bytes.len().min(8);
                bytes[..ends].fill(0);
                if ends == 8 { bytes[4] = count as u8 + 1; }
            }
            if let Ok(keys) = decode::<u32>(&bytes, count, Vec::with_capacity) {
                prop_assert_eq!(encode(&keys), bytes);
            }
        }
    }
}
