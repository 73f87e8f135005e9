//! Options that several commands share: choices, distances, widths, resources.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use simidx::design::MAX_DISTANCE;
use simidx::{Codec, IdKind, Width};
use simidx_input::Format;

use crate::support::failure::Failure;
use crate::support::process::default_memory;
use crate::support::quantity::{count, size};

/// The headings under which help texts list the options that several commands share.
pub(crate) mod heading {
    pub(crate) const INPUT: &str = "Input";
    pub(crate) const DOCUMENTS: &str = "Documents";
    pub(crate) const OUTPUT: &str = "Output";
    pub(crate) const RESOURCES: &str = "Resources";
}

/// The distance if neither the user nor an index names one.
pub(crate) const DEFAULT_DISTANCE: u32 = 3;

/// The distances of fingerprints of any width.
pub(crate) const DISTANCES: RangeInclusive<u32> = 0..=Width::W128.bits();

/// The distances that tables can be made for.
pub(crate) const TABLE_DISTANCES: RangeInclusive<u32> = 0..=MAX_DISTANCE;

/// Largest number of threads: each costs a stack and scheduling.
pub(crate) const MOST_THREADS: u16 = 1024;

/// Returns a distance of fingerprints of this width, if one is given.
///
/// # Errors
/// A distance above the width, which is certainly a mistake.
pub(crate) fn distance_within(given: Option<u32>, width: Width) -> Result<Option<u32>, Failure> {
    match given {
        Some(distance) if distance > width.bits() => Err(Failure::new(format!(
            "-k {distance} is more than the {width} bits of a fingerprint"
        ))),
        within => Ok(within),
    }
}

/// Returns [`distance_within`], or a default.
///
/// # Errors
/// The errors of [`distance_within`].
pub(crate) fn distance_or(given: Option<u32>, width: Width, default: u32) -> Result<u32, Failure> {
    Ok(distance_within(given, width)?.unwrap_or(default))
}

/// Parses `--width`.
pub(crate) fn width() -> impl TypedValueParser<Value = Width> {
    PossibleValuesParser::new(["32", "64", "128"]).try_map(|bits| bits.parse())
}

/// A value of an option: its name, its help, and its meaning.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Returns a parser of one of several values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = Choice<T>>,
) -> impl TypedValueParser<Value = T> {
    let choices: Vec<Choice<T>> = choices.into_iter().collect();
    let values = choices
        .iter()
        .map(|&(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(move |word| {
        let choice = choices.iter().find(|(name, ..)| *name == word);
        choice.map(|&(.., value)| value).ok_or("not a value")
    })
}

/// `--input`, with `None` for `auto`.
pub(crate) type InputFormat = Option<Format>;

/// Parses `--input`.
pub(crate) fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    let auto = ("auto", "By the extension, else by the first bytes", None);
    let named = Format::ALL.map(|format| (format.name(), describe(format), Some(format)));
    one_of(std::iter::once(auto).chain(named))
}

fn describe(format: Format) -> &'static str {
    match format {
        Format::Hex => "A hexadecimal fingerprint on each line, then optionally a tab and an id",
        Format::Dec => "The same in decimal",
        Format::Le => "Fingerprints as raw little-endian words",
        Format::Tsv => "As hex; with --text-field or --fingerprint-field, named columns",
        Format::Csv => "Columns id and text or fingerprint, named by the first row",
        Format::Jsonl => r#"JSON objects {"id","text"} or {"id","fingerprint"}, one on each line"#,
        Format::Json => "The same objects in arrays or over several lines",
        Format::Lines => "A document on each line",
        Format::Files => "Every file is a document; its path is the id",
        Format::Npy => "A NumPy array of integers",
        Format::Parquet => "Columns id and text or fingerprint",
        Format::Arrow => "The same columns in an Arrow file or stream, or a Feather file",
        Format::Warc => "The pages of a web archive",
        // A format that is new in the reader is listed by its name.
        _ => "",
    }
}

/// The codec of a new index; `None` if the data determine it.
pub(crate) type CodecChoice = Option<Codec>;

