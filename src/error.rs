//! Errors: what went wrong, where in the file, and of which class.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::id_kind::IdKind;
pub use crate::options_error::OptionsError;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of building, opening or searching an index, by kind.
///
/// ```
/// use simidx::{Error, Index};
///
/// match Index::<u32>::from_bytes(b"no index at all".to_vec()) {
///     Err(Error::Format(error)) => assert_eq!(error.class().name(), "not-simidx"),
///     Err(Error::WidthMismatch { index, .. }) => println!("open it with {index} bits"),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a read or a write.
    Io(io::Error),
    /// The bytes are not an index that this version can read, or they are damaged.
    Format(FormatError),
    /// The index has another width than requested. [`Set`](crate::Set) opens files of any width.
    WidthMismatch {
        /// Bits of the fingerprints in the file.
        index: u32,
        /// Bits of the requested type.
        requested: u32,
    },
    /// An option or argument is out of its range, or conflicts with another.
    Options(OptionsError),
    /// The records do not fit the index.
    Build(BuildError),
    /// The work does not fit the memory limit of its options.
    Budget {
        /// The purpose of the memory.
        purpose: String,
        /// The least bytes that it takes.
        needed: u64,
        /// The bytes that the limit leaves for it.
        given: u64,
    },
    /// There are more items than the caller or the format allows.
    LimitReached {
        /// The kind of the items, in the plural.
        what: &'static str,
        /// The largest number allowed.
        limit: u64,
    },
    /// Two segments cannot be read as one index, or not be merged.
    Mismatch {
        /// Name of one segment.
        first: String,
        /// Name of the other.
        second: String,
        /// The difference, in words.
        difference: String,
    },
    /// The manifest of a set cannot be read, or does not describe its segments.
    Manifest(ManifestError),
    /// A [`Watch`](crate::Watch) stopped the work.
    Interrupted,
    /// One of several segments failed.
    Segment {
        /// Number of the segment, from 0, in the order in which they were given.
        segment: usize,
        /// Name of the segment: the path of its file, if it has one.
        name: String,
        /// The error of the segment.
        error: Box<Error>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Format(error) => error.fmt(f),
            Error::WidthMismatch { index, requested } => write!(
                f,
                "the index holds {index}-bit fingerprints, not {requested}-bit ones"
            ),
            Error::Options(error) => error.fmt(f),
            Error::Build(error) => error.fmt(f),
            Error::Budget {
                purpose,
                needed,
                given,
            } => {
                let mut sizes = [needed, given].map(|bytes| ByteSize(*bytes).to_string());
                let is_rounded = sizes.iter().any(|size| size.contains('.'));
                if is_rounded && needed.abs_diff(*given) < given / 10 {
                    sizes = [needed, given].map(|bytes| format!("{bytes} bytes"));
                }
                let [needed, given] = sizes;
                write!(
                    f,
                    "{purpose} needs at least {needed} of memory, but the limit leaves {given}"
                )
            }
            Error::LimitReached { what, limit } => write!(f, "there are more than {limit} {what}"),
            Error::Mismatch {
                first,
                second,
                difference,
            } => write!(f, "{first} and {second} differ in {difference}"),
            Error::Manifest(error) => error.fmt(f),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Segment { name, error, .. } => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // The messages of all include their cause.
            Error::Io(error) => error.source(),
            Error::Segment { error, .. } => error.source(),
            _ => None,
        }
    }
}

macro_rules! kinds_of_error {
    ($($Kind:ident: $t:ty),*) => {$(
        impl From<$t> for Error {
            fn from(error: $t) -> Self {
                Error::$Kind(error)
            }
        }
    )*};
}

kinds_of_error!(Io: io::Error, Format: FormatError, Options: OptionsError, Build: BuildError, Manifest: ManifestError);

