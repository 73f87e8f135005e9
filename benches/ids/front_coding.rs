//! Plain front coding, the usual way to store sorted strings: in buckets, the first string whole, each further one as
//! the length that it shares with the one before and the rest.

use crate::packed::Packed;
use crate::stores::Dictionary;

/// Strings of a bucket.
const BUCKET_LEN: usize = 16;

/// Buckets and where they start.
pub(crate) struct FrontCoding {
    bytes: Vec<u8>,
    offsets: Packed,
    count: usize,
}

impl FrontCoding {
    /// A dictionary of ascending strings.
    pub(crate) fn new(sorted: &[&str]) -> Self {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        let mut last: &[u8] = &[];
        for (place, string) in sorted.iter().enumerate() {
            let string = string.as_bytes();
            let is_first = place % BUCKET_LEN == 0;
            let shared = last.iter().zip(string).take_while(|(a, b)| a == b).count();
            let shared = if is_first { 0 } else { shared };
            if is_first {
                offsets.push(bytes.len());
            } else {
                write_number(shared, &mut bytes);
            }
            write_number(string.len() - shared, &mut bytes);
            bytes.extend_from_slice(&string[shared..]);
            last = string;
        }
        let offsets = Packed::new(offsets.into_iter(), bytes.len());
        FrontCoding {
            bytes,
            offsets,
            count: sorted.len(),
        }
    }

    /// Turns the string before into the next one, whose code starts at `at`.
    fn advance(&self, at: &mut usize, is_first: bool, string: &mut Vec<u8>) {
        let shared = if is_first {
            0
        } else {
            read_number(&self.bytes, at)
        };
        let len = read_number(&self.bytes, at);
        string.truncate(shared);
        string.extend_from_slice(&self.bytes[*at..*at + len]);
        *at += len;
    }

    fn first_of(&self, bucket: usize) -> &[u8] {
        let mut at = self.offsets.get(bucket);
        let len = read_number(&self.bytes, &mut at);
        &self.bytes[at..at + len]
    }
}

impl Dictionary for FrontCoding {
    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64 + self.offsets.byte_len()
    }

    fn read(&self, place: usize, string: &mut Vec<u8>) {
        let mut at = self.offsets.get(place / BUCKET_LEN);
        for index in 0..=place % BUCKET_LEN {
            self.advance(&mut at, index == 0, string);
        }
    }

    fn find(&self, wanted: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.count.div_ceil(BUCKET_LEN));
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.first_of(middle) <= wanted {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let bucket = low.checked_sub(1)?;
        let (mut at, mut string) = (self.offsets.get(bucket), Vec::with_capacity(256));
        let places = bucket * BUCKET_LEN..self.count.min((bucket + 1) * BUCKET_LEN);
        places.into_iter().find(|place| {
            self.advance(&mut at, place % BUCKET_LEN == 0, &mut string);
            string == wanted
        })
    }
}

/// Seven bits a byte, the lowest first; all bytes but the last have the top bit.
fn write_number(mut number: usize, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}
