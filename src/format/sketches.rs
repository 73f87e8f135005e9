//! The head of the sketch section: the length of the sketches and the features that they represent. Spec §10.4.

use std::fmt;

use super::{align, paged_len};
use crate::error::OptionsError;

/// The sketch method that this version reads and writes: one-bit MinHash.
const METHOD: u16 = 1;

/// Bytes of the head before the name of the features.
const FIXED_LEN: usize = 18;

/// The alignment of the sketches in the section.
const ALIGNMENT: u64 = 64;

/// The most bytes of the name of the features. Spec §13.
const MAX_FEATURES_LEN: usize = 1024;

/// The most bits of a sketch. Spec §13.
pub const MAX_SKETCH_BITS: u32 = 512;

/// The length of the sketches of an index, and the features of the documents that they represent. A sketch is many
/// one-bit MinHash values, from which the Jaccard similarity of two documents is estimated.
///
/// ```
/// use simidx::format::SketchParameters;
///
/// let parameters = SketchParameters::new(256, "words:3 html:no")?;
/// assert_eq!((parameters.bits(), parameters.u64_count()), (256, 4));
/// assert!(SketchParameters::new(100, "words:3 html:no").is_err());
/// # Ok::<(), simidx::builder::OptionsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SketchParameters {
    bits: u32,
    features: String,
}

impl SketchParameters {
    /// Creates parameters for sketches of `bits` bits, a multiple of 64 from 64 to 512. `features` is a name of 1 to
    /// 1,024 bytes, whose meaning the maker of the sketches defines, such as the crate `simidx-text`.
    ///
    /// # Errors
    /// Values out of these ranges.
    pub fn new(bits: u32, features: &str) -> Result<Self, OptionsError> {
        if !is_possible(bits) {
            let message =
                format!("a sketch has 64 to {MAX_SKETCH_BITS} bits, a multiple of 64, not {bits}");
            return Err(OptionsError::new("sketches", message));
        }
        if !(1..=MAX_FEATURES_LEN).contains(&features.len()) {
            let len = features.len();
            let message = format!(
                "the features of sketches are named in 1 to {MAX_FEATURES_LEN} bytes, not {len}"
            );
            return Err(OptionsError::new("sketches", message));
        }
        Ok(SketchParameters {
            bits,
            features: features.to_owned(),
        })
    }

    /// Returns the bits of a sketch.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of 64-bit numbers in a sketch.
    pub fn u64_count(&self) -> usize {
        self.bits as usize / 64
    }

    /// Returns the name of the features that the sketches represent.
    pub fn features(&self) -> &str {
        &self.features
    }

    /// Returns the bytes of a sketch.
    pub(crate) fn sketch_len(&self) -> usize {
        self.bits as usize / 8
    }

    /// Returns the head of a section with `count` sketches.
    pub(crate) fn encode(&self, count: u64) -> Vec<u8> {
        let mut head = vec![0; 4];
        head.extend_from_slice(&METHOD.to_le_bytes());
        head.extend_from_slice(&(self.bits as u16).to_le_bytes());
        head.extend_from_slice(&count.to_le_bytes());
        head.extend_from_slice(&(self.features.len() as u16).to_le_bytes());
        head.extend_from_slice(self.features.as_bytes());
        head.resize(head_len(self.features.len()), 0);
        let checksum = crc32fast::hash(&head[4..]);
        head[..4].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// Reads the head of a section that must hold `count` sketches. Returns the length of the head and the parameters;
    /// `None` for an unknown method.
    ///
    /// # Errors
    /// A short description of the fault (V43).
    pub(crate) fn decode(
        section: &[u8],
        count: u64,
    ) -> Result<Option<(Self, usize)>, &'static str> {
        let head = section.first_chunk::<FIXED_LEN>().and_then(|fixed| {
            let features_len = u16::from_le_bytes([fixed[16], fixed[17]]);
            section.get(..head_len(features_len.into()))
        });
        let head = head.ok_or("have a head that is cut")?;
        if crc32fast::hash(&head[4..]).to_le_bytes() != head[..4] {
            return Err("have a head with a wrong checksum");
        }
        let u16_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        if u16_at(4) != METHOD {
            return Ok(None);
        }
        let (bits, features_len) = (u32::from(u16_at(6)), usize::from(u16_at(16)));
        let (features, padding) = head[FIXED_LEN..].split_at(features_len);
        let is_right = is_possible(bits) && (1..=MAX_FEATURES_LEN).contains(&features_len);
        let features = std::str::from_utf8(features).ok().filter(|_| is_right);
        let features = features.filter(|_| padding.iter().all(|&byte| byte == 0));
        let features = features.ok_or("have impossible parameters")?;
        let payload = count.checked_mul(u64::from(bits / 8)).and_then(paged_len);
        let rest = (section.len() - head.len()) as u64;
        if head[8..16] != count.to_le_bytes() || payload != Some(rest) {
            return Err("are not as many as the records");
        }
        let features = features.to_owned();
        Ok(Some((SketchParameters { bits, features }, head.len())))
    }
}

/// Formats the parameters, for example `256 bits of words:3 html:no`.
impl fmt::Display for SketchParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bits of {}", self.bits, self.features)
    }
}

/// Returns whether a sketch may have this many bits.
fn is_possible(bits: u32) -> bool {
    bits.is_multiple_of(64) && (64..=MAX_SKETCH_BITS).contains(&bits)
}

/// Returns the bytes of a head whose name of the features has this length.
fn head_len(features_len: usize) -> usize {
    align((FIXED_LEN + features_len) as u64, ALIGNMENT).unwrap_or(u64::MAX) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(parameters: &SketchParameters, count: u64) -> Vec<u8> {
        let mut section = parameters.encode(count);
        let payload = count * parameters.sketch_len() as u64;
        section.resize(section.len() + paged_len(payload).unwrap() as usize, 0);
        section
    }

    #[test]
    fn heads_round_trip() {
        for (bits, features, count) in [
            (64, "w", 0),
            (256, "words:3 html:no", 1000),
            (512, &*"f".repeat(MAX_FEATURES_LEN), 3),
        ] {
            let parameters = SketchParameters::new(bits, features).unwrap();
            let section = section(&parameters, count);
            let (read, len) = SketchParameters::decode(&section, count).unwrap().unwrap();
            assert_eq!((read, len % 64), (parameters, 0));
        }
    }

    #[test]
    fn every_byte_of_the_head_counts() {
        let parameters = SketchParameters::new(128, "words:3 html:no").unwrap();
        let good = section(&parameters, 9);
        for at in 0..64 {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(SketchParameters::decode(&bad, 9).is_err(), "{at}");
        }
        assert!(SketchParameters::decode(&good, 8).is_err());
        for len in 0..good.len() {
            assert!(SketchParameters::decode(&good[..len], 9).is_err());
        }
    }

    #[test]
    fn other_methods_are_skipped() {
        let parameters = SketchParameters::new(64, "x").unwrap();
        let mut other = section(&parameters, 2);
        other[4] = 2;
        let checksum = crc32fast::hash(&other[4..64]);
        other[..4].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(SketchParameters::decode(&other, 2), Ok(None));
    }

    #[test]
    fn limits_hold() {
        for bits in [0, 63, 100, 576] {
            assert!(SketchParameters::new(bits, "x").is_err());
        }
        assert!(SketchParameters::new(64, "").is_err());
        assert!(SketchParameters::new(64, &"f".repeat(1025)).is_err());
    }
}
