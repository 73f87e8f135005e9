//! The manifest of a set: a small file that lists index files, which are opened and replaced together.

mod text;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::open::open_named;
use super::{Segment, Set};
use crate::builder::AtomicFile;
use crate::error::{Error, ManifestError, Result};

/// The most bytes of a manifest: some 400,000 segments.
const MAX_LEN: u64 = 64 << 20;

/// The most times that a set is read again because its files were replaced while they were opened.
const MOST_READS: usize = 8;

/// The list of the index files of a set, in order, which are read, published and replaced together.
///
/// The file is called `manifest.simidx-set` and lies in a folder with the segments in it or below it. `set-spec.md`
/// specifies it. It is replaced atomically, so that readers see either the old list or the new one. Its contents are
/// not trusted: names that leave the folder are an error, and so is a segment whose contents differ from those that the
/// manifest lists.
///
/// ```
/// use simidx::set::Manifest;
/// use simidx::{BuildOptions, IndexBuilder, Width};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let mut manifest = Manifest::default();
/// for (name, fingerprint) in [("monday.simidx", 0xff_u64), ("tuesday.simidx", 0xfe)] {
///     let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
///     builder.push(fingerprint)?;
///     builder.finish_to_path(folder.join(name))?;
///     manifest.add_file(folder, name)?;
/// }
/// manifest.publish(folder)?;
///
/// let week = Manifest::read(folder)?.open()?;
/// assert_eq!(week.query(0xff_u64, 1)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Manifest {
    /// A number that the publisher increments, from 0. Readers may ignore it.
    pub generation: u64,
    /// The segments in order.
    pub segments: Vec<ManifestSegment>,
    /// Notes of the publisher: keys of ASCII letters, digits, `.`, `-` and `_`, and values without control characters.
    pub notes: BTreeMap<String, String>,
    /// The path that the manifest was read from; empty if it was not read from a file.
    path: PathBuf,
}

/// An index file of a set, as listed in its [`Manifest`].
///
/// ```
/// use simidx::set::ManifestSegment;
/// use simidx::{BuildOptions, IndexBuilder, Set, Width};
///
/// # let mut file = Vec::new();
/// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// builder.extend_from_slice(&[7_u64, 42])?;
/// builder.finish(&mut file)?;
/// let listed = ManifestSegment::of_file("pages.simidx", Set::from_bytes(file)?.first())?;
/// assert_eq!((listed.fingerprint_count, listed.range), (2, Some((7, 42))));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestSegment {
    /// The path of the file relative to the folder of the manifest, with `/` as the separator.
    pub name: String,
    /// The content id of the file, see [`Segment::content_id`].
    pub content_id: u128,
    /// Number of records.
    pub record_count: u64,
    /// Number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// Bytes of the file.
    pub file_len: u64,
    /// The smallest and the largest fingerprint; `None` if there is none. Opening the file does not check them.
    pub range: Option<(u128, u128)>,
    /// Bits of a fingerprint.
    pub width: u32,
    /// The distance that the tables were chosen for.
    pub max_distance: u32,
}

impl ManifestSegment {
    /// Creates the entry of an open file. Decodes two blocks.
    ///
    /// # Errors
    /// A damaged block, or a name that [`Manifest::publish`] does not accept.
    pub fn of_file(name: &str, file: Segment<'_>) -> Result<Self> {
        text::check_name(name).map_err(|message| Error::option("name", message))?;
        Ok(ManifestSegment {
            name: name.to_owned(),
            content_id: file.content_id().to_u128(),
            record_count: file.record_count(),
            fingerprint_count: file.len(),
            file_len: file.storage().as_ref().len() as u64,
            range: file.range()?,
            width: file.width().bits(),
            max_distance: file.max_distance(),
        })
    }

