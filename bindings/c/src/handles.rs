//! Handles of indexes, searchers, builders and pipelines: numbers in the type of a pointer.
//!
//! A handle is never dereferenced, and each number is given out only once. It is looked up in a table, so that a closed
//! handle or one of another type is detected and not used. The table is in parts, each with its own lock, so that
//! threads with different handles rarely wait for each other.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::status::simidx_status::{SIMIDX_ERROR_CLOSED, SIMIDX_ERROR_LIMIT};
use crate::status::{Failure, Result, guard};

/// Number of parts of the table.
const PARTS: usize = 64;

/// The first handle. Languages with their own pointers treat smaller numbers as null.
const FIRST: usize = 1 << 20;

/// The distance between handles, since some languages use the lower bits of pointers.
const STEP: usize = 16;

/// The next handle.
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

type Value = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
#[repr(align(128))]
struct Part {
    open: RwLock<HashMap<usize, Value>>,
}

static TABLE: LazyLock<[Part; PARTS]> = LazyLock::new(|| std::array::from_fn(|_| Part::default()));

fn part(handle: usize) -> &'static Part {
    let mixed = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(mixed >> 58) as usize % PARTS]
}

/// A type of handles, and the values that they refer to.
pub(crate) trait Handle {
    type Value: Any + Send + Sync;
    /// The name in messages, as in "the index".
    const NAME: &'static str;
}

/// Creates a handle of a value.
///
/// # Errors
/// No handle is left, after very many on a 32-bit machine.
pub(crate) fn open<H: Handle>(value: H::Value) -> Result<*mut H> {
    let next = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |handle| {
        handle.checked_add(STEP)
    });
    let message = "no handle is left";
    let handle = next.map_err(|_| Failure::new(SIMIDX_ERROR_LIMIT, message))?;
    let open = part(handle).open.write();
    let mut open = open.unwrap_or_else(PoisonError::into_inner);
    open.insert(handle, Arc::new(value));
    Ok(std::ptr::without_provenance_mut(handle))
}

/// Returns the value of a handle.
pub(crate) fn get<H: Handle>(handle: *const H) -> Result<Arc<H::Value>> {
    let value = {
        let open = part(handle.addr()).open.read();
        let open = open.unwrap_or_else(PoisonError::into_inner);
        let value = open.get(&handle.addr()).map(Arc::clone);
        value.and_then(|value| value.downcast().ok())
    };
    value.ok_or_else(|| {
        let name = H::NAME;
        match handle.is_null() {
            true => Failure::argument(format!("{name} is NULL")),
            false => {
                let message = format!("{name} is closed, or not a handle of this kind");
                Failure::new(SIMIDX_ERROR_CLOSED, message)
            }
        }
    })
}

/// Closes a handle. Its value is dropped when it is no longer in use. NULL and handles of another type are ignored.
pub(crate) fn close<H: Handle>(handle: *mut H) {
    guard(|| {
        let open = part(handle.addr()).open.write();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        let is_of_kind = |value: &Value| (**value).is::<H::Value>();
        let value = match open.get(&handle.addr()).is_some_and(is_of_kind) {
            true => open.remove(&handle.addr()),
            false => None,
        };
        drop(open);
        // Outside the lock, because unmapping a file takes a while.
        drop(value);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number;
    impl Handle for Number {
        type Value = u32;
        const NAME: &'static str = "number";
    }

    struct Text;
    impl Handle for Text {
        type Value = String;
        const NAME: &'static str = "text";
    }

    #[test]
    fn handles_know_what_they_are_and_whether_they_are_open() {
        let number = open::<Number>(7).unwrap();
        let text = open::<Text>("seven".to_owned()).unwrap();
        assert_eq!(*get(number.cast_const()).unwrap(), 7);
        assert_eq!(*get(text.cast_const()).unwrap(), "seven");
        assert!(get(number.cast::<Text>().cast_const()).is_err());
        close(number.cast::<Text>());
        let held = get(number.cast_const()).unwrap();
        close(number);
        close(number);
        assert!(get(number.cast_const()).is_err());
        assert_eq!(*held, 7);
        close(std::ptr::null_mut::<Number>());
        close(8 as *mut Number);
        close(text);
    }

    #[test]
    fn no_handle_is_given_out_twice() {
        let first = open::<Number>(1).unwrap();
        close(first);
        let all: std::collections::HashSet<usize> = (0..10_000)
            .map(|number| {
                let next = open::<Number>(number).unwrap();
                close(next);
                next.addr()
            })
            .collect();
        assert!(all.len() == 10_000 && !all.contains(&first.addr()));
    }
}
