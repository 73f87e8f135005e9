//! An allocator that counts: what an index holds, and how much its construction took at most.
#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now, as asked for: what the system's allocator adds is not counted.
pub(crate) fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Most bytes that were allocated at a time since [`reset_peak`].
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Forgets what was allocated before.
pub(crate) fn reset_peak() {
    PEAK.store(live(), Relaxed);
}

/// The system's allocator with a count.
pub(crate) struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system's allocator wants.
        let pointer = unsafe { System.alloc(layout) };
        add_unless_null(pointer, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        add_unless_null(pointer, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) };
        LIVE.fetch_sub(layout.size(), Relaxed);
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { System.realloc(pointer, layout, size) };
        if !pointer.is_null() {
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        add_unless_null(pointer, size)
    }
}

fn add_unless_null(pointer: *mut u8, size: usize) -> *mut u8 {
    if !pointer.is_null() {
        let live = LIVE.fetch_add(size, Relaxed) + size;
        // Most allocations raise no peak: they are spared the second atomic write.
        if live > PEAK.load(Relaxed) {
            PEAK.fetch_max(live, Relaxed);
        }
    }
    pointer
}
