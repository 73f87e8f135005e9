//! The costs of probes, and the number of address bits that minimizes them.

use super::probes::{TableProbes, probes_and_addresses};
use crate::codec::Codec;
use crate::codec::lines::LINE_BITS;

/// The costs of the steps of a query, in nanoseconds on one thread. Only their ratios matter for the choice of probes.
/// The constants were measured on a file of about 100 MB in memory, and are all defined here.
///
/// ```
/// use simidx::Codec;
/// use simidx::design::Costs;
///
/// let mut costs = Costs::of(Codec::EliasFano);
/// costs.probe_ns *= 3.0; // a slow memory
/// assert!(costs.probe_ns > Costs::DIRECT.probe_ns);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// A probe up to its first candidate.
    pub probe_ns: f64,
    /// Decoding and comparing a fingerprint that shares the address.
    pub candidate_ns: f64,
    /// Finding and fetching the low bits of an address with fingerprints in a table in lines, or of several adjacent
    /// ones.
    pub row_ns: f64,
    /// Address bits of tables in lines, where probes cost by the line; 0 for tables in blocks.
    pub address_bits: u32,
    /// Comparing a fingerprint of table 0 in a scan.
    pub scan_ns: f64,
}

impl Costs {
    /// Codecs with access inside a block (`ef`): a probe selects.
    pub const DIRECT: Costs = Costs {
        probe_ns: 90.0,
        candidate_ns: 8.0,
        row_ns: 0.0,
        address_bits: 0,
        scan_ns: 5.0,
    };

    /// Codecs that decode a block from its start (`xor`, `gap`): a probe decodes half a block of 512 bytes.
    pub const SEQUENTIAL: Costs = Costs {
        probe_ns: 450.0,
        candidate_ns: 4.0,
        row_ns: 0.0,
        address_bits: 0,
        scan_ns: 5.0,
    };

    /// The codec `lines`: the costs of a line, of its low bits and of a value. `address_bits` is that of a small table.
    pub const LINES: Costs = Costs {
        probe_ns: 10.0,
        candidate_ns: 8.0,
        row_ns: 45.0,
        address_bits: LINE_BITS,
        scan_ns: 5.0,
    };
}

impl Costs {
    /// Returns the costs of probing tables in a codec.
    pub fn of(codec: Codec) -> Self {
        match codec {
            Codec::Xor | Codec::Gap => Costs::SEQUENTIAL,
            Codec::EliasFano => Costs::DIRECT,
            Codec::Lines => Costs::LINES,
        }
    }
}

/// The most address bits in one range, see [`TableProbes::range_bits`].
const MOST_RANGE_BITS: u32 = 8;

/// `pattern_count` for a range of numbers of bits and flips, computed together.
struct PatternCounts {
    flip_choices: usize,
    /// Indexed by bits, then by flips.
    counts: Vec<f64>,
}

impl PatternCounts {
    fn new(width: u32, most_flips: u32) -> Self {
        let flip_choices = most_flips as usize + 1;
        let mut counts = vec![1.0; flip_choices * (width as usize + 1)];
        for at in flip_choices..counts.len() {
            // P(a + 1, r) = P(a, r) + P(a, r - 1).
            let above = at - flip_choices;
            counts[at] = counts[above];
            if at % flip_choices > 0 {
                counts[at] += counts[above - 1];
            }
        }
        PatternCounts {
            flip_choices,
            counts,
        }
    }

    fn get(&self, bits: u32, flips: u32) -> f64 {
        self.counts[bits as usize * self.flip_choices + flips as usize]
    }
}

/// The cheapest way to probe a table with a number of flips.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Offer {
    pub(super) address_bits: u32,
    pub(super) range_bits: u32,
    /// The cost of all probes and their candidates on uniform data.
    pub(super) ns: f64,
}

