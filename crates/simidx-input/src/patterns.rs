//! Patterns that name several inputs.

use std::path::{Path, PathBuf};

use glob::MatchOptions;

use super::source::{input_error, io_error, is_stdin, printable};
use crate::{Place, Result};

/// As a shell has it: a wildcard matches neither a slash nor the dot of a hidden file.
const LIKE_A_SHELL: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The inputs that a path or a pattern names, sorted.
///
/// A path that exists, or that has no `*`, `?` or `[`, names itself. Any other path is a pattern; `**` matches folders
/// at any depth.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name);
/// std::fs::write(path("b.hex"), "00ff\n")?;
/// std::fs::write(path("a.hex"), "00fe\n")?;
/// assert_eq!(simidx_input::expand(&path("*.hex"))?, [path("a.hex"), path("b.hex")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) if nothing matches, or the pattern is malformed;
/// [`Error::Io`](crate::Error::Io) if a folder cannot be read.
pub fn expand(path: &Path) -> Result<Vec<PathBuf>> {
    let pattern = path.to_str().unwrap_or_default();
    let literal = is_stdin(path) || !pattern.contains(['*', '?', '[']);
    if literal || path.symlink_metadata().is_ok() {
        return Ok(vec![path.to_owned()]);
    }
    let refuse = |message: String| input_error(&printable(path), Place::File, message);
    let found = glob::glob_with(pattern, LIKE_A_SHELL)
        .map_err(|e| refuse(format!("not a pattern: {} at character {}", e.msg, e.pos)))?;
    let found: std::result::Result<Vec<PathBuf>, _> = found.collect();
    let mut found = found.map_err(|e| io_error(&printable(e.path()), e.into()))?;
    if found.is_empty() {
        return Err(refuse("no file matches this pattern".into()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};

    fn expanded(root: &Path, pattern: &str) -> Result<Vec<String>, String> {
        let found = expand(&root.join(pattern)).map_err(|e| e.to_string())?;
        let names = found.iter().map(|path| path.strip_prefix(root).unwrap());
        Ok(names.map(|name| name.display().to_string()).collect())
    }

    #[test]
    fn patterns_stand_for_what_they_match() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a", "b"] {
            create_dir(dir.path().join(folder)).unwrap();
        }
        for name in ["a/2.tsv", "a/1.tsv", "b/3.tsv.gz", "b/.4.tsv", "c.tsv"] {
            write(dir.path().join(name), "").unwrap();
        }
        for (pattern, found) in [
            ("?/*.tsv", &["a/1.tsv", "a/2.tsv"][..]),
            ("*/[13].tsv*", &["a/1.tsv", "b/3.tsv.gz"]),
            ("*", &["a", "b", "c.tsv"]),
            ("**/*.tsv", &["a/1.tsv", "a/2.tsv", "c.tsv"]),
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
        assert_eq!(expand(Path::new("-")).unwrap(), [Path::new("-")]);
    }

    #[test]
    fn patterns_without_a_match_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = expanded(dir.path(), "*.hex").unwrap_err();
        let root = dir.path().display();
        assert_eq!(error, format!("{root}/*.hex: no file matches this pattern"));
        let error = expanded(dir.path(), "a[").unwrap_err();
        assert!(
            error.starts_with(&format!("{root}/a[: not a pattern: ")),
            "{error}"
        );
    }
}
