//! The health check of an index compared with counting the set bits of all its fingerprints, which is a part of it.

use simidx::batch::{LintOptions, lint};
use simidx::{BuildOptions, IndexBuilder, Set, Width};

use crate::common::datasets::Dataset;
use crate::{Contender, Found, Settings, compare};

/// Compares the contenders on one set.
pub(crate) fn run(settings: &Settings, count: usize) {
    let data = settings.data.unwrap_or(Dataset::Clustered);
    let names = ["lint/set-bits", "lint/simidx"];
    if !names.iter().any(|name| settings.wants(name)) {
        return;
    }
    let set = set(&data.fingerprints(count), settings.distance);
    let mut contenders: Vec<Contender<'_>> = vec![
        (names[0].into(), Box::new(|| set_bits(&set))),
        (names[1].into(), Box::new(|| simidx(&set))),
    ];
    contenders.retain(|(name, _)| settings.wants(name));
    let count = set.segments().map(|file| file.len()).sum::<u64>();
    println!("health of {count} {data} fingerprints");
    compare(settings, &contenders);
}

fn set(values: &[u64], distance: u32) -> Set {
    let mut options = BuildOptions::default();
    options.max_distance = distance;
    let mut builder = IndexBuilder::new(Width::W64, options).expect("the options are valid");
    builder.extend_from_slice(values).expect("they fit memory");
    let mut file = Vec::new();
    builder.finish(&mut file).expect("memory takes all");
    Set::from_bytes(file).expect("the index is sound")
}

fn simidx(set: &Set) -> Found {
    let report = lint(set, &LintOptions::default()).expect("the index is sound");
    found(report.fingerprint_count, &report.bits.set_counts)
}

fn set_bits(set: &Set) -> Found {
    let (mut count, mut set_counts) = (0, [0u64; 64]);
    let index = set.index::<u64>(0).expect("there is a file of 64 bits");
    let mut values = index.fingerprints(0).expect("there is a table");
    while let Some(chunk) = values.next_chunk() {
        for value in chunk.expect("the index is sound") {
            count += 1;
            for (bit, set) in set_counts.iter_mut().enumerate() {
                *set += value.0 >> bit & 1;
            }
        }
    }
    found(count, &set_counts)
}

fn found(count: u64, set_counts: &[u64]) -> Found {
    let mut found = Found::default();
    (0u64..)
        .zip(set_counts)
        .for_each(|(bit, &set)| found.add(bit, set));
    found.count = count;
    found
}
