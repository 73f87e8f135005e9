//! Opening sets: from files, folders with a manifest, bytes in memory, or other sets.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use super::{Manifest, Parts, Set, Typed, at_width, differ};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, with_type};
use crate::index::{Index, Storage, naming, width_of};

impl Set {
    /// Opens index files of one width by mapping them, as [`Index::open`] does. The width is read from the files, and
    /// their paths are their names. A folder with a [`Manifest`], or the manifest itself, opens the files that it
    /// lists.
    ///
    /// # Errors
    /// The errors of [`Index::open`], wrapped in [`Error::Segment`] unless the operating system reports them with the
    /// name of the file; those of [`Manifest::read_and_open`] and [`Set::new`].
    #[cfg(feature = "mmap")]
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| Self::map_file(path))
    }

    /// Opens index files and folders of one width by reading them into memory. The width is read from the files.
    ///
    /// # Errors
    /// The errors of [`Index::open_in_memory`], [`Manifest::read_and_open`] and [`Set::new`].
    pub fn open_in_memory<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| Self::read_file(path))
    }

    /// Opens one index file of any width by mapping it, as [`Index::open`] does. The set is not named.
    ///
    /// # Errors
    /// The errors of [`Index::open`], with the name of the file.
    #[cfg(feature = "mmap")]
    pub fn map_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_mapping(Storage::map(path)?).map_err(naming(path))
    }

    #[cfg(feature = "mmap")]
    fn of_mapping(storage: Storage) -> Result<Self> {
        with_type!(width_of(&storage)?, F => Ok(Index::<F>::of_mapping(storage)?.into()))
    }

    /// Opens one index file of any width by reading it into memory. The set is not named.
    ///
    /// # Errors
    /// The errors of [`Index::open_in_memory`], with the name of the file.
    pub fn read_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(Storage::read(path)?).map_err(naming(path))
    }

    /// Opens an index of any width from its bytes. The set is not named.
    ///
    /// # Errors
    /// The errors of [`Index::from_bytes`].
    pub fn from_bytes(data: impl Into<Storage>) -> Result<Self> {
        let storage = data.into();
        with_type!(width_of(&storage)?, F => Ok(Index::<F>::from_bytes(storage)?.into()))
    }

    fn open_each<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        open: impl Fn(&Path) -> Result<Set>,
    ) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let path = path.as_ref();
            // An unreadable path gives an error when it is opened.
            if Manifest::is_at(path).unwrap_or(false) {
                let (_, listed) = Manifest::read_and_open(path, &open)?;
                files.extend(listed);
                continue;
            }
            files.push(open_named(path, files.len(), &open)?);
        }
        Self::new(files)
    }

    /// Combines several sets into one: indexes, `Arc`s of indexes, or sets without exclusions. Files without a name are
    /// called `segment 0`, `segment 1` and so on.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no file, or a set has exclusions; [`Error::Mismatch`] if two files differ in
    /// their width, or two files with records differ in the kind of their ids or in their text pipelines. It names both
    /// files and the difference.
    pub fn new(sets: impl IntoIterator<Item = impl Into<Set>>) -> Result<Self> {
        let (mut all, mut count): (Vec<Set>, usize) = (Vec::new(), 0);
        for set in sets {
            let mut set: Set = set.into();
            if set.hidden().is_some() {
                let message = "sets are put together before records are left out of them";
                return Err(Error::option("sets", message));
            }
            if !set.parts.is_named {
                set = set.named(format!("segment {count}"));
            }
            count += set.segment_count();
            all.push(set);
        }
        let Some(first) = all.first() else {
            return Err(Error::option("segments", "there is no segment to search"));
        };
        if let Some(other) = all.iter().find(|set| set.width() != first.width()) {
            let names = [first.name(0), other.name(0)];
            let way_out = "fingerprints of different widths cannot be compared";
            let widths = [first.width(), other.width()];
            return Err(differ(names, "their width", widths, way_out));
        }
        let set = Set {
            parts: Arc::new(Parts {
                width: first.width(),
                indexes: at_width!(first, typed => typed.together(&all)),
                names: all.iter().flat_map(|set| set.names()).cloned().collect(),
                is_named: true,
                hidden: None,
            }),
        };
        set.check()?;
        Ok(set)
    }

    /// Renames the set for its errors: a single file gets the name, each of several gets the name and its number.
    pub fn named(self, name: impl Into<String>) -> Self {
        let name = name.into();
        let names = match self.segment_count() {
            1 => vec![name],
            count => (0..count)
                .map(|number| format!("{name} {number}"))
                .collect(),
        };
        let mut parts = Arc::unwrap_or_clone(self.parts);
        (parts.names, parts.is_named) = (names, true);
        Set {
            parts: Arc::new(parts),
        }
    }
}

impl<F: Fingerprint> Typed<'_, F> {
    /// Collects the files of sets of this width.
    fn together(self, sets: &[Set]) -> Arc<dyn Any + Send + Sync> {
        let indexes = sets.iter().flat_map(|set| set.typed::<F>().shared());
        Arc::new(indexes.cloned().collect::<Vec<_>>())
    }
}

/// Opens the file with this number in a set, named by its path.
///
/// # Errors
/// Any error of `open`, wrapped once so that it names the file unless the operating system reports it.
pub(super) fn open_named(
    path: &Path,
    number: usize,
    open: impl Fn(&Path) -> Result<Set>,
) -> Result<Set> {
    let name = path.display().to_string();
    match open(path) {
        Ok(set) => Ok(set.named(name)),
        Err(error @ Error::Io(_)) => Err(error),
        Err(error) => Err(Error::Segment {
            segment: number,
            name,
            error: match error {
                Error::Segment { error, .. } => error,
                error => Box::new(error),
            },
        }),
    }
}
