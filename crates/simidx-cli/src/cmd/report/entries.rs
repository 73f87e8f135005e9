//! What the page says of a fingerprint: the ids of its records, and a text.

use std::collections::{BTreeSet, HashMap};

use simidx::{IdBuf, IdKind, Set, Width};

use crate::support::failure::Failure;
use crate::support::page::{Entry, sampled};

/// Ids of a fingerprint that are shown.
const MAX_IDS: usize = 3;

/// The ids and texts of the fingerprints that are shown.
pub(super) struct Labels {
    /// By the fingerprint: its first ids, and whether there are more.
    ids: HashMap<u128, (Vec<IdBuf>, bool)>,
    texts: HashMap<IdBuf, Option<String>>,
    pub(super) kind: IdKind,
    width: Width,
}

impl Labels {
    /// The ids of these fingerprints.
    ///
    /// # Errors
    /// A damaged page.
    pub(super) fn new(set: &Set, shown: impl Iterator<Item = u128>) -> Result<Self, Failure> {
        let mut labels = Labels {
            ids: HashMap::new(),
            texts: HashMap::new(),
            kind: set.id_kind(),
            width: set.width(),
        };
        if labels.kind == IdKind::None {
            return Ok(labels);
        }
        for fingerprint in shown.collect::<BTreeSet<u128>>() {
            let mut ids = set
                .ids_of(fingerprint)?
                .take(MAX_IDS + 1)
                .collect::<simidx::Result<Vec<_>>>()?;
            let has_more = ids.len() > MAX_IDS;
            ids.truncate(MAX_IDS);
            labels.texts.extend(ids.iter().map(|id| (id.clone(), None)));
            labels.ids.insert(fingerprint, (ids, has_more));
        }
        Ok(labels)
    }

    /// Takes the text of a record, if it is one of those that are shown and the first one of this id.
    pub(super) fn take_text(&mut self, id: IdBuf, text: impl FnOnce() -> String) {
        if let Some(known) = self.texts.get_mut(&id)
            && known.is_none()
        {
            *known = Some(text());
        }
    }

    /// What is shown of a fingerprint.
    pub(super) fn entry(&self, fingerprint: u128, note: String) -> Entry {
        let (ids, has_more_ids) = match self.ids.get(&fingerprint) {
            Some((ids, has_more)) => (&ids[..], *has_more),
            None => (&[][..], false),
        };
        let text = ids.first().and_then(|id| self.text(id));
        Entry {
            ids: ids.iter().map(IdBuf::to_string).collect(),
            has_more_ids,
            fingerprint: self.width.to_hex(fingerprint),
            note,
            text,
        }
    }

    /// The records of a fingerprint one by one, if their texts are known: they may differ.
    pub(super) fn records(&self, fingerprint: u128, note: &str) -> Vec<Entry> {
        let Some((ids, _)) = self.ids.get(&fingerprint) else {
            return Vec::new();
        };
        let with_texts = ids.iter().filter_map(|id| Some((id, self.text(id)?)));
        let entries = with_texts.map(|(id, text)| Entry {
            ids: vec![id.to_string()],
            has_more_ids: false,
            fingerprint: self.width.to_hex(fingerprint),
            note: note.to_owned(),
            text: Some(text),
        });
        entries.collect()
    }

    fn text(&self, id: &IdBuf) -> Option<String> {
        self.texts.get(id).cloned().flatten()
    }

    /// How many texts there are.
    pub(super) fn coverage(&self) -> String {
        let (found, all) = (self.texts.values().flatten().count(), self.texts.len());
        match all {
            0 => "No record is shown, and so no text.".to_owned(),
            _ => format!(
                "The documents have the texts of {} shown.",
                sampled(found as u64, all as u64, "record")
            ),
        }
    }
}
