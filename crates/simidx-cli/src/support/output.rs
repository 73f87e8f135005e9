//! Where results go, and how they look: standard output or a file that appears when it is complete; ids, columns, JSON.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::write::GzEncoder;
use serde_json::Value;
use simidx::builder::AtomicFile;
use simidx::{Id, IdBuf};
use simidx_input::Escaped;
use simidx_output::JsonStyle;
pub(crate) use simidx_output::row;
use tempfile::TempPath;

use crate::support::failure::Failure;
use crate::support::inputs::{InputFiles, folder};
use crate::support::messages::is_quiet;
use crate::support::options::ResourceArgs;
use crate::support::process::{RemoveOnSignal, undisturbed};

/// Bytes gathered before a write.
const BUFFER_LEN: usize = 1 << 20;

/// Buffered standard output.
pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout()))
}

/// The report of a command at its end.
pub(crate) trait Report {
    /// The figures as a JSON object.
    fn to_json(&self) -> Value;

    /// Prints the report for a person.
    ///
    /// # Errors
    /// An output that cannot be written.
    fn print(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Writes a report as one JSON object or for a person.
///
/// # Errors
/// An output that cannot be written.
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
/// An output that cannot be written.
pub(crate) fn write_object(out: &mut (impl Write + ?Sized), object: &Value) -> io::Result<()> {
    json_style().write(&mut *out, object)?;
    out.write_all(b"\n")
}

/// Standard output, named in its errors.
#[derive(Debug)]
pub(crate) struct Stdout(io::Stdout);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(blame_stdout)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(blame_stdout)
    }
}

fn blame_stdout(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
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
        let last = path.as_os_str().as_encoded_bytes().last();
        if last.is_some_and(|&last| std::path::is_separator(last.into())) {
            return refuse("is not the name of a file");
        }
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                return refuse("is a symbolic link; name its target instead");
            }
            Ok(metadata) if metadata.is_dir() => return refuse("is a directory"),
            Ok(metadata) if !metadata.is_file() => return refuse("is not a regular file"),
            Ok(_) if !force => return refuse(ALREADY_THERE),
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

    /// The same for a file that would be an input of the next run in a folder of inputs.
    ///
    /// # Errors
    /// As for [`Output::for_text`], and a file in such a folder.
    pub(crate) fn outside(path: &Path, force: bool, inputs: &InputFiles) -> Result<Self, Failure> {
        let output = Self::for_text(path, force, inputs)?;
        if matches!(output, Output::File { .. }) {
            inputs.check_outside(path)?;
        }
        Ok(output)
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

    /// Lets `write` write the contents. A file is written next to its target, flushed to disk and
    /// renamed; if anything fails, it is removed and the target is as it was.
    ///
    /// # Errors
    /// The errors of `write`, and of the operating system.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut together = Together::default();
        let result = together.write(self, write)?;
        together.appear()?;
        Ok(result)
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

/// Lets `write` write to `out`, compressed as the name says.
///
/// # Errors
/// The errors of `write`, and an output that cannot be written.
pub(crate) fn compressed<T>(
    path: &Path,
    out: &mut (dyn Write + Send),
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if is_gzip(path) {
        let mut encoder = GzEncoder::new(out, flate2::Compression::default());
        let result = write(&mut encoder)?;
        encoder.finish()?;
        Ok(result)
    } else if name(path).ends_with(".zst") {
        let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        encoder.include_checksum(true)?;
        let result = write(&mut encoder)?;
        encoder.finish()?;
        Ok(result)
    } else {
        write(out)
    }
}

/// Compresses to gzip what is written between two flushes, as a member of its own.
pub(crate) struct Members<'a> {
    out: &'a mut (dyn Write + Send),
    waiting: Vec<u8>,
    is_empty: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Members {
            out,
            waiting: Vec::new(),
            is_empty: true,
        }
    }

    /// Ends the file: one without members would be invalid.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.is_empty {
            true => self.flush(),
            false => Ok(()),
        }
    }
}

impl Write for Members<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut encoder = GzEncoder::new(&mut *self.out, flate2::Compression::default());
        encoder.write_all(&self.waiting)?;
        encoder.finish()?;
        self.waiting.clear();
        self.is_empty = false;
        Ok(())
    }
}

/// Whether the name of a file says that it is compressed by gzip.
pub(crate) fn is_gzip(path: &Path) -> bool {
    name(path).ends_with(".gz")
}

/// The name of a file in lower case.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

/// The name of a file in lower case, without the ending of the compression.
fn plain_name(path: &Path) -> String {
    let name = name(path);
    let plain = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"));
    plain.unwrap_or(&name).to_owned()
}

/// Whether the name of a file says that it is compressed.
pub(crate) fn is_compressed(path: &Path) -> bool {
    plain_name(path) != name(path)
}

