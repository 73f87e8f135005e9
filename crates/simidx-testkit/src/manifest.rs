//! The manifest of the corpus: the contents of every file in `tests/data/vN`, and the verdict that a reader must
//! return.

use std::fs;
use std::path::{Path, PathBuf};

use simidx::format::FormatClass;

/// The columns, in order.
pub const COLUMNS: [&str; 20] = [
    "file",
    "expect",
    "class",
    "rule",
    "stage",
    "width",
    "tables",
    "block_size",
    "codec",
    "ids",
    "fingerprints",
    "records",
    "contents",
    "contents_crc32",
    "pipeline_crc32",
    "metadata_crc32",
    "features_crc32",
    "sketches_crc32",
    "made_from",
    "description",
];

/// The reaction of a reader to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Reads it.
    Good,
    /// Rejects it: not an index, or a damaged one.
    Bad,
    /// Rejects it as a file for a newer reader.
    Unsupported,
}

/// The stage at which a reader meets the first broken rule, if it opens the file, then reads every table with its ids,
/// then checks everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Open,
    Query,
    Verify,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub file: String,
    pub expect: Expect,
    /// The broken rule, with its class and the stage at which it is detected; `None` for a valid file.
    pub broken: Option<Broken>,
    /// Parameters of the file, or of the valid one that it was made from.
    pub width: u32,
    pub table_count: usize,
    pub block_size: usize,
    pub codec: String,
    pub ids: String,
    pub fingerprint_count: u64,
    pub record_count: u64,
    /// The file with the output of `dump`, if there is one.
    pub contents: Option<String>,
    /// CRC-32 of the output of `dump`, for valid files.
    pub contents_crc32: Option<u32>,
    /// CRC-32 of the pipeline, of the metadata as lines of key, tab and value, of the name of the features of the
    /// sketches, and of the sketches in order; `None` if the file has no such part.
    pub pipeline_crc32: Option<u32>,
    pub metadata_crc32: Option<u32>,
    pub features_crc32: Option<u32>,
    pub sketches_crc32: Option<u32>,
    /// The valid file that an invalid one was made from.
    pub made_from: Option<String>,
    pub what: String,
}

/// The fault of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    pub class: FormatClass,
    pub rule: u8,
    pub stage: Stage,
}

impl Expect {
    pub fn name(self) -> &'static str {
        match self {
            Expect::Good => "good",
            Expect::Bad => "bad",
            Expect::Unsupported => "unsupported",
        }
    }

    fn of_name(name: &str) -> Self {
        *[Expect::Good, Expect::Bad, Expect::Unsupported]
            .iter()
            .find(|expect| expect.name() == name)
            .expect("good, bad or unsupported")
    }
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Open => "open",
            Stage::Query => "query",
            Stage::Verify => "verify",
        }
    }

    fn of_name(name: &str) -> Self {
        *[Stage::Open, Stage::Query, Stage::Verify]
            .iter()
            .find(|stage| stage.name() == name)
            .expect("open, query or verify")
    }
}

fn class_of_name(name: &str) -> FormatClass {
    *[
        FormatClass::NotSimidx,
        FormatClass::Unsupported,
        FormatClass::Damaged,
    ]
    .iter()
    .find(|class| class.name() == name)
    .expect("one of the three classes")
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

impl Entry {
    /// Returns the line of the manifest, without its end.
    pub fn line(&self) -> String {
        let crc = |crc: Option<u32>| or_dash(crc.map(|crc| format!("{crc:08x}")));
        let cells: [String; COLUMNS.len()] = [
            self.file.clone(),
            self.expect.name().into(),
            or_dash(self.broken.map(|broken| broken.class.name())),
            or_dash(self.broken.map(|broken| format!("V{}", broken.rule))),
            or_dash(self.broken.map(|broken| broken.stage.name())),
            self.width.to_string(),
            self.table_count.to_string(),
            self.block_size.to_string(),
            self.codec.clone(),
            self.ids.clone(),
            self.fingerprint_count.to_string(),
            self.record_count.to_string(),
            or_dash(self.contents.clone()),
            crc(self.contents_crc32),
            crc(self.pipeline_crc32),
            crc(self.metadata_crc32),
            crc(self.features_crc32),
            crc(self.sketches_crc32),
            or_dash(self.made_from.clone()),
            self.what.clone(),
        ];
        cells.join("\t")
    }

    fn parse(line: &str) -> Self {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), COLUMNS.len(), "{line}");
        let cell = |name: &str| {
            let column = COLUMNS.iter().position(|column| *column == name);
            Some(cells[column.expect("a column of that name")]).filter(|cell| *cell != "-")
        };
        let crc = |name| cell(name).map(|crc| u32::from_str_radix(crc, 16).expect("eight digits"));
        let number = |name| cell(name).expect("a number").parse::<u64>().expect(name);
        let text = |name| cell(name).expect("a text").to_owned();
        Entry {
            file: text("file"),
            expect: Expect::of_name(&text("expect")),
            broken: cell("rule").map(|rule| Broken {
                class: class_of_name(&text("class")),
                rule: rule[1..].parse().expect("V and a number"),
                stage: Stage::of_name(&text("stage")),
            }),
            width: number("width") as u32,
            table_count: number("tables") as usize,
            block_size: number("block_size") as usize,
            codec: text("codec"),
            ids: text("ids"),
            fingerprint_count: number("fingerprints"),
            record_count: number("records"),
            contents: cell("contents").map(str::to_owned),
            contents_crc32: crc("contents_crc32"),
            pipeline_crc32: crc("pipeline_crc32"),
            metadata_crc32: crc("metadata_crc32"),
            features_crc32: crc("features_crc32"),
            sketches_crc32: crc("sketches_crc32"),
            made_from: cell("made_from").map(str::to_owned),
            what: text("description"),
        }
    }
}

/// Returns the text of a manifest.
pub fn write(entries: &[Entry]) -> String {
    let lines: Vec<String> = entries.iter().map(Entry::line).collect();
    format!("{}\n{}\n", COLUMNS.join("\t"), lines.join("\n"))
}

/// Reads the rows of the manifest in a folder.
pub fn read(folder: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join("manifest.tsv")).expect("the folder has a manifest");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(&*COLUMNS.join("\t")));
    lines.map(Entry::parse).collect()
}

/// Returns the folder of the files of a format version.
pub fn folder(version: u16) -> PathBuf {
    crate::document::root().join(format!("tests/data/v{version}"))
}

/// Returns the versions that have files, in order.
pub fn versions() -> Vec<u16> {
    let data = crate::document::root().join("tests/data");
    let entries = fs::read_dir(data).expect("there are test files");
    let names = entries.map(|entry| entry.expect("it can be listed").file_name());
    let mut versions: Vec<u16> = names
        .filter_map(|name| name.to_str()?.strip_prefix('v')?.parse().ok())
        .collect();
    versions.sort_unstable();
    versions
}
