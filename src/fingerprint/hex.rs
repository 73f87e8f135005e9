//! Reading and writing of hexadecimal digits of fingerprints.

use super::Fingerprint;

/// Parses 1 to `F::BYTES * 2` hexadecimal digits of either case, optionally after `0x`.
#[inline]
pub(super) fn parse<F: Fingerprint>(text: &[u8]) -> Option<F> {
    let full = F::BYTES * 2;
    if text.len() == full
        && let Some(value) = parse_eights(text)
    {
        return Some(value);
    }
    let digits = match text {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    if digits.is_empty() || digits.len() > full {
        return None;
    }
    // One test at the end, because the processor could not predict one for each digit.
    let (mut value, mut seen) = (F::ZERO, 0);
    for &digit in digits {
        let digit = VALUES[usize::from(digit)];
        seen |= digit;
        value = value << 4 | F::from_u128(u128::from(digit & 15));
    }
    (seen < 16).then_some(value)
}

/// Parses a multiple of eight digits.
#[inline]
fn parse_eights<F: Fingerprint>(digits: &[u8]) -> Option<F> {
    let mut value = 0;
    for &eight in digits.as_chunks().0 {
        value = value << 32 | u128::from(parse_eight(eight)?);
    }
    Some(F::from_u128(value))
}

/// Parses eight digits, each in its byte of a word.
#[inline]
fn parse_eight(digits: [u8; 8]) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The first digit, the most significant, goes into the top byte.
    let digits = u64::from_be_bytes(digits);
    let (low, high) = (digits & (0xf * EACH), digits & (0xf0 * EACH));
    // Letters have bit 6 and are in columns 4 and 6 of the code table, digits in column 3.
    let letter = (digits >> 6) & EACH;
    let column = (high | letter << 5) ^ (0x30 * EACH + 0x30 * letter);
    // The low half of a digit is at most 9, that of a letter 1 to 6.
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

/// Returns the `F::BYTES * 2` lower-case digits of a value, most significant first.
#[inline]
pub(super) fn digits<F: Fingerprint>(value: F) -> impl ExactSizeIterator<Item = char> {
    let value = value.to_u128();
    let places = 0..F::WIDTH / 4;
    places.rev().map(move |place| {
        let digit = value >> (4 * place) & 15;
        char::from(b"0123456789abcdef"[digit as usize])
    })
}

/// The value of each hexadecimal digit; 16 for every other byte.
const VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses with the standard library, which accepts signs too.
    fn expected<F: Fingerprint>(digits: &[u8]) -> Option<F> {
        let text = std::str::from_utf8(digits).ok()?;
        let prefix = text.strip_prefix("0x").or(text.strip_prefix("0X"));
        let text = prefix.unwrap_or(text);
        let fits = text.len() <= F::BYTES * 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok();
        value.filter(|_| fits).map(F::from_u128)
    }

    #[test]
    fn every_byte_in_every_place_is_judged() {
        for length in 0..=34 {
            for place in 0..length {
                for byte in 0..=255 {
                    let mut digits = b"0aF95fA1".repeat(5)[..length].to_vec();
                    digits[place] = byte;
                    assert_eq!(parse::<u32>(&digits), expected(&digits), "{digits:?}");
                    assert_eq!(parse::<u64>(&digits), expected(&digits), "{digits:?}");
                    assert_eq!(parse::<u128>(&digits), expected(&digits), "{digits:?}");
                }
            }
        }
        assert_eq!(parse::<u64>(b""), None);
    }

    #[test]
    fn a_prefix_is_no_digit() {
        for length in 0..=34 {
            let digits = &b"c0ffee12".repeat(5)[..length];
            for prefix in [
                "0x", "0X", "x", "0", "00", "0x0x", "0x0X", "x0", "-0x", "0x+", "0x ",
            ] {
                let text = [prefix.as_bytes(), digits].concat();
                assert_eq!(parse::<u32>(&text), expected(&text), "{prefix} {length}");
                assert_eq!(parse::<u64>(&text), expected(&text), "{prefix} {length}");
                assert_eq!(parse::<u128>(&text), expected(&text), "{prefix} {length}");
            }
        }
        assert_eq!(parse::<u64>(b"0xfF"), Some(255));
        assert_eq!(parse::<u64>(b"0x"), None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bit in 0..128 {
            let value = u128::MAX >> bit ^ 0x5a << bit;
            let text = value.to_hex();
            assert_eq!(text, format!("{value:032x}"));
            assert_eq!(parse(text.as_bytes()), Some(value));
            assert_eq!((value as u32).to_hex(), format!("{:08x}", value as u32));
        }
    }
}
