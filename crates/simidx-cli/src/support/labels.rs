//! What documents are called: by their ids, else by their positions.

use std::fmt;
use std::path::Path;

use serde_json::Value;
use simidx::{Error, Id, IdBuf};

use crate::support::columns::Column;
use crate::support::json_ids::id_to_json;
use crate::support::positions::Positions;
use crate::support::spooled_ids::SpooledIds;

/// The id of a record, or its position.
#[derive(Debug, Clone)]
pub(crate) enum Label {
    Id(IdBuf),
    Position(u64),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Id(id) => Column::of(id).fmt(f),
            Label::Position(position) => position.fmt(f),
        }
    }
}

impl Label {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Label::Id(id) => id_to_json(id.as_id()),
            Label::Position(position) => id_to_json(Id::Number(*position)),
        }
    }
}

/// The ids of documents, as far as they have some, and where they stand among the records.
pub(crate) struct Labels {
    pub(crate) ids: SpooledIds,
    pub(crate) positions: Positions,
}

impl Labels {
    /// No documents yet. Ids that take more than so many bytes go to a temporary file in this folder, by default in that of
    /// the system.
    pub(crate) fn new(temp_dir: Option<&Path>, id_memory: u64) -> Self {
        Labels {
            ids: SpooledIds::new(temp_dir, id_memory),
            positions: Positions::default(),
        }
    }

    /// Says that all documents are there, among so many records.
    ///
    /// # Errors
    /// The ids cannot be written.
    pub(crate) fn end_at(&mut self, records: u64) -> Result<(), Error> {
        self.positions.end_at(records);
        self.ids.complete()
    }

    /// What a document is called.
    ///
    /// # Errors
    /// What keeps its id from being read.
    pub(crate) fn of(&self, document: usize) -> Result<Label, Error> {
        Ok(match self.ids.get(document as u64)? {
            Some(id) => Label::Id(id),
            None => Label::Position(self.positions.of(document)),
        })
    }
}
