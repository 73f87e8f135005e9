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
use crate::format::{IdKind, MAX_ID_LEN, MAX_SKETCH_BITS, SketchParameters};
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
        check_sketch(sketch, self.options.sketches.as_ref())?;
        match (&mut self.records, id) {
            (RecordSorter::Plain(sorter), None) => sorter.add(|buffer| buffer.push(fingerprint)),
            (RecordSorter::Numbers(sorter), Some(Id::Number(id))) => {
                sorter.add(|buffer| buffer.push(Numbered { fingerprint, id }))
            }
            (RecordSorter::Bytes { sorter, ids, .. }, id) => {
                let mut bytes;
                let sketch = match sketch {
                    None => &[][..],
                    Some(sketch) => {
                        bytes = [0; MAX_SKETCH_BITS as usize / 8];
                        le_bytes(sketch, &mut bytes)
                    }
                };
                let mut number = [0; 8];
                let id = id_bytes(*ids, id, &mut number)?;
                sorter.add(|buffer| buffer.push(fingerprint, [id, sketch], ()))
            }
            (_, id) => Err(refusal(id).into()),
        }
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

/// Checks that a record has a sketch as the options want it.
fn check_sketch(
    sketch: Option<&[u64]>,
    wanted: Option<&SketchParameters>,
) -> Result<(), BuildError> {
    match (sketch, wanted) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(BuildError::MissingSketch),
        (Some(sketch), Some(wanted)) if sketch.len() == wanted.u64_count() => Ok(()),
        (Some(sketch), wanted) => Err(BuildError::WrongSketch {
            given: 64 * sketch.len(),
            wanted: wanted.map(SketchParameters::bits),
        }),
    }
}

/// Returns the bytes of a sketch, which go to `bytes`.
fn le_bytes<'b>(sketch: &[u64], bytes: &'b mut [u8]) -> &'b [u8] {
    let (words, _) = bytes.as_chunks_mut::<8>();
    for (bytes, word) in words.iter_mut().zip(sketch) {
        *bytes = word.to_le_bytes();
    }
    &bytes[..8 * sketch.len()]
}

/// Returns the bytes of an id of this kind, which have the order of the ids. Those of a number go to `number`.
fn id_bytes<'i>(
    kind: IdKind,
    id: Option<Id<'i>>,
    number: &'i mut [u8; 8],
) -> Result<&'i [u8], BuildError> {
    match (kind, id) {
        (IdKind::None, None) => Ok(&[]),
        (IdKind::Number, Some(Id::Number(id))) => {
            *number = id.to_be_bytes();
            Ok(number)
        }
        (IdKind::String, Some(Id::String(id))) => {
            check_id(id)?;
            Ok(id.as_bytes())
        }
        (_, id) => Err(refusal(id)),
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
