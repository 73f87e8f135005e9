//! Indexes that are deleted when a command ends.

use simidx::design::{MAX_DISTANCE, TableDesign};
use simidx::{BuildOptions, IdKind, IndexBuilder, Set, Width};

use crate::support::failure::Failure;
use crate::support::options::ResourceArgs;

/// Starts an index of records with ids of this kind, for queries within a distance. It is as small as possible.
///
/// # Errors
/// An insufficient memory limit.
pub(crate) fn start(
    (width, ids): (Width, IdKind),
    distance: u32,
    resources: &ResourceArgs,
) -> simidx::Result<IndexBuilder> {
    let mut options = BuildOptions::default();
    options.max_distance = distance.min(MAX_DISTANCE);
    let design = TableDesign::partition(width, options.max_distance, 1)?;
    options.design = Some(design);
    options.ids = ids;
    options.memory = Some(resources.memory_limit());
    options.temp_dir = resources.temp_dir.clone();
    IndexBuilder::new(width, options)
}

/// Returns the index, in a file without a name, or one that is deleted when it is closed.
///
/// # Errors
/// The index cannot be written or opened.
pub(crate) fn finish(builder: IndexBuilder, resources: &ResourceArgs) -> Result<Set, Failure> {
    let folder = resources.temp_dir.clone();
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    let file = tempfile::NamedTempFile::new_in(&folder).map_err(Failure::at(&folder))?;
    builder.finish(std::io::BufWriter::new(file.as_file()))?;
    Ok(Set::map_file(file.path())?)
}
