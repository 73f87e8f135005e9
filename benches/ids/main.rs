//! The cost of string ids: those of an index compared with other dictionaries of the same ids, all in one run.
//!
//! Each kind of ids (`sets`) is stored in every way (`stores`). Every record has an id and a number. A store is asked
//! for the ids of numbers and for the numbers of ids, as far as it can answer. Files are in the page cache.
#![allow(missing_docs, reason = "a bench has no interface")]

#[path = "../common/mod.rs"]
mod common;
mod front_coding;
mod index;
mod packed;
mod sets;
mod stores;

use std::hint::black_box;
use std::time::Instant;

use common::environment::{list, variable};
use common::median;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use stores::{Pick, Records, Store};

/// Look-ups of a store in a round.
const PICKS: usize = 200_000;

fn main() {
    let test = common::is_test();
    let count = variable("COUNT").unwrap_or(if test { 3_000 } else { 1_000_000 });
    let rounds = variable("ROUNDS").unwrap_or(if test { 1 } else { 5 });
    let only: Option<Vec<String>> = list("ONLY");
    for (name, ids) in sets::all(count) {
        let is_wanted = |only: &Vec<String>| only.iter().any(|part| name.contains(part.as_str()));
        if only.as_ref().is_none_or(is_wanted) {
            measure(name, ids(), rounds);
        }
    }
}

/// Builds all stores of distinct ids, compares their answers, and times them in rounds.
fn measure(name: &str, ids: Vec<String>, rounds: usize) {
    let records = Records::new(ids);
    let text_len: usize = records.ids.iter().map(String::len).sum();
    let per_id = |len: u64| len as f64 / records.ids.len() as f64;
    println!(
        "{name}: {} ids, {:.1} bytes each",
        records.ids.len(),
        per_id(text_len as u64)
    );
    let mut built: Vec<(Box<dyn Store>, Vec<f64>)> = Vec::new();
    for round in 0..rounds.min(3) {
        for (i, build) in stores::builders().into_iter().enumerate() {
            let (store, seconds) = build(&records);
            if round == 0 {
                built.push((store, Vec::new()));
            }
            built[i].1.push(seconds);
        }
    }
    let (mut stores, build_times): (Vec<_>, Vec<_>) = built.into_iter().unzip();
    let picks = picks(&records);
    for store in &mut stores {
        check(store.as_mut(), &records, &picks);
    }
    let mut times = vec![(Vec::new(), Vec::new()); stores.len()];
    for _ in 0..rounds {
        for (store, (reads, finds)) in stores.iter_mut().zip(&mut times) {
            reads.extend(time_reads(store.as_mut(), &picks));
            finds.extend(time_finds(store.as_mut(), &records, &picks));
        }
    }
    println!(
        "  {:<22} {:>9} {:>9} {:>9} {:>9} {:>11} {:>11} {:>8}",
        "", "ids", "places", "order", "bytes/id", "id, ns", "number, ns", "build s"
    );
    for (i, store) in stores.iter().enumerate() {
        let sizes = store.sizes();
        let all = sizes.ids + sizes.places + sizes.order;
        println!(
            "  {:<22} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>11} {:>11} {:>8.2}",
            store.name(),
            per_id(sizes.ids),
            per_id(sizes.places),
            per_id(sizes.order),
            per_id(all),
            nanoseconds(&times[i].0),
            nanoseconds(&times[i].1),
            median(build_times[i].iter().copied())
        );
    }
}

/// The median, or a dash where there was nothing to time.
fn nanoseconds(times: &[f64]) -> String {
    match times {
        [] => "-".to_owned(),
        _ => format!("{:.0}", median(times.iter().copied())),
    }
}

/// Records in random order, each at most once where there are enough.
fn picks(records: &Records) -> Vec<Pick> {
    let mut rng = SmallRng::seed_from_u64(5);
    let count = records.ids.len();
    let mut numbers: Vec<usize> = (0..PICKS.min(count))
        .map(|_| rng.random_range(0..count))
        .collect();
    numbers.shuffle(&mut rng);
    numbers.into_iter().map(|n| records.pick(n)).collect()
}

/// Every store that gives an answer gives the right one.
fn check(store: &mut dyn Store, records: &Records, picks: &[Pick]) {
    for pick in picks.iter().take(1000) {
        let id = records.ids[pick.number].as_str();
        let mut found = None;
        let can_read = store.read(pick, &mut |bytes| found = Some(bytes.to_owned()));
        let is_right = found.as_deref() == Some(id.as_bytes());
        assert!(!can_read || is_right, "{}: id {id}", store.name());
        if store.can_find() {
            assert_eq!(store.find(id), Some(pick.number), "{}", store.name());
            let other = format!("{id}~");
            assert_eq!(store.find(&other), records.find(&other), "{other}");
        }
    }
}

/// Nanoseconds to read an id, if the store can.
fn time_reads(store: &mut dyn Store, picks: &[Pick]) -> Option<f64> {
    let mut sum = 0;
    let started = Instant::now();
    for pick in picks {
        if !store.read(pick, &mut |bytes| sum += bytes.len()) {
            return None;
        }
    }
    black_box(sum);
    Some(started.elapsed().as_secs_f64() * 1e9 / picks.len() as f64)
}

/// Nanoseconds to find the number of an id, if the store can.
fn time_finds(store: &mut dyn Store, records: &Records, picks: &[Pick]) -> Option<f64> {
    if !store.can_find() {
        return None;
    }
    // In an order of their own, so that the texts are as far from the processor for every store.
    let ids: Vec<String> = picks
        .iter()
        .map(|p| records.ids[p.number].clone())
        .collect();
    let started = Instant::now();
    for id in &ids {
        black_box(store.find(id));
    }
    Some(started.elapsed().as_secs_f64() * 1e9 / picks.len() as f64)
}
