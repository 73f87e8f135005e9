//! Publishes a file: it is written next to its target, and takes the target's name when it is complete and on disk.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::IndexBuilder;
use crate::error::Result;
use crate::summary::Summary;

/// The bytes collected before a write to the file.
const BUFFER_LEN: usize = 1 << 18;

/// The bytes after which the file is synced while more is written, so that little is left to sync at the end.
const SYNC_LEN: usize = 128 << 20;

/// The most symbolic links that are followed from a target; Linux has the same limit.
const MOST_LINKS: usize = 40;

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file in the folder of the target. [`AtomicFile::commit`] syncs it to disk, renames it to
/// its target and syncs the folder. Under that name there is always either the whole old file or the whole new one,
/// even if the machine crashes. A process that has the old file open or mapped keeps it.
///
/// - A file that is dropped without a commit, including by a panic, is removed, and the target stays unchanged. A
///   process that is killed leaves the file, named `.simidx-`, some letters and `.tmp`. A program that handles a signal
///   can remove it by its [`AtomicFile::temporary_path`].
/// - The new file has the permissions of the file that it replaces, or else those of a newly created file. Owner,
///   attributes and further hard links of the old file are not kept.
/// - If the target is a symbolic link, the file that it points to is replaced, and the link stays.
/// - On systems other than Unix, the folder is not synced.
///
/// Writes are buffered. Every error names the target.
///
/// ```
/// use std::io::Write;
/// use simidx::builder::AtomicFile;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("list.txt");
/// let mut file = AtomicFile::create(&path)?;
/// writeln!(file, "first line")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "first line\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    out: BufWriter<Temporary>,
    /// The absolute path of the target with links followed, because the working folder may change.
    place: PathBuf,
}

impl AtomicFile {
    /// Starts a file that replaces any file of its name when it is committed.
    ///
    /// # Errors
    /// The target is a directory or not a regular file, its folder does not exist, or it cannot be written there.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let blame = |error| named(path, error);
        let place = followed(path).map_err(blame)?;
        let old = existing(&place).map_err(blame)?;
        let file = create_in(folder(&place), old).map_err(blame)?;
        Ok(Self::of(file, path, place))
    }

    /// Calls `write` with a file that replaces any file of its name, and commits it.
    ///
    /// # Errors
    /// The errors of [`AtomicFile::create`] and [`AtomicFile::commit`], and any error of `write`; the target is then
    /// unchanged.
    pub fn write_with<T, E: From<io::Error>>(
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut AtomicFile) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut file = AtomicFile::create(path)?;
        let result = write(&mut file)?;
        file.commit()?;
        Ok(result)
    }

    /// Starts a file in a folder, with the permissions of its target, which may lie in a folder that does not exist yet.
    /// [`AtomicFile::into_synced`] ends it.
    ///
    /// # Errors
    /// It cannot be written there.
    #[doc(hidden)]
    pub fn create_in(folder: &Path, path: &Path) -> io::Result<Self> {
        let old = fs::metadata(path).ok().map(|old| old.permissions());
        let file = create_in(folder, old).map_err(|error| named(path, error))?;
        Ok(Self::of(file, path, path.to_owned()))
    }

    fn of(file: NamedTempFile, path: &Path, place: PathBuf) -> Self {
        let temporary = Temporary {
            file,
            target: path.to_owned(),
            pending: 0,
        };
        AtomicFile {
            out: BufWriter::with_capacity(BUFFER_LEN, temporary),
            place,
        }
    }

    /// Returns the path that the file was created with.
    pub fn path(&self) -> &Path {
        &self.out.get_ref().target
    }

    /// Returns the path of the bytes until the commit.
    pub fn temporary_path(&self) -> &Path {
        self.out.get_ref().file.path()
    }

    /// Syncs everything written so far to disk. [`AtomicFile::commit`] does this too; to publish several files
    /// together, sync all of them first, so that little can fail between one commit and the next.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_mut().sync_all()
    }

    /// Syncs the file to disk and gives it its name.
    ///
    /// # Errors
    /// Any error of the operating system; the target is then unchanged. If only the folder could not be synced, the new
    /// file has the name, but a crash of the machine may restore the old one.
    pub fn commit(self) -> io::Result<()> {
        let (target, place) = (self.path().to_owned(), self.place.clone());
        let persisted = self.into_synced()?.persist(&place);
        persisted.map_err(|error| named(&target, error.error))?;
        sync_folder(folder(&place)).map_err(|error| named(&target, error))
    }

    /// Syncs the file to disk and closes it. It is removed with the path, unless that is made persistent.
    ///
    /// # Errors
    /// Any error of the operating system.
    #[doc(hidden)]
    pub fn into_synced(mut self) -> io::Result<TempPath> {
        self.sync()?;
        // The buffer is empty after the sync.
        let (temporary, _) = self.out.into_parts();
        Ok(temporary.file.into_temp_path())
    }
}

