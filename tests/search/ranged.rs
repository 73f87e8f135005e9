//! Indexes that are read in ranges: the same answers as of the whole file, few requests, and no trust in what comes.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simidx::design::{COVERING_6, TableDesign};
use simidx::index::ranged::{RangedIndex, ReadRanges};
use simidx::{BuildOptions, Codec, Fingerprint, IdKind, Index, IndexBuilder, Storage, Width};

/// A file that counts what is asked of it.
struct Counted {
    file: Vec<u8>,
    rounds: Mutex<Vec<Vec<Range<u64>>>>,
}

impl Counted {
    fn new(file: Vec<u8>) -> Self {
        Counted {
            file,
            rounds: Mutex::default(),
        }
    }

    /// The rounds since the last call.
    fn take(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut self.rounds.lock().unwrap())
    }
}

/// Bytes of some rounds.
fn byte_count(rounds: &[Vec<Range<u64>>]) -> u64 {
    rounds.iter().flatten().map(|r| r.end - r.start).sum()
}

impl ReadRanges for Counted {
    fn file_len(&self) -> io::Result<u64> {
        Ok(self.file.len() as u64)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        self.rounds.lock().unwrap().push(ranges.to_vec());
        let bytes = |r: &Range<u64>| self.file[r.start as usize..r.end as usize].to_vec();
        Ok(ranges.iter().map(bytes).collect())
    }
}

fn build<F: Fingerprint>(fingerprints: &[F], options: BuildOptions) -> Vec<u8> {
    let ids = options.ids;
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for (i, &fingerprint) in fingerprints.iter().enumerate() {
        match ids {
            IdKind::None => builder.push(fingerprint),
            IdKind::Number => builder.push_with_number(fingerprint, i as u64 * 7),
            IdKind::String => builder.push_with_string(fingerprint, &format!("/path/{i}")),
        }
        .unwrap();
    }
    let mut file = Vec::new();
    builder.finish(&mut file).unwrap();
    file
}

fn agrees<F: Fingerprint>(fingerprints: &[F], options: BuildOptions, queries: &[F]) {
    let file = build(fingerprints, options);
    let whole = Index::<F>::from_bytes(Storage::copy(&file)).unwrap();
    let ranged = RangedIndex::<F, _>::open(Counted::new(file.clone())).unwrap();
    assert_eq!(ranged.content_id(), whole.content_id());
    assert_eq!(ranged.len(), whole.len());
    for distance in [0, 1, 3, 5, F::WIDTH] {
        let answers = ranged.query_many(queries, distance).unwrap();
        for (&query, answer) in queries.iter().zip(answers) {
            let expected = whole.query(query, distance).unwrap();
            let pairs = |m: &[simidx::Match<F>]| -> Vec<(u32, F)> {
                m.iter().map(|m| (m.distance, m.fingerprint)).collect()
            };
            assert_eq!(pairs(&answer), pairs(&expected));
            if distance > 5 {
                continue;
            }
            let ids = ranged.ids(&answer).unwrap();
            for (found, ids) in expected.iter().zip(ids) {
                let expected = whole.ids(found).unwrap();
                assert_eq!(ids, expected.collect::<simidx::Result<Vec<_>>>().unwrap());
            }
        }
    }
}

/// Fingerprints of which some are near each other and some are equal.
fn near_ones(rng: &mut StdRng, count: usize) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for _ in 0..count {
        let value = match all.len() {
            0 => rng.random(),
            len if rng.random_ratio(1, 3) => {
                all[rng.random_range(0..len)] ^ (rng.random_range(0..2) << rng.random_range(0..64))
            }
            _ => rng.random(),
        };
        all.push(value);
    }
    all
}

#[test]
fn answers_are_those_of_the_whole_file() {
    let mut rng = StdRng::seed_from_u64(1);
    for ids in IdKind::ALL {
        for codec in Codec::ALL {
            let fingerprints = near_ones(&mut rng, 20_000);
            let mut options = BuildOptions::default();
            (options.ids, options.codec, options.block_size) = (ids, Some(codec), 128);
            let queries: Vec<u64> = (0..8).map(|i| fingerprints[i * 100] ^ 1 << i).collect();
            agrees(&fingerprints, options, &queries);
        }
    }
}

#[test]
fn small_and_narrow_and_wide_ones_too() {
    for count in [0usize, 1, 2, 300] {
        let narrow: Vec<u32> = (0..count as u32)
            .map(|i| i.wrapping_mul(0x9e37_79b9))
            .collect();
        agrees(&narrow, BuildOptions::default(), &[0, 1, u32::MAX]);
        let wide: Vec<u128> = narrow.iter().map(|&f| u128::from(f) << 70).collect();
        let mut options = BuildOptions::default();
        options.ids = IdKind::Number;
        agrees(&wide, options, &[0, 1 << 70, u128::MAX]);
    }
    // Values at both ends, so that the last key of all has none above it.
    let ends: Vec<u64> = (0..1000).flat_map(|i| [i, u64::MAX - i]).collect();
    agrees(&ends, BuildOptions::default(), &[0, u64::MAX]);
}

