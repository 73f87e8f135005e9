//! The builder at work: sorts the records that it is given and writes the file.
//!
//! [`IndexBuilder`](super::IndexBuilder) holds it as a trait object, so that it is compiled here, once for each width, and not
//! again in every crate that builds an index.

use std::fmt::Debug;
use std::io::Write;

use super::BuildOptions;
use super::assemble::{Assembler, FileParameters};
use super::progress::{BuildProgress, Reporter};
use super::record_sorter::RecordSorter;
use super::sink::{Sink, with_writer_thread};
use crate::design::{PlanRequest, TableDesign};
use crate::error::{BuildError, Result};
use crate::extsort::{MemoryLimit, Numbered, ValueSpace, add_all};
use crate::fingerprint::Fingerprint;
use crate::format::{IdKind, MAX_ID_LEN};
use crate::summary::Summary;

/// The id of a record that is added.
#[derive(Debug, Clone, Copy)]
pub enum NewId<'i> {
    None,
    Number(u64),
    String(&'i str),
}

/// Takes records and makes an index of them.
///
/// # Errors
/// A record of another kind than the others, after which the engine is as it was, or a temporary file that cannot be
/// written, after which it is not.
pub trait Engine<F>: Debug + Send {
    fn push(&mut self, fingerprint: F) -> Result<()>;

    fn extend(&mut self, fingerprints: &[F]) -> Result<()>;

    fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()>;

    fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()>;

    fn push_with_sketch(&mut self, fingerprint: F, id: NewId<'_>, sketch: &[u64]) -> Result<()>;

    /// Writes the index of `record_count` records.
    fn finish(
        self: Box<Self>,
        record_count: u64,
        out: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Summary>;
}

/// A fingerprint type with an engine. It is a part of the sealed supertrait of [`Fingerprint`], which makes the engine
/// available to generic code without generic code in it.
pub trait HasEngine: Sized {
    /// An engine without records.
    ///
    /// # Errors
    /// As for [`BuildOptions::check`].
    fn engine(options: BuildOptions<Self>) -> Result<Box<dyn Engine<Self>>>;
}

macro_rules! impl_has_engine {
    ($($t:ty),*) => {$(
        impl HasEngine for $t {
            fn engine(options: BuildOptions<Self>) -> Result<Box<dyn Engine<Self>>> {
                Ok(Box::new(Collecting::new(options)?))
            }
        }
    )*};
}

impl_has_engine!(u32, u64, u128);

/// A build that collects records.
#[derive(Debug)]
struct Collecting<F> {
    options: BuildOptions<F>,
    limit: MemoryLimit,
    space: ValueSpace,
    records: RecordSorter<F>,
}

impl<F: Fingerprint> Collecting<F> {
    fn new(options: BuildOptions<F>) -> Result<Self> {
        let limit = options.memory_limit()?;
        let space = limit.value_space(options.temp_dir.clone());
        Ok(Collecting {
            records: RecordSorter::new(options.ids, options.sketches.as_ref(), &space),
            options,
            limit,
            space,
        })
    }

    fn write(
        self,
        record_count: u64,
        sink: &mut Sink,
        reporter: &mut Reporter<'_>,
    ) -> Result<Summary> {
        let Collecting {
            options,
            limit,
            space,
            records,
        } = self;
        let records = records.separate(record_count, options.id_lookup, &space, reporter)?;
        let design = resolve_design(&options, records.fingerprint_count())?;
        let file = Assembler::new::<F>(sink, options.block_size, space, limit)?;
        let parameters = FileParameters {
            max_distance: options.max_distance,
            block_size: options.block_size,
            id_kind: options.ids,
            record_count,
            pipeline: options.pipeline.as_deref(),
            metadata: &options.metadata,
        };
        let codec = |_| options.codec;
        file.write(records, design.masks(), &codec, &parameters, reporter)
    }
}

impl<F: Fingerprint> Engine<F> for Collecting<F> {
    fn push(&mut self, fingerprint: F) -> Result<()> {
        match &mut self.records {
            RecordSorter::Plain(sorter) => sorter.add(|buffer| buffer.push(fingerprint)),
            other => Err(other.lacks_id().into()),
        }
    }

    fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        match &mut self.records {
            RecordSorter::Plain(sorter) => add_all(sorter, fingerprints),
            _ if fingerprints.is_empty() => Ok(()),
            other => Err(other.lacks_id().into()),
        }
    }

    fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()> {
        let RecordSorter::Numbers(sorter) = &mut self.records else {
            return Err(self.records.refuses(IdKind::Number).into());
        };
        sorter.add(|buffer| buffer.push(Numbered { fingerprint, id }))
    }

    fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()> {
        let RecordSorter::Strings(sorter) = &mut self.records else {
            return Err(self.records.refuses(IdKind::String).into());
        };
        check_id(id)?;
        sorter.add(|buffer| buffer.push(fingerprint, id.as_bytes()))
    }

    fn push_with_sketch(&mut self, fingerprint: F, id: NewId<'_>, sketch: &[u64]) -> Result<()> {
        let RecordSorter::Sketched {
            sorter,
            ids,
            parameters,
        } = &mut self.records
        else {
            return Err(wrong_sketch(sketch, None).into());
        };
        if sketch.len() != parameters.u64_count() {
            return Err(wrong_sketch(sketch, Some(parameters.bits())).into());
        }
        let number;
        let id = match (ids, id) {
            (IdKind::None, NewId::None) => &[][..],
            (IdKind::Number, NewId::Number(id)) => {
                // Their bytes have the order of the numbers.
                number = id.to_be_bytes();
                &number
            }
            (IdKind::String, NewId::String(id)) => {
                check_id(id)?;
                id.as_bytes()
            }
            (_, NewId::None) => return Err(BuildError::MissingId.into()),
            (_, NewId::Number(_)) => return Err(BuildError::WrongIdKind(IdKind::Number).into()),
            (_, NewId::String(_)) => return Err(BuildError::WrongIdKind(IdKind::String).into()),
        };
        sorter.add(|buffer| buffer.push_with_sketch(fingerprint, id, sketch))
    }

    fn finish(
        self: Box<Self>,
        record_count: u64,
        out: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Summary> {
        let mut reporter = Reporter::new(progress);
        with_writer_thread(out, |sink| self.write(record_count, sink, &mut reporter))
    }
}

fn check_id(id: &str) -> Result<(), BuildError> {
    match id.len() {
        0 => Err(BuildError::EmptyId),
        len if len > MAX_ID_LEN => Err(BuildError::IdTooLong {
            len,
            limit: MAX_ID_LEN,
        }),
        _ => Ok(()),
    }
}

fn wrong_sketch(sketch: &[u64], wanted: Option<u32>) -> BuildError {
    BuildError::WrongSketch {
        given: 64 * sketch.len(),
        wanted,
    }
}

fn resolve_design<F: Fingerprint>(
    options: &BuildOptions<F>,
    fingerprint_count: u64,
) -> Result<TableDesign<F>> {
    if let Some(design) = &options.design {
        return Ok(design.clone());
    }
    let mut request = PlanRequest::new(fingerprint_count, options.max_distance);
    request.block_size = options.block_size;
    request.codec = options.codec;
    Ok(request.design()?)
}
