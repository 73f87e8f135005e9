//! The inputs of a command, and the diagnostics about their records.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use simidx::{Set, Width};
use simidx_input::{Format, InputError, Place, ReadOptions, RecordReader, TextEncoding};
use simidx_output::one_line;

use crate::support::failure::Failure;
use crate::support::indexes::{ExcludeArgs, IndexArgs, OpenArgs, is_index, together};
use crate::support::messages::{counted, say};
use crate::support::options::{InputFormat, heading, input_format, width};
use crate::support::pipeline::PipelineArgs;

/// The files and folders that a command reads.
#[derive(Debug, Default)]
pub(crate) struct InputFiles {
    files: Vec<FileId>,
    /// Folders of documents: the path that the user gave, and the canonical one.
    folders: Vec<(PathBuf, PathBuf)>,
}

/// The identity of a file, which hard links and symbolic links share.
#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = PathBuf;

impl InputFiles {
    /// Collects the files of these paths; `-` is standard input. Paths that do not exist are ignored.
    pub(crate) fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut inputs = InputFiles::default();
        inputs.add(paths);
        inputs
    }

    /// Adds further paths.
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

    /// Returns whether a path is that of one of the files.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        id(path).is_some_and(|id| self.files.contains(&id))
    }

    /// Refuses a target that is one of the inputs.
    ///
    /// # Errors
    /// The target is an input, or lies in an input folder.
    pub(crate) fn check_target(&self, target: &Path) -> Result<(), Failure> {
        if self.contains(target) {
            let message = "is an input, and no input is replaced; name another output";
            return Err(Failure::new(message).about(target.display()));
        }
        match self.folder_of(target) {
            Some(folder) if target.exists() => {
                let folder = folder.display();
                let message = format!(
                    "is in the input folder {folder}, where no file is replaced; name another output"
                );
                Err(Failure::new(message).about(target.display()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a target that would appear in an input folder while it is still to be read.
    ///
    /// # Errors
    /// The target lies in an input folder.
    pub(crate) fn check_outside(&self, target: &Path) -> Result<(), Failure> {
        let Some(folder) = self.folder_of(target) else {
            return Ok(());
        };
        let folder = folder.display();
        let message = format!(
            "is in the input folder {folder}, and would be an input of the next run; name a place outside"
        );
        Err(Failure::new(message).about(target.display()))
    }

    /// Returns the input folder that a target lies in, as the user named it.
    fn folder_of(&self, target: &Path) -> Option<&Path> {
        let place = folder(target).canonicalize().ok()?;
        let mut folders = self.folders.iter();
        let found = folders.find(|(_, folder)| place.starts_with(folder));
        found.map(|(name, _)| name.as_path())
    }
}

/// Returns the directory of a file; the current directory for standard output.
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

/// Returns the identity of the file that is standard input, if it is a file.
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

/// Number of diagnostics of a kind that are shown; the rest are only counted.
const SHOWN: u64 = 10;

/// The action for an unusable record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum OnError {
    /// Stop with an error that names it
    #[default]
    Stop,
    /// Skip it and count it
    Skip,
    /// Keep it and count it, where records are copied
    #[value(skip)]
    Keep,
}

/// The diagnostics so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    on_error: OnError,
    /// Number of records that are left out.
    pub(crate) skipped: u64,
    /// Number of records in which bytes became U+FFFD.
    pub(crate) replaced: u64,
    guessed: u64,
    odd_ids: u64,
    /// The problem of the first record with an invalid id.
    first_odd_id: Option<InputError>,
}

impl Diagnostics {
    pub(crate) fn new(on_error: OnError) -> Self {
        Diagnostics {
            on_error,
            ..Diagnostics::default()
        }
    }

    /// Skips a record.
    ///
    /// # Errors
    /// The problem with the record, if invalid records are not to be skipped.
    pub(crate) fn skip_or_fail(&mut self, error: InputError) -> Result<(), Failure> {
        if self.on_error == OnError::Stop {
            return Err(error.into());
        }
        let what = match self.on_error {
            OnError::Keep => "not judged",
            _ => "skipped",
        };
        name(&mut self.skipped, what, &error);
        Ok(())
    }

    /// Counts a record, at this place, in which bytes became U+FFFD.
    pub(crate) fn note_faults(&mut self, (source, place): (&str, Place)) {
        let message = "invalid bytes were replaced by U+FFFD";
        name(
            &mut self.replaced,
            "replaced",
            &InputError::new(source, place, message),
        );
    }

    /// Counts a record, at this place, with an invalid id, which its position replaces.
    pub(crate) fn note_odd_id(&mut self, (source, place): (&str, Place), message: String) {
        self.odd_ids += 1;
        self.first_odd_id
            .get_or_insert_with(|| InputError::new(source, place, message));
    }

    /// Reports that the encoding of an input, just opened, was detected only from its bytes.
    pub(crate) fn note_guess(&mut self, reader: &dyn RecordReader) {
        if let Some(encoding) = reader.guessed_encoding() {
            let (source, _) = reader.place();
            let message = format!("looks like {encoding}; --encoding overrides this");
            let guess = InputError::new(source, Place::File, message);
            name(&mut self.guessed, "detected", &guess);
        }
    }

    /// Reports the counts that are not zero.
    pub(crate) fn tell(&self) {
        if self.guessed > SHOWN {
            let count = self.guessed;
            say(format_args!("detected the encodings of {count} inputs"));
        }
        if self.replaced > 0 {
            let records = counted(self.replaced, "record");
            say(format_args!("replaced bytes in {records}"));
        }
        if let Some(first) = &self.first_odd_id {
            let first = one_line(&first.to_string());
            match self.odd_ids {
                1 => say(format_args!(
                    "1 record has an unusable id; its position is used instead: {first}"
                )),
                count => say(format_args!(
                    "{count} records have unusable ids; their positions are used instead (first: {first})"
                )),
            }
        }
        if self.skipped > 0 {
            let records = counted(self.skipped, "record");
            match self.on_error {
                OnError::Keep => say(format_args!("{records} not judged")),
                _ => say(format_args!("skipped {records}")),
            }
        }
    }
}

/// Increments a count, and shows the record if it is among the first.
fn name(count: &mut u64, what: &str, record: &dyn fmt::Display) {
    *count += 1;
    if *count <= SHOWN {
        let record = one_line(&record.to_string());
        say(format_args!("{what}: {record}"));
    }
}

/// The fields with texts, fingerprints and ids, and the notation of the records; shared by the commands that read
/// records.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FieldArgs {
    /// Fields or columns that hold the text, joined if they are several; a.b is field b of the object a, a.*.b is
    /// field b of every element of the list a. A tsv then starts with a line of column names [default: text]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = heading::INPUT)]
    text_field: Vec<String>,
    /// Field or column that holds the fingerprint [default: fingerprint]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    fingerprint_field: Option<String>,
    /// Field or column that holds the id, which every record must then have [default: id, which may be absent]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    id_field: Option<String>,
    /// Character between the values of csv, or tab [default: the one that the first row has]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = heading::INPUT)]
    delimiter: Option<u8>,
    /// Encoding of the input, such as GBK, or auto to detect it [default: auto for files and warc, UTF-8 for the rest]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    encoding: Option<TextEncoding>,
}

/// Parses `--delimiter`.
fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[byte]) if byte.is_ascii() => Ok(byte),
        _ => Err("a delimiter is one ASCII character, or tab".into()),
    }
}

