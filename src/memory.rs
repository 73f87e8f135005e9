//! Memory advice and queries to the operating system: prefetching, huge pages and residency. They do not
//! change the contents of memory.

use std::collections::TryReserveError;

#[cfg(all(feature = "mmap", unix))]
use rustix::mm::Advice;

use crate::error::Result;

/// Advises the system that these bytes will be read soon, so that it reads missing pages of a mapped file meanwhile.
pub(crate) fn will_need(bytes: &[u8]) {
    #[cfg(all(feature = "mmap", unix))]
    {
        // Advice applies to whole pages.
        let page_len = rustix::param::page_size();
        let start = bytes.as_ptr().addr() / page_len * page_len;
        advise(start, bytes.as_ptr().addr() + bytes.len(), Advice::WillNeed);
    }
    #[cfg(not(all(feature = "mmap", unix)))]
    let _ = bytes;
}

/// Creates an empty vector with room for `count` items, in huge pages if the system has them and the items fill one.
/// Random access then rarely misses the TLB.
pub(crate) fn huge_vec<T>(count: usize) -> Vec<T> {
    with_huge_pages(Vec::with_capacity(count))
}

/// [`huge_vec`] for an unchecked count.
///
/// # Errors
/// There is too little memory.
pub(crate) fn try_huge_vec<T>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut items = Vec::new();
    items.try_reserve_exact(count)?;
    Ok(with_huge_pages(items))
}

fn with_huge_pages<T>(items: Vec<T>) -> Vec<T> {
    #[cfg(all(feature = "mmap", target_os = "linux"))]
    let mut items = items;
    #[cfg(all(feature = "mmap", target_os = "linux"))]
    {
        const HUGE_PAGE_LEN: usize = 1 << 21;
        let room = items.spare_capacity_mut();
        let len = std::mem::size_of_val(room);
        if len >= HUGE_PAGE_LEN {
            let start = room.as_ptr().addr();
            advise(
                start.next_multiple_of(rustix::param::page_size()),
                start + len,
                Advice::LinuxHugepage,
            );
        }
    }
    items
}

#[cfg(all(feature = "mmap", unix))]
fn advise(start: usize, end: usize, advice: Advice) {
    let Some(len) = end.checked_sub(start).filter(|&len| len > 0) else {
        return;
    };
    let address = std::ptr::without_provenance_mut(start);
    #[expect(unsafe_code, reason = "the call takes an address")]
    // SAFETY: neither kind of advice given here changes a byte or makes an address invalid: one starts reads, the other
    // selects the size of pages. So the range may include pages at its ends that it shares with other owners. An error
    // means that the advice was not taken.
    let _ = unsafe { rustix::mm::madvise(address, len, advice) };
}

/// Returns the fraction of the pages of some bytes that are in memory; `None` if the system does not report it.
pub(crate) fn resident_fraction(bytes: &[u8]) -> Option<f64> {
    #[cfg(all(feature = "mmap", target_os = "linux"))]
    {
        /// Pages per system call.
        const PAGES: usize = 1 << 14;
        let page_len = rustix::param::page_size();
        let start = bytes.as_ptr().addr() / page_len * page_len;
        let end = bytes.as_ptr().addr() + bytes.len();
        let (mut resident, mut total) = (0, 0);
        for first in (start..end).step_by(PAGES * page_len) {
            let mut pages = [0u8; PAGES];
            let len = (end - first).min(PAGES * page_len);
            let count = len.div_ceil(page_len);
            let address = std::ptr::without_provenance_mut(first);
            #[expect(unsafe_code, reason = "no crate in use has a safe call")]
            // SAFETY: the call does not read the range and writes one byte for each of its `count` pages, at most
            // `PAGES`, for which there is room. The first address is that of a page.
            let answer = unsafe { libc::mincore(address, len, pages.as_mut_ptr()) };
            if answer != 0 {
                return None;
            }
            // The other bits of these bytes have no meaning.
            resident += pages[..count].iter().filter(|&page| page & 1 != 0).count();
            total += count;
        }
        (total > 0).then(|| resident as f64 / total as f64)
    }
    #[cfg(not(all(feature = "mmap", target_os = "linux")))]
    {
        let _ = bytes;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(all(miri, feature = "mmap"), ignore = "Miri has no such advice")]
    fn advice_leaves_memory_as_it_is() {
        const COUNT: u64 = if cfg!(miri) { 1 << 10 } else { 1 << 19 };
        let mut items: Vec<u64> = huge_vec(COUNT as usize);
        assert!(items.is_empty() && items.capacity() as u64 >= COUNT);
        items.extend(0..COUNT);
        let bytes: Vec<u8> = items.iter().map(|&i| i as u8).collect();
        let twin = bytes.clone();
        will_need(&bytes[100..bytes.len() - 100]);
        will_need(&[]);
        assert!(bytes == twin);
        assert!(items.iter().enumerate().all(|(i, &item)| i as u64 == item));
    }
}
