//! JSON as the program prints it: nothing in it moves a cursor, and programs that would round large numbers can have
//! strings instead.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::ser::Formatter;

/// The largest number up to which floating-point numbers hold all whole ones.
const LARGEST_EXACT: u64 = 1 << 53;

/// Set once, before anything is printed.
static STRINGS: AtomicBool = AtomicBool::new(false);

/// From now on ids that are numbers are printed as strings, and so are other numbers that a floating-point number would
/// round.
pub(crate) fn use_strings() {
    STRINGS.store(true, Ordering::Relaxed);
}

/// Whether ids that are numbers are printed as strings.
pub(crate) fn are_ids_strings() -> bool {
    STRINGS.load(Ordering::Relaxed)
}

/// Writes a value.
///
/// # Errors
/// What `out` reports.
pub(crate) fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let style = Style {
        strings: are_ids_strings(),
    };
    let mut serializer = serde_json::Serializer::with_formatter(out, style);
    Ok(value.serialize(&mut serializer)?)
}

/// A value to be printed with others.
pub(crate) struct Json<'a, T>(pub(crate) &'a T);

impl<T: Serialize> fmt::Display for Json<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        write_json(&mut bytes, self.0).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

struct Style {
    /// Whether numbers that a floating-point number would round are strings.
    strings: bool,
}

impl Style {
    fn write_number<W: Write + ?Sized>(
        &self,
        out: &mut W,
        number: impl fmt::Display,
        size: u64,
    ) -> io::Result<()> {
        match self.strings && size > LARGEST_EXACT {
            true => write!(out, "\"{number}\""),
            false => write!(out, "{number}"),
        }
    }
}

impl Formatter for Style {
    fn write_u64<W: Write + ?Sized>(&mut self, out: &mut W, value: u64) -> io::Result<()> {
        self.write_number(out, value, value)
    }

    fn write_i64<W: Write + ?Sized>(&mut self, out: &mut W, value: i64) -> io::Result<()> {
        self.write_number(out, value, value.unsigned_abs())
    }

    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(moves) {
            let (plain, tail) = rest.split_at(at);
            let mut tail = tail.chars();
            let code_point = tail.next().map_or(0, u32::from);
            write!(out, "{plain}\\u{code_point:04x}")?;
            rest = tail.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Whether a character that JSON permits in strings moves the cursor of some terminal. All of them have four digits.
fn moves(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl Serialize, strings: bool) -> String {
        let mut bytes = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Style { strings });
        value.serialize(&mut serializer).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn large_numbers_are_strings_on_request() {
        let numbers = [0, 1 << 53, (1 << 53) + 1, u64::MAX];
        assert_eq!(
            written(&numbers, false),
            "[0,9007199254740992,9007199254740993,18446744073709551615]"
        );
        assert_eq!(
            written(&numbers, true),
            r#"[0,9007199254740992,"9007199254740993","18446744073709551615"]"#
        );
        assert_eq!(
            written(&(i64::MIN, -5), true),
            r#"["-9223372036854775808",-5]"#
        );
        assert_eq!(written(&1e300, true), "1e+300");
    }

    #[test]
    fn every_character_comes_back_and_none_moves_a_cursor() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b\"");
            let shown = written(&text, false);
            assert!(!shown.contains(moves), "{c:?}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
