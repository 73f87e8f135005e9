//! Exclusions of the caller: records with some ids or some fingerprints.

use pyo3::prelude::*;
use simidx::Width;
use simidx::set::Exclusions;

use crate::errors::{Class, Failure};
use crate::given::Given;
use crate::ids::{self, Ids};
use crate::input;
use crate::run::Watch;

/// Fingerprints or ids between two checks for a signal.
const PIECE: usize = 1 << 16;

/// Ids and fingerprints of the caller.
pub(crate) struct Excluded {
    ids: Ids,
    fingerprints: Option<simidx::Fingerprints>,
}

impl Excluded {
    /// Reads exclusions from the arguments with these two names.
    pub(crate) fn read(
        given: &Given<'_>,
        width: Width,
        ids: &str,
        fingerprints: &str,
    ) -> PyResult<Self> {
        let ids = ids::read(given.get(ids)?.as_ref())?;
        if matches!(ids, Ids::Rows) {
            let message = "\"rows\": the ids themselves are expected, in a list or an array";
            return Err(Class::Option.error(given.py(), message));
        }
        let expected = given.expected(Some(width))?;
        let fingerprints = given.read(fingerprints, |given, _| {
            Ok(input::fingerprints(given, expected)?.into_owned())
        })?;
        Ok(Excluded { ids, fingerprints })
    }

    /// Adds all of them to the library's exclusions, and releases the memory that the caller lent.
    pub(crate) fn add_to(self, exclusions: &mut Exclusions, watch: &Watch) -> Result<(), Failure> {
        let mut added = 0;
        let mut check = || {
            added += 1;
            match usize::is_multiple_of(added, PIECE) {
                true => watch.check(),
                false => Ok(()),
            }
        };
        for fingerprint in self.fingerprints.iter().flat_map(|column| column.iter()) {
            check()?;
            exclusions.add_fingerprint(fingerprint);
        }
        match &self.ids {
            Ids::Numbers(numbers) => {
                for &id in &**numbers {
                    check()?;
                    exclusions.add_number(id)?;
                }
            }
            Ids::Strings(texts) => {
                for id in texts.all() {
                    check()?;
                    exclusions.add_string(id)?;
                }
            }
            Ids::None | Ids::Rows => {}
        }
        watch.let_go(self);
        Ok(())
    }
}
