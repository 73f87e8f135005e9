//! Sorted strings in compressed buckets (spec, section 9.5).
//!
//! A string is stored as the number of bytes that it shares with its predecessor, and the symbols of the rest, both in
//! canonical Huffman codes. Symbols have up to fifteen bytes and are chosen by training on a sample. Most of the
//! frequent ones also have a variant that ends the string, so that the end takes no codeword of its own.

mod bucket;
mod buffer;
mod code;
mod front;
mod parser;
mod symbol;
mod table;
mod train;
mod writer;

pub(crate) use bucket::{Bucket, BucketReader};
pub(crate) use buffer::StringBuffer;
pub(crate) use code::StringCode;
pub(crate) use writer::BucketWriter;

use std::fmt;

/// Strings in a bucket; the last bucket may have fewer.
pub(crate) const BUCKET_LEN: usize = 16;

/// Buckets in a group; their first strings are coded relative to that of the first bucket.
pub(crate) const GROUP_LEN: usize = 16;

/// Buckets in a sample that is large enough to train a code for any number of strings.
pub(crate) const SAMPLE_BUCKETS: usize = 2048;

/// The most bytes of a string.
pub(crate) const MAX_STRING_LEN: usize = u16::MAX as usize;

/// A fault of a code or a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringFault {
    /// The bytes are not a string code.
    Code,
    /// The length of a prefix has no codeword, is negative, or exceeds that of the predecessor.
    Prefix,
    /// A string has more than [`MAX_STRING_LEN`] bytes.
    Length,
    /// The strings do not end in the last byte of the bucket.
    End,
    /// A bit after the last string is not zero.
    Padding,
    /// A string is less than its predecessor.
    Order,
    /// A string is not UTF-8.
    Utf8,
}