impl FieldArgs {
    /// The names of the options, for a message about them.
    pub(crate) const NAMES: &str =
        "--text-field, --fingerprint-field, --id-field, --delimiter and --encoding";

    /// Whether any of the options is given.
    pub(crate) fn are_given(&self) -> bool {
        self.options(Width::default()) != ReadOptions::default() || self.encoding.is_some()
    }

    /// Returns the options of readers of fingerprints of a width.
    pub(crate) fn options(&self, width: Width) -> ReadOptions {
        let mut options = ReadOptions::default().width(width);
        options.fields.text.clone_from(&self.text_field);
        options
            .fields
            .fingerprint
            .clone_from(&self.fingerprint_field);
        options.fields.id.clone_from(&self.id_field);
        options.delimiter = self.delimiter;
        options.encoding = self.encoding.unwrap_or_default();
        options
    }
}

/// The inputs, and options for reading them; shared by the commands that read records.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct InputArgs {
    /// Files, folders of them, or quoted patterns such as 'crawl/*.tsv.gz'; `-` is standard input, the default. Files
    /// compressed by gzip, zstd, bzip2, lz4 or xz are decompressed
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Format of the inputs [default: auto]
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", help_heading = heading::INPUT)]
    input: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) fields: FieldArgs,
    /// Bits per fingerprint
    #[arg(long, value_name = "BITS", default_value_t = Width::W64, value_parser = width())]
    pub(crate) width: Width,
    /// Action for an invalid record
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop, help_heading = heading::INPUT)]
    pub(crate) on_error: OnError,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
}

