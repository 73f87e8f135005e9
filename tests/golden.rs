//! Golden files: every one decodes to its records, and building those records gives its bytes.

use std::env;
use std::fs;
use std::path::PathBuf;

use simidx::{BuildOptions, Codec, Fingerprint, IdKind, Index, IndexBuilder, TableDesign};

/// The ids of the records of a case.
enum Ids {
    None,
    Numbers(fn(u64) -> u64),
    Strings(fn(u64) -> String),
}

/// Builds the index of `fingerprints`, checks it against the file `name` and reads the file back.
///
/// A file that is missing fails the test, unless `SIMIDX_WRITE_GOLDEN` is set: then it is written. A new
/// format version gets its files so.
fn check<F: Fingerprint>(name: &str, mut options: BuildOptions<F>, fingerprints: &[F], ids: Ids) {
    options.ids = match ids {
        Ids::None => IdKind::None,
        Ids::Numbers(_) => IdKind::Number,
        Ids::Strings(_) => IdKind::String,
    };
    let mut builder = IndexBuilder::new(options).unwrap();
    let mut expected = Vec::new();
    for (number, &fingerprint) in (0u64..).zip(fingerprints) {
        let id = match ids {
            Ids::None => builder.push(fingerprint).map(|()| String::new()),
            Ids::Numbers(id) => {
                let id = id(number);
                let pushed = builder.push_with_number(fingerprint, id);
                pushed.map(|()| id.to_string())
            }
            Ids::Strings(id) => {
                let id = id(number);
                builder.push_with_string(fingerprint, &id).map(|()| id)
            }
        };
        expected.push((fingerprint, id.unwrap()));
    }
    let mut built = Vec::new();
    builder.finish(&mut built).unwrap();

    let path = folder().join(format!("good-{name}.simidx"));
    if !path.exists() {
        assert!(
            env::var_os("SIMIDX_WRITE_GOLDEN").is_some(),
            "{} is missing; `SIMIDX_WRITE_GOLDEN=1 cargo test --test golden` writes it",
            path.display()
        );
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, &built).unwrap();
    }
    let stored = fs::read(&path).unwrap();
    assert!(built == stored, "{name}: the builder writes other bytes");
    assert_eq!(records(stored), sorted(expected, &ids), "{name}");
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/data/v{}", simidx::FORMAT_VERSION))
}

/// The records of a file as its reader gives them: an empty id where there is none.
fn records<F: Fingerprint>(file: Vec<u8>) -> Vec<(F, String)> {
    let index = Index::<F, _>::from_bytes(file).unwrap();
    let report = index.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    let mut records = Vec::new();
    for fingerprint in index.fingerprints(0).unwrap() {
        let fingerprint = fingerprint.unwrap();
        let before = records.len();
        index
            .for_each_id(fingerprint, |id| {
                records.push((fingerprint, id.to_string()))
            })
            .unwrap();
        if records.len() == before {
            records.push((fingerprint, String::new()));
        }
    }
    records
}

/// The records in the order of the file; without ids, each fingerprint once.
fn sorted<F: Fingerprint>(mut records: Vec<(F, String)>, ids: &Ids) -> Vec<(F, String)> {
    match ids {
        Ids::Numbers(_) => records.sort_by_key(|(f, id)| (*f, id.parse::<u64>().unwrap())),
        _ => records.sort(),
    }
    if let Ids::None = ids {
        records.dedup();
    }
    records
}

/// Options of small files: blocks of 128 bytes.
fn small<F: Fingerprint>(max_distance: u32, tables: usize, codec: Codec) -> BuildOptions<F> {
    let mut options = BuildOptions::default();
    options.max_distance = max_distance;
    options.design = Some(TableDesign::with_table_count(max_distance, tables).unwrap());
    options.block_size = 128;
    options.codec = Some(codec);
    options
}

