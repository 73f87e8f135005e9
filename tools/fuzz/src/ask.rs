//! Asks an index everything: it must answer or give an error, and where the file is sound the answers must agree.

use simidx::index::Strategy;
use simidx::{Error, Fingerprint, IdKind, Index, Match, Scratch, Set, Storage, Width};

use simidx_testkit::repair::repair;
use simidx_testkit::{each_id, scan, sorted_set};

/// Most fingerprints of table 0 that queries are made from.
const QUERY_COUNT: usize = 3;

/// Most members that are looked up: each look-up may go through a large block.
const MEMBER_COUNT: usize = 512;

/// Opens the file, of whatever width, and asks it everything; whether it opens and is sound.
pub fn ask_any(file: &[u8]) -> bool {
    match Set::from_bytes(Storage::copy(file)) {
        Ok(set) => match set.width() {
            Width::W32 => ask(&**set.index::<u32>(0).expect("it has one file")),
            Width::W64 => ask(&**set.index::<u64>(0).expect("it has one file")),
            Width::W128 => ask(&**set.index::<u128>(0).expect("it has one file")),
        },
        Err(error) => {
            assert_of_the_format(&error);
            false
        }
    }
}

/// [`ask_any`] with lengths and checksums made right.
pub fn ask_repaired(file: &[u8]) -> bool {
    ask_any(&repair(file))
}

/// Asks everything; whether a full check finds the file sound.
pub fn ask<F: Fingerprint>(index: &Index<F>) -> bool {
    let tables: Vec<Dump<F>> = (0..index.table_count()).map(|t| dump(index, t)).collect();
    let report = index.verify(&Default::default()).unwrap();
    let sound = report.is_sound();
    assert_eq!(report.problems.len() as u64, report.problem_count.min(20));
    let set = sorted_set(&tables[0].values);
    if sound {
        assert_tables_agree(index, &tables, &set);
    }
    assert_eq!(index.summary().tables.len(), tables.len());
    let queries = queries(&set, index.storage().as_ref());
    ask_queries(index, &queries, sound.then_some(&set[..]));
    ask_members(index, &queries, &set, sound);
    sound
}

/// The values of a table and how many of its blocks have none.
struct Dump<F> {
    values: Vec<F>,
    errors: usize,
}

/// Reads a table in both ways.
fn dump<F: Fingerprint>(index: &Index<F>, table: usize) -> Dump<F> {
    let read = |plainly: bool| {
        let mut fingerprints = index.fingerprints(table).expect("the table is there");
        if plainly {
            fingerprints = fingerprints.decode_plainly();
        }
        let (mut values, mut errors) = (Vec::new(), 0);
        for fingerprint in fingerprints {
            match fingerprint {
                Ok(fingerprint) => values.push(fingerprint),
                Err(error) => {
                    assert_of_the_format(&error);
                    errors += 1;
                }
            }
        }
        Dump { values, errors }
    };
    let (quick, plain) = (read(false), read(true));
    assert_eq!(quick.errors, plain.errors, "table {table}");
    assert!(
        quick.values == plain.values,
        "table {table}: the plain decoder gives other values"
    );
    quick
}

fn assert_tables_agree<F: Fingerprint>(index: &Index<F>, tables: &[Dump<F>], set: &[F]) {
    assert_eq!(set.len() as u64, index.len());
    assert!(
        tables[0].values == set,
        "table 0 is in the order of numbers"
    );
    for (number, table) in tables.iter().enumerate() {
        assert_eq!(table.errors, 0, "table {number}");
        assert!(
            sorted_set(&table.values) == set,
            "table {number} holds another set"
        );
        assert_eq!(table.values.len(), set.len(), "table {number}");
    }
}

