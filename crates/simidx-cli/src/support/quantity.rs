//! Parses numbers in arguments, in the same way everywhere: sizes such as 64MiB, 1.5GB or 1e9, and counts such as 10M
//! or 8.6e9.

use std::ops::RangeInclusive;

/// The letters of the powers of a thousand, or of 1024. The next one would conflict with exponents.
const LETTERS: [&str; 5] = ["k", "m", "g", "t", "p"];

/// Parses a number of bytes.
pub(crate) fn size(text: &str) -> Result<u64, &'static str> {
    let size = split(text).and_then(|(number, unit)| {
        let unit = unit.trim_start();
        // The unit of bytes is optional.
        times(number, unit.strip_suffix('b').unwrap_or(unit))
    });
    size.map(|(bytes, _)| bytes)
        .ok_or("not a size below 2^64 bytes, such as 64MiB, 1.5GB, 10M or 1e9")
}

/// Parses the size of a block in bytes.
pub(crate) fn block_size(text: &str) -> Result<u32, &'static str> {
    u32::try_from(size(text)?).map_err(|_| "not a size from 128 bytes to 8KiB")
}

/// Returns a parser of whole numbers in a range.
pub(crate) fn count<T: Copy + Into<u64> + TryFrom<u64> + Send + Sync + 'static>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let (least, most): (u64, u64) = ((*range.start()).into(), (*range.end()).into());
    move |text| {
        let number = split(text)
            .and_then(|(number, unit)| times(number, &unit))
            .filter(|(number, is_whole)| *is_whole && (least..=most).contains(number));
        number
            .and_then(|(number, _)| T::try_from(number).ok())
            .ok_or_else(|| {
                let most = match most {
                    u64::MAX => "2^64 - 1".to_owned(),
                    most => most.to_string(),
                };
                format!("not a whole number from {least} to {most}")
            })
    }
}

/// Splits a text into the number without sign that it begins with, and its unit in lower case.
fn split(text: &str) -> Option<(&str, String)> {
    let is_of_number = |c: char| c.is_ascii_digit() || ".eE+-".contains(c);
    let (number, unit) = text.split_at(text.find(|c| !is_of_number(c)).unwrap_or(text.len()));
    let is_unsigned = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    is_unsigned.then(|| (number, unit.to_ascii_lowercase()))
}

/// Returns a number times its unit, which is a power of a thousand for a letter, and of 1024 for a letter with `i`: the
/// product, rounded down, and whether it is whole; `None` from 2^64 on.
fn times(number: &str, unit: &str) -> Option<(u64, bool)> {
    if let (Ok(whole), "") = (number.parse(), unit) {
        return Some((whole, true));
    }
    let power = |letter: &str| Some(LETTERS.iter().position(|known| *known == letter)? as i32 + 1);
    let product: f64 = match unit.strip_suffix('i') {
        Some(letter) => number.parse::<f64>().ok()? * 1024f64.powi(power(letter)?),
        None if unit.is_empty() => number.parse().ok()?,
        None => {
            // Of the exact product only the nearest floating-point number is taken.
            let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
            let exponent = exponent.parse::<i32>().ok()?;
            let exponent = i64::from(exponent) + 3 * i64::from(power(unit)?);
            format!("{digits}e{exponent}").parse().ok()?
        }
    };
    (product < u64::MAX as f64).then_some((product as u64, product.fract() == 0.0))
}

#[cfg(test)]
mod tests {
    use simidx::ByteSize;

    use super::*;

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
            ("1e3MB", 1_000_000_000),
            ("2.5e-1kB", 250),
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
            assert_eq!(size(text), Ok(bytes), "{text}");
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
            "∞",
            "nan",
        ] {
            assert!(size(text).is_err(), "{text}");
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
            ("1.005k", 1005),
            ("18446744073709551615", u64::MAX),
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
            assert_eq!(size(&ByteSize(1 << bits).to_string()), Ok(1 << bits));
        }
    }
}