    /// Returns the difference from the opened file, if there is one.
    fn difference(&self, file: Segment<'_>) -> Option<String> {
        let file_len = file.storage().as_ref().len() as u64;
        let numbers: [(&str, u64, u64); 5] = [
            ("width", self.width.into(), file.width().bits().into()),
            ("length", self.file_len, file_len),
            ("number of records", self.record_count, file.record_count()),
            ("number of fingerprints", self.fingerprint_count, file.len()),
            (
                "distance",
                self.max_distance.into(),
                file.max_distance().into(),
            ),
        ];
        if let Some((what, listed, found)) = numbers
            .into_iter()
            .find(|(_, listed, found)| listed != found)
        {
            return Some(format!("its {what} is {found}, and {listed} is listed"));
        }
        let (listed, found) = (self.content_id, file.content_id().to_u128());
        (listed != found)
            .then(|| format!("its content id is {found:032x}, and {listed:032x} is listed"))
    }
}

impl Manifest {
    /// The file name of a manifest in its folder.
    pub const FILE_NAME: &str = "manifest.simidx-set";

    /// Returns whether a path is a set: a folder with a manifest, or a file that starts like a manifest or is called
    /// `*.simidx-set`.
    ///
    /// # Errors
    /// A file that exists but cannot be read.
    pub fn is_at(path: impl AsRef<Path>) -> io::Result<bool> {
        let path = path.as_ref();
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if data.is_dir() {
            // A folder that cannot be searched may still hold a manifest.
            return match fs::metadata(path.join(Self::FILE_NAME)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                data => Ok(data?.is_file()),
            };
        }
        if !data.is_file() {
            return Ok(false);
        }
        if path
            .extension()
            .is_some_and(|extension| extension == "simidx-set")
        {
            return Ok(true);
        }
        let mut head = Vec::new();
        File::open(path)?
            .take(text::MAGIC.len() as u64)
            .read_to_end(&mut head)?;
        Ok(head == text::MAGIC.as_bytes())
    }