/// # Errors
/// Any error of the operating system, with the name of the target.
impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl IndexBuilder {
    /// Writes the index to a file, which replaces any file of its name once it is complete and on disk: see
    /// [`AtomicFile`]. In addition to [`IndexBuilder::finish`], this waits for the disk.
    ///
    /// ```
    /// use simidx::{BuildOptions, IndexBuilder, Width};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.simidx");
    /// let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
    /// builder.push(42_u64)?;
    /// let summary = builder.finish_to_path(&path)?;
    /// assert_eq!(std::fs::metadata(&path)?.len(), summary.file_len);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`IndexBuilder::finish`], [`AtomicFile::create`] and [`AtomicFile::commit`].
    pub fn finish_to_path(self, path: impl AsRef<Path>) -> Result<Summary> {
        AtomicFile::write_with(path, |file| self.finish(file))
    }
}

/// The file under its temporary name, with the target to name in errors.
struct Temporary {
    file: NamedTempFile,
    target: PathBuf,
    /// Bytes written since the last sync.
    pending: usize,
}

impl Temporary {
    fn sync_all(&mut self) -> io::Result<()> {
        self.pending = 0;
        let synced = self.file.as_file().sync_all();
        synced.map_err(|error| named(&self.target, error))
    }
}

impl fmt::Debug for Temporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.file.path(), &self.target);
        write!(f, "{} for {}", from.display(), to.display())
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let blame = |error| named(&self.target, error);
        let written = self.file.as_file().write(bytes).map_err(blame)?;
        self.pending += written;
        if self.pending >= SYNC_LEN {
            self.pending = 0;
            self.file.as_file().sync_data().map_err(blame)?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Follows symbolic links from a path, whether its end exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = std::path::absolute(path)?;
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(target) => place = folder(&place).join(target),
            // Not a link; `existing` checks what it is.
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the permissions of the file that will be replaced, if there is one.
fn existing(place: &Path) -> io::Result<Option<Permissions>> {
    match fs::symlink_metadata(place) {
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a directory",
        )),
        Ok(metadata) if !metadata.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is not a regular file",
        )),
        Ok(metadata) => Ok(Some(metadata.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match folder(place).is_dir() {
            true if is_name(place) => Ok(None),
            true => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "is not the name of a file",
            )),
            false => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "its folder does not exist",
            )),
        },
        Err(error) => Err(error),
    }
}

/// Returns whether a path can name a file: `..` and `x/` cannot.
fn is_name(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    let ends_in_separator = last.is_some_and(|&byte| std::path::is_separator(byte.into()));
    path.file_name().is_some() && !ends_in_separator
}

/// Creates a temporary file with a recognizable name, and with the permissions of the file that it will replace.
fn create_in(place: &Path, old: Option<Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default. The umask applies to this mode.
        let mode = old.as_ref().map_or(0o666, |old| old.mode() & 0o777);
        builder.permissions(Permissions::from_mode(mode));
    }
    let file = builder
        .prefix(".simidx-")
        .suffix(".tmp")
        .tempfile_in(place)?;
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::PermissionsExt;
        // This time without the umask.
        let mode = old.mode() & 0o777;
        file.as_file()
            .set_permissions(Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = old;
    Ok(file)
}

/// Syncs the folder: without this, a crash of the machine could lose the name of a complete file.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
