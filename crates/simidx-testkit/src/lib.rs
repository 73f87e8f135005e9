//! The tools that the tests of all crates share: data sets, oracles, small builders, the reader in Python, forged
//! files.
#![allow(
    missing_docs,
    reason = "helpers of tests say what they are by their names"
)]

pub mod brute_force;
pub mod checks;
pub mod counting;
pub mod document;
pub mod editor;
pub mod encoding;
pub mod forged;
pub mod lines;
pub mod manifest;
pub mod parts;
pub mod patterns;
pub mod python_reader;
pub mod repair;
pub mod sketches;
pub mod strings;

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simidx::design::TableDesign;
use simidx::set::Hit;
use simidx::watch::Progress;
use simidx::{
    BuildOptions, Error, Fingerprint, Id, IdBuf, IdKind, Index, IndexBuilder, Match, Set, Storage,
    Watch, Width,
};

/// Returns the output of the program's `dump` for a table, or the first error.
pub fn dump(set: &Set, table: usize) -> Result<String, Error> {
    let mut lines = String::new();
    let mut fingerprints = set.fingerprints(table)?;
    while let Some(fingerprint) = fingerprints.next() {
        let fingerprint = set.width().to_hex(fingerprint?);
        if set.id_kind() == IdKind::None {
            lines += &format!("{fingerprint}\n");
            continue;
        }
        for id in fingerprints.ids()? {
            lines += &format!("{fingerprint}\t{}\n", id?);
        }
    }
    Ok(lines)
}

/// Calls `visit` with ids, such as [`Index::ids_of`] returns, up to the first error.
pub fn each_id(
    ids: Result<impl Iterator<Item = Result<IdBuf, Error>>, Error>,
    mut visit: impl FnMut(Id<'_>),
) -> Result<(), Error> {
    ids?.try_for_each(|id| {
        visit(id?.as_id());
        Ok(())
    })
}

/// Reports what a test has counted or skipped: prints it, and appends it to the file that `SIMIDX_TEST_REPORT` names, if set.
pub fn report(line: &str) {
    println!("{line}");
    if let Some(path) = std::env::var_os("SIMIDX_TEST_REPORT") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.expect("the report can be opened");
        writeln!(file, "{line}").expect("the report can be written");
    }
}

/// Returns `count` items, queries or cases; a hundredth of them under Miri, which takes thousands of times as long.
pub const fn sized(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(100)
    } else {
        count
    }
}

/// Returns the first of two amounts of work in release builds, as in `tools/release-check`; otherwise, including under
/// emulation and sanitizers, the second.
pub const fn thorough<T: Copy>(at_a_release: T, usually: T) -> T {
    if cfg!(debug_assertions) {
        usually
    } else {
        at_a_release
    }
}