/// A number of bytes for people: in the largest binary unit that is not larger than it, and exactly if few digits are
/// enough, unless a precision is given.
///
/// ```
/// use simidx::ByteSize;
///
/// assert_eq!(ByteSize(64 << 20).to_string(), "64 MiB");
/// assert_eq!(ByteSize(3 << 29).to_string(), "1.5 GiB");
/// assert_eq!(format!("{:.1}", ByteSize(1 << 20)), "1.0 MiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = self.0.checked_ilog2().unwrap_or(0) / 10;
        let Some(unit) =
            ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].get(power.wrapping_sub(1) as usize)
        else {
            let unit = if self.0 == 1 { "byte" } else { "bytes" };
            return write!(f, "{} {unit}", self.0);
        };
        let bits = 10 * power;
        if f.precision().is_none() && self.0.trailing_zeros() >= bits {
            return write!(f, "{} {unit}", self.0 >> bits);
        }
        let digits = f.precision().unwrap_or(1);
        let size = self.0 as f64 / 2f64.powi(bits as i32);
        write!(f, "{size:.digits$} {unit}")
    }
}

impl Error {
    /// Creates an error about an option: its name, and its fault in one clause.
    pub(crate) fn option(option: &'static str, message: impl Into<String>) -> Self {
        OptionsError::new(option, message).into()
    }
}

/// The three classes of invalid files (spec, section 12).
///
/// ```
/// use simidx::format::FormatClass;
///
/// assert_eq!(FormatClass::Damaged.name(), "damaged");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatClass {
    /// The bytes are not an index file.
    NotSimidx,
    /// The file is intact but needs a newer reader.
    Unsupported,
    /// The file is a damaged or wrongly written index.
    Damaged,
}

impl FormatClass {
    /// Returns the name of the class in the specification and in every tool.
    pub fn name(self) -> &'static str {
        match self {
            FormatClass::NotSimidx => "not-simidx",
            FormatClass::Unsupported => "unsupported",
            FormatClass::Damaged => "damaged",
        }
    }
}

/// A broken rule of the file format and its place.
///
/// ```
/// use simidx::{Error, Index};
///
/// let Err(Error::Format(error)) = Index::<u64>::from_bytes(b"no index".to_vec()) else {
///     panic!("it has no magic bytes")
/// };
/// assert_eq!((error.rule(), error.offset(), error.table()), (1, Some(0), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    rule: u8,
    class: FormatClass,
    message: String,
    offset: Option<u64>,
    table: Option<u8>,
    block: Option<u64>,
}

impl FormatError {
    /// Number of the validation rule (V1…) in section 12 of the specification.
    pub fn rule(&self) -> u8 {
        self.rule
    }

    /// Returns the class of the fault.
    pub fn class(&self) -> FormatClass {
        self.class
    }

    /// Returns a description of the fault, in one clause.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the place of the fault in bytes from the start of the file, if there is one place.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Returns the table with the fault, if there is one.
    pub fn table(&self) -> Option<u8> {
        self.table
    }

    /// Returns the block with the fault, if there is one.
    pub fn block(&self) -> Option<u64> {
        self.block
    }

    /// Creates an error for a damaged or wrongly written file.
    pub(crate) fn damaged(rule: u8, message: impl Into<String>) -> Self {
        Self::new(rule, FormatClass::Damaged, message)
    }

    /// Creates an error for a file that a newer reader may understand.
    pub(crate) fn unsupported(rule: u8, message: impl Into<String>) -> Self {
        Self::new(rule, FormatClass::Unsupported, message)
    }

    /// Creates an error for bytes that are not an index file.
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

    /// Adds the byte offset of the fault.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Adds the table with the fault.
    pub(crate) fn in_table(mut self, table: usize) -> Self {
        self.table = Some(table as u8);
        self
    }

