//! An allocator that counts the allocations of each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of this thread.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has allocated and not freed.
    static HELD: Cell<i64> = const { Cell::new(0) };
    /// The most bytes that it held.
    static MOST_HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator with counters, for `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

fn count(allocations: u64, bytes: i64) {
    // A thread that ends frees after its locals are gone; such calls need not be counted.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + allocations));
    let held = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        held.get()
    });
    let _ = MOST_HELD.try_with(|most| most.set(most.get().max(held.unwrap_or(0))));
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its interface")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns how often this thread has allocated memory.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Returns the result of a call, and the most bytes that this thread held during it beyond those before.
pub fn most_held<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(Cell::get);
    MOST_HELD.with(|most| most.set(before));
    let result = call();
    let most = MOST_HELD.with(Cell::get) - before;
    (result, usize::try_from(most).expect("it starts at 0"))
}
