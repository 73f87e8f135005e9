//! Advice to the operating system about memory: what is wanted soon, and what shall lie in huge pages. Advice
//! changes no byte and is without effect where there is nobody to give it to.

use std::collections::TryReserveError;

#[cfg(all(feature = "mmap", unix))]
use rustix::mm::Advice;

/// Says that these bytes will be read soon: pages of a mapped file that are not in memory are read meanwhile.
pub(crate) fn will_need(bytes: &[u8]) {
    #[cfg(all(feature = "mmap", unix))]
    {
        // Advice is about whole pages.
        let page_len = rustix::param::page_size();
        let start = bytes.as_ptr().addr() / page_len * page_len;
        advise(start, bytes.as_ptr().addr() + bytes.len(), Advice::WillNeed);
    }
    #[cfg(not(all(feature = "mmap", unix)))]
    let _ = bytes;
}

/// An empty vector with room for `count` items, in huge pages if the system has them and there are that many: a
/// random access then seldom misses the translation of its address.
pub(crate) fn huge_vec<T>(count: usize) -> Vec<T> {
    with_huge_pages(Vec::with_capacity(count))
}

/// [`huge_vec`] for a number that nothing has checked.
///
/// # Errors
/// There is not so much memory.
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
    // SAFETY: neither kind of advice given here changes a byte or makes an address invalid: one starts reads, the
    // other names the size of pages. So pages that the range shares with other owners at its ends may be in it. An
    // error means that the advice was not taken.
    let _ = unsafe { rustix::mm::madvise(address, len, advice) };
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
