//! The names and the lengths of documents, which are kept apart from the data that is compared.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use simidx::{Error, IdBuf};

use crate::support::labels::Labels;
use crate::support::records::Fingerprinted;

/// The names and lengths of documents, in their order.
pub(super) struct Known {
    pub(super) labels: Labels,
    pub(super) repeated_ids: RepeatedIds,
    /// Whether the ids are needed.
    keeps_ids: bool,
}

impl Known {
    /// Creates an empty list. Ids, and the search for repeated ones, take at most `memory` bytes.
    pub(super) fn new(
        (keeps_ids, keeps_lengths): (bool, bool),
        temp_dir: Option<&Path>,
        memory: u64,
    ) -> Self {
        Known {
            labels: Labels::new(temp_dir, memory / 2, keeps_lengths),
            repeated_ids: RepeatedIds::new(memory / 2),
            keeps_ids,
        }
    }

    /// Adds the next document.
    ///
    /// # Errors
    /// An id that cannot be written.
    pub(super) fn push(&mut self, record: &Fingerprinted) -> Result<(), Error> {
        if let Some(id) = &record.id {
            self.repeated_ids.push(id);
        }
        let id = record.id.as_ref().filter(|_| self.keeps_ids);
        self.labels.push(record, id)
    }
}

/// Bytes that an id takes at worst: a hash and its share of the table, while that grows.
const ID_LEN: u64 = 8 * 4;

/// Counts documents with an id that an earlier one has, for as long as the memory holds a hash of each id.
#[derive(Debug)]
pub(super) struct RepeatedIds {
    state: RandomState,
    seen: HashSet<u64>,
    /// The most ids that fit into the memory.
    most: usize,
    /// Number of documents whose ids were checked.
    looked_at: u64,
    /// Whether the ids of later documents were not checked.
    is_partial: bool,
    count: u64,
    first: Option<String>,
}

impl RepeatedIds {
    /// Creates a counter that takes at most `memory` bytes.
    pub(super) fn new(memory: u64) -> Self {
        RepeatedIds {
            state: RandomState::new(),
            seen: HashSet::new(),
            most: usize::try_from(memory / ID_LEN).unwrap_or(usize::MAX),
            looked_at: 0,
            is_partial: false,
            count: 0,
            first: None,
        }
    }

    /// Adds the id of the next document. A number is equal to its digits.
    pub(super) fn push(&mut self, id: &IdBuf) {
        if self.is_partial || self.seen.len() >= self.most {
            self.is_partial = true;
            self.seen = HashSet::new();
            return;
        }
        self.looked_at += 1;
        let hash = match id {
            IdBuf::String(text) => self.state.hash_one(text.as_str()),
            IdBuf::Number(number) => self.state.hash_one(number.to_string().as_str()),
        };
        if !self.seen.insert(hash) {
            self.count += 1;
            self.first.get_or_insert_with(|| id.to_string());
        }
    }

    /// Number of documents with the id of an earlier one.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the warning about repeated ids, if there are any.
    pub(super) fn warning(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let count = self.count;
        let documents = match count {
            1 => "1 document repeats an earlier id".to_owned(),
            _ => format!("{count} documents repeat an earlier id"),
        };
        let among = match self.is_partial {
            true => format!(" among the first {}", self.looked_at),
            false => String::new(),
        };
        Some(format!(
            "{documents}{among}, the first is {first:?}: ids do not identify the documents"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_counted_while_the_memory_lasts() {
        let mut ids = RepeatedIds::new(3 * ID_LEN);
        for id in ["a", "b", "a"] {
            ids.push(&IdBuf::String(id.into()));
        }
        ids.push(&IdBuf::String("7".into()));
        assert_eq!(ids.count(), 1);
        assert!(ids.warning().unwrap().starts_with("1 document repeats"));
        ids.push(&IdBuf::Number(7));
        assert_eq!(ids.count(), 1);
        assert!(
            ids.warning()
                .unwrap()
                .contains("among the first 4, the first is \"a\"")
        );
        let mut ids = RepeatedIds::new(1 << 20);
        for number in [7, 8, 7, 7] {
            ids.push(&IdBuf::Number(number));
        }
        ids.push(&IdBuf::String("8".into()));
        assert_eq!(ids.count(), 3);
        let warning = "3 documents repeat an earlier id, the first is \"7\": ids do not identify the documents";
        assert_eq!(ids.warning().as_deref(), Some(warning));
        assert_eq!(RepeatedIds::new(1 << 20).warning(), None);
    }
}
