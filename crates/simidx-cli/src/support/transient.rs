//! Indexes that are deleted when a command ends.

use simidx::design::{MAX_DISTANCE, TableDesign};
use simidx::{BuildOptions, IdKind, IndexBuilder, Set, Width};

use crate::support::failure::Failure;
use crate::support::options::{IdChoice, ResourceArgs};
use crate::support::records::{Fingerprinted, Refusal, id_of};

/// Builds an index of records with ids.
pub(crate) struct TransientBuilder<'a> {
    width: Width,
    ids: IdChoice,
    distance: u32,
    resources: &'a ResourceArgs,
    /// The builder and its kind of ids, once the first record determines it.
    open: Option<(IndexBuilder, IdKind)>,
}

impl<'a> TransientBuilder<'a> {
    /// Creates an empty index for queries within a distance.
    pub(crate) fn new(
        width: Width,
        ids: IdChoice,
        distance: u32,
        resources: &'a ResourceArgs,
    ) -> Self {
        TransientBuilder {
            width,
            ids,
            distance: distance.min(MAX_DISTANCE),
            resources,
            open: None,
        }
    }

    /// Returns the builder. Its kind of ids depends on whether the first record has a name.
    fn opened(&mut self, first_is_named: bool) -> simidx::Result<&mut (IndexBuilder, IdKind)> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let mut options = BuildOptions::default();
                options.max_distance = self.distance;
                // The index is as small as possible.
                options.design = Some(TableDesign::partition(self.width, self.distance, 1)?);
                options.ids = self.ids.kind(first_is_named, IdKind::Number);
                options.memory = Some(self.resources.memory_limit());
                options.temp_dir = self.resources.temp_dir.clone();
                let ids = options.ids;
                (IndexBuilder::new(self.width, options)?, ids)
            }
        };
        Ok(self.open.insert(open))
    }

    /// Adds a record with its own id.
    ///
    /// # Errors
    /// A record without an id of this kind, an insufficient memory limit, or any error of the builder.
    pub(crate) fn push(&mut self, mut record: Fingerprinted) -> Result<(), Refusal> {
        let (builder, ids) = self.opened(record.is_named())?;
        let id = id_of(&mut record, *ids)?;
        Ok(builder.push_with_id(record.fingerprint, &id)?)
    }

    /// Adds a fingerprint with a number.
    ///
    /// # Errors
    /// The errors of [`TransientBuilder::push`].
    pub(crate) fn push_number(&mut self, fingerprint: u128, number: u64) -> simidx::Result<()> {
        self.opened(false)?.0.push_with_id(fingerprint, number)
    }

    /// Returns the index, in a file without a name, or one that is deleted when it is closed.
    ///
    /// # Errors
    /// The index cannot be written or opened.
    pub(crate) fn finish(mut self) -> Result<Set, Failure> {
        self.opened(false)?;
        let folder = self.resources.temp_dir.clone();
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let file = tempfile::NamedTempFile::new_in(&folder).map_err(Failure::at(&folder))?;
        if let Some((builder, _)) = self.open {
            builder.finish(std::io::BufWriter::new(file.as_file()))?;
        }
        Ok(Set::map_file(file.path())?)
    }
}
