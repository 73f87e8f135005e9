//! Predicts the size and latency of an index before it is built, for all designs and codecs.
//!
//! The model ranks designs and does not promise times: it assumes uniform fingerprints, and its constants, all in this
//! file and in [`Costs`], were measured on one machine.

use super::bands::check_distance;
use super::{Costs, ProbePlan, TableDesign};
use crate::bound::bound_bits;
use crate::codec::lines;
use crate::codec::{Codec, check_block_size, prefers_elias_fano, prefers_lines};
use crate::error::OptionsError;
use crate::fingerprint::Width;
use crate::setters;

/// A latency in memory below which speed is not worth more bytes, for fingerprints that take [`LARGE_LEN`] bytes or
/// more: see [`PlanRequest::choose`].
const MEMORY_TARGET_US: f64 = 5.0;

/// The same limit for few fingerprints. Between the two it grows with the number of fingerprints.
const SMALL_TARGET_US: f64 = 2.0;

/// The same limit on an SSD, for any number of fingerprints: five rounds of reads.
const SSD_TARGET_US: f64 = 500.0;

/// Bytes of raw fingerprints from which size counts as much as latency.
const LARGE_LEN: f64 = 64e6;

/// File size in bytes below which a smaller file is not better.
const SMALL_FILE_LEN: f64 = 1e6;

/// The cost of a query in addition to its probes: permuting it, and successive cache misses that nothing hides.
const QUERY_NS: f64 = 800.0;

/// Costs of a probe for file sizes in bytes. Between them the cost grows with the logarithm of the size, as more probes
/// miss the caches and the TLB.
const PROBE_NS: [(f64, f64); 6] = [
    (1e6, 50.0),
    (1e7, 65.0),
    (1e8, 90.0),
    (1e9, 130.0),
    (1e10, 180.0),
    (1e11, 230.0),
];

/// The block size for which [`Costs::SEQUENTIAL`] holds.
const USUAL_BLOCK_SIZE: f64 = 512.0;

/// The time of one SSD read, and the number of reads that overlap.
const READ_NS: f64 = 100_000.0;
const QUEUE_DEPTH: f64 = 16.0;

/// Bytes of a read.
const PAGE_LEN: f64 = 4096.0;

/// The time for a byte of a long sequential read of an SSD.
const SEQUENTIAL_READ_NS: f64 = 0.5;

/// Returns the bits for each fingerprint above the information bound inside a block, and the additional bits of each
/// block: its checksum and count, its key as far as that is more than a value, and half a value that does not fit.
fn overhead(codec: Codec) -> (f64, f64) {
    let block_bits = 72.0;
    match codec {
        Codec::EliasFano | Codec::Lines => (0.5, block_bits),
        Codec::Gap => (0.08, block_bits),
        Codec::Xor => (1.95, block_bits),
    }
}

/// Returns the bits for each fingerprint of one table, its blocks and keys, for `count` uniform fingerprints of `width`
/// bits.
fn bits_per_fingerprint(codec: Codec, width: u32, count: u64, block_size: u32) -> f64 {
    if count == 0 {
        return 0.0;
    }
    if codec == Codec::Lines {
        return lines::bits_per_value(width, count);
    }
    let (above_bound, block_bits) = overhead(codec);
    let bits = bound_bits(width, count) + above_bound;
    // A block holds as many fingerprints as fit in addition to its fixed bits, which they share.
    let block_len_bits = f64::from(block_size) * 8.0;
    bits * block_len_bits / (block_len_bits - block_bits)
}

/// Returns whether a build without a codec would choose that of index `i` for uniform fingerprints.
fn is_automatic(alternatives: &[PlannedIndex], i: usize) -> bool {
    let of_same_design = |codec: Codec| {
        let same = |p: &&PlannedIndex| p.design == alternatives[i].design && p.codec == codec;
        alternatives.iter().find(same).map(|p| p.file_len as f64)
    };
    let huffman = of_same_design(Codec::Gap).or_else(|| of_same_design(Codec::Xor));
    let (direct, lines) = (
        of_same_design(Codec::EliasFano),
        of_same_design(Codec::Lines),
    );
    let takes_lines =
        lines.is_some_and(|lines| direct.is_none_or(|direct| prefers_lines(lines, direct)));
    let takes_direct = match (direct, huffman) {
        (Some(direct), Some(huffman)) => prefers_elias_fano(direct, huffman),
        (direct, _) => direct.is_some(),
    };
    match alternatives[i].codec {
        Codec::Lines => takes_direct && takes_lines,
        Codec::EliasFano => takes_direct && !takes_lines,
        Codec::Gap => !takes_direct,
        Codec::Xor => !takes_direct && of_same_design(Codec::Gap).is_none(),
    }
}