    /// Adds the block with the fault.
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

/// A broken rule of the manifest of a set, and the line that breaks it.
///
/// ```
/// use simidx::{Error, set::Manifest};
///
/// let Err(Error::Manifest(error)) = Manifest::from_bytes(b"no set") else {
///     panic!("it does not begin as one")
/// };
/// assert_eq!((error.line(), error.message()), (Some(1), "not a simidx set"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    path: Option<PathBuf>,
    line: Option<u64>,
    message: String,
}

impl ManifestError {
    /// Returns the line with the fault, from 1, if there is one.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Returns a description of the fault, in one clause.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn new(line: Option<u64>, message: impl Into<String>) -> Self {
        ManifestError {
            path: None,
            line,
            message: message.into(),
        }
    }

    /// Adds the name of the file.
    pub(crate) fn of_file(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ManifestError {}

/// A record that does not fit the index.
///
/// ```
/// use simidx::builder::BuildError;
/// use simidx::{BuildOptions, Error, IdKind, IndexBuilder, Width};
///
/// let mut options = BuildOptions::default();
/// options.ids = IdKind::Number;
/// let mut builder = IndexBuilder::new(Width::W64, options)?;
/// let refused = builder.push(7_u64).unwrap_err();
/// assert!(matches!(refused, Error::Build(BuildError::MissingId)));
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The index stores ids, and the record has none.
    MissingId,
    /// The index stores no ids, or ids of another kind.
    WrongIdKind(IdKind),
    /// The index stores sketches, and the record has none.
    MissingSketch,
    /// The index stores no sketches, or sketches of another length.
    WrongSketch {
        /// Bits of the sketch of the record.
        given: usize,
        /// Bits of the sketches of the index; `None` if it stores none.
        wanted: Option<u32>,
    },
    /// The id is the empty string, which no record may have. A file may contain one, and it is found there.
    EmptyId,
    /// The id is longer than the format permits.
    IdTooLong {
        /// Bytes of the id.
        len: usize,
        /// The most bytes of an id.
        limit: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::MissingId => f.write_str("a record has no id, but the index stores ids"),
            BuildError::WrongIdKind(kind) => {
                write!(f, "the index does not store {} as ids", kind.plural())
            }
            BuildError::MissingSketch => {
                f.write_str("a record has no sketch, but the index stores sketches")
            }
            BuildError::WrongSketch { given, wanted } => {
                let wanted = sketches_of(*wanted);
                write!(
                    f,
                    "a sketch has {given} bits, and the index stores {wanted}"
                )
            }
            BuildError::EmptyId => f.write_str("an id is empty"),
            BuildError::IdTooLong { len, limit } => {
                write!(f, "an id is {len} bytes long, the limit is {limit}")
            }
        }
    }
}

impl std::error::Error for BuildError {}

fn sketches_of(bits: Option<u32>) -> String {
    match bits {
        Some(bits) => format!("sketches of {bits}"),
        None => "no sketches".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_seems_enough_is_shown_in_bytes() {
        let message = |needed, given| {
            let purpose = "work".to_owned();
            Error::Budget {
                purpose,
                needed,
                given,
            }
            .to_string()
        };
        let rest = "of memory, but the limit leaves";
        assert_eq!(
            message(21 << 20, 20 << 20),
            format!("work needs at least 21 MiB {rest} 20 MiB")
        );
        let close = message(1_224_065_679, 1_138_166_333); // 1.14 and 1.06 GiB
        assert!(close.contains("1224065679 bytes"), "{close}");
        assert_eq!(
            message(20_972_520, 20_972_519),
            format!("work needs at least 20972520 bytes {rest} 20972519 bytes")
        );
    }

    #[test]
    fn no_cause_repeats_the_message() {
        let error = Error::Segment {
            segment: 0,
            name: "a.simidx".to_owned(),
            error: Box::new(FormatError::damaged(1, "it is short").into()),
        };
        assert!(error.to_string().contains("it is short"));
        assert!(std::error::Error::source(&error).is_none());
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (64 << 20, "64 MiB"),
            ((64 << 20) + 1, "64.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), shown);
        }
    }
}
