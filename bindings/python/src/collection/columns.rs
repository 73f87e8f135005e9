//! Answers of collections, in columns.

use simidx::batch::{Answers, IdLists};
use simidx::{Id, IdKind, Width};
use simidx_collection::{Near, Outcome};

/// The answers to many queries or additions.
pub(crate) struct Columns {
    pub(crate) answers: Answers,
    /// The ids of each match.
    pub(crate) ids: IdLists,
    /// The outcome of each addition.
    pub(super) outcomes: Vec<&'static str>,
}

impl Columns {
    pub(super) fn new(width: Width) -> Self {
        Columns {
            answers: Answers::new(width),
            ids: IdLists::new(IdKind::String),
            outcomes: Vec::new(),
        }
    }

    /// Adds the answer to a query.
    pub(super) fn push(&mut self, found: Vec<Near>) {
        for near in found {
            self.answers.push(near.fingerprint, near.distance);
            for id in &near.ids {
                self.ids.ids.push(Id::String(id));
            }
            self.ids.offsets.push(self.ids.ids.len() as u64);
        }
        self.answers.end_query();
    }

    /// Adds the answer to an addition. Returns the fingerprint that it replaced.
    pub(super) fn push_added(&mut self, added: simidx_collection::Added) -> Option<u128> {
        let (outcome, replaced) = match added.outcome {
            Outcome::New => ("new", None),
            Outcome::Unchanged => ("unchanged", None),
            Outcome::Replaced(old) => ("replaced", Some(old)),
        };
        self.outcomes.push(outcome);
        self.push(added.matches);
        replaced
    }
}
