//! Probe plans: which tables to probe, and how many address bits to flip, for a distance chosen at query time.
//!
//! Table t is probed with all patterns of at most r_t flipped bits. The tables miss nothing within distance k if every
//! set of at most k differing bits has at most r_t bits in the address of some table t. Every plan is proved to have
//! this property: by the pigeonhole principle for disjoint masks (`pigeonhole`), by enumeration for overlapping ones
//! (`escape`).

use super::costs::{Costs, Offers};
use super::escape::{self, Stop};
use super::pigeonhole;
use super::probes::TableProbes;
use crate::fingerprint::Fingerprint;

/// The most steps, of a few nanoseconds each, of all searches for one plan. It bounds the time for hostile masks.
const WORK_LIMIT: u64 = 1 << 20;

/// The most flips of a table for which overlapping masks are searched. With more flips, disjoint masks are nearly as
/// good.
const MOST_SEARCHED_FLIPS: u32 = 6;

/// An exact way to answer queries within one distance: by probes of some tables, or by comparing every fingerprint.
///
/// ```
/// use simidx::Width;
/// use simidx::design::{Costs, TableDesign};
///
/// let halves = TableDesign::partition(Width::W64, 3, 2).unwrap();
/// let plan = halves.plan(3, 100_000_000, &Costs::DIRECT);
/// // One of the halves has at most one of three errors.
/// assert_eq!((plan.flips(0), plan.flips(1)), (1, 1));
/// assert!(plan.best().is_some() && plan.probe_count() < 60.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProbePlan {
    probes: Vec<TableProbes>,
    scan_is_cheaper: bool,
    fingerprint_count: u64,
    ns: f64,
}

impl ProbePlan {
    /// Returns the probes, by table. `None` if a scan of table 0 costs no more, as with few fingerprints or a large
    /// distance.
    pub fn best(&self) -> Option<&[TableProbes]> {
        (!self.scan_is_cheaper).then_some(&self.probes)
    }

    /// Returns the probes, by table, even if a scan is cheaper. They are exact too.
    pub fn probes(&self) -> &[TableProbes] {
        &self.probes
    }

    /// Returns whether a scan of table 0 costs no more than the probes.
    pub fn scan_is_cheaper(&self) -> bool {
        self.scan_is_cheaper
    }

    /// Returns the most address bits that a probe of the table flips; 0 for a table without probes.
    pub fn flips(&self, table: usize) -> u32 {
        let of_table = self.probes.iter().find(|p| p.table == table);
        of_table.map_or(0, |p| p.flips)
    }

    /// Returns the number of probes of a query; 1 for a scan.
    pub fn probe_count(&self) -> f64 {
        match self.best() {
            Some(probes) => probes.iter().map(|p| p.probe_count() as f64).sum(),
            None => 1.0,
        }
    }

    /// Returns the number of candidates, the fingerprints that a query compares, on uniform data. A fingerprint found
    /// in several tables counts for each. A scan compares all.
    pub fn candidate_count(&self) -> f64 {
        let count = self.fingerprint_count as f64;
        match self.best() {
            Some(probes) => probes.iter().map(|p| count * p.candidate_share()).sum(),
            None => count,
        }
    }

    /// Estimates the nanoseconds of a query on uniform data, by a scan or by probes, whichever is cheaper.
    pub fn ns(&self) -> f64 {
        self.ns
    }
}

/// Returns the cheapest known plan for a distance over tables with these masks. The time is bounded for any masks.
pub(crate) fn plan<F: Fingerprint>(
    masks: &[F],
    distance: u32,
    fingerprint_count: u64,
    costs: &Costs,
) -> ProbePlan {
    let distance = distance.min(F::WIDTH);
    let offers = Offers::new(F::WIDTH, distance, fingerprint_count, costs);
    let scan_ns = fingerprint_count as f64 * costs.scan_ns;
    let (mut probes, mut ns) = pigeonhole::cheapest(masks, distance, &offers);
    if let Some((better, less)) = overlapping(masks, distance, &offers, ns.min(scan_ns)) {
        (probes, ns) = (better, less);
    }
    ProbePlan {
        probes,
        scan_is_cheaper: scan_ns <= ns,
        fingerprint_count,
        ns: ns.min(scan_ns),
    }
}

