//! Dropping index files from the page cache, where the system has a call for that.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use simidx::set::Segment;
use simidx::{Set, Storage};

use crate::support::failure::Failure;

/// The page cache of an index file, to be emptied.
pub(super) struct PageCache<'a> {
    segment: Segment<'a>,
    path: &'a Path,
    file: File,
}

impl<'a> PageCache<'a> {
    /// The page cache of each segment.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub(super) fn of(set: &'a Set, paths: &'a [PathBuf]) -> Result<Vec<Self>, Failure> {
        let open = |(segment, path): (Segment<'a>, &'a PathBuf)| {
            let file = File::open(path).map_err(Failure::at(path))?;
            Ok(PageCache {
                segment,
                path,
                file,
            })
        };
        set.segments().zip(paths).map(open).collect()
    }

    /// Empties it.
    ///
    /// # Errors
    /// What the system reports, or that it has no such call.
    pub(super) fn drop_pages(&self) -> Result<(), Failure> {
        drop_pages(self.segment.storage(), &self.file).map_err(Failure::at(self.path))
    }
}

/// Drops the pages of a mapped file, from this process first: those that are in use stay in the page cache.
#[cfg(any(target_os = "android", target_os = "freebsd", target_os = "linux"))]
fn drop_pages(storage: &Storage, file: &File) -> io::Result<()> {
    storage.evict()?;
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// Says so in words: queries on a file that stays in memory are not cold.
#[cfg(not(any(target_os = "android", target_os = "freebsd", target_os = "linux")))]
fn drop_pages(_: &Storage, _: &File) -> io::Result<()> {
    let message = "--cold: this system cannot drop a file from the page cache";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}