/// The ending of a name in lower case, without that of the compression.
pub(crate) fn ending(path: &Path) -> String {
    let name = plain_name(path);
    let ending = Path::new(&name).extension();
    ending.map_or_else(String::new, |ending| ending.to_string_lossy().into_owned())
}

/// Outputs that are written one after the other and appear together, when all of them are complete and on disk.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// Each with what removes it if a signal ends the program.
    files: Vec<(Complete, RemoveOnSignal)>,
    /// A folder that is not there yet: it appears at once, with all files that are to be in it.
    pub(crate) new_folder: Option<PathBuf>,
}

/// A file that is complete, under a temporary name.
#[derive(Debug)]
struct Complete {
    file: TempPath,
    /// Its folder: of those above the target the nearest one that was there.
    place: PathBuf,
    path: PathBuf,
    force: bool,
}

impl Together {
    /// Lets `write` write the contents of one of them. Standard output is written at once.
    ///
    /// # Errors
    /// The errors of `write`, and of the operating system.
    pub(crate) fn write<T>(
        &mut self,
        output: &Output,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Output::File { path, force } = output else {
            let mut out = BufWriter::with_capacity(BUFFER_LEN, Stdout(io::stdout()));
            let result = write(&mut out)?;
            out.flush()?;
            return Ok(result);
        };
        let target = std::path::absolute(path).map_err(Failure::at(path))?;
        let mut above = target.ancestors().skip(1);
        let place = above.find(|above| above.is_dir()).unwrap_or(&target);
        let create = || AtomicFile::create_in(place, path);
        let (mut file, guard) = RemoveOnSignal::create(create, AtomicFile::temporary_path)?;
        let result = write(&mut file)?;
        let complete = Complete {
            file: file.into_synced()?,
            // Of two targets that the disk takes for one, the second does not replace the first.
            force: *force && path.exists(),
            place: place.to_owned(),
            path: path.to_owned(),
        };
        self.files.push((complete, guard));
        Ok(result)
    }

    /// Gives all files their names. If one cannot have its own, those before it are removed again, but for those that have
    /// replaced a file. A signal that comes meanwhile waits, so that all of them appear.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub(crate) fn appear(self) -> Result<(), Failure> {
        let (files, _guards): (Vec<_>, Vec<_>) = self.files.into_iter().unzip();
        let new_folder = self.new_folder.as_deref();
        let mut new = Vec::new();
        undisturbed(|| {
            let appeared = appear(files, new_folder, &mut new);
            if appeared.is_err() {
                for path in new {
                    let _ = fs::remove_file(path);
                }
            }
            appeared
        })
    }
}

/// Gives files their names; those under which nothing was come to `new`.
fn appear(
    files: Vec<Complete>,
    new_folder: Option<&Path>,
    new: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let place = new_folder
        .map(folder)
        .map(std::path::absolute)
        .transpose()?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".simidx-").suffix(".tmp");
    let staging = place.map(|place| builder.tempdir_in(place));
    let staging = staging.transpose()?;
    let mut folders = BTreeSet::new();
    for complete in files {
        let blame = Failure::at(&complete.path);
        let name = new_folder.and_then(|path| complete.path.strip_prefix(path).ok());
        let target = match (&staging, name) {
            (Some(staging), Some(name)) => staging.path().join(name),
            _ => std::path::absolute(&complete.path).map_err(&blame)?,
        };
        let is_new = !target.exists();
        fs::create_dir_all(folder(&target)).map_err(&blame)?;
        let moved = match complete.force {
            true => complete.file.persist(&target),
            // A file that appears meanwhile is somebody else's.
            false => complete.file.persist_noclobber(&target),
        };
        moved.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::new(ALREADY_THERE).about(complete.path.display())
            }
            _ => blame(error.error),
        })?;
        let above = target.ancestors().skip(1);
        let above = above.take_while(|above| above.starts_with(&complete.place));
        folders.extend(above.map(Path::to_owned));
        new.extend(is_new.then_some(target));
    }
    if new_folder.is_none() {
        // All files are there. One that a failure of the disk may lose is better than none.
        new.clear();
    }
    for path in &folders {
        sync_folder(path).map_err(Failure::at(path))?;
    }
    if let (Some(staging), Some(path)) = (staging, new_folder) {
        let blame = Failure::at(path);
        if path.exists() {
            return Err(blame(io::ErrorKind::AlreadyExists.into()));
        }
        fs::rename(staging.path(), path).map_err(&blame)?;
        // It is no longer there to be removed, and all outputs have appeared.
        let _ = staging.keep();
        new.clear();
        sync_folder(folder(path)).map_err(&blame)?;
    }
    Ok(())
}

/// The fault of an output without `--force`.
const ALREADY_THERE: &str = "already exists; use --force to replace it";

/// Makes the names in a folder last.
fn sync_folder(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
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
