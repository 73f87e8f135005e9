//! Fingerprints as C has them: single ones in two words, many in an array of their width.

use std::borrow::Cow;
use std::ffi::c_void;

use simidx::{Column, Fingerprint, Width};

use crate::border::array;
use crate::status::{Failure, Result};

/// A fingerprint of any width in two words. The upper one is 0 for fingerprints of 32 and 64 bits; of 32 bits, also the upper
/// half of the lower one.
///
/// An array of 128-bit fingerprints is an array of these: the lower word first. On little-endian machines this is how
/// `unsigned __int128` lies in memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct simidx_fingerprint {
    /// Bits 0 to 63.
    pub low: u64,
    /// Bits 64 to 127.
    pub high: u64,
}

impl From<u128> for simidx_fingerprint {
    fn from(value: u128) -> Self {
        simidx_fingerprint {
            low: value as u64,
            high: (value >> 64) as u64,
        }
    }
}

impl From<simidx_fingerprint> for u128 {
    fn from(value: simidx_fingerprint) -> Self {
        u128::from(value.high) << 64 | u128::from(value.low)
    }
}

/// The width of so many bits.
pub(crate) fn known_width(bits: u32) -> Result<Width> {
    Width::from_bits(bits).ok_or_else(|| {
        Failure::argument(format!(
            "width is {bits}; fingerprints have 32, 64 or 128 bits"
        ))
    })
}

/// A type of fingerprints with its arrays in C.
pub(crate) trait InC: Fingerprint + Send + Sync + 'static {
    /// An element of an array.
    type Element: Copy;

    /// An array of the library, without a copy where both have the same elements.
    fn from_c(array: &[Self::Element]) -> Cow<'_, [Self]>;

    fn to_c(self) -> Self::Element;
}

impl InC for u32 {
    type Element = u32;

    fn from_c(array: &[u32]) -> Cow<'_, [u32]> {
        Cow::Borrowed(array)
    }

    fn to_c(self) -> u32 {
        self
    }
}

impl InC for u64 {
    type Element = u64;

    fn from_c(array: &[u64]) -> Cow<'_, [u64]> {
        Cow::Borrowed(array)
    }

    fn to_c(self) -> u64 {
        self
    }
}

impl InC for u128 {
    type Element = simidx_fingerprint;

    fn from_c(array: &[simidx_fingerprint]) -> Cow<'_, [u128]> {
        Cow::Owned(array.iter().map(|&value| value.into()).collect())
    }

    fn to_c(self) -> simidx_fingerprint {
        self.into()
    }
}

/// A fingerprint of the caller for an index of this width.
pub(crate) fn one(width: Width, fingerprint: simidx_fingerprint) -> Result<u128> {
    let value = u128::from(fingerprint);
    match value <= width.max() {
        true => Ok(value),
        false => Err(Failure::argument(format!(
            "the fingerprint has more than the {width} bits of the index"
        ))),
    }
}

/// An array of fingerprints of the caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Many {
    at: *const c_void,
    count: usize,
    width: u32,
}

impl Many {
    /// # Safety
    /// `at` points to `count` fingerprints of `width` bits, which nobody changes during the call.
    pub(crate) unsafe fn new(at: *const c_void, width: u32, count: usize) -> Self {
        Many { at, count, width }
    }

    /// Hands them to work for an index of this width.
    pub(crate) fn with<T>(
        self,
        width: Width,
        work: impl FnOnce(Column<'_>) -> Result<T>,
    ) -> Result<T> {
        match width {
            Width::W32 => work(Column::from(&*self.read::<u32>()?)),
            Width::W64 => work(Column::from(&*self.read::<u64>()?)),
            Width::W128 => work(Column::from(&*self.read::<u128>()?)),
        }
    }

    /// The fingerprints, if they have this width.
    pub(crate) fn read<'a, F: InC>(self) -> Result<Cow<'a, [F]>> {
        if self.width != F::WIDTH {
            return Err(Failure::argument(format!(
                "width is {}, and the index has fingerprints of {} bits",
                self.width,
                F::WIDTH
            )));
        }
        // SAFETY: the promise was given to `new`, and the width is that of the elements.
        let array = unsafe { array("fingerprints", self.at.cast::<F::Element>(), self.count) }?;
        Ok(F::from_c(array))
    }
}
