//! Where results go: standard output, or a file that appears under its name only when complete.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use simidx::build::AtomicFile;
use simidx::index::QueryStats;

use crate::support::failure::Failure;
use crate::support::interrupt::RemoveOnSignal;

/// Bytes gathered before a write.
const BUFFER_LEN: usize = 1 << 20;

/// Buffered standard output.
pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout()))
}

/// Writes a report as one JSON object, or as `human` writes it for a person.
///
/// # Errors
/// What `out` reports.
pub(crate) fn write_report<W: Write>(
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

/// A text on one line and without control characters, whatever a file name contains.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// Prints a message to stderr. A stderr that cannot be written to is no reason to stop.
pub(crate) fn say(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "simidx: {message}");
}

/// Standard output, named in its errors.
#[derive(Debug)]
pub(crate) struct Stdout(io::Stdout);

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

/// A number of things with their name in the singular or plural, as in `1 query` and `2 queries`.
pub(crate) fn counted(count: u64, name: &str) -> String {
    match (count, name.strip_suffix('y')) {
        (1, _) => format!("1 {name}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {name}s"),
    }
}

/// What queries cost, in words.
pub(crate) fn cost(stats: QueryStats) -> String {
    let probes = counted(stats.probes, "probe");
    let blocks = counted(stats.blocks, "block");
    let candidates = counted(stats.candidates, "candidate");
    format!("{probes}, {blocks}, {candidates}")
}

/// The target of `-o`.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout,
    File { path: PathBuf, force: bool },
}

impl Output {
    /// Checks early that the target may be written, so that no long run ends in a refusal.
    ///
    /// # Errors
    /// A terminal, an existing file without `force`, something that is not a regular file, or a
    /// directory that does not exist.
    pub(crate) fn new(path: &Path, force: bool) -> Result<Self, Failure> {
        if path == Path::new("-") && io::stdout().is_terminal() {
            return Err(Failure::new(
                "an index is binary and standard output is a terminal; name a file with -o",
            ));
        }
        Self::for_text(path, force)
    }

    /// The same for text, which a terminal may show.
    ///
    /// # Errors
    /// As for [`Output::new`], but for a terminal.
    pub(crate) fn for_text(path: &Path, force: bool) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let refuse = |message: &str| Err(Failure::new(message).about(path.display()));
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                return refuse("is a symbolic link; name its target instead");
            }
            Ok(metadata) if metadata.is_dir() => return refuse("is a directory"),
            Ok(metadata) if !metadata.is_file() => return refuse("is not a regular file"),
            Ok(_) if !force => return refuse("already exists; use --force to replace it"),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return refuse(&error.to_string());
            }
            _ => {}
        }
        if !folder(path).is_dir() {
            return refuse("its directory does not exist");
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
    pub(crate) fn report(
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
    pub(crate) fn write<T>(
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
    pub(crate) fn write_both(
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
        file.appear()
    }

    /// Whether both are the same file, by whatever path.
    pub(crate) fn is_same_file(&self, other: &Output) -> bool {
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

/// A file that is written beside its target, and removed by a signal that ends the program.
#[derive(Debug)]
struct Unfinished {
    file: AtomicFile,
    guard: RemoveOnSignal,
}

impl Unfinished {
    fn create(path: &Path, force: bool) -> Result<Self, Failure> {
        let file = match force {
            true => AtomicFile::create(path)?,
            // A file that appears meanwhile is somebody else's.
            false => AtomicFile::create_new(path)?,
        };
        let guard = RemoveOnSignal::new(file.temporary_path())?;
        Ok(Unfinished { file, guard })
    }

    fn write<T>(
        &mut self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let result = write(&mut self.file)?;
        self.file.flush()?;
        Ok(result)
    }

    fn sync(&mut self) -> Result<(), Failure> {
        Ok(self.file.sync()?)
    }

    /// Gives the file its name.
    fn appear(self) -> Result<(), Failure> {
        self.file.commit()?;
        drop(self.guard);
        Ok(())
    }
}

/// The directory of a file; the current one for standard output.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let shown = [(0, "record"), (1, "record"), (1, "query"), (2, "query")];
        let shown = shown.map(|(count, name)| counted(count, name));
        assert_eq!(shown, ["0 records", "1 record", "1 query", "2 queries"]);
    }

    #[test]
    fn a_line_has_no_characters_that_move_the_cursor() {
        assert_eq!(
            one_line("a\nb\u{1b}[2J\u{2028}é"),
            "a\\nb\\u{1b}[2J\\u{2028}é"
        );
    }
}
