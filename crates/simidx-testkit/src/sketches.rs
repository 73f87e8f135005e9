//! The section of sketches by a plain reading of section 10.4: parsed, and assembled from any contents.

use crate::encoding::{PAGE_LEN, SKETCHES, bound_checksum, crc32, number};

/// Bytes of the head before the features.
const FIXED_LEN: usize = 18;

/// The contents of the section, which may be invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SketchSection {
    pub method: u16,
    pub bits: u16,
    pub count: u64,
    pub features: Vec<u8>,
    /// The bytes that pad the head.
    pub padding: Vec<u8>,
    pub payload: Vec<u8>,
}

/// Returns the offset of the payload in a section.
pub fn head_len(section: &[u8]) -> usize {
    let features_len = number(section, 16, 2) as usize;
    (FIXED_LEN + features_len).next_multiple_of(64)
}

impl SketchSection {
    /// Creates a section of these sketches.
    pub fn new(features: &str, sketches: &[Vec<u8>]) -> Self {
        let end = FIXED_LEN + features.len();
        SketchSection {
            method: 1,
            bits: sketches
                .first()
                .map_or(64, |sketch| 8 * sketch.len() as u16),
            count: sketches.len() as u64,
            features: features.into(),
            padding: vec![0; end.next_multiple_of(64) - end],
            payload: sketches.concat(),
        }
    }

    /// Parses a section and asserts its checksums.
    pub fn parse(section: &[u8]) -> Self {
        let (head, rest) = section.split_at(head_len(section));
        let features_end = FIXED_LEN + number(head, 16, 2) as usize;
        let pages = rest.len().div_ceil(PAGE_LEN + 4);
        let (payload, checksums) = rest.split_at(rest.len() - 4 * pages);
        assert_eq!(number(head, 0, 4), crc32(&head[4..]).into());
        let parsed = SketchSection {
            method: number(head, 4, 2) as u16,
            bits: number(head, 6, 2) as u16,
            count: number(head, 8, 8) as u64,
            features: head[FIXED_LEN..features_end].to_vec(),
            padding: head[features_end..].to_vec(),
            payload: payload.to_vec(),
        };
        assert_eq!(checksums, parsed.checksums());
        parsed
    }

    /// Returns the sketches one by one.
    pub fn sketches(&self) -> Vec<Vec<u8>> {
        let sketches = self.payload.chunks_exact(usize::from(self.bits) / 8);
        sketches.map(<[u8]>::to_vec).collect()
    }

    fn checksums(&self) -> Vec<u8> {
        let pages = self.payload.chunks(PAGE_LEN).enumerate();
        let checksums = pages.map(|(j, page)| bound_checksum(page, SKETCHES, 0, j).to_le_bytes());
        checksums.flatten().collect()
    }

    /// Returns the bytes, with valid checksums.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = vec![0; 4];
        head.extend(self.method.to_le_bytes());
        head.extend(self.bits.to_le_bytes());
        head.extend(self.count.to_le_bytes());
        head.extend((self.features.len() as u16).to_le_bytes());
        head.extend(&self.features);
        head.extend(&self.padding);
        let checksum = crc32(&head[4..]);
        head[..4].copy_from_slice(&checksum.to_le_bytes());
        [head, self.payload.clone(), self.checksums()].concat()
    }
}
