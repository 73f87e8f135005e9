//! Front coding: the prefixes that sorted strings share with the strings that they are coded relative to.

use super::code::{PREFIX_ESCAPE, SAME_PREFIX};
use super::{BUCKET_LEN, GROUP_LEN};

/// Keeps the strings that the next one may be coded relative to.
#[derive(Debug, Default)]
pub(super) struct FrontCoder {
    /// The first string of the group, and the last string.
    reference: Vec<u8>,
    previous: Vec<u8>,
    prefix: usize,
    count: usize,
}

impl FrontCoder {
    /// Returns the prefix length of the next string and its symbol.
    pub(super) fn push(&mut self, string: &[u8]) -> (usize, usize) {
        if self.count.is_multiple_of(BUCKET_LEN * GROUP_LEN) {
            self.reference.clear();
        }
        if self.count.is_multiple_of(BUCKET_LEN) {
            self.previous.clone_from(&self.reference);
            self.prefix = 0;
        }
        let same = self.previous.iter().zip(string).take_while(|(a, b)| a == b);
        let prefix = same.count();
        let symbol = match (prefix + SAME_PREFIX).checked_sub(self.prefix) {
            Some(symbol) if symbol < PREFIX_ESCAPE => symbol,
            _ => PREFIX_ESCAPE,
        };
        self.previous.truncate(prefix);
        self.previous.extend_from_slice(&string[prefix..]);
        if self.count.is_multiple_of(BUCKET_LEN * GROUP_LEN) {
            self.reference.clone_from(&self.previous);
        }
        self.prefix = prefix;
        self.count += 1;
        (prefix, symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_start_from_the_first_string_of_their_group() {
        let mut front = FrontCoder::default();
        let strings: Vec<String> = (0..600).map(|i| format!("{:03}x", i)).collect();
        let prefixes: Vec<usize> = strings
            .iter()
            .map(|string| front.push(string.as_bytes()).0)
            .collect();
        let group = BUCKET_LEN * GROUP_LEN;
        assert_eq!((prefixes[0], prefixes[1], prefixes[group]), (0, 2, 0));
        // 016 follows 000, and 272 follows 256, not 015 and 271.
        assert_eq!((prefixes[16], prefixes[group + 16]), (1, 1));
        assert_eq!((prefixes[15], prefixes[group + 15]), (2, 2));
    }

    #[test]
    fn prefixes_are_coded_by_how_much_longer_they_are() {
        let mut front = FrontCoder::default();
        let long = [b'a'; 64];
        let symbols = [&long[..], &long, &long[..63], b"b", b"ba", b"bab"];
        let symbols = symbols.map(|string| front.push(string).1);
        assert_eq!(symbols, [63, 127, 62, 0, 64, 64]);
    }
}
