//! Records whose clusters are wanted: fingerprints alone, or an index with their ids.

use std::cmp::Reverse;

use simidx::batch::{ClusterFinder, ClusterOptions};
use simidx::{Column, Error, Id, IdBuf, IdKind, Set};
use simidx_text::dedup::EqualTexts;

use super::{Args, Representative};
use crate::support::failure::Failure;
use crate::support::labels::SpooledIds;
use crate::support::options::IdChoice;
use crate::support::records::{Fingerprinted, Refusal, Sink, id_of};
use crate::support::transient::TransientBuilder;

/// Takes records in, and finds out by the first one whether their ids are wanted.
pub(super) struct Collector<'a> {
    args: &'a Args,
    options: &'a ClusterOptions,
    open: Option<Open>,
}

enum Open {
    Fingerprints(ClusterFinder),
    Records(TransientBuilder, KnownRecords),
}

/// All records.
pub(super) enum Collected {
    Fingerprints(ClusterFinder),
    /// An index whose ids are the numbers of the records.
    Index(Set, KnownRecords),
}

/// What is known of records beside their fingerprints, by their numbers. Memory: 4 bytes a record where lengths count.
#[derive(Debug)]
pub(super) struct KnownRecords {
    kind: IdKind,
    ids: SpooledIds,
    /// Bytes of each text, if the longest is to come first.
    lengths: Option<Vec<u32>>,
    /// Documents without features, which the index lacks.
    pub(super) equal: EqualTexts,
}

impl KnownRecords {
    fn new(args: &Args, kind: IdKind) -> Self {
        let by_length = args.representative == Representative::Longest;
        KnownRecords {
            kind,
            ids: SpooledIds::new(args.resources.temp_dir.as_deref(), 0),
            lengths: by_length.then(Vec::new),
            equal: EqualTexts::default(),
        }
    }

    /// Takes the next record in and returns its number.
    fn push(&mut self, record: Fingerprinted) -> Result<u64, Refusal> {
        let number = self.ids.count();
        let text_len = record.text_len;
        self.ids.push(number, &id_of(record, self.kind)?)?;
        if let Some(lengths) = &mut self.lengths {
            lengths.push(u32::try_from(text_len).unwrap_or(u32::MAX));
        }
        Ok(number)
    }

    /// The number that an id of the index is.
    pub(super) fn number(id: Id<'_>) -> Option<u64> {
        match id {
            Id::Number(number) => Some(number),
            Id::String(_) => None,
        }
    }

    /// Orders records: the one with the least key comes first.
    pub(super) fn key(&self, number: u64) -> (Reverse<u32>, u64) {
        let lengths = self.lengths.as_deref().unwrap_or_default();
        let length = lengths.get(number as usize).copied().unwrap_or(0);
        (Reverse(length), number)
    }

    /// The id of a record.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub(super) fn id(&self, number: u64) -> Result<Option<IdBuf>, Error> {
        self.ids.get(number)
    }
}

impl<'a> Collector<'a> {
    /// Checks the arguments before anything is read.
    ///
    /// # Errors
    /// Arguments that do not go together, or a memory limit that cannot be kept.
    pub(super) fn new(args: &'a Args, options: &'a ClusterOptions) -> Result<Self, Failure> {
        if args.representative == Representative::Longest && args.ids == IdChoice::None {
            let message = "--representative longest needs ids; leave --ids none out";
            return Err(Failure::new(message));
        }
        let collector = Collector {
            args,
            options,
            open: None,
        };
        collector.open(IdKind::None)?;
        Ok(collector)
    }

    fn open(&self, kind: IdKind) -> Result<Open, Error> {
        let width = self.args.source.width;
        Ok(match kind {
            IdKind::None => Open::Fingerprints(ClusterFinder::new(width, self.options)?),
            _ => {
                let (distance, resources) = (self.options.distance, &self.args.resources);
                let builder =
                    TransientBuilder::new((width, IdKind::Number), distance, false, resources)?;
                Open::Records(builder, KnownRecords::new(self.args, kind))
            }
        })
    }

    /// What there is of the records.
    ///
    /// # Errors
    /// What keeps the index from being written or opened.
    pub(super) fn finish(mut self) -> Result<Collected, Failure> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(IdKind::None)?,
        };
        Ok(match open {
            Open::Fingerprints(finder) => Collected::Fingerprints(finder),
            Open::Records(builder, mut records) => {
                records.ids.complete()?;
                let index = builder.finish(&self.args.resources)?;
                Collected::Index(index, records)
            }
        })
    }
}

impl Sink for Collector<'_> {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
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
            Open::Records(builder, records) => {
                let (fingerprint, identity) = (record.fingerprint, record.without_features);
                let number = records.push(record)?;
                match identity {
                    None => builder.push_number(fingerprint, number)?,
                    Some(identity) => records.equal.push(number, identity),
                }
            }
            Open::Fingerprints(_) if self.args.ids == IdChoice::Auto && record.is_named() => {
                let message = "has an id, but the first record had none; choose with --ids";
                return Err(Refusal::record(message));
            }
            Open::Fingerprints(_) if record.without_features.is_some() => {}
            Open::Fingerprints(finder) => finder.push(record.fingerprint)?,
        }
        Ok(())
    }

    fn takes_fingerprints(&self) -> bool {
        matches!(self.open, Some(Open::Fingerprints(_)))
    }

    fn fingerprints(&mut self, fingerprints: Column<'_>, _: u64) -> Result<usize, Error> {
        match &mut self.open {
            Some(Open::Fingerprints(finder)) => finder.extend_from_slice(fingerprints)?,
            _ => return Ok(0),
        }
        Ok(fingerprints.len())
    }
}
