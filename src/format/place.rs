//! Checksums that are bound to the place of their bytes. Spec §3.4.

use super::Kind;

/// Returns the number that is combined with the CRC-32 of a block, a page or a key group by exclusive or, so that the
/// same bytes have another checksum at another place.
#[inline]
pub(crate) fn place_checksum(kind: Kind, table: usize, number: usize) -> u32 {
    let mut place = [0; 12];
    place[..2].copy_from_slice(&kind.code().to_le_bytes());
    place[2..4].copy_from_slice(&(table as u16).to_le_bytes());
    place[4..].copy_from_slice(&(number as u64).to_le_bytes());
    crc32fast::hash(&place)
}

/// Returns the checksum of bytes at a place.
#[inline]
pub(crate) fn checksum_at(bytes: &[u8], kind: Kind, table: usize, number: usize) -> u32 {
    crc32fast::hash(bytes) ^ place_checksum(kind, table, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn places_have_different_checksums() {
        let mut seen = HashSet::new();
        // Numbers with bits in the upper half count too, even on 32-bit machines.
        let far = 1_usize << (usize::BITS / 2 + 1);
        for kind in [Kind::BLOCKS, Kind::GROUPS, Kind::KEY_GROUPS] {
            for table in [0, 1, 254] {
                for number in (0..2000).chain([1 << 16, far, far + 1]) {
                    assert!(seen.insert(place_checksum(kind, table, number)));
                }
            }
        }
    }
}
