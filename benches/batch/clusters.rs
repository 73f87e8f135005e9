//! Clusters: this library compared with a union-find over the pairs of `all-pairs-hamming`.

use simidx::Width;
use simidx::batch::{ClusterFinder, ClusterOptions, PairFinder, PairOptions};

use crate::common::datasets::Dataset;
use crate::pairs::{similar_halves, similar_whole};
use crate::{Contender, Found, Settings, compare};

/// Compares the contenders on one set.
pub(crate) fn run(settings: &Settings, count: usize) {
    let data = settings.data.unwrap_or(Dataset::Clustered);
    let values = data.fingerprints(count);
    let distance = settings.distance;
    let mut contenders: Vec<Contender<'_>> = vec![
        (
            "clusters/all-pairs-hamming/c1".into(),
            Box::new(|| of_similar(&values, &similar_whole(&values, distance))),
        ),
        (
            "clusters/all-pairs-hamming/c2".into(),
            Box::new(|| of_similar(&values, &similar_halves(&values, distance))),
        ),
        (
            "clusters/pairs".into(),
            Box::new(|| of_pairs(&values, distance)),
        ),
        (
            "clusters/simidx".into(),
            Box::new(|| simidx(&values, distance)),
        ),
    ];
    contenders.retain(|(name, _)| settings.wants(name));
    if !contenders.is_empty() {
        println!(
            "clusters of {} {data} fingerprints within {distance}",
            values.len()
        );
        compare(settings, &contenders);
    }
}

fn simidx(values: &[u64], distance: u32) -> Found {
    let mut options = ClusterOptions::default();
    options.distance = distance;
    let mut finder = ClusterFinder::new(Width::W64, &options).expect("the options are valid");
    finder.extend_from_slice(values).expect("they fit memory");
    let mut found = Found::default();
    let visit = |cluster: simidx::batch::Cluster<'_>| {
        found.add(cluster.fingerprints[0] as u64, cluster.record_count);
        Ok(())
    };
    finder.finish(visit).expect("memory takes all");
    found
}

/// A union-find over the pairs that this library finds, each looked up by bisection.
fn of_pairs(values: &[u64], distance: u32) -> Found {
    let mut options = PairOptions::default();
    options.distance = distance;
    let mut finder = PairFinder::new(Width::W64, &options).expect("the options are valid");
    finder.extend_from_slice(values).expect("they fit memory");
    let mut parents = Parents::new(values.len());
    let rank = |value| values.partition_point(|&other| other < value);
    let visit = |pair: simidx::batch::Pair| {
        parents.join(rank(pair.smaller as u64), rank(pair.larger as u64));
        Ok(())
    };
    finder.finish(visit).expect("memory takes all");
    parents.found(values)
}

fn of_similar(values: &[u64], pairs: &[(usize, usize, f64)]) -> Found {
    let mut parents = Parents::new(values.len());
    pairs.iter().for_each(|&(i, j, _)| parents.join(i, j));
    parents.found(values)
}

/// A plain union-find with path halving; the smallest number represents its set.
struct Parents(Vec<u32>);

impl Parents {
    fn new(count: usize) -> Self {
        Parents((0..count as u32).collect())
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }

    /// Returns the sets of several members, each identified by its smallest one.
    fn found(mut self, values: &[u64]) -> Found {
        let mut sizes = vec![0u32; values.len()];
        (0..values.len()).for_each(|i| sizes[self.root(i)] += 1);
        let mut found = Found::default();
        let sets = values.iter().zip(sizes).filter(|(_, size)| *size > 1);
        sets.for_each(|(&value, size)| found.add(value, size.into()));
        found
    }
}