impl Offer {
    /// Returns the offer as probes of a table that must find values differing in at most `flips` of the first
    /// `prefix_bits` bits.
    pub(super) fn probes(self, table: usize, flips: u32, prefix_bits: u32) -> TableProbes {
        TableProbes {
            table,
            address_bits: self.address_bits,
            flips,
            range_bits: self.range_bits,
            prefix_bits,
        }
    }
}

/// The best offer for each number of addressable bits and each number of flips.
///
/// Fewer address bits mean fewer patterns of flips and more candidates for each. Without flips, every bit helps.
#[derive(Debug)]
pub(super) struct Offers {
    flip_choices: usize,
    /// Indexed by bits, then by flips.
    offers: Vec<Offer>,
}

impl Offers {
    /// Computes offers for 0 to `width` bits and 0 to `most_flips` flips, in about width · most_flips steps.
    pub(super) fn new(width: u32, most_flips: u32, fingerprint_count: u64, costs: &Costs) -> Self {
        let flip_choices = most_flips as usize + 1;
        let mut offers: Vec<Offer> = Vec::with_capacity((width as usize + 1) * flip_choices);
        let patterns = PatternCounts::new(width, most_flips);
        for address_bits in 0..=width {
            let candidates = fingerprint_count as f64 / 2f64.powi(address_bits as i32);
            for flips in 0..=most_flips {
                let (range_bits, ns) =
                    cheapest_range(&patterns, address_bits, flips, candidates, costs);
                let fewer_bits = offers.len().checked_sub(flip_choices).map(|i| offers[i]);
                offers.push(match fewer_bits {
                    Some(offer) if flips > 0 && offer.ns <= ns => offer,
                    _ => Offer {
                        address_bits,
                        range_bits,
                        ns,
                    },
                });
            }
        }
        Offers {
            flip_choices,
            offers,
        }
    }

    /// Returns the cheapest probes of an address of at most `bits` bits with all patterns of `flips` flips.
    pub(super) fn best(&self, bits: u32, flips: u32) -> Offer {
        self.offers[bits as usize * self.flip_choices + flips as usize]
    }
}

/// Returns the cheapest number of range bits for an address with this many candidates, and the cost of all probes.
fn cheapest_range(
    patterns: &PatternCounts,
    address_bits: u32,
    flips: u32,
    candidates: f64,
    costs: &Costs,
) -> (u32, f64) {
    if costs.address_bits > 0 {
        return (
            0,
            in_lines(patterns, address_bits, flips, candidates, costs),
        );
    }
    let ns = |range_bits| {
        let look_up = |bits, flips| patterns.get(bits, flips);
        let (probes, addresses) = probes_and_addresses(look_up, address_bits, range_bits, flips);
        probes * costs.probe_ns + addresses * candidates * costs.candidate_ns
    };
    let most = if flips == 0 {
        0
    } else {
        MOST_RANGE_BITS.min(address_bits)
    };
    let all = (0..=most).map(|range_bits| (range_bits, ns(range_bits)));
    all.min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("a range of no bits is a choice")
}

/// Returns the cost of all probes of an address in a table in lines.
fn in_lines(
    patterns: &PatternCounts,
    address_bits: u32,
    flips: u32,
    candidates: f64,
    costs: &Costs,
) -> f64 {
    let count = candidates * 2f64.powi(address_bits as i32);
    let line_bits = costs.address_bits - LINE_BITS;
    let used = address_bits.min(costs.address_bits);
    let flipped = used.min(line_bits);
    let lines = patterns.get(flipped, flips) * 2f64.powi((line_bits - flipped) as i32);
    let addresses = patterns.get(used, flips);
    let of_each = count / 2f64.powi(used as i32);
    let rows = addresses * (1.0 - (-of_each).exp());
    lines * costs.probe_ns + rows * costs.row_ns + addresses * of_each * costs.candidate_ns
}

#[cfg(test)]
mod tests {
    use super::super::probes::{self, pattern_count};
    use super::*;

