//! Ids: those of a fingerprint, and the fingerprints of an id.

use std::ffi::{c_char, c_void};
use std::ops::ControlFlow;

use simidx::{Id, Set};

use crate::border::{self, Buffer};
use crate::fingerprint::{one, simidx_fingerprint};
use crate::handles;
use crate::open::simidx_index;
use crate::status::{Failure, Result, guard, simidx_status};

/// A function of the caller that receives an id. For a string, `bytes` has `len` bytes of UTF-8, valid during the call;
/// a NUL may be among them and does not end them. For a number, `bytes` is NULL and `number` holds it. Return 0 to
/// continue. Any other value stops: the call then fails with `SIMIDX_ERROR_STOPPED`. The function must not throw or
/// longjmp.
pub type simidx_id_visit = Option<
    unsafe extern "C" fn(user: *mut c_void, bytes: *const c_char, len: usize, number: u64) -> i32,
>;

/// Visits the ids of a fingerprint.
fn each(
    set: &Set,
    fingerprint: simidx_fingerprint,
    mut visit: impl FnMut(Id<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut ids = set.ids_of(one(set.width(), fingerprint)?)?;
    while let Some(id) = ids.read()? {
        if visit(id).is_break() {
            return Err(simidx::Error::Interrupted.into());
        }
    }
    Ok(())
}

/// Calls a function with each id of a fingerprint in the index, in order. It is not called if the index has no ids or
/// does not hold the fingerprint.
///
/// @param visit  receives the ids, on this thread
/// @param user   passed to `visit`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_ids(
    index: *const simidx_index,
    fingerprint: simidx_fingerprint,
    visit: simidx_id_visit,
    user: *mut c_void,
) -> simidx_status {
    guard(|| {
        let visit = visit.ok_or_else(|| Failure::argument("visit is NULL"))?;
        let set = handles::get(index)?;
        let tell = |id: Id<'_>| {
            let (bytes, number) = (id.as_str(), id.as_number().unwrap_or(0));
            let at = bytes.map_or(std::ptr::null(), |text| text.as_ptr().cast());
            let len = bytes.map_or(0, str::len);
            // SAFETY: the caller provided the function for such calls.
            match unsafe { visit(user, at, len, number) } {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        each(&set, fingerprint, tell)
    })
}

/// Gets the number ids of a fingerprint in the index, in order. There are none if its ids are strings.
///
/// @param buffer    receives the ids, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  capacity of the buffer
/// @param found     number of ids; if it exceeds the capacity, call again with a larger buffer
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_number_ids(
    index: *const simidx_index,
    fingerprint: simidx_fingerprint,
    buffer: *mut u64,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (found, buffer) = unsafe { border::places(buffer, capacity, found) }?;
        let set = handles::get(index)?;
        let mut count = 0;
        let take = |id: Id<'_>| {
            if let Id::Number(number) = id {
                buffer.put(count, number);
                count += 1;
            }
            ControlFlow::Continue(())
        };
        each(&set, fingerprint, take)?;
        found.set(count);
        Ok(())
    })
}

/// Gets the string ids of a fingerprint in the index, in order, concatenated without separators in one buffer. There
/// are none if its ids are numbers.
///
/// @param bytes           receives the strings, as many bytes as fit; may be NULL if `bytes_capacity` is 0
/// @param bytes_capacity  capacity of `bytes`
/// @param bytes_found     number of bytes of all strings
/// @param ends            receives the end of each string, as many as fit; may be NULL if `ends_capacity` is 0
/// @param ends_capacity   capacity of `ends`
/// @param found           number of ids. If it or `bytes_found` exceeds its capacity, call again with larger buffers
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_string_ids(
    index: *const simidx_index,
    fingerprint: simidx_fingerprint,
    bytes: *mut c_char,
    bytes_capacity: usize,
    bytes_found: *mut usize,
    ends: *mut usize,
    ends_capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        let (found, bytes_found, bytes, ends) = unsafe {
            (
                Buffer::one("found", found, 0)?,
                Buffer::one("bytes_found", bytes_found, 0)?,
                Buffer::new("bytes", bytes.cast::<u8>(), bytes_capacity)?,
                Buffer::new("ends", ends, ends_capacity)?,
            )
        };
        let set = handles::get(index)?;
        let (mut count, mut len) = (0, 0);
        let take = |id: Id<'_>| {
            if let Id::String(text) = id {
                bytes.put_all(len, text.as_bytes());
                len += text.len();
                ends.put(count, len);
                count += 1;
            }
            ControlFlow::Continue(())
        };
        each(&set, fingerprint, take)?;
        found.set(count);
        bytes_found.set(len);
        Ok(())
    })
}

/// Finds the distinct fingerprints of all records with this number as their id, ascending. It takes microseconds in a
/// file that was built with `id_lookup`; otherwise it reads all ids of the file.
///
/// @param buffer    receives the fingerprints, as many as fit; may be NULL if `capacity` is 0
/// @param capacity  capacity of the buffer
/// @param found     number of fingerprints; if it exceeds the capacity, call again with a larger buffer
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_find_number(
    index: *const simidx_index,
    id: u64,
    buffer: *mut simidx_fingerprint,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    // SAFETY: the caller's promises.
    guard(|| unsafe { find(index, Id::Number(id), buffer, capacity, found) })
}

/// Finds the distinct fingerprints of all records with this string as their id, like `simidx_find_number`.
///
/// @param id   `len` bytes of UTF-8
/// @param len  bytes of the id
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simidx_find_string(
    index: *const simidx_index,
    id: *const c_char,
    len: usize,
    buffer: *mut simidx_fingerprint,
    capacity: usize,
    found: *mut usize,
) -> simidx_status {
    guard(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let id = border::array::<u8>("id", id.cast(), len)?;
            let id = Id::String(border::utf8("id", id)?);
            find(index, id, buffer, capacity, found)
        }
    })
}

/// # Safety
/// As for [`Buffer::new`].
unsafe fn find(
    index: *const simidx_index,
    id: Id<'_>,
    buffer: *mut simidx_fingerprint,
    capacity: usize,
    found: *mut usize,
) -> Result<()> {
    // SAFETY: the caller's promises.
    let (found, buffer) = unsafe { border::places(buffer, capacity, found) }?;
    let fingerprints = handles::get(index)?.fingerprints_of_id(id)?;
    found.set(fingerprints.len());
    for (place, fingerprint) in fingerprints.into_iter().enumerate() {
        buffer.put(place, fingerprint.into());
    }
    Ok(())
}
