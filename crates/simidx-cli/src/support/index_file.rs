//! Opening the index files that a command names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use simidx::format::{FormatClass, FormatError, MAGIC};
use simidx::set::Manifest;
use simidx::{Error, Set};

use crate::support::failure::Failure;
use crate::support::heading;
use crate::support::interrupt;

/// The index files to open; shared by the commands that read them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IndexArgs {
    /// Index files, or folders with a set of them; several are read as one
    #[arg(value_name = "INDEX", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// How index files are opened.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OpenArgs {
    /// Read index files into memory instead of mapping them
    #[arg(long, help_heading = heading::RESOURCES)]
    pub(crate) no_mmap: bool,
}

impl IndexArgs {
    /// Opens the files as one.
    ///
    /// # Errors
    /// As for [`OpenArgs::open`], or two files, both named, that cannot be read as one.
    pub(crate) fn open(&self) -> Result<Set, Failure> {
        together(self.open.open_each(&self.paths)?)
    }

    /// The index files, with those of sets in the place of these, whose manifests come last.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let (mut files, mut manifests) = (Vec::new(), Vec::new());
        for path in &self.paths {
            match is_set(path)? {
                true => {
                    let manifest = Manifest::read(path)?;
                    files.extend(manifest.paths());
                    manifests.extend(manifest.path().map(Path::to_owned));
                }
                false => files.push(path.clone()),
            }
        }
        files.append(&mut manifests);
        Ok(files)
    }
}

impl OpenArgs {
    /// Opens an index file, or those of a folder with a manifest, each as a set of its own under its path.
    ///
    /// # Errors
    /// Why one cannot be opened, with the name of the file.
    pub(crate) fn open(&self, path: &Path) -> Result<Vec<Set>, Failure> {
        if is_set(path)? {
            let (_, files) = Manifest::read_and_open(path, |path| self.file(path))?;
            return Ok(files);
        }
        let file = self.file(path);
        let file = file.map_err(|error| open_failure(path, error))?;
        Ok(vec![file.named(path.display().to_string())])
    }

    /// Opens index files and sets.
    ///
    /// # Errors
    /// As for [`OpenArgs::open`].
    pub(crate) fn open_each(&self, paths: &[PathBuf]) -> Result<Vec<Set>, Failure> {
        let opened = paths.iter().map(|path| self.open(path));
        let opened = opened.collect::<Result<Vec<_>, Failure>>()?;
        Ok(opened.into_iter().flatten().collect())
    }

    /// Opens an index file; here a damaged file is a result and not an error.
    ///
    /// # Errors
    /// A file that cannot be read, is not an index or needs a newer reader.
    pub(crate) fn open_or_damaged(&self, path: &Path) -> Result<Result<Set, FormatError>, Failure> {
        match self.file(path) {
            Ok(set) => Ok(Ok(set)),
            Err(Error::Format(error)) if error.class() == FormatClass::Damaged => Ok(Err(error)),
            Err(error) => Err(open_failure(path, error)),
        }
    }

    fn file(&self, path: &Path) -> Result<Set, Error> {
        if self.no_mmap {
            Set::read_file(path)
        } else {
            interrupt::expect_signals()?;
            Set::map_file(path)
        }
    }
}

/// Where the records of a set without segments may be.
pub(crate) const UNSEALED: &str =
    "what a collection has not sealed yet is in its journal, which simidx serve --store reads";

/// Whether a path is a set of index files.
///
/// # Errors
/// A file that is there and cannot be read.
pub(crate) fn is_set(path: &Path) -> Result<bool, Failure> {
    Manifest::is_at(path).map_err(Failure::at(path))
}

/// Whether a file begins as an index does, or is called one, or a path is a set of indexes. What else is no regular file is
/// none, nor is a pattern.
///
/// # Errors
/// A file that is there and cannot be read.
pub(crate) fn is_index(path: &Path) -> io::Result<bool> {
    let data = match path.metadata() {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if Manifest::is_at(path)? {
        return Ok(true);
    }
    if !data.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut head)?;
    let is_called_one = path
        .extension()
        .is_some_and(|extension| extension == "simidx");
    Ok(head == MAGIC || is_called_one)
}

/// Index files as one.
///
/// # Errors
/// Files that cannot be read as one.
pub(crate) fn together(files: Vec<Set>) -> Result<Set, Failure> {
    if files.is_empty() {
        return Err(Failure::new(format!(
            "there is no segment to search; {UNSEALED}"
        )));
    }
    Ok(Set::new(files)?)
}

/// The failure to open an index; what the operating system reports names the file already.
fn open_failure(path: &Path, error: Error) -> Failure {
    match error {
        Error::Io(_) => error.into(),
        error => Failure::from(error).about(path.display()),
    }
}
