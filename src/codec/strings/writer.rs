//! Writes sorted strings into buckets.

use super::code::{PREFIX_BITS, PREFIX_ESCAPE, StringCode};
use super::front::FrontCoder;
use super::parser::{ESCAPED, ParseScratch, Parser, Priced};
use super::symbol::Symbol;
use super::{BUCKET_LEN, MAX_STRING_LEN};
use crate::codec::bits::BitWriter;

/// Turns sorted strings into buckets.
#[derive(Debug)]
pub(crate) struct BucketWriter<'c> {
    code: &'c StringCode,
    parser: Parser,
    scratch: ParseScratch,
    escape: u32,
    front: FrontCoder,
    bits: BitWriter,
    /// Number of strings written.
    count: usize,
    bucket_open: bool,
}

/// Returns the costs of the symbols of a code in bits, and that of an escaped byte.
pub(super) fn priced(code: &StringCode) -> (Vec<Priced>, u16) {
    let lengths = code.symbol_code().lengths();
    let symbols = code.symbols().iter().zip(lengths);
    let prices = symbols.map(|(&symbol, &len)| Priced {
        symbol,
        cost: len.into(),
    });
    let escape = escape_number(code);
    (prices.collect(), u16::from(lengths[escape as usize]) + 8)
}

fn escape_number(code: &StringCode) -> u32 {
    let found = code.symbols().iter().position(|s| *s == Symbol::ESCAPE);
    found.expect("training adds the escape") as u32
}

impl<'c> BucketWriter<'c> {
    /// Creates a writer with a code from training.
    pub(crate) fn new(code: &'c StringCode) -> Self {
        let (symbols, escape_cost) = priced(code);
        BucketWriter {
            code,
            parser: Parser::new(&symbols, escape_cost),
            scratch: ParseScratch::default(),
            escape: escape_number(code),
            front: FrontCoder::default(),
            bits: BitWriter::new(),
            count: 0,
            bucket_open: false,
        }
    }

    /// Adds the next string of at most [`MAX_STRING_LEN`] bytes, which must not be less than the one before. Returns
    /// the bytes of the bucket if this completes it.
    pub(crate) fn push(&mut self, string: &[u8]) -> Option<&[u8]> {
        debug_assert!(string.len() <= MAX_STRING_LEN);
        if !self.bucket_open {
            self.bits.clear();
            self.bucket_open = true;
        }
        let (prefix, symbol) = self.front.push(string);
        self.write_prefix(prefix, symbol);
        let (code, bits, escape) = (self.code.symbol_code(), &mut self.bits, self.escape);
        self.parser
            .parse(&string[prefix..], &mut self.scratch, |number, byte| {
                if number == ESCAPED {
                    let (word, len) = code.codeword(escape);
                    bits.write(u64::from(word) << 8 | u64::from(byte), len + 8);
                } else {
                    let (word, len) = code.codeword(number.into());
                    bits.write(word.into(), len);
                }
            });
        self.count += 1;
        if self.count.is_multiple_of(BUCKET_LEN) {
            return self.finish();
        }
        None
    }

    /// Returns the bytes of the last bucket, if it has not been returned.
    pub(crate) fn finish(&mut self) -> Option<&[u8]> {
        std::mem::take(&mut self.bucket_open).then(|| self.bits.as_bytes())
    }

    fn write_prefix(&mut self, prefix: usize, mut symbol: usize) {
        let code = self.code.prefix_code();
        if code.lengths()[symbol] == 0 {
            symbol = PREFIX_ESCAPE;
        }
        let (word, len) = code.codeword(symbol as u32);
        self.bits.write(word.into(), len);
        if symbol == PREFIX_ESCAPE {
            self.bits.write(prefix as u64, PREFIX_BITS);
        }
    }
}
