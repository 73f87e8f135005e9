//! The contenders: the scan, sorted tables, multi-index hashing and every index that this library builds.

use std::time::Duration;

use simidx::design::{PlanRequest, PlannedIndex, TableDesign};
use simidx::{BuildOptions, Codec, Index, IndexBuilder, Scratch, Storage, Width};

use crate::common::SortedTables;
use crate::common::datasets::Dataset;
use crate::common::scan;
use crate::measure::time_each;
use crate::settings::Settings;

/// Block counts of `mih-rs`, in addition to its automatic choice.
const MIH_BLOCKS: [usize; 3] = [2, 3, 4];

/// The index whose cache lines the floor reads.
const FLOOR_OF: &str = "lines/t2";

/// Cache lines that a query of it within distance 3 reads of a hundred million uniform fingerprints: 21 lines of each table,
/// which do not depend on each other, and then the low bits of the values at the addresses that are not empty.
const FLOOR_LINES: [usize; 2] = [42, 18];

/// One thing that can answer queries, before it is built.
#[derive(Debug, Clone)]
pub(crate) enum Contender {
    Scan,
    SortedTables(TableDesign),
    Mih {
        blocks: usize,
        automatic: bool,
    },
    Simidx(Configuration),
    /// A lower bound for indexes of two tables in lines: it only touches the cache lines that one query touches.
    Floor(Configuration),
}

/// An index of this library.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) codec: Codec,
    pub(crate) design: TableDesign,
    pub(crate) block_size: u32,
}

/// A contender over its fingerprints.
pub(crate) trait Built {
    /// The fingerprints within `distance`, in any order.
    fn matches(&self, query: u64, distance: u32) -> Vec<u64>;

    /// The time of each query, until `budget` is spent. Answers are found, and not copied.
    fn time(&self, queries: &[u64], distance: u32, budget: Duration) -> Vec<Duration>;

    /// Length of the file, for what is one.
    fn file_len(&self) -> Option<usize> {
        None
    }
}

/// Everything that the settings ask for. The scan is always among them: all is measured by it.
pub(crate) fn contenders(settings: &Settings, count: usize) -> Vec<Contender> {
    let distance = settings.distance;
    let mut all: Vec<Contender> = (distance + 1..=distance + 3)
        .filter_map(|bands| TableDesign::choose_bands(Width::W64, distance, bands).ok())
        .map(Contender::SortedTables)
        .collect();
    all.extend(mih_configurations(count));
    let configurations = simidx_configurations(settings);
    let floor = configurations.iter().find(|c| c.name() == FLOOR_OF);
    // The lines that are counted are those of this distance.
    let floor = floor.filter(|_| distance == 3).cloned();
    all.extend(floor.map(Contender::Floor));
    all.extend(configurations.into_iter().map(Contender::Simidx));
    all.retain(|contender| settings.wants(&contender.name()));
    all.insert(0, Contender::Scan);
    all
}

/// Every design that there is for the distance, with every codec and the block sizes of the settings.
pub(crate) fn simidx_configurations(settings: &Settings) -> Vec<Configuration> {
    let mut all = Vec::new();
    for codec in Codec::ALL {
        for design in TableDesign::available(Width::W64, settings.distance) {
            // Lines are not in blocks, so one size is enough.
            let most = match codec {
                Codec::Lines => 1,
                _ => usize::MAX,
            };
            for &block_size in settings.block_sizes.iter().take(most) {
                let design = design.clone();
                all.push(Configuration {
                    codec,
                    design,
                    block_size,
                });
            }
        }
    }
    all
}

fn mih_configurations(count: usize) -> Vec<Contender> {
    // The choice of its `Index::new`.
    let chosen = (64.0 / (count as f64).log2()).round().max(2.0) as usize;
    let automatic = Contender::Mih {
        blocks: chosen,
        automatic: true,
    };
    let others = MIH_BLOCKS.into_iter().filter(|&blocks| blocks != chosen);
    let others = others.map(|blocks| Contender::Mih {
        blocks,
        automatic: false,
    });
    std::iter::once(automatic).chain(others).collect()
}

