//! JSON that terminals and programs read safely: cursor movements are escaped, and large numbers can be strings.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use simidx::index::QueryStats;
use simidx::{Id, IdBuf, Width};

/// The largest number up to which a floating-point number represents every whole number.
const LARGEST_EXACT: u64 = 1 << 53;

/// The style of JSON output. Control characters and characters that change the writing direction are always escaped.
///
/// ```
/// use simidx_output::JsonStyle;
///
/// let mut out = Vec::new();
/// JsonStyle { strings: true }.write(&mut out, &[1, u64::MAX])?;
/// assert_eq!(out, br#"[1,"18446744073709551615"]"#);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonStyle {
    /// Whether numeric ids, and other numbers that a floating-point number would round, are written as strings.
    pub strings: bool,
}

impl JsonStyle {
    /// Writes a value.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write(self, out: impl Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        let mut serializer = serde_json::Serializer::with_formatter(out, self);
        Ok(value.serialize(&mut serializer)?)
    }

    /// Writes an id.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write_id(self, mut out: impl Write, id: Id<'_>) -> io::Result<()> {
        match (id.as_str(), self.strings) {
            (Some(string), _) => self.write(out, string),
            (None, true) => write!(out, "\"{id}\""),
            (None, false) => write!(out, "{id}"),
        }
    }

    /// Writes an array of ids one by one, because a vector of JSON values would take many times their memory.
    ///
    /// # Errors
    /// Any error of `ids` or `out`, after which a part of the array may have been written.
    pub fn write_ids(
        self,
        out: &mut (impl Write + ?Sized),
        ids: impl Iterator<Item = simidx::Result<IdBuf>>,
    ) -> simidx::Result<()> {
        out.write_all(b"[")?;
        let mut is_first = true;
        for id in ids {
            if !std::mem::take(&mut is_first) {
                out.write_all(b",")?;
            }
            self.write_id(&mut *out, id?.as_id())?;
        }
        Ok(out.write_all(b"]")?)
    }

    /// Writes a match as an object with its distance, its fingerprint and its ids.
    ///
    /// # Errors
    /// Any error of `ids` or `out`, after which a part of the object may have been written.
    pub fn write_match(
        self,
        out: &mut (impl Write + ?Sized),
        fingerprint: (u128, Width),
        distance: u32,
        ids: impl Iterator<Item = simidx::Result<IdBuf>>,
    ) -> simidx::Result<()> {
        write!(out, r#"{{"distance":{distance},"fingerprint":""#)?;
        write_hex(out, fingerprint)?;
        out.write_all(br#"","ids":"#)?;
        self.write_ids(out, ids)?;
        Ok(out.write_all(b"}")?)
    }

    /// Writes the beginning of an answer object, up to its matches. Names are in alphabetical order.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn open_answer(
        self,
        out: &mut (impl Write + ?Sized),
        id: Option<Id<'_>>,
        stats: Option<QueryStats>,
    ) -> io::Result<()> {
        out.write_all(b"{")?;
        if let Some(stats) = stats {
            out.write_all(br#""blocks":"#)?;
            self.write(&mut *out, &stats.blocks)?;
            out.write_all(br#","candidates":"#)?;
            self.write(&mut *out, &stats.candidates)?;
            out.write_all(b",")?;
        }
        if let Some(id) = id {
            out.write_all(br#""id":"#)?;
            self.write_id(&mut *out, id)?;
            out.write_all(b",")?;
        }
        out.write_all(br#""matches":["#)
    }

    /// Writes the end of an answer object, after its matches.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn close_answer(
        self,
        out: &mut (impl Write + ?Sized),
        query: (u128, Width),
        is_without_features: bool,
        stats: Option<QueryStats>,
    ) -> io::Result<()> {
        out.write_all(b"]")?;
        if let Some(stats) = stats {
            out.write_all(br#","probes":"#)?;
            self.write(&mut *out, &stats.probes)?;
        }
        out.write_all(br#","query":""#)?;
        write_hex(out, query)?;
        out.write_all(b"\"")?;
        if is_without_features {
            out.write_all(br#","without_features":true"#)?;
        }
        out.write_all(b"}")
    }

    fn write_number<W: Write + ?Sized>(
        self,
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

fn write_hex(
    out: &mut (impl Write + ?Sized),
    (fingerprint, width): (u128, Width),
) -> io::Result<()> {
    let mut digits = Vec::with_capacity(32);
    width.extend_hex(fingerprint, &mut digits);
    out.write_all(&digits)
}

impl Formatter for JsonStyle {
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

/// Whether a character is valid in a JSON string but moves the cursor of some terminal. Each has four hexadecimal
/// digits.
fn moves(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl Serialize, strings: bool) -> String {
        let mut bytes = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut bytes, JsonStyle { strings });
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
