//! Pointers of the caller: slices and texts as arguments, and buffers for results.
//!
//! NULL, alignment, sizes and UTF-8 are checked. The rest is the caller's promise: that a pointer points to as much as
//! the function says, and that the memory is not written to meanwhile.

use std::ffi::{CStr, c_char};
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::{mem, slice};

use crate::status::{Failure, Result};

/// The most bytes of a struct of options, including those of later versions.
const MOST_OPTION_BYTES: usize = 4096;

/// An element of an array; formatted as `name[index]` only when shown in a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At(pub(crate) &'static str, pub(crate) usize);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0, self.1)
    }
}

fn check<T>(name: impl Display, at: *const T, count: usize) -> Result<()> {
    if at.is_null() {
        return Err(Failure::argument(format!("{name} is NULL")));
    }
    if !at.is_aligned() {
        let align = align_of::<T>();
        let message = format!("{name}: the address is not a multiple of {align}");
        return Err(Failure::argument(message));
    }
    let bytes = count.checked_mul(size_of::<T>());
    match bytes.is_some_and(|bytes| bytes <= isize::MAX as usize) {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "{name}: there is no memory for {count} of them"
        ))),
    }
}

/// Returns an array of the caller. NULL is an empty array.
///
/// # Safety
/// `at` points to `count` values, which do not change during the call.
pub(crate) unsafe fn array<'a, T>(
    name: impl Display,
    at: *const T,
    count: usize,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(name, at, count)?;
    // SAFETY: `at` is aligned, not NULL, and of a size that memory can have; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(at, count) })
}

/// Returns the bytes of a NUL-terminated string, if it is not NULL.
///
/// # Safety
/// `at` is NULL or points to a NUL-terminated string, which does not change during the call.
pub(crate) unsafe fn optional_string<'a>(at: *const c_char) -> Option<&'a [u8]> {
    match at.is_null() {
        true => None,
        // SAFETY: the caller's promise.
        false => Some(unsafe { CStr::from_ptr(at) }.to_bytes()),
    }
}

/// Returns the bytes of a NUL-terminated string.
///
/// # Safety
/// As for [`optional_string`].
pub(crate) unsafe fn string<'a>(name: impl Display, at: *const c_char) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { optional_string(at) };
    bytes.ok_or_else(|| Failure::argument(format!("{name} is NULL")))
}

/// Returns a text, which must be UTF-8.
pub(crate) fn utf8(name: impl Display, bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|error| {
        let message = format!("{name} is not UTF-8 at byte {}", error.valid_up_to());
        Failure::argument(message)
    })
}

/// Returns `count` texts of the caller, of these lengths, or NUL-terminated if `lens` is NULL.
///
/// # Safety
/// The arrays are as for [`array`], and so are the texts in them.
pub(crate) unsafe fn texts<'a>(
    name: &'static str,
    texts: *const *const c_char,
    lens: *const usize,
    count: usize,
) -> Result<Vec<&'a str>> {
    // SAFETY: the caller's promises.
    let (texts, lens) = unsafe {
        let lens = match lens.is_null() {
            true => None,
            false => Some(array("lens", lens, count)?),
        };
        (array(name, texts, count)?, lens)
    };
    let text = |(number, &text): (usize, &*const c_char)| {
        let name = At(name, number);
        // SAFETY: the caller's promises.
        let bytes = unsafe {
            match lens {
                Some(lens) => array::<u8>(name, text.cast(), lens[number]),
                None => string(name, text),
            }
        };
        utf8(name, bytes?)
    };
    texts.iter().enumerate().map(text).collect()
}

/// Returns a path: on Unix from any bytes, elsewhere from UTF-8.
pub(crate) fn path(name: &str, bytes: &[u8]) -> Result<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let _ = name;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    utf8(name, bytes).map(PathBuf::from)
}

/// Reads an option that is 0 or 1.
pub(crate) fn switch(name: &str, value: u32) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::argument(format!("{name} is {value}, not 0 or 1"))),
    }
}

/// A struct of options, which begins with its size.
///
/// # Safety
/// All bytes 0 are a value, the struct is `repr(C)`, and its first field is `struct_size: usize`.
pub(crate) unsafe trait Options: Copy {
    /// The name of the struct in C.
    const NAME: &'static str;
    /// The bytes of its first version: up to the end of its last field then. This stays the same when fields are added.
    const FIRST_SIZE: usize;
}