impl Contender {
    /// A path, as criterion would name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Contender::Scan => "scan".into(),
            Contender::SortedTables(design) => format!("sorted-tables/t{}", design.table_count()),
            Contender::Mih {
                blocks,
                automatic: true,
            } => format!("mih-rs/auto/b{blocks}"),
            Contender::Mih { blocks, .. } => format!("mih-rs/b{blocks}"),
            Contender::Simidx(configuration) => format!("simidx/{}", configuration.name()),
            Contender::Floor(configuration) => format!("floor/{}", configuration.name()),
        }
    }

    /// Returns the group of the contender in a chart.
    pub(crate) fn family(&self) -> String {
        match self {
            Contender::Scan => "scan".into(),
            Contender::SortedTables(_) => "sorted tables".into(),
            Contender::Mih { .. } => "mih-rs".into(),
            Contender::Simidx(configuration) => format!("simidx {}", configuration.codec.name()),
            Contender::Floor(_) => "floor: reading its cache lines".into(),
        }
    }

    /// Number of tables, or of what is alike.
    pub(crate) fn tables(&self) -> usize {
        match self {
            Contender::Scan => 0,
            Contender::SortedTables(design) => design.table_count(),
            Contender::Mih { blocks, .. } => *blocks,
            Contender::Simidx(configuration) | Contender::Floor(configuration) => {
                configuration.design.table_count()
            }
        }
    }

    pub(crate) fn is_automatic_mih(&self) -> bool {
        matches!(
            self,
            Contender::Mih {
                automatic: true,
                ..
            }
        )
    }

    /// Returns the approximate memory of the contender when built, which decides whether it fits in addition to others.
    pub(crate) fn estimated_len(&self, data: Dataset, count: usize) -> u64 {
        let n = count as u64;
        match self {
            Contender::Scan => 0,
            Contender::SortedTables(design) => 8 * n * design.table_count() as u64,
            Contender::Mih { blocks, .. } => 8 * n + mih_tables_len(*blocks as u64, n),
            Contender::Simidx(configuration) | Contender::Floor(configuration) => {
                let bits = (68.0 - data.density_bits(count)).max(2.0);
                let tables = configuration.design.table_count() as f64;
                (tables * bits / 8.0 * count as f64) as u64
            }
        }
    }

    /// Returns the planner's prediction for an index of this library: bytes a fingerprint and microseconds a query.
    pub(crate) fn predicted(&self, count: usize, distance: u32) -> Option<(f64, f64)> {
        match self {
            Contender::Simidx(configuration) => configuration.predicted(count, distance),
            _ => None,
        }
    }

    pub(crate) fn build<'a>(&self, fingerprints: &'a [u64]) -> Box<dyn Built + 'a> {
        match self {
            Contender::Scan => Box::new(Scan(fingerprints)),
            Contender::SortedTables(design) => {
                Box::new(SortedTables::of_design(fingerprints, design))
            }
            Contender::Mih { blocks, automatic } => {
                Box::new(build_mih(fingerprints, *blocks, *automatic))
            }
            Contender::Simidx(configuration) => Box::new(configuration.index(fingerprints)),
            Contender::Floor(configuration) => Box::new(Floor(configuration.index(fingerprints))),
        }
    }
}

/// A 32-byte group for each 64 slots of a table, and in it ids and offsets.
fn mih_tables_len(blocks: u64, count: u64) -> u64 {
    let groups = (1u64 << (64 / blocks)) / 64;
    blocks * (32 * groups + 12 * count + 16 * groups.min(count))
}

fn build_mih(fingerprints: &[u64], blocks: usize, automatic: bool) -> mih_rs::Index<u64> {
    let codes = fingerprints.to_vec();
    let index = match automatic {
        true => mih_rs::Index::new(codes),
        false => mih_rs::Index::with_blocks(codes, blocks),
    };
    let index = index.expect("the number of blocks is valid");
    assert_eq!(
        index.num_blocks(),
        blocks,
        "another choice than was expected"
    );
    index
}

impl Configuration {
    pub(crate) fn name(&self) -> String {
        let (codec, tables) = (self.codec.name(), self.design.table_count());
        match self.codec {
            Codec::Lines => format!("{codec}/t{tables}"),
            _ => format!("{codec}/t{tables}/B{}", self.block_size),
        }
    }

    fn options(&self) -> BuildOptions {
        let mut options = BuildOptions::default();
        options.max_distance = self.design.max_distance();
        options.design = Some(self.design.clone());
        options.block_size = self.block_size;
        options.codec = Some(self.codec);
        options
    }

