//! Whole sets that a command is given: indexes, or records, of which it may make an index that vanishes when it ends.

use std::path::PathBuf;

use simidx::design::TableDesign;
use simidx::{BuildOptions, Fingerprint, IdKind, Index, IndexBuilder, Storage};

use crate::support::choices::InputFormat;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, OpenArgs};
use crate::support::pipeline::PipelineArgs;
use crate::support::records::{
    FieldArgs, Fingerprinted, InputArgs, OnError, Refusal, number_id, string_id,
};
use crate::support::resources::ResourceArgs;
use crate::support::width::Width;

/// The distance where neither the user nor an index says one.
pub(crate) const DEFAULT_DISTANCE: u32 = 3;

/// Index files or records; shared by the commands that take either.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceArgs {
    /// Index files, which are read as one; with --input, files of fingerprints or documents, `-` for standard input
    #[arg(value_name = "INDEX|INPUT", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Read the files as records in this format instead of as indexes
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Bits per fingerprint, with --input
    #[arg(long, value_enum, value_name = "BITS", default_value_t = Width::W64)]
    pub(crate) width: Width,
    /// What to do with an invalid record of --input
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop, help_heading = heading::INPUT)]
    on_error: OnError,
    #[command(flatten)]
    pipeline: PipelineArgs,
}

impl SourceArgs {
    /// Whether the files are records.
    pub(crate) fn are_records(&self) -> bool {
        self.input.is_some()
    }

    /// The files as indexes.
    ///
    /// # Errors
    /// What is said of records, of which there are none.
    pub(crate) fn indexes(&self) -> Result<IndexArgs, Failure> {
        if self.fields.are_given() {
            let message = "--text-field, --id-field and --encoding require --input";
            return Err(Failure::new(message));
        }
        Ok(IndexArgs {
            paths: self.paths.clone(),
            open: self.open.clone(),
        })
    }

    /// The files as records, read on so many threads.
    pub(crate) fn records(&self, threads: u16) -> InputArgs {
        InputArgs {
            inputs: self.paths.clone(),
            input: self.input.unwrap_or(InputFormat(None)),
            fields: self.fields.clone(),
            width: self.width,
            pipeline: self.pipeline.clone(),
            on_error: self.on_error,
            threads,
        }
    }
}

/// Makes an index of records with ids.
pub(crate) struct TransientBuilder<F> {
    builder: IndexBuilder<F>,
    ids: IdKind,
}

impl<F: Fingerprint> TransientBuilder<F> {
    /// An index of no record yet, for queries within a distance.
    ///
    /// # Errors
    /// A memory limit that cannot be kept.
    pub(crate) fn new(
        ids: IdKind,
        distance: u32,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        let design = TableDesign::partition(distance.min(simidx::design::MAX_DISTANCE), 1)?;
        Self::with_design(ids, distance, Some(design), resources)
    }

    /// The same, with the tables that a build chooses.
    ///
    /// # Errors
    /// A memory limit that cannot be kept.
    pub(crate) fn searched(
        ids: IdKind,
        distance: u32,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        Self::with_design(ids, distance, None, resources)
    }

    fn with_design(
        ids: IdKind,
        distance: u32,
        design: Option<TableDesign<F>>,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        let mut options = BuildOptions::default();
        options.max_distance = distance.min(simidx::design::MAX_DISTANCE);
        options.design = design;
        options.ids = ids;
        options.memory = Some(resources.memory_limit());
        options.temp_dir = resources.temp_dir.clone();
        Ok(TransientBuilder {
            builder: IndexBuilder::new(options)?,
            ids,
        })
    }

    /// Adds a record with its own id.
    ///
    /// # Errors
    /// A record without an id of this kind, or what the builder reports.
    pub(crate) fn push(&mut self, record: Fingerprinted<F>) -> Result<(), Refusal> {
        let fingerprint = record.fingerprint;
        match self.ids {
            IdKind::Number => {
                let id = number_id(&record)?;
                self.builder.push_with_number(fingerprint, id)?;
            }
            _ => {
                let id = string_id(record)?;
                self.builder.push_with_string(fingerprint, &id)?;
            }
        }
        Ok(())
    }

    /// Adds a fingerprint with a number.
    ///
    /// # Errors
    /// What the builder reports.
    pub(crate) fn push_number(&mut self, fingerprint: F, number: u64) -> simidx::Result<()> {
        self.builder.push_with_number(fingerprint, number)
    }

    /// The index, in a file that has lost its name, or will when it is closed.
    ///
    /// # Errors
    /// What keeps it from being written or opened.
    pub(crate) fn finish(self, resources: &ResourceArgs) -> Result<Index<F, Storage>, Failure> {
        let folder = resources
            .temp_dir
            .clone()
            .unwrap_or_else(std::env::temp_dir);
        let blame = |error: std::io::Error| Failure::from(error).about(folder.display());
        let file = tempfile::NamedTempFile::new_in(&folder).map_err(blame)?;
        self.builder
            .finish(std::io::BufWriter::new(file.as_file()))?;
        Ok(Index::open(file.path())?)
    }
}
