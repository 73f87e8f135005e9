//! A naive twin of a collection: a list of records that is scanned.

use std::ops::ControlFlow;

use simidx::Fingerprint;
use simidx_collection::{Collection, Near, Outcome};

/// The records that a collection must have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Naive {
    pub(crate) records: Vec<(String, u128)>,
}

/// A match in short.
pub(crate) type Short = (u32, u128, Vec<String>);

pub(crate) fn short(near: &[Near]) -> Vec<Short> {
    let short = |near: &Near| (near.distance, near.fingerprint, near.ids.clone());
    near.iter().map(short).collect()
}

impl Naive {
    pub(crate) fn near(&self, fingerprint: u128, distance: u32, except: &str) -> Vec<Short> {
        let mut all: Vec<Short> = Vec::new();
        for (id, other) in &self.records {
            let found = other.distance(fingerprint);
            if found > distance || id == except {
                continue;
            }
            match all.iter_mut().find(|(_, of, _)| of == other) {
                Some((.., ids)) => ids.push(id.clone()),
                None => all.push((found, *other, vec![id.clone()])),
            }
        }
        all.iter_mut().for_each(|(.., ids)| ids.sort());
        all.sort();
        all
    }

    pub(crate) fn get(&self, id: &str) -> Option<u128> {
        let found = self.records.iter().find(|(other, _)| other == id);
        found.map(|(_, fingerprint)| *fingerprint)
    }

    pub(crate) fn add(&mut self, id: &str, fingerprint: u128) -> Outcome {
        let old = self.get(id);
        self.delete(id);
        self.records.push((id.to_owned(), fingerprint));
        match old {
            None => Outcome::New,
            Some(old) if old == fingerprint => Outcome::Unchanged,
            Some(old) => Outcome::Replaced(old),
        }
    }

    pub(crate) fn delete(&mut self, id: &str) -> bool {
        let before = self.records.len();
        self.records.retain(|(other, _)| other != id);
        self.records.len() < before
    }

    /// Compares everything that can be asked for.
    #[track_caller]
    pub(crate) fn check(&self, collection: &Collection) {
        assert_eq!(collection.len(), self.records.len() as u64);
        assert_eq!(collection.is_empty(), self.records.is_empty());
        for (id, fingerprint) in &self.records {
            assert_eq!(collection.get(id).unwrap(), Some(*fingerprint), "{id}");
            let found = collection.query(*fingerprint, 0).unwrap();
            assert_eq!(short(&found), self.near(*fingerprint, 0, ""), "{id}");
        }
        let (mut expected, mut found) = (self.records.clone(), Vec::new());
        let visited = collection.visit_records(|id, fingerprint| {
            found.push((id.to_owned(), fingerprint));
            ControlFlow::Continue(())
        });
        assert_eq!(visited.unwrap(), collection.change_count());
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
}
