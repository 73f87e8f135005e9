//! Fingerprints as C has them: single ones in two words, many in an array of their width.

use std::borrow::Cow;
use std::ffi::c_void;

use simidx::Fingerprint;

use crate::border::{Buffer, array};
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

/// Runs code for one of the three widths, in which `$F` is the type of fingerprints.
macro_rules! by_width {
    ($width:expr, $F:ident => $body:expr) => {
        match $width {
            32 => {
                type $F = u32;
                $body
            }
            64 => {
                type $F = u64;
                $body
            }
            128 => {
                type $F = u128;
                $body
            }
            other => Err($crate::status::Failure::argument(format!(
                "width is {other}; fingerprints have 32, 64 or 128 bits"
            ))),
        }
    };
}
pub(crate) use by_width;

/// Runs code for segments of any width.
macro_rules! of_any {
    ($any:expr, $segments:ident => $body:expr) => {
        match $any {
            simidx::segments::AnySegments::W32($segments) => $body,
            simidx::segments::AnySegments::W64($segments) => $body,
            simidx::segments::AnySegments::W128($segments) => $body,
        }
    };
}
pub(crate) use of_any;

/// A type of fingerprints with its arrays in C.
pub(crate) trait Width: Fingerprint + Send + Sync + 'static {
    /// An element of an array.
    type InC: Copy;

    /// An array of the library, without a copy where both have the same elements.
    fn from_c(array: &[Self::InC]) -> Cow<'_, [Self]>;

    fn to_c(self) -> Self::InC;
}

impl Width for u32 {
    type InC = u32;

    fn from_c(array: &[u32]) -> Cow<'_, [u32]> {
        Cow::Borrowed(array)
    }

    fn to_c(self) -> u32 {
        self
    }
}

impl Width for u64 {
    type InC = u64;

    fn from_c(array: &[u64]) -> Cow<'_, [u64]> {
        Cow::Borrowed(array)
    }

    fn to_c(self) -> u64 {
        self
    }
}

impl Width for u128 {
    type InC = simidx_fingerprint;

    fn from_c(array: &[simidx_fingerprint]) -> Cow<'_, [u128]> {
        Cow::Owned(array.iter().map(|&value| value.into()).collect())
    }

    fn to_c(self) -> simidx_fingerprint {
        self.into()
    }
}

/// A fingerprint of the caller as one of this width.
pub(crate) fn one<F: Width>(fingerprint: simidx_fingerprint) -> Result<F> {
    let value = u128::from(fingerprint);
    let narrow = F::from_u128(value);
    match narrow.to_u128() == value {
        true => Ok(narrow),
        false => Err(Failure::argument(format!(
            "the fingerprint has more than the {} bits of the index",
            F::WIDTH
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

    /// The fingerprints, if they have this width.
    pub(crate) fn read<'a, F: Width>(self) -> Result<Cow<'a, [F]>> {
        if self.width != F::WIDTH {
            return Err(Failure::argument(format!(
                "width is {}, and the index has fingerprints of {} bits",
                self.width,
                F::WIDTH
            )));
        }
        // SAFETY: the promise was given to `new`, and the width is that of the elements.
        let array = unsafe { array("fingerprints", self.at.cast::<F::InC>(), self.count) }?;
        Ok(F::from_c(array))
    }
}

/// Writes fingerprints, as many as fit.
pub(crate) fn put_all<F: Width>(
    buffer: &Buffer<simidx_fingerprint>,
    fingerprints: impl IntoIterator<Item = F>,
) {
    for (place, fingerprint) in fingerprints.into_iter().enumerate() {
        buffer.put(place, fingerprint.to_u128().into());
    }
}