/// Returns some members, values near them, and one that the file defines.
fn queries<F: Fingerprint>(set: &[F], file: &[u8]) -> Vec<F> {
    let step = set.len().div_ceil(QUERY_COUNT).max(1);
    let mut queries: Vec<F> = set.iter().copied().step_by(step).collect();
    let beside = queries.iter().enumerate().map(|(i, &member)| {
        let bit = F::from_u128(1) << ((i * 29 + 3) as u32 % F::WIDTH);
        member ^ bit
    });
    queries.extend(beside.collect::<Vec<F>>());
    let made_up = file.rchunks(F::BYTES).nth(8).and_then(F::from_le_slice);
    queries.extend(made_up);
    queries.extend([F::ZERO, F::MAX]);
    queries
}

/// One distance a file, as planning takes longest: by a byte of the checksum of its directory.
fn distance<F: Fingerprint>(index: &Index<F>) -> u32 {
    let file = index.storage().as_ref();
    u32::from(file[file.len() - 20] % 4)
}

/// Asks by both strategies and many at once; compares with a linear scan where the set is known.
fn ask_queries<F: Fingerprint>(index: &Index<F>, queries: &[F], set: Option<&[F]>) {
    let distance = distance(index);
    let right = |query: F, found: &[Match<F>]| {
        let found: Vec<(u32, F)> = found.iter().map(|m| (m.distance, m.fingerprint)).collect();
        assert!(found.is_sorted() && found.iter().all(|f| f.0 <= distance));
        if let Some(set) = set {
            assert_eq!(
                found,
                scan(set, query, distance),
                "{query:x} within {distance}"
            );
        }
    };
    let mut scratch = Scratch::new();
    for strategy in [Strategy::Probe, Strategy::Scan] {
        scratch.set_strategy(strategy);
        for &query in queries {
            let found = index.query_with(&mut scratch, query, distance);
            let found = found.map(|found| right(query, found));
            judge(found, set.is_some());
        }
        let visit = |number: usize, found: &[Match<F>]| right(queries[number], found);
        let all = index.query_many_with(&mut scratch, queries, distance, visit);
        judge(all, set.is_some());
    }
}

/// Asks which fingerprints are there and what their ids are.
fn ask_members<F: Fingerprint>(index: &Index<F>, queries: &[F], set: &[F], sound: bool) {
    for &query in queries {
        if let Some(contained) = judge(index.contains(query), sound)
            && sound
        {
            assert_eq!(contained, set.binary_search(&query).is_ok(), "{query:x}");
        }
        judge(each_id(index.ids_of(query), |_| ()), false);
    }
    let step = set.len().div_ceil(MEMBER_COUNT).max(1);
    let mut ids = 0;
    for &member in set.iter().step_by(step) {
        judge(each_id(index.ids_of(member), |_| ids += 1), sound);
    }
    if sound && step == 1 {
        assert_eq!(ids, id_count(index));
    }
    for table in 0..index.table_count().min(2) {
        let mut fingerprints = index.fingerprints(table).expect("the table is there");
        let mut ids = 0;
        while let Some(next) = fingerprints.next() {
            judge(next, sound);
            judge(each_id(fingerprints.ids(), |_| ids += 1), sound);
        }
        assert!(!sound || ids == id_count(index), "table {table}");
    }
    for rank in [0, index.len() / 2, u64::MAX] {
        judge(index.fingerprint(rank), sound);
    }
    judge(index.ranks_of_id(37), sound);
    judge(index.ranks_of_id("/d/3/p"), sound);
}

/// The number of ids that a sound file has.
fn id_count<F: Fingerprint>(index: &Index<F>) -> u64 {
    match index.id_kind() {
        IdKind::None => 0,
        _ => index.record_count(),
    }
}

/// An answer if there is one. A sound file has no error to give, any other gives those of the format.
fn judge<T>(result: Result<T, Error>, sound: bool) -> Option<T> {
    match result {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert_of_the_format(&error);
            assert!(!sound, "a sound file: {error}");
            None
        }
    }
}

fn assert_of_the_format(error: &Error) {
    match error {
        Error::Format(error) => assert!((1..=47).contains(&error.rule()), "{error}"),
        other => panic!("no error of the format: {other}"),
    }
}
