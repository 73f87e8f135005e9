//! What C holds of indexes, searchers and pipelines: addresses that stand for them.
//!
//! A handle is never followed. It is looked up in a table, so that one that was closed, or is of something else, is found out
//! and not used. The table is in parts, each with its own lock, so that threads with different handles seldom meet.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use crate::status::simidx_status::SIMIDX_ERROR_CLOSED;
use crate::status::{Failure, Result};

/// Parts of the table.
const PARTS: usize = 64;

/// Closed handles of each part whose addresses are not given out again yet.
const MOST_CLOSED: usize = 64;

/// What a handle points to: as much memory as makes its address its own.
type Token = Box<[u64; 2]>;

#[derive(Default)]
#[repr(align(128))]
struct Part {
    open: RwLock<HashMap<usize, Entry>>,
    closed: Mutex<VecDeque<Token>>,
}

struct Entry {
    token: Token,
    value: Arc<dyn Any + Send + Sync>,
}

static TABLE: LazyLock<[Part; PARTS]> = LazyLock::new(|| std::array::from_fn(|_| Part::default()));

fn part(address: usize) -> &'static Part {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(mixed >> 58) as usize % PARTS]
}

/// A type of handles, and what they stand for.
pub(crate) trait Handle {
    type Value: Any + Send + Sync;
    /// As in "the index".
    const NAME: &'static str;
}

/// A new handle of a value.
pub(crate) fn open<H: Handle>(value: H::Value) -> *mut H {
    let token: Token = Box::new([0; 2]);
    let address = std::ptr::from_ref(&*token).cast::<H>().cast_mut();
    let entry = Entry {
        token,
        value: Arc::new(value),
    };
    let open = part(address.addr()).open.write();
    let mut open = open.unwrap_or_else(PoisonError::into_inner);
    open.insert(address.addr(), entry);
    address
}

/// What a handle stands for.
pub(crate) fn get<H: Handle>(handle: *const H) -> Result<Arc<H::Value>> {
    let value = {
        let open = part(handle.addr()).open.read();
        let open = open.unwrap_or_else(PoisonError::into_inner);
        open.get(&handle.addr())
            .map(|entry| Arc::clone(&entry.value))
    };
    let value = value.and_then(|value| value.downcast().ok());
    value.ok_or_else(|| {
        let name = H::NAME;
        match handle.is_null() {
            true => Failure::argument(format!("{name} is NULL")),
            false => {
                let message = format!("{name} is closed, or is no handle of this kind");
                Failure::new(SIMIDX_ERROR_CLOSED, message)
            }
        }
    })
}

/// Closes a handle. What it stands for stays until nothing uses it. NULL and what is no handle of this kind are left alone.
pub(crate) fn close<H: Handle>(handle: *mut H) {
    if get(handle.cast_const()).is_err() {
        return;
    }
    let part = part(handle.addr());
    let mut open = part.open.write().unwrap_or_else(PoisonError::into_inner);
    let entry = open.remove(&handle.addr());
    drop(open);
    if let Some(Entry { token, value }) = entry {
        let mut closed = part.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push_back(token);
        if closed.len() > MOST_CLOSED {
            closed.pop_front();
        }
        drop(closed);
        // Unmapping a file takes a while.
        drop(value);
    }
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
        let number = open::<Number>(7);
        let text = open::<Text>("seven".to_owned());
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
    fn an_address_is_not_given_out_again_at_once() {
        let first = open::<Number>(1);
        close(first);
        for number in 0..MOST_CLOSED as u32 {
            let next = open::<Number>(number);
            assert_ne!(next, first);
            close(next);
        }
    }
}