#[test]
fn opening_takes_two_ranges_and_a_query_two_rounds() {
    let mut rng = StdRng::seed_from_u64(2);
    let count =
        std::env::var("SIMIDX_RANGED_COUNT").map_or(500_000, |count| count.parse().unwrap());
    let fingerprints: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::covering(Width::W64, &COVERING_6).unwrap());
    let file = build(&fingerprints, options);
    let index = RangedIndex::<u64, _>::open(Counted::new(file)).unwrap();
    let opened = index.source().take();
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0].len(), 2);
    // The part that grows with the file, and what a file of 10^7 would take.
    let least = 1 << 16;
    let of_many = least + (byte_count(&opened) - least) * 10_000_000 / count.min(10_000_000);
    assert!(of_many <= 600_000, "{of_many} bytes to open");
    let mut most = 0;
    for (i, &fingerprint) in fingerprints.iter().enumerate().take(100) {
        let found = index.query(fingerprint ^ 0b111 << (i % 60), 3).unwrap();
        assert_eq!(found[0].fingerprint, fingerprint);
        let asked = index.source().take();
        assert!(asked.len() == 2, "{asked:?}");
        most = most.max(byte_count(&asked));
    }
    assert!(most <= 60_000, "{most} bytes for a query");
    println!(
        "{count} fingerprints: {} bytes to open, {most} a query",
        byte_count(&opened)
    );
}

#[test]
fn keys_that_are_known_are_not_read_again() {
    let mut rng = StdRng::seed_from_u64(2);
    let fingerprints: Vec<u64> = (0..100_000).map(|_| rng.random()).collect();
    let mut options = BuildOptions::default();
    options.codec = Some(Codec::EliasFano);
    let index = RangedIndex::<u64, _>::open(Counted::new(build(&fingerprints, options))).unwrap();
    index.source().take();
    for rounds in [2, 1] {
        index.query(fingerprints[0], 3).unwrap();
        assert_eq!(index.source().take().len(), rounds);
    }
}

/// The rounds in which each of some queries finds its matches, and their ids.
fn rounds_of_ids(fingerprints: &[u64], ids: IdKind, codec: Codec) -> Vec<[usize; 2]> {
    let mut options = BuildOptions::default();
    options.design = Some(TableDesign::covering(Width::W64, &COVERING_6).unwrap());
    (options.ids, options.codec) = (ids, Some(codec));
    let file = build(fingerprints, options);
    let whole = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
    let index = RangedIndex::<u64, _>::open(Counted::new(file)).unwrap();
    assert_eq!(index.source().take().len(), 1);
    let ask = |&member: &u64| {
        let matches = index.query(member ^ 0b101 << 20, 3).unwrap();
        assert!(!matches.is_empty());
        let rounds = index.source().take().len();
        let found = index.ids(&matches).unwrap();
        for (found, ids) in matches.iter().zip(found) {
            let expected = whole.ids_of(found.fingerprint).unwrap();
            assert_eq!(ids, expected.collect::<simidx::Result<Vec<_>>>().unwrap());
        }
        [rounds, index.source().take().len()]
    };
    fingerprints
        .iter()
        .step_by(501)
        .take(100)
        .map(ask)
        .collect()
}

#[test]
fn ids_come_in_few_rounds() {
    let mut rng = StdRng::seed_from_u64(3);
    let uniform: Vec<u64> = (0..100_000).map(|_| rng.random()).collect();
    let grouped = near_ones(&mut rng, 100_000);
    // Numbers are at a computed place; strings are found by places, offsets and buckets. A group can go on in another chunk,
    // and a bucket on another page.
    for (ids, usual) in [(IdKind::Number, 2), (IdKind::String, 4)] {
        for fingerprints in [&uniform, &grouped] {
            let rounds = rounds_of_ids(fingerprints, ids, Codec::Lines);
            let more = rounds.iter().filter(|&&rounds| rounds != [2, usual]);
            assert!(more.count() <= 10, "{rounds:?}");
        }
    }
    // Keys, blocks, groups, places, offsets, buckets.
    let rounds = rounds_of_ids(&grouped, IdKind::String, Codec::EliasFano);
    assert!(rounds.iter().all(|[_, of_ids]| *of_ids <= 10), "{rounds:?}");
}

#[test]
fn damage_is_an_error_or_does_not_matter() {
    let mut rng = StdRng::seed_from_u64(4);
    let fingerprints = near_ones(&mut rng, 3000);
    let mut options = BuildOptions::default();
    (options.ids, options.block_size) = (IdKind::String, 128);
    let file = build(&fingerprints, options);
    let whole = Index::<u64>::from_bytes(Storage::copy(&file)).unwrap();
    let queries: Vec<u64> = fingerprints.iter().step_by(300).copied().collect();
    let ask = |file: Vec<u8>| -> simidx::Result<_> {
        let index = RangedIndex::<u64, _>::open(Counted::new(file))?;
        let mut all = Vec::new();
        for answer in index.query_many(&queries, 1)? {
            let ids = index.ids(&answer)?;
            all.extend(answer.iter().map(|m| m.fingerprint).zip(ids));
        }
        Ok(all)
    };
    let expected = ask(file.clone()).unwrap();
    assert!(expected.len() >= queries.len());
    assert!(expected.iter().all(|(f, _)| whole.contains(*f).unwrap()));
    let mut errors = 0;
    for _ in 0..1500 {
        let mut damaged = file.clone();
        let at = rng.random_range(0..damaged.len());
        damaged[at] ^= 1 << rng.random_range(0..8);
        match ask(damaged) {
            Ok(answer) => assert_eq!(answer, expected),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > 100, "{errors}");
}
