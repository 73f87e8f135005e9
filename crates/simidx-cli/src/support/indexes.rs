//! Opens the index files of a command, and excludes records.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

use simidx::format::{FormatClass, FormatError, MAGIC};
use simidx::set::{Exclusions, Manifest};
use simidx::{Error, Fingerprint, Id, IdKind, Set};
use simidx_input::{Content, Format, ReadOptions, unescape};

use crate::support::failure::Failure;
use crate::support::options::heading;
use crate::support::process;

/// The index files to open; shared by the commands that read them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IndexArgs {
    /// Index files, or folders with a set of them; several are read as one
    #[arg(value_name = "INDEX", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Options for opening index files.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OpenArgs {
    /// Read index files into memory instead of mapping them
    #[arg(long, help_heading = heading::RESOURCES)]
    pub(crate) no_mmap: bool,
}

impl IndexArgs {
    /// Opens the files as one set.
    ///
    /// # Errors
    /// The errors of [`OpenArgs::open`], or two files that cannot be combined, with both names.
    pub(crate) fn open(&self) -> Result<Set, Failure> {
        together(self.open.open_each(&self.paths)?)
    }

    /// Returns the index files, with sets replaced by their files; the manifests of the sets come last.
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
    /// Opens an index file, or the files of a folder with a manifest, each as its own set under its path.
    ///
    /// # Errors
    /// A file that cannot be opened, with its name.
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
    /// The errors of [`OpenArgs::open`].
    pub(crate) fn open_each(&self, paths: &[PathBuf]) -> Result<Vec<Set>, Failure> {
        let opened = paths.iter().map(|path| self.open(path));
        let opened = opened.collect::<Result<Vec<_>, Failure>>()?;
        Ok(opened.into_iter().flatten().collect())
    }

    /// Opens an index file. A damaged file is a result here, not an error.
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

    /// Opens an index file. Its errors are without its name.
    fn file(&self, path: &Path) -> Result<Set, Error> {
        let opened = if self.no_mmap {
            Set::read_file(path)
        } else {
            process::expect_signals()?;
            Set::map_file(path)
        };
        opened.map_err(|error| match error {
            Error::Segment { error, .. } => *error,
            error => error,
        })
    }
}

/// The hint for a set without segments about its records.
pub(crate) const UNSEALED: &str = "records that a collection has not sealed are in its journal, which `simidx serve --store` reads";

/// Whether a path is a set of index files.
///
/// # Errors
/// A file that exists and cannot be read.
pub(crate) fn is_set(path: &Path) -> Result<bool, Failure> {
    Manifest::is_at(path).map_err(Failure::at(path))
}

/// Whether a file is an index by its first bytes or its name, or a path is a set of indexes. Other paths that are not
/// regular files, and patterns, are not indexes.
///
/// # Errors
/// A file that exists and cannot be read.
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

/// Combines index files into one set.
///
/// # Errors
/// Files that cannot be combined.
pub(crate) fn together(files: Vec<Set>) -> Result<Set, Failure> {
    if files.is_empty() {
        return Err(Failure::new(format!(
            "there is no segment to search; {UNSEALED}"
        )));
    }
    Ok(Set::new(files)?)
}

/// Returns the failure to open an index. Errors of the operating system already name the file.
fn open_failure(path: &Path, error: Error) -> Failure {
    match error {
        Error::Io(_) if path.to_str().is_some_and(is_url) => Failure::new(
            "is not a file: download it, or query it where it is by the JavaScript package",
        )
        .about(path.display()),
        Error::Io(_) => error.into(),
        error => Failure::from(error).about(path.display()),
    }
}

fn is_url(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// Returns the fingerprints of the records with an id, which is parsed by the kind of ids of the indexes.
///
/// # Errors
/// Indexes without ids, a word that is not a number although ids are numbers, an unknown id, or damage.
pub(crate) fn fingerprints_of(set: &Set, word: &str) -> Result<Vec<u128>, Failure> {
    let found = set.fingerprints_of_id(id_of_word(set.id_kind(), word)?)?;
    if found.is_empty() {
        return Err(Failure::new(format!("no record has the id {word:?}")));
    }
    Ok(found)
}

/// Parses an id in an argument.
///
/// # Errors
/// The word is not an id of this kind.
pub(crate) fn id_of_word(kind: IdKind, word: &str) -> Result<Id<'_>, Failure> {
    match (kind, u64::parse_dec(word)) {
        (IdKind::String, _) => Ok(Id::String(word)),
        (IdKind::Number, Some(number)) => Ok(Id::Number(number)),
        (IdKind::Number, None) => Err(Failure::new(format!(
            "{word:?} is not an id: those of the index are numbers below 2^64"
        ))),
        (IdKind::None, _) => Err(Failure::new(
            "the index has no ids; build it with --ids to look records up",
        )),
    }
}

/// The records to exclude from the indexes; shared by the commands that read them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ExcludeArgs {
    /// File of records to leave out of the indexes, one on each line
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// File of records to leave out of one index only. May be repeated
    #[arg(long, value_names = ["INDEX", "FILE"], num_args = 2)]
    exclude_from: Vec<PathBuf>,
    /// Meaning of the lines of the files [default: fingerprint]
    #[arg(long, value_enum, value_name = "WHAT")]
    exclude_by: Option<ExcludeBy>,
}

/// The way that lists name records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ExcludeBy {
    /// Hexadecimal fingerprints; all records of each are left out
    #[default]
    Fingerprint,
    /// Ids; the records with each are left out
    Id,
}

