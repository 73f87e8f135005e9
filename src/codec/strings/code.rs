//! The code that the strings of a file share: symbols with their codewords, and codewords for prefix lengths.

use super::StringFault;
use super::symbol::Symbol;
use super::table::SymbolTable;
use crate::codec::huffman::{Code, CodeError, MAX_CODE_LEN};

/// Number of symbols of the prefix code.
pub(super) const PREFIX_SYMBOLS: usize = 128;

/// The symbol for a prefix as long as the one before.
pub(super) const SAME_PREFIX: usize = 63;

/// The symbol for a prefix whose length follows in [`PREFIX_BITS`] bits.
pub(super) const PREFIX_ESCAPE: usize = PREFIX_SYMBOLS - 1;

/// Bits of a prefix length after the escape.
pub(super) const PREFIX_BITS: u32 = 16;

/// Bytes of the code lengths of prefixes and of the numbers of symbols for each length.
const HEAD_LEN: usize = PREFIX_SYMBOLS + 2 * MAX_CODE_LEN as usize;

/// The most symbols with codewords of [`MAX_CODE_LEN`] bits.
pub(super) const MAX_SYMBOLS: usize = 1 << MAX_CODE_LEN;

/// The most bytes of a code from training.
pub(crate) const MAX_TRAINED_LEN: usize = 8192;

/// The most bytes of the symbols in a code from training, each including its header.
pub(super) const MAX_TRAINED_SYMBOL_BYTES: usize = MAX_TRAINED_LEN - HEAD_LEN;

/// The code for the strings of a file (spec, section 9.5).
#[derive(Debug, Clone)]
pub(crate) struct StringCode {
    /// The symbols, in the order of their codewords.
    symbols: Vec<Symbol>,
    symbol_code: Code,
    prefix_code: Code,
    table: SymbolTable,
}

impl StringCode {
    /// Creates the code with these symbols, each with the length of its codeword. The lengths must form a complete
    /// code; those of the prefixes must form a valid one.
    pub(super) fn new(mut symbols: Vec<(u8, Symbol)>, prefix_lengths: &[u8]) -> Self {
        symbols.sort_unstable();
        let lengths: Vec<u8> = symbols.iter().map(|&(len, _)| len).collect();
        let symbols = symbols.into_iter().map(|(_, symbol)| symbol).collect();
        let code = StringCode::of_lengths(symbols, &lengths, prefix_lengths);
        code.expect("the lengths make codes")
    }

    /// Creates the code with these symbols in the order of their codewords, at least two.
    fn of_lengths(
        symbols: Vec<Symbol>,
        lengths: &[u8],
        prefix_lengths: &[u8],
    ) -> Result<Self, CodeError> {
        let symbol_code = Code::from_lengths(lengths)?;
        Ok(StringCode {
            table: SymbolTable::new(&symbol_code, &symbols),
            symbols,
            symbol_code,
            prefix_code: Code::from_lengths(prefix_lengths)?,
        })
    }

    /// Returns the bytes in a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.prefix_code.lengths().to_vec();
        let lengths = self.symbol_code.lengths();
        for len in 1..=MAX_CODE_LEN as u8 {
            let count = lengths.iter().filter(|&&l| l == len).count() as u16;
            bytes.extend(count.to_le_bytes());
        }
        for symbol in &self.symbols {
            bytes.push(symbol.header());
            bytes.extend(symbol.bytes());
        }
        bytes
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// The bytes are not a valid code.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, StringFault> {
        let fault = StringFault::Code;
        let (head, mut rest) = bytes.split_at_checked(HEAD_LEN).ok_or(fault)?;
        let (prefix_lengths, counts) = head.split_at(PREFIX_SYMBOLS);
        let mut lengths = Vec::new();
        for (count, len) in counts.chunks_exact(2).zip(1..) {
            let count = usize::from(u16::from_le_bytes([count[0], count[1]]));
            if lengths.len() + count > MAX_SYMBOLS {
                return Err(fault);
            }
            lengths.resize(lengths.len() + count, len);
        }
        // A complete code has at least two symbols, and every bit sequence starts with a codeword.
        if lengths.len() < 2 {
            return Err(fault);
        }
        let mut symbols = Vec::with_capacity(lengths.len());
        for _ in &lengths {
            let (&header, after) = rest.split_first().ok_or(fault)?;
            let symbol = Symbol::read(header, after).ok_or(fault)?;
            rest = &after[symbol.len()..];
            symbols.push(symbol);
        }
        if !rest.is_empty() {
            return Err(fault);
        }
        StringCode::of_lengths(symbols, &lengths, prefix_lengths).map_err(|_| fault)
    }

    pub(super) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    pub(super) fn symbol_code(&self) -> &Code {
        &self.symbol_code
    }

    pub(super) fn prefix_code(&self) -> &Code {
        &self.prefix_code
    }

    pub(super) fn table(&self) -> &SymbolTable {
        &self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a code of only the escape and the end.
    fn smallest() -> Vec<u8> {
        let mut bytes = vec![0; HEAD_LEN];
        bytes[PREFIX_ESCAPE] = 1;
        bytes[PREFIX_SYMBOLS] = 2;
        bytes.extend([0, 16]);
        bytes
    }

    #[test]
    fn refuses_malformed_codes() {
        assert_eq!(
            StringCode::from_bytes(&smallest()).unwrap().to_bytes(),
            smallest()
        );
        let refused = |change: fn(&mut Vec<u8>)| {
            let mut bytes = smallest();
            change(&mut bytes);
            StringCode::from_bytes(&bytes).unwrap_err() == StringFault::Code
        };
        assert!(
            refused(|bytes| bytes.truncate(HEAD_LEN - 1)),
            "no room for the head"
        );
        assert!(refused(|bytes| bytes[0] = 13), "too long a codeword");
        assert!(refused(|bytes| bytes[0] = 2), "an incomplete prefix code");
        assert!(refused(|bytes| bytes[PREFIX_SYMBOLS] = 1), "a lone symbol");
        assert!(
            refused(|bytes| bytes[PREFIX_SYMBOLS + 2] = 1),
            "an incomplete symbol code"
        );
        assert!(
            refused(|bytes| bytes[HEAD_LEN - 1] = 255),
            "more symbols than there can be"
        );
        assert!(
            refused(|bytes| bytes[HEAD_LEN] = 1 + 16),
            "a symbol that is cut off"
        );
        assert!(
            refused(|bytes| bytes[HEAD_LEN] = 32),
            "a header that means nothing"
        );
        assert!(refused(|bytes| bytes.push(0)), "a byte too many");
        assert!(
            refused(|bytes| bytes.truncate(HEAD_LEN + 1)),
            "a byte too few"
        );
    }
}
