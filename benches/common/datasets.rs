//! The sets of fingerprints that the comparison with peers runs on, chosen by `SIMIDX_BENCH_DATA`.

use std::fmt;
use std::str::FromStr;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The bits that `shared-bits` shares: any would do.
const SHARED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Sizes of clusters: large ones are rare.
const CLUSTER_SIZES: std::ops::RangeInclusive<usize> = 2..=1000;

/// How the fingerprints are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dataset {
    /// Uniformly random.
    Uniform,
    /// 70% uniform; the others in clusters of a centre and copies with 0 to 4 flipped bits.
    Clustered,
    /// Uniform but for the top bits, which all share: as dense as 2^bits times as many.
    SharedBits(u32),
}

impl FromStr for Dataset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shared = |bits: &str| bits.parse().ok().filter(|&bits| bits < 48);
        match (text, text.strip_prefix("shared-bits:").and_then(shared)) {
            ("uniform", _) => Ok(Dataset::Uniform),
            ("clustered", _) => Ok(Dataset::Clustered),
            (_, Some(bits)) => Ok(Dataset::SharedBits(bits)),
            _ => Err(format!(
                "no data {text:?}: uniform, clustered or shared-bits:S with S < 48"
            )),
        }
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dataset::Uniform => out.write_str("uniform"),
            Dataset::Clustered => out.write_str("clustered"),
            Dataset::SharedBits(bits) => write!(out, "shared-bits:{bits}"),
        }
    }
}

impl Dataset {
    /// About `count` fingerprints, ascending and distinct: drawn twice, one counts once.
    pub(crate) fn fingerprints(self, count: usize) -> Vec<u64> {
        let mut values = match self {
            Dataset::Clustered => clustered(count),
            _ => super::uniform(count),
        };
        values.iter_mut().for_each(|v| *v = self.share(*v));
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Half members with 0 to 5 flipped bits, half random, in turn; what is shared is shared by them too.
    pub(crate) fn queries(self, fingerprints: &[u64], count: usize) -> Vec<u64> {
        let mut queries = super::queries(fingerprints, count);
        queries.iter_mut().for_each(|q| *q = self.share(*q));
        queries
    }

    /// log2 of the number of fingerprints that would be as dense over all values.
    pub(crate) fn density_bits(self, count: usize) -> f64 {
        let shared = match self {
            Dataset::SharedBits(bits) => f64::from(bits),
            _ => 0.0,
        };
        (count.max(1) as f64).log2() + shared
    }

    fn share(self, value: u64) -> u64 {
        match self {
            Dataset::SharedBits(bits) => {
                let low = u64::MAX >> bits;
                SHARED & !low | value & low
            }
            _ => value,
        }
    }
}

fn clustered(count: usize) -> Vec<u64> {
    let mut rng = SmallRng::seed_from_u64(70_30);
    let mut values: Vec<u64> = (0..count * 7 / 10).map(|_| rng.random()).collect();
    let cumulated = cumulated_weights();
    while values.len() < count {
        let drawn = rng.random_range(0.0..cumulated[cumulated.len() - 1]);
        let size = CLUSTER_SIZES.start() + cumulated.partition_point(|&c| c <= drawn);
        let centre: u64 = rng.random();
        values.push(centre);
        for _ in 1..size.min(count - values.len() + 1) {
            values.push(with_flipped_bits(centre, rng.random_range(0..=4), &mut rng));
        }
    }
    values
}

/// Sums of 1 / size^2 up to each size.
fn cumulated_weights() -> Vec<f64> {
    let mut sum = 0.0;
    let add = |size: usize| {
        sum += 1.0 / (size * size) as f64;
        sum
    };
    CLUSTER_SIZES.map(add).collect()
}

/// `value` with exactly `count` flipped bits.
fn with_flipped_bits(value: u64, count: u32, rng: &mut SmallRng) -> u64 {
    let mut flipped = 0u64;
    while flipped.count_ones() < count {
        flipped |= 1 << rng.random_range(0..64);
    }
    value ^ flipped
}
