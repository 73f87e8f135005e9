//! The look-up table of a decoder of suffixes: maps the next bits of a stream to their first symbol.

use super::symbol::{END, SLOT_LEN, Symbol};
use crate::codec::huffman::{Code, MAX_CODE_LEN};

/// Entries of the table.
const ENTRIES: usize = 1 << MAX_CODE_LEN;

/// The symbols of a complete code, by the bits of their codewords.
#[derive(Debug, Clone)]
pub(super) struct SymbolTable {
    entries: Box<[Entry; ENTRIES]>,
    /// The symbols by number; those after the last are unused, and save a bounds check.
    symbols: Box<[Symbol; ENTRIES]>,
}

/// The number of a symbol, the length of its codeword and its header, so that the next codeword can be looked up before
/// the symbol is loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry(u32);

/// The positions of the length and the header in an entry.
const LEN_SHIFT: u32 = 12;
const HEADER_SHIFT: u32 = 16;

/// Marks an entry after which the string ends or a byte follows.
const NOT_INNER: u32 = 1 << 31;

impl SymbolTable {
    /// Creates the table of a complete code, whose symbols are given in the order of their numbers.
    pub(super) fn new(code: &Code, symbols: &[Symbol]) -> Self {
        let table = code.decode_table();
        let entry = |bits: usize| {
            let (number, len) = table.look_up((bits as u64) << (64 - MAX_CODE_LEN));
            let symbol = symbols[number as usize];
            let flag = if symbol.is_inner() { 0 } else { NOT_INNER };
            Entry(number | len << LEN_SHIFT | u32::from(symbol.header()) << HEADER_SHIFT | flag)
        };
        let entries: Vec<Entry> = (0..ENTRIES).map(entry).collect();
        let mut all = vec![Symbol::ESCAPE; ENTRIES];
        all[..symbols.len()].copy_from_slice(symbols);
        SymbolTable {
            entries: entries.try_into().expect("it has all entries"),
            symbols: all.try_into().expect("it has room for all"),
        }
    }

    /// Returns the entry for the top bits of a window.
    #[inline(always)]
    pub(super) fn look_up(&self, window: u64) -> Entry {
        self.entries[(window >> (64 - MAX_CODE_LEN)) as usize]
    }

    /// Returns the bytes of an entry's symbol, with padding.
    #[inline(always)]
    pub(super) fn slot(&self, entry: Entry) -> &[u8; SLOT_LEN] {
        self.symbols[entry.0 as usize % ENTRIES].slot()
    }
}

impl Entry {
    /// Returns the bits of the codeword.
    #[inline(always)]
    pub(super) fn code_len(self) -> usize {
        (self.0 >> LEN_SHIFT & 15) as usize
    }

    /// Returns the bytes of the symbol.
    #[inline(always)]
    pub(super) fn symbol_len(self) -> usize {
        (self.0 >> HEADER_SHIFT & 15) as usize
    }

    /// Returns whether the string continues after the bytes of the symbol.
    #[inline(always)]
    pub(super) fn is_inner(self) -> bool {
        self.0 & NOT_INNER == 0
    }

    /// Returns whether the string ends with the symbol.
    #[inline(always)]
    pub(super) fn ends(self) -> bool {
        self.0 >> HEADER_SHIFT & u32::from(END) != 0
    }
}
