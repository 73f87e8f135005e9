//! The build at one width: sorts the records and writes the file.

use std::io::Write;

use super::BuildOptions;
use super::assemble::{Assembler, FileParameters};
use super::record_sorter::RecordSorter;
use super::sink::{Sink, with_writer_thread};
use crate::design::{PlanRequest, TableDesign};
use crate::error::{BuildError, Result};
use crate::extsort::{MemoryLimit, Numbered, ValueSpace, add_all};
use crate::fingerprint::{Column, Fingerprint, Width};
use crate::format::{IdKind, MAX_ID_LEN};
use crate::id::Id;
use crate::summary::Summary;
use crate::watch::Reporter;

/// Returns why an index cannot take a record with this id, or without one.
fn refusal(id: Option<Id<'_>>) -> BuildError {
    match id {
        None => BuildError::MissingId,
        Some(Id::Number(_)) => BuildError::WrongIdKind(IdKind::Number),
        Some(Id::String(_)) => BuildError::WrongIdKind(IdKind::String),
    }
}

/// A build that collects records.
///
/// # Errors
/// A record that does not fit the options leaves the build unchanged. A temporary file that cannot be written does not:
/// a record is then lost.
#[derive(Debug)]
pub(super) struct Collecting<F> {
    options: BuildOptions,
    limit: MemoryLimit,
    space: ValueSpace,
    records: RecordSorter<F>,
}

impl<F: Fingerprint> Collecting<F> {
    pub(super) fn new(options: BuildOptions) -> Result<Self> {
        let limit = options.memory_limit()?;
        if let Some(design) = &options.design {
            Width::of::<F>().check(design.width())?;
        }
        let space = limit.value_space(options.temp_dir.clone());
        Ok(Collecting {
            records: RecordSorter::new(options.ids, options.sketches.as_ref(), &space),
            options,
            limit,
            space,
        })
    }

    fn write(self, record_count: u64, sink: &mut Sink, reporter: &mut Reporter) -> Result<Summary> {
        let Collecting {
            options,
            limit,
            space,
            records,
        } = self;
        let records = records.separate(record_count, options.id_lookup, &space, reporter)?;
        let design = resolve_design(Width::of::<F>(), &options, records.fingerprint_count())?;
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
        let masks = Column::from(design.masks()).values()?;
        file.write(records, masks, &codec, &parameters, reporter)
    }

    /// Adds a record.
    pub(super) fn push(
        &mut self,
        fingerprint: F,
        id: Option<Id<'_>>,
        sketch: Option<&[u64]>,
    ) -> Result<()> {
        if let Some(sketch) = sketch {
            return self.push_with_sketch(fingerprint, id, sketch);
        }
        match (&mut self.records, id) {
            (RecordSorter::Plain(sorter), None) => sorter.add(|buffer| buffer.push(fingerprint)),
            (RecordSorter::Numbers(sorter), Some(Id::Number(id))) => {
                sorter.add(|buffer| buffer.push(Numbered { fingerprint, id }))
            }
            (RecordSorter::Strings(sorter), Some(Id::String(id))) => {
                check_id(id)?;
                sorter.add(|buffer| buffer.push(fingerprint, id.as_bytes()))
            }
            (RecordSorter::Sketched { .. }, _) => Err(BuildError::MissingSketch.into()),
            (_, id) => Err(refusal(id).into()),
        }
    }

    fn push_with_sketch(
        &mut self,
        fingerprint: F,
        id: Option<Id<'_>>,
        sketch: &[u64],
    ) -> Result<()> {
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
            (IdKind::None, None) => &[][..],
            (IdKind::Number, Some(Id::Number(id))) => {
                // The bytes have the order of the numbers.
                number = id.to_be_bytes();
                &number
            }
            (IdKind::String, Some(Id::String(id))) => {
                check_id(id)?;
                id.as_bytes()
            }
            (_, id) => return Err(refusal(id).into()),
        };
        sorter.add(|buffer| buffer.push_with_sketch(fingerprint, id, sketch))
    }

    /// Adds records without ids.
    pub(super) fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        match &mut self.records {
            RecordSorter::Plain(sorter) => add_all(sorter, fingerprints),
            // The first record is refused, if there is one.
            _ => fingerprints
                .iter()
                .try_for_each(|&fingerprint| self.push(fingerprint, None, None)),
        }
    }

    /// Writes the index of `record_count` records.
    pub(super) fn finish(self, record_count: u64, out: &mut (dyn Write + Send)) -> Result<Summary> {
        let mut reporter = Reporter::new(self.options.watch.clone());
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

fn resolve_design(
    width: Width,
    options: &BuildOptions,
    fingerprint_count: u64,
) -> Result<TableDesign> {
    if let Some(design) = &options.design {
        return Ok(design.clone());
    }
    let mut request = PlanRequest::new(fingerprint_count, options.max_distance);
    request.width = width;
    request.block_size = options.block_size;
    request.codec = options.codec;
    Ok(request.design()?)
}
