//! Errors: what went wrong, where in the file, and of which class.

use std::fmt;
use std::io;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that building, opening or searching an index can report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a read or a write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes are not an index that this version can read, or are damaged.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The parameters or the records cannot make an index.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A text pipeline description cannot be carried out by this version.
    #[error("text pipeline: {0}")]
    Pipeline(String),
    /// A record of an input cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// One of several segments failed.
    #[error("{name}: {error}")]
    Segment {
        /// Number of the segment, from 0, in the order in which they were given.
        segment: usize,
        /// What it is called: the path of its file, where it has one.
        name: String,
        /// What is wrong with it.
        #[source]
        error: Box<Error>,
    },
}

/// The three ways in which a file can fail its reader (spec, section 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatClass {
    /// The bytes were never an index file.
    NotSimidx,
    /// The file is intact but needs a newer reader.
    Unsupported,
    /// The file is an index and is damaged, or was written wrongly.
    Damaged,
}

impl FormatClass {
    /// The word that the specification and every tool use for the class.
    pub fn name(self) -> &'static str {
        match self {
            FormatClass::NotSimidx => "not-simidx",
            FormatClass::Unsupported => "unsupported",
            FormatClass::Damaged => "damaged",
        }
    }
}

/// A broken rule of the file format and the place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// Number of the validation rule (V1…) in section 12 of the specification.
    pub rule: u8,
    /// How the file fails.
    pub class: FormatClass,
    /// What was found, one clause.
    pub message: String,
    /// Bytes from the start of the file, where one place is to blame.
    pub offset: Option<u64>,
    /// The table concerned.
    pub table: Option<u8>,
    /// The block of that table.
    pub block: Option<u64>,
}

impl FormatError {
    /// A rule broken by a damaged or wrongly written file.
    pub(crate) fn damaged(rule: u8, message: impl Into<String>) -> Self {
        Self::new(rule, FormatClass::Damaged, message)
    }

    /// A rule broken by a file that a newer reader may understand.
    pub(crate) fn unsupported(rule: u8, message: impl Into<String>) -> Self {
        Self::new(rule, FormatClass::Unsupported, message)
    }

    /// A rule broken by something that never was an index file.
    pub(crate) fn not_simidx(rule: u8, message: impl Into<String>) -> Self {
        Self::new(rule, FormatClass::NotSimidx, message)
    }

    fn new(rule: u8, class: FormatClass, message: impl Into<String>) -> Self {
        FormatError {
            rule,
            class,
            message: message.into(),
            offset: None,
            table: None,
            block: None,
        }
    }

    /// Adds the byte offset at which the rule is broken.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Adds the table in which the rule is broken.
    pub(crate) fn in_table(mut self, table: usize) -> Self {
        self.table = Some(table as u8);
        self
    }

    /// Adds the block in which the rule is broken.
    pub(crate) fn in_block(mut self, block: usize) -> Self {
        self.block = Some(block as u64);
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            FormatClass::NotSimidx => write!(f, "not a simidx file: {}", self.message)?,
            FormatClass::Unsupported => write!(f, "needs a newer simidx: {}", self.message)?,
            FormatClass::Damaged => write!(f, "damaged index: {}", self.message)?,
        }
        let place = [
            self.table.map(|t| format!("table {t}")),
            self.block.map(|b| format!("block {b}")),
            self.offset.map(|o| format!("offset {o}")),
        ];
        write!(f, " (rule V{}", self.rule)?;
        for part in place.iter().flatten() {
            write!(f, ", {part}")?;
        }
        write!(f, ")")
    }
}

impl std::error::Error for FormatError {}

/// Parameters or records from which no index can be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A parameter is out of its range.
    #[error("{0}")]
    Parameter(String),
    /// A record has no id although the index stores ids, or the reverse.
    #[error("{0}")]
    Id(String),
}

/// A record that an input reader or the builder cannot use, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The file, or `-` for standard input.
    pub source: String,
    /// Line (from 1) of a text input, byte offset of a binary one, row (from 1) of a table.
    pub place: Place,
    /// What is wrong, one clause.
    pub message: String,
}

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// A row of a table, counted from 1.
    Row(u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "{}:{line}: {}", self.source, self.message),
            Place::Offset(at) => write!(f, "{}: offset {at}: {}", self.source, self.message),
            Place::Row(row) => write!(f, "{}: row {row}: {}", self.source, self.message),
            Place::File => write!(f, "{}: {}", self.source, self.message),
        }
    }
}

impl std::error::Error for InputError {}
