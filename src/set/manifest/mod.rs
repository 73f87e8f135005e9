//! The manifest of a set of segments: a small file that lists index files, to be opened as one and replaced as one.

mod text;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::open::open_named;
use super::{Segment, Set};
use crate::builder::AtomicFile;
use crate::error::{Error, ManifestError, Result};

/// Bytes that a manifest has at most: some 400,000 segments.
const MAX_LEN: u64 = 64 << 20;

/// How often a set is read again whose files were replaced while they were opened.
const MOST_READS: usize = 8;

/// The index files of a set, in order: what is read, published, and replaced as one.
///
/// The file is called `manifest.simidx-set` and lies in the folder of the segments, or above their folders. `set-spec.md`
/// specifies it. It is replaced whole, so that who opens the set sees the old list or the new one. Nothing in it is
/// trusted: names that leave the folder are refused, and so is a segment whose contents are not those that the
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
    /// What the one who publishes the set counts up, from 0. Readers need not look at it.
    pub generation: u64,
    /// The segments in order.
    pub segments: Vec<ManifestSegment>,
    /// What the one who publishes the set notes for itself: keys of ASCII letters, digits, `.`, `-` and `_`, and values
    /// without control characters.
    pub notes: BTreeMap<String, String>,
    /// Where it was read from; empty if it was not.
    path: PathBuf,
}

/// An index file of a set, as its [`Manifest`] lists it.
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
    /// The file, relative to the folder of the manifest, its parts separated by `/`.
    pub name: String,
    /// The content identifier of the file, see [`Segment::content_id`].
    pub content_id: u128,
    /// Number of records.
    pub record_count: u64,
    /// Number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// Bytes of the file.
    pub file_len: u64,
    /// The smallest and the largest fingerprint; `None` if there is none. They are not compared with the file when it is
    /// opened.
    pub range: Option<(u128, u128)>,
    /// Bits per fingerprint.
    pub width: u32,
    /// The distance that the tables were chosen for.
    pub max_distance: u32,
}

impl ManifestSegment {
    /// What a manifest says of an open file. Decodes two blocks.
    ///
    /// # Errors
    /// A damaged block, or a name that [`Manifest::publish`] would refuse.
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

    /// What is wrong with the file that was opened for it, if anything is.
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
    /// The name that a manifest has in its folder.
    pub const FILE_NAME: &str = "manifest.simidx-set";

    /// Whether a path is a set: a folder with a manifest, or a file that begins as manifests do or is called `*.simidx-set`.
    ///
    /// # Errors
    /// A file that is there and cannot be read.
    pub fn is_at(path: impl AsRef<Path>) -> io::Result<bool> {
        let path = path.as_ref();
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if data.is_dir() {
            // A folder that may not be looked into is not one without a manifest.
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

    /// Reads the manifest of a folder, or the one that a file is.
    ///
    /// # Errors
    /// What the operating system reports, with the name of the file; [`Error::Manifest`] if its bytes break a rule of
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

    /// The manifest that these bytes are. It belongs to no folder and opens nothing.
    ///
    /// # Errors
    /// [`Error::Manifest`] if they break a rule of `set-spec.md`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() as u64 > MAX_LEN {
            let message = format!("a manifest has at most {MAX_LEN} bytes");
            return Err(ManifestError::new(None, message).into());
        }
        Ok(text::parse(bytes)?)
    }

    /// The bytes of the file. Equal sets have equal bytes.
    ///
    /// # Errors
    /// [`Error::Options`] if a name or a note cannot be written, or two segments have one name.
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

    /// Adds an index file in a folder, the one that the manifest will be published in, at the end of the list. Opens it and
    /// decodes two blocks.
    ///
    /// # Errors
    /// A file that cannot be opened, or a name that leaves the folder.
    pub fn add_file(&mut self, folder: impl AsRef<Path>, name: &str) -> Result<&ManifestSegment> {
        text::check_name(name).map_err(|message| Error::option("name", message))?;
        let path = folder.as_ref().join(name);
        let set = open_named(&path, self.segments.len(), open_file)?;
        let segment = ManifestSegment::of_file(name, set.first())?;
        Ok(self.segments.push_mut(segment))
    }

    /// Makes this the manifest of a folder, in place of the one that it has: written beside it, brought to the disk and
    /// renamed, as [`AtomicFile`] does. The segments must be on disk by then; they are not looked at.
    ///
    /// # Errors
    /// As for [`Manifest::to_bytes`], [`AtomicFile::create`] and [`AtomicFile::commit`].
    pub fn publish(&self, folder: impl AsRef<Path>) -> Result<PathBuf> {
        let (bytes, path) = (self.to_bytes()?, folder.as_ref().join(Self::FILE_NAME));
        AtomicFile::write_with(&path, |file| file.write_all(&bytes))?;
        Ok(path)
    }

    /// Where it was read from; `None` if it was not.
    pub fn path(&self) -> Option<&Path> {
        Some(self.path.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The paths of the segments, in the folder that the manifest was read from.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = PathBuf> + '_ {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        self.segments
            .iter()
            .map(|segment| folder.join(&segment.name))
    }

    /// Opens the files as one set, by mapping them where the library can.
    ///
    /// # Errors
    /// As for [`Manifest::open_each`] and [`Set::new`].
    pub fn open(&self) -> Result<Set> {
        Set::new(self.open_each(open_file)?)
    }

    /// Opens each file with a function, which gives a set of one, and compares it with what is listed. Their paths are their
    /// names.
    ///
    /// # Errors
    /// What the function returns, as an [`Error::Segment`] but for what the operating system reports; [`Error::Manifest`] if a
    /// file is not the one that is listed.
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

    /// Whether an open file is the one that is listed.
    ///
    /// # Errors
    /// [`Error::Manifest`] if it is another.
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

    /// Reads a manifest and opens its segments with a function. If a file has gone meanwhile, because the set was replaced,
    /// the new manifest is read.
    ///
    /// # Errors
    /// As for [`Manifest::read`] and [`Manifest::open_each`].
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
