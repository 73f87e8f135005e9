//! The contents of a folder: shards of one format, or a document in each file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use simidx::Fingerprints;
use walkdir::{DirEntry, WalkDir};

use super::files::walk_error;
use super::source::{Source, input_error, is_folder, printable};
use super::{Format, ReadOptions, Record, RecordReader, detect, open_with};
use crate::{Error, Place, Result};

/// Largest number of files without an extension whose first bytes are examined.
const SNIFFED_FILES: usize = 100;

/// Number of bytes that are examined in each file.
const SNIFFED: u64 = 4 << 10;

/// A file in a folder.
struct Shard {
    path: PathBuf,
    /// The format by the name of the file.
    format: Option<Format>,
    is_empty: bool,
    depth: usize,
}

/// Returns the inputs of an existing path; see [`expand`](super::expand).
pub(super) fn expand(path: &Path, named: Option<Format>) -> Result<Vec<PathBuf>> {
    if !is_folder(path) {
        return Ok(vec![path.to_owned()]);
    }
    Ok(shards(path, named)?.unwrap_or_else(|| vec![path.to_owned()]))
}

/// Returns the shards in a folder; `None` if its files are documents.
fn shards(folder: &Path, named: Option<Format>) -> Result<Option<Vec<PathBuf>>> {
    if named == Some(Format::Files) {
        return Ok(None);
    }
    let mut files = files(folder)?;
    // Jobs write empty parts. If all files are empty, the reader reports it.
    if files.iter().any(|file| !file.is_empty) {
        files.retain(|file| !file.is_empty);
    }
    match named {
        Some(format) => {
            let is_of = |file: &Shard| file.format.is_some_and(|told| is_alike(told, format));
            match files.iter().any(is_of) {
                true => files.retain(is_of),
                false => files.retain(|file| file.format.is_none()),
            }
            if files.is_empty() {
                let message = format!("holds no files to be read as {format}");
                return Err(input_error(&printable(folder), Place::File, message));
            }
        }
        None if files.iter().all(|file| file.format.is_none()) => {
            if !hold_records(folder, &files)? {
                return Ok(None);
            }
        }
        None => {
            let first = files.first().and_then(|file| file.format);
            if files.iter().any(|file| file.format != first) {
                return Err(input_error(
                    &printable(folder),
                    Place::File,
                    mixture(folder, &files),
                ));
            }
        }
    }
    Ok(Some(files.into_iter().map(|file| file.path).collect()))
}

/// Whether files of one format may be read as the other, which the user names.
fn is_alike(told: Format, named: Format) -> bool {
    let json = [Format::Json, Format::Jsonl];
    told == named || (json.contains(&told) && json.contains(&named))
}

/// Returns all files in a folder and its subfolders, in the order of their names, except hidden files and metadata
/// files.
fn files(folder: &Path) -> Result<Vec<Shard>> {
    let is_visible = |entry: &DirEntry| {
        let name = entry.file_name().as_encoded_bytes();
        entry.depth() == 0 || !name.starts_with(b".") && !name.starts_with(b"_")
    };
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let mut files = Vec::new();
    for entry in walk.into_iter().filter_entry(is_visible) {
        let is_dangling = |error: &io::Error| error.kind() == ErrorKind::NotFound;
        let entry = match entry {
            Ok(entry) => entry,
            // Dangling or circular links.
            Err(error) if error.depth() > 0 && error.io_error().is_none_or(is_dangling) => continue,
            Err(error) => return Err(walk_error(error)),
        };
        if entry.file_type().is_file() {
            files.push(Shard {
                format: Format::of_name(entry.path()),
                is_empty: entry.metadata().is_ok_and(|data| data.len() == 0),
                depth: entry.depth(),
                path: entry.into_path(),
            });
        }
    }
    Ok(files)
}

