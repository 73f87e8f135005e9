//! Changes of a collection, and their rows in the journal, each of which ends with a checksum.

use std::sync::Arc;

use simidx::Width;

/// A change of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Sets the record of this id.
    Add { id: Arc<str>, fingerprint: u128 },
    /// Removes the record of this id.
    Delete { id: Arc<str> },
}

impl Change {
    pub(crate) fn id(&self) -> &Arc<str> {
        match self {
            Change::Add { id, .. } | Change::Delete { id } => id,
        }
    }

    /// Returns the row of a change, in a collection of a width.
    pub(super) fn encode(&self, width: Width, number: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + width.bytes() + self.id().len() + CHECKSUM_LEN);
        match self {
            Change::Add { id, fingerprint } => {
                bytes.push(b'+');
                bytes.extend_from_slice(&fingerprint.to_le_bytes()[..width.bytes()]);
                bytes.extend_from_slice(id.as_bytes());
            }
            Change::Delete { id } => {
                bytes.push(b'-');
                bytes.extend_from_slice(id.as_bytes());
            }
        }
        with_checksum(Rows::Changes, number, bytes)
    }

    /// Decodes the change of a row; `None` if the row is damaged or belongs to another number.
    pub(super) fn decode(width: Width, number: u64, row: &[u8]) -> Option<Self> {
        let id = |bytes| Some(Arc::from(std::str::from_utf8(bytes).ok()?));
        let (kind, rest) = checked(Rows::Changes, number, row)?.split_first()?;
        match kind {
            b'+' => {
                let (low, rest) = rest.split_at_checked(width.bytes())?;
                let mut fingerprint = [0; 16];
                fingerprint[..low.len()].copy_from_slice(low);
                Some(Change::Add {
                    id: id(rest)?,
                    fingerprint: u128::from_le_bytes(fingerprint),
                })
            }
            b'-' => Some(Change::Delete { id: id(rest)? }),
            _ => None,
        }
    }
}

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Changes,
    Deleted,
}

const CHECKSUM_LEN: usize = 4;

/// Returns the checksum of the bytes of a row. It includes the number and the kind, so that rows cannot be confused.
fn checksum(rows: Rows, number: u64, bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[rows as u8]);
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

/// Returns a row with these bytes.
pub(super) fn with_checksum(rows: Rows, number: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(rows, number, &bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

/// Returns the bytes of a row; `None` if it is damaged or belongs elsewhere.
pub(super) fn checked(rows: Rows, number: u64, row: &[u8]) -> Option<&[u8]> {
    let (bytes, found) = row.split_last_chunk::<CHECKSUM_LEN>()?;
    (checksum(rows, number, bytes) == *found).then_some(bytes)
}

/// A change that waits for the committer.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) generation: u64,
    pub(super) bytes: Vec<u8>,
    /// The id, if the change deletes a record that is in a segment or will be.
    pub(super) deleted: Option<Arc<str>>,
}

impl Entry {
    pub(crate) fn new(
        number: u64,
        generation: u64,
        width: Width,
        change: &Change,
        deletes_sealed: bool,
    ) -> Self {
        Entry {
            number,
            generation,
            bytes: change.encode(width, number),
            deleted: deletes_sealed.then(|| Arc::clone(change.id())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(number: u64, row: &[u8]) -> Option<Change> {
        Change::decode(Width::W32, number, row)
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        for change in [
            Change::Add {
                id: "é\0".into(),
                fingerprint: 0x0102_0304,
            },
            Change::Delete { id: "a".into() },
        ] {
            let row = change.encode(Width::W32, 7);
            assert_eq!(decode(7, &row), Some(change));
            assert_eq!(decode(8, &row), None);
            for bit in 0..8 * row.len() {
                let mut damaged = row.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(decode(7, &damaged), None, "{bit}");
            }
        }
        for bad in [&b""[..], b"?a", b"+abc", b"-\xff", b"+abcd\xff"] {
            assert_eq!(decode(7, bad), None);
            let row = with_checksum(Rows::Changes, 7, bad.to_vec());
            assert_eq!(decode(7, &row), None);
        }
    }

    #[test]
    fn a_row_of_one_kind_is_none_of_the_other() {
        let row = with_checksum(Rows::Deleted, 7, b"-a".to_vec());
        assert_eq!(checked(Rows::Deleted, 7, &row), Some(&b"-a"[..]));
        assert_eq!(checked(Rows::Changes, 7, &row), None);
    }
}
