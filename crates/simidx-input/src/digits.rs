//! Parses fingerprints in digits, and describes invalid ones.

use simidx::{Fingerprint, Width};

/// Largest number of characters in a quotation.
const QUOTED: usize = 40;

/// The radix of fingerprints.
#[derive(Clone, Copy, Debug)]
pub(super) enum Radix {
    Hex,
    Dec,
}

/// Parses hexadecimal digits.
#[inline]
pub(super) fn hex(text: &str, width: Width) -> Result<u128, String> {
    width.parse_hex(text).ok_or_else(|| hex_fault(text, width))
}

/// Returns the value of decimal digits, if they are valid and the value fits.
#[inline]
pub(super) fn dec_value<F: Fingerprint>(digits: &[u8]) -> Option<F> {
    F::parse_dec(std::str::from_utf8(digits).ok()?)
}

/// Parses decimal digits.
#[inline]
pub(super) fn dec(text: &str, width: Width) -> Result<u128, String> {
    width.parse_dec(text).ok_or_else(|| dec_fault(text, width))
}

/// Quotes and escapes a text, and truncates it if it is long.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("\"{}...\"", text[..end].escape_debug()),
        None => format!("\"{}\"", text.escape_debug()),
    }
}

#[cold]
fn hex_fault(text: &str, width: Width) -> String {
    let prefix = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let digits = prefix.unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return format!("{} is not a hexadecimal number", quote(text));
    }
    let (digits, limit) = (digits.len(), width.bytes() * 2);
    let quoted = quote(text);
    format!(
        "{quoted} has {digits} hexadecimal digits, at most {limit} fit a {width}-bit fingerprint"
    )
}

#[cold]
fn dec_fault(text: &str, width: Width) -> String {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{} is not a decimal number", quote(text));
    }
    format!("{} does not fit a {width}-bit fingerprint", quote(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read() {
        assert_eq!(hex("00fF", Width::W64), Ok(255));
        assert_eq!(hex("0x00000000000000fF", Width::W64), Ok(255));
        assert_eq!(dec("18446744073709551615", Width::W64), Ok(u64::MAX.into()));
    }

    #[test]
    fn bad_hexadecimal_numbers_are_explained() {
        let error = |text| hex(text, Width::W64).unwrap_err();
        assert_eq!(
            error("12345678901234567"),
            "\"12345678901234567\" has 17 hexadecimal digits, at most 16 fit a 64-bit fingerprint"
        );
        assert_eq!(
            error("0x12345678901234567"),
            "\"0x12345678901234567\" has 17 hexadecimal digits, at most 16 fit a 64-bit fingerprint"
        );
        for bad in ["", "xyz", "0x", " 1", "1 ", "-1", "+1"] {
            assert_eq!(error(bad), format!("{bad:?} is not a hexadecimal number"));
        }
    }

    #[test]
    fn bad_decimal_numbers_are_explained() {
        let error = |text| dec(text, Width::W32).unwrap_err();
        assert_eq!(
            error("4294967296"),
            "\"4294967296\" does not fit a 32-bit fingerprint"
        );
        for bad in ["", "ff", "1.0", "-1", "+1", " 1"] {
            assert_eq!(error(bad), format!("{bad:?} is not a decimal number"));
        }
    }

    #[test]
    fn quotations_are_cut_and_escaped() {
        assert_eq!(quote("a\u{1b}\"é"), r#""a\u{1b}\"é""#);
        assert_eq!(quote(&"é".repeat(40)), format!("\"{}\"", "é".repeat(40)));
        assert_eq!(quote(&"é".repeat(41)), format!("\"{}...\"", "é".repeat(40)));
    }
}
