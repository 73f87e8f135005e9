//! A symbol of a string code: a few bytes with one codeword.

/// The most bytes of a symbol.
pub(super) const MAX_SYMBOL_LEN: usize = 15;

/// Bytes of a symbol in memory.
pub(super) const SLOT_LEN: usize = MAX_SYMBOL_LEN + 1;

/// In a header: the string ends after the symbol.
pub(super) const END: u8 = 16;

/// The bytes of a symbol, then zeros, then its header: the number of bytes, plus 16 if the string ends after them.
///
/// A decoder copies all sixteen bytes and keeps as many as the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol([u8; SLOT_LEN]);

impl Symbol {
    /// Any single byte, whose value follows the codeword.
    pub(super) const ESCAPE: Symbol = Symbol([0; SLOT_LEN]);

    /// No bytes, and the end of the string.
    pub(super) const EMPTY_END: Symbol = {
        let mut slot = [0; SLOT_LEN];
        slot[MAX_SYMBOL_LEN] = END;
        Symbol(slot)
    };

    /// Creates a symbol of at most [`MAX_SYMBOL_LEN`] bytes.
    pub(super) fn new(bytes: &[u8], ends: bool) -> Self {
        let mut slot = [0; SLOT_LEN];
        slot[..bytes.len()].copy_from_slice(bytes);
        slot[MAX_SYMBOL_LEN] = bytes.len() as u8 | if ends { END } else { 0 };
        Symbol(slot)
    }

    /// Creates the symbol with this header, whose bytes are the next of `rest`.
    pub(super) fn read(header: u8, rest: &[u8]) -> Option<Self> {
        if header >= 2 * END {
            return None;
        }
        let bytes = rest.get(..usize::from(header % END))?;
        Some(Symbol::new(bytes, header >= END))
    }

    /// Joins this symbol and the next into one, if it is not too long.
    pub(super) fn joined(&self, next: &Symbol) -> Option<Self> {
        let len = self.len() + next.len();
        if self.ends() || len > MAX_SYMBOL_LEN {
            return None;
        }
        let mut slot = self.0;
        slot[self.len()..len].copy_from_slice(next.bytes());
        slot[MAX_SYMBOL_LEN] = self.header() + next.header();
        Some(Symbol(slot))
    }

    #[inline(always)]
    pub(super) fn slot(&self) -> &[u8; SLOT_LEN] {
        &self.0
    }

    #[inline(always)]
    pub(super) fn header(&self) -> u8 {
        self.0[MAX_SYMBOL_LEN]
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        usize::from(self.header() % END)
    }

    #[inline(always)]
    pub(super) fn ends(&self) -> bool {
        self.header() >= END
    }

    /// Returns whether the symbol has bytes and the string continues after it, as for most.
    #[inline(always)]
    pub(super) fn is_inner(&self) -> bool {
        self.header().wrapping_sub(1) < END - 1
    }

    /// Returns whether the symbol is a single byte and the string continues after it.
    pub(super) fn is_byte(&self) -> bool {
        self.header() == 1
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0[..self.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_up_to_the_longest_and_never_after_an_end() {
        let (a, b) = (Symbol::new(b"abc", false), Symbol::new(b"de", true));
        let both = a.joined(&b).unwrap();
        assert_eq!((both.bytes(), both.ends()), (&b"abcde"[..], true));
        assert_eq!(
            a.joined(&Symbol::EMPTY_END),
            Some(Symbol::new(b"abc", true))
        );
        assert_eq!(b.joined(&a), None);
        let long = Symbol::new(&[7; 13], false);
        assert!(long.joined(&b).is_some() && long.joined(&a).is_none());
    }

    #[test]
    fn reads_what_its_header_says() {
        assert_eq!(Symbol::read(0, b"xy"), Some(Symbol::ESCAPE));
        assert_eq!(Symbol::read(16, b""), Some(Symbol::EMPTY_END));
        assert_eq!(Symbol::read(18, b"xyz"), Some(Symbol::new(b"xy", true)));
        assert_eq!(Symbol::read(3, b"xy"), None);
        assert_eq!(Symbol::read(32, b"xy"), None);
    }

    #[test]
    fn inner_symbols_have_bytes_and_no_end() {
        assert!(Symbol::new(b"a", false).is_inner() && Symbol::new(&[0; 15], false).is_inner());
        assert!(!Symbol::ESCAPE.is_inner() && !Symbol::EMPTY_END.is_inner());
        assert!(!Symbol::new(b"a", true).is_inner());
    }
}
