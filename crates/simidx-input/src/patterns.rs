//! Inputs by their paths: patterns, folders, and the refusal of URLs.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use walkdir::WalkDir;

use super::source::{input_error, io_error, is_stdin, printable, refuse_url};
use super::{Format, folder};
use crate::{Place, Result};

/// Shell-like rules: a wildcard matches neither a slash nor the dot of a hidden file.
const LIKE_A_SHELL: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The part of a pattern that matches folders at any depth.
const ANY_DEPTH: &str = "**";

/// Returns the inputs of a path or a pattern, sorted.
///
/// A path that exists, or that has no `*`, `?` or `[`, names itself. Any other path is a pattern; `**` matches folders
/// at any depth. Invalid UTF-8 in names matches like U+FFFD.
///
/// A folder represents the files in it and its subfolders, in the order of their paths, if all of them have the same
/// format by their names or, without extensions, by their first bytes. Hidden files, files whose names begin with `_`,
/// and empty files are ignored. With a format other than `files`, it represents the files of that format by their names
/// or, if there are none, the files whose names determine no format. A folder of other files, and every folder with the
/// format `files`, represents itself: it is read as documents.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name);
/// std::fs::write(path("b.hex"), "00ff\n")?;
/// std::fs::write(path("a.hex"), "00fe\n")?;
/// assert_eq!(simidx_input::expand(&path("*.hex"), None)?, [path("a.hex"), path("b.hex")]);
/// assert_eq!(simidx_input::expand(folder.path(), None)?, [path("a.hex"), path("b.hex")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) if nothing matches, if the pattern is malformed, for a folder with files of
/// several formats or of one among others, and for a URL; [`Error::Io`](crate::Error::Io) if a folder cannot be read.
pub fn expand(path: &Path, format: Option<Format>) -> Result<Vec<PathBuf>> {
    if is_stdin(path) || path.symlink_metadata().is_ok() {
        return folder::expand(path, format);
    }
    refuse_url(path)?;
    if !path.components().any(|part| is_pattern(part.as_os_str())) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for path in matches(path)? {
        found.extend(folder::expand(&path, format)?);
    }
    Ok(found)
}

fn is_pattern(part: &OsStr) -> bool {
    part.as_encoded_bytes().iter().any(|b| b"*?[".contains(b))
}

/// Returns the paths that match a pattern, sorted; at least one.
fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let refuse = |message: String| input_error(&printable(pattern), Place::File, message);
    // The pattern is applied component by component. Its errors have positions in the whole pattern.
    let check = Pattern::new(&pattern.to_string_lossy());
    check.map_err(|e| refuse(format!("not a pattern: {} at character {}", e.msg, e.pos)))?;
    let mut found = vec![PathBuf::new()];
    let mut parts = pattern.components().peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        found = match part {
            Component::Normal(part) if part == ANY_DEPTH => below(&found, is_last)?,
            Component::Normal(part) if is_pattern(part) => {
                let part = Pattern::new(&part.to_string_lossy());
                within(
                    &found,
                    &part.map_err(|e| refuse(format!("not a pattern: {}", e.msg)))?,
                )?
            }
            part => found.iter().map(|path| path.join(part)).collect(),
        };
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    if found.is_empty() {
        return Err(refuse("no file matches this pattern".into()));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns the entries of the folders that match.
fn within(folders: &[PathBuf], pattern: &Pattern) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        let blame = |error: io::Error| io_error(&printable(folder), error);
        let entries = match fs::read_dir(or_here(folder)) {
            Ok(entries) => entries,
            Err(error) if is_no_folder(&error) => continue,
            Err(error) => return Err(blame(error)),
        };
        for entry in entries {
            let name = entry.map_err(blame)?.file_name();
            if pattern.matches_with(&name.to_string_lossy(), LIKE_A_SHELL) {
                found.push(folder.join(name));
            }
        }
    }
    Ok(found)
}

/// Returns the folders and all folders below them, or all files in them.
fn below(folders: &[PathBuf], wants_files: bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        let walk = WalkDir::new(or_here(folder)).into_iter();
        let is_visible = |entry: &walkdir::DirEntry| {
            let name = entry.file_name().as_encoded_bytes();
            entry.depth() == 0 || !name.starts_with(b".")
        };
        for entry in walk.filter_entry(is_visible) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.io_error().is_some_and(is_no_folder) => continue,
                Err(error) => return Err(super::files::walk_error(error)),
            };
            if entry.file_type().is_dir() != wants_files {
                let path = entry.path();
                let inner = path.strip_prefix(or_here(folder)).unwrap_or(path);
                found.push(match entry.depth() {
                    0 => folder.clone(),
                    _ => folder.join(inner),
                });
            }
        }
    }
    Ok(found)
}

