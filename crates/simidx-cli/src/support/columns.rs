//! Ids as columns of lines between tabs show them.

use std::fmt;

use simidx::{Id, IdBuf};
use simidx_input::Escaped;

/// An id, with escapes in place of the characters that would break the line. The readers of lines undo them.
pub(crate) struct Column<'a>(Id<'a>);

impl<'a> Column<'a> {
    pub(crate) fn new(id: Id<'a>) -> Self {
        Column(id)
    }

    pub(crate) fn of(id: &'a IdBuf) -> Self {
        Column(id.as_id())
    }
}

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Number(number) => number.fmt(f),
            Id::String(string) => Escaped(string).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_in_its_column() {
        let hostile = IdBuf::String("x\n0\t0\t0\u{1b}[31m\\".into());
        assert_eq!(Column::of(&hostile).to_string(), r"x\n0\t0\t0\x1b[31m\\");
        let number = IdBuf::Number(7);
        assert_eq!(Column::of(&number).to_string(), "7");
    }
}
