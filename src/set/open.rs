//! Opening sets: from files, folders with a manifest, memory, or sets.

use std::path::Path;
use std::sync::Arc;

use super::{Indexes, Manifest, Parts, Set, Typed, at_width, differ};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, with_type};
use crate::index::{Index, Storage, width_of};

impl Set {
    /// Opens index files of one width, whatever it is, by mapping them, as [`Index::open`] does. Their paths are their names. In
    /// place of a folder with a [`Manifest`], or of that file itself, the files are opened that it lists.
    ///
    /// # Errors
    /// As for [`Index::open`], as an [`Error::Segment`] but for what the operating system reports, which names the file
    /// already; and as for [`Manifest::read_and_open`] and [`Set::new`].
    #[cfg(feature = "mmap")]
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| Self::map_file(path))
    }

    /// Opens index files and folders of one width, whatever it is, by reading them into memory.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`], [`Manifest::read_and_open`] and [`Set::new`].
    pub fn open_in_memory<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_each(paths, |path| Self::read_file(path))
    }

    /// Opens one index file of any width by mapping it, as [`Index::open`] does. The set has no name.
    ///
    /// # Errors
    /// As for [`Index::open`].
    #[cfg(feature = "mmap")]
    pub fn map_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let storage = Storage::map(path)?;
        with_type!(width_of(&storage)?, F => Ok(Index::<F>::of_mapping(storage)?.into()))
    }

    /// Opens one index file of any width by reading it into memory. The set has no name.
    ///
    /// # Errors
    /// As for [`Index::open_in_memory`].
    pub fn read_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_bytes(Storage::read(path)?)
    }

    /// Opens the index that `data` holds, whatever its width. The set has no name.
    ///
    /// # Errors
    /// As for [`Index::from_bytes`].
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
            // What cannot be read is refused when it is opened.
            if Manifest::is_at(path).unwrap_or(false) {
                let (_, listed) = Manifest::read_and_open(path, &open)?;
                files.extend(listed);
                continue;
            }
            files.push(open_named(path, files.len(), &open)?);
        }
        Self::new(files)
    }

    /// Several sets as one: indexes, `Arc`s of indexes, or sets of which nothing is left out. Files without a name are called
    /// `segment 0`, `segment 1` and so on, by their numbers.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no file, or something is left out of a set already; [`Error::Mismatch`] if two differ in
    /// their width, or two that have records in the kind of their ids or in their text pipelines: it names both and says how
    /// they differ.
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
                indexes: at_width!(first, typed => typed.together(&all)),
                names: all.iter().flat_map(|set| set.names()).cloned().collect(),
                is_named: true,
                hidden: None,
            }),
        };
        set.check()?;
        Ok(set)
    }

    /// The same set under a name, by which errors call it: its one file by the name, each of several by the name and its number.
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
    /// The files of some sets of this width.
    fn together(self, sets: &[Set]) -> Indexes {
        let indexes = sets.iter().flat_map(|set| set.typed::<F>().shared());
        Indexes::from(indexes.cloned().collect::<Vec<_>>())
    }
}

/// Opens the file of this number in a set under the name of its path.
///
/// # Errors
/// What `open` reports: but for what the operating system reports, as an error that names the file.
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
            error: Box::new(error),
        }),
    }
}