    /// The bytes of the index file.
    pub(crate) fn file(&self, fingerprints: &[u64]) -> Vec<u8> {
        let mut builder =
            IndexBuilder::new(Width::W64, self.options()).expect("the options are valid");
        for &fingerprint in fingerprints {
            builder.push(fingerprint).expect("there is room");
        }
        let mut file = Vec::new();
        builder.finish(&mut file).expect("memory takes every write");
        // Spare capacity from growing does not belong to the index.
        file.shrink_to_fit();
        file
    }

    fn index(&self, fingerprints: &[u64]) -> Index<u64> {
        let storage = Storage::copy(&self.file(fingerprints));
        Index::from_bytes(storage).expect("the file is sound")
    }

    /// Returns the planner's prediction: bytes a fingerprint and microseconds a query.
    fn predicted(&self, count: usize, distance: u32) -> Option<(f64, f64)> {
        let mut request = PlanRequest::new(count as u64, distance);
        request.block_size = self.block_size;
        request.codec = Some(self.codec);
        let curve = request.alternatives().ok()?;
        let of_design = |planned: &&PlannedIndex| planned.design == self.design;
        let planned = curve.iter().find(of_design)?;
        Some((planned.bytes_per_fingerprint, planned.latency_us))
    }
}

struct Scan<'a>(&'a [u64]);

impl Built for Scan<'_> {
    fn matches(&self, query: u64, distance: u32) -> Vec<u64> {
        let mut matches = Vec::new();
        scan::fastest()(self.0, query, distance, &mut matches);
        matches
    }

    fn time(&self, queries: &[u64], distance: u32, budget: Duration) -> Vec<Duration> {
        let kernel = scan::fastest();
        let mut matches = Vec::new();
        time_each(queries, budget, |query| {
            matches.clear();
            kernel(self.0, query, distance, &mut matches);
            matches.len()
        })
    }
}

impl Built for SortedTables {
    fn matches(&self, query: u64, distance: u32) -> Vec<u64> {
        let mut matches = Vec::new();
        self.query(query, distance, &mut matches);
        matches
    }

    fn time(&self, queries: &[u64], distance: u32, budget: Duration) -> Vec<Duration> {
        let mut matches = Vec::new();
        time_each(queries, budget, |query| {
            self.query(query, distance, &mut matches)
        })
    }
}

impl Built for mih_rs::Index<u64> {
    fn matches(&self, query: u64, distance: u32) -> Vec<u64> {
        let mut searcher = self.range_searcher();
        let ids = searcher.run(query, distance as usize);
        ids.iter().map(|&id| self.codes()[id as usize]).collect()
    }

    fn time(&self, queries: &[u64], distance: u32, budget: Duration) -> Vec<Duration> {
        let mut searcher = self.range_searcher();
        time_each(queries, budget, |query| {
            searcher.run(query, distance as usize).len()
        })
    }
}

impl Built for Index<u64> {
    fn matches(&self, query: u64, distance: u32) -> Vec<u64> {
        let matches = self.query(query, distance).expect("the file is sound");
        matches.iter().map(|m| m.fingerprint).collect()
    }

    fn time(&self, queries: &[u64], distance: u32, budget: Duration) -> Vec<Duration> {
        let mut scratch = Scratch::new();
        time_each(queries, budget, |query| {
            self.query_with(&mut scratch, query, distance)
                .expect("the file is sound")
                .len()
        })
    }

    fn file_len(&self) -> Option<usize> {
        Some(self.storage().as_ref().len())
    }
}

/// An index that is not queried: its cache lines are read at random places, as many as a query reads, in two steps.
struct Floor(Index<u64>);

impl Built for Floor {
    fn matches(&self, query: u64, distance: u32) -> Vec<u64> {
        self.0.matches(query, distance)
    }

    fn time(&self, queries: &[u64], _distance: u32, budget: Duration) -> Vec<Duration> {
        let (lines, _) = self.0.storage().as_ref().as_chunks::<64>();
        time_each(queries, budget, |query| {
            let mut sum = query;
            for count in FLOOR_LINES {
                // The places of one step are known together; those of the next depend on what was read.
                let place = |i: u64| {
                    let random = (sum ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    ((u128::from(random) * lines.len() as u128) >> 64) as usize
                };
                let read = (0..count as u64).map(|i| u64::from(lines[place(i)][0]));
                sum = sum.wrapping_add(read.sum());
            }
            sum as usize
        })
    }

    fn file_len(&self) -> Option<usize> {
        self.0.file_len()
    }
}
