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

/// Buffered standard output.
pub(super) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout::lock())
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

/// Tells the user something on stderr. That stderr cannot be written is no reason to stop.
pub(super) fn say(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "simidx: {message}");
}

/// Standard output, named in its errors.
#[derive(Debug)]
pub(super) struct Stdout(io::StdoutLock<'static>);

impl Stdout {
    fn lock() -> Self {
        Stdout(io::stdout().lock())
    }
}

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
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                return Err(Failure::new(
                    "an index is binary and stdout is a terminal; name a file with -o",
                ));
            }
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

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Lets `write` write the contents. A file is written beside its target, flushed to disk and
    /// renamed; if anything fails, it is removed and the target is as it was.
    ///
    /// # Errors
    /// What `write` or the operating system reports.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Output::Stdout => {
                let mut out = BufWriter::with_capacity(BUFFER_LEN, Stdout::lock());
                let result = write(&mut out)?;
                out.flush()?;
                Ok(result)
            }
            Output::File { path, force } => {
                write_beside(path, *force, write).map_err(|failure| failure.about(path.display()))
            }
        }
    }
}

fn write_beside<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".simidx-").suffix(".tmp");
    #[cfg(unix)]
    {
        // A temporary file is private by default; the index shall follow the user's umask.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder(path))?;
    let guard = RemoveOnSignal::new(file.path())?;
    // Writing to the file itself keeps the temporary name out of the errors.
    let mut out = BufWriter::with_capacity(BUFFER_LEN, file.as_file());
    let result = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    // Without force a file that has appeared meanwhile is somebody else's.
    let persisted = match force {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    persisted.map_err(|error| error.error)?;
    drop(guard);
    sync_folder(folder(path))?;
    Ok(result)
}

/// Makes the new name last: without it a crash of the machine could lose the name of a file that is whole.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
