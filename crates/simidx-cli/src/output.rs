//! Where results go: standard output, or a file that appears under its name only when complete.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::failure::Failure;
use super::interrupt::RemoveOnSignal;

/// Bytes gathered before a write to the file.
const BUFFER_LEN: usize = 1 << 20;

/// Bytes after which a file is brought to the disk while more is made, so that little is left to do at the end.
const SYNC_LEN: usize = 128 << 20;

/// Buffered standard output.
pub(super) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout()))
}

/// Writes a report as one JSON object, or as `human` writes it for a person.
///
/// # Errors
/// What `out` reports.
pub(super) fn write_report<W: Write>(
    mut out: W,
    report: &impl Serialize,
    json: bool,
    human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if json {
        serde_json::to_writer(&mut out, report)?;
        writeln!(out)?;
    } else {
        human(&mut out)?;
    }
    Ok(out.flush()?)
}

/// A text on one line, without anything that moves the cursor, whatever a file name holds.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// Tells the user something on stderr. That stderr cannot be written is no reason to stop.
pub(super) fn say(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "simidx: {message}");
}

/// Standard output, named in its errors.
#[derive(Debug)]
pub(super) struct Stdout(io::Stdout);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(of_stdout)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(of_stdout)
    }
}

fn of_stdout(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// The target of `-o`.
#[derive(Debug)]
pub(super) enum Output {
    Stdout,
    File { path: PathBuf, force: bool },
}

impl Output {
    /// Checks early that the target may be written, so that nobody waits for a refusal.
    ///
    /// # Errors
    /// A terminal, an existing file without `force`, something that is no regular file, or a folder
    /// that is not there.
    pub(super) fn new(path: &Path, force: bool) -> Result<Self, Failure> {
        if path == Path::new("-") && io::stdout().is_terminal() {
            return Err(Failure::new(
                "an index is binary and stdout is a terminal; name a file with -o",
            ));
        }
        Self::for_text(path, force)
    }

    /// The same for what a terminal may show.
    ///
    /// # Errors
    /// As for [`Output::new`], but for a terminal.
    pub(super) fn for_text(path: &Path, force: bool) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                return refuse("is a symbolic link; name the file that it points to");
            }
            Ok(metadata) if metadata.is_dir() => return refuse("is a directory"),
            Ok(metadata) if !metadata.is_file() => return refuse("is not a regular file"),
            Ok(_) if !force => return refuse("exists already; --force replaces it"),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return refuse(&error.to_string());
            }
            _ => {}
        }
        if !folder(path).is_dir() {
            return refuse("its folder does not exist");
        }
        Ok(Output::File {
            path: path.to_owned(),
            force,
        })
    }

    /// Prints the report on what was written: to standard output, unless that holds the contents.
    ///
    /// # Errors
    /// As for [`write_report`].
    pub(super) fn report(
        &self,
        report: &impl Serialize,
        json: bool,
        human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Output::Stdout => write_report(io::stderr(), report, json, human),
            Output::File { .. } => write_report(stdout(), report, json, human),
        }
    }

    /// Lets `write` write the contents. A file is written beside its target, flushed to disk and
    /// renamed; if anything fails, it is removed and the target is as it was.
    ///
    /// # Errors
    /// What `write` or the operating system reports.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Output::Stdout => {
                let mut out = BufWriter::with_capacity(BUFFER_LEN, Stdout(io::stdout()));
                let result = write(&mut out)?;
                out.flush()?;
                Ok(result)
            }
            Output::File { path, force } => {
                let mut file = Unfinished::create(path, *force)?;
                let result = file.write(write)?;
                file.sync()?;
                file.appear()?;
                Ok(result)
            }
        }
    }

    /// Lets `write` write the contents of this output, and if that went well `write_second` those of another one. Both
    /// appear or neither; what has gone to standard output stays there.
    ///
    /// # Errors
    /// As for [`Output::write`].
    pub(super) fn write_both(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Failure>,
        second: &Output,
        write_second: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (
            Output::File { path, force },
            Output::File {
                path: other,
                force: other_force,
            },
        ) = (self, second)
        else {
            return self.write_with_stdout(write, second, write_second);
        };
        let mut file = Unfinished::create(path, *force)?;
        let mut other = Unfinished::create(other, *other_force)?;
        file.write(write)?;
        other.write(write_second)?;
        file.sync()?;
        other.sync()?;
        file.appear()?;
        other.appear().inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }
}

