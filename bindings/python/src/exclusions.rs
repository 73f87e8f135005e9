//! What callers want to be left out: records with some ids, and those of some fingerprints.

use pyo3::prelude::*;
use simidx::set::Exclusions;

use crate::errors::{Class, Failure};
use crate::ids::{self, Ids};
use crate::input::{self, Expected};
use crate::run::Watch;

/// Ids and fingerprints as callers have them.
pub(crate) struct Excluded {
    ids: Ids,
    fingerprints: Option<simidx::Fingerprints>,
}

impl Excluded {
    pub(crate) fn read(
        py: Python<'_>,
        width: u32,
        ids: Option<&Bound<'_, PyAny>>,
        fingerprints: Option<&Bound<'_, PyAny>>,
        signed: bool,
    ) -> PyResult<Self> {
        let ids = ids::read(ids)?;
        if matches!(ids, Ids::Rows) {
            let message = "\"rows\": the ids themselves are expected, in a list or an array";
            return Err(Class::Option.error(py, message));
        }
        let expected = Expected {
            width: Some(width),
            signed,
        };
        let read = |given| Ok::<_, PyErr>(input::fingerprints(given, expected)?.into_owned());
        Ok(Excluded {
            ids,
            fingerprints: fingerprints.map(read).transpose()?,
        })
    }

    /// Hands all of them to the library, and lets go of what the caller lent.
    pub(crate) fn add_to(self, exclusions: &mut Exclusions, watch: &Watch) -> Result<(), Failure> {
        for fingerprint in self.fingerprints.iter().flat_map(|column| column.iter()) {
            exclusions.add_fingerprint(fingerprint);
        }
        match &self.ids {
            Ids::Numbers(numbers) => {
                for &id in &**numbers {
                    exclusions.add_number(id)?;
                }
            }
            Ids::Strings(texts) => {
                for id in texts.all() {
                    exclusions.add_string(id)?;
                }
            }
            Ids::None | Ids::Rows => {}
        }
        watch.let_go(self);
        Ok(())
    }
}
