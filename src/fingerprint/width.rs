//! Widths that are known only at run time, and columns of fingerprints.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::Fingerprint;
use crate::error::Error;
use crate::options_error::OptionsError;

/// The number of bits of a fingerprint, 64 by default.
///
/// Values whose width is known only at run time are stored in the low bits of a `u128`.
///
/// ```
/// use simidx::Width;
///
/// let width: Width = "64".parse()?;
/// assert_eq!((width, width.bits(), width.bytes()), (Width::W64, 64, 8));
/// assert_eq!(width.parse_hex("c0ffee"), Some(0xc0ffee));
/// assert_eq!(width.parse_hex("10000000000000000"), None); // 17 digits
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 32 bits, a `u32`.
    W32,
    /// 64 bits, a `u64`.
    #[default]
    W64,
    /// 128 bits, a `u128`.
    W128,
}

/// Evaluates an expression with a type name bound to the type of a [`Width`].
macro_rules! with_type {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            $crate::Width::W32 => {
                type $F = u32;
                $body
            }
            $crate::Width::W64 => {
                type $F = u64;
                $body
            }
            $crate::Width::W128 => {
                type $F = u128;
                $body
            }
        }
    };
}

/// Evaluates an expression with a name bound to the contents of an enum that has a variant for each width.
macro_rules! by_width {
    ($Kind:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $Kind::W32($inner) => $body,
            $Kind::W64($inner) => $body,
            $Kind::W128($inner) => $body,
        }
    };
}

/// Makes a [`ByWidth`] of the value of an expression, whose type depends on the width.
macro_rules! for_width {
    ($width:expr, $made:expr) => {
        match $width {
            $crate::Width::W32 => $crate::fingerprint::ByWidth::W32($made),
            $crate::Width::W64 => $crate::fingerprint::ByWidth::W64($made),
            $crate::Width::W128 => $crate::fingerprint::ByWidth::W128($made),
        }
    };
}
pub(crate) use {by_width, for_width, with_type};

/// A value whose type depends on the width of fingerprints.
#[derive(Debug)]
pub(crate) enum ByWidth<A, B, C> {
    W32(A),
    W64(B),
    W128(C),
}

impl Width {
    /// All widths.
    pub const ALL: [Width; 3] = [Width::W32, Width::W64, Width::W128];

    /// Returns the width of a fingerprint type.
    pub const fn of<F: Fingerprint>() -> Self {
        match F::WIDTH {
            32 => Width::W32,
            64 => Width::W64,
            _ => Width::W128,
        }
    }

    /// Returns the width with this number of bits; `None` if there is none.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            32 => Some(Width::W32),
            64 => Some(Width::W64),
            128 => Some(Width::W128),
            _ => None,
        }
    }

    /// Returns the number of bits: 32, 64 or 128.
    pub const fn bits(self) -> u32 {
        match self {
            Width::W32 => 32,
            Width::W64 => 64,
            Width::W128 => 128,
        }
    }

    /// Returns the number of bytes: 4, 8 or 16.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// Returns the largest fingerprint, with every bit set.
    pub const fn max(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// Converts a fingerprint of any type to a value of this width.
    ///
    /// ```
    /// use simidx::Width;
    ///
    /// assert_eq!(Width::W32.takes(7_u64)?, 7);
    /// assert!(Width::W32.takes(1_u64 << 32).is_err());
    /// # Ok::<(), simidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WidthMismatch`] if it has more bits.
    #[inline]
    pub fn takes(self, fingerprint: impl Fingerprint) -> Result<u128, Error> {
        let value = fingerprint.to_u128();
        match value <= self.max() {
            true => Ok(value),
            false => Err(Error::WidthMismatch {
                index: self.bits(),
                requested: u128::BITS - value.leading_zeros(),
            }),
        }
    }

    /// Checks that fingerprints of an index of this width can be used with those of width `other`.
    ///
    /// # Errors
    /// [`Error::WidthMismatch`] if the widths differ.
    pub(crate) fn check(self, other: Width) -> Result<(), Error> {
        match self == other {
            true => Ok(()),
            false => Err(Error::WidthMismatch {
                index: self.bits(),
                requested: other.bits(),
            }),
        }
    }

    /// Parses 1 to f / 4 hexadecimal digits, as [`Fingerprint::parse_hex`] does.
    pub fn parse_hex(self, text: &str) -> Option<u128> {
        self.from_hex(text.as_bytes())
    }

    /// [`Width::parse_hex`] for ASCII bytes.
    pub fn from_hex(self, digits: &[u8]) -> Option<u128> {
        with_type!(self, F => F::from_hex(digits).map(F::to_u128))
    }

    /// Parses an unsigned decimal number that fits the width; `None` for anything else.
    pub fn parse_dec(self, text: &str) -> Option<u128> {
        with_type!(self, F => F::parse_dec(text).map(F::to_u128))
    }

    /// Returns the low bits of a value as f / 4 lower-case hexadecimal digits, as every command prints it.
    pub fn to_hex(self, value: u128) -> String {
        with_type!(self, F => F::from_u128(value).to_hex())
    }

    /// Appends the digits of [`to_hex`](Self::to_hex), without allocating for each value.
    pub fn extend_hex(self, value: u128, out: &mut Vec<u8>) {
        with_type!(self, F => F::from_u128(value).extend_hex(out));
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bits().fmt(f)
    }
}

