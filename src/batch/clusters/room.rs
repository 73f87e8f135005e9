//! The memory that clusters are found in: it holds what it has to, or there is an error that says so.

use crate::error::{Error, Result};
use crate::extsort::MemoryLimit;

/// Memory for fingerprints and what is known of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    bytes: usize,
}

impl Room {
    /// # Errors
    /// A limit that is too small to be kept.
    pub(super) fn new(memory: Option<u64>) -> Result<Self> {
        let bytes = MemoryLimit::new(memory)?.budget();
        Ok(Room { bytes })
    }

    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether so many fingerprints fit, of which each takes so many bytes with all that is known of it.
    ///
    /// # Errors
    /// They do not.
    pub(super) fn check(self, count: usize, each_len: usize) -> Result<()> {
        self.check_beside(0, count, each_len)
    }

    /// The same beside so many bytes.
    ///
    /// # Errors
    /// As for [`Room::check`].
    pub(super) fn check_beside(self, beside: usize, count: usize, each_len: usize) -> Result<()> {
        let needed = count.saturating_mul(each_len).saturating_add(beside);
        if needed <= self.bytes {
            return Ok(());
        }
        Err(Error::Budget {
            purpose: format!("clustering {count} distinct fingerprints"),
            needed: needed as u64,
            given: self.bytes as u64,
        })
    }
}