impl fmt::Display for StringFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StringFault::Code => "the string code is malformed",
            StringFault::Prefix => "a prefix is not one of the string before",
            StringFault::Length => "a string is longer than 65535 bytes",
            StringFault::End => "the strings do not end in the last byte of their bucket",
            StringFault::Padding => "a bit after the strings of a bucket is not zero",
            StringFault::Order => "the strings are not in ascending order",
            StringFault::Utf8 => "a string is not UTF-8",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Strings in buckets, with their code.
    struct Encoded {
        code: StringCode,
        buckets: Vec<Vec<u8>>,
        count: usize,
    }

    impl Encoded {
        /// Trains the code on `sample`, then writes it and reads it again.
        fn new(strings: &[Vec<u8>], sample: &[Vec<u8>]) -> Self {
            let code = StringCode::train(sample.iter().map(Vec::as_slice));
            let code = StringCode::from_bytes(&code.to_bytes()).unwrap();
            let mut writer = BucketWriter::new(&code);
            let mut buckets: Vec<Vec<u8>> = Vec::new();
            for string in strings {
                buckets.extend(writer.push(string).map(<[u8]>::to_vec));
            }
            buckets.extend(writer.finish().map(<[u8]>::to_vec));
            assert_eq!(buckets.len(), strings.len().div_ceil(BUCKET_LEN));
            Encoded {
                code,
                buckets,
                count: strings.len(),
            }
        }

        fn bucket<'a>(&'a self, number: usize, reference: &'a mut StringBuffer) -> Bucket<'a> {
            let len = |number: usize| BUCKET_LEN.min(self.count - number * BUCKET_LEN);
            let first = number / GROUP_LEN * GROUP_LEN;
            reference.set(b"");
            if number > first {
                let bucket = Bucket::new(&self.code, &self.buckets[first], len(first), b"");
                bucket.nth(0, reference).unwrap();
            }
            let bytes = &self.buckets[number];
            Bucket::new(&self.code, bytes, len(number), reference.as_bytes())
        }

        /// Reads and checks all strings.
        fn read(&self) -> Result<Vec<Vec<u8>>, StringFault> {
            let (mut reference, mut string) = (StringBuffer::default(), StringBuffer::default());
            let (mut previous, mut strings) = (Vec::new(), Vec::new());
            for number in 0..self.buckets.len() {
                let bucket = self.bucket(number, &mut reference);
                let mut reader = bucket.reader(&mut string);
                while reader.next(&mut string)? {
                    strings.push(string.as_bytes().to_vec());
                }
                bucket.check(&mut previous, &mut string, |_| ())?;
            }
            Ok(strings)
        }

        fn bytes(&self) -> usize {
            self.buckets.iter().map(Vec::len).sum()
        }
    }

    /// Typical ids, and others.
    fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let any = "\\PC{0,20}";
        let path = "(/(usr|share|doc|lib[a-c]{0,3}|[0-9]{1,3})){1,6}(\\.html|\\.gz)?";
        let long = "(abc|d){200,900}";
        let string = prop_oneof![2 => any, 8 => path, 1 => long, 1 => "a{0,3}"];
        prop::collection::vec(string, 0..200).prop_map(|strings| {
            let mut strings: Vec<_> = strings.into_iter().map(String::into_bytes).collect();
            strings.sort();
            strings
        })
    }

    fn uniform_keys(count: usize) -> Vec<Vec<u8>> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            state >> 32
        };
        let mut keys: Vec<_> = (0..count)
            .map(|_| format!("{:08x}-{:04x}-4{:08x}", next(), next() >> 16, next()).into_bytes())
            .collect();
        keys.sort();
        keys
    }

    #[test]
    fn no_strings_take_no_bucket() {
        let none = Encoded::new(&[], &[]);
        assert_eq!((none.buckets.len(), none.read()), (0, Ok(vec![])));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_code_writes_strings_that_its_sample_has_nothing_of() {
        let strings: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b; usize::from(b) * 9]).collect();
        let encoded = Encoded::new(&strings, &[]);
        let mut string = StringBuffer::default();
        for (number, expected) in strings.iter().enumerate() {
            let mut reference = StringBuffer::default();
            let bucket = encoded.bucket(number / BUCKET_LEN, &mut reference);
            bucket.nth(number % BUCKET_LEN, &mut string).unwrap();
            assert_eq!(string.as_bytes(), expected);
        }
        assert_eq!(encoded.read(), Err(StringFault::Utf8));
    }

    #[test]
    fn the_longest_strings_fit() {
        let mut strings = vec![vec![b'x'; MAX_STRING_LEN]; 40];
        strings.insert(0, vec![]);
        let encoded = Encoded::new(&strings, &strings);
        assert_eq!(encoded.read().unwrap(), strings);
        // One string in each of three buckets, with codewords of one or two bits.
        assert!(
            encoded.bytes() < 3 * (MAX_STRING_LEN / 15 / 4),
            "{}",
            encoded.bytes()
        );
    }

    #[test]
    fn equal_strings_take_two_bits() {
        let strings = vec![b"the same".to_vec(); 16 * BUCKET_LEN];
        let encoded = Encoded::new(&strings, &strings);
        assert_eq!(encoded.read().unwrap(), strings);
        assert_eq!(encoded.buckets[GROUP_LEN - 1].len(), 5);
    }

    #[test]
    fn sorted_paths_shrink_to_a_twentieth() {
        let path = |i: usize| format!("/usr/share/doc/lib{:03}/html/page-{}.html", i / 60, i % 60);
        let mut strings: Vec<_> = (0..6000).map(|i| path(i).into_bytes()).collect();
        strings.sort();
        let encoded = Encoded::new(&strings, &strings);
        assert_eq!(encoded.read().unwrap(), strings);
        let plain: usize = strings.iter().map(Vec::len).sum();
        let stored = encoded.bytes() + encoded.code.to_bytes().len();
        assert!(stored * 20 < plain, "{stored} of {plain}");
    }

    #[test]
    fn random_keys_take_little_more_than_their_entropy() {
        let keys = uniform_keys(4096);
        let encoded = Encoded::new(&keys, &keys);
        assert_eq!(encoded.read().unwrap(), keys);
        // Twenty digits of four bits, less the twelve bits that the order saves.
        let stored = encoded.bytes() + encoded.code.to_bytes().len();
        assert!(stored < 4096 * 12, "{stored}");
    }

    #[test]
    fn training_gives_the_same_code_everywhere() {
        let keys = uniform_keys(3000);
        let bytes = StringCode::train(keys.iter().map(Vec::as_slice)).to_bytes();
        assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (803, 3578787188));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn strings_come_back(strings in strings(), half in any::<bool>()) {
            let sample = &strings[..if half { strings.len() / 2 } else { strings.len() }];
            let encoded = Encoded::new(&strings, sample);
            prop_assert_eq!(&encoded.read().unwrap(), &strings);
            let (mut reference, mut string) = (StringBuffer::default(), StringBuffer::default());
            for (index, expected) in strings.iter().enumerate() {
                let bucket = encoded.bucket(index / BUCKET_LEN, &mut reference);
                bucket.nth(index % BUCKET_LEN, &mut string).unwrap();
                prop_assert_eq!(string.as_bytes(), expected);
            }
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn damage_is_found_or_leaves_valid_strings(
            strings in strings(),
            noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in 0usize..3,
            reference in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut encoded = Encoded::new(&strings, &strings);
            let damage = |bytes: &mut Vec<u8>| {
                for (at, byte) in &noise {
                    if !bytes.is_empty() {
                        let at = at.index(bytes.len());
                        bytes[at] ^= byte;
                    }
                }
                bytes.truncate(bytes.len() - cut.min(bytes.len()));
            };
            let mut code = encoded.code.to_bytes();
            damage(&mut code);
            encoded.buckets.iter_mut().for_each(damage);
            let codes = [Some(encoded.code.clone()), StringCode::from_bytes(&code).ok()];
            let mut string = StringBuffer::default();
            for code in codes.iter().flatten() {
                for bytes in &encoded.buckets {
                    let bucket = Bucket::new(code, bytes, BUCKET_LEN, &reference);
                    let mut previous = Vec::new();
                    if bucket.check(&mut previous, &mut string, |_| ()).is_ok() {
                        let mut reader = bucket.reader(&mut string);
                        let mut last = Vec::new();
                        while reader.next(&mut string).unwrap() {
                            prop_assert!(last.as_slice() <= string.as_bytes());
                            last = string.as_bytes().to_vec();
                        }
                        prop_assert_eq!(last, previous);
                    }
                    prop_assert!(string.as_bytes().len() <= MAX_STRING_LEN + buffer::SPARE);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_make_no_code_that_panics(bytes in prop::collection::vec(0u8..20, 0..400)) {
            if let Ok(code) = StringCode::from_bytes(&bytes) {
                prop_assert_eq!(code.to_bytes(), bytes);
            }
        }
    }
}