impl FromStr for Width {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let bits = text.parse().ok();
        bits.and_then(Width::from_bits).ok_or_else(|| {
            let message = format!("fingerprints have 32, 64 or 128 bits, not {text:?}");
            OptionsError::new("width", message)
        })
    }
}

/// Converts a fingerprint of any type to type `F`.
///
/// # Errors
/// The errors of [`Width::takes`].
#[inline]
pub(crate) fn taken<F: Fingerprint>(fingerprint: impl Fingerprint) -> Result<F, Error> {
    Width::of::<F>().takes(fingerprint).map(F::from_u128)
}

/// A borrowed column of fingerprints of one width, the argument of functions over many.
///
/// ```
/// use simidx::{Column, Fingerprints, Width};
///
/// let values = [7u32, 42];
/// assert_eq!(Column::from(&values).width(), Width::W32);
/// let column = Fingerprints::W64(vec![7, 42]);
/// assert_eq!(Column::from(&column).len(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column<'a> {
    /// 32-bit fingerprints.
    W32(&'a [u32]),
    /// 64-bit fingerprints.
    W64(&'a [u64]),
    /// 128-bit fingerprints.
    W128(&'a [u128]),
}

impl<'a> Column<'a> {
    /// Returns the width of the fingerprints.
    pub const fn width(self) -> Width {
        match self {
            Column::W32(_) => Width::W32,
            Column::W64(_) => Width::W64,
            Column::W128(_) => Width::W128,
        }
    }

    /// Returns the number of fingerprints.
    pub fn len(self) -> usize {
        by_width!(Column, self, values => values.len())
    }

    /// Whether the column is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the fingerprint at a position, or `None` beyond the end.
    pub fn get(self, place: usize) -> Option<u128> {
        by_width!(Column, self, values => values.get(place).map(|value| value.to_u128()))
    }

    /// Returns the values in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u128> + Clone + use<'a> {
        (0..self.len()).map(move |place| self.get(place).expect("a place below the length"))
    }

    /// Returns the values at a range of positions.
    ///
    /// ```
    /// use simidx::Column;
    ///
    /// let column = Column::from(&[7_u32, 42, 43]);
    /// assert_eq!(column.slice(1..3), Column::from(&[42_u32, 43]));
    /// ```
    ///
    /// # Panics
    /// If the range ends beyond the length.
    pub fn slice(self, places: Range<usize>) -> Column<'a> {
        by_width!(Column, self, values => Column::from(&values[places]))
    }

    /// Divides the values into pieces of length `len`; the last may be shorter.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn chunks(self, len: usize) -> Box<dyn Iterator<Item = Column<'a>> + Send + 'a> {
        by_width!(Column, self, values => Box::new(values.chunks(len).map(Column::from)))
    }

    /// Returns the values if they have type `F`.
    pub fn as_slice<F: Fingerprint>(self) -> Option<&'a [F]> {
        F::of_column(self)
    }

    /// Returns the values in type `F`.
    ///
    /// # Errors
    /// [`Error::WidthMismatch`] if they have another type.
    pub(crate) fn values<F: Fingerprint>(self) -> Result<&'a [F], Error> {
        Width::of::<F>().check(self.width())?;
        Ok(self.as_slice().unwrap_or_default())
    }
}

