//! The result of a call: the status, and the message of a thread's last failure.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use simidx::Error;
use simidx::format::FormatClass;

/// The result of a call. Later versions may add statuses: treat unknown ones as failures.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum simidx_status {
    /// The call succeeded.
    SIMIDX_OK = 0,
    /// An argument is invalid: NULL, out of its range, of the wrong width or not UTF-8.
    SIMIDX_ERROR_ARGUMENT = 1,
    /// The handle is of another type, has been closed, or was never valid.
    SIMIDX_ERROR_CLOSED = 2,
    /// Another thread is using the searcher or the builder.
    SIMIDX_ERROR_BUSY = 3,
    /// The file does not exist.
    SIMIDX_ERROR_NOT_FOUND = 4,
    /// The operating system reported an error while reading or writing.
    SIMIDX_ERROR_IO = 5,
    /// The bytes are not an index file.
    SIMIDX_ERROR_NOT_SIMIDX = 6,
    /// The file needs a newer version of the library.
    SIMIDX_ERROR_UNSUPPORTED = 7,
    /// The file is a damaged index.
    SIMIDX_ERROR_DAMAGED = 8,
    /// The records do not fit the index, or the files cannot be searched as one.
    SIMIDX_ERROR_INPUT = 9,
    /// The work exceeds a limit, of memory or of the format.
    SIMIDX_ERROR_LIMIT = 10,
    /// A function of the caller stopped the call.
    SIMIDX_ERROR_STOPPED = 11,
    /// An internal error of the library; please report it. The process continues.
    SIMIDX_ERROR_INTERNAL = 12,
}

use simidx_status::*;

/// The reason why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    status: simidx_status,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: simidx_status, message: impl Into<String>) -> Self {
        Failure {
            status,
            message: message.into(),
        }
    }

    /// Creates a failure because of an invalid argument.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Failure::new(SIMIDX_ERROR_ARGUMENT, message)
    }

    fn panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = message.unwrap_or("a panic without a message");
        let message = format!("{message}; this is a fault of simidx, please report it");
        Failure::new(SIMIDX_ERROR_INTERNAL, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Failure::new(SIMIDX_ERROR_STOPPED, "stopped by the caller"),
            error => Failure::new(status_of(&error), error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<simidx::builder::OptionsError> for Failure {
    fn from(error: simidx::builder::OptionsError) -> Self {
        Error::from(error).into()
    }
}

impl From<simidx_text::Error> for Failure {
    fn from(error: simidx_text::Error) -> Self {
        Failure::argument(error.to_string())
    }
}

fn status_of(error: &Error) -> simidx_status {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::NotFound => SIMIDX_ERROR_NOT_FOUND,
        Error::Io(_) => SIMIDX_ERROR_IO,
        Error::Format(error) => match error.class() {
            FormatClass::NotSimidx => SIMIDX_ERROR_NOT_SIMIDX,
            FormatClass::Unsupported => SIMIDX_ERROR_UNSUPPORTED,
            _ => SIMIDX_ERROR_DAMAGED,
        },
        Error::Manifest(_) => SIMIDX_ERROR_DAMAGED,
        Error::Options(_) => SIMIDX_ERROR_ARGUMENT,
        Error::Budget { .. } | Error::LimitReached { .. } => SIMIDX_ERROR_LIMIT,
        Error::Segment { error, .. } => status_of(error),
        Error::WidthMismatch { .. } | Error::Build(_) | Error::Mismatch { .. } => {
            SIMIDX_ERROR_INPUT
        }
        _ => SIMIDX_ERROR_INTERNAL,
    }
}

struct Last {
    status: simidx_status,
    message: CString,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::new(Last { status: SIMIDX_OK, message: CString::default() });
}

/// Runs a function and converts its result into a status. Catches panics.
pub(crate) fn guard(work: impl FnOnce() -> Result<()>) -> simidx_status {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let failure = match outcome {
        Ok(Ok(())) => return SIMIDX_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::panic(&*panic),
    };
    let mut bytes = failure.message.into_bytes();
    bytes.retain(|&byte| byte != 0);
    let message = CString::new(bytes).unwrap_or_default();
    let status = failure.status;
    // The storage of a thread that is ending is no longer available.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Last { status, message });
    status
}

/// Returns the message of this thread's last failed call: one line, without the newline. It names the file and the
/// place in it, or the argument. Empty if no call has failed.
///
/// The string is valid until the next failing call of this thread, or the end of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_error_message() -> *const c_char {
    let message = LAST.try_with(|last| last.borrow().message.as_ptr());
    message.unwrap_or(c"".as_ptr())
}

/// Returns the status of this thread's last failed call; `SIMIDX_OK` if none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_error_status() -> simidx_status {
    LAST.try_with(|last| last.borrow().status)
        .unwrap_or(SIMIDX_OK)
}

/// Returns the name of a status in words, such as "damaged"; "unknown" for an invalid one. The string is static.
#[unsafe(no_mangle)]
pub extern "C" fn simidx_status_name(status: i32) -> *const c_char {
    const NAMES: [(simidx_status, &std::ffi::CStr); 13] = [
        (SIMIDX_OK, c"ok"),
        (SIMIDX_ERROR_ARGUMENT, c"argument"),
        (SIMIDX_ERROR_CLOSED, c"closed"),
        (SIMIDX_ERROR_BUSY, c"busy"),
        (SIMIDX_ERROR_NOT_FOUND, c"not-found"),
        (SIMIDX_ERROR_IO, c"io"),
        (SIMIDX_ERROR_NOT_SIMIDX, c"not-simidx"),
        (SIMIDX_ERROR_UNSUPPORTED, c"unsupported"),
        (SIMIDX_ERROR_DAMAGED, c"damaged"),
        (SIMIDX_ERROR_INPUT, c"input"),
        (SIMIDX_ERROR_LIMIT, c"limit"),
        (SIMIDX_ERROR_STOPPED, c"stopped"),
        (SIMIDX_ERROR_INTERNAL, c"internal"),
    ];
    let mut names = NAMES.iter();
    let name = names.find(|(named, _)| *named as i32 == status);
    name.map_or(c"unknown", |(_, name)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_is_a_status_and_not_the_end() {
        let status = guard(|| panic!("number {}", 7));
        assert_eq!(status, SIMIDX_ERROR_INTERNAL);
        // SAFETY: the message is that of this thread, whose calls do not fail meanwhile.
        let message = unsafe { CStr::from_ptr(simidx_error_message()) };
        let message = message.to_str().unwrap();
        assert!(
            message.starts_with("number 7; this is a fault"),
            "{message}"
        );
        assert_eq!(guard(|| Ok(())), SIMIDX_OK);
        assert_eq!(simidx_error_status(), SIMIDX_ERROR_INTERNAL);
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_damaged() {
        let read = simidx::set::Manifest::from_bytes(b"no set");
        assert_eq!(status_of(&read.unwrap_err()), SIMIDX_ERROR_DAMAGED);
    }

    #[test]
    fn a_message_with_nul_is_shown_without_it() {
        let status = guard(|| Err(Failure::argument("a\0b")));
        assert_eq!(status, SIMIDX_ERROR_ARGUMENT);
        // SAFETY: as above.
        let message = unsafe { CStr::from_ptr(simidx_error_message()) };
        assert_eq!(message, c"ab");
    }
}