/// Returns the current folder for an empty path.
fn or_here(folder: &Path) -> &Path {
    match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    }
}

fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};

    fn expanded(root: &Path, pattern: &str) -> Result<Vec<String>, String> {
        let found = expand(&root.join(pattern), None).map_err(|e| e.to_string())?;
        let names = found.iter().map(|path| path.strip_prefix(root).unwrap());
        Ok(names.map(|name| name.display().to_string()).collect())
    }

    #[test]
    fn patterns_stand_for_what_they_match() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a", "b", ".c"] {
            create_dir(dir.path().join(folder)).unwrap();
        }
        for name in [
            "a/2.tsv",
            "a/1.tsv",
            "b/3.tsv.gz",
            "b/.4.tsv",
            "c.tsv",
            ".c/5.tsv",
            "b/é",
        ] {
            write(dir.path().join(name), "x").unwrap();
        }
        for (pattern, found) in [
            ("?/*.tsv", &["a/1.tsv", "a/2.tsv"][..]),
            ("*/[13].tsv*", &["a/1.tsv", "b/3.tsv.gz"]),
            ("c*", &["c.tsv"]),
            ("a*", &["a/1.tsv", "a/2.tsv"]),
            ("**/*.tsv", &["a/1.tsv", "a/2.tsv", "c.tsv"]),
            ("a/**", &["a/1.tsv", "a/2.tsv"]),
            ("*/1.tsv", &["a/1.tsv"]),
            ("b/?", &["b/é"]),
            (".c/*", &[".c/5.tsv"]),
        ] {
            assert_eq!(expanded(dir.path(), pattern).unwrap(), found, "{pattern}");
        }
    }

    #[test]
    fn what_exists_or_is_no_pattern_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a[1]"), "").unwrap();
        write(dir.path().join("a1"), "").unwrap();
        for name in ["a[1]", "missing", "-"] {
            assert_eq!(expanded(dir.path(), name).unwrap(), [name]);
        }
        assert_eq!(expand(Path::new("-"), None).unwrap(), [Path::new("-")]);
    }

    #[test]
    fn patterns_without_a_match_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("file"), "").unwrap();
        let root = dir.path().display();
        for pattern in ["*.hex", "x*/*.hex", "file/*", "*/missing"] {
            let error = expanded(dir.path(), pattern).unwrap_err();
            assert_eq!(
                error,
                format!("{root}/{pattern}: no file matches this pattern")
            );
        }
        let error = expanded(dir.path(), "a[").unwrap_err();
        assert!(
            error.starts_with(&format!("{root}/a[: not a pattern: ")),
            "{error}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_not_utf8_match_too() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join(OsStr::from_bytes(b"\xff.hex"));
        let inner = dir.path().join(OsStr::from_bytes(b"\xfe"));
        create_dir(&inner).unwrap();
        write(&odd, "ff\n").unwrap();
        write(inner.join("a.hex"), "fe\n").unwrap();
        write(dir.path().join("b.hex"), "fd\n").unwrap();
        let found = expand(&dir.path().join("*.hex"), None).unwrap();
        assert_eq!(found, [dir.path().join("b.hex"), odd.clone()]);
        let found = expand(&dir.path().join("**/?.hex"), None).unwrap();
        assert_eq!(
            found,
            [dir.path().join("b.hex"), inner.join("a.hex"), odd.clone()]
        );
        assert_eq!(
            expand(&inner.join("*"), None).unwrap(),
            [inner.join("a.hex")]
        );
        assert_eq!(expand(&odd, None).unwrap(), [odd]);
    }

    #[test]
    fn urls_are_no_paths() {
        for url in ["s3://bucket/a.parquet", "https://example.org/a?b=[1]"] {
            let error = expand(Path::new(url), None).unwrap_err().to_string();
            let start = format!("{url}: is a URL, and URLs are not read; ");
            assert!(error.starts_with(&start), "{error}");
        }
        for path in ["a:b", "://x", "c://x", "a b://c"] {
            assert!(refuse_url(Path::new(path)).is_ok(), "{path}");
        }
    }
}