/// `--codec` of a new index.
pub(crate) const CODECS: [Choice<CodecChoice>; 5] = [
    (
        "auto",
        "lines; ef if it is 7 % smaller, a Huffman code if it is a tenth smaller than ef",
        None,
    ),
    ("xor", "The code of the original paper", Some(Codec::Xor)),
    (
        "gap",
        "The smallest: Huffman-coded differences",
        Some(Codec::Gap),
    ),
    (
        "ef",
        "Elias-Fano blocks: smaller than lines where fingerprints are crowded",
        Some(Codec::EliasFano),
    ),
    ("lines", "The fastest: a row of lines", Some(Codec::Lines)),
];

/// `--ids`: the ids of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum IdChoice {
    /// No ids
    None,
    /// The number in the id column, else the position of the record, from 0
    Number,
    /// The text in the id column; the position of a document that has none
    String,
    /// string, if the first record is a document or has an id
    #[default]
    Auto,
}

impl IdChoice {
    /// Returns the kind of ids. For `auto`, it is strings if the first record is named (is a document or has an id),
    /// otherwise `unnamed`.
    pub(crate) fn kind(self, first_is_named: bool, unnamed: IdKind) -> IdKind {
        match self {
            IdChoice::None => IdKind::None,
            IdChoice::Number => IdKind::Number,
            IdChoice::String => IdKind::String,
            IdChoice::Auto if first_is_named => IdKind::String,
            IdChoice::Auto => unnamed,
        }
    }
}

/// The resources of a command; shared by commands that work on whole sets.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ResourceArgs {
    /// Memory limit, such as 1GiB; what does not fit goes to temporary files [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = heading::RESOURCES)]
    memory: Option<u64>,
    /// Directory for temporary files, which are always deleted [default: that of the system]
    #[arg(long, value_name = "DIR", value_parser = temp_dir(), help_heading = heading::RESOURCES)]
    pub(crate) temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Adapts the help of `--temp-dir`: by default, temporary files are next to the output, on a disk with space for it.
pub(crate) fn beside_output(temp_dir: Arg) -> Arg {
    temp_dir.help(
        "Directory for temporary files, which are always deleted [default: that of the output]",
    )
}

/// The threads of a command. The program reads their number from the matches before the command runs.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ThreadArgs {
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count(0..=MOST_THREADS), help_heading = heading::RESOURCES)]
    threads: u16,
}

impl ResourceArgs {
    /// Returns the memory limit in bytes.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.memory.unwrap_or_else(default_memory)
    }
}

/// Parses a directory and checks that temporary files can be created there, because they may be needed only after
/// hours.
pub(crate) fn temp_dir() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|directory| {
        tempfile::tempfile_in(&directory)?;
        Ok::<_, std::io::Error>(directory)
    })
}

/// Checks that temporary files can be created in the directory of an output, their default directory.
///
/// # Errors
/// A directory that does not exist or cannot be written to.
pub(crate) fn check_temp_dir(directory: &Path) -> Result<(), Failure> {
    match tempfile::tempfile_in(directory) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message =
                format!("{error}; --temp-dir names another directory for temporary files");
            Err(Failure::new(message).about(directory.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_possible_values_are_all_widths() {
        let parser = width();
        let names = parser.possible_values().unwrap();
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        assert_eq!(names, Width::ALL.map(|width| width.to_string()));
    }

    fn names<T: ValueEnum>() -> Vec<String> {
        let values = T::value_variants().iter();
        let named = values.filter_map(|value| value.to_possible_value());
        named.map(|value| value.get_name().to_owned()).collect()
    }

    #[test]
    fn codecs_and_id_kinds_have_the_names_that_files_show() {
        for (name, _, codec) in CODECS {
            assert_eq!(name, codec.map_or("auto", Codec::name));
        }
        for (choice, name) in IdChoice::value_variants().iter().zip(names::<IdChoice>()) {
            if *choice != IdChoice::Auto {
                assert_eq!(choice.kind(true, IdKind::None).name(), name);
            }
        }
    }

    #[test]
    fn every_input_format_can_be_named() {
        let parser = input_format();
        let names: Vec<_> = parser.possible_values().unwrap().collect();
        let names: Vec<_> = names.iter().map(|name| name.get_name()).collect();
        assert_eq!(names[0], "auto");
        assert_eq!(names[1..], Format::ALL.map(Format::name));
        let command = clap::Command::new("x");
        let parse = |word: &str| parser.parse_ref(&command, None, word.as_ref()).ok();
        assert_eq!(parse("auto"), Some(None));
        assert_eq!(parse("warc"), Some(Some(Format::Warc)));
        assert_eq!(parse("x"), None);
    }
}
