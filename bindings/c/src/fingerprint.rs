//! Fingerprints in C: single ones in two words, many in an array of their width.

use std::ffi::c_void;

use simidx::{Column, Width};

use crate::border::{Buffer, array};
use crate::status::{Failure, Result};

/// A fingerprint of any width in two words. For 64 bits the upper word is 0; for 32 bits, so is the upper half of the
/// lower word.
///
/// An array of 128-bit fingerprints is an array of these, with the lower word first. On little-endian machines this is
/// the memory layout of `unsigned __int128`.
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

/// Returns the width with this number of bits.
pub(crate) fn known_width(bits: u32) -> Result<Width> {
    Width::from_bits(bits).ok_or_else(|| {
        Failure::argument(format!(
            "width is {bits}; fingerprints have 32, 64 or 128 bits"
        ))
    })
}

/// Converts a fingerprint of the caller for an index of this width.
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
    /// `at` points to `count` fingerprints of `width` bits, which do not change during the call.
    pub(crate) unsafe fn new(at: *const c_void, width: u32, count: usize) -> Self {
        Many { at, count, width }
    }

    /// Calls `work` with them for an index of this width, without a copy if the elements are the same in both.
    pub(crate) fn with<T>(
        self,
        width: Width,
        work: impl FnOnce(Column<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.width != width.bits() {
            return Err(Failure::argument(format!(
                "width is {}, and the index has fingerprints of {width} bits",
                self.width
            )));
        }
        match width {
            Width::W32 => work(self.read::<u32>()?.into()),
            Width::W64 => work(self.read::<u64>()?.into()),
            Width::W128 => {
                let pairs = self.read::<simidx_fingerprint>()?.iter();
                let values: Vec<u128> = pairs.map(|&value| value.into()).collect();
                work((&values[..]).into())
            }
        }
    }

    fn read<'a, T>(self) -> Result<&'a [T]> {
        // SAFETY: the promise was given to `new`, and the elements have this width.
        unsafe { array("fingerprints", self.at.cast::<T>(), self.count) }
    }
}

/// An array of the caller that receives fingerprints.
pub(crate) enum Out {
    W32(Buffer<u32>),
    W64(Buffer<u64>),
    W128(Buffer<simidx_fingerprint>),
}

impl Out {
    /// # Safety
    /// `at` has room for `count` fingerprints of this width, and is not used otherwise during the call.
    pub(crate) unsafe fn new(at: *mut c_void, width: Width, count: usize) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(match width {
                Width::W32 => Out::W32(Buffer::new("out", at.cast(), count)?),
                Width::W64 => Out::W64(Buffer::new("out", at.cast(), count)?),
                Width::W128 => Out::W128(Buffer::new("out", at.cast(), count)?),
            })
        }
    }

    pub(crate) fn put(&self, place: usize, value: u128) {
        match self {
            Out::W32(out) => out.put(place, value as u32),
            Out::W64(out) => out.put(place, value as u64),
            Out::W128(out) => out.put(place, value.into()),
        }
    }
}