/// Returns the costs of queries on a file in memory. Larger files miss the caches and the TLB more often, and larger
/// blocks take longer to decode.
pub(crate) fn costs_in_memory(
    (codec, address_bits): (Codec, u32),
    block_size: u32,
    file_len: f64,
) -> Costs {
    let costs = Costs::of(codec);
    if codec == Codec::Lines {
        let (here, usual) = (probe_ns(file_len), Costs::DIRECT.probe_ns);
        let slower = here / usual;
        // The rest is waiting for memory.
        let waiting = (here - COMPUTING_NS) / (usual - COMPUTING_NS);
        return Costs {
            probe_ns: costs.probe_ns * slower,
            row_ns: costs.row_ns * waiting,
            address_bits,
            ..costs
        };
    }
    let blocks = f64::from(block_size) / USUAL_BLOCK_SIZE;
    let decoding = (costs.probe_ns - Costs::DIRECT.probe_ns) * blocks;
    Costs {
        probe_ns: probe_ns(file_len) + decoding,
        ..costs
    }
}

/// The requirements of an index to plan. Start from [`PlanRequest::new`] and set what differs.
///
/// ```
/// use simidx::design::PlanRequest;
///
/// let mut request = PlanRequest::new(100_000_000, 3);
/// request.memory = Some(2 << 30);
/// let alternatives = request.alternatives()?;
/// let chosen = &alternatives[request.choose(&alternatives).unwrap()];
/// assert_eq!(chosen.design.table_count(), 2);
/// assert!(chosen.on_pareto_frontier && chosen.file_len < 2 << 30);
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlanRequest {
    /// The width of the fingerprints.
    pub width: Width,
    /// Number of distinct fingerprints.
    pub count: u64,
    /// The distance k of the queries, 0 to 12.
    pub distance: u32,
    /// The most bytes of the file; unlimited if `None`.
    pub memory: Option<u64>,
    /// Whether the file is on an SSD and nothing of it is cached, so that a probe is a read. By default it is in memory,
    /// read or mapped and cached.
    pub on_ssd: bool,
    /// Bytes of a block.
    pub block_size: u32,
    /// The codec; all of them if `None`.
    pub codec: Option<Codec>,
}

setters!(PlanRequest {
    width(Width)
    memory(Some(u64))
    on_ssd(bool)
    block_size(u32)
    codec(Some(Codec))
});

impl PlanRequest {
    /// Creates a request for fingerprints of 64 bits in unlimited memory, any codec, and blocks of 512 bytes.
    pub fn new(count: u64, distance: u32) -> Self {
        PlanRequest {
            width: Width::W64,
            count,
            distance,
            memory: None,
            on_ssd: false,
            block_size: USUAL_BLOCK_SIZE as u32,
            codec: None,
        }
    }

    /// Returns one index for each design and codec, smallest file first; [`PlannedIndex::on_pareto_frontier`] marks
    /// those worth considering. Takes up to about ten milliseconds for each.
    ///
    /// # Errors
    /// A distance above 12, an invalid block size, or more fingerprints than the width allows.
    pub fn alternatives(&self) -> Result<Vec<PlannedIndex>, OptionsError> {
        check_distance(self.distance)?;
        check_block_size(self.block_size)?;
        let (count, width) = (self.count, self.width);
        if count as f64 > 2f64.powi(width.bits() as i32) {
            let message = format!("there are no {count} distinct fingerprints of {width} bits");
            return Err(OptionsError::new("plan", message));
        }
        let codecs = self
            .codec
            .as_ref()
            .map_or(&Codec::ALL[..], std::slice::from_ref);
        let mut alternatives: Vec<PlannedIndex> = TableDesign::available(width, self.distance)
            .iter()
            .flat_map(|design| codecs.iter().map(|&codec| self.planned(design, codec)))
            .collect();
        mark_frontier(&mut alternatives);
        alternatives.sort_by(|a, b| {
            let by_size = a.file_len.cmp(&b.file_len);
            by_size.then(a.latency_us.total_cmp(&b.latency_us))
        });
        Ok(alternatives)
    }

