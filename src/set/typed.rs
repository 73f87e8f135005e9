//! A set in the type of its width, for code that uses its fingerprints.

use std::ops::Deref;
use std::sync::Arc;

use super::fingerprints::TypedFingerprints;
use super::{Set, SetIds};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::id::Id;
use crate::index::Index;

/// A set whose fingerprints have the type `F`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typed<'a, F> {
    set: &'a Set,
    indexes: &'a [Arc<Index<F>>],
}

/// Evaluates an expression with a name bound to a set in the type of its width.
macro_rules! at_width {
    ($set:expr, $typed:ident => $body:expr) => {
        $crate::fingerprint::with_type!($set.width(), OfThisSet => {
            let $typed = $set.typed::<OfThisSet>();
            $body
        })
    };
}
pub(crate) use at_width;

impl Set {
    /// Returns the set in the type `F` of its width.
    ///
    /// # Panics
    /// If `F` does not have the width of the set.
    pub(crate) fn typed<F: Fingerprint>(&self) -> Typed<'_, F> {
        let indexes = self.parts.indexes.downcast_ref::<Vec<Arc<Index<F>>>>();
        Typed {
            set: self,
            indexes: indexes.expect("the width of the set"),
        }
    }
}

impl<F> Deref for Typed<'_, F> {
    type Target = Set;

    fn deref(&self) -> &Set {
        self.set
    }
}

impl<'a, F: Fingerprint> Typed<'a, F> {
    pub(crate) fn set(self) -> &'a Set {
        self.set
    }

    /// Returns the files, in the order in which they were given.
    pub(crate) fn indexes(
        self,
    ) -> impl DoubleEndedIterator<Item = &'a Index<F>> + ExactSizeIterator + Clone {
        self.indexes.iter().map(|index| &**index)
    }

    pub(super) fn shared(self) -> &'a [Arc<Index<F>>] {
        self.indexes
    }

    /// Returns the file of a number, which must exist.
    pub(crate) fn index(self, number: usize) -> &'a Index<F> {
        &self.indexes[number]
    }

    /// Returns the file whose parameters a merge uses.
    pub(crate) fn model(self) -> &'a Index<F> {
        self.index(self.typical().number())
    }

    /// See [`Set::contains`].
    pub(crate) fn contains(self, fingerprint: F) -> Result<bool> {
        for (number, index) in self.indexes().enumerate() {
            let shows = || {
                let contains = index.contains(fingerprint)?;
                Ok(contains && !self.hides(number, fingerprint, None)?)
            };
            if shows().map_err(self.blame(number))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// See [`Set::ids_of`].
    pub(crate) fn ids_of(self, fingerprint: F) -> Result<SetIds<'a>> {
        let indexes = self.indexes().enumerate();
        let value = fingerprint.to_u128();
        let shown = indexes.filter(|&(number, _)| !self.hides_fingerprint(number, value));
        let ids = shown.map(|(number, index)| (number, index.ids_of(fingerprint)));
        SetIds::merge(self.set, ids)
    }

    /// See [`Set::fingerprints_of_id`].
    pub(super) fn fingerprints_of_id(self, id: Id<'_>) -> Result<Vec<u128>> {
        let mut all = Vec::new();
        for (number, index) in self.indexes().enumerate() {
            if self.hides_id(number, id)? {
                continue;
            }
            let found = index.fingerprints_of_id(id).map_err(self.blame(number))?;
            let found = found.into_iter().map(F::to_u128);
            all.extend(found.filter(|&found| !self.hides_fingerprint(number, found)));
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Returns the fingerprints of a table, see [`Set::fingerprints`].
    pub(crate) fn fingerprints(self, table: usize) -> Result<TypedFingerprints<'a, F>> {
        TypedFingerprints::new(self, table)
    }

    /// Returns whether all records of a fingerprint in a file are excluded. Looks up the rank if it is not given.
    ///
    /// # Errors
    /// A damaged block or page.
    pub(crate) fn hides(self, segment: usize, fingerprint: F, rank: Option<u64>) -> Result<bool> {
        if self.hides_fingerprint(segment, fingerprint.to_u128()) {
            return Ok(true);
        }
        match self.hidden_keys(segment) {
            Some(keys) => self
                .index(segment)
                .all_keys(fingerprint, rank, |key| keys.contains(key)),
            None => Ok(false),
        }
    }

    /// Calls `visit` with the slots of the records of a file that are excluded by id, see [`Index::visit_ids`].
    ///
    /// # Errors
    /// A damaged page.
    pub(crate) fn visit_hidden_ids(self, segment: usize, mut visit: impl FnMut(u64)) -> Result<()> {
        let Some(keys) = self.hidden_keys(segment) else {
            return Ok(());
        };
        let index = self.index(segment);
        match index.id_kind() {
            crate::IdKind::Number => index.visit_ids(|slot, id| match id {
                Id::Number(number) if keys.contains(number) => visit(slot),
                _ => {}
            }),
            _ => {
                keys.own().for_each(visit);
                Ok(())
            }
        }
    }
}