impl ExcludeArgs {
    /// Checks that no records are excluded if there are no indexes to exclude them from. `remedy` is advice for the
    /// message.
    ///
    /// # Errors
    /// Records are excluded.
    pub(crate) fn refuse(&self, remedy: &str) -> Result<(), Failure> {
        let has_list = self.exclude.is_some() || !self.exclude_from.is_empty();
        if !has_list && self.exclude_by.is_none() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "--exclude leaves records out of indexes; {remedy}"
        )))
    }

    /// Returns the paths of the files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let of_one = self.exclude_from.as_chunks().0.iter();
        self.exclude.iter().chain(of_one.map(|[_, list]| list))
    }

    /// Reads the files: exclusions from all indexes, and from single ones by their numbers. `none` creates empty
    /// exclusions.
    ///
    /// # Errors
    /// Invalid options or files, or any error of `none`.
    pub(crate) fn read(
        &self,
        set: &Set,
        none: impl Fn() -> Result<Exclusions, Failure>,
    ) -> Result<(Exclusions, BTreeMap<usize, Exclusions>), Failure> {
        if self.paths().next().is_none() && self.exclude_by.is_some() {
            let message = "--exclude-by says what a list holds; give one with --exclude";
            return Err(Failure::new(message));
        }
        let lists = self.exclude_from.as_chunks().0;
        let numbers = lists.iter().map(|[index, _]| number_of(index, set.names()));
        // This check comes before a list is read, which can take long.
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let (mut of_all, mut of_one) = (none()?, BTreeMap::new());
        if let Some(list) = &self.exclude {
            self.add_list(list, set, &mut of_all)?;
        }
        for ([_, list], number) in lists.iter().zip(numbers) {
            let exclusions = match of_one.entry(number) {
                Entry::Occupied(open) => open.into_mut(),
                Entry::Vacant(new) => new.insert(none()?),
            };
            self.add_list(list, set, exclusions)?;
        }
        Ok((of_all, of_one))
    }

    /// Returns the set without the records in the files.
    ///
    /// # Errors
    /// Invalid files, or any error of the set.
    pub(crate) fn apply(&self, mut set: Set) -> Result<Set, Failure> {
        let (of_all, of_one) = self.read(&set, || Ok(Exclusions::default()))?;
        if self.exclude.is_some() {
            set = set.without(&of_all)?;
        }
        for (number, exclusions) in of_one {
            set = set.without_from(number, &exclusions)?;
        }
        Ok(set)
    }

    /// Adds the contents of a file to exclusions from indexes.
    ///
    /// # Errors
    /// The file cannot be read, or one of its lines does not name records of such indexes.
    fn add_list(&self, path: &Path, set: &Set, exclusions: &mut Exclusions) -> Result<(), Failure> {
        let format = match self.exclude_by.unwrap_or_default() {
            ExcludeBy::Fingerprint => Format::Hex,
            ExcludeBy::Id => Format::Lines,
        };
        let options = ReadOptions::default().width(set.width());
        let mut reader = simidx_input::open_with(path, Some(format), &options)?;
        while let Some(record) = reader.next() {
            let record = record?;
            let problem = match record.content {
                Content::Fingerprint(_) if record.id.is_some() => {
                    // The user may mean only this record.
                    Some("has an id too, but all records of the fingerprint would be left out; remove the id".into())
                }
                Content::Fingerprint(fingerprint) => {
                    exclusions.add_fingerprint(fingerprint);
                    None
                }
                Content::Text(id) => add_id(exclusions, set.id_kind(), &id)?,
            };
            if let Some(problem) = problem {
                return Err(Failure::of_record(&*reader, problem));
            }
        }
        Ok(())
    }
}

/// Returns the number of the index with a name.
///
/// # Errors
/// No index has that name, or several do.
fn number_of(index: &Path, names: &[String]) -> Result<usize, Failure> {
    let name = index.display().to_string();
    let mut named = names
        .iter()
        .enumerate()
        .filter(|(_, other)| **other == name);
    let problem = match (named.next(), named.next()) {
        (Some((number, _)), None) => return Ok(number),
        (None, _) => "is none of the indexes; name one as it is named among them",
        _ => "is given twice; name it in two ways",
    };
    Err(Failure::new(format!("--exclude-from: {problem}")).about(name))
}

/// Adds an id. Returns a message if it is invalid.
///
/// # Errors
/// A temporary file cannot be written.
fn add_id(exclusions: &mut Exclusions, ids: IdKind, id: &str) -> Result<Option<String>, Failure> {
    Ok(match (ids, u64::parse_dec(id)) {
        // In the form that dump and query print.
        (IdKind::String, _) => match unescape(id) {
            Ok(id) => {
                exclusions.add_string(&id)?;
                None
            }
            Err(error) => Some(format!("the id {id:?}: {error}")),
        },
        (IdKind::Number, Some(id)) => {
            exclusions.add_number(id)?;
            None
        }
        (IdKind::Number, None) => Some(format!("the id {id:?} is not a number below 2^64")),
        _ => Some("is an id, but the index stores no ids".into()),
    })
}

/// Interval between releases. Each causes a page fault for each page that is still needed, and some megabytes are read
/// in between.
const PERIOD: Duration = Duration::from_millis(10);

/// Runs `work`, and periodically releases the pages that it has read.
pub(crate) fn while_released<T>(set: &Set, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (working, ended) = channel::<()>();
        // Without the thread, the process only appears to use more memory, so a failure is ignored.
        let _ = Builder::new().spawn_scoped(scope, move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                release(set);
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Releases all pages. A failure is ignored.
fn release(set: &Set) {
    #[cfg(unix)]
    for segment in set.segments() {
        let _ = segment.storage().evict();
    }
    #[cfg(not(unix))]
    let _ = set;
}