    /// Returns the design of the index that [`PlanRequest::choose`] selects.
    ///
    /// # Errors
    /// The errors of [`PlanRequest::alternatives`], or no index fits the memory.
    pub fn design(&self) -> Result<TableDesign, OptionsError> {
        let mut alternatives = self.alternatives()?;
        let chosen = self.choose(&alternatives);
        chosen
            .map(|i| alternatives.swap_remove(i).design)
            .ok_or_else(|| {
                OptionsError::new("plan", "no index of these parameters fits the memory")
            })
    }

    /// Selects the alternative to build: of those that fit the memory, the one with the least product of size and
    /// latency. A file below 1 MB counts as 1 MB. A latency below 5 µs in memory or 500 µs on an SSD counts as that; in
    /// memory with less than 64 MB of raw fingerprints, this limit shrinks with them, down to 2 µs, so that small
    /// indexes are fast. Beyond these limits, a file of twice the size must be more than twice as fast. If no codec is
    /// requested, only the codec counts that a build would choose for such fingerprints. Returns `None` if no
    /// alternative fits.
    pub fn choose(&self, alternatives: &[PlannedIndex]) -> Option<usize> {
        let enough_us = if self.on_ssd {
            SSD_TARGET_US
        } else {
            let raw_len = self.count as f64 * self.width.bytes() as f64;
            (MEMORY_TARGET_US * raw_len / LARGE_LEN).clamp(SMALL_TARGET_US, MEMORY_TARGET_US)
        };
        let product = |i: usize| {
            let PlannedIndex {
                file_len,
                latency_us,
                ..
            } = alternatives[i];
            (file_len as f64).max(SMALL_FILE_LEN) * latency_us.max(enough_us)
        };
        (0..alternatives.len())
            .filter(|&i| {
                alternatives[i].fits_memory
                    && (self.codec.is_some() || is_automatic(alternatives, i))
            })
            // Of several small files, this takes the smallest, since they are ordered by size.
            .min_by(|&a, &b| product(a).total_cmp(&product(b)))
    }

    fn planned(&self, design: &TableDesign, codec: Codec) -> PlannedIndex {
        let width = self.width.bits();
        let bits = bits_per_fingerprint(codec, width, self.count, self.block_size);
        let tables = design.table_count() as f64;
        // A table of few fingerprints still has one block or line.
        let least = match codec {
            _ if self.count == 0 => 0.0,
            Codec::Lines => lines::LINE_LEN as f64,
            _ => f64::from(self.block_size),
        };
        let file_len = tables * (self.count as f64 * bits / 8.0).max(least);
        let address_bits = lines::address_bits(width, self.count);
        let costs = self.costs((codec, address_bits), bits, file_len);
        let plan = design.plan(self.distance, self.count, &costs);
        PlannedIndex {
            codec,
            bytes_per_fingerprint: tables * bits / 8.0,
            file_len: file_len as u64,
            latency_us: self.latency_ns(&plan, bits) / 1e3,
            on_pareto_frontier: false,
            fits_memory: self.memory.is_none_or(|limit| file_len <= limit as f64),
            design: design.clone(),
            plan,
        }
    }

    /// Returns the costs for the plan of a design.
    fn costs(&self, codec: (Codec, u32), bits: f64, file_len: f64) -> Costs {
        let costs = costs_in_memory(codec, self.block_size, file_len);
        let (read_ns, scan_read_ns) = if self.on_ssd {
            (READ_NS / QUEUE_DEPTH, bits / 8.0 * SEQUENTIAL_READ_NS)
        } else {
            (0.0, 0.0)
        };
        Costs {
            probe_ns: costs.probe_ns + read_ns,
            candidate_ns: costs.candidate_ns + read_ns * bits / 8.0 / PAGE_LEN,
            row_ns: costs.row_ns + read_ns,
            scan_ns: costs.scan_ns + scan_read_ns,
            ..costs
        }
    }