    #[test]
    fn pattern_counts_are_sums_of_binomials() {
        assert_eq!(pattern_count(24, 0), 1);
        assert_eq!(pattern_count(24, 1), 25);
        assert_eq!(pattern_count(24, 3), 1 + 24 + 276 + 2024);
        assert_eq!(pattern_count(10, 20), 1 << 10);
        assert_eq!(pattern_count(63, 63), 1 << 63);
        assert_eq!(pattern_count(64, 64), u64::MAX);
        assert_eq!(pattern_count(128, 128), u64::MAX);
    }

    #[test]
    fn offers_are_the_least_of_all_numbers_of_bits() {
        for (count, costs) in [
            (0, Costs::DIRECT),
            (1000, Costs::SEQUENTIAL),
            (1 << 33, Costs::DIRECT),
        ] {
            let offers = Offers::new(64, 5, count, &costs);
            let ns = |bits: u32, flips| {
                let candidates = count as f64 / 2f64.powi(bits as i32);
                let ranged = |t: u32| {
                    let (probes, addresses) =
                        probes_and_addresses(probes::patterns, bits, t, flips);
                    probes * costs.probe_ns + addresses * candidates * costs.candidate_ns
                };
                let most = if flips == 0 {
                    0
                } else {
                    bits.min(MOST_RANGE_BITS)
                };
                (0..=most).map(ranged).reduce(f64::min).unwrap()
            };
            for bits in 0..=64 {
                assert_eq!(offers.best(bits, 0).address_bits, bits);
                for flips in 1..=5 {
                    let best = offers.best(bits, flips);
                    let least = (0..=bits).map(|b| ns(b, flips)).reduce(f64::min).unwrap();
                    assert!((best.ns - least).abs() <= 1e-9 * least);
                    assert!((ns(best.address_bits, flips) - least).abs() <= 1e-9 * least);
                }
            }
        }
    }

    #[test]
    fn pattern_counts_worked_out_together_are_those_of_each() {
        let patterns = PatternCounts::new(64, 64);
        for bits in 0..=64 {
            for flips in 0..=64 {
                let count = pattern_count(bits, flips) as f64;
                assert!((patterns.get(bits, flips) / count - 1.0).abs() < 1e-9);
                let ranged = bits.min(3);
                let (probes, addresses) =
                    probes_and_addresses(|b, f| patterns.get(b, f), bits, ranged, flips);
                let expected = probes_and_addresses(probes::patterns, bits, ranged, flips);
                assert!((probes / expected.0 - 1.0).abs() < 1e-9);
                assert!((addresses / expected.1 - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn joined_addresses_are_all_those_of_few_flips() {
        for (bits, ranged, flips) in [(8, 0, 2), (8, 3, 1), (8, 3, 3), (5, 5, 2), (6, 4, 3)] {
            let near = |address: &u32| {
                let flipped = (address >> ranged).count_ones();
                flipped < flips || flipped == flips && address & ((1 << ranged) - 1) == 0
            };
            let addresses = (0..1u32 << bits).filter(near).count();
            let (probes, spanned) = probes_and_addresses(probes::patterns, bits, ranged, flips);
            assert_eq!(spanned, addresses as f64, "{bits} {ranged} {flips}");
            assert_eq!(probes, pattern_count(bits - ranged, flips) as f64);
        }
    }

    #[test]
    fn flipped_addresses_are_about_as_long_as_the_logarithm_of_the_count() {
        let offers = Offers::new(64, 3, 100_000_000, &Costs::DIRECT);
        for flips in 1..=3 {
            let Offer {
                address_bits,
                range_bits,
                ..
            } = offers.best(64, flips);
            assert!(
                (22..=32).contains(&address_bits),
                "{flips} flips: {address_bits} bits"
            );
            assert!((1..=MOST_RANGE_BITS).contains(&range_bits));
        }
    }
}