impl InputArgs {
    /// Returns the format; `None` to detect it.
    pub(crate) fn format(&self) -> Option<Format> {
        self.input.flatten()
    }

    /// Returns the inputs, by default standard input.
    pub(crate) fn paths(&self) -> simidx_input::Result<Vec<PathBuf>> {
        if self.inputs.is_empty() {
            return Ok(vec![PathBuf::from("-")]);
        }
        let expand = |path: &PathBuf| simidx_input::expand(path, self.format());
        let inputs = self.inputs.iter().map(expand);
        Ok(inputs.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns all files that are read for these arguments.
    ///
    /// # Errors
    /// A pattern without matches.
    pub(crate) fn files(&self) -> Result<InputFiles, Failure> {
        let mut files = InputFiles::new(self.paths()?);
        files.add(self.pipeline.files.paths());
        Ok(files)
    }
}

/// Index files or records; shared by the commands that accept either.
#[derive(Debug, Clone, clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.value_name("INDEX|INPUT").required(true).help(SOURCES)),
    mut_arg("input", |arg| arg.help(SOURCE_FORMAT)),
    mut_arg("width", |arg| arg.help("Bits per fingerprint; an index says it itself"))
)]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    pub(crate) records: InputArgs,
    #[command(flatten)]
    open: OpenArgs,
}

/// The help of the files.
const SOURCES: &str = "Index files, which are read as one, or files of fingerprints or documents; `-` is standard input, \
                       which holds records";

/// The help of `--input`.
const SOURCE_FORMAT: &str =
    "Format of the records [default: auto; files that begin as indexes do are indexes]";

impl SourceArgs {
    /// Whether the files are records. They are if a format is named; otherwise the first bytes of the files determine
    /// it.
    ///
    /// # Errors
    /// A mixture of indexes and other files, or a file that cannot be read.
    pub(crate) fn are_records(&self) -> Result<bool, Failure> {
        if self.records.input.is_some() {
            return Ok(true);
        }
        let mut first: Option<(&Path, bool)> = None;
        for path in &self.records.inputs {
            let is_index = is_index(path).map_err(Failure::at(path))?;
            let &mut (other, kind) = first.get_or_insert((path, is_index));
            if kind != is_index {
                let [index, records] = if kind { [other, path] } else { [path, other] };
                let message = format!(
                    "{} is an index and {} is not",
                    index.display(),
                    records.display()
                );
                return Err(Failure::new(message));
            }
        }
        Ok(first.is_some_and(|(_, is_index)| !is_index))
    }

    /// Returns all files that are read, including these lists.
    ///
    /// # Errors
    /// A pattern that nothing matches, and the errors of [`Self::are_records`].
    pub(crate) fn files(&self, exclude: &ExcludeArgs) -> Result<InputFiles, Failure> {
        let (paths, open) = (self.records.inputs.clone(), self.open.clone());
        let mut files = InputFiles::new(exclude.paths());
        if !self.are_records()? {
            files.add(IndexArgs { paths, open }.files()?);
            return Ok(files);
        }
        files.add(self.records.paths()?);
        files.add(self.records.pipeline.files.paths());
        // A folder of shards has been expanded into them.
        files.add(paths.iter().filter(|path| path.is_dir()));
        Ok(files)
    }

    /// Opens the indexes as one set, without the excluded records; returns `None` if the files are records.
    ///
    /// # Errors
    /// The errors of [`Self::are_records`], options for the other kind of files, and indexes that cannot be opened.
    pub(crate) fn open(&self, exclude: &ExcludeArgs) -> Result<Option<Set>, Failure> {
        if self.are_records()? {
            exclude.refuse("it cannot be used with records")?;
            return Ok(None);
        }
        if self.records.fields.are_given() {
            let message = format!("{} are for records, not for an index", FieldArgs::NAMES);
            return Err(Failure::new(message));
        }
        let set = together(self.open.open_each(&self.records.inputs)?)?;
        exclude.apply(set).map(Some)
    }
}
