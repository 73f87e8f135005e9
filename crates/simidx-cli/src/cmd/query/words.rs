//! The arguments of `simidx query` after the first index: fingerprints and further index files.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use simidx::Width;
use simidx_input::Format;

use super::Args;
use crate::support::failure::Failure;
use crate::support::records::FieldArgs;

impl Args {
    /// The format of fingerprints among the arguments.
    ///
    /// # Errors
    /// One in which no argument can be written.
    fn word_format(&self) -> Result<WordFormat, Failure> {
        // With documents the format is theirs.
        let format = match self.documents {
            Some(_) => None,
            None => self.fingerprint_format(),
        };
        match format {
            None | Some(Format::Hex) => Ok(WordFormat::Hex),
            Some(Format::Dec) => Ok(WordFormat::Dec),
            Some(format) => {
                let message =
                    format!("--input {format} is not for arguments, which are hex or dec");
                Err(Failure::new(message))
            }
        }
    }
}

/// How a fingerprint among the arguments is written.
#[derive(Debug, Clone, Copy)]
enum WordFormat {
    Hex,
    Dec,
}

impl WordFormat {
    fn parse(self, word: &str, width: Width) -> Option<u128> {
        match self {
            WordFormat::Hex => width.parse_hex(word),
            WordFormat::Dec => width.parse_dec(word),
        }
    }

    fn name(self) -> &'static str {
        match self {
            WordFormat::Hex => "hexadecimal",
            WordFormat::Dec => "decimal",
        }
    }
}

/// The arguments after the first index file.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) files: Vec<PathBuf>,
    /// Fingerprints of any width.
    pub(super) fingerprints: Vec<u128>,
    stdin: bool,
}

impl Words {
    /// Separates fingerprints as wide as those of the first index from files.
    ///
    /// # Errors
    /// A word that is neither, or words that cannot be combined with the options or with each other.
    pub(super) fn sort(args: &Args, width: Width) -> Result<Self, Failure> {
        let mut words = Words::default();
        for word in &args.words {
            if word == "-" {
                words.stdin = true;
            } else if let Some(fingerprint) = fingerprint(word, args, width) {
                words.fingerprints.push(fingerprint);
            } else if is_missing(word.as_ref()) {
                return Err(neither(word, args, width));
            } else {
                words.files.push(word.into());
            }
        }
        words.check(args)?;
        Ok(words)
    }

    fn check(&self, args: &Args) -> Result<(), Failure> {
        let asked = self.stdin || !self.fingerprints.is_empty();
        if asked && (args.text.is_some() || args.documents.is_some() || !args.ids.is_empty()) {
            let message =
                "fingerprints cannot be used with --id, --text or --documents; see --help";
            return Err(Failure::new(message));
        }
        if args.fields.are_given() && args.documents.is_none() {
            let message = format!("{} require --documents", FieldArgs::NAMES);
            return Err(Failure::new(message));
        }
        if self.stdin && !self.fingerprints.is_empty() {
            let message =
                "fingerprints are arguments or, with -, read from standard input, not both";
            return Err(Failure::new(message));
        }
        Ok(())
    }
}

/// The fingerprint that an argument is, if it is one.
fn fingerprint(word: &OsString, args: &Args, width: Width) -> Option<u128> {
    args.word_format().ok()?.parse(word.to_str()?, width)
}

/// Whether no file of that name exists or can exist. One that cannot be examined exists, and is refused when it is opened.
fn is_missing(path: &Path) -> bool {
    use ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    let missing = [NotFound, NotADirectory, InvalidFilename, InvalidInput];
    std::fs::metadata(path).is_err_and(|error| missing.contains(&error.kind()))
}

/// The failure of a word that is neither a fingerprint nor a file.
fn neither(word: &OsString, args: &Args, width: Width) -> Failure {
    match args.word_format() {
        Err(failure) => failure,
        Ok(format) => Failure::new(format!(
            "{word:?} is neither a {} number of at most {width} bits nor a file",
            format.name()
        )),
    }
}
