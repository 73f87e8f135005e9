//! The files of an open index.

use std::path::PathBuf;

use simidx::set::{Exclusions, Segment};
use simidx::{Set, Width};

/// Open files and their paths.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) set: Set,
    pub(crate) paths: Vec<PathBuf>,
    /// The paths in every working directory.
    pub(crate) absolute: Vec<PathBuf>,
    pub(crate) in_memory: bool,
    /// Whether answers exclude some records of the files.
    pub(crate) leaves_out: bool,
}

impl Opened {
    /// Opens files.
    pub(crate) fn open(paths: Vec<PathBuf>, in_memory: bool) -> simidx::Result<Self> {
        let absolute = paths.iter().map(std::path::absolute);
        let absolute = absolute.collect::<Result<_, _>>()?;
        let set = match in_memory {
            true => Set::open_in_memory(&paths)?,
            false => Set::open(&paths)?,
        };
        Ok(Opened {
            set,
            paths,
            absolute,
            in_memory,
            leaves_out: false,
        })
    }

    /// Returns the same files without some records, all or only those of file number `only`.
    pub(crate) fn without(
        &self,
        exclusions: &Exclusions,
        only: Option<usize>,
    ) -> simidx::Result<Self> {
        let set = self.set.clone();
        Ok(Opened {
            set: match only {
                None => set.without(exclusions)?,
                Some(number) => set.without_from(number, exclusions)?,
            },
            paths: self.paths.clone(),
            absolute: self.absolute.clone(),
            in_memory: self.in_memory,
            leaves_out: true,
        })
    }

    /// The width of the fingerprints.
    pub(crate) fn width(&self) -> Width {
        self.set.width()
    }

    /// Number of fingerprints; one in several files counts for each.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.set.segments().map(Segment::len).sum()
    }

    /// Returns the expected nanoseconds of a query within a distance.
    pub(crate) fn query_ns(&self, distance: u32) -> f64 {
        let plans = self.set.segments().map(|file| file.plan(distance));
        plans.map(|plan| plan.ns()).sum()
    }
}
