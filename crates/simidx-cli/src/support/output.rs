//! Where results go, and how they look: standard output or a file that appears when it is complete; ids, columns, JSON.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, fs};

use serde_json::Value;
use simidx::builder::AtomicFile;
use simidx::{Id, IdBuf};
use simidx_input::Escaped;
use simidx_output::JsonStyle;
pub(crate) use simidx_output::row;

use crate::support::failure::Failure;
use crate::support::inputs::{InputFiles, folder};
use crate::support::messages::is_quiet;
use crate::support::options::ResourceArgs;
use crate::support::process::RemoveOnSignal;

/// Bytes gathered before a write.
const BUFFER_LEN: usize = 1 << 20;

/// Buffered standard output.
pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout::new())
}

/// What a command has to say at its end.
pub(crate) trait Report {
    /// The figures as a JSON object.
    fn to_json(&self) -> Value;

    /// Prints them for a person.
    ///
    /// # Errors
    /// What `out` reports.
    fn print(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Writes a report as one JSON object or for a person.
///
/// # Errors
/// What `out` reports.
pub(crate) fn write_report(
    mut out: impl Write,
    report: &impl Report,
    json: bool,
) -> Result<(), Failure> {
    match json {
        true => write_object(&mut out, &report.to_json())?,
        false => report.print(&mut out)?,
    }
    Ok(out.flush()?)
}

/// Writes a JSON object on a line of its own.
///
/// # Errors
/// What `out` reports.
pub(crate) fn write_object(out: &mut (impl Write + ?Sized), object: &Value) -> io::Result<()> {
    json_style().write(&mut *out, object)?;
    out.write_all(b"\n")
}

/// What is written to, named in its errors.
#[derive(Debug)]
pub(crate) struct Named<W> {
    pub(crate) out: W,
    pub(crate) name: String,
}

/// Standard output.
pub(crate) type Stdout = Named<io::Stdout>;

impl Stdout {
    fn new() -> Self {
        Named {
            out: io::stdout(),
            name: "standard output".to_owned(),
        }
    }
}

impl<W> Named<W> {
    fn blamed<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let name = &self.name;
        result.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.blamed(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.blamed(flushed)
    }
}

/// The target of `-o`.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout,
    File { path: PathBuf, force: bool },
}

impl Output {
    /// Checks early that the target may be written, so that no long run ends in a refusal. None of the inputs is ever
    /// replaced.
    ///
    /// # Errors
    /// A terminal, one of the inputs, an existing file without `force`, something that is not a regular file, or a
    /// directory that does not exist.
    pub(crate) fn new(path: &Path, force: bool, inputs: &InputFiles) -> Result<Self, Failure> {
        if path == Path::new("-") && io::stdout().is_terminal() {
            return Err(Failure::new(
                "an index is binary and standard output is a terminal; name a file with -o",
            ));
        }
        Self::for_text(path, force, inputs)
    }

    /// The same for text, which a terminal may show.
    ///
    /// # Errors
    /// As for [`Output::new`], but for a terminal.
    pub(crate) fn for_text(path: &Path, force: bool, inputs: &InputFiles) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        inputs.check_target(path)?;
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
    pub(crate) fn report(&self, report: &impl Report, json: bool) -> Result<(), Failure> {
        match self {
            _ if is_quiet() && !json => Ok(()),
            Output::Stdout => write_report(io::stderr(), report, json),
            Output::File { .. } => write_report(stdout(), report, json),
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
                let mut out = BufWriter::with_capacity(BUFFER_LEN, Stdout::new());
                let result = write(&mut out)?;
                out.flush()?;
                Ok(result)
            }
            Output::File { .. } => {
                let mut together = Together::default();
                let result = together.write(self, write)?;
                together.appear()?;
                Ok(result)
            }
        }
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

/// Outputs that are written one after the other and appear together, when all of them are complete and on disk.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// Each under a temporary name, and what removes it if a signal ends the program.
    files: Vec<(AtomicFile, RemoveOnSignal)>,
}

impl Together {
    /// Lets `write` write the contents of one of them. What goes to standard output is there at once.
    ///
    /// # Errors
    /// What `write` or the operating system reports.
    pub(crate) fn write<T>(
        &mut self,
        output: &Output,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Output::File { path, force } = output else {
            return output.write(write);
        };
        let create = || -> Result<_, Failure> {
            Ok(match force {
                true => AtomicFile::create(path)?,
                // A file that appears meanwhile is somebody else's.
                false => AtomicFile::create_new(path)?,
            })
        };
        let (mut file, guard) = RemoveOnSignal::create(create, AtomicFile::temporary_path)?;
        let result = write(&mut file)?;
        file.flush()?;
        self.files.push((file, guard));
        Ok(result)
    }

    /// Gives all files their names. If one cannot have its own, those before it are removed again, but for those that have
    /// replaced a file.
    ///
    /// # Errors
    /// What the operating system reports.
    pub(crate) fn appear(mut self) -> Result<(), Failure> {
        for (file, _) in &mut self.files {
            file.sync()?;
        }
        let mut new: Vec<PathBuf> = Vec::new();
        for (file, guard) in self.files {
            let path = file.path().to_owned();
            let is_new = !path.exists();
            if let Err(error) = file.commit() {
                for path in new {
                    let _ = fs::remove_file(path);
                }
                return Err(error.into());
            }
            drop(guard);
            new.extend(is_new.then_some(path));
        }
        Ok(())
    }
}

/// The directory for the temporary files of an output: by default on the disk that holds it, not one that may be in memory.
pub(crate) fn temp_dir_of(resources: &ResourceArgs, output: &Path) -> PathBuf {
    let given = resources.temp_dir.as_deref();
    given.unwrap_or_else(|| folder(output)).to_owned()
}

/// Set once, before anything is printed.
static STRINGS: AtomicBool = AtomicBool::new(false);

/// From now on ids that are numbers are printed as strings, and so are other numbers that a floating-point number would
/// round.
pub(crate) fn use_strings() {
    STRINGS.store(true, Ordering::Relaxed);
}

/// The style that the user asked for.
pub(crate) fn json_style() -> JsonStyle {
    JsonStyle {
        strings: STRINGS.load(Ordering::Relaxed),
    }
}

/// An id as JSON says it.
pub(crate) fn id_to_json(id: Id<'_>) -> Value {
    match id {
        Id::Number(number) if json_style().strings => number.to_string().into(),
        Id::Number(number) => number.into(),
        Id::String(string) => string.into(),
    }
}

/// An id, with escapes in place of the characters that would break the line. The readers of lines undo them.
pub(crate) struct Column<'a>(pub(crate) Id<'a>);

impl<'a> Column<'a> {
    pub(crate) fn of(id: &'a IdBuf) -> Self {
        Column(id.as_id())
    }
}

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Number(number) => number.fmt(f),
            Id::String(string) => Escaped(string).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_in_its_column() {
        let hostile = IdBuf::String("x\n0\t0\t0\u{1b}[31m\\".into());
        assert_eq!(Column::of(&hostile).to_string(), r"x\n0\t0\t0\x1b[31m\\");
        let number = IdBuf::Number(7);
        assert_eq!(Column::of(&number).to_string(), "7");
    }
}