/// `count` values that look random and are the same for ever (SplitMix64).
fn mixed(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| {
        let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

#[test]
fn worked_example_of_the_specification() {
    let records = [0x0000_000fu32, 0x0000_000f, 0x0000_001f, 0x8000_0000];
    let ids = Ids::Strings(|i| ["ant", "bee", "cat", "dog"][i as usize].into());
    check("worked-example", small(1, 2, Codec::Xor), &records, ids);
}

#[test]
fn no_fingerprint() {
    check::<u64>("empty", small(3, 4, Codec::Gap), &[], Ids::None);
    check::<u64>(
        "empty-strings",
        small(3, 4, Codec::EliasFano),
        &[],
        Ids::Strings(|_| String::new()),
    );
}

#[test]
fn one_fingerprint() {
    let values = [0xdead_beef_0bad_cafeu64];
    check("one", small(3, 4, Codec::EliasFano), &values, Ids::None);
}

#[test]
fn two_fingerprints_that_differ_in_the_lowest_or_the_highest_bit() {
    let lowest = [6u64, 7];
    check("two-bit-0", small(3, 4, Codec::Gap), &lowest, Ids::None);
    let highest = [5u64, 5 | 1 << 63];
    check("two-bit-63", small(3, 4, Codec::Xor), &highest, Ids::None);
}

#[test]
fn equal_fingerprints_with_many_ids() {
    check(
        "one-group",
        small(3, 4, Codec::EliasFano),
        &[42u64; 1000],
        Ids::Numbers(|i| i * i),
    );
}

#[test]
fn consecutive_numbers_have_short_codes_and_many_blocks() {
    let values: Vec<u32> = (0..5000).collect();
    check("dense-32", small(2, 3, Codec::Gap), &values, Ids::None);
}

#[test]
fn twenty_tables_of_64_bits() {
    let values: Vec<u64> = mixed(60).collect();
    let options = small(3, 20, Codec::Xor);
    check("twenty-tables", options, &values, Ids::None);
}

#[test]
fn wide_fingerprints_with_numbers_of_64_bits() {
    let values: Vec<u128> = mixed(90)
        .map(|x| u128::from(x) << 64 | u128::from(x.rotate_left(17)))
        .collect();
    check(
        "numbers-128",
        small(3, 4, Codec::EliasFano),
        &values,
        Ids::Numbers(|i| u64::MAX - i * (u64::MAX / 89)),
    );
}

#[test]
fn strings_of_all_lengths_and_a_pipeline() {
    let values: Vec<u64> = mixed(200).map(|x| (x % 150) << 32).collect();
    let mut options = small(3, 4, Codec::Gap);
    options.block_size = 1024;
    options.pipeline = Some(r#"{"note":"例"}"#.into());
    let ids = Ids::Strings(|i| "né".repeat((i % 60) as usize));
    check("strings-pipeline", options, &values, ids);
}

#[test]
fn a_large_block_of_thousands_of_values() {
    let values: Vec<u64> = (0..5000).map(|i| i * i).collect();
    for codec in Codec::ALL {
        let mut options = small(0, 1, codec);
        options.block_size = 16_384;
        let name = format!("large-block-{}", codec.name());
        check(&name, options, &values, Ids::Numbers(|i| i));
    }
}

/// Values that look random, and for every other one a neighbour in one bit.
fn neighbours<F: Fingerprint>() -> Vec<F> {
    let values: Vec<u64> = mixed(200).collect();
    let pairs = values.chunks_exact(2).zip(0..);
    pairs
        .flat_map(|(pair, i)| {
            let wide = u128::from(pair[0]) << 64 | u128::from(pair[1]);
            let value = F::from_u128(wide >> (128 - F::WIDTH));
            [value, value ^ F::from_u128(1) << (i % F::WIDTH)]
        })
        .collect()
}

/// A file of every codec.
fn check_codecs<F: Fingerprint>() {
    for codec in Codec::ALL {
        let name = format!("{}-{}", codec.name(), F::WIDTH);
        let values = neighbours::<F>();
        check(&name, small(3, 2, codec), &values, Ids::None);
    }
}

#[test]
fn every_codec_in_every_width() {
    check_codecs::<u32>();
    check_codecs::<u64>();
    check_codecs::<u128>();
}
