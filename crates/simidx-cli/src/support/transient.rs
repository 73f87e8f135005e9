//! Whole sets that a command is given: indexes, or records, of which it may make an index that vanishes when it ends.

use std::path::{Path, PathBuf};

use simidx::design::{MAX_DISTANCE, TableDesign};
use simidx::{BuildOptions, IdBuf, IdKind, IndexBuilder, Set, Width};

use crate::support::choices::InputFormat;
use crate::support::diagnostics::OnError;
use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::index_file::{IndexArgs, OpenArgs, is_index};
use crate::support::pipeline::PipelineArgs;
use crate::support::records::{FieldArgs, Fingerprinted, InputArgs, Refusal, id_of};
use crate::support::resources::ResourceArgs;
use crate::support::width::width;

/// The distance where neither the user nor an index says one.
pub(crate) const DEFAULT_DISTANCE: u32 = 3;

/// Index files or records; shared by the commands that take either.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceArgs {
    /// Index files, which are read as one, or files of fingerprints or documents; `-` is standard input, which holds records
    #[arg(value_name = "INDEX|INPUT", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Format of the records [default: auto; files that begin as indexes do are indexes]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Bits per fingerprint; an index says it itself
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width())]
    pub(crate) width: Width,
    /// What to do with an invalid record
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop, help_heading = heading::INPUT)]
    on_error: OnError,
    #[command(flatten)]
    pipeline: PipelineArgs,
}

impl SourceArgs {
    /// Whether the files are records: in any case if a format is named, else by the first bytes of the files.
    ///
    /// # Errors
    /// Files of which some are indexes and others are not, or one that cannot be read.
    pub(crate) fn are_records(&self) -> Result<bool, Failure> {
        if self.input.is_some() {
            return Ok(true);
        }
        let mut first: Option<(&Path, bool)> = None;
        for path in &self.paths {
            let is_index = is_index(path).map_err(Failure::at(path))?;
            let &mut (other, kind) = first.get_or_insert((path, is_index));
            if kind != is_index {
                let [index, records] = if kind { [other, path] } else { [path, other] };
                let message = format!(
                    "{} is an index and {} is not",
                    index.display(),
                    records.display()
                );
                return Err(Failure::new(message));
            }
        }
        Ok(first.is_some_and(|(_, is_index)| !is_index))
    }

    /// The files as indexes.
    ///
    /// # Errors
    /// What is said of records, of which there are none.
    pub(crate) fn indexes(&self) -> Result<IndexArgs, Failure> {
        if self.fields.are_given() {
            let message = format!("{} are for records, not for an index", FieldArgs::NAMES);
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

/// Makes an index of records with ids, without documents that have no features.
pub(crate) struct TransientBuilder {
    builder: IndexBuilder,
    ids: IdKind,
}

impl TransientBuilder {
    /// An index of no record yet, for queries within a distance.
    ///
    /// # Errors
    /// A memory limit that cannot be kept.
    pub(crate) fn new(
        width: Width,
        ids: IdKind,
        distance: u32,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        let design = TableDesign::partition(width, distance.min(MAX_DISTANCE), 1)?;
        Self::with_design(width, ids, distance, Some(design), resources)
    }

    /// The same, with the tables that a build chooses.
    ///
    /// # Errors
    /// A memory limit that cannot be kept.
    pub(crate) fn searched(
        width: Width,
        ids: IdKind,
        distance: u32,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        Self::with_design(width, ids, distance, None, resources)
    }

    fn with_design(
        width: Width,
        ids: IdKind,
        distance: u32,
        design: Option<TableDesign>,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        let mut options = BuildOptions::default();
        options.max_distance = distance.min(MAX_DISTANCE);
        options.design = design;
        options.ids = ids;
        options.memory = Some(resources.memory_limit());
        options.temp_dir = resources.temp_dir.clone();
        Ok(TransientBuilder {
            builder: IndexBuilder::new(width, options)?,
            ids,
        })
    }

    /// Adds a record with its own id; a document without features is only looked at. Returns the id.
    ///
    /// # Errors
    /// A record without an id of this kind, or what the builder reports.
    pub(crate) fn push(&mut self, record: Fingerprinted) -> Result<IdBuf, Refusal> {
        let (fingerprint, has_features) = (record.fingerprint, record.without_features.is_none());
        let id = id_of(record, self.ids)?;
        if has_features {
            self.builder.push_with_id(fingerprint, &id)?;
        }
        Ok(id)
    }

    /// Adds a fingerprint with a number.
    ///
    /// # Errors
    /// What the builder reports.
    pub(crate) fn push_number(&mut self, fingerprint: u128, number: u64) -> simidx::Result<()> {
        self.builder.push_with_id(fingerprint, number)
    }

    /// The index, in a file that has lost its name, or will when it is closed.
    ///
    /// # Errors
    /// What keeps it from being written or opened.
    pub(crate) fn finish(self, resources: &ResourceArgs) -> Result<Set, Failure> {
        let folder = resources
            .temp_dir
            .clone()
            .unwrap_or_else(std::env::temp_dir);
        let blame = |error: std::io::Error| Failure::from(error).about(folder.display());
        let file = tempfile::NamedTempFile::new_in(&folder).map_err(blame)?;
        self.builder
            .finish(std::io::BufWriter::new(file.as_file()))?;
        Ok(Set::map_file(file.path())?)
    }
}
