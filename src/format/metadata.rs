//! User-defined metadata: keys and values in a section of their own. Spec §10.2.

use std::collections::BTreeMap;
use std::fmt;

use super::MAX_METADATA_LEN;
use crate::error::OptionsError;

/// Bytes of an entry before its key and value.
const ENTRY_HEAD_LEN: usize = 5;

/// User-defined keys and values in a file, such as its source or the time of its creation. They do not affect answers.
///
/// ```
/// use simidx::{BuildOptions, Index, IndexBuilder, Width};
///
/// let mut options = BuildOptions::default();
/// options.metadata.insert("crawl", "2026-11")?;
/// let mut file = Vec::new();
/// IndexBuilder::new(Width::W64, options)?.finish(&mut file)?;
/// let index = Index::<u64>::from_bytes(file)?;
/// assert_eq!(index.metadata().get("crawl"), Some("2026-11"));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    entries: BTreeMap<String, String>,
}

impl Metadata {
    /// Sets the value of a key.
    ///
    /// # Errors
    /// A key that is empty or longer than 255 bytes, or more than 1 MiB of metadata; nothing is changed then.
    pub fn insert(&mut self, key: &str, value: &str) -> Result<(), OptionsError> {
        let wrong = |message: String| Err(OptionsError::new("metadata", message));
        if key.is_empty() || key.len() > usize::from(u8::MAX) {
            return wrong(format!("a key has 1 to 255 bytes, not {}", key.len()));
        }
        let old = self.entries.get(key).map_or(0, |old| entry_len(key, old));
        let len = self.byte_len() - old + entry_len(key, value);
        if len > MAX_METADATA_LEN {
            return wrong(format!(
                "{len} bytes are more than the {MAX_METADATA_LEN} that a file can have"
            ));
        }
        self.entries.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// Returns all keys and values, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.entries.iter();
        entries.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the entries that `others` does not have with the same value.
    pub(crate) fn retain_common(&mut self, others: &Metadata) {
        self.entries
            .retain(|key, value| others.entries.get(key) == Some(value));
    }

    fn byte_len(&self) -> usize {
        self.iter().map(|(key, value)| entry_len(key, value)).sum()
    }

    /// Returns the bytes of the section.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_len());
        for (key, value) in self.iter() {
            bytes.push(key.len() as u8);
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(value.as_bytes());
        }
        bytes
    }

    /// Reads a section.
    ///
    /// # Errors
    /// A short description of the fault (V41).
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, &'static str> {
        const CUT: &str = "end within an entry";
        let mut entries = BTreeMap::new();
        let mut last: Option<&str> = None;
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at_checked(ENTRY_HEAD_LEN).ok_or(CUT)?;
            let value_len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
            let (key, rest) = rest.split_at_checked(head[0].into()).ok_or(CUT)?;
            let (value, rest) = rest.split_at_checked(value_len as usize).ok_or(CUT)?;
            let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "are not UTF-8");
            let key = text(key)?;
            if key.is_empty() || last.is_some_and(|last| last >= key) {
                return Err("have keys that are empty or do not ascend");
            }
            entries.insert(key.to_owned(), text(value)?.to_owned());
            (last, bytes) = (Some(key), rest);
        }
        Ok(Metadata { entries })
    }
}

/// Returns the bytes of an entry.
fn entry_len(key: &str, value: &str) -> usize {
    ENTRY_HEAD_LEN + key.len() + value.len()
}

/// Formats each entry as a line `key=value`.
impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_hold() {
        let mut metadata = Metadata::default();
        assert!(metadata.insert("", "x").is_err());
        assert!(metadata.insert(&"k".repeat(256), "x").is_err());
        assert!(metadata.insert(&"k".repeat(255), "").is_ok());
        assert!(
            metadata
                .insert("big", &"v".repeat(MAX_METADATA_LEN))
                .is_err()
        );
        let room = MAX_METADATA_LEN - metadata.byte_len() - ENTRY_HEAD_LEN - 3;
        assert!(metadata.insert("big", &"v".repeat(room)).is_ok());
        // Replacing the old value of the key makes room.
        assert!(metadata.insert("big", &"w".repeat(room)).is_ok());
        assert!(metadata.insert("b", "").is_err());
        assert_eq!(metadata.encode().len(), MAX_METADATA_LEN);
    }

    proptest! {
        #[test]
        fn round_trips(entries in prop::collection::btree_map("[^\0]{1,20}", ".{0,50}", 0..10)) {
            let metadata = Metadata { entries };
            let bytes = metadata.encode();
            prop_assert_eq!(bytes.len(), metadata.byte_len());
            prop_assert_eq!(Metadata::decode(&bytes), Ok(metadata));
        }

        #[test]
        fn every_byte_string_is_an_encoding_or_rejected(bytes in prop::collection::vec(0u8..4, 0..40)) {
            if let Ok(metadata) = Metadata::decode(&bytes) {
                prop_assert_eq!(metadata.encode(), bytes);
            }
        }
    }
}