/// Returns a watch that records its calls, and stops the work at the call with this number, from 1.
pub fn recording(last: usize) -> (Watch, Arc<Mutex<Vec<Progress>>>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&calls);
    let watch = Watch::new(move |progress| {
        let mut kept = kept.lock().expect("no call panics");
        kept.push(progress);
        match kept.len() == last {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    (watch, calls)
}

/// Returns a generator that gives the same numbers in every run.
pub fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// Returns a fingerprint of random bits.
pub fn random<F: Fingerprint>(rng: &mut StdRng) -> F {
    F::from_u128(rng.random())
}

/// Returns the fingerprint with only this bit set.
pub fn bit<F: Fingerprint>(position: u32) -> F {
    F::from_u128(1) << position
}

/// Returns `fingerprint` with exactly `count` bits changed.
pub fn flipped<F: Fingerprint>(fingerprint: F, count: u32, rng: &mut StdRng) -> F {
    let mut changed = F::ZERO;
    while changed.count_ones() < count {
        changed = changed | bit(rng.random_range(0..F::WIDTH));
    }
    fingerprint ^ changed
}

/// Records of one shape, including duplicates and disorder.
pub struct DataSet<F> {
    pub name: &'static str,
    pub fingerprints: Vec<F>,
}

/// Returns every shape of data, the large ones with about `size` fingerprints.
pub fn data_sets<F: Fingerprint>(size: usize) -> Vec<DataSet<F>> {
    let set = |name, fingerprints| DataSet { name, fingerprints };
    vec![
        set("empty", Vec::new()),
        set("single", vec![F::from_u128(0x5a5a_0f0f_1234_5678)]),
        set("all zero", vec![F::ZERO; 3]),
        set("all one", vec![F::MAX; 2]),
        set("uniform", uniform(size)),
        set("clustered", clustered(size)),
        set("equal prefixes", equal_prefixes(size)),
        set("pairs", pairs()),
        set("dense run", dense_run(size)),
    ]
}

/// Returns independent random values.
pub fn uniform<F: Fingerprint>(size: usize) -> Vec<F> {
    let mut rng = rng(0x0011_f082);
    (0..size).map(|_| random(&mut rng)).collect()
}

/// Returns centres with copies in which 0 to 4 bits are flipped; a cluster has s members with a probability of about
/// 1/s².
pub fn clustered<F: Fingerprint>(size: usize) -> Vec<F> {
    let mut rng = rng(0xc105_7e2d);
    let mut fingerprints = Vec::with_capacity(size);
    while fingerprints.len() < size {
        let centre: F = random(&mut rng);
        let draw: f64 = rng.random_range(0.01..1.0);
        for _ in 0..(1.0 / draw) as usize {
            let flips = rng.random_range(0..=4);
            fingerprints.push(flipped(centre, flips, &mut rng));
        }
    }
    fingerprints.truncate(size);
    fingerprints
}

/// Returns values that all have the same upper half.
pub fn equal_prefixes<F: Fingerprint>(size: usize) -> Vec<F> {
    let mut rng = rng(0xe9_0a11);
    let low = F::MAX >> (F::WIDTH / 2);
    let prefix = random::<F>(&mut rng) & !low;
    (0..size)
        .map(|_| prefix | (random::<F>(&mut rng) & low))
        .collect()
}

/// Returns for each bit two values that differ only in that bit.
pub fn pairs<F: Fingerprint>() -> Vec<F> {
    let mut rng = rng(0x9a12);
    (0..F::WIDTH)
        .flat_map(|position| {
            let first: F = random(&mut rng);
            [first, first ^ bit(position)]
        })
        .collect()
}

/// Returns consecutive integers, larger ones first.
pub fn dense_run<F: Fingerprint>(size: usize) -> Vec<F> {
    let start = 0x7fff_fe00;
    (0..size as u128)
        .rev()
        .map(|i| F::from_u128(start + i))
        .collect()
}

/// Distributions of fingerprints that are difficult for a sort that partitions them by value.
pub const SKEWS: [&str; 5] = [
    "uniform",
    "one prefix",
    "half equal",
    "ascending",
    "descending",
];

pub fn skewed(skew: &str, count: usize) -> Vec<u64> {
    let mut rng = rng(11);
    let mut values: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    match skew {
        "one prefix" => values
            .iter_mut()
            .for_each(|v| *v = 0xabcd_ef01_2345 << 16 | *v >> 48 | *v & 0xffff),
        "half equal" => values.iter_mut().step_by(2).for_each(|v| *v = 7),
        "ascending" => values.sort_unstable(),
        "descending" => values.sort_unstable_by(|a, b| b.cmp(a)),
        _ => {}
    }
    values
}

/// Returns the bytes of a file of little-endian 64-bit words.
pub fn le_bytes(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Returns the set of distinct records, sorted.
pub fn sorted_set<F: Fingerprint>(fingerprints: &[F]) -> Vec<F> {
    let mut set = fingerprints.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

/// The oracle: finds every member within `distance` by a linear scan, by distance, then by value.
pub fn scan<F: Fingerprint>(fingerprints: &[F], query: F, distance: u32) -> Vec<(u32, F)> {
    let mut found: Vec<(u32, F)> = fingerprints
        .iter()
        .map(|&member| ((member ^ query).count_ones(), member))
        .filter(|&(d, _)| d <= distance)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns matches in the form of [`scan`].
pub fn matched<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    let pairs = matches.iter().map(|m| (m.distance, m.fingerprint));
    pairs.collect()
}

/// Returns the hits of a set in the form of [`scan`].
pub fn hit<'s, F: Fingerprint>(hits: impl IntoIterator<Item = Hit<'s, F>>) -> Vec<(u32, F)> {
    let pairs = hits.into_iter().map(|hit| (hit.distance, hit.fingerprint));
    pairs.collect()
}

/// Returns options for a design and a block size.
pub fn options(design: TableDesign, block_size: u32) -> BuildOptions {
    let mut options = BuildOptions::default();
    options.max_distance = design.max_distance();
    options.design = Some(design);
    options.block_size = block_size;
    options
}

/// Builds a file with these records without ids.
pub fn build<F: Fingerprint>(options: BuildOptions, fingerprints: &[F]) -> Vec<u8> {
    let mut builder =
        IndexBuilder::new(Width::of::<F>(), options).expect("the options are in range");
    for &fingerprint in fingerprints {
        builder.push(fingerprint).expect("a record without id fits");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes all bytes");
    file
}

/// Builds a file with these records with number ids.
pub fn build_numbers<F: Fingerprint>(mut options: BuildOptions, records: &[(F, u64)]) -> Vec<u8> {
    options.ids = simidx::IdKind::Number;
    let mut builder =
        IndexBuilder::new(Width::of::<F>(), options).expect("the options are in range");
    for &(fingerprint, id) in records {
        builder
            .push_with_id(fingerprint, id)
            .expect("a number fits");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes all bytes");
    file
}

/// Builds a file with these records with string ids.
pub fn build_strings<F: Fingerprint, S: AsRef<str>>(
    mut options: BuildOptions,
    records: &[(F, S)],
) -> Vec<u8> {
    options.ids = simidx::IdKind::String;
    let mut builder =
        IndexBuilder::new(Width::of::<F>(), options).expect("the options are in range");
    for (fingerprint, id) in records {
        builder
            .push_with_id(*fingerprint, id.as_ref())
            .expect("the string is short enough");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes all bytes");
    file
}

/// Returns a pseudorandom sketch that depends only on the record.
pub fn made_up_sketch<F: Fingerprint>(fingerprint: F, id: &str, words: usize) -> Vec<u64> {
    let mut state = fingerprint.to_u128() as u64 ^ 0x5ee7;
    let mut next = |word: u64| {
        state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
        state
    };
    for byte in id.bytes() {
        next(byte.into());
    }
    (0..words as u64).map(next).collect()
}

/// Builds a file with these records and sketches made up for their ids, whose kind is in the options.
pub fn build_sketched<F: Fingerprint>(
    options: BuildOptions,
    records: &[(F, Option<IdBuf>)],
) -> Vec<u8> {
    let words = options.sketches.as_ref().map_or(0, |of| of.u64_count());
    let mut builder =
        IndexBuilder::new(Width::of::<F>(), options).expect("the options are in range");
    for (fingerprint, id) in records {
        let text = id.as_ref().map_or(String::new(), IdBuf::to_string);
        let sketch = made_up_sketch(*fingerprint, &text, words);
        let id = id.as_ref().map(IdBuf::as_id);
        let pushed = builder.push_with_sketch(*fingerprint, id, &sketch);
        pushed.expect("the record fits");
    }
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes all bytes");
    file
}

/// Opens a file that must be valid.
pub fn open<F: Fingerprint>(file: Vec<u8>) -> Index<F> {
    Index::from_bytes(Storage::from(file)).expect("the builder writes files that open")
}

/// Opens files of one width that must be valid, as one set.
pub fn open_set(files: impl IntoIterator<Item = Vec<u8>>) -> Set {
    let files = files.into_iter().map(Set::from_bytes);
    let files: Result<Vec<Set>, Error> = files.collect();
    Set::new(files.expect("the builder writes files that open")).expect("they go together")
}
