//! The files that a command reads: no output replaces one of them, with `--force` or without.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::failure::Failure;

/// Files and folders that a command reads.
#[derive(Debug, Default)]
pub(crate) struct InputFiles {
    files: Vec<FileId>,
    /// Folders of documents: the name that the user gave, and the place.
    folders: Vec<(PathBuf, PathBuf)>,
}

/// What a file is, whatever name leads to it: hard links and symbolic links included.
#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = PathBuf;

impl InputFiles {
    /// Those of these paths; `-` is standard input. What does not exist is no input.
    pub(crate) fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut inputs = InputFiles::default();
        inputs.add(paths);
        inputs
    }

    /// Adds further ones.
    pub(crate) fn add<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            let path = path.as_ref();
            if path == Path::new("-") {
                self.files.extend(id_of_stdin());
            } else if path.is_dir() {
                let place = path.canonicalize();
                let place = place.map(|place| (path.to_owned(), place));
                self.folders.extend(place);
            } else {
                self.files.extend(id(path));
            }
        }
    }

    /// Refuses a target that is one of the inputs.
    ///
    /// # Errors
    /// It is, or it lies in a folder of them.
    pub(crate) fn check_target(&self, target: &Path) -> Result<(), Failure> {
        if id(target).is_some_and(|id| self.files.contains(&id)) {
            let message = "is an input, and no input is replaced; name another output";
            return Err(Failure::new(message).about(target.display()));
        }
        match self.folder_of(target) {
            Some(folder) if target.exists() => {
                let folder = folder.display();
                let message = format!(
                    "lies in the input folder {folder}, of which no file is replaced; name another output"
                );
                Err(Failure::new(message).about(target.display()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a target that would appear in a folder of the inputs while that is still to be read.
    ///
    /// # Errors
    /// It would.
    pub(crate) fn check_outside(&self, target: &Path) -> Result<(), Failure> {
        let Some(folder) = self.folder_of(target) else {
            return Ok(());
        };
        let folder = folder.display();
        let message = format!(
            "lies in the input folder {folder}, and would be an input of the next run; name a place outside"
        );
        Err(Failure::new(message).about(target.display()))
    }

    /// The input folder that a target lies in, as the user named it.
    fn folder_of(&self, target: &Path) -> Option<&Path> {
        let place = folder(target).canonicalize().ok()?;
        let mut folders = self.folders.iter();
        let found = folders.find(|(_, folder)| place.starts_with(folder));
        found.map(|(name, _)| name.as_path())
    }
}

/// The directory of a file; the current one for standard output.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|data| id_of(&data))
}

#[cfg(unix)]
fn id_of(data: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (data.dev(), data.ino())
}

/// The file that standard input is, if it is one.
#[cfg(unix)]
fn id_of_stdin() -> Option<FileId> {
    use std::os::fd::AsFd;
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    let data = fs::File::from(stdin).metadata().ok()?;
    data.is_file().then(|| id_of(&data))
}

#[cfg(not(unix))]
fn id(path: &Path) -> Option<FileId> {
    fs::canonicalize(path).ok()
}

#[cfg(not(unix))]
fn id_of_stdin() -> Option<FileId> {
    None
}