impl<'a, F: Fingerprint> From<&'a [F]> for Column<'a> {
    fn from(values: &'a [F]) -> Self {
        F::as_column(values)
    }
}

impl<'a, F: Fingerprint, const N: usize> From<&'a [F; N]> for Column<'a> {
    fn from(values: &'a [F; N]) -> Self {
        Column::from(values.as_slice())
    }
}

impl<'a, F: Fingerprint> From<&'a Vec<F>> for Column<'a> {
    fn from(values: &'a Vec<F>) -> Self {
        Column::from(values.as_slice())
    }
}

impl<'a> From<&'a Fingerprints> for Column<'a> {
    fn from(values: &'a Fingerprints) -> Self {
        by_width!(Fingerprints, values, values => Column::from(values))
    }
}

/// An owned column of fingerprints of one width.
///
/// ```
/// use simidx::{Fingerprints, Width};
///
/// let mut column = Fingerprints::new(Width::W64);
/// column.push(7);
/// column.push(1 << 64); // what does not fit is cut off
/// assert_eq!(column, Fingerprints::W64(vec![7, 0]));
/// assert_eq!(column.iter().collect::<Vec<u128>>(), [7, 0]);
/// assert_eq!(column.as_slice::<u64>(), Some(&[7, 0][..]));
/// assert_eq!(column.as_slice::<u32>(), None);
/// assert_eq!(Fingerprints::from(vec![7u64, 0]), column);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fingerprints {
    /// 32-bit fingerprints.
    W32(Vec<u32>),
    /// 64-bit fingerprints.
    W64(Vec<u64>),
    /// 128-bit fingerprints.
    W128(Vec<u128>),
}

impl Fingerprints {
    /// Creates an empty column.
    pub const fn new(width: Width) -> Self {
        match width {
            Width::W32 => Fingerprints::W32(Vec::new()),
            Width::W64 => Fingerprints::W64(Vec::new()),
            Width::W128 => Fingerprints::W128(Vec::new()),
        }
    }

    /// Creates a column of the low bits of these values.
    pub(crate) fn collect(width: Width, values: impl IntoIterator<Item = u128>) -> Self {
        let mut column = Fingerprints::new(width);
        values.into_iter().for_each(|value| column.push(value));
        column
    }

    /// Returns the width of the fingerprints.
    pub const fn width(&self) -> Width {
        match self {
            Fingerprints::W32(_) => Width::W32,
            Fingerprints::W64(_) => Width::W64,
            Fingerprints::W128(_) => Width::W128,
        }
    }

    /// Returns the number of fingerprints.
    pub fn len(&self) -> usize {
        Column::from(self).len()
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the fingerprint at a position, or `None` beyond the end.
    pub fn get(&self, place: usize) -> Option<u128> {
        Column::from(self).get(place)
    }

    /// Appends the low bits of a value; higher bits are discarded.
    pub fn push(&mut self, value: u128) {
        by_width!(Fingerprints, self, values => values.push(Fingerprint::from_u128(value)));
    }

    /// Sorts the values on all threads of the current pool and removes duplicates.
    pub fn sort_distinct(&mut self) {
        by_width!(Fingerprints, self, values => {
            Fingerprint::sort(values);
            values.dedup();
        });
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        by_width!(Fingerprints, self, values => values.clear());
    }

    /// Returns the values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u128> + Clone {
        Column::from(self).iter()
    }

    /// Returns the values if they have type `F`.
    pub fn as_slice<F: Fingerprint>(&self) -> Option<&[F]> {
        Column::from(self).as_slice()
    }
}

impl<F: Fingerprint> From<Vec<F>> for Fingerprints {
    fn from(values: Vec<F>) -> Self {
        F::into_column(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_read_back_from_their_names() {
        for width in Width::ALL {
            assert_eq!(width.to_string().parse::<Width>().unwrap(), width);
            assert_eq!(Width::from_bits(width.bits()), Some(width));
            assert_eq!(Fingerprints::new(width).width(), width);
            assert_eq!(width.to_hex(u128::MAX), "ff".repeat(width.bytes()));
            assert_eq!(width.parse_hex(&width.to_hex(u128::MAX)), Some(width.max()));
            assert_eq!(width.parse_dec(&width.max().to_string()), Some(width.max()));
        }
        assert!("63".parse::<Width>().is_err());
    }
}
