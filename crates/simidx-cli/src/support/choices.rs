//! Options of several commands that name one of a few choices.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use simidx::{Codec, IdKind};
use simidx_input::Format;

/// `--input`, with `auto` for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InputFormat(pub(crate) Option<Format>);

impl ValueEnum for InputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<InputFormat>> = LazyLock::new(|| {
            let named = Format::ALL.into_iter().map(Some);
            std::iter::once(None)
                .chain(named)
                .map(InputFormat)
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            None => PossibleValue::new("auto").help("By the extension, else by the first bytes"),
            Some(format) => PossibleValue::new(format.name()).help(describe(format)),
        })
    }
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
        // A format that is new to the reader is listed by its name.
        _ => "",
    }
}

/// `--codec` of a new index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CodecChoice {
    /// lines, unless ef saves 7 % or a Huffman code a tenth
    Auto,
    /// The code of the original paper
    Xor,
    /// The smallest: Huffman-coded differences
    Gap,
    /// Elias-Fano blocks: smaller than lines where fingerprints are crowded
    Ef,
    /// The fastest: a row of lines
    Lines,
}

impl CodecChoice {
    /// The codec; `None` where the data decide.
    pub(crate) fn codec(self) -> Option<Codec> {
        match self {
            CodecChoice::Auto => None,
            CodecChoice::Xor => Some(Codec::Xor),
            CodecChoice::Gap => Some(Codec::Gap),
            CodecChoice::Ef => Some(Codec::EliasFano),
            CodecChoice::Lines => Some(Codec::Lines),
        }
    }
}

/// `--ids`: what the ids of records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdChoice {
    /// No ids
    None,
    /// The number in the id column, else the position of the record, from 0
    Number,
    /// The text in the id column; the position of a document that has none
    String,
    /// string, if the first record is a document or has an id
    Auto,
}

impl IdChoice {
    /// The kind of ids, where the first record has a name (it is a document or has an id) or not: `auto` takes `unnamed`
    /// for one that has not.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names<T: ValueEnum>() -> Vec<String> {
        let values = T::value_variants().iter();
        let named = values.filter_map(|value| value.to_possible_value());
        named.map(|value| value.get_name().to_owned()).collect()
    }

    #[test]
    fn codecs_and_id_kinds_have_the_names_that_files_show() {
        for choice in CodecChoice::value_variants() {
            let name = choice.to_possible_value().unwrap();
            let shown = choice.codec().map_or("auto", Codec::name);
            assert_eq!(name.get_name(), shown);
        }
        for (choice, name) in IdChoice::value_variants().iter().zip(names::<IdChoice>()) {
            if *choice != IdChoice::Auto {
                assert_eq!(choice.kind(true, IdKind::None).name(), name);
            }
        }
    }

    #[test]
    fn every_input_format_can_be_named() {
        let expected = Format::ALL.map(|format| format.name().to_owned());
        assert_eq!(names::<InputFormat>()[1..], expected);
        assert_eq!(InputFormat::from_str("auto", false), Ok(InputFormat(None)));
        let warc = InputFormat::from_str("warc", false);
        assert_eq!(warc, Ok(InputFormat(Some(Format::Warc))));
    }
}