    /// Returns the latency of a single query. On an SSD the reads come in rounds.
    fn latency_ns(&self, plan: &ProbePlan, bits: f64) -> f64 {
        if !self.on_ssd || plan.scan_is_cheaper() {
            return QUERY_NS + plan.ns();
        }
        let further_pages = plan.candidate_count() * bits / 8.0 / PAGE_LEN;
        let reads = plan.probe_count() + further_pages;
        let overlapped = reads / QUEUE_DEPTH;
        QUERY_NS + plan.ns() + (overlapped.ceil() - overlapped) * READ_NS
    }
}

/// An index that could be built, with its expected size and latency.
///
/// ```
/// use simidx::design::PlanRequest;
///
/// for index in PlanRequest::new(10_000_000, 3).alternatives()? {
///     if index.on_pareto_frontier {
///         println!("{} tables: {} bytes, {:.1} us", index.design.table_count(), index.file_len, index.latency_us);
///     }
/// }
/// # Ok::<(), simidx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedIndex {
    /// The tables.
    pub design: TableDesign,
    /// The codec of the tables.
    pub codec: Codec,
    /// The plan for queries within the requested distance.
    #[doc(hidden)]
    pub plan: ProbePlan,
    /// Bytes for each fingerprint in all tables together, excluding ids.
    pub bytes_per_fingerprint: f64,
    /// Bytes of the file, excluding ids.
    pub file_len: u64,
    /// Microseconds for a query on one thread.
    pub latency_us: f64,
    /// Whether the index is on the Pareto frontier of size and latency: no other is smaller without being slower, or
    /// faster without being larger.
    pub on_pareto_frontier: bool,
    /// Whether the file is within the requested memory.
    pub fits_memory: bool,
}

fn mark_frontier(alternatives: &mut [PlannedIndex]) {
    let points: Vec<(u64, f64)> = alternatives
        .iter()
        .map(|index| (index.file_len, index.latency_us))
        .collect();
    for index in alternatives {
        let (len, us) = (index.file_len, index.latency_us);
        let better = |&(l, u): &(u64, f64)| l <= len && u <= us && (l < len || u < us);
        index.on_pareto_frontier = !points.iter().any(better);
    }
}

/// The part of the cost of a probe that does not depend on the file.
const COMPUTING_NS: f64 = 30.0;

