//! Paged sections: a payload followed by a checksum for each page. Spec §3.5.

/// Spec §3.5.
pub(crate) const PAGE_LEN: usize = 4096;

/// Bytes of one page checksum. Spec §3.5.
const CHECKSUM_LEN: u64 = 4;

/// Number of pages of a payload.
pub(crate) fn page_count(payload_len: u64) -> u64 {
    payload_len.div_ceil(PAGE_LEN as u64)
}

/// Length of the section that holds a payload; `None` past 2^64.
pub(crate) fn paged_len(payload_len: u64) -> Option<u64> {
    payload_len.checked_add(page_count(payload_len) * CHECKSUM_LEN)
}

/// Length of the payload of a section; `None` if no payload makes a section so long.
pub(crate) fn payload_len(section_len: u64) -> Option<u64> {
    let pages = section_len.div_ceil(PAGE_LEN as u64 + CHECKSUM_LEN);
    let payload = section_len.checked_sub(pages * CHECKSUM_LEN)?;
    (paged_len(payload) == Some(section_len)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn payload_length_inverts_section_length() {
        let mut valid = std::collections::HashSet::new();
        for payload in 0..13_000 {
            let section = paged_len(payload).unwrap();
            assert_eq!(payload_len(section), Some(payload));
            valid.insert(section);
        }
        for section in (0..13_000).filter(|s| !valid.contains(s)) {
            assert_eq!(payload_len(section), None, "{section}");
        }
    }
}
