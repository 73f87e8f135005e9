//! Passes records to a builder: chooses the kind of ids, the pipeline and the sketches, and checks the records.

use simidx::design::TableDesign;
use simidx::{BuildOptions, Column, Error, IdBuf, IdKind, IndexBuilder, Watch, Width};
use simidx_text::Pipeline;
use simidx_text::similar::Sketcher;

use super::Args;
use crate::support::failure::Failure;
use crate::support::options::IdChoice;
use crate::support::records::{Fingerprinted, Refusal, Sink, Wanted, id_of};

/// Collects records, and creates the builder when the first record determines its options.
pub(super) struct Collector<'a> {
    args: &'a Args,
    /// The options, without the kind of ids and the pipeline, which the first record determines.
    pub(super) options: BuildOptions,
    /// The pipeline that fingerprints documents.
    pub(super) pipeline: Pipeline,
    wanted: Wanted,
    open: Option<Open>,
}

/// A builder, and its requirements for records.
struct Open {
    builder: IndexBuilder,
    ids: IdKind,
    documents: bool,
}

impl<'a> Collector<'a> {
    /// Checks the parameters before any record is read.
    pub(super) fn new(args: &'a Args, watch: Watch) -> Result<Self, Failure> {
        let (width, distance) = (args.input.width, args.max_distance);
        let design = |count| TableDesign::with_table_count(width, distance, count);
        let design = args.tables.map(design).transpose()?;
        let pipeline = args.input.pipeline.pipeline()?;
        let sketcher = args.sketcher(&pipeline)?;
        let mut options = BuildOptions::default();
        options.max_distance = distance;
        options.design = design;
        options.block_size = args.block_size;
        options.codec = args.codec;
        options.id_lookup = args.id_lookup;
        options.metadata = args.metadata()?;
        options.sketches = sketcher.as_ref().map(Sketcher::parameters).cloned();
        options.memory = Some(args.resources.memory_limit());
        options.temp_dir = Some(args.temp_dir());
        options.watch = watch;
        let wanted = match sketcher {
            Some(sketcher) => {
                let fingerprinter = sketcher.pipeline()?.parallel(Width::W64)?;
                Wanted::Sketch(sketcher, fingerprinter)
            }
            None => Wanted::Fingerprint,
        };
        options.check()?;
        Ok(Collector {
            args,
            options,
            wanted,
            pipeline,
            open: None,
        })
    }

    fn open(&self, ids: IdKind, documents: bool) -> Result<Open, Error> {
        let mut options = self.options.clone();
        options.ids = ids;
        options.pipeline = documents.then(|| self.pipeline.describe());
        Ok(Open {
            builder: IndexBuilder::new(self.args.input.width, options)?,
            ids,
            documents,
        })
    }

    /// Returns the kind of ids by `--ids`. `named` is whether the first record is a document or has an id.
    fn id_kind(&self, named: bool) -> IdKind {
        self.args.ids.kind(named, IdKind::None)
    }

    /// Returns the builder, and creates it if this is the first record.
    fn opened(&mut self, named: bool, documents: bool) -> Result<&mut Open, Error> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(self.id_kind(named), documents)?,
        };
        Ok(self.open.insert(open))
    }

    /// Returns the builder with all records, and the description of the text pipeline if it was used.
    pub(super) fn finish(mut self) -> Result<(IndexBuilder, Option<String>), Failure> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open(self.id_kind(false), false)?,
        };
        let pipeline = open.documents.then(|| self.pipeline.describe());
        Ok((open.builder, pipeline))
    }
}

impl Sink for Collector<'_> {
    fn record(&mut self, record: Fingerprinted) -> Result<(), Refusal> {
        let automatic = self.args.ids == IdChoice::Auto;
        if self.options.sketches.is_some() && !record.is_document {
            let message = "a fingerprint has no text to sketch; --sketch needs documents";
            return Err(Refusal::Input(message.into()));
        }
        self.opened(record.is_named(), record.is_document)?
            .push(record, automatic)
    }

    fn wants(&self) -> &Wanted {
        &self.wanted
    }

    fn takes_fingerprints(&self) -> bool {
        if self.options.sketches.is_some() {
            return false;
        }
        match &self.open {
            Some(open) => !open.documents && open.ids != IdKind::String,
            None => self.id_kind(false) != IdKind::String,
        }
    }

    fn fingerprints(&mut self, fingerprints: Column<'_>, first_position: u64) -> Result<(), Error> {
        let open = self.opened(false, false)?;
        match open.ids {
            IdKind::None => open.builder.extend_from_slice(fingerprints),
            _ => (first_position..)
                .zip(fingerprints.iter())
                .try_for_each(|(id, value)| open.builder.push_with_id(value, id)),
        }
    }
}

impl Open {
    fn push(&mut self, mut record: Fingerprinted, automatic: bool) -> Result<(), Refusal> {
        if record.is_document != self.documents {
            let message = "documents and fingerprints are mixed; build them separately";
            return Err(Refusal::record(message));
        }
        if self.ids == IdKind::None && automatic && record.id.is_some() {
            let message = "has an id, but the first record had none; choose with --ids";
            return Err(Refusal::record(message));
        }
        if record.without_features.is_some() {
            // It would be near to all documents without features, although they have nothing in common.
            return Ok(());
        }
        let fingerprint = record.fingerprint;
        let sketch = record.sketch.take();
        let id = match self.ids {
            IdKind::None => None,
            kind => Some(id_of(&mut record, kind)?),
        };
        match (sketch, &id) {
            (Some(sketch), id) => {
                let id = id.as_ref().map(IdBuf::as_id);
                self.builder
                    .push_with_sketch(fingerprint, id, sketch.as_u64s())?;
            }
            (None, Some(id)) => self.builder.push_with_id(fingerprint, id)?,
            (None, None) => self.builder.push(fingerprint)?,
        }
        Ok(())
    }
}
