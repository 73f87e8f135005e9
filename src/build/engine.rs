//! The works of the builder behind one face: compiled here, once for each width, and not again in every crate that builds
//! an index.

use std::any::Any;
use std::fmt::Debug;
use std::io::Write;

use super::BuildOptions;
use super::assemble::{Assembler, FileParameters};
use super::progress::{BuildProgress, BuildStage, Reporter};
use super::record_sorter::RecordSorter;
use super::sink::{Sink, with_writer_thread};
use crate::design::{Permutation, PlanRequest, TableDesign};
use crate::error::Result;
use crate::extsort::{MemoryLimit, RearrangeStep, ValueSpace, Values};
use crate::fingerprint::Fingerprint;
use crate::summary::Summary;

/// Takes records and makes an index of them.
///
/// # Errors
/// A record of another kind than the others, after which the engine is as it was, or a temporary file that cannot be
/// written, after which it is not.
pub(super) trait Engine<F>: Debug + Send {
    fn push(&mut self, fingerprint: F) -> Result<()>;

    fn extend(&mut self, fingerprints: &[F]) -> Result<()>;

    fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()>;

    fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()>;

    /// Writes the index of `record_count` records.
    fn finish(
        self: Box<Self>,
        record_count: u64,
        out: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Summary<F>>;
}

/// An engine without records.
pub(super) fn start<F: Fingerprint>(
    options: BuildOptions<F>,
    space: ValueSpace,
) -> Box<dyn Engine<F>> {
    const SAME: &str = "a width belongs to one type";
    let options: Box<dyn Any> = Box::new(options);
    let engine: Box<dyn Any> = match F::WIDTH {
        32 => Box::new(start_32(*options.downcast().expect(SAME), space)),
        64 => Box::new(start_64(*options.downcast().expect(SAME), space)),
        _ => Box::new(start_128(*options.downcast().expect(SAME), space)),
    };
    *engine.downcast().expect(SAME)
}

fn start_32(options: BuildOptions<u32>, space: ValueSpace) -> Box<dyn Engine<u32>> {
    Box::new(Works::new(options, space))
}

fn start_64(options: BuildOptions<u64>, space: ValueSpace) -> Box<dyn Engine<u64>> {
    Box::new(Works::new(options, space))
}

fn start_128(options: BuildOptions<u128>, space: ValueSpace) -> Box<dyn Engine<u128>> {
    Box::new(Works::new(options, space))
}

#[derive(Debug)]
struct Works<F> {
    options: BuildOptions<F>,
    space: ValueSpace,
    records: RecordSorter<F>,
}

impl<F: Fingerprint> Works<F> {
    fn new(options: BuildOptions<F>, space: ValueSpace) -> Self {
        Works {
            records: RecordSorter::new(options.ids, &space),
            options,
            space,
        }
    }

    fn write(
        self,
        record_count: u64,
        sink: &mut Sink,
        reporter: &mut Reporter<'_>,
    ) -> Result<Summary<F>> {
        let Works {
            options,
            space,
            records,
        } = self;
        let limit = MemoryLimit::new(options.memory)?;
        let (mut values, ids) = records.separate(record_count, &space, reporter)?;
        let count = values.len();
        let design = resolve_design(&options, count)?;
        let mut file = Assembler::new::<F>(sink, options.block_size, space.temp.clone(), limit)?;
        let mut order = Permutation::new(F::MAX);
        for (t, &mask) in design.masks().iter().enumerate() {
            let permutation = Permutation::new(mask);
            if t > 0 {
                values = rearrange(values, t, &order, &permutation, &space, reporter)?;
            }
            file.write_table(mask, options.codec, &mut values, count, reporter)?;
            order = permutation;
        }
        drop(values);
        let parameters = FileParameters {
            max_distance: options.max_distance,
            block_size: options.block_size,
            id_kind: options.ids,
            record_count,
            pipeline: options.pipeline.as_deref(),
        };
        file.finish(&parameters, ids, reporter)
    }
}

impl<F: Fingerprint> Engine<F> for Works<F> {
    fn push(&mut self, fingerprint: F) -> Result<()> {
        self.records.push(fingerprint)
    }

    fn extend(&mut self, fingerprints: &[F]) -> Result<()> {
        self.records.extend(fingerprints)
    }

    fn push_with_number(&mut self, fingerprint: F, id: u64) -> Result<()> {
        self.records.push_with_number(fingerprint, id)
    }

    fn push_with_string(&mut self, fingerprint: F, id: &str) -> Result<()> {
        self.records.push_with_string(fingerprint, id)
    }

    fn finish(
        self: Box<Self>,
        record_count: u64,
        out: &mut (dyn Write + Send),
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Summary<F>> {
        let mut reporter = Reporter::new(progress);
        with_writer_thread(out, |sink| self.write(record_count, sink, &mut reporter))
    }
}

/// The fingerprints of table `t - 1` in the order of table `t`.
fn rearrange<F: Fingerprint>(
    values: Values<F>,
    t: usize,
    from: &Permutation<F>,
    to: &Permutation<F>,
    space: &ValueSpace,
    reporter: &mut Reporter<'_>,
) -> Result<Values<F>> {
    let count = values.len();
    reporter.begin(BuildStage::SortTable(t), count);
    values.rearrange(from, to, space, &mut |step| match step {
        RearrangeStep::Done(count) => reporter.advance(count),
        RearrangeStep::MergeBegins => reporter.begin(BuildStage::MergeTable(t), count),
    })
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
