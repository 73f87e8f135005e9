//! Errors of collections.

use std::io;
use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of a collection, by kind.
///
/// ```
/// use simidx::Width;
/// use simidx_collection::{Collection, Error, Options};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages");
/// let first = Collection::create(&path, Width::W64, Options::default())?;
/// let second = Collection::open(&path, Options::default());
/// assert!(matches!(second, Err(Error::Locked(_))));
/// # first.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error; the message names the file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A segment or the manifest failed.
    #[error(transparent)]
    Index(#[from] simidx::Error),
    /// The folder holds no collection, or one that this version cannot read.
    #[error("{}: {message}", .path.display())]
    NotACollection {
        /// The folder.
        path: PathBuf,
        /// The reason, in one clause.
        message: String,
    },
    /// Another process, or another value of this one, has the collection open.
    #[error("{} is open elsewhere; close it there first", .0.display())]
    Locked(PathBuf),
    /// An option is out of its range, or differs from that of the collection.
    #[error("{0}")]
    Options(String),
    /// The id has a record with another fingerprint, and records may not be replaced.
    #[error("the id {0:?} has a record with another fingerprint")]
    IdExists(String),
    /// The id is empty or too long.
    #[error("an id has 1 to 65535 bytes, not {0}")]
    BadId(usize),
    /// Sealing keeps failing, and memory holds as many records as it may. Queries continue, and changes are accepted
    /// again when sealing succeeds.
    #[error("too many records wait to be sealed, and sealing fails: {0}")]
    Unsealed(String),
    /// The journal could not be written, so that nothing can be acknowledged. Queries continue. Everything that was
    /// acknowledged exists when the collection is opened again.
    #[error(
        "the journal failed, and the collection takes no more changes until it is opened again: {0}"
    )]
    Journal(String),
}

/// Returns a function that adds the name of the file to an error of the system.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}