/// Returns the cheapest probes below a limit that searches find. There is one search for each largest number of flips,
/// as long as one table with that many flips costs less than the limit.
fn overlapping<F: Fingerprint>(
    masks: &[F],
    distance: u32,
    offers: &Offers,
    mut limit_ns: f64,
) -> Option<(Vec<TableProbes>, f64)> {
    let mut best = None;
    let mut work = WORK_LIMIT;
    let longest = masks.iter().map(|m| m.count_ones()).max()?;
    for most_flips in 0..=distance.min(MOST_SEARCHED_FLIPS) {
        if offers.best(longest, most_flips).ns >= limit_ns {
            break;
        }
        for least_flips in [0, most_flips] {
            let mut share = work / 2;
            work -= share;
            let flips = least_flips..=most_flips;
            let found = escape::search(masks, distance, flips, offers, limit_ns, &mut share);
            work += share;
            match found {
                Ok((probes, ns)) if ns < limit_ns => {
                    limit_ns = ns;
                    best = Some((probes, ns));
                }
                Ok(_) | Err(Stop::Escaped | Stop::TooDear | Stop::Work) => {}
            }
            if most_flips == 0 {
                break;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALVES: [u64; 2] = [0xffff_ffff_0000_0000, 0x0000_0000_ffff_ffff];

    fn bands() -> Vec<u64> {
        (0..4).map(|i| 0xffff << (48 - 16 * i)).collect()
    }

    fn flips(masks: &[u64], distance: u32, count: u64) -> Vec<u32> {
        let plan = plan(masks, distance, count, &Costs::DIRECT);
        plan.probes().iter().map(|p| p.flips).collect()
    }

    #[test]
    fn two_halves_share_the_flips() {
        let flips = |distance| flips(&HALVES, distance, 100_000_000);
        assert_eq!(flips(0), [0]);
        assert_eq!(flips(1), [0, 0]);
        assert_eq!(flips(2).iter().sum::<u32>(), 1);
        assert_eq!(flips(3), [1, 1]);
        assert_eq!(flips(4).iter().sum::<u32>(), 3);
        assert_eq!(flips(5), [2, 2]);
    }

    #[test]
    fn equal_fingerprints_take_one_probe_of_all_bits() {
        for masks in [&HALVES[..], &bands()] {
            let plan = plan(masks, 0, 1 << 40, &Costs::SEQUENTIAL);
            let probes = TableProbes {
                range_bits: 0,
                table: 0,
                address_bits: 64,
                flips: 0,
                prefix_bits: 64,
            };
            assert_eq!(plan.best(), Some(&[probes][..]));
            assert_eq!(plan.probe_count(), 1.0);
        }
    }

    #[test]
    fn few_fingerprints_and_large_distances_are_scanned() {
        let scanned = |distance, count| plan(&HALVES, distance, count, &Costs::DIRECT);
        assert!(scanned(3, 0).scan_is_cheaper());
        assert!(scanned(3, 100).scan_is_cheaper());
        assert!(!scanned(3, 1 << 27).scan_is_cheaper());
        assert!(scanned(20, 1 << 27).scan_is_cheaper());
        let plan = scanned(20, 1 << 27);
        assert_eq!(plan.best(), None);
        assert_eq!(plan.candidate_count(), (1u64 << 27) as f64);
        assert!(!plan.probes().is_empty());
    }

    #[test]
    fn bands_without_errors_need_no_flips() {
        assert_eq!(flips(&bands(), 3, 1 << 24), [0; 4]);
        assert_eq!(flips(&bands(), 1, 1 << 20), [0; 2]);
        assert_eq!(flips(&bands(), 4, 1 << 24).iter().sum::<u32>(), 1);
    }

    #[test]
    fn one_table_with_flips_beats_short_prefixes_of_many() {
        assert_eq!(flips(&bands(), 1, 1 << 33), [1]);
    }

    #[test]
    fn overlapping_masks_are_probed_without_flips_within_their_distance() {
        let triangles = [0x30, 0x28, 0x18, 0x06, 0x05, 0x03u64];
        let widen = |mask: u64| (0..6).map(|g| ((mask >> g & 1) * 0x3ff) << (10 * g)).sum();
        let masks: Vec<u64> = triangles.map(widen).to_vec();
        assert_eq!(flips(&masks, 3, 1 << 24), [0; 6]);
        // Two errors in one triangle leave the other untouched, and one of its edges is enough.
        assert_eq!(flips(&masks, 2, 1 << 24), [0; 4]);
        let beyond = plan(&masks, 5, 1 << 24, &Costs::DIRECT);
        assert!(beyond.probe_count() < 100.0, "{beyond:?}");
    }

    #[test]
    fn estimates_are_those_of_the_probes() {
        let plan = plan(&HALVES, 3, 1 << 27, &Costs::DIRECT);
        let [first, second] = plan.best().unwrap() else {
            panic!("two tables")
        };
        let flipped_bits = first.address_bits - first.range_bits;
        assert_eq!(first.probe_count(), u64::from(flipped_bits) + 1);
        let probes = (first.probe_count() + second.probe_count()) as f64;
        assert_eq!(plan.probe_count(), probes);
        let candidates = plan.candidate_count();
        assert!((20.0..150.0).contains(&candidates), "{candidates}");
        let ns = probes * Costs::DIRECT.probe_ns + candidates * Costs::DIRECT.candidate_ns;
        assert!((plan.ns() - ns).abs() < 1e-6 * ns);
    }

    /// Returns pseudorandom numbers.
    fn scrambled(seed: &mut u128) -> u128 {
        *seed ^= *seed << 17;
        *seed ^= *seed >> 43;
        *seed ^= *seed << 29;
        *seed
    }

    #[test]
    fn hostile_masks_are_planned_in_bounded_time() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128;
        let mut random = || scrambled(&mut seed);
        let lists: Vec<Vec<u128>> = vec![
            (0..255).map(|_| random()).collect(),
            (0..255).map(|_| random() & random() & random()).collect(),
            (0..255).map(|i| u128::MAX >> (i / 2)).collect(),
            (0..255).map(|i| 3u128.rotate_left(i)).collect(),
            (0..255).map(|i| 0xffff_ffffu128.rotate_left(i)).collect(),
            vec![0; 255],
            vec![u128::MAX; 255],
        ];
        for masks in lists {
            for distance in [0, 1, 2, 3, 5, 8, 13, 40, 128, u32::MAX] {
                for count in [0, 1 << 20, 1 << 33, u64::MAX] {
                    let plan = plan(&masks, distance, count, &Costs::DIRECT);
                    assert!(!plan.probes().is_empty());
                    assert!(plan.ns().is_finite());
                }
            }
        }
    }
}
