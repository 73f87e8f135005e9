//! Fingerprints written in digits, and what to say of those that are not.

use simidx::Fingerprint;

/// Characters of a quotation before it is cut.
const QUOTED: usize = 40;

/// Reads hexadecimal digits, or says what is wrong with them.
///
/// A second `Fingerprint::parse_hex`, which checks each digit twice: this one took a fifth of its
/// time for 16 digits. The test `every_byte_is_judged_as_the_fingerprint_type_judges_it` holds the
/// two equal.
#[inline]
pub(super) fn hex<F: Fingerprint>(text: &str) -> Result<F, String> {
    hex_value(text.as_bytes()).ok_or_else(|| hex_fault::<F>(text))
}

/// The value of hexadecimal digits, if they are that and fit.
#[inline]
pub(super) fn hex_value<F: Fingerprint>(digits: &[u8]) -> Option<F> {
    if digits.is_empty() || digits.len() > F::BYTES * 2 {
        return None;
    }
    let (high, low) = digits.split_at(digits.len().saturating_sub(16));
    let (high, low) = (hex_word(high)?, hex_word(low)?);
    Some(F::from_u128(u128::from(high) << 64 | u128::from(low)))
}

/// The value of at most 16 hexadecimal digits.
#[inline]
fn hex_word(digits: &[u8]) -> Option<u64> {
    let (mut word, mut seen) = (0u64, 0u8);
    for &digit in digits {
        let value = HEX_VALUES[usize::from(digit)];
        seen |= value;
        word = word << 4 | u64::from(value & 15);
    }
    (seen < 16).then_some(word)
}

/// The value of each hexadecimal digit, 16 for every other byte.
const HEX_VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The value of decimal digits, if they are that and fit.
#[inline]
pub(super) fn dec_value<F: Fingerprint>(digits: &[u8]) -> Option<F> {
    F::parse_dec(std::str::from_utf8(digits).ok()?)
}

/// Whether the byte is a hexadecimal digit. Of random digits nothing can be predicted, so this does
/// not branch.
#[inline]
pub(super) fn is_hex(byte: u8) -> bool {
    HEX_VALUES[usize::from(byte)] < 16
}

/// The value of as many hexadecimal digits as the width has, if they are that: eight at a time.
#[inline]
pub(super) fn full_hex<F: Fingerprint>(digits: &[u8]) -> Option<F> {
    let (eights, rest) = digits.as_chunks::<8>();
    if eights.len() * 4 != F::BYTES || !rest.is_empty() {
        return None;
    }
    let mut value = 0;
    for &eight in eights {
        value = value << 32 | u128::from(eight_hex(eight)?);
    }
    Some(F::from_u128(value))
}

/// The value of eight hexadecimal digits, each worked on in its byte of a word.
#[inline]
fn eight_hex(digits: [u8; 8]) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The first digit, the most significant one, in the top byte.
    let digits = u64::from_be_bytes(digits);
    let (low, high) = (digits & (0xf * EACH), digits & (0xf0 * EACH));
    // Letters have bit 6 and stand in the columns 4 and 6 of the code table, digits in column 3.
    let letter = (digits >> 6) & EACH;
    let column = (high | letter << 5) ^ (0x30 * EACH + 0x30 * letter);
    // Digits have a low half up to 9, letters one from 1 to 6.
    let above = (low + 6 * EACH + 3 * letter) & (0x10 * EACH);
    let below = !((low | (0x80 * EACH)) - letter) & (0x80 * EACH);
    if column | above | below != 0 {
        return None;
    }
    let nibbles = low + 9 * letter;
    let bytes = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
    let pairs = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    Some((pairs | pairs >> 16) as u32)
}

/// Reads decimal digits, or says what is wrong with them.
#[inline]
pub(super) fn dec<F: Fingerprint>(text: &str) -> Result<F, String> {
    F::parse_dec(text).ok_or_else(|| dec_fault::<F>(text))
}

/// The text in quotation marks, escaped, and cut if it is long.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("\"{}...\"", text[..end].escape_debug()),
        None => format!("\"{}\"", text.escape_debug()),
    }
}

#[cold]
fn hex_fault<F: Fingerprint>(text: &str) -> String {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return format!("{} is not a hexadecimal number", quote(text));
    }
    let (digits, limit, width) = (text.len(), F::BYTES * 2, F::WIDTH);
    let quoted = quote(text);
    format!(
        "{quoted} has {digits} hexadecimal digits, at most {limit} fit a {width}-bit fingerprint"
    )
}

#[cold]
fn dec_fault<F: Fingerprint>(text: &str) -> String {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{} is not a decimal number", quote(text));
    }
    format!(
        "{} does not fit a {}-bit fingerprint",
        quote(text),
        F::WIDTH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read() {
        assert_eq!(hex::<u64>("00fF"), Ok(255));
        assert_eq!(dec::<u64>("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn bad_hexadecimal_numbers_are_explained() {
        let error = |text| hex::<u64>(text).unwrap_err();
        assert_eq!(
            error("12345678901234567"),
            "\"12345678901234567\" has 17 hexadecimal digits, at most 16 fit a 64-bit fingerprint"
        );
        for bad in ["", "xyz", "0x1", " 1", "1 ", "-1", "+1"] {
            assert_eq!(error(bad), format!("{bad:?} is not a hexadecimal number"));
        }
    }

    #[test]
    fn bad_decimal_numbers_are_explained() {
        let error = |text| dec::<u32>(text).unwrap_err();
        assert_eq!(
            error("4294967296"),
            "\"4294967296\" does not fit a 32-bit fingerprint"
        );
        for bad in ["", "ff", "1.0", "-1", "+1", " 1"] {
            assert_eq!(error(bad), format!("{bad:?} is not a decimal number"));
        }
    }

    #[test]
    fn every_byte_is_judged_as_the_fingerprint_type_judges_it() {
        for c in (0..=255u8).map(char::from) {
            for text in [
                format!("{c}"),
                format!("1{c}f"),
                format!("{c}{}", "9".repeat(31)),
            ] {
                assert_eq!(hex::<u128>(&text).ok(), u128::parse_hex(&text), "{text:?}");
                assert_eq!(hex::<u32>(&text).ok(), u32::parse_hex(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn eight_digits_are_judged_as_one_by_one() {
        for byte in 0..=255 {
            assert_eq!(is_hex(byte), byte.is_ascii_hexdigit());
            for at in 0..8 {
                let mut digits = *b"0aF95fA1";
                digits[at] = byte;
                assert_eq!(full_hex::<u32>(&digits), hex_value(&digits), "{digits:?}");
            }
        }
        let digits = b"0123456789abcdefFEDCBA9876543210";
        assert_eq!(full_hex::<u128>(digits), hex_value(digits));
        assert_eq!(full_hex::<u64>(&digits[..16]), hex_value(&digits[..16]));
        assert_eq!(full_hex::<u64>(&digits[..8]), None);
    }

    #[test]
    fn quotations_are_cut_and_escaped() {
        assert_eq!(quote("a\u{1b}\"é"), r#""a\u{1b}\"é""#);
        assert_eq!(quote(&"é".repeat(40)), format!("\"{}\"", "é".repeat(40)));
        assert_eq!(quote(&"é".repeat(41)), format!("\"{}...\"", "é".repeat(40)));
    }
}