    /// Reads a manifest, given its file or its folder.
    ///
    /// # Errors
    /// Any error of the operating system, with the name of the file; [`Error::Manifest`] if the bytes break a rule of
    /// `set-spec.md`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let path = match path.is_dir() {
            true => path.join(Self::FILE_NAME),
            false => path.to_owned(),
        };
        let blame =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        if !fs::metadata(&path).map_err(blame)?.is_file() {
            return Err(blame(io::Error::other("is not a regular file")).into());
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(blame)?;
        file.take(MAX_LEN + 1)
            .read_to_end(&mut bytes)
            .map_err(blame)?;
        let mut manifest = Self::from_bytes(&bytes).map_err(|error| match error {
            Error::Manifest(error) => Error::Manifest(error.of_file(&path)),
            other => other,
        })?;
        manifest.path = path;
        Ok(manifest)
    }

    /// Parses a manifest. It has no folder, so it cannot open files.
    ///
    /// # Errors
    /// [`Error::Manifest`] if the bytes break a rule of `set-spec.md`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() as u64 > MAX_LEN {
            let message = format!("a manifest has at most {MAX_LEN} bytes");
            return Err(ManifestError::new(None, message).into());
        }
        Ok(text::parse(bytes)?)
    }

    /// Returns the bytes of the file. Equal manifests have equal bytes.
    ///
    /// # Errors
    /// [`Error::Options`] if a name or a note is invalid, or two segments have the same name.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut names = HashSet::new();
        for segment in &self.segments {
            text::check_segment(segment).map_err(|message| Error::option("segments", message))?;
            if !names.insert(&segment.name) {
                let message = format!("{} is listed twice", segment.name);
                return Err(Error::option("segments", message));
            }
        }
        for (key, value) in &self.notes {
            text::check_note(key, value).map_err(|message| Error::option("notes", message))?;
        }
        Ok(text::render(self).into_bytes())
    }

    /// Appends an index file to the list. `folder` is the one in which the manifest will be published. Opens the file
    /// and decodes two blocks.
    ///
    /// # Errors
    /// A file that cannot be opened, or a name that leaves the folder.
    pub fn add_file(&mut self, folder: impl AsRef<Path>, name: &str) -> Result<&ManifestSegment> {
        text::check_name(name).map_err(|message| Error::option("name", message))?;
        let path = folder.as_ref().join(name);
        let set = open_named(&path, self.segments.len(), open_file)?;
        let segment = ManifestSegment::of_file(name, set.first())?;
        self.segments.push(segment);
        Ok(&self.segments[self.segments.len() - 1])
    }

    /// Publishes the manifest in a folder, in place of the one there: writes it next to that, syncs it to disk and
    /// renames it, as [`AtomicFile`] does. The segments must already be on disk; they are not checked.
    ///
    /// # Errors
    /// The errors of [`Manifest::to_bytes`], [`AtomicFile::create`] and [`AtomicFile::commit`].
    pub fn publish(&self, folder: impl AsRef<Path>) -> Result<PathBuf> {
        let (bytes, path) = (self.to_bytes()?, folder.as_ref().join(Self::FILE_NAME));
        AtomicFile::write_with(&path, |file| file.write_all(&bytes))?;
        Ok(path)
    }

    /// The path that the manifest was read from; `None` if it was not read from a file.
    pub fn path(&self) -> Option<&Path> {
        Some(self.path.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the paths of the segments, in the folder of the manifest.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = PathBuf> + '_ {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        self.segments
            .iter()
            .map(|segment| folder.join(&segment.name))
    }

    /// Opens the files as one set, mapped if the library supports it.
    ///
    /// # Errors
    /// The errors of [`Manifest::open_each`] and [`Set::new`].
    pub fn open(&self) -> Result<Set> {
        Set::new(self.open_each(open_file)?)
    }

    /// Opens each file with `open`, which returns a set of one file, and compares it with the list. The paths of the
    /// files are their names.
    ///
    /// # Errors
    /// Any error of `open`, wrapped in [`Error::Segment`] unless the operating system reports it; [`Error::Manifest`]
    /// if a file differs from the list.
    pub fn open_each(&self, open: impl Fn(&Path) -> Result<Set>) -> Result<Vec<Set>> {
        let mut files = Vec::new();
        for (number, (path, listed)) in self.paths().zip(&self.segments).enumerate() {
            let set = open_named(&path, number, &open)?;
            for file in set.segments() {
                self.check(listed, file)?;
            }
            files.push(set);
        }
        Ok(files)
    }

    /// Checks that an open file is the listed one.
    ///
    /// # Errors
    /// [`Error::Manifest`] if it differs.
    pub fn check(&self, listed: &ManifestSegment, file: Segment<'_>) -> Result<()> {
        let Some(difference) = listed.difference(file) else {
            return Ok(());
        };
        let message = format!(
            "{} is not the file that is listed: {difference}",
            listed.name
        );
        Err(ManifestError::new(None, message).of_file(&self.path).into())
    }

    /// Reads a manifest and opens its segments with `open`. If a file has disappeared because the set was replaced
    /// meanwhile, reads the new manifest.
    ///
    /// # Errors
    /// The errors of [`Manifest::read`] and [`Manifest::open_each`].
    pub fn read_and_open(
        path: impl AsRef<Path>,
        open: impl Fn(&Path) -> Result<Set>,
    ) -> Result<(Self, Vec<Set>)> {
        let mut manifest = Self::read(&path)?;
        for _ in 1..MOST_READS {
            match manifest.open_each(&open) {
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    let now = Self::read(&path)?;
                    if now == manifest {
                        return Err(error.into());
                    }
                    manifest = now;
                }
                opened => return Ok((manifest, opened?)),
            }
        }
        let indexes = manifest.open_each(&open)?;
        Ok((manifest, indexes))
    }
}

/// Opens an index file as [`Manifest::open`] does.
fn open_file(path: &Path) -> Result<Set> {
    #[cfg(feature = "mmap")]
    return Set::map_file(path);
    #[cfg(not(feature = "mmap"))]
    return Set::read_file(path);
}
