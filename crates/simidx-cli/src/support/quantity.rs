//! Parses numbers in arguments, in the same way everywhere: sizes such as 64MiB, 1.5GB or 1e9, and counts such as 10M
//! or 8.6e9.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use simidx::ByteSize;

/// Largest number of digits that fits the arithmetic.
const MOST_DIGITS: usize = 28;

/// The letters of the powers of a thousand, or of 1024. The next one would conflict with exponents.
const LETTERS: &str = "kmgtp";

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = Number::parse(text).and_then(|(number, unit)| {
            let unit = unit.trim_start().to_ascii_lowercase();
            // The unit of bytes is optional.
            let prefix = unit.strip_suffix('b').unwrap_or(&unit);
            number.times(factor(prefix)?, false)
        });
        size.map(Size)
            .ok_or("not a size below 2^64 bytes, such as 64MiB, 1.5GB, 10M or 1e9")
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize(self.0).fmt(f)
    }
}

/// Parses the size of a block in bytes.
pub(crate) fn block_size(text: &str) -> Result<u32, &'static str> {
    let Size(bytes) = text.parse()?;
    u32::try_from(bytes).map_err(|_| "not a size from 128 bytes to 8KiB")
}

/// Returns a parser of whole numbers in a range.
pub(crate) fn count<T: Copy + Into<u64> + TryFrom<u64> + Send + Sync + 'static>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let (least, most): (u64, u64) = ((*range.start()).into(), (*range.end()).into());
    move |text| {
        let number = Number::parse(text)
            .and_then(|(number, unit)| number.times(factor(&unit.to_ascii_lowercase())?, true))
            .filter(|number| (least..=most).contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                let most = match most {
                    u64::MAX => "2^64 - 1".to_owned(),
                    most => most.to_string(),
                };
                format!("not a whole number from {least} to {most}")
            })
    }
}

/// Returns the factor of a unit: a power of a thousand for a letter, of 1024 for a letter with `i`.
fn factor(unit: &str) -> Option<u128> {
    let mut chars = unit.chars();
    let Some(letter) = chars.next() else {
        return Some(1);
    };
    let power = LETTERS.find(letter)? as u32 + 1;
    match chars.as_str() {
        "" => Some(1000u128.pow(power)),
        "i" => Some(1024u128.pow(power)),
        _ => None,
    }
}

/// A decimal number without sign: some digits times a power of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    digits: u128,
    power: i32,
}

impl Number {
    /// Parses the number that a text begins with. Returns it with the rest of the text.
    fn parse(text: &str) -> Option<(Number, &str)> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let digits = [whole, fraction].concat();
        if digits.is_empty() || digits.trim_start_matches('0').len() > MOST_DIGITS {
            return None;
        }
        // An `e` without digits after it is a unit.
        let (exponent, rest) = exponent(rest).unwrap_or((0, rest));
        let number = Number {
            digits: digits.parse().ok()?,
            power: exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?,
        };
        Some((number, rest))
    }

    /// Returns the product with a factor, rounded down, if it fits and is whole or need not be.
    fn times(self, factor: u128, must_be_whole: bool) -> Option<u64> {
        if self.digits == 0 {
            return Some(0);
        }
        let product = self.digits.checked_mul(factor)?;
        let power = 10u128.checked_pow(self.power.unsigned_abs())?;
        let product = match self.power {
            0.. => product.checked_mul(power)?,
            _ if must_be_whole && product % power != 0 => return None,
            _ => product / power,
        };
        u64::try_from(product).ok()
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

/// Parses the power of ten after an `e`. Returns it with the rest of the text.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let text = text.strip_prefix(['e', 'E'])?;
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (_, rest) = split_digits(unsigned);
    let power = &text[..text.len() - rest.len()];
    Some((power.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Option<u64> {
        text.parse().ok().map(|Size(bytes)| bytes)
    }

    fn number(text: &str) -> Option<u64> {
        count(0..=u64::MAX)(text).ok()
    }

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1234", 1234),
            ("64MiB", 64 << 20),
            ("64 MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("64Mi", 64 << 20),
            ("10M", 10_000_000),
            ("10MB", 10_000_000),
            ("1.5GB", 1_500_000_000),
            (".5k", 500),
            ("1e9", 1_000_000_000),
            ("1E9B", 1_000_000_000),
            ("2.5e3KiB", 2500 << 10),
            ("1PiB", 1 << 50),
            ("1.0001k", 1000),
            ("100B", 100),
            ("18446744073709551615", u64::MAX),
            ("000000000000000000000000000000000001", 1),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "x",
            "1x",
            "1KK",
            "iB",
            "1iB",
            "B",
            "1 e9",
            "1e",
            "1EiB",
            "16384PiB",
            "1e20",
            "0x10",
            "1e-5x",
            "1,5GB",
            "1e999999999999",
            "1.5e-2147483648",
            "∞",
            "nan",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_whole() {
        for (text, expected) in [
            ("10000000", 10_000_000),
            ("1e7", 10_000_000),
            ("8.6e9", 8_600_000_000),
            ("10M", 10_000_000),
            ("10Mi", 10 << 20),
            ("1.5k", 1500),
            ("0e5", 0),
            ("10e-1", 1),
            ("1.8446744073709551615e19", u64::MAX),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in [
            "", "-1", "1.5", "1e-1", "1B", "1MB", "1 M", "1e20", "0x1", "inf",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        let least = count(1..=u64::MAX);
        assert_eq!(
            least("0").unwrap_err(),
            "not a whole number from 1 to 2^64 - 1"
        );
        let few = count(0u32..=128);
        assert_eq!(few("129").unwrap_err(), "not a whole number from 0 to 128");
        assert_eq!(few("128"), Ok(128));
    }

    #[test]
    fn what_is_shown_exactly_is_read_back() {
        for bits in 10..60 {
            let size = Size(1 << bits);
            assert_eq!(size.to_string().parse(), Ok(size));
        }
    }
}
