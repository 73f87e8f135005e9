//! The keys of a table in groups, each an Elias-Fano sequence that can be read on its own (spec, section 8).

use super::Visit;
use super::bits::{BitWriter, window};
use super::elias_fano::Layout;
use super::span::Span;
use crate::cpu::{Cpu, Work, dispatch};
use crate::fingerprint::Fingerprint;

/// Keys in a group; the last group of a table may have fewer.
pub(crate) const GROUP_KEYS: usize = 256;

/// Returns the number of groups for this many keys.
pub(crate) fn group_count(key_count: u64) -> u64 {
    key_count.div_ceil(GROUP_KEYS as u64)
}

/// Returns the bytes of a group's entry: its last key, its end, its checksum.
pub(crate) fn entry_len(width: u32) -> usize {
    width as usize / 8 + 12
}

/// The entry of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyEntry<F> {
    pub(crate) last: F,
    /// The offset in the section of the first byte after the group.
    pub(crate) end: u64,
    pub(crate) checksum: u32,
}

impl<F: Fingerprint> KeyEntry<F> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.last.extend_le(out);
        out.extend_from_slice(&self.end.to_le_bytes());
        out.extend_from_slice(&self.checksum.to_le_bytes());
    }

    /// Decodes an entry from exactly its bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (last, rest) = bytes.split_at_checked(F::BYTES)?;
        let (end, checksum) = rest.split_first_chunk::<8>()?;
        Some(KeyEntry {
            last: F::from_le_slice(last)?,
            end: u64::from_le_bytes(*end),
            checksum: u32::from_le_bytes(checksum.try_into().ok()?),
        })
    }
}

/// Appends the bytes of a group of ascending keys. `span` has the last key before the group and the last key of the group.
pub(crate) fn encode_group<F: Fingerprint>(span: Span<F>, keys: &[F], out: &mut Vec<u8>) {
    let below = &keys[..keys.len() - 1];
    let Some(layout) = span.layout(below.len(), 0) else {
        return;
    };
    let base = span.base();
    let mut writer = BitWriter::new();
    layout.write(&mut writer, below.iter().map(|key| key.wrapping_sub(base)));
    out.extend(writer.finish());
}

/// Returns the bytes of a group of `count` keys, at least one; `None` if its bounds do not leave room for them.
pub(crate) fn group_len<F: Fingerprint>(span: Span<F>, count: usize) -> Option<usize> {
    if span.previous.is_some_and(|previous| previous >= span.key) {
        return None;
    }
    match count {
        1 => Some(0),
        _ => Some(span.layout(count - 1, 0)?.end_bit()?.div_ceil(8)),
    }
}

/// Decodes a group of `count` keys, at least one, and appends them.
///
/// # Errors
/// A short description of the fault: every byte string is either the unique encoding of some keys or an error.
pub(crate) fn decode_group<F: Fingerprint>(
    bytes: &[u8],
    span: Span<F>,
    count: usize,
    keys: &mut Vec<F>,
) -> Result<(), &'static str> {
    const LENGTH: &str = "are not as long as their contents call for";
    let len = group_len(span, count).ok_or("do not ascend")?;
    if len != bytes.len() {
        return Err(LENGTH);
    }
    if count > 1 {
        let layout = span.layout(count - 1, 0).ok_or("do not ascend")?;
        let len_bits = layout.end_bit().ok_or(LENGTH)?;
        if !layout.counts_its_numbers(bytes) || window(bytes, len_bits) != 0 {
            return Err("have a wrong bit");
        }
        let base = span.base();
        let before = keys.len();
        let ascending = dispatch(Decode {
            layout,
            bytes,
            base,
            room: span.key.wrapping_sub(base),
            keys,
        });
        // A one in the last high bit does not belong to a number and is not visited.
        if !ascending || keys.len() - before != layout.count {
            return Err("do not ascend");
        }
    }
    keys.push(span.key);
    Ok(())
}

/// Appends the keys of a stream, and checks that they ascend and stay below the last one.
struct Decode<'a, F> {
    layout: Layout,
    bytes: &'a [u8],
    base: F,
    /// The distance of the last key from the base.
    room: F,
    keys: &'a mut Vec<F>,
}

impl<F: Fingerprint> Work for Decode<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> bool {
        let mut collector = Collector {
            base: self.base,
            previous: F::ZERO,
            ascending: true,
            keys: self.keys,
        };
        self.layout.for_each(self.bytes, &mut collector);
        // If ascending numbers exceed the maximum, the last one does.
        collector.ascending && collector.previous < self.room
    }
}

struct Collector<'a, F> {
    base: F,
    previous: F,
    ascending: bool,
    keys: &'a mut Vec<F>,
}

impl<F: Fingerprint> Visit<F> for Collector<'_, F> {
    #[inline(always)]
    fn visit(&mut self, index: usize, number: F) {
        self.ascending &= number > self.previous || index == 0;
        self.previous = number;
        self.keys.push(self.base.wrapping_add(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span<F: Fingerprint>(previous: Option<F>, keys: &[F]) -> Span<F> {
        let key = *keys.last().expect("there is a key");
        Span { previous, key }
    }

    fn encode<F: Fingerprint>(previous: Option<F>, keys: &[F]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_group(span(previous, keys), keys, &mut bytes);
        bytes
    }

    #[test]
    fn one_key_takes_no_bytes() {
        for key in [0u32, 7, u32::MAX] {
            assert!(encode(None, &[key]).is_empty());
            let mut keys = Vec::new();
            decode_group(&[], span(None, &[key]), 1, &mut keys).unwrap();
            assert_eq!(keys, [key]);
        }
        let mut keys = Vec::new();
        assert!(decode_group(&[0], span(None, &[7u64]), 1, &mut keys).is_err());
        assert!(decode_group(&[], span(Some(7), &[7u64]), 1, &mut keys).is_err());
        assert!(decode_group(&[], span(None, &[7u64]), 2, &mut keys).is_err());
    }

    #[test]
    fn entries_round_trip() {
        let entry = KeyEntry {
            last: 0x0102_0304u32,
            end: 1 << 40,
            checksum: 0xdead_beef,
        };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!(bytes.len(), entry_len(32));
        assert_eq!(KeyEntry::decode(&bytes), Some(entry));
        assert_eq!(KeyEntry::<u32>::decode(&bytes[1..]), None);
    }

    proptest! {
        #[test]
        fn round_trips(keys in prop::collection::btree_set(any::<u64>(), 2..300)) {
            let keys: Vec<u64> = keys.into_iter().collect();
            for (previous, keys) in [(None, &keys[..]), (Some(keys[0]), &keys[1..])] {
                let bytes = encode(previous, keys);
                let mut decoded = vec![99];
                let span = span(previous, keys);
                prop_assert_eq!(decode_group(&bytes, span, keys.len(), &mut decoded), Ok(()));
                prop_assert_eq!(&decoded[1..], keys);
                prop_assert!(decode_group(&bytes, span, keys.len() + 1, &mut decoded).is_err());
            }
        }

        #[test]
        fn every_byte_string_is_an_encoding_or_rejected(
            bytes in prop::collection::vec(any::<u8>(), 0..20),
            count in 1usize..20, previous in prop::option::of(0u32..40), room in 0u32..60,
        ) {
            let span = Span { previous, key: previous.unwrap_or(0) + room };
            let mut keys = Vec::new();
            if decode_group(&bytes, span, count, &mut keys).is_ok() {
                prop_assert_eq!(keys.len(), count);
                prop_assert_eq!(encode(previous, &keys), bytes);
            }
        }
    }
}