/// Whether files with unknown extensions are records by their first bytes, such as the `part-00000` files of jobs.
///
/// # Errors
/// All of them look like records, but of different formats, or of one that a document may look like by chance.
fn hold_records(folder: &Path, files: &[Shard]) -> Result<bool> {
    if files.iter().any(|file| has_extension(&file.path)) {
        return Ok(false);
    }
    let (mut told, mut is_sure) = (BTreeSet::new(), true);
    for file in files.iter().take(SNIFFED_FILES) {
        let Ok(mut source) = Source::open(&file.path) else {
            return Ok(false);
        };
        let Ok(head) = source.peek(SNIFFED) else {
            return Ok(false);
        };
        let format = detect::records_by_magic(&head);
        is_sure &= format.is_some();
        let whole = (head.len() as u64) < SNIFFED;
        let Some(format) = format.or_else(|| detect::records_by_chance(&head, whole)) else {
            return Ok(false);
        };
        told.insert(format.name());
    }
    if told.len() > 1 || !is_sure {
        let names: Vec<&str> = told.into_iter().collect();
        let message = format!(
            "holds files without extensions that look like {}; name their format with --input, \
             or read every file as a document with --input files",
            names.join(" and ")
        );
        return Err(input_error(&printable(folder), Place::File, message));
    }
    Ok(!told.is_empty())
}

/// Whether a name has an extension other than that of a compression.
fn has_extension(path: &Path) -> bool {
    let name = super::source::file_name(path);
    super::compression::split_suffix(&name).0.contains('.')
}

