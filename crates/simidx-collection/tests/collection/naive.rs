//! A naive twin of a collection: a list of records that is scanned.

use simidx::Fingerprint;
use simidx_collection::{Collection, Near, Outcome};

/// What a collection must answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Naive<F> {
    pub(crate) records: Vec<(String, F)>,
}

/// A match in short.
pub(crate) type Short<F> = (u32, F, Vec<String>);

pub(crate) fn short<F: Copy>(near: &[Near<F>]) -> Vec<Short<F>> {
    let short = |near: &Near<F>| (near.distance, near.fingerprint, near.ids.clone());
    near.iter().map(short).collect()
}

impl<F: Fingerprint> Naive<F> {
    pub(crate) fn near(&self, fingerprint: F, distance: u32, except: &str) -> Vec<Short<F>> {
        let mut all: Vec<Short<F>> = Vec::new();
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

    pub(crate) fn get(&self, id: &str) -> Option<F> {
        let found = self.records.iter().find(|(other, _)| other == id);
        found.map(|(_, fingerprint)| *fingerprint)
    }

    pub(crate) fn add(&mut self, id: &str, fingerprint: F) -> Outcome<F> {
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
    pub(crate) fn check(&self, collection: &Collection<F>) {
        assert_eq!(collection.len(), self.records.len() as u64);
        assert_eq!(collection.is_empty(), self.records.is_empty());
        for (id, fingerprint) in &self.records {
            assert_eq!(collection.get(id).unwrap(), Some(*fingerprint), "{id}");
            let found = collection.query(*fingerprint, 0).unwrap();
            assert_eq!(short(&found), self.near(*fingerprint, 0, ""), "{id}");
        }
    }
}
