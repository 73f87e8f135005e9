//! Indexes of records that vanish when a command ends.

use simidx::design::{MAX_DISTANCE, TableDesign};
use simidx::{BuildOptions, IdBuf, IdKind, IndexBuilder, Set, Width};

use crate::support::failure::Failure;
use crate::support::options::ResourceArgs;
use crate::support::records::{Fingerprinted, Refusal, id_of};

/// Makes an index of records with ids, without documents that have no features.
pub(crate) struct TransientBuilder {
    builder: IndexBuilder,
    ids: IdKind,
}

impl TransientBuilder {
    /// An index of no record yet, for queries within a distance: as small as can be, or with the tables that a build chooses.
    ///
    /// # Errors
    /// A memory limit that cannot be kept.
    pub(crate) fn new(
        (width, ids): (Width, IdKind),
        distance: u32,
        chooses_tables: bool,
        resources: &ResourceArgs,
    ) -> simidx::Result<Self> {
        let distance = distance.min(MAX_DISTANCE);
        let design = match chooses_tables {
            true => None,
            false => Some(TableDesign::partition(width, distance, 1)?),
        };
        let mut options = BuildOptions::default();
        options.max_distance = distance;
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
