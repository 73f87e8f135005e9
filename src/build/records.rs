//! The records of a build in memory: fingerprints with or without ids, and their order.

use rayon::prelude::*;

use crate::error::{BuildError, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_ID_LEN};

/// A string id in the arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringRef {
    start: u64,
    len: u16,
}

/// All records of one build, of one kind.
#[derive(Debug)]
pub(super) enum Records<F> {
    Plain(Vec<F>),
    Numbers(Vec<(F, u64)>),
    Strings {
        records: Vec<(F, StringRef)>,
        arena: Vec<u8>,
    },
}

impl<F: Fingerprint> Records<F> {
    pub(super) fn new(ids: IdKind) -> Self {
        match ids {
            IdKind::None => Records::Plain(Vec::new()),
            IdKind::Number => Records::Numbers(Vec::new()),
            IdKind::String => Records::Strings {
                records: Vec::new(),
                arena: Vec::new(),
            },
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Records::Plain(records) => records.len(),
            Records::Numbers(records) => records.len(),
            Records::Strings { records, .. } => records.len(),
        }
    }

    pub(super) fn push(&mut self, fingerprint: F) -> Result<()> {
        self.extend(&[fingerprint])
    }

    pub(super) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        match self {
            Records::Plain(records) => records.extend_from_slice(fingerprints),
            _ => return Err(wrong_kind("a record has no id, but the index stores ids")),
        }
        Ok(())
    }

    pub(super) fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()> {
        match self {
            Records::Numbers(records) => records.push((fingerprint, id)),
            _ => return Err(wrong_kind("the index does not store numbers as ids")),
        }
        Ok(())
    }

    pub(super) fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()> {
        let Records::Strings { records, arena } = self else {
            return Err(wrong_kind("the index does not store strings as ids"));
        };
        let len = u16::try_from(id.len()).map_err(|_| {
            BuildError::Id(format!(
                "an id is {} bytes long, the limit is {MAX_ID_LEN}",
                id.len()
            ))
        })?;
        let start = arena.len() as u64;
        arena.extend_from_slice(id.as_bytes());
        records.push((fingerprint, StringRef { start, len }));
        Ok(())
    }

    /// Orders the records by fingerprint, then by id.
    pub(super) fn sort(&mut self) {
        match self {
            Records::Plain(records) => F::sort(records),
            Records::Numbers(records) => records.par_sort_unstable(),
            Records::Strings { records, arena } => {
                records.par_sort_unstable_by(|(f, a), (g, b)| {
                    f.cmp(g).then_with(|| a.bytes(arena).cmp(b.bytes(arena)))
                });
            }
        }
    }

    /// The distinct fingerprints of sorted records, and for each the number of its first record.
    /// Records without ids are used up by that: nothing of them is left to ask for.
    pub(super) fn distinct(&mut self) -> (Vec<F>, Vec<u64>) {
        match self {
            Records::Plain(records) => {
                let mut fingerprints = std::mem::take(records);
                fingerprints.dedup();
                (fingerprints, Vec::new())
            }
            Records::Numbers(records) => first_of_each(records.iter().map(|r| r.0)),
            Records::Strings { records, .. } => first_of_each(records.iter().map(|r| r.0)),
        }
    }

    /// The numbers in order; none if the ids are no numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        let records: &[(F, u64)] = match self {
            Records::Numbers(records) => records,
            _ => &[],
        };
        records.iter().map(|r| r.1)
    }

    /// The bytes of the strings in order; none if the ids are no strings.
    pub(super) fn strings(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let (records, arena): (&[(F, StringRef)], &[u8]) = match self {
            Records::Strings { records, arena } => (records, arena),
            _ => (&[], &[]),
        };
        records.iter().map(|r| r.1.bytes(arena))
    }

    pub(super) fn kind(&self) -> IdKind {
        match self {
            Records::Plain(_) => IdKind::None,
            Records::Numbers(_) => IdKind::Number,
            Records::Strings { .. } => IdKind::String,
        }
    }
}

impl StringRef {
    fn bytes(self, arena: &[u8]) -> &[u8] {
        &arena[self.start as usize..][..self.len as usize]
    }
}

fn first_of_each<F: Fingerprint>(sorted: impl Iterator<Item = F>) -> (Vec<F>, Vec<u64>) {
    let (mut fingerprints, mut starts): (Vec<F>, Vec<u64>) = (Vec::new(), Vec::new());
    for (number, fingerprint) in sorted.enumerate() {
        if fingerprints.last() != Some(&fingerprint) {
            fingerprints.push(fingerprint);
            starts.push(number as u64);
        }
    }
    (fingerprints, starts)
}

fn wrong_kind(message: &str) -> crate::Error {
    BuildError::Id(message.into()).into()
}