/// Returns the message for a folder with files of several formats.
fn mixture(folder: &Path, files: &[Shard]) -> String {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for format in files.iter().filter_map(|file| file.format) {
        *counts.entry(format.name()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let most = counts.first().map_or("", |&(name, _)| name);
    let mut kinds: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let mut others = files.iter().filter(|file| file.format.is_none());
    if let Some(other) = others.next() {
        let name = PathBuf::from(other.path.file_name().unwrap_or_default());
        let count = 1 + others.count();
        let noun = if count == 1 { "other" } else { "others" };
        kinds.push(format!("{count} {noun} such as {}", printable(&name)));
    }
    let pattern = pattern(folder, files, most);
    format!(
        "holds files of several kinds: {}; name those to read by a pattern such as '{pattern}', \
         or read every file as a document with --input files",
        kinds.join(", ")
    )
}

/// Returns a pattern for the files of a format: their folder, and the most frequent ending of their names.
fn pattern(folder: &Path, files: &[Shard], format: &str) -> String {
    let is_of = |file: &&Shard| file.format.is_some_and(|told| told.name() == format);
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_deep = false;
    for file in files.iter().filter(is_of) {
        is_deep |= file.depth > 1;
        *ends.entry(end_of(&file.path)).or_default() += 1;
    }
    let end = ends.into_iter().max_by_key(|&(_, count)| count);
    let end = end.map_or_else(String::new, |(end, _)| end);
    let any = if is_deep { "**/*" } else { "*" };
    printable(&folder.join(any)) + &end
}

/// Returns the extension of a file, including that of its compression.
fn end_of(path: &Path) -> String {
    let name = super::source::file_name(path);
    let plain = super::compression::split_suffix(&name).0;
    let start = plain.rfind('.').unwrap_or(plain.len());
    name[start..].to_owned()
}

/// Reads all shards of a folder. Each is opened after the one before it has been read.
pub(super) struct ShardsReader {
    /// The folder.
    name: String,
    paths: std::vec::IntoIter<PathBuf>,
    format: Option<Format>,
    options: ReadOptions,
    shard: Option<Box<dyn RecordReader>>,
    /// Number of bytes in the shards that have been read.
    bytes_before: u64,
}

impl ShardsReader {
    /// Returns a reader of the shards in a folder; `None` if its files are documents.
    pub(super) fn open(
        folder: &Path,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<Option<Self>> {
        let Some(paths) = shards(folder, format)? else {
            return Ok(None);
        };
        let mut reader = ShardsReader {
            name: printable(folder),
            paths: paths.into_iter(),
            format,
            options: options.clone(),
            shard: None,
            bytes_before: 0,
        };
        reader.open_next()?;
        Ok(Some(reader))
    }

    /// Opens the next shard, if there is one.
    fn open_next(&mut self) -> Result<bool> {
        let Some(path) = self.paths.next() else {
            return Ok(false);
        };
        self.shard = Some(open_with(&path, self.format, &self.options)?);
        Ok(true)
    }

    /// Ends the reading with the error of a shard that cannot be opened, which is not the error of a record.
    fn end_with(&mut self, error: Error) -> Error {
        self.paths = Vec::new().into_iter();
        match error {
            Error::Input(error) => io::Error::new(ErrorKind::InvalidData, error.to_string()).into(),
            error => error,
        }
    }
}

impl Iterator for ShardsReader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        while let Some(shard) = &mut self.shard {
            match shard.next() {
                Some(Err(error @ Error::Io(_))) => {
                    self.paths = Vec::new().into_iter();
                    return Some(Err(error));
                }
                Some(record) => return Some(record),
                None => {}
            }
            self.bytes_before += shard.bytes_read();
            self.shard = None;
            if let Err(error) = self.open_next() {
                return Some(Err(self.end_with(error)));
            }
        }
        None
    }
}

impl RecordReader for ShardsReader {
    fn read_fingerprints(&mut self, out: &mut Fingerprints) -> usize {
        let shard = self.shard.as_mut();
        shard.map_or(0, |shard| shard.read_fingerprints(out))
    }

    fn bytes_read(&self) -> u64 {
        let shard = self.shard.as_ref();
        self.bytes_before + shard.map_or(0, |shard| shard.bytes_read())
    }

    fn guessed_encoding(&self) -> Option<&'static str> {
        self.shard.as_ref()?.guessed_encoding()
    }

    fn place(&self) -> (&str, Place) {
        match &self.shard {
            Some(shard) => shard.place(),
            None => (&self.name, Place::File),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::gzip;
    use crate::tests::{document, drain, drain_in_bulk, fingerprint};
    use crate::{InputFile, open};
    use simidx::Width;
    use std::fs::{create_dir_all, write};

    /// Creates a folder with these files.
    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, bytes).unwrap();
        }
        folder
    }

    /// Returns the inputs in a folder.
    fn expanded(folder: &tempfile::TempDir, named: Option<Format>) -> Result<Vec<String>, String> {
        let root = folder.path();
        let local = |text: String| text.replace(&root.display().to_string(), "dir");
        let paths = expand(root, named).map_err(|error| local(error.to_string()))?;
        Ok(paths
            .iter()
            .map(|path| local(path.display().to_string()))
            .collect())
    }

    #[test]
    fn shards_of_one_format_are_listed_in_order() {
        let shards = folder(&[
            ("b/part-1.jsonl.gz", b"x"),
            ("a.jsonl", b"x"),
            ("b/part-0.ndjson", b"x"),
            ("b/empty.jsonl", b""),
            ("e.csv", b""),
            ("README", b""),
            ("_SUCCESS", b""),
            (".part-0.jsonl.crc", b"x"),
            ("_temporary/c.txt", b"x"),
            (".git/d.txt", b"x"),
        ]);
        let listed = [
            "dir/a.jsonl",
            "dir/b/part-0.ndjson",
            "dir/b/part-1.jsonl.gz",
        ];
        assert_eq!(expanded(&shards, None).unwrap(), listed);
        assert_eq!(expanded(&shards, Some(Format::Json)).unwrap(), listed);
        assert_eq!(expanded(&shards, Some(Format::Files)).unwrap(), ["dir"]);
        let message = "dir: holds no files to be read as tsv";
        assert_eq!(expanded(&shards, Some(Format::Tsv)).unwrap_err(), message);
        let empty = folder(&[("a.csv", b""), ("b.csv", b"")]);
        assert_eq!(expanded(&empty, None).unwrap(), ["dir/a.csv", "dir/b.csv"]);
    }

    #[test]
    fn other_files_are_documents() {
        for files in [
            &[
                ("a.txt", &b"x"[..]),
                ("b.html", b"x"),
                ("c/d", b"{\"x\": 1}"),
            ][..],
            &[("a", b"some text"), ("b", b"other text")],
            &[("a", b"{\"text\": 1}"), ("b", b"other text")],
            &[("a", b"id,text\n1,a\n"), ("b", b"other text")],
            &[(".hidden", b"x")],
            &[],
        ] {
            assert_eq!(
                expanded(&folder(files), None).unwrap(),
                ["dir"],
                "{files:?}"
            );
        }
    }

    #[test]
    fn files_without_extensions_are_known_by_their_content() {
        let shards = folder(&[
            ("part-00000", b"{\"text\": \"a\"}\n"),
            ("part-00001", b""),
            ("part-00002.gz", &gzip(b"{\"text\": \"b\"}\n")),
            ("_SUCCESS", b""),
            ("e.jsonl", b""),
            ("README.md", b""),
        ]);
        let listed = ["dir/part-00000", "dir/part-00002.gz"];
        assert_eq!(expanded(&shards, None).unwrap(), listed);
        for (files, kinds) in [
            (&[("part-0", &b"id,text\n1,a\n"[..])][..], "csv"),
            (&[("a", b"00ff\tx\n"), ("b", &[b'f'; 32])], "hex"),
            (&[("a", b"12345678901234567890\n")], "dec"),
            (
                &[("a", b"{\"text\": 1}"), ("b", b"WARC/1.1\r\n")],
                "jsonl and warc",
            ),
        ] {
            let start = format!("dir: holds files without extensions that look like {kinds}; ");
            let error = expanded(&folder(files), None).unwrap_err();
            assert!(error.starts_with(&start), "{error}");
        }
        let lines = folder(&[("part-0", b"a\n"), ("part-1", b"b\n")]);
        let listed = ["dir/part-0", "dir/part-1"];
        assert_eq!(expanded(&lines, Some(Format::Lines)).unwrap(), listed);
    }

    #[test]
    fn mixtures_are_refused_with_their_kinds_and_a_pattern() {
        let mixed = folder(&[
            ("a.jsonl.gz", b"x"),
            ("b.jsonl.gz", b"x"),
            ("c.csv", b"x"),
            ("README.md", b"x"),
            ("LICENSE", b"x"),
        ]);
        let message = "dir: holds files of several kinds: 2 jsonl, 1 csv, 2 others such as LICENSE; \
                       name those to read by a pattern such as 'dir/*.jsonl.gz', \
                       or read every file as a document with --input files";
        assert_eq!(expanded(&mixed, None).unwrap_err(), message);
        assert_eq!(expanded(&mixed, Some(Format::Csv)).unwrap(), ["dir/c.csv"]);
        let deep = folder(&[
            ("x/a.parquet", b"x"),
            ("b.json", b"x"),
            ("y/c.parquet", b"x"),
        ]);
        let error = expanded(&deep, None).unwrap_err();
        let words = "2 parquet, 1 json; name those to read by a pattern such as 'dir/**/*.parquet'";
        assert!(error.contains(words), "{error}");
        let error = open(deep.path(), None).err().unwrap();
        assert!(error.to_string().contains("2 parquet, 1 json; "), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn links_to_files_are_followed() {
        let shards = folder(&[("blobs/0", b"ff\n"), ("data/b.hex", b"fe\n")]);
        let data = shards.path().join("data");
        std::os::unix::fs::symlink("../blobs/0", data.join("a.hex")).unwrap();
        std::os::unix::fs::symlink("nowhere", data.join("c.hex")).unwrap();
        std::os::unix::fs::symlink(&data, data.join("loop")).unwrap();
        let found = expand(&data, None).unwrap();
        assert_eq!(found, [data.join("a.hex"), data.join("b.hex")]);
    }

    #[test]
    fn shards_are_read_one_after_another() {
        let shards = folder(&[
            ("a.hex", b"1\n2\n"),
            ("b/c.hex.gz", &gzip(b"3\tx\n")),
            ("d.hex", b"4\n"),
        ]);
        let expected = [
            fingerprint(1, None),
            fingerprint(2, None),
            fingerprint(3, Some("x")),
            fingerprint(4, None),
        ];
        let mut reader = open(shards.path(), None).unwrap();
        assert_eq!(drain(&mut *reader).records(), expected);
        let read = reader.bytes_read();
        assert_eq!(read, 6 + gzip(b"3\tx\n").len() as u64);
        let (bulk, _) = drain_in_bulk(&mut *open(shards.path(), None).unwrap(), Width::W64, 1);
        assert_eq!(bulk.records(), expected);
        let error = InputFile::open(shards.path(), None, None).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with(": is a folder of shards, of which each is an input")
        );
    }

    #[test]
    fn a_shard_that_cannot_be_read_is_the_end() {
        let shards = folder(&[
            ("a.csv", b"text\na\n"),
            ("b.csv", b"body\nb\n"),
            ("c.csv", b"text\nc\n"),
        ]);
        let read = drain(&mut *open(shards.path(), None).unwrap());
        assert_eq!(read.records(), [document("a", None)]);
        assert_eq!(read.errors().len(), 1);
        assert!(read.errors()[0].contains("b.csv:1: has no column \"text\""));
        let cut_off = &gzip(b"2\n")[..15];
        let damaged = folder(&[("a.hex", b"1\n"), ("b.hex.gz", cut_off), ("c.hex", b"3\n")]);
        let read = drain(&mut *open(damaged.path(), None).unwrap());
        assert_eq!((read.records().len(), read.errors().len()), (1, 1));
    }
}
