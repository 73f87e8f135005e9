//! Where results go: standard output, or a file that appears under its name only when complete.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::failure::Failure;

/// Bytes gathered before a write to the file.
const BUFFER_LEN: usize = 1 << 20;

/// Buffered standard output.
pub(super) fn stdout() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// The target of `-o`.
#[derive(Debug)]
pub(super) enum Output {
    Stdout,
    File(PathBuf),
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
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return refuse("is a directory"),
            Ok(metadata) if !metadata.is_file() => return refuse("is not a regular file"),
            Ok(_) if !force => return refuse("exists already; --force replaces it"),
            _ => {}
        }
        if !folder(path).is_dir() {
            return refuse("its folder does not exist");
        }
        Ok(Output::File(path.to_owned()))
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
                let mut out = BufWriter::with_capacity(BUFFER_LEN, io::stdout().lock());
                let result = write(&mut out)?;
                out.flush()?;
                Ok(result)
            }
            Output::File(path) => {
                write_beside(path, write).map_err(|failure| failure.about(path.display()))
            }
        }
    }
}

fn write_beside<T>(
    path: &Path,
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
    let mut out = BufWriter::with_capacity(BUFFER_LEN, file);
    let result = write(&mut out)?;
    let file: NamedTempFile = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(result)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