impl Output {
    /// Writes two outputs of which at most one is a file, which appears after both have been written.
    fn write_with_stdout(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Failure>,
        second: &Output,
        write_second: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Output::File { path, force } = self else {
            self.write(write)?;
            return second.write(write_second);
        };
        let mut file = Unfinished::create(path, *force)?;
        file.write(write)?;
        second.write(write_second)?;
        file.sync()?;
        file.appear()
    }

    /// Whether both are the same file, by whatever path.
    pub(super) fn is_same_file(&self, other: &Output) -> bool {
        let place = |output: &Output| match output {
            Output::Stdout => None,
            Output::File { path, .. } => {
                let name = path.file_name()?.to_owned();
                Some((folder(path).canonicalize().ok()?, name))
            }
        };
        place(self).is_some_and(|place_of_self| place(other) == Some(place_of_self))
    }
}

/// A file that is written beside its target.
#[derive(Debug)]
struct Unfinished<'a> {
    file: tempfile::NamedTempFile,
    path: &'a Path,
    force: bool,
    guard: RemoveOnSignal,
}

impl<'a> Unfinished<'a> {
    fn create(path: &'a Path, force: bool) -> Result<Self, Failure> {
        let blame = Self::blame(path);
        let file = create_beside(path).map_err(&blame)?;
        let guard = RemoveOnSignal::new(file.path()).map_err(&blame)?;
        Ok(Unfinished {
            file,
            path,
            force,
            guard,
        })
    }

    fn blame(path: &Path) -> impl Fn(io::Error) -> Failure {
        move |error| Failure::from(error).about(path.display())
    }

    fn write<T>(
        &mut self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let named = NamedFile::new(self.file.as_file(), self.path);
        let mut out = BufWriter::with_capacity(BUFFER_LEN, named);
        let result = write(&mut out)?;
        out.flush()?;
        Ok(result)
    }

    fn sync(&self) -> Result<(), Failure> {
        self.file
            .as_file()
            .sync_all()
            .map_err(Self::blame(self.path))
    }

    /// Gives the file its name.
    fn appear(self) -> Result<(), Failure> {
        let blame = Self::blame(self.path);
        // Without force a file that has appeared meanwhile is somebody else's.
        let persisted = match self.force {
            true => self.file.persist(self.path),
            false => self.file.persist_noclobber(self.path),
        };
        persisted.map_err(|error| blame(error.error))?;
        drop(self.guard);
        sync_folder(folder(self.path)).map_err(blame)
    }
}

/// A temporary file in the folder of the output, with a name that says what it is.
fn create_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".simidx-").suffix(".tmp");
    #[cfg(unix)]
    {
        // A temporary file is private by default; the index shall follow the user's umask.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder(path))
}

/// A file that is written under a temporary name and has the final one in its errors.
struct NamedFile<'a> {
    file: &'a fs::File,
    path: &'a Path,
    /// Bytes since the file was last brought to the disk.
    pending: usize,
}

impl<'a> NamedFile<'a> {
    fn new(file: &'a fs::File, path: &'a Path) -> Self {
        NamedFile {
            file,
            path,
            pending: 0,
        }
    }

    fn blame(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for NamedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes).map_err(|error| self.blame(error))?;
        self.pending += written;
        if self.pending >= SYNC_LEN {
            self.pending = 0;
            self.file.sync_data().map_err(|error| self.blame(error))?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the new name last: without it a crash of the machine could lose the name of a file that is whole.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The folder that a file is in; for standard output the current one.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
