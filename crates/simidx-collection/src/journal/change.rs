//! Changes of a collection, and how the journal writes them.

use std::sync::Arc;

use simidx::Fingerprint;

/// A change of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change<F> {
    /// The record with this id is this one from now on.
    Add { id: Arc<str>, fingerprint: F },
    /// There is no record with this id any more.
    Delete { id: Arc<str> },
}

impl<F: Fingerprint> Change<F> {
    pub(crate) fn id(&self) -> &Arc<str> {
        match self {
            Change::Add { id, .. } | Change::Delete { id } => id,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + F::BYTES + self.id().len());
        match self {
            Change::Add { id, fingerprint } => {
                bytes.push(b'+');
                fingerprint.extend_le(&mut bytes);
                bytes.extend_from_slice(id.as_bytes());
            }
            Change::Delete { id } => {
                bytes.push(b'-');
                bytes.extend_from_slice(id.as_bytes());
            }
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let id = |bytes| Some(Arc::from(std::str::from_utf8(bytes).ok()?));
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'+' => {
                let (fingerprint, rest) = rest.split_at_checked(F::BYTES)?;
                let fingerprint = F::from_le_slice(fingerprint)?;
                Some(Change::Add {
                    id: id(rest)?,
                    fingerprint,
                })
            }
            b'-' => Some(Change::Delete { id: id(rest)? }),
            _ => None,
        }
    }
}

/// A change that waits for the committer.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) generation: u64,
    pub(super) bytes: Vec<u8>,
    /// The id, if a record is deleted by it that is in a segment or will be.
    pub(super) deleted: Option<Arc<str>>,
}

impl Entry {
    pub(crate) fn new<F: Fingerprint>(
        number: u64,
        generation: u64,
        change: &Change<F>,
        deletes_sealed: bool,
    ) -> Self {
        Entry {
            number,
            generation,
            bytes: change.encode(),
            deleted: deletes_sealed.then(|| Arc::clone(change.id())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        for change in [
            Change::Add {
                id: "é\0".into(),
                fingerprint: 0x0102_0304_u32,
            },
            Change::Delete { id: "a".into() },
        ] {
            let bytes = change.encode();
            assert_eq!(Change::decode(&bytes), Some(change));
        }
        for bad in [&b""[..], b"?a", b"+abc", b"-\xff", b"+abcd\xff"] {
            assert_eq!(Change::<u32>::decode(bad), None);
        }
    }
}
