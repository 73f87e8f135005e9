//! Fingerprints: simhash or MinHash values of 32, 64 or 128 bits.

use std::fmt;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use rdst::RadixSort;

mod hex;
mod width;

pub(crate) use width::{ByWidth, by_width, for_width, taken, with_type};
pub use width::{Column, Fingerprints, Width};

mod sealed {
    /// Prevents other implementations. Its methods are not public.
    pub trait Sealed: Sized {
        /// Returns the values of a column of this width.
        fn of_column(column: super::Column<'_>) -> Option<&[Self]>;
        /// Returns the column of some values.
        fn as_column(values: &[Self]) -> super::Column<'_>;
        /// Converts values into a column.
        fn into_column(values: Vec<Self>) -> super::Fingerprints;
    }
}

/// A fingerprint of f bits: `u32`, `u64` or `u128`.
///
/// Bits are numbered from 0, the least significant. The trait is sealed, because the file format defines only these
/// three widths (spec, section 3).
pub trait Fingerprint:
    sealed::Sealed
    + Copy
    + Default
    + Eq
    + Ord
    + Hash
    + fmt::Debug
    + fmt::LowerHex
    + fmt::Display
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    /// Bits in a fingerprint, f.
    const WIDTH: u32;
    /// Bytes in a fingerprint, f / 8.
    const BYTES: usize;
    /// The fingerprint with every bit clear.
    const ZERO: Self;
    /// The fingerprint with every bit set.
    const MAX: Self;

    /// Returns the number of bits in which two fingerprints differ.
    ///
    /// ```
    /// use simidx::Fingerprint;
    /// assert_eq!(0b1011u64.distance(0b0010), 2);
    /// ```
    #[inline]
    fn distance(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }

    /// Returns the number of set bits.
    fn count_ones(self) -> u32;

    /// Returns the number of clear bits above the highest set one.
    fn leading_zeros(self) -> u32;

    /// Returns the number of clear bits below the lowest set one.
    fn trailing_zeros(self) -> u32;

    /// Rotates the bits left by `count`.
    fn rotate_left(self, count: u32) -> Self;

    /// Rotates the bits right by `count`.
    fn rotate_right(self, count: u32) -> Self;

    /// Returns the sum modulo 2^f.
    fn wrapping_add(self, other: Self) -> Self;

    /// Returns the difference modulo 2^f.
    fn wrapping_sub(self, other: Self) -> Self;

    /// Returns the low bits of `value`; higher bits are discarded.
    fn from_u128(value: u128) -> Self;

    /// Returns the value in 128 bits.
    fn to_u128(self) -> u128;

    /// Reads `BYTES` little-endian bytes; `None` unless the slice is exactly that long.
    fn from_le_slice(bytes: &[u8]) -> Option<Self>;

    /// Appends the `BYTES` little-endian bytes of the value.
    fn extend_le(self, out: &mut Vec<u8>);

    /// Parses 1 to f / 4 hexadecimal digits of either case, optionally after `0x`; `None` for anything else.
    ///
    /// ```
    /// use simidx::Fingerprint;
    /// assert_eq!(u64::parse_hex("00000000000000fF"), Some(255));
    /// assert_eq!(u64::parse_hex("0xff"), Some(255));
    /// assert_eq!(u64::parse_hex("00000000000000000"), None); // 17 digits
    /// ```
    #[inline]
    fn parse_hex(text: &str) -> Option<Self> {
        Self::from_hex(text.as_bytes())
    }

    /// [`Fingerprint::parse_hex`] for ASCII bytes. Takes 2 to 4 ns for as many digits as the width has.
    ///
    /// ```
    /// use simidx::Fingerprint;
    /// assert_eq!(u32::from_hex(b"00c0ffee"), Some(0xc0ffee));
    /// assert_eq!(u32::from_hex(b"c0ffee\n"), None);
    /// ```
    #[inline]
    fn from_hex(digits: &[u8]) -> Option<Self> {
        hex::parse(digits)
    }

    /// Parses an unsigned decimal number that fits the width; `None` for anything else.
    fn parse_dec(text: &str) -> Option<Self>;

    /// Sorts in place on all threads of the current pool, 10 to 20 ns a value. It is part of the trait so that the
    /// sorting library is compiled once for each width, not again in every crate that builds an index.
    fn sort(values: &mut [Self]);

