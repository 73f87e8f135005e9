//! A folder of outputs that appear together.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::support::failure::Failure;
use crate::support::inputs::{InputFiles, folder};
use crate::support::output::{Named, Output};
use crate::support::process::RemoveOnSignal;

/// Bytes gathered before a write.
const BUFFER_LEN: usize = 1 << 20;

/// A folder in which files of given names are to appear.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    path: PathBuf,
    force: bool,
    /// Whether it is there already.
    exists: bool,
}

impl OutputFolder {
    /// Checks early that files of these names, relative to the folder, may be written.
    ///
    /// # Errors
    /// A folder that cannot be made, and what is said against each file in it, see [`Output::for_text`].
    pub(crate) fn new(
        path: &Path,
        force: bool,
        names: &[PathBuf],
        inputs: &InputFiles,
    ) -> Result<Self, Failure> {
        let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
        let exists = match fs::metadata(path) {
            Ok(data) if data.is_dir() => true,
            Ok(_) => return refuse("is not a directory"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return refuse(&error.to_string()),
        };
        if !exists && !folder(path).is_dir() {
            return refuse("its directory does not exist");
        }
        for name in names.iter().filter(|_| exists) {
            let target = path.join(name);
            // A folder below that is missing will be made.
            if target.parent().is_some_and(Path::is_dir) {
                Output::for_text(&target, force, inputs)?;
            }
        }
        Ok(OutputFolder {
            path: path.to_owned(),
            force,
            exists,
        })
    }

    /// Whether the file of a name is this output.
    pub(crate) fn has(&self, name: &Path, output: &Output) -> bool {
        let file = Output::File {
            path: self.path.join(name),
            force: self.force,
        };
        file.is_same_file(output)
    }

    /// Begins to write: into a folder of its own on the same disk, which a signal that ends the program removes.
    ///
    /// # Errors
    /// What the operating system reports.
    pub(crate) fn begin(&self) -> Result<StagedFolder<'_>, Failure> {
        let place = match self.exists {
            true => &self.path,
            false => folder(&self.path),
        };
        let create = || {
            let staging = tempfile::Builder::new()
                .prefix(".simidx-")
                .suffix(".tmp")
                .tempdir_in(place);
            staging.map_err(Failure::at(place))
        };
        let (staging, guard) = RemoveOnSignal::create(create, tempfile::TempDir::path)?;
        Ok(StagedFolder {
            folder: self,
            staging,
            guard,
            names: Vec::new(),
        })
    }
}

/// Files that are still in a folder of their own.
#[derive(Debug)]
pub(crate) struct StagedFolder<'a> {
    folder: &'a OutputFolder,
    staging: tempfile::TempDir,
    guard: RemoveOnSignal,
    names: Vec<PathBuf>,
}

impl StagedFolder<'_> {
    /// Lets `write` write the file of a name.
    ///
    /// # Errors
    /// What `write` or the operating system reports.
    pub(crate) fn write<T>(
        &mut self,
        name: &Path,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (staged, target) = (self.staging.path().join(name), self.folder.path.join(name));
        let blame = Failure::at(&target);
        let create = || {
            fs::create_dir_all(folder(&staged))?;
            File::create_new(&staged)
        };
        let file = self.guard.begin(create).map_err(&blame)?;
        keep_permissions(&file, &target).map_err(&blame)?;
        let file = Named {
            out: file,
            name: target.display().to_string(),
        };
        let mut out = BufWriter::with_capacity(BUFFER_LEN, file);
        let result = write(&mut out)?;
        let Named { out: file, .. } = out.into_inner().map_err(io::Error::from)?;
        file.sync_all().map_err(&blame)?;
        self.names.push(name.to_owned());
        Ok(result)
    }

    /// Gives all files their names. A folder that was not there appears with all of them at once. In one that was there
    /// they appear one after the other; if one cannot, those before it are removed again, but for those that have replaced
    /// a file.
    ///
    /// # Errors
    /// What the operating system reports.
    pub(crate) fn appear(self) -> Result<(), Failure> {
        let StagedFolder {
            folder: wanted,
            staging,
            guard,
            names,
        } = self;
        let path = &wanted.path;
        let blame = Failure::at(path);
        if wanted.exists {
            guard.finish(|| wanted.move_files(staging.path(), &names))?;
            sync_folders(path, &names).map_err(&blame)?;
        } else {
            sync_folders(staging.path(), &names).map_err(&blame)?;
            if path.exists() {
                let error = io::Error::from(io::ErrorKind::AlreadyExists);
                return Err(blame(error));
            }
            guard
                .finish(|| fs::rename(staging.path(), path))
                .map_err(&blame)?;
            // It is no longer there to be removed.
            let _ = staging.keep();
        }
        sync_folder(folder(path)).map_err(&blame)?;
        Ok(())
    }
}

impl OutputFolder {
    /// Moves files of these names from another folder.
    fn move_files(&self, from: &Path, names: &[PathBuf]) -> Result<(), Failure> {
        let mut new = Vec::new();
        for name in names {
            let target = self.path.join(name);
            let is_new = !target.exists();
            if let Err(error) = self.move_file(&from.join(name), &target) {
                for path in new {
                    let _ = fs::remove_file(path);
                }
                return Err(Failure::from(error).about(target.display()));
            }
            new.extend(is_new.then_some(target));
        }
        Ok(())
    }

    fn move_file(&self, staged: &Path, target: &Path) -> io::Result<()> {
        fs::create_dir_all(folder(target))?;
        let staged = TempPath::try_from_path(staged)?;
        match self.force {
            true => staged.persist(target),
            // A file that appears meanwhile is somebody else's.
            false => staged.persist_noclobber(target),
        }
        .map_err(|error| error.error)
    }
}

/// The permissions of the file that will be replaced.
fn keep_permissions(file: &File, target: &Path) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(old) => file.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    }
}

/// Makes the names of files in the folders below this one last.
fn sync_folders(path: &Path, names: &[PathBuf]) -> io::Result<()> {
    let above = |name: &PathBuf| name.ancestors().skip(1).map(Path::to_owned).collect();
    let folders = names.iter().flat_map::<Vec<PathBuf>, _>(above);
    let folders: BTreeSet<PathBuf> = folders.collect();
    folders
        .iter()
        .try_for_each(|folder| sync_folder(&path.join(folder)))
}

/// Makes the names in a folder last.
fn sync_folder(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}
