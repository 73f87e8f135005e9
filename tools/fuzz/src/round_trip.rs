//! Records become a file, and the file gives them back.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use simidx::{Fingerprint, Id, IdKind, Index, IndexBuilder, Set, Width};

use crate::ask::ask;
use crate::sets::{self, Tables, Values};
use simidx_testkit::each_id;
use simidx_testkit::encoding::{LINES, Layout, apply, assert_blocks};
use simidx_testkit::sorted_set;

/// Records and options.
#[derive(Debug, Arbitrary)]
pub struct Input {
    width: u32,
    tables: Tables,
    ids: Ids,
    pipeline: Option<String>,
    set: Values,
}

/// The first ids of the records; the other records repeat them.
#[derive(Debug, Arbitrary)]
enum Ids {
    None,
    Numbers(Vec<u64>),
    SmallNumbers(u64, Vec<u8>),
    Strings(Vec<String>),
}

/// The ids of each fingerprint, as text and in order.
type Records<F> = BTreeMap<F, Vec<OwnedId>>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum OwnedId {
    Number(u64),
    String(String),
}

impl Ids {
    fn kind(&self) -> IdKind {
        match self {
            Ids::None => IdKind::None,
            Ids::Numbers(_) | Ids::SmallNumbers(..) => IdKind::Number,
            Ids::Strings(_) => IdKind::String,
        }
    }

    fn get(&self, record: usize) -> Option<OwnedId> {
        let pick = |len: usize| record.checked_rem(len);
        Some(match self {
            Ids::None => return None,
            Ids::Numbers(numbers) => {
                OwnedId::Number(pick(numbers.len()).map_or(record as u64, |i| numbers[i]))
            }
            Ids::SmallNumbers(base, numbers) => {
                let number = pick(numbers.len()).map_or(0, |i| numbers[i]);
                OwnedId::Number(base.wrapping_add(number.into()))
            }
            Ids::Strings(strings) => {
                // The builder takes no empty ones.
                let string = pick(strings.len()).map_or("", |i| &*strings[i]);
                OwnedId::String(if string.is_empty() { "-" } else { string }.to_owned())
            }
        })
    }
}

/// The file, for other readers.
pub fn check(input: &Input) -> Vec<u8> {
    match sets::width(input.width) {
        Width::W32 => check_in::<u32>(input),
        Width::W64 => check_in::<u64>(input),
        Width::W128 => check_in::<u128>(input),
    }
}

fn check_in<F: Fingerprint>(input: &Input) -> Vec<u8> {
    let fingerprints: Vec<F> = input.set.fingerprints();
    let pipeline = input.pipeline.clone().filter(|text| !text.is_empty());
    let mut options = input.tables.options::<F>();
    options.ids = input.ids.kind();
    options.pipeline.clone_from(&pipeline);
    let max_distance = options.max_distance;
    let mut builder =
        IndexBuilder::new(Width::of::<F>(), options).expect("the options are in range");
    let mut records: Records<F> = BTreeMap::new();
    for (number, &fingerprint) in fingerprints.iter().enumerate() {
        let ids = records.entry(fingerprint).or_default();
        let id = input.ids.get(number);
        match &id {
            None => builder.push(fingerprint),
            Some(OwnedId::Number(number)) => builder.push_with_id(fingerprint, *number),
            Some(OwnedId::String(string)) => builder.push_with_id(fingerprint, string),
        }
        .expect("the record fits");
        ids.extend(id);
    }
    records.values_mut().for_each(|ids| ids.sort());
    let mut file = Vec::new();
    let summary = builder.finish(&mut file).expect("memory takes all bytes");
    assert_eq!(summary.file_len, file.len() as u64);
    let set = Set::from_bytes(file.clone()).expect("what is built opens");
    assert_eq!(set.width(), Width::of::<F>());
    let index = Index::<F>::from_bytes(file.clone()).expect("what is built opens");
    assert_eq!(index.max_distance(), max_distance);
    assert_eq!(index.pipeline(), pipeline.as_deref());
    assert!(ask(&index), "what is built is sound");
    assert_eq!(index.record_count(), fingerprints.len() as u64);
    check_blocks(&file, &sorted_set(&fingerprints));
    check_records(&index, &records);
    file
}

/// Tables in blocks are what the plain encoder makes of the set.
fn check_blocks<F: Fingerprint>(file: &[u8], set: &[F]) {
    let layout = Layout::parse(file);
    let tables = layout.tables.iter().enumerate();
    for (number, table) in tables.filter(|(_, table)| table.codec != LINES) {
        let permuted = |f: &F| apply(f.to_u128(), table.mask, F::WIDTH);
        let mut expected: Vec<u128> = set.iter().map(permuted).collect();
        expected.sort_unstable();
        let what = format!("table {number}");
        assert_blocks(file, &layout, number, &expected, &what);
    }
}

fn check_records<F: Fingerprint>(index: &Index<F>, records: &Records<F>) {
    let mut dumped = index.fingerprints(0).expect("table 0 is there");
    for (&expected, ids) in records {
        let fingerprint = dumped
            .next()
            .expect("none is missing")
            .expect("the file is sound");
        assert_eq!(fingerprint, expected);
        let mut found = Vec::new();
        each_id(dumped.ids(), |id| found.push(owned(id))).expect("the file is sound");
        assert_eq!(&found, ids, "{fingerprint:x} in the dump");
        found.clear();
        let visit = |id: Id<'_>| found.push(owned(id));
        each_id(index.ids_of(fingerprint), visit).expect("the file is sound");
        assert_eq!(&found, ids, "{fingerprint:x}");
    }
    assert!(dumped.next().is_none());
}

fn owned(id: Id<'_>) -> OwnedId {
    match id {
        Id::Number(number) => OwnedId::Number(number),
        Id::String(string) => OwnedId::String(string.to_owned()),
    }
}