    /// Returns the value as f / 4 lower-case hexadecimal digits, as every command prints it.
    fn to_hex(self) -> String {
        hex::digits(self).collect()
    }

    /// Appends the digits of [`to_hex`](Self::to_hex), without allocating for each value.
    ///
    /// ```
    /// use simidx::Fingerprint;
    /// let mut line = Vec::new();
    /// 0xc0ffee_u32.extend_hex(&mut line);
    /// assert_eq!(line, b"00c0ffee");
    /// ```
    fn extend_hex(self, out: &mut Vec<u8>) {
        out.extend(hex::digits(self).map(|digit| digit as u8));
    }
}

macro_rules! impl_fingerprint {
    ($($t:ty: $Variant:ident),*) => {$(
        impl sealed::Sealed for $t {
            fn of_column(column: Column<'_>) -> Option<&[Self]> {
                match column {
                    Column::$Variant(values) => Some(values),
                    _ => None,
                }
            }

            fn as_column(values: &[Self]) -> Column<'_> {
                Column::$Variant(values)
            }

            fn into_column(values: Vec<Self>) -> Fingerprints {
                Fingerprints::$Variant(values)
            }
        }

        impl Fingerprint for $t {
            const WIDTH: u32 = <$t>::BITS;
            const BYTES: usize = (<$t>::BITS / 8) as usize;
            const ZERO: Self = 0;
            const MAX: Self = <$t>::MAX;

            #[inline]
            fn count_ones(self) -> u32 { <$t>::count_ones(self) }

            #[inline]
            fn leading_zeros(self) -> u32 { <$t>::leading_zeros(self) }

            #[inline]
            fn trailing_zeros(self) -> u32 { <$t>::trailing_zeros(self) }

            #[inline]
            fn rotate_left(self, count: u32) -> Self { <$t>::rotate_left(self, count) }

            #[inline]
            fn rotate_right(self, count: u32) -> Self { <$t>::rotate_right(self, count) }

            #[inline]
            fn wrapping_add(self, other: Self) -> Self { <$t>::wrapping_add(self, other) }

            #[inline]
            fn wrapping_sub(self, other: Self) -> Self { <$t>::wrapping_sub(self, other) }

            #[inline]
            fn from_u128(value: u128) -> Self { value as $t }

            #[inline]
            fn to_u128(self) -> u128 { u128::from(self) }

            #[inline]
            fn from_le_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$t>::from_le_bytes)
            }

            #[inline]
            fn extend_le(self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_le_bytes()) }

            fn sort(values: &mut [Self]) {
                values.radix_sort_builder().with_low_mem_tuner().sort();
            }

            fn parse_dec(text: &str) -> Option<Self> {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                if digits { text.parse().ok() } else { None }
            }
        }
    )*};
}

impl_fingerprint!(u32: W32, u64: W64, u128: W128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_padded_and_read_back() {
        assert_eq!(0x0Au32.to_hex(), "0000000a");
        assert_eq!(u128::parse_hex(&u128::MAX.to_hex()), Some(u128::MAX));
        let mut pushed = Vec::new();
        (0x1234_5678_9abc_def0_u128 << 60).extend_hex(&mut pushed);
        assert_eq!(
            pushed,
            (0x1234_5678_9abc_def0_u128 << 60).to_hex().as_bytes()
        );
    }

    #[test]
    fn hex_refuses_signs_lone_prefixes_and_extra_digits() {
        for bad in [
            "",
            "+1",
            "-1",
            "0x",
            "0x+1",
            "0x0x1",
            "g",
            " 1",
            "123456789",
            "0x123456789",
        ] {
            assert_eq!(u32::parse_hex(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn decimal_refuses_what_does_not_fit() {
        assert_eq!(u32::parse_dec("4294967295"), Some(u32::MAX));
        for bad in ["", "4294967296", "+1", "1a", " 1"] {
            assert_eq!(u32::parse_dec(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn little_endian_bytes_must_be_exact() {
        let mut bytes = Vec::new();
        0x0102_0304u32.extend_le(&mut bytes);
        assert_eq!(bytes, [4, 3, 2, 1]);
        assert_eq!(u32::from_le_slice(&bytes), Some(0x0102_0304));
        assert_eq!(u32::from_le_slice(&bytes[1..]), None);
    }
}