/// Returns the cost of a probe in a file of this size.
fn probe_ns(file_len: f64) -> f64 {
    let above = PROBE_NS.partition_point(|&(len, _)| len <= file_len);
    if above == 0 {
        return PROBE_NS[0].1;
    }
    let (low_len, low_ns) = PROBE_NS[above - 1];
    let Some(&(high_len, high_ns)) = PROBE_NS.get(above) else {
        return low_ns;
    };
    let share = (file_len / low_len).ln() / (high_len / low_len).ln();
    low_ns + share * (high_ns - low_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(count: u64, distance: u32, codec: Codec) -> PlanRequest {
        PlanRequest {
            codec: Some(codec),
            ..PlanRequest::new(count, distance)
        }
    }

    fn tables(alternatives: &[PlannedIndex]) -> Vec<usize> {
        alternatives
            .iter()
            .map(|c| c.design.table_count())
            .collect()
    }

    #[test]
    fn probes_get_dearer_with_the_logarithm_of_the_size() {
        assert_eq!(probe_ns(0.0), 50.0);
        assert_eq!(probe_ns(1e7), 65.0);
        assert_eq!(probe_ns(1e10), 180.0);
        assert_eq!(probe_ns(1e15), 230.0);
        let between = probe_ns(1e9 * 10f64.sqrt());
        assert!((between - 155.0).abs() < 1e-9);
    }

    #[test]
    fn bits_are_those_that_were_measured() {
        let bits = |codec: Codec, count| bits_per_fingerprint(codec, 64, count, 512);
        // The bound is 38.87 at 10^8.
        assert!((bits(Codec::EliasFano, 100_000_000) - 40.06).abs() < 0.03);
        assert!((bits(Codec::Gap, 100_000_000) - 39.65).abs() < 0.03);
        assert!((bits(Codec::Xor, 1 << 24) - 44.17).abs() < 0.03);
        assert_eq!(bits(Codec::EliasFano, 0), 0.0);
    }

    #[test]
    fn the_curve_has_all_designs_by_size() {
        let alternatives = request(100_000_000, 3, Codec::EliasFano)
            .alternatives()
            .unwrap();
        assert_eq!(
            tables(&alternatives),
            [1, 2, 3, 4, 6, 8, 10, 11, 14, 16, 20, 35]
        );
        let halves = &alternatives[1];
        assert!((10.0..10.05).contains(&halves.bytes_per_fingerprint));
        assert_eq!(halves.file_len / 10_000_000, 100);
        assert!((40.0..60.0).contains(&halves.plan.probe_count()));
        assert!(
            (4.0..9.0).contains(&halves.latency_us),
            "{}",
            halves.latency_us
        );
        let all: Vec<PlannedIndex> = PlanRequest::new(1000, 3).alternatives().unwrap();
        assert_eq!(all.len(), 12 * Codec::ALL.len());
    }

    #[test]
    fn domination_is_by_size_and_latency() {
        let alternatives = PlanRequest::new(100_000_000, 3).alternatives().unwrap();
        for a in &alternatives {
            let better = alternatives.iter().any(|b| {
                (b.file_len < a.file_len && b.latency_us <= a.latency_us)
                    || (b.file_len <= a.file_len && b.latency_us < a.latency_us)
            });
            assert_eq!(a.on_pareto_frontier, !better);
        }
        assert!(alternatives[0].on_pareto_frontier);
        assert!(
            alternatives
                .iter()
                .all(|c| c.codec != Codec::Xor || !c.on_pareto_frontier)
        );
    }

    #[test]
    fn chooses_the_smallest_that_is_fast_enough_or_worth_its_bytes() {
        let choice = |request: PlanRequest| {
            let alternatives = request.alternatives().unwrap();
            let chosen = request.choose(&alternatives)?;
            Some(alternatives[chosen].design.table_count())
        };
        let request = request(100_000_000, 3, Codec::EliasFano);
        assert_eq!(choice(request.clone()), Some(2));
        let small = PlanRequest {
            memory: Some(510_000_000),
            ..request.clone()
        };
        assert_eq!(choice(small), Some(1));
        let none = PlanRequest {
            memory: Some(1000),
            ..request.clone()
        };
        assert_eq!(choice(none), None);
        let ssd = PlanRequest {
            on_ssd: true,
            ..request
        };
        assert_eq!(choice(ssd), Some(2));
    }

    #[test]
    fn a_smaller_index_is_not_slower_unless_fast_enough() {
        for distance in 0..=5 {
            let mut before: Option<(u64, f64)> = None;
            for step in 0..=30 {
                let count = 10f64.powf(f64::from(step) / 5.0) as u64;
                let request = request(count, distance, Codec::EliasFano);
                let alternatives = request.alternatives().unwrap();
                let chosen = &alternatives[request.choose(&alternatives).unwrap()];
                let tables = chosen.design.table_count();
                println!(
                    "{distance} {count} {tables} {} {:.2}",
                    chosen.file_len, chosen.latency_us
                );
                if let Some((smaller, latency_us)) = before {
                    assert!(
                        latency_us < SMALL_TARGET_US.max(1.1 * chosen.latency_us),
                        "distance {distance}: {smaller} in {latency_us} us, {count} in {} us",
                        chosen.latency_us
                    );
                }
                before = Some((count, chosen.latency_us));
            }
        }
    }

    #[test]
    fn reads_of_an_ssd_come_in_rounds() {
        let request = PlanRequest {
            on_ssd: true,
            ..request(1_000_000_000, 3, Codec::EliasFano)
        };
        let alternatives = request.alternatives().unwrap();
        for index in &alternatives {
            let rounds = (index.plan.probe_count() / QUEUE_DEPTH).ceil();
            assert!(index.latency_us > rounds * 100.0);
        }
        let fourteen = &alternatives[tables(&alternatives).iter().position(|&t| t == 14).unwrap()];
        assert!(fourteen.latency_us < 110.0, "{}", fourteen.latency_us);
    }

    #[test]
    fn refuses_what_there_cannot_be() {
        let is_possible = |width, count, distance| {
            let mut request = PlanRequest::new(count, distance);
            request.width = width;
            request.alternatives().is_ok()
        };
        assert!(!is_possible(Width::W32, 1 << 33, 3));
        assert!(is_possible(Width::W32, 1 << 32, 3));
        assert!(!is_possible(Width::W64, 1, 13));
        assert!(is_possible(Width::W64, u64::MAX, 3));
        assert!(is_possible(Width::W128, 0, 0));
    }
}
