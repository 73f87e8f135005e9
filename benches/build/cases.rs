//! The cases of builds: one base case, from which all others differ in one respect.

use std::str::FromStr;

use simidx::builder::MIN_MEMORY;
use simidx::design::TableDesign;
use simidx::{BuildOptions, Codec, Width};

use crate::sorts::thread_counts;

/// The distance that the tables are for.
const DISTANCE: u32 = 3;

const TABLES: [usize; 4] = [1, 2, 4, 6];

/// `None` is the choice by the data.
const CODECS: [Option<Codec>; 4] = [
    None,
    Some(Codec::Xor),
    Some(Codec::Gap),
    Some(Codec::EliasFano),
];

/// A build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) tables: usize,
    pub(crate) codec: Option<Codec>,
    /// The limit of memory in bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) threads: usize,
}

/// A respect in which cases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Factor {
    Tables,
    Codec,
    Memory,
    Threads,
}

impl Factor {
    pub(crate) const ALL: [Factor; 4] = [
        Factor::Tables,
        Factor::Codec,
        Factor::Memory,
        Factor::Threads,
    ];

    /// The cases that differ from `base` in this alone; of the threads also each codec on one.
    fn cases(self, base: Case, count: usize) -> Vec<Case> {
        match self {
            Factor::Tables => TABLES.map(|tables| Case { tables, ..base }).into(),
            Factor::Codec => CODECS.map(|codec| Case { codec, ..base }).into(),
            Factor::Memory => limits(count)
                .map(|memory| Case { memory, ..base })
                .collect(),
            Factor::Threads => {
                let counts = thread_counts(base.threads).into_iter();
                let cases = counts.map(|threads| Case { threads, ..base });
                let alone = Case { threads: 1, ..base };
                cases.chain(Factor::Codec.cases(alone, count)).collect()
            }
        }
    }
}

impl FromStr for Factor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "tables" => Ok(Factor::Tables),
            "codec" => Ok(Factor::Codec),
            "memory" => Ok(Factor::Memory),
            "threads" => Ok(Factor::Threads),
            _ => Err(()),
        }
    }
}

/// All cases, each once; the first is the one that the others are beside.
pub(crate) fn cases(count: usize, all_threads: usize, factors: &[Factor]) -> Vec<Case> {
    let base = Case {
        tables: 2,
        codec: Some(Codec::EliasFano),
        memory: None,
        threads: all_threads,
    };
    let mut cases = vec![base];
    for case in factors.iter().flat_map(|factor| factor.cases(base, count)) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// Limits of memory: none, one that suffices for many builds, and parts of the fingerprints themselves.
fn limits(count: usize) -> impl Iterator<Item = Option<u64>> {
    let raw_len = size_of::<u64>() as u64 * count as u64;
    let limits = [None, Some(1 << 30), Some(raw_len / 4), Some(raw_len / 8)];
    let is_enough = |limit: &Option<u64>| limit.is_none_or(|limit| limit >= MIN_MEMORY);
    limits.into_iter().filter(is_enough)
}

impl Case {
    pub(crate) fn options(&self) -> BuildOptions {
        let design = TableDesign::with_table_count(Width::W64, DISTANCE, self.tables);
        let mut options = BuildOptions::default();
        options.max_distance = DISTANCE;
        options.design = Some(design.expect("there is such a design"));
        options.codec = self.codec;
        options.memory = self.memory;
        options
    }

    pub(crate) fn codec_name(&self) -> &'static str {
        self.codec.map_or("auto", Codec::name)
    }

    /// The limit of memory to be read, such as `100 MB`.
    pub(crate) fn memory_name(&self) -> String {
        match self.memory {
            None => "none".into(),
            Some(len) if len % (1 << 30) == 0 => format!("{} GiB", len >> 30),
            Some(len) => format!("{} MB", len / 1_000_000),
        }
    }

    /// Whether both give the same bytes.
    pub(crate) fn is_same_index(&self, other: &Case) -> bool {
        (self.tables, self.codec) == (other.tables, other.codec)
    }
}
