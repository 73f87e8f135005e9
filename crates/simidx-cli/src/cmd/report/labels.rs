//! The ids and a text of each fingerprint on the page.

use std::collections::{BTreeSet, HashMap};

use simidx::{IdBuf, IdKind, Set, Width};

use super::Args;
use crate::support::failure::Failure;
use crate::support::page::{Entry, sampled};
use crate::support::progress::ProgressMode;
use crate::support::records::{id_of_kind, open_texts, visit_texts};

/// Largest number of ids of a fingerprint that are shown.
const MAX_IDS: usize = 3;

/// Largest number of bytes of a text in memory, more than the page compares.
const MAX_TEXT_LEN: usize = 1 << 20;

/// The ids and texts of the fingerprints that are shown.
pub(super) struct Labels {
    /// For each fingerprint its first ids, one more than are shown.
    ids: HashMap<u128, Vec<IdBuf>>,
    /// For each id its text, once it is found.
    texts: HashMap<IdBuf, Option<String>>,
    kind: IdKind,
    width: Width,
}

impl Labels {
    /// Reads the ids of these fingerprints.
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
            let ids = set.ids_of(fingerprint)?.take(MAX_IDS + 1);
            let ids = ids.collect::<simidx::Result<Vec<_>>>()?;
            let shown = ids.iter().take(MAX_IDS);
            labels.texts.extend(shown.map(|id| (id.clone(), None)));
            labels.ids.insert(fingerprint, ids);
        }
        Ok(labels)
    }

    /// Reads the texts of the records that are shown, each from the first document with its id.
    ///
    /// # Errors
    /// Documents that cannot be read. A record that is not a document is skipped.
    pub(super) fn read_texts(&mut self, args: &Args, mode: ProgressMode) -> Result<(), Failure> {
        let options = args.fields.options(self.width);
        let temp_dir = args.resources.temp_dir.as_deref();
        let files = open_texts(&args.texts, args.input, &options, temp_dir)?;
        let reading = (mode, "reading", "documents");
        visit_texts(&files, reading, |_, id, mut text| {
            let known = id_of_kind(id, self.kind).and_then(|id| self.texts.get_mut(&id));
            if let Some(known @ None) = known {
                text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
                text.shrink_to_fit();
                *known = Some(text);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Returns the entry of a fingerprint on the page.
    pub(super) fn entry(&self, fingerprint: u128, note: String) -> Entry {
        let ids = self.ids_of(fingerprint);
        Entry {
            ids: ids.iter().take(MAX_IDS).map(IdBuf::to_string).collect(),
            has_more_ids: ids.len() > MAX_IDS,
            fingerprint: self.width.to_hex(fingerprint),
            note,
            text: ids.first().and_then(|id| self.text(id)),
        }
    }

    /// Returns the records of a fingerprint after the first whose texts are known, because they may differ.
    pub(super) fn further_records(
        &self,
        fingerprint: u128,
        note: &str,
    ) -> impl Iterator<Item = Entry> {
        let ids = self.ids_of(fingerprint).iter().skip(1);
        ids.filter_map(move |id| {
            Some(Entry {
                ids: vec![id.to_string()],
                has_more_ids: false,
                fingerprint: self.width.to_hex(fingerprint),
                note: note.to_owned(),
                text: Some(self.text(id)?),
            })
        })
    }

    fn ids_of(&self, fingerprint: u128) -> &[IdBuf] {
        self.ids.get(&fingerprint).map_or(&[], Vec::as_slice)
    }

    fn text(&self, id: &IdBuf) -> Option<String> {
        self.texts.get(id).cloned().flatten()
    }

    /// Returns a sentence on the number of texts.
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
