//! Many queries at once: both strategies compared with single queries, by this library and by `mih-rs`.

use simidx::batch::{JoinOptions, JoinStrategy};
use simidx::set::SetScratch;
use simidx::{Codec, Set};

use crate::common::datasets::Dataset;
use crate::{Contender, Found, Settings, common, compare};

/// Compares the contenders on one set.
pub(crate) fn run(settings: &Settings, count: usize) {
    let names = ["mih-rs", "query", "stream", "probe", "auto"].map(|name| format!("join/{name}"));
    if !names.iter().any(|name| settings.wants(name)) {
        return;
    }
    let data = settings.data.unwrap_or(Dataset::Uniform);
    let values = data.fingerprints(count);
    let queries = data.queries(&values, settings.query_count);
    let distance = settings.distance;
    println!(
        "{} queries on {} {data} fingerprints within {distance}",
        queries.len(),
        values.len()
    );
    let mih = settings
        .wants(&names[0])
        .then(|| mih_rs::Index::new(values.clone()).expect("the codes are not empty"));
    let file = common::build(&values, 2, 512, Codec::EliasFano);
    let set = Set::from_bytes(file).expect("the builder writes what opens");
    drop(values);
    let [mih_name, query, stream, probe, auto] = names;
    let mut contenders: Vec<Contender<'_>> = Vec::new();
    if let Some(mih) = &mih {
        contenders.push((mih_name, Box::new(|| by_mih(mih, &queries, distance))));
    }
    contenders.push((query, Box::new(|| one_by_one(&set, &queries, distance))));
    contenders.push((stream, by(&set, &queries, distance, JoinStrategy::Stream)));
    contenders.push((probe, by(&set, &queries, distance, JoinStrategy::Probe)));
    contenders.push((auto, by(&set, &queries, distance, JoinStrategy::Auto)));
    contenders.retain(|(name, _)| settings.wants(name));
    compare(settings, &contenders);
}

fn by<'a>(
    set: &'a Set,
    queries: &'a [u64],
    distance: u32,
    strategy: JoinStrategy,
) -> Box<dyn Fn() -> Found + 'a> {
    Box::new(move || joined(set, queries, distance, strategy))
}

fn joined(set: &Set, queries: &[u64], distance: u32, strategy: JoinStrategy) -> Found {
    let mut options = JoinOptions::default();
    (options.distance, options.strategy) = (distance, strategy);
    let mut found = Found::default();
    set.join(queries, &options, |number, m| {
        found.add(queries[number], m.fingerprint as u64);
        Ok(())
    })
    .expect("the index is good");
    found
}

fn one_by_one(set: &Set, queries: &[u64], distance: u32) -> Found {
    let mut scratch = SetScratch::new();
    let mut found = Found::default();
    for &query in queries {
        let matches = set.query_with(&mut scratch, query, distance);
        let matches = matches.expect("the index is good");
        matches.iter().for_each(|m| found.add(query, m.fingerprint));
    }
    found
}

fn by_mih(index: &mih_rs::Index<u64>, queries: &[u64], distance: u32) -> Found {
    let mut searcher = index.range_searcher();
    let mut found = Found::default();
    for &query in queries {
        let matches = searcher.run(query, distance as usize);
        matches
            .iter()
            .for_each(|&i| found.add(query, index.codes()[i as usize]));
    }
    found
}