/// Reads options of the caller, which may have been compiled with another version of the header. Fields that an older
/// version lacks are 0, and additional bytes of a newer one must be 0. NULL means all 0.
///
/// # Safety
/// `at` is NULL or points to as many bytes as its first field says.
pub(crate) unsafe fn options<T: Options>(at: *const T) -> Result<T> {
    // SAFETY: all bytes 0 are a value of these types.
    let mut options: T = unsafe { mem::zeroed() };
    if at.is_null() {
        return Ok(options);
    }
    check(T::NAME, at, 1)?;
    // SAFETY: every struct of options begins with its size, and the address is aligned for it.
    let size = unsafe { at.cast::<usize>().read() };
    check_struct_size::<T>(size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller's promise is that there are `size` bytes.
    let unknown = unsafe { slice::from_raw_parts(at.cast::<u8>().add(known), size - known) };
    if unknown.iter().any(|&byte| byte != 0) {
        let message = format!(
            "{} has an option that version {} does not know",
            T::NAME,
            env!("CARGO_PKG_VERSION")
        );
        return Err(Failure::argument(message));
    }
    // SAFETY: both have this many bytes and do not overlap; fields that are not written to stay 0, which is a value.
    unsafe {
        let to = std::ptr::from_mut(&mut options).cast::<u8>();
        std::ptr::copy_nonoverlapping(at.cast::<u8>(), to, known);
    }
    Ok(options)
}

fn check_struct_size<T: Options>(size: usize) -> Result<()> {
    match (T::FIRST_SIZE..=MOST_OPTION_BYTES).contains(&size) {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "{}: struct_size is {size}; set it to the sizeof of the struct",
            T::NAME
        ))),
    }
}

/// Fills a struct of the caller that begins with its size, as far as both versions know its fields. Sets the size to
/// the number of bytes filled.
///
/// # Safety
/// `at` is NULL or points to as many bytes as its first field says, which are not used otherwise during the call.
pub(crate) unsafe fn fill_struct<T: Options>(at: *mut T, value: &T) -> Result<()> {
    check(T::NAME, at.cast_const(), 1)?;
    // SAFETY: as in `options`.
    let size = unsafe { at.cast::<usize>().read() };
    check_struct_size::<T>(size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: both have this many bytes and do not overlap, and the size is the first field.
    unsafe {
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), at.cast(), known);
        at.cast::<usize>().write(known);
    }
    Ok(())
}

/// A buffer of the caller that is written to and may be uninitialized.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    at: *mut T,
    capacity: usize,
}

// SAFETY: only the call uses the memory, and only one of its threads at a time has the buffer.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T: Copy> Buffer<T> {
    /// Creates a buffer for `capacity` values. `at` may be NULL if that is 0.
    ///
    /// # Safety
    /// `at` points to memory for `capacity` values, which is not used otherwise during the call.
    pub(crate) unsafe fn new(name: &str, at: *mut T, capacity: usize) -> Result<Self> {
        if capacity > 0 {
            check(name, at.cast_const(), capacity)?;
        }
        Ok(Buffer { at, capacity })
    }

    /// Creates a buffer for one value, and writes `first` to it.
    ///
    /// # Safety
    /// As for [`Buffer::new`], with room for one.
    pub(crate) unsafe fn one(name: &str, at: *mut T, first: T) -> Result<Self> {
        // SAFETY: the caller's promise.
        let place = unsafe { Buffer::new(name, at, 1) }?;
        place.set(first);
        Ok(place)
    }

    /// Creates a buffer that may be NULL; values written to NULL are discarded.
    ///
    /// # Safety
    /// As for [`Buffer::new`].
    pub(crate) unsafe fn optional(name: &str, at: *mut T, capacity: usize) -> Result<Self> {
        let capacity = if at.is_null() { 0 } else { capacity };
        // SAFETY: the caller's promise.
        unsafe { Buffer::new(name, at, capacity) }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes a value to a place, unless it is beyond the capacity.
    pub(crate) fn put(&self, place: usize, value: T) {
        if place < self.capacity {
            // SAFETY: the place is in the buffer, which is aligned and not used otherwise.
            unsafe { self.at.add(place).write(value) }
        }
    }

    /// Writes values from a place on, as many as fit.
    pub(crate) fn put_all(&self, place: usize, values: &[T]) {
        let room = self.capacity.saturating_sub(place).min(values.len());
        if room > 0 {
            // SAFETY: `room` values fit from that place on, and the buffer is not used otherwise.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.at.add(place), room) }
        }
    }

    /// Writes the only value, or the first one.
    pub(crate) fn set(&self, value: T) {
        self.put(0, value);
    }
}

/// Creates the destination of an answer: the number of its values, 0 at first, and those that fit.
///
/// # Safety
/// As for [`Buffer::new`].
pub(crate) unsafe fn places<T: Copy>(
    buffer: *mut T,
    capacity: usize,
    found: *mut usize,
) -> Result<(Buffer<usize>, Buffer<T>)> {
    // SAFETY: the caller's promises.
    unsafe {
        Ok((
            Buffer::one("found", found, 0)?,
            Buffer::new("buffer", buffer, capacity)?,
        ))
    }
}
