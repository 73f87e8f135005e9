//! Records whose clusters are wanted: fingerprints alone, or an index with their ids.

use simidx::batch::ClusterFinder;
use simidx::{Error, Fingerprint, IdKind, Index, Storage};

use super::keyed_ids::keyed;
use super::printer::Ids;
use super::{Args, Representative};
use crate::support::choices::IdChoice;
use crate::support::failure::Failure;
use crate::support::records::{Fingerprinted, Refusal, Sink};
use crate::support::transient::{DEFAULT_DISTANCE, TransientBuilder};

/// Takes records in, and finds out by the first one whether their ids are wanted.
pub(super) struct Collector<'a, F> {
    args: &'a Args,
    open: Option<Open<F>>,
}

enum Open<F> {
    Fingerprints(ClusterFinder<F>),
    Records(TransientBuilder<F>, IdKind),
}

/// All records.
pub(super) enum Collected<F> {
    Fingerprints(ClusterFinder<F>),
    Index(Box<Index<F, Storage>>, Ids),
}

impl<'a, F: Fingerprint> Collector<'a, F> {
    /// Checks the arguments before anything is read.
    ///
    /// # Errors
    /// Arguments that do not go together, or a memory limit that cannot be kept.
    pub(super) fn new(args: &'a Args) -> Result<Self, Failure> {
        if args.representative == Representative::Longest && args.ids == IdChoice::None {
            let message = "--representative longest needs ids; leave --ids none out";
            return Err(Failure::new(message));
        }
        let collector = Collector { args, open: None };
        collector.open(IdKind::None)?;
        Ok(collector)
    }

    fn open(&self, kind: IdKind) -> Result<Open<F>, Error> {
        let options = self.args.options(DEFAULT_DISTANCE);
        Ok(match kind {
            IdKind::None => Open::Fingerprints(ClusterFinder::new(&options)?),
            // Whatever the ids are, each is a string with a key before it.
            _ => {
                let (distance, resources) = (options.distance, &self.args.resources);
                let builder = TransientBuilder::new(IdKind::String, distance, resources)?;
                Open::Records(builder, kind)
            }
        })
    }

    /// What there is of the records.
    ///
    /// # Errors
    /// What keeps the index from being written or opened.
    pub(super) fn finish(mut self) -> Result<Collected<F>, Failure> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(IdKind::None)?,
        };
        Ok(match open {
            Open::Fingerprints(finder) => Collected::Fingerprints(finder),
            Open::Records(builder, kind) => {
                let index = builder.finish(&self.args.resources)?;
                Collected::Index(Box::new(index), Ids::Keyed(kind))
            }
        })
    }
}

impl<F: Fingerprint> Sink<F> for Collector<'_, F> {
    fn record(&mut self, record: Fingerprinted<F>) -> Result<(), Refusal> {
        let by_length = self.args.representative == Representative::Longest;
        if by_length && !record.is_document {
            let message = "has no text; --representative longest needs documents";
            return Err(Refusal::Input(message.into()));
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(self.args.ids.kind(record.is_named(), IdKind::None))?,
        };
        match self.open.insert(open) {
            Open::Records(builder, kind) => {
                let fingerprint = record.fingerprint;
                let id = keyed(record, *kind, by_length)?;
                builder.push_named(fingerprint, &id)?;
            }
            Open::Fingerprints(_) if self.args.ids == IdChoice::Auto && record.is_named() => {
                let message = "has an id, but the first record had none; choose with --ids";
                return Err(Refusal::record(message));
            }
            Open::Fingerprints(finder) => finder.push(record.fingerprint)?,
        }
        Ok(())
    }

    fn takes_fingerprints(&self) -> bool {
        matches!(self.open, Some(Open::Fingerprints(_)))
    }

    fn fingerprints(&mut self, fingerprints: &[F], _: u64) -> Result<usize, Error> {
        match &mut self.open {
            Some(Open::Fingerprints(finder)) => finder.extend_from_slice(fingerprints)?,
            _ => return Ok(0),
        }
        Ok(fingerprints.len())
    }
}
